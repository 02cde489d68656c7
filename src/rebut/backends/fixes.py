"""Fixes: what a tool would write instead, as whole lines."""

from __future__ import annotations

import difflib
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


def as_lines(edits: Sequence[Edit], lines: Sequence[str], first: int, last: int) -> Fix | None:
    """Edits as a replacement for whole lines, at least from `first` to `last`. None when they do not fit the text.

    A replacement is never empty, since that means that there is none: lines that go take a neighbour along.
    """
    if not edits:
        return None
    first = min([first, *(e.line for e in edits)])
    last = max([last, *(e.end_line for e in edits)])
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
        new = edit.text.replace("\r\n", "\n")
        new = new.replace("\n", "\r\n") if lines[edit.line - 1].endswith("\r") else new
        text, end = text[:a] + new + text[b:], a
    return text


def patch(path: str, text: str, wanted: Sequence[Sequence[Edit]]) -> tuple[str, list[int]]:
    """A unified diff of all fixes that are not in each other's way, the first come first, and which those are."""
    taken, done = list[Edit](), list[int]()
    lines = text.split("\n")
    for number, edits in enumerate(wanted):
        alone = all(_apart(edit, other) for edit in edits for other in taken)
        if alone and edits and _edited([*taken, *edits], lines, 1, len(lines)) is not None:
            taken += edits
            done.append(number)
    return "".join(_diff(path, text, _edited(taken, lines, 1, len(lines)) or "")), done


def _apart(a: Edit, b: Edit) -> bool:
    first, last = sorted([a, b])
    return (first.end_line, first.end_column) <= (last.line, last.column) and (first.line, first.column) != (
        last.line,
        last.column,
    )


def _diff(path: str, before: str, after: str) -> list[str]:
    old, new = _kept(before), _kept(after)
    hunks = list(difflib.unified_diff(old, new))[2:]
    if not hunks:
        return []
    told = [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in hunks]
    return [f"--- {_quoted(f'a/{path}')}\n", f"+++ {_quoted(f'b/{path}')}\n", *told]


def _quoted(path: str) -> str:
    """A name as git reads it in a diff: one with odd characters in quotes, one with spaces up to a tab."""
    if path.isprintable() and not set('"\\') & set(path):
        return f"{path}\t" if " " in path else path
    raw = path.encode("utf-8", "surrogateescape")
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:03o}" for b in raw) + '"'


def _kept(text: str) -> list[str]:
    """Split at the newline byte alone, as git does."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]
