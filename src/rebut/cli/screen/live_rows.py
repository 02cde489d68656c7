"""The rows of the screen that change while models answer: who answers, the points so far, the time left."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from unicodedata import east_asian_width

from rebut.core.json_value import objects
from rebut.core.text import NARROW, counted, cut, cut_start, squeeze, wrapped
from rebut.core.types import ModelSpec
from rebut.domain.amounts import duration, size, spent
from rebut.engine.live_answer import LiveAnswer, LivePoint
from rebut.record.events import Answered, Asked, Fact
from rebut.record.record import Record, Spent, name_of_step, seat_of
from rebut.record.timings import Expected, History
from rebut.reports import terminal

MOST_LIVE = 6
"""Rows of points below one seat."""
CAPTION = 23
INDENT = " " * 6
MOST_BELOW_A_TURN = 5
"""Points that stay below an answer."""
TAG = 3
FEWEST = 14
"""The fewest columns in which a text is worth showing."""


@dataclass
class LiveRows:
    """The calls in flight and their points so far. `rows` draws them from the start each time."""

    label: str = ""
    asked: dict[str, tuple[Asked, float]] = field(default_factory=dict)
    """Calls in flight, each with its start time."""
    answers: dict[str, LiveAnswer] = field(default_factory=dict)
    held: list[Answered] = field(default_factory=list)
    """Answers not printed yet: their ledger entries are known when all answers of the step are in."""
    waits: dict[str, tuple[str, float]] = field(default_factory=dict)
    stopping: float = 0.0
    """When the calls in flight will be dropped."""
    planned: Mapping[str, int] = field(default_factory=dict)
    history: History = field(default_factory=History)
    seats: dict[str, str] = field(default_factory=dict)
    column: int = 11
    spent: Spent | None = None
    made: tuple[str, ...] = ()

    def note(self, record: Record) -> None:
        """Copy what the rows need from the record, which changes while another thread draws them."""
        self.seats = {str(row["seat"]): str(ModelSpec.parse(str(row["spec"]))) for row in record.opened.seats}
        self.column = terminal.column(record)
        self.spent = record.spent() if any(call.attempts for call in record.calls.values()) else None
        calls = record.calls.items()
        self.made = tuple(key for key, c in calls if c.answered or (c.failed and not c.failed.reopened))

    def rows(self, width: int) -> list[str]:
        column, most = self.column, self._room_for_points()
        rows: list[str] = []
        for key, (asked, since) in list(self.asked.items()):
            rows.append(self._in_flight(key, asked, time.monotonic() - since, column, width))
            rows += self._points(key, most, width)
        if not rows:
            return []
        for one in list(self.held):
            took = duration(one.ms / 1000)
            rows.append(f"{row_head(one.key, column)} {took:>8}  answered")
            rows += self._points(one.key, most, width)
        if self.spent:
            in_doubt = max(0, self.spent.in_doubt - len(self.asked))  # calls in flight are not in doubt
            rows.append(_captioned("so far", spent(replace(self.spent, in_doubt=in_doubt)), width))
        if said := self._expected():
            rows.append(_captioned("expected", said, width) if width >= NARROW else f"    {said}")
        if self.label:
            rows.append(f"    {cut(self.label, width - 5)}")
        if self.stopping:
            left = max(0.0, self.stopping - time.monotonic())
            message = finishing(map(seat_of, list(self.asked)), left)
            rows += wrapped(message, width, hanging="  ")  # how to stop must be visible at any width
        return rows

    def _in_flight(self, key: str, asked: Asked, took: float, column: int, width: int) -> str:
        why = f" ({asked.why})" if asked.why != "ask" else ""
        head = f"{row_head(key, column)} {duration(took):>8}{why}"
        if key in self.waits:
            return f"{head}  {self._waiting(key)}"
        answer, space = self.answers.get(key), width - len(head) - 5
        if words := answer.words() if answer else "":
            return head + (f'  "{cut_start(words, space)}"' if space > 10 else "")
        if answer and answer.size and not answer.points:
            return f"{head}  {cut(f'{size(answer.size)} characters so far', max(1, space))}"
        usual = self.history.usual(asked.spec, step=name_of_step(key)) if not (answer and answer.size) else None
        usually = f", usually {duration(usual.seconds)}" if usual and usual.seconds > took else ""
        return head + (usually if len(usually) <= space else "")

    def _points(self, key: str, most: int, width: int) -> list[str]:
        answer = self.answers.get(key)
        return latest(list(answer.points), most, width) if answer else []

    def _room_for_points(self) -> int:
        """Rows of points for each seat, so that everything fits on the screen."""
        count = len(self.asked) + len(self.held)
        lines = shutil.get_terminal_size((80, 24)).lines
        return max(1, min(MOST_LIVE, (lines - 5 - count) // max(1, count)))

    def _waiting(self, key: str) -> str:
        """The message about the wait, with the seconds that are left now."""
        words, since = self.waits[key]
        gone = time.monotonic() - since
        return re.sub(r"again in (\d+) s", lambda m: f"again in {max(0, int(m[1]) - int(gone))} s", words)

    def _expected(self) -> str:
        now, asked = time.monotonic(), dict(self.asked)
        running = {key: now - since for key, (_, since) in asked.items()}
        seats = self.seats | {
            seat_of(key): one.spec for key, (one, _) in asked.items()
        }  # a fallback may answer for a seat
        found = self.history.expected(self.planned, seats, self.made, running)
        return expected(found) if found else ""


def finishing(seats: Iterable[str], left: float) -> str:
    """After the first Ctrl-C: whose answers are awaited, and for how long."""
    who = " and ".join(f"the {seat}" for seat in dict.fromkeys(seats))
    return f"  waiting for {who} to finish (up to {left:.0f} s; Ctrl-C again to stop now) …"


def expected(found: Expected) -> str:
    """The estimate of the time left; a call that takes longer than usual is mentioned."""
    by = f"from {counted(found.by, 'earlier call')}"
    if found.late:
        past = f"longer than the usual {duration(found.late)}"
        return f"{past}; then about {roughly(found.seconds)} ({by})" if found.seconds >= 1 else past
    return f"up to {roughly(found.seconds)} left ({by})"


def roughly(seconds: float) -> str:
    if seconds < 10:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 10) * 10} s" if seconds < 95 else f"{round(seconds / 60)} min"


def row_head(key: str, column: int) -> str:
    """How a row about a call begins: the seat and the step."""
    step = key.rpartition("/")[2].rpartition("@")[0]
    return f"    {seat_of(key):<{column}} {step:<11}"


def _captioned(caption: str, text: str, width: int) -> str:
    return f"    {caption:<{CAPTION}} {text}" if width >= NARROW else f"    {caption}: {text}"


def row(point: LivePoint, width: int) -> str:
    """One line: severity, text as far as it fits, then place and mark at the right."""
    tag = " ".join(part for part in (point.about, point.tag) if part)
    lead = f"{INDENT}{tag:<{TAG}} " if tag else INDENT
    space = width - cells(lead) - 1
    # On a narrow terminal a long place loses its beginning, the folders.
    place = cut_start(squeeze(point.place), max(12, space // 3)) if point.place else ""
    mark = point.mark if point.looked_up else "…"
    end = " ".join(part for part in (place, mark) if part)
    if place and space - cells(end) < FEWEST:
        end = mark  # the text comes first, then the mark, then the place
    left = max(10, space - cells(end) - 2 if end else space)
    words = cut(point.text, left)
    while cells(words) > left:  # some characters take two columns
        words = cut(words, len(words) - 1)
    return f"{lead}{words}{' ' * max(0, space - cells(words) - cells(end))}{end}".rstrip()


def spoken(point: LivePoint) -> str:
    """A point for a screen reader: without columns, and nothing is cut."""
    tag = " ".join(part for part in (point.about, point.tag) if part)
    end = " ".join(part for part in (point.place, point.mark) if part)
    return ", ".join(part for part in (tag, point.text.rstrip("."), end) if part)


def latest(points: Sequence[LivePoint], most: int, width: int) -> list[str]:
    """The last points, as many as fit, and the number of earlier ones."""
    above = len(points) - most
    if above <= 0:
        return [row(point, width) for point in points]
    shown = [row(point, width) for point in points[above + 1 :]]
    return [f"{INDENT}… {above + 1} earlier", *shown]


def recorded(fact: Fact, width: int) -> list[str]:
    """The first claims and points that an answer added to the ledger, with the marks of their citations."""
    entries = [entry for entry in _entries(fact) if entry.get("entry") in ("claim", "point")]
    several = len({entry.get("by") for entry in entries}) > 1
    found = [_point(entry, str(entry.get("by", "")) if several else "") for entry in entries]
    rows = [row(point, width) for point in found[:MOST_BELOW_A_TURN]]
    return rows + ([f"{INDENT}and {len(found) - MOST_BELOW_A_TURN} more"] if len(found) > MOST_BELOW_A_TURN else [])


def _entries(fact: Fact) -> Sequence[dict[str, Any]]:
    return objects(fact.value.get("entries")) if isinstance(fact.value, dict) else []


def _point(entry: dict[str, Any], by: str) -> LivePoint:
    cited = entry.get("evidence") or ()
    first = next((e for e in cited if e.get("mark") == "absent"), cited[0] if cited else {})
    bare = "unsupported" if entry["entry"] == "claim" and not cited else ""
    place, mark = str(first.get("place", "")), str(first.get("mark", "")) or bare
    return LivePoint(str(entry.get("text", "")), str(entry.get("severity", "")), by, place, mark, looked_up=True)


def cells(text: str) -> int:
    """The columns that a text takes on a terminal."""
    return len(text) if text.isascii() else sum(2 if east_asian_width(c) in "WF" else 1 for c in text)
