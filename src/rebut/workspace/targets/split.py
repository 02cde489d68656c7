"""A target too large for one critique, split by file into parts that are reviewed in parallel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rebut.core.frozen import frozen
from rebut.core.text import counted, tokens
from rebut.core.types import Changed
from rebut.workspace.diff import first_line, head_and_hunks, hunk_range, sections, shorter_hunks
from rebut.workspace.targets.target import Target


@frozen
class _Piece:
    """A part of the diff that is not split further, and the change it belongs to."""

    diff: str
    changes: tuple[Changed, ...]
    cut: str = ""
    """A note if it contains only some lines of the file."""


def split(target: Target, budget_tokens: int) -> tuple[Target, ...]:
    """The target in parts whose diffs fit the budget; the target itself if all of it does.

    A file larger than the budget is cut between its hunks, and a hunk larger than that between its lines. Each part is
    a target of its own; the proposal's text stays with the first, so that it is read once.
    """
    if tokens(target.diff) <= budget_tokens:
        return (target,)
    groups: list[list[_Piece]] = []
    space = 0
    for piece in _pieces(target, budget_tokens):
        size = tokens(piece.diff)
        if not groups or size > space:
            groups.append([])
            space = budget_tokens
        groups[-1].append(piece)
        space -= size
    parts = []
    for n, group in enumerate(groups, 1):
        cuts = tuple(piece.cut for piece in group if piece.cut)
        notes = (*target.notes, f"part {n} of {len(groups)} of a change that is too large for one critique", *cuts)
        diff, changes = "".join(piece.diff for piece in group), _merged(group)
        parts.append(replace(target, text=target.text if n == 1 else "", diff=diff, changes=changes, notes=notes))
    return tuple(parts)


def split_notice(parts: Sequence[Target]) -> str:
    """A line for the screen; empty if nothing was split."""
    if len(parts) < 2:
        return ""
    files = {change.path for part in parts for change in part.changes}
    cut = {line.split(": ")[0] for part in parts for line in part.notes if line.endswith("of its diff")}
    size = sum(tokens(part.diff) for part in parts)
    also = f"; cut between hunks: {', '.join(sorted(cut))}" if cut else ""
    what = f"{counted(len(files), 'file')}, about {size:,} tokens of diff"
    return f"{what}: too much for one critique, so {len(parts)} run side by side{also}"


def _pieces(target: Target, budget: int) -> Iterator[_Piece]:
    by_head = {first_line(change.path, change.old_path): change for change in target.changes}
    for text in sections(target.diff):
        change = by_head.get(text.split("\n", 1)[0])
        # A diff inside a text is a new file, with its own line numbers instead of those of the files that it changes.
        written = next((one for one in target.changes if text in (one.after or "")), None) if change is None else None
        if tokens(text) <= budget:
            found = change or written
            yield _Piece(text, (found,) if found else ())
        else:
            yield from _cut(text, change, written, budget)


def _cut(text: str, change: Changed | None, written: Changed | None, budget: int) -> Iterator[_Piece]:
    head, hunks = head_and_hunks(text)
    space = max(64, budget - tokens(head) - 16)
    most = 3 * space - 70  # bytes: three for a token, minus some for the first line of a hunk
    small = [part for hunk in hunks for part in ([hunk] if tokens(hunk) <= space else shorter_hunks(hunk, most))] or [
        text
    ]
    groups: list[list[str]] = []
    left = 0
    for hunk in small:
        if not groups or tokens(hunk) > left:
            groups.append([])
            left = space
        groups[-1].append(hunk)
        left -= tokens(hunk)
    for n, group in enumerate(groups, 1):
        lines = [found.new_lines for hunk in group if (found := hunk_range(hunk))]
        changes: tuple[Changed, ...] = (written,) if written else ()
        path = written.path if written else "the diff"
        if change is not None:
            path = change.path
            inside = (_overlap(own, span) for own in change.added for span in lines)
            changes = (replace(change, added=tuple(pair for pair in inside if pair)),)
        yield _Piece(head + "".join(group), changes, f"{path}: {n} of {len(groups)} pieces of its diff")


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int] | None:
    first, last = max(one[0], other[0]), min(one[1], other[1])
    return (first, last) if first <= last else None


def _merged(group: Sequence[_Piece]) -> tuple[Changed, ...]:
    """The changes of a part, each once, though a file may be in several pieces."""
    merged: dict[str, Changed] = {}
    for change in (change for piece in group for change in piece.changes):
        seen = merged.get(change.path)
        whole = change if seen is None else replace(seen, added=tuple(sorted({*seen.added, *change.added})))
        merged[change.path] = whole
    return tuple(merged.values())
