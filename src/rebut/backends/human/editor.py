"""A person's own editor, for answers that are longer than a line."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

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
