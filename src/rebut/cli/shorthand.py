"""Which command a question, a file or a pipe without a command stands for, and what is read from standard input."""

from __future__ import annotations

import io
import os
import select
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rebut.cli.output import say
from rebut.core import event_loop, files
from rebut.core.errors import UsageError

if TYPE_CHECKING:
    from rebut.workspace.targets.target import Wanted

REVIEWED = "Name a commit, a range A..B or a file, or use - to read a diff from standard input"
PATIENCE = 3.0
"""Seconds to wait for the first byte of standard input: programs often start others with a pipe that stays empty."""
MOST = 20_000_000
"""Bytes that are read of standard input: more than any change that could be debated."""


def of_review(what: str) -> Wanted:
    """The target of `review`."""
    from rebut.workspace.targets.target import Wanted

    if what == "-":
        return Wanted(target="code", stdin=_sent(), instead=REVIEWED)
    if what and _is_folder(what):
        raise UsageError(f"{what} is a folder", "Name a file in it, a commit or a range A..B.")
    if what and _is_file(what) and _is_diff(_beginning(what)):
        return Wanted(target="code", artifact_file=what, instead=REVIEWED)
    if what and _is_file(what):
        return Wanted(target="code", scope=f"file:{what}", instead=REVIEWED)
    if what:
        return Wanted(target="code", scope=f"range:{what}" if ".." in what else f"commit:{what}", instead=REVIEWED)
    return Wanted(target="code", scope=event_loop.run(_present(Path.cwd())), instead=REVIEWED)


def of_plan(file: str) -> Wanted:
    """The target of `plan`."""
    from rebut.workspace.file_reader import FILE_CAP
    from rebut.workspace.targets.target import Wanted

    if file == "-":
        text = _sent()
        if len(text.encode()) > FILE_CAP:  # the same limit as for a file
            raise UsageError("the text on standard input is larger than 1 MB", "Send only what should be debated.")
        return Wanted(target="proposal", stdin=text)
    _must_be_file(file)
    return Wanted(target="proposal", artifact_file=file)


def to_rewrite(file: str) -> tuple[str, list[str]]:
    """The topic of a revision, and the files it is given."""
    if file == "-":
        return _sent(), []
    _must_be_file(file)
    return f"Write a better plan than the one in {file}, for the same purpose.", [file]


async def _present(root: Path) -> str:
    """The uncommitted changes, or else this branch against the default branch."""
    from rebut.workspace.git import Git, refusal

    git = await Git.open(root)
    if git is None:
        why, hint = await refusal(root)
        if why:
            raise UsageError(why, hint)
        raise UsageError("this is not a git repository, so there is no change to review", "Name a file to review.")
    try:
        changes = await git.changes()
        if changes.changed or changes.untracked or not changes.head:
            return "uncommitted"
        for branch in ("refs/remotes/origin/HEAD", "main", "master"):
            if (found := await git.commit(branch)) and found != changes.head:
                return f"base:{branch}"
    finally:
        await git.close()
    raise UsageError(
        "nothing to review: there are no uncommitted changes, and this is the default branch",
        "Name a commit, a range A..B or a file: rebut review HEAD.",
    )


def meant(words: list[str]) -> list[str]:
    """A command line with the missing command added. What could be a misspelt command is no question."""
    first = words[0]
    if first.startswith("-"):
        return words
    if _is_file(first):
        return ["review" if _is_diff(_beginning(first)) else "plan", *words]
    if " " in first.strip() or first.endswith("?"):
        return ["ask", *words]
    return words


def of_pipe() -> list[str]:
    """The command for the text on standard input, if there is any; the text can be read again."""
    text = waiting()
    if not text.strip():
        return []
    sys.stdin = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")
    return ["review" if _is_diff(text) else "plan", "-"]


def _sent() -> str:
    text = everything()
    if not text.strip():
        raise UsageError("standard input is empty", "Send the text there, or name a file instead of -.")
    return text


def _must_be_file(file: str) -> None:
    if not _is_file(file):
        what = f"{file} is a folder" if _is_folder(file) else f"there is no file {file}"
        raise UsageError(what, "Give the file with the plan, or - for standard input.")


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except OSError:  # too long for a file name
        return False


def _is_folder(name: str) -> bool:
    try:
        return Path(name).is_dir()
    except OSError:
        return False


def _is_diff(text: str) -> bool:
    from rebut.workspace.diff import is_diff

    return is_diff(text)


def _beginning(file: str) -> str:
    try:
        return files.read(file, 100_000).decode(errors="replace")
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error


def everything() -> str:
    data = sys.stdin.buffer.read(MOST + 1)
    if len(data) > MOST:
        raise UsageError(f"standard input has more than {MOST // 1_000_000} MB", "Send only what should be debated.")
    return data.decode(errors="replace")


def waiting() -> str:
    """The text of a file or a pipe on standard input; empty for a terminal, a closed stream, or an empty pipe."""
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
        say("  nothing on standard input; continuing without it (use - to wait for it)", sys.stderr)
        return ""
    return everything()
