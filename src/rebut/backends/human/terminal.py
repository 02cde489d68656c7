"""The terminal of a person who has a seat: text that is safe to show, tables, the keyboard, and the user's editor."""

from __future__ import annotations

import os
import re
import select
import shlex
import shutil
import sys
import tempfile
import textwrap
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from rebut.core import process
from rebut.core.files import read
from rebut.core.text import NARROW

# Whole colour and cursor sequences are removed. Of longer sequences (titles, links) only the control characters are
# removed, so that a model cannot hide text by opening a sequence and never closing it.
CURSOR = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]")
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Text without escape sequences, control characters and changes of the reading direction."""
    return CONTROL.sub("", CURSOR.sub("", text.replace("\r\n", "\n")))


def to_stderr(text: str) -> None:
    """Write to standard error: standard output is for results, and may be a pipe."""
    sys.stderr.write(text)
    sys.stderr.flush()


def columns() -> int:
    """The width of the terminal on standard error, where the questions are shown."""
    if not os.environ.get("COLUMNS"):
        with suppress(OSError):
            return os.get_terminal_size(2).columns or 80
    return shutil.get_terminal_size((80, 24)).columns


def readable(text: str) -> str:
    """Wrap long lines at words. Indented lines, such as code, are unchanged."""
    if not sys.stderr.isatty():
        return text
    most = max(40, columns() - 1)
    wrap = partial(textwrap.wrap, width=most, break_long_words=False, break_on_hyphens=False)
    lines = (line if len(line) <= most or line[:1].isspace() else "\n".join(wrap(line)) for line in text.split("\n"))
    return "\n".join(lines)


FENCE = re.compile(r"^«(begin|end) (.+?) [0-9a-f]{16}»\n?", re.M)
ABOUT_FENCES = re.compile(r"^What stands between «begin[^\n]*\n+", re.M)


def unfenced(text: str) -> str:
    """A prompt for a person: a quoted text has a title, and no fence, which only models need."""
    return FENCE.sub(lambda m: f"{m[2]}:\n" if m[1] == "begin" else "", ABOUT_FENCES.sub("", text))


# Tables. --------------------------------------------------------------------------------------------------------------

GAP = 2


def drawn(rows: Sequence[Sequence[str]], width: int) -> str:
    """A table that fits into `width`. The first row is the heading; the widest column gets the space that is left.

    In a narrow terminal, the cells of a row are shown one below the other.
    """
    head, *body = rows
    if not body:
        return "  nothing was found"
    if width < NARROW:
        return "\n".join(line for row in body for line in _stacked(head, row, width))
    widths = _widths(rows, width - 2)
    return "\n".join(line for row in rows for line in _row(row, widths))


def _widths(rows: Sequence[Sequence[str]], space: int) -> list[int]:
    wanted = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    longest = wanted.index(max(wanted))
    # Every column but the longest gets at most a quarter of the space.
    widths = [w if n == longest else min(w, max(5, space // 4)) for n, w in enumerate(wanted)]
    rest = space - sum(w for n, w in enumerate(widths) if n != longest) - GAP * (len(widths) - 1)
    widths[longest] = max(12, min(widths[longest], rest))
    return widths


def _row(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    wrapped = [textwrap.wrap(cell, w) or [""] for cell, w in zip(cells, widths, strict=True)]
    lines = []
    for n in range(max(len(cell) for cell in wrapped)):
        parts = [(cell[n] if n < len(cell) else "").ljust(w) for cell, w in zip(wrapped, widths, strict=True)]
        lines.append(f"  {(' ' * GAP).join(parts)}".rstrip())
    return lines


def _stacked(head: Sequence[str], row: Sequence[str], width: int) -> list[str]:
    """A row as a short paragraph: the first three cells, the text of the fourth, the others with their headings."""
    first, text, rest = " ".join(row[:3]), row[3], [f"{h}: {c}" for h, c in zip(head[4:], row[4:], strict=False)]
    lines = textwrap.wrap(first, width - 2, subsequent_indent="    ")
    lines += textwrap.wrap(text, width - 6, initial_indent="    ", subsequent_indent="    ")
    lines += textwrap.wrap("; ".join(rest), width - 6, initial_indent="    ", subsequent_indent="    ")
    return [f"  {line}" for line in lines]


# The keyboard. --------------------------------------------------------------------------------------------------------


class Keyboard:
    """Lines and single keys from standard input. Another thread can end the wait by setting `stop`."""

    def __init__(self) -> None:
        self._rest = b""

    def key(self, stop: threading.Event) -> str:
        """One key, without Enter. Raises EOFError like `read`."""
        if self._rest:
            return self.read(stop)
        import termios
        import tty

        source = sys.stdin.fileno()
        before = termios.tcgetattr(source)
        try:
            tty.setcbreak(source, termios.TCSADRAIN)  # keeps what was typed before
            while not select.select([source], [], [], 0.1)[0]:
                if stop.is_set():
                    raise EOFError
            got = os.read(source, 1)
        finally:
            termios.tcsetattr(source, termios.TCSADRAIN, before)
        if got in (b"", b"\x04", b"\0"):  # a Ctrl-D typed before the switch to single keys is read as a zero
            raise EOFError
        return got.decode("ascii", "replace")

    def read(self, stop: threading.Event) -> str:
        """One line without its line end. Raises EOFError at Ctrl-D, or when `stop` is set."""
        source = sys.stdin.fileno()
        while b"\n" not in self._rest:
            if stop.is_set():
                raise EOFError
            if not select.select([source], [], [], 0.1)[0]:
                continue
            got = os.read(source, 4096)
            if not got:
                raise EOFError
            self._rest += got
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode("utf-8", "replace").rstrip("\r")


# The editor. ----------------------------------------------------------------------------------------------------------

LARGEST = 1_000_000
"""Bytes of an answer that are read; no form of rebut accepts more."""
LINE = "------ Write above this line. The line and everything below it are ignored. ------"


class NotWritten(Exception):
    """The editor produced no answer; the message is the reason."""


class Editor:
    """The user's editor ($VISUAL, else $EDITOR) on a temporary file, which is kept if the editor fails.

    `click.edit` gives the editor our standard output, which may be a pipe, and cannot end it when a call is cancelled.
    """

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self._env = os.environ if env is None else env

    async def write(self, draft: str, question: str) -> str:
        """The text that the person writes, starting from `draft` with the question below it. Raises `NotWritten`."""
        command = self._command()
        file = Path(tempfile.mkdtemp(prefix="rebut-")) / "answer.md"
        code, text, kept = None, "", ""
        try:
            file.write_text(f"{draft}\n\n{LINE}\n\n{question}\n", encoding="utf-8", errors="replace")
            code = await _run([*command, str(file)])
        except OSError as error:
            raise NotWritten(f"{command[0]} cannot be started: {error.strerror}; type it here") from error
        finally:
            text = _answer(file, question)
            if code != 0 and text not in ("", draft.strip()):
                kept = f"what was written is in {file}"
                to_stderr(f"\n{kept}\n" if code is None else "")
            else:
                shutil.rmtree(file.parent, ignore_errors=True)
        if code != 0:
            how = f"exit {code}" if code > 0 else f"ended by signal {-code}"
            raise NotWritten(f"{command[0]} failed ({how}), so its text is not used{kept and '; '}{kept}")
        if not text:
            raise NotWritten("nothing was written")
        return text

    def _command(self) -> list[str]:
        for name in ("VISUAL", "EDITOR"):
            with suppress(ValueError):  # an unclosed quote
                if words := shlex.split(self._env.get(name, "")):
                    return words
        raise NotWritten("neither VISUAL nor EDITOR names an editor; type it here")


async def _run(command: Sequence[str]) -> int:
    """The exit code of an editor, which draws on standard error like everything else that is shown to the person."""
    with _terminal_restored():
        return await process.run_for_user(command, stdout=sys.stderr.fileno())


def _answer(file: Path, question: str) -> str:
    """The text above the line. If the line was deleted, the question is removed all the same."""
    try:
        text = read(file, LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""
    return text.replace("\r\n", "\n").partition(LINE)[0].strip().removesuffix(question.strip()).strip()


@contextmanager
def _terminal_restored() -> Iterator[None]:
    """Put the terminal's settings back afterwards: an editor that crashes may leave it without echo."""
    import termios

    settings = None
    with suppress(termios.error, OSError, ValueError):
        settings = termios.tcgetattr(sys.stdin.fileno())
    try:
        yield
    finally:
        if settings is not None:
            with suppress(termios.error, OSError, ValueError):
                termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, settings)
