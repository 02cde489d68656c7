"""Changed files as a critic gets them: whole, each line with its number, as far as a budget goes."""

from __future__ import annotations

from rebut.evidence.context import BUDGET, Gathered, Piece, numbered
from rebut.workspace.targets.target import Target
from rebut.workspace.tree import Text


def whole_files(target: Target, budget_bytes: int = BUDGET) -> Gathered:
    """The new side of every changed file that fits; the others are named with the reason, deleted ones included."""
    files: list[Piece] = []
    left_out: list[tuple[str, str]] = []
    left = budget_bytes
    for change in target.changes:
        if change.after is None:
            left_out.append((change.path, "deleted"))
            continue
        read = Text.of(change.path, change.after)
        text = "\n".join(numbered(read, 1, len(read.lines)))
        size = len(text.encode("utf-8", "replace"))
        if size <= left:
            files.append(Piece(change.path, size, text))
            left -= size
        else:
            left_out.append((change.path, f"{size:,} bytes, more than the {left:,} left of {budget_bytes:,}"))
    for line in target.left_out:
        path, _, why = line.rpartition(": ")
        left_out.append((path, why))
    return Gathered(tuple(files), tuple(left_out))
