"""The part of the screen that moves: who is speaking, the points as they come, and how long it may yet take."""

from __future__ import annotations

import re
import shutil
import textwrap
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rebut.cli.screen import points
from rebut.core.text import cut
from rebut.core.types import ModelSpec
from rebut.engine.live_answer import Hearing
from rebut.record.events import Answered, Asked
from rebut.record.record import Record, Spent, name_of_step, seat_of
from rebut.record.timings import Expected, History
from rebut.reports import terminal as report

NARROW = 76
"""Columns below which there is no room for a column of labels."""
MOST = 6
"""Rows of points below one seat."""
CAPTION = 23


@dataclass
class Moving:
    """What is going on just now. Rows are made anew each time: nothing of them is kept."""

    label: str = ""
    asked: dict[str, tuple[Asked, float]] = field(default_factory=dict)
    """Calls in flight, and since when."""
    heard: dict[str, Hearing] = field(default_factory=dict)
    held: list[Answered] = field(default_factory=list)
    """Answers whose turn is not printed yet: what they brought to the ledger is known when their siblings are in."""
    waits: dict[str, tuple[str, float]] = field(default_factory=dict)
    stopping: float = 0.0
    """When what is in flight will be dropped."""
    planned: Mapping[str, int] = field(default_factory=dict)
    history: History = field(default_factory=History)
    seats: dict[str, str] = field(default_factory=dict)
    column: int = 11
    spent: Spent | None = None
    made: tuple[str, ...] = ()

    def note(self, record: Record) -> None:
        """Take what is to be known from the record, which grows while a thread of its own draws the rows."""
        self.seats = {str(row["seat"]): str(ModelSpec.parse(str(row["spec"]))) for row in record.opened.seats}
        self.column = report.column(record)
        self.spent = record.spent() if any(call.attempts for call in record.calls.values()) else None
        calls = record.calls.items()
        self.made = tuple(key for key, c in calls if c.answered or (c.failed and not c.failed.reopened))

    def rows(self, width: int) -> list[str]:
        column, most = self.column, self._room_for_points()
        rows: list[str] = []
        for key, (asked, since) in list(self.asked.items()):
            rows.append(self._speaking(key, asked, time.monotonic() - since, column, width))
            rows += self._points(key, most, width)
        if not rows:
            return []
        for one in list(self.held):
            took = report.duration(one.ms / 1000)
            rows.append(f"{_head(one.key, column)} {took:>8}  answered")
            rows += self._points(one.key, most, width)
        if self.spent:
            in_doubt = max(0, self.spent.in_doubt - len(self.asked))  # those in flight are not in doubt yet
            rows.append(_captioned("so far", report.spent(replace(self.spent, in_doubt=in_doubt)), width))
        if said := self._expected():
            rows.append(_captioned("expected", said, width) if width >= NARROW else f"    {said}")
        if self.label:
            rows.append(f"    {cut(self.label, width - 5)}")
        if self.stopping:
            left = max(0.0, self.stopping - time.monotonic())
            who = " and ".join(f"the {seat_of(key)}" for key in list(self.asked))
            told = f"  letting {who} finish (up to {left:.0f} s; Ctrl-C again to drop it) …"
            rows += textwrap.wrap(told, width, subsequent_indent="  ")  # how to drop it must be seen at any width
        return rows

    def _speaking(self, key: str, asked: Asked, took: float, column: int, width: int) -> str:
        why = f" ({asked.why})" if asked.why != "ask" else ""
        head = f"{_head(key, column)} {report.duration(took):>8}{why}"
        if key in self.waits:
            return f"{head}  {self._waiting(key)}"
        hearing, room = self.heard.get(key), width - len(head) - 5
        if words := hearing.words() if hearing else "":
            return head + (f'  "{_tail(words, room)}"' if room > 10 else "")
        if hearing and hearing.size and not hearing.points:
            return _cut(f"{head}  {report.size(hearing.size)} characters so far", width)
        usual = self.history.usual(asked.spec, step=name_of_step(key)) if not (hearing and hearing.size) else None
        told = f", usually {report.duration(usual.seconds)}" if usual and usual.seconds > took else ""
        return head + (told if len(told) <= room else "")

    def _points(self, key: str, most: int, width: int) -> list[str]:
        hearing = self.heard.get(key)
        return points.latest(list(hearing.points), most, width) if hearing else []

    def _room_for_points(self) -> int:
        """Rows for each who speaks or spoke. What does not fit on the screen would not be seen at all."""
        count = len(self.asked) + len(self.held)
        lines = shutil.get_terminal_size((80, 24)).lines
        return max(1, min(MOST, (lines - 5 - count) // max(1, count)))

    def _waiting(self, key: str) -> str:
        """The words as they were, with the seconds that are left now."""
        words, since = self.waits[key]
        gone = time.monotonic() - since
        return re.sub(r"again in (\d+) s", lambda m: f"again in {max(0, int(m[1]) - int(gone))} s", words)

    def _expected(self) -> str:
        now, asked = time.monotonic(), dict(self.asked)
        running = {key: now - since for key, (_, since) in asked.items()}
        seats = self.seats | {seat_of(key): one.spec for key, (one, _) in asked.items()}  # a fallback may speak for one
        found = self.history.expected(self.planned, seats, self.made, running)
        return expected(found) if found else ""


def expected(found: Expected) -> str:
    """How long it may yet take: what is usual, never a promise. What takes longer than usual is said to."""
    by = f"by {found.by} earlier call{'' if found.by == 1 else 's'}"
    if found.late:
        past = f"past the usual {report.duration(found.late)}"
        return f"{past}; then about {roughly(found.seconds)}, {by}" if found.seconds >= 1 else past
    return f"about {roughly(found.seconds)} left at most, {by}"


def roughly(seconds: float) -> str:
    if seconds < 10:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 10) * 10} s" if seconds < 95 else f"{round(seconds / 60)} min"


def _head(key: str, column: int) -> str:
    step = key.rpartition("/")[2].rpartition("@")[0]
    return f"    {seat_of(key):<{column}} {step:<11}"


def _captioned(caption: str, text: str, width: int) -> str:
    return f"    {caption:<{CAPTION}} {text}" if width >= NARROW else f"    {caption}: {text}"


def _tail(words: str, room: int) -> str:
    return words if len(words) <= room else "…" + words[-(room - 1) :]


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: width - 1] + "…"
