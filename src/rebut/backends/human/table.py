"""A table fitted to a terminal: columns side by side where there is room, one below the other where there is not."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

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


def _widths(rows: Sequence[Sequence[str]], room: int) -> list[int]:
    wanted = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    longest = wanted.index(max(wanted))
    # Nobody but the words themselves may take more than a quarter.
    widths = [w if n == longest else min(w, max(5, room // 4)) for n, w in enumerate(wanted)]
    rest = room - sum(w for n, w in enumerate(widths) if n != longest) - GAP * (len(widths) - 1)
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
