"""Points as rows: while an answer is being written, and below a turn once they are on record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unicodedata import east_asian_width

from rebut.core.text import cut
from rebut.engine.live_answer import Heard
from rebut.record.events import Fact

INDENT = " " * 6
MOST = 5
"""How many stay below a turn."""
TAG = 3
FEWEST = 14
"""Columns below which words say nothing."""


def row(point: Heard, width: int) -> str:
    """One line: how grave, the words as far as they fit, and at the end of the line where and what was found there."""
    tag = " ".join(part for part in (point.about, point.tag) if part)
    lead = f"{INDENT}{tag:<{TAG}} " if tag else INDENT
    room = width - cells(lead) - 1
    # Neither side may starve the other: on a narrow terminal a long place loses its front, where folders stand.
    place = _ending(point.place, max(12, room // 3)) if point.place else ""
    mark = point.mark if point.looked_up else "…"
    end = " ".join(part for part in (place, mark) if part)
    if place and room - cells(end) < FEWEST:
        end = mark  # words come first, and the mark before its place
    left = max(10, room - cells(end) - 2 if end else room)
    words = cut(point.text, left)
    while cells(words) > left:  # some characters take two columns
        words = cut(words, len(words) - 1)
    return f"{lead}{words}{' ' * max(0, room - cells(words) - cells(end))}{end}".rstrip()


def spoken(point: Heard) -> str:
    """The same for a screen reader: nothing is cut, nothing stands in columns."""
    tag = " ".join(part for part in (point.about, point.tag) if part)
    end = " ".join(part for part in (point.place, point.mark) if part)
    return ", ".join(part for part in (tag, point.text.rstrip("."), end) if part)


def latest(points: Sequence[Heard], most: int, width: int) -> list[str]:
    """The last of them, as many as there is room for, and how many stand above."""
    above = len(points) - most
    if above <= 0:
        return [row(point, width) for point in points]
    shown = [row(point, width) for point in points[above + 1 :]]
    return [f"{INDENT}… {above + 1} before", *shown]


def recorded(fact: Fact, width: int) -> list[str]:
    """What a turn brought to the ledger, as it was checked: claims and points, the first few of them."""
    entries = [entry for entry in _entries(fact) if entry.get("entry") in ("claim", "point")]
    several = len({entry.get("by") for entry in entries}) > 1
    found = [_point(entry, str(entry.get("by", "")) if several else "") for entry in entries]
    rows = [row(point, width) for point in found[:MOST]]
    return rows + ([f"{INDENT}and {len(found) - MOST} more"] if len(found) > MOST else [])


def _entries(fact: Fact) -> Sequence[dict[str, Any]]:
    rows = fact.value.get("entries") if isinstance(fact.value, dict) else None
    return [one for one in rows if isinstance(one, dict)] if isinstance(rows, list) else []


def _point(entry: dict[str, Any], by: str) -> Heard:
    cited = entry.get("evidence") or ()
    first = next((e for e in cited if e.get("mark") == "absent"), cited[0] if cited else {})
    bare = "unsupported" if entry["entry"] == "claim" and not cited else ""
    place, mark = str(first.get("place", "")), str(first.get("mark", "")) or bare
    return Heard(str(entry.get("text", "")), str(entry.get("severity", "")), by, place, mark, looked_up=True)


def cells(text: str) -> int:
    """Columns that a text takes on a terminal."""
    return len(text) if text.isascii() else sum(2 if east_asian_width(c) in "WF" else 1 for c in text)


def _ending(place: str, limit: int) -> str:
    place = " ".join(place.split())
    return place if len(place) <= limit else "…" + place[-(limit - 1) :]
