"""What somebody means by a word, a file or a pipe: which verb, which change, which round."""

from __future__ import annotations

import asyncio
import io
import os
import re
import select
import stat
import sys
from pathlib import Path
from typing import Any

from rebut.cli.output import say
from rebut.core.errors import UsageError
from rebut.workspace.diff import is_diff
from rebut.workspace.targets.target import Wanted

REVIEWED = "Name a commit, a range A..B or a file, or send a diff and say -"


def of_review(what: str) -> Wanted:
    """What `review` is about."""
    if what == "-":
        return Wanted(target="code", stdin=_sent(), instead=REVIEWED)
    if what and _is_folder(what):
        raise UsageError(f"{what} is a folder", "Name a file in it, a commit or a range A..B.")
    if what and _is_file(what) and is_diff(_beginning(what)):
        return Wanted(target="code", artifact_file=what, instead=REVIEWED)
    if what and _is_file(what):
        return Wanted(target="code", scope=f"file:{what}", instead=REVIEWED)
    if what:
        return Wanted(target="code", scope=f"range:{what}" if ".." in what else f"commit:{what}", instead=REVIEWED)
    return Wanted(target="code", scope=asyncio.run(_present(Path.cwd())), instead=REVIEWED)


def of_plan(file: str) -> Wanted:
    """What `plan` is about."""
    from rebut.workspace.file_reader import FILE_CAP

    if file == "-":
        text = _sent()
        if len(text.encode()) > FILE_CAP:  # as of a file
            raise UsageError("the text on standard input is larger than 1 MB", "Cut it down to what should be debated.")
        return Wanted(target="proposal", stdin=text)
    _must_be_file(file)
    return Wanted(target="proposal", artifact_file=file)


def to_rewrite(file: str) -> tuple[str, list[str]]:
    """The topic of a revision, and the file that it is about."""
    if file == "-":
        return _sent(), []
    _must_be_file(file)
    return f"Write a better plan than the one in {file}, for the same purpose.", [file]


async def _present(root: Path) -> str:
    """The changed tree, else this branch against the default branch."""
    from rebut.workspace.git import Git, refusal

    git = await Git.open(root)
    if git is None:
        why, hint = await refusal(root)
        if why:
            raise UsageError(why, hint)
        raise UsageError("this is no git repository, so there is no change to look at", "Name a file to review.")
    try:
        changes = await git.changes()
        if changes.changed or changes.untracked or not changes.head:
            return "uncommitted"
        for branch in ("refs/remotes/origin/HEAD", "main", "master"):
            found = await git.run("rev-parse", "--verify", "--quiet", f"{branch}^{{commit}}", codes=(0, 1, 128))
            if found.strip() and found.decode().strip() != changes.head:
                return f"base:{branch}"
    finally:
        await git.close()
    raise UsageError(
        "nothing has changed here: the tree is clean and this is the default branch",
        "Name a commit, a range A..B or a file: rebut review HEAD.",
    )


def one_more(id: str, limits: dict[str, float], *, as_json: bool, quiet: bool, deadline: float | None) -> int:
    """Another round: a fork with one round more, or, of a debate that has not ended, its rest."""
    from rebut import api
    from rebut.api import Setup
    from rebut.cli.commands.resume import take_up, with_parent
    from rebut.cli.output import say
    from rebut.cli.runner import perform
    from rebut.domain.outcome import Outcome
    from rebut.engine.steering import added, settled
    from rebut.record import sessions

    setup = Setup()
    record = sessions.load(setup.find(id))
    if record.closed is None:
        if not quiet and not as_json:
            say("  it has not ended; going on with it", sys.stderr)
        return take_up(id, limits=limits, as_json=as_json, quiet=quiet, deadline=deadline)
    rounds = record.opened.settings.get("rounds", record.opened.settings.get("max_rounds"))
    name = "rounds" if "rounds" in record.opened.settings else "max_rounds"
    if not isinstance(rounds, int):
        raise UsageError(f"{record.opened.protocol} has no rounds to add to")

    if settled(record):  # somebody ended them early: the next is the one after those that were held
        rounds = max((int(n[1]) for key in record.calls if (n := re.match(r"r(\d+)/", key))), default=0)
    else:
        rounds += added(record)
    ending = Outcome.from_json(record.closed.outcome).heading

    async def fork(setup: Setup) -> Outcome:
        changes: dict[str, Any] = {name: rounds + 1, "limits": limits}
        reused, anew = await api.fork_plan(id, setup=setup, **changes)
        if not anew:
            raise UsageError(
                f"one more round would add nothing: {record.opened.protocol} ended with {ending} and asks nobody again",
                f"Another seat or question may: rebut fork {record.opened.id[:4]} …",
            )
        if not quiet and not as_json:
            taken = f"{reused} answer is" if reused == 1 else f"{reused} answers are"
            say(f"  round {rounds + 1}: {taken} taken over, about {anew} asked anew", sys.stderr)
        return await api.fork(id, setup=setup, **changes)

    return perform(fork, as_json=as_json, quiet=quiet, deadline=deadline, judge=with_parent)


def meant(words: list[str]) -> list[str]:
    """A command line with the verb that was left out. Only what cannot be a misspelt command is a topic."""
    first = words[0]
    if first.startswith("-"):
        return words
    if _is_file(first):
        return ["review" if is_diff(_beginning(first)) else "plan", *words]
    if " " in first.strip() or first.endswith("?"):
        return ["ask", *words]
    return words


def of_pipe() -> list[str]:
    """The command line that a bare `rebut` stands for: what came on standard input decides, and is given back to it."""
    text = waiting()
    if not text.strip():
        return []
    sys.stdin = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")
    return ["review" if is_diff(text) else "plan", "-"]


def _sent() -> str:
    text = everything()
    if not text.strip():
        raise UsageError("nothing came on standard input", "Send the text there, or name its file in place of -.")
    return text


def _must_be_file(file: str) -> None:
    if not _is_file(file):
        what = f"{file} is a folder" if _is_folder(file) else f"there is no file {file}"
        raise UsageError(what, "Give the file that holds the plan, or - for standard input.")


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except OSError:  # a word that is too long for a name is no file's
        return False


def _is_folder(name: str) -> bool:
    try:
        return Path(name).is_dir()
    except OSError:
        return False


def _beginning(file: str) -> str:
    try:
        with Path(file).open("rb") as opened:
            return opened.read(100_000).decode(errors="replace")
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error


# Standard input as a text to debate: read when somebody sends one, left alone when nobody does.

PATIENCE = 3.0
"""Seconds for the first byte. Tools that start others often leave them a pipe that never says a word."""


MOST = 20_000_000
"""Bytes, more than any change that could be debated. What is sent without end must not fill the memory."""


def everything() -> str:
    data = sys.stdin.buffer.read(MOST + 1)
    if len(data) > MOST:
        raise UsageError(f"more than {MOST // 1_000_000} MB came on standard input", "Send what should be debated.")
    return data.decode(errors="replace")


def waiting() -> str:
    """What a file or a pipe on standard input holds; empty for a terminal, a closed one, and one that stays silent."""
    try:
        handle = sys.stdin.fileno()
        mode = os.fstat(handle).st_mode
    except (OSError, ValueError, AttributeError):
        return ""
    if stat.S_ISREG(mode):
        return everything()
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return ""
    if not select.select([handle], [], [], PATIENCE)[0]:
        say("  nothing came on standard input; going on without it (- waits for it)", sys.stderr)
        return ""
    return everything()
