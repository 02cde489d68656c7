"""The helm: what is decided by hand while a debate runs, on record before it takes effect.

A decision is a fact like any other input: it holds for a resumed, a forked and a replayed debate, too.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median
from typing import cast

from rebut.core.types import Json
from rebut.domain.limits import shown
from rebut.engine.runtime import Room
from rebut.record.events import Fact
from rebut.record.record import Amount, Record, seat_of, step_of

SETTLE, MORE = "settle", "more"
LEFT_FACT = "#left"
PATIENCE = 2.0
"""A call is a straggler beyond so many times the median of its siblings."""


@dataclass(frozen=True, slots=True)
class Settled:
    """That the rounds were ended by hand: in which round, and what had been asked of it by then."""

    round: int
    steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Straggler:
    """A call that takes long beside its siblings, in seconds."""

    key: str
    took: float
    usual: float

    @property
    def seat(self) -> str:
        return seat_of(self.key)


def settled(record: Record) -> Settled | None:
    fact = record.facts.get(SETTLE)
    if fact is None or not isinstance(fact.value, dict):
        return None
    return Settled(cast(int, fact.value["round"]), tuple(cast(list[str], fact.value["steps"])))


def added(record: Record) -> int:
    """Rounds that were added by hand."""
    fact = record.facts.get(MORE)
    return fact.value if fact and isinstance(fact.value, int) else 0


def left(room: Room, key: str, fp: str) -> str:
    """Why a question is not asked any more, if it was left behind, here or in the debate that this is a fork of."""
    fact = room.record.facts.get(key + LEFT_FACT)
    if fact is None and room.parent and (old := room.parent.facts.get(key + LEFT_FACT)) and old.of == fp:
        room.write(fact := old)
    return str(fact.value or "") if fact else ""


@dataclass(slots=True)
class Helm:
    """The hand on one debate that runs."""

    room: Room
    name: str
    """Of the protocol."""
    planned: int = 0
    """Rounds as they were asked for; 0 for a protocol that has none."""
    most: int = 0
    """Rounds at most."""
    why_most: str = ""

    @property
    def rounds(self) -> int:
        """Rounds as they are planned by now."""
        return self.planned + added(self.room.record)

    def settle(self) -> str:
        if refused := self.refuses_settling:
            return refused
        now = self.room.rounds.now
        scope = f"r{now}/"
        steps = {step_of(key).removeprefix(scope) for key in self.room.record.calls if key.startswith(scope)}
        self._decide(SETTLE, {"round": now, "steps": list[Json](sorted(steps))})
        return ""

    def more(self) -> str:
        if refused := self.refuses_more:
            return refused
        self._decide(MORE, added(self.room.record) + 1)
        return ""

    @property
    def refuses_more(self) -> str:
        """Why no round can be added; empty if one can."""
        room = self.room
        if refused := self.refuses_settling:
            return refused
        if self.rounds >= self.most:
            return self.why_most or f"{self.name} has at most {self.most} rounds"
        name = room.limits.refuses(room.record.committed, Amount(1), room.closing)
        if not name and room.seconds_left() <= 0:
            name = "minutes"
        if name:
            return f"the limit of {shown(name, getattr(room.limits, name))} leaves no room for another round"
        return ""

    def leave(self, key: str) -> str:
        room, seat = self.room, seat_of(key)
        if key not in room.control.flying:
            return f"{key} is not being asked"
        siblings = self._siblings(key)
        if not siblings:
            return f"nobody beside the {seat} has answered yet"
        took = time.monotonic() - room.control.flying[key]
        fp = next((asked.fp for asked in room.record.call(key).asked.values()), "")
        others = "the other" if len(siblings) == 1 else f"the {len(siblings)} others"
        why = f"by hand, after {took:.0f} s; {others} took {median(siblings):.0f} s"
        room.write(Fact(key=key + LEFT_FACT, cls="input", of=fp, value=why))
        return ""

    def stragglers(self) -> list[Straggler]:
        """Calls past twice the median of their finished siblings, the longest first."""
        now, found = time.monotonic(), list[Straggler]()
        # A copy, as below: the screen looks from a thread of its own while calls begin and end.
        for key, since in list(self.room.control.flying.items()):
            siblings = self._siblings(key)
            if siblings and now - since > PATIENCE * median(siblings) and key + LEFT_FACT not in self.room.record.facts:
                found.append(Straggler(key, now - since, median(siblings)))
        return sorted(found, key=lambda one: -one.took)

    def _siblings(self, key: str) -> list[float]:
        """Seconds that those took who were asked the same beside it, and have answered."""
        calls = list(self.room.record.calls.values())
        return [c.answered.ms / 1000 for c in calls if c.answered and c.key != key and step_of(c.key) == step_of(key)]

    @property
    def refuses_settling(self) -> str:
        """Why the rounds cannot be ended by hand; empty if they can."""
        if not self.planned:
            return f"{self.name} has no rounds"
        if self.room.rounds.over:
            return "the rounds are over; this is the closing"
        if settled(self.room.record):
            return "it is settled already: no further rounds"
        return ""

    def _decide(self, key: str, value: Json) -> None:
        self.room.write(Fact(key=key, cls="input", value=value))


def decisions(record: Record) -> list[Fact]:
    """What was decided by hand on rounds."""
    return [record.facts[key] for key in (SETTLE, MORE) if key in record.facts]
