"""The keyboard of a terminal: lines, and single keys."""

from __future__ import annotations

import asyncio
import os
import re
import select
import shlex
import shutil
import sys
import tempfile
import textwrap
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path


class Keyboard:
    """Lines from standard input, read so that the wait can be broken off from another thread."""

    def __init__(self) -> None:
        self._rest = b""

    def key(self, stop: threading.Event) -> str:
        """One key, without Enter; EOFError as for a line."""
        if self._rest:
            return self.read(stop)
        import termios
        import tty

        source = sys.stdin.fileno()
        before = termios.tcgetattr(source)
        try:
            tty.setcbreak(source, termios.TCSADRAIN)  # what was typed already is not thrown away
            while not select.select([source], [], [], 0.1)[0]:
                if stop.is_set():
                    raise EOFError
            got = os.read(source, 1)
        finally:
            termios.tcsetattr(source, termios.TCSADRAIN, before)
        if got in (b"", b"\x04", b"\0"):  # a Ctrl-D from before the switch reads as a zero
            raise EOFError
        return got.decode("ascii", "replace")

    def read(self, stop: threading.Event) -> str:
        """One line without its end; EOFError when the person is done or `stop` is set."""
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


# A person's own editor, for answers that are longer than a line.

LARGEST = 1_000_000
"""Bytes of an answer; no schema of ours takes more."""
LINE = "------ Write above this line. It and all below it are left out. ------"
NAME = "answer.md"


class NotWritten(Exception):
    """The editor gave no answer; the words say why."""


class Editor:
    """$VISUAL, else $EDITOR, on a file of its own. What was written outlives an editor that fails."""

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self._env = os.environ if env is None else env

    @property
    def command(self) -> list[str]:
        """The program and its arguments; empty when none is set, or none that can be read."""
        for name in ("VISUAL", "EDITOR"):
            try:
                if words := shlex.split(self._env.get(name, "")):
                    return words
            except ValueError:  # a quote without its other half
                continue
        return []

    async def write(self, draft: str, question: str) -> str:
        """Let the person write, beginning with `draft`, the question below it. Raises `NotWritten`."""
        if not self.command:
            raise NotWritten("neither VISUAL nor EDITOR names an editor; type it here")
        folder = Path(tempfile.mkdtemp(prefix="rebut-"))
        file = folder / NAME
        kept = False
        try:
            file.write_text(f"{draft}\n\n{LINE}\n\n{question}\n", encoding="utf-8", errors="replace")
            code = await self._run(file)
            text = _above(file, question)
            if code != 0:
                kept = bool(text) and text != draft.strip()
                how = f"exit {code}" if code > 0 else f"ended by signal {-code}"
                where = f"; what was written is in {file}" if kept else ""
                raise NotWritten(f"{self.command[0]} did not end well ({how}), so nothing was taken{where}")
            if not text:
                raise NotWritten("nothing was written")
            return text
        except asyncio.CancelledError:
            text = _above(file, question)
            kept = bool(text) and text != draft.strip()
            if kept:
                sys.stderr.write(f"\nwhat was written is in {file}\n")
            raise
        finally:
            if not kept:
                shutil.rmtree(folder, ignore_errors=True)

    async def _run(self, file: Path) -> int:
        """Its exit code. It draws where the question stands, since our standard output may be piped elsewhere."""
        terminal = _settings()
        try:
            child = await asyncio.create_subprocess_exec(*self.command, str(file), stdout=sys.stderr.fileno())
        except OSError as error:
            raise NotWritten(f"{self.command[0]} cannot be started: {error.strerror}; type it here") from error
        try:
            return await child.wait()
        finally:
            if child.returncode is None:
                child.terminate()
            _restore(terminal)


def _above(file: Path, question: str) -> str:
    """What stands above the line, as far as it can be read. The line may be gone, the question is left out anyway."""
    try:
        with file.open("rb") as opened:
            text = opened.read(LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""
    return text.replace("\r\n", "\n").partition(LINE)[0].strip().removesuffix(question.strip()).strip()


def _settings() -> list[object] | None:
    """The terminal as it is, for an editor that dies and leaves it without echo."""
    import termios

    try:
        return list(termios.tcgetattr(sys.stdin.fileno()))
    except (termios.error, OSError, ValueError):
        return None


def _restore(settings: list[object] | None) -> None:
    import termios

    if settings is not None:
        try:
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, settings)  # type: ignore[arg-type]
        except (termios.error, OSError, ValueError):
            return


# A table fitted to a terminal: columns side by side where there is space, one below the other where there is not.

NARROW = 72
GAP = 2


def drawn(rows: Sequence[Sequence[str]], width: int) -> str:
    """The rows, the first of which is the head. The widest column of words takes what the others leave."""
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
    # Nobody but the words themselves may take more than a quarter.
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
    """A row as a short paragraph: what has a short name first, the words next, the rest with its heading."""
    first, words, rest = " ".join(row[:3]), row[3], [f"{h}: {c}" for h, c in zip(head[4:], row[4:], strict=False)]
    lines = textwrap.wrap(first, width - 2, subsequent_indent="    ")
    lines += textwrap.wrap(words, width - 6, initial_indent="    ", subsequent_indent="    ")
    lines += textwrap.wrap("; ".join(rest), width - 6, initial_indent="    ", subsequent_indent="    ")
    return [f"  {line}" for line in lines]


# Showing text of models and repositories to a person: it cannot drive the terminal, and its lines end at words.

# Whole colour and cursor sequences go; of longer ones (titles, links) only the control characters, so that a model
# cannot hide text from the person by opening a sequence and never closing it.
CURSOR = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]")
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str) -> str:
    """Text that can be shown: no escapes, no control characters, nothing that turns the direction of reading."""
    return CONTROL.sub("", CURSOR.sub("", text.replace("\r\n", "\n")))


def to_stderr(text: str) -> None:
    """Standard output is kept for results, which may be piped elsewhere."""
    sys.stderr.write(text)
    sys.stderr.flush()


def columns() -> int:
    """How wide the terminal is on which a person is asked, which is standard error's."""
    if not os.environ.get("COLUMNS"):
        with suppress(OSError):
            return os.get_terminal_size(2).columns or 80
    return shutil.get_terminal_size((80, 24)).columns


def readable(text: str) -> str:
    """Long lines end at words where the terminal ends. Those that begin with spaces, as code does, stay as they are."""
    if not sys.stderr.isatty():
        return text
    most = max(40, columns() - 1)
    wrap = partial(textwrap.wrap, width=most, break_long_words=False, break_on_hyphens=False)
    lines = (line if len(line) <= most or line[:1].isspace() else "\n".join(wrap(line)) for line in text.split("\n"))
    return "\n".join(lines)
