"""Fixes: the lines that replace what a finding cites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rebut.domain.ledger import Point


def fixes(texts: Mapping[str, str], points: Sequence[Point]) -> tuple[dict[str, str], set[str]]:
    """The files with fixes in place of the lines that their findings cite, and the ids of these findings.

    Of two fixes that overlap, the first is applied.
    """
    wanted: dict[str, list[tuple[int, int, str]]] = {}
    ids = set[str]()
    for issue in points:
        # If an issue was raised more than once, its last fix counts: it refers to the lines of the latest version.
        point = next((one for one in reversed(issue.wordings) if one.fix), issue)
        place = lines_of(point.evidence[0].place) if point.evidence else None
        # A moved quote was found by its first line alone, so the lines that its fix would replace are not known.
        sure = point.evidence and point.evidence[0].mark in ("found", "located")
        if point.fix and sure and place and place[0] in texts:
            path, start, end = place
            taken = wanted.setdefault(path, [])
            inside = 1 <= start <= end <= texts[path].count("\n") + 1
            if inside and not any(start <= b and a <= end for a, b, _ in taken):
                taken.append((start, end, point.fix))
                ids.add(point.id)
    out = {}
    for path, edits in wanted.items():
        rows = texts[path].split("\n")
        for start, end, fix in sorted(edits, reverse=True):
            rows[start - 1 : end] = fix.removesuffix("\n").split("\n")
        if "\n".join(rows) != texts[path]:
            out[path] = "\n".join(rows)
    return out, ids


def lines_of(place: str) -> tuple[str, int, int] | None:
    """The path, the first and the last line that a place names; None if it names no line."""
    path, _, lines = place.rpartition(":")
    first, _, last = lines.partition("-")
    if not first.isdecimal():
        return None
    return path, int(first[:9]), int((last if last.isdecimal() else first)[:9])
