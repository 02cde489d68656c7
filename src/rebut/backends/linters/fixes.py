"""Fixes: what a tool would write instead, as whole lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Text in place of what stands from one place to another. Lines and columns from 1, the end left out."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Whole lines in place of the lines from `first` to `last`."""

    first: int
    last: int
    text: str


def as_lines(edits: Sequence[Edit], lines: Sequence[str], line: int) -> Fix | None:
    """Edits as a replacement for whole lines, `line` among them. None when they do not fit the text.

    A replacement is never empty, since that means that there is none: lines that go take a neighbour along.
    """
    if not edits:
        return None
    first = min([line, *(e.line for e in edits)])
    last = max([line, *(e.end_line for e in edits)])
    if first < 1 or last > len(lines):
        return None
    new = _edited(edits, lines, first, last)
    if new is None:
        return None
    while not new.strip() and (first > 1 or last < len(lines)):
        if first > 1:
            first -= 1
            new = f"{lines[first - 1]}\n{new}"
        else:
            last += 1
            new = f"{new}\n{lines[last - 1]}"
    return Fix(first, last, new) if new.strip() else None


def _edited(edits: Iterable[Edit], lines: Sequence[str], first: int, last: int) -> str | None:
    text = "\n".join(lines[first - 1 : last])
    starts = [0]
    for line in lines[first - 1 : last]:
        starts.append(starts[-1] + len(line) + 1)
    end = len(text)
    for edit in sorted(edits, reverse=True):
        a = starts[edit.line - first] + edit.column - 1
        b = starts[edit.end_line - first] + edit.end_column - 1
        if not 0 <= a <= b <= end:
            return None
        text, end = text[:a] + edit.text.replace("\r\n", "\n") + text[b:], a
    return text
