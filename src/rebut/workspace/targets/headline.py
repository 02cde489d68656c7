"""What a debate is about, in one line, told by its target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rebut.core.text import cut

if TYPE_CHECKING:
    from rebut.workspace.targets import Target


def headline(target: Target) -> str:
    """`uncommitted changes: 4 files, +132 -18`, or the first words of a proposal."""
    parts = [_change(target)] if target.changes or target.diff else []
    first = next((line.strip("#*> ") for line in target.text.splitlines() if line.strip("#*>`- ")), "")
    if first:
        parts.append(cut(first, 100))
    return "; ".join(parts) or f"an empty {target.kind} target"


def _change(target: Target) -> str:
    name = "uncommitted changes" if target.scope == "uncommitted" else target.scope or target.origin or "given code"
    added, removed = tally(target.diff)
    count = len(target.changes)
    return f"{name}: {count} file{'' if count == 1 else 's'}, +{added} -{removed}"


def tally(diff: str) -> tuple[int, int]:
    """Lines that a unified diff adds and takes away."""
    lines = diff.split("\n")
    added = sum(1 for line in lines if line.startswith("+") and not line.startswith("+++ "))
    return added, sum(1 for line in lines if line.startswith("-") and not line.startswith("--- "))
