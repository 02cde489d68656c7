"""Portions: a change cut by file into pieces that fit a prompt, each with its diff and its files in full."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from rebut.targets import Target
from rebut.types import Changed

DIFF_BUDGET = 120_000
FILES_BUDGET = 120_000
LONGEST_LINE = 2_000
HEADER = re.compile(r"^(?=diff --git )", re.M)


@dataclass(frozen=True, slots=True)
class Portion:
    """Some files of a change."""

    changes: tuple[Changed, ...]
    diff: str
    paths: tuple[str, ...] = field(default=())


def portions(target: Target, budget: int = DIFF_BUDGET) -> tuple[Portion, ...]:
    """The whole change if it fits; else its files, in their order, as many to a portion as fit."""
    if len(target.diff.encode(errors="replace")) <= budget or len(target.changes) < 2:
        return (Portion(target.changes, target.diff, tuple(c.path for c in target.changes)),)
    pieces = [piece for piece in HEADER.split(target.diff) if piece.strip()]
    groups: list[tuple[list[Changed], list[str]]] = []
    size = 0
    for change in target.changes:
        mine = [piece for piece in pieces if _is_of(piece, change)]
        pieces = [piece for piece in pieces if piece not in mine]
        wanted = sum(len(piece.encode(errors="replace")) for piece in mine)
        if not groups or (size + wanted > budget and groups[-1][0]):
            groups.append(([], []))
            size = 0
        groups[-1][0].append(change)
        groups[-1][1].extend(mine)
        size += wanted
    groups[-1][1].extend(pieces)  # what belongs to no file that is known still has to be read by somebody
    return tuple(Portion(tuple(c), "".join(d), tuple(one.path for one in c)) for c, d in groups)


def _is_of(piece: str, change: Changed) -> bool:
    head = piece.split("\n@@", 1)[0]
    return any(f"{side}/{change.path}" in head for side in ("a", "b"))


def numbered(changes: Sequence[Changed], budget: int = FILES_BUDGET) -> str:
    """The files as the change leaves them, whole and with line numbers, as long as they fit; the rest is named."""
    parts, left_out, left = [], [], budget
    for change in changes:
        if change.after is None:
            continue
        text = _lines(change.after)
        size = len(text.encode(errors="replace"))
        if size <= left:
            parts.append(f"{change.path}\n{text}")
            left -= size
        else:
            left_out.append(f"  {change.path} ({size:,} bytes)")
    if left_out:
        parts.append("Too large to be shown whole; list what you must see under `need`:\n" + "\n".join(left_out))
    return "\n\n".join(parts)


def excerpt(text: str, start: int, end: int, around: int = 8) -> str:
    """Some lines of a file with their numbers."""
    lines = text.split("\n")
    first, last = max(1, start - around), min(len(lines), end + around)
    return "\n".join(f"{n:>4}| {lines[n - 1][:LONGEST_LINE]}" for n in range(first, last + 1))


def _lines(text: str) -> str:
    lines = text.removesuffix("\n").split("\n")
    width = max(4, len(str(len(lines))))
    return "\n".join(f"{n:>{width}}| {line[:LONGEST_LINE]}" for n, line in enumerate(lines, 1))
