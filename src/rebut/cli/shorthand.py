"""Which command a question, a file or a pipe without a command stands for, and what is read from standard input."""

from __future__ import annotations

import io
import os
import re
import select
import shlex
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rebut.cli.output import say
from rebut.core import event_loop
from rebut.core.errors import UsageError
from rebut.setup import verbs

if TYPE_CHECKING:
    from rebut.workspace.targets.target import Wanted

NO_FILE = "Give the file with the plan, or - for standard input."
PATIENCE = 3.0
"""Seconds to wait for the first byte of standard input: programs often start others with a pipe that stays empty."""
MOST = 20_000_000
"""Bytes that are read of standard input: more than any change that could be debated."""


def of_review(what: str) -> Wanted:
    """The target of `review`."""
    if what != "-":
        return event_loop.run(verbs.change(what, Path.cwd()))
    from rebut.workspace.targets.target import Wanted

    return Wanted(target="code", stdin=_required_stdin(), instead=verbs.REVIEWED)


def of_plan(file: str) -> Wanted:
    """The target of `plan`."""
    if file != "-":
        return verbs.text_file(file, Path.cwd(), NO_FILE)
    from rebut.workspace.file_reader import FILE_CAP
    from rebut.workspace.targets.target import Wanted

    text = _required_stdin()
    if len(text.encode()) > FILE_CAP:  # the same limit as for a file
        raise UsageError("the text on standard input is larger than 1 MB", "Send only what should be debated.")
    return Wanted(target="proposal", stdin=text)


def question_of(text: str) -> str:
    """The question as given, or standard input for `-`; never the name of a file, which says nothing about it."""
    if text == "-":
        return whole_stdin()
    if verbs.is_file(text, Path.cwd()):
        file = shlex.quote(text)
        raise UsageError(
            f"{text} is a file, not a question",
            f"To review it: rebut plan {file}, or rebut review {file} if it is code; "
            f"to ask something about it, give the question, and --context {file}",
        )
    return text


def refuse_name(content: str) -> None:
    """Refuse a text for `cross` that is the name of a file, or one word that looks like a file or a commit."""
    here, word, quoted = Path.cwd(), content.strip(), shlex.quote(content.strip())
    if not word:
        return
    if verbs.is_file(word, here):
        raise UsageError(
            f"{word} is a file, not a proposal",
            f"To review the file: rebut cross --scope file:{quoted}; "
            f"to debate its text as a proposal: rebut cross --target proposal --artifact-file {quoted}",
        )
    if verbs.is_folder(word, here):
        raise UsageError(f"{word} is a folder, not a proposal", "To review a file in it: rebut cross --scope file:PATH")
    if scope := event_loop.run(verbs.scope_of(word, here)):
        raise UsageError(f"{word} is a revision, not a proposal", f"To review it: rebut cross --scope {scope}")
    if re.fullmatch(r"[\w.@~+-]*(?:/[\w.@~+-]+)*\.[A-Za-z]\w{0,7}", word):
        raise UsageError(
            f"{word} looks like the name of a file, and there is no such file here",
            "Give the text of the proposal, or name its file: rebut cross --artifact-file FILE",
        )


def to_rewrite(file: str) -> tuple[str, list[str]]:
    """The topic of a revision, and the files it is given."""
    if file == "-":
        return _required_stdin(), []
    verbs.must_be_file(file, Path.cwd(), NO_FILE)
    return f"Write a better plan than the one in {file}, for the same purpose.", [file]


def meant(words: list[str]) -> list[str]:
    """The command line with the missing command added, unless the first word may be a misspelt command."""
    first = words[0]
    if first.startswith("-"):
        return words
    if verbs.is_file(first, Path.cwd()):
        return ["review" if verbs.is_diff(verbs.beginning(first, Path.cwd())) else "plan", *words]
    if " " in first.strip() or first.endswith("?"):
        return ["ask", *words]
    return words


def of_pipe() -> list[str]:
    """The command for the text on standard input, if there is any; the text can be read again."""
    text = waiting_stdin()
    if not text.strip():
        return []
    sys.stdin = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")
    return ["review" if verbs.is_diff(text) else "plan", "-"]


def _required_stdin() -> str:
    text = whole_stdin()
    if not text.strip():
        raise UsageError("standard input is empty", "Send the text there, or name a file instead of -.")
    return text


def read_stdin(most: int = -1) -> bytes:
    """Standard input, at most so many bytes. At a terminal, a person is told how to end it."""
    if sys.stdin.isatty():
        say("  reading from this terminal; end with Ctrl-D on a line of its own", sys.stderr)
    return sys.stdin.buffer.read(most)


def whole_stdin() -> str:
    data = read_stdin(MOST + 1)
    if len(data) > MOST:
        raise UsageError(f"standard input has more than {MOST // 1_000_000} MB", "Send only what should be debated.")
    return data.decode(errors="replace")


def waiting_stdin() -> str:
    """The text of a file or a pipe on standard input; empty for a terminal, a closed stream, or an empty pipe."""
    try:
        handle = sys.stdin.fileno()
        mode = os.fstat(handle).st_mode
    except (OSError, ValueError, AttributeError):
        return ""
    if stat.S_ISREG(mode):
        return whole_stdin()
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return ""
    if not select.select([handle], [], [], PATIENCE)[0]:
        say("  nothing on standard input; continuing without it (use - to wait for it)", sys.stderr)
        return ""
    return whole_stdin()
