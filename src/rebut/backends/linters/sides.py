"""The two sides of a change as files for analysers: in private folders, under names that nobody else chose.

A file's own name could be a flag, lead out of the folder, be a tool's config, or fit what a tool passes over. So each
is laid as NUMBER/file.SUFFIX, and what is found there is told under its real name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rebut.backends.linters.tables import Analyser
from rebut.core.types import Changed

_LONE_RETURN = re.compile(r"\r(?!\n)")


@dataclass(frozen=True, slots=True)
class Laid:
    """One side of one file, as it was laid."""

    number: int
    """Of the file in the change, the same on both sides."""
    path: str
    """Its real name on the new side, on which findings are told."""
    name: str
    """Where it lies, below the folder of its side."""
    lines: tuple[str, ...]
    """As git counts them, without their line ends."""
    rows: tuple[int, ...] = ()
    """The line on which each row stands that a tool counts; empty when they are the same."""
    readers: tuple[Analyser, ...] = ()

    def line(self, row: int) -> int:
        """The line of a row as a tool counts them, within the file."""
        if self.rows:
            row = self.rows[max(0, min(row, len(self.rows)) - 1)]
        last = len(self.lines) - (1 if len(self.lines) > 1 and not self.lines[-1] else 0)
        return max(1, min(row, last))


def lay(folder: Path, change: Sequence[Changed], analysers: Sequence[Analyser], *, old: bool) -> list[Laid]:
    """Write one side of a change, without the files that nobody reads."""
    folder.mkdir(mode=0o700)
    out = []
    for number, changed in enumerate(change, 1):
        text, path = (changed.before, changed.old_path or changed.path) if old else (changed.after, changed.path)
        if text is None:
            continue
        readers = tuple(a for a in analysers if a.reads(path, text))
        if not readers:
            continue
        name = f"{number}/{_name(path, readers)}"
        place = folder / name
        place.parent.mkdir(mode=0o700)
        place.write_bytes(_bytes(_masked(_LONE_RETURN.sub("\n", text), readers)))
        lines = tuple(line.removesuffix("\r") for line in text.split("\n"))
        out.append(Laid(number, changed.path, name, lines, _rows(text), readers))
    return out


def _name(path: str, readers: Sequence[Analyser]) -> str:
    name = path.rpartition("/")[2]
    if any(name in reader.keep for reader in readers):
        return name
    suffix = re.search(r"\.[A-Za-z0-9]{1,12}$", name)
    return f"file{suffix[0] if suffix else ''}"


def _masked(text: str, readers: Sequence[Analyser]) -> str:
    for reader in readers:
        if reader.masks:
            text = re.sub(reader.masks, lambda found: "x" * len(found[0]), text)
    return text


def _rows(text: str) -> tuple[int, ...]:
    """Some tools count a lone carriage return as the end of a line and git does not. Laid files have none, so that all
    tools count alike; here is the way back."""
    if not _LONE_RETURN.search(text):
        return ()
    pieces = re.split(r"(\r\n|\n|\r)", text)
    rows, line = [], 1
    for n in range(0, len(pieces), 2):
        rows.append(line)
        if n + 1 < len(pieces) and "\n" in pieces[n + 1]:
            line += 1
    return tuple(rows)


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")  # bytes that were no UTF-8 become again what they were
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")
