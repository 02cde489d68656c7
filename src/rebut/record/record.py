"""The record of a debate in memory: events folded into what was asked, answered, found out and spent.

Reports and the engine both read this. It never touches a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise

from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.core.types import ModelSpec
from rebut.record.events import Amended, Answered, Asked, Attempt, Closed, Fact, Failed, Line, Opened, Resumed, Wrote

IN_ROUND = re.compile(r"r[1-9]\d*/")
TURNED_AWAY = ("auth", "rate limit", "missing tool")


@dataclass(slots=True)
class Call:
    """Everything on record under one key."""

    key: str
    asked: dict[int, Asked] = field(default_factory=dict)
    attempts: dict[int, Attempt] = field(default_factory=dict)
    answered: Answered | None = None
    failed: Failed | None = None
    void: set[int] = field(default_factory=set)
    """Attempts that a deadline cut off: they are paid for, but neither an answer nor a failure."""
    past: int = 0
    """Attempts up to this number belong to a failure that was reopened: they are paid for, but no longer an answer."""

    @property
    def in_doubt(self) -> list[Asked]:
        """Calls that were started and whose end is not on record."""
        return [a for n, a in self.asked.items() if n not in self.attempts]

    @property
    def returned(self) -> list[tuple[Asked | None, Attempt]]:
        """The attempts that returned and still count as answers, in order."""
        return [
            (self.asked.get(n), self.attempts[n]) for n in sorted(self.attempts) if n > self.past and n not in self.void
        ]

    @property
    def last_reply(self) -> str:
        """The text of the last reply that came back; empty if none did."""
        said = [attempt.text for _, attempt in self.returned if attempt.outcome == "ok"]
        return said[-1] if said else ""

    @property
    def tokens(self) -> int:
        """The tokens of all attempts, as far as they were reported."""
        return sum((a.input or 0) + (a.output or 0) for a in self.attempts.values())

    @property
    def usd(self) -> float | None:
        """The price of all attempts; None if that of one is unknown."""
        costs = [a.usd for a in self.attempts.values() if a.usd is not None]
        return sum(costs) if len(costs) == len(self.attempts) else None

    @property
    def next_attempt(self) -> int:
        return max([0, *self.asked, *self.attempts]) + 1


@frozen
class Amount:
    """Calls, tokens and dollars that are spent or reserved."""

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.calls + other.calls, self.tokens + other.tokens, self.usd + other.usd)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.calls - other.calls, self.tokens - other.tokens, self.usd - other.usd)


@frozen
class Spent:
    """What a debate cost. `usd` is None if the price of one paid call is unknown."""

    calls: int = 0
    tokens: int = 0
    usd: float | None = 0.0
    seconds: float = 0.0
    in_doubt: int = 0
    unmetered: int = 0
    """Replies whose provider reported no tokens; they are not in `tokens`, but limits count their worst case."""


class Record:
    """The state after a series of events; `add` adds the next event."""

    def __init__(self, lines: Iterable[Line] = ()) -> None:
        self.lines: list[Line] = []
        self.calls: dict[str, Call] = {}
        self.facts: dict[str, Fact] = {}
        self.wrote: dict[str, Wrote] = {}
        self.limits: dict[str, Json] = {}
        self.closed: Closed | None = None
        self.committed = Amount()
        """The cost of calls that are settled, in flight or in doubt: limits are checked against it."""
        self._opened: Opened | None = None
        for line in lines:
            self.add(line)

    @property
    def opened(self) -> Opened:
        if self._opened is None:
            raise ValueError("a record without its first event")
        return self._opened

    def add(self, line: Line) -> None:
        self.lines.append(line)
        match line.event:
            case Asked() as e:
                self.call(e.key).asked[e.attempt] = e
                self.committed += reserved(e)
            case Attempt() as e:
                call = self.call(e.key)
                call.attempts[e.attempt] = e
                asked = call.asked.get(e.attempt)
                self.committed += counted_cost(asked, e) - (reserved(asked) if asked else Amount())
            case Answered() as e:
                self.call(e.key).answered = e
            case Failed() as e:
                call = self.call(e.key)
                call.failed = e
                if e.reopened and e.attempt:
                    call.void.add(e.attempt)
                elif e.reopened:
                    call.past = max([0, *call.asked, *call.attempts])
            case Fact() as e:
                self.facts[e.key] = e
            case Wrote() as e:
                self.wrote[e.path] = e
            case Opened() as e:
                self._opened = e
                self.limits = dict(e.limits)
            case Amended() as e:
                self.limits.update(e.limits)
            case Closed() as e:
                self.closed = e
            case Resumed():
                pass

    def call(self, key: str) -> Call:
        """The call under `key`; a new one if there is none."""
        found = self.calls.get(key)
        if found is None:
            found = self.calls[key] = Call(key)
        return found

    @property
    def notes(self) -> list[str]:
        """Notes from before the first call."""
        fact = self.facts.get("notes")
        return [str(note) for note in fact.value] if fact and isinstance(fact.value, list) else []

    def model(self, spec: str) -> str:
        """The model that a spec means, whatever the effort or the name: two names may mean one model."""
        identity = ModelSpec.parse(spec).identity
        return self.opened.one_model.get(identity, identity)

    def stand_in(self, seat: str) -> str:
        """The fallback that a seat has now; empty while it has its own model."""
        fact = self.facts.get(f"fallback@{seat}")
        return str(fact.value["spec"]) if fact and isinstance(fact.value, dict) else ""

    def answered_by(self, spec: str, seat: str = "") -> list[Attempt]:
        """The replies of a model, for one seat or for all."""
        return [
            attempt
            for call in self.calls.values()
            for asked, attempt in call.returned
            if asked and asked.spec == spec and attempt.outcome == "ok" and seat in ("", seat_of(call.key))
        ]

    def spoke_for(self, seat: str) -> str:
        """The fallback that has answered for a seat at least once; empty if none has."""
        spec = self.stand_in(seat)
        return spec if spec and self.answered_by(spec, seat) else ""

    @property
    def answers(self) -> int:
        return sum(1 for c in self.calls.values() if c.answered)

    @property
    def in_doubt(self) -> list[Asked]:
        return [a for c in self.calls.values() for a in c.in_doubt]

    def spent(self) -> Spent:
        """The cost of all calls on record, without copied answers. Only what was reported; nothing is estimated."""
        returned = [a for c in self.calls.values() for a in c.attempts.values()]
        metered = [a for a in returned if a.input is not None or a.output is not None]
        # A call without a price makes the sum unknown, never smaller, unless the provider rejected it.
        unknown = any(a.usd is None and a.outcome not in TURNED_AWAY for a in returned)
        return Spent(
            calls=sum(1 for c in self.calls.values() for a in c.asked.values() if not a.patient),
            tokens=sum((a.input or 0) + (a.output or 0) for a in metered),
            usd=None if unknown else sum(a.usd or 0.0 for a in returned),
            seconds=self.active_seconds(),
            in_doubt=len(self.in_doubt),
            unmetered=sum(1 for a in returned if a.outcome == "ok" and not a.patient and a.input is a.output is None),
        )

    @property
    def last_failures(self) -> list[Failed]:
        """The last failure under each key since the last answer, without calls that a deadline cut off.

        Failures that resume asks again are included: the debate stopped because of them.
        """
        last: dict[str, Failed] = {}
        for line in reversed(self.lines):
            if isinstance(line.event, Answered):
                break
            if isinstance(line.event, Failed):
                last.setdefault(line.event.key, line.event)
        return [failed for failed in reversed(last.values()) if not failed.attempt]

    def part(self, mine: Callable[[str], bool]) -> Record:
        """A record without events, with only the calls whose keys `mine` accepts."""
        part = Record()
        part.calls = {key: call for key, call in self.calls.items() if mine(key)}
        return part

    def spent_in_rounds(self) -> Spent:
        """The cost of the rounds alone, without what came before and after them."""
        took = 0.0
        for before, line in pairwise(self.lines):
            if isinstance(line.event, Attempt) and IN_ROUND.match(line.event.key):
                took += max(0.0, _worked(before, line))
        return replace(self.part(lambda key: bool(IN_ROUND.match(key))).spent(), seconds=took)

    def active_seconds(self) -> float:
        """Seconds during which a process worked on this debate, without the time in which people were thinking."""
        total = run = 0.0
        before: Line | None = None
        for line in self.lines:
            if before is None or isinstance(line.event, Opened | Resumed):
                total, run = total + max(0.0, run), (line.ran or 0) / 1000
            else:
                run += _worked(before, line)
                if line.ran is None and isinstance(line.event, Attempt) and line.event.patient:
                    run -= line.event.ms / 1000
            before = line
        return total + max(0.0, run)


def _worked(before: Line, line: Line) -> float:
    """Seconds of work between two events of one run. Journals of earlier versions have the time of day only.

    Below 0 if a person answered in between: the time of models meanwhile was counted, and is subtracted with the
    person's time.
    """
    if line.ran is None:
        return seconds(line.at) - seconds(before.at)
    return (line.ran - (before.ran or 0)) / 1000


def seat_of(key: str) -> str:
    """The seat that a key asks."""
    return key.rpartition("@")[2]


def step_of(key: str) -> str:
    """Scope and step of a key, without the part in which the questions of one step differ.

    The key of a ledger entry by several seats names no seat.
    """
    return (key.rpartition("@")[0] or key).partition(".")[0]


def name_of_step(key: str) -> str:
    """The step of a key alone, whatever its scope."""
    return key.rpartition("@")[0].rpartition("/")[2].partition(".")[0]


def reserved(asked: Asked) -> Amount:
    """What a call may cost at worst."""
    return Amount() if asked.patient else Amount(1, asked.tokens, asked.usd or 0.0)


def counted_cost(asked: Asked | None, attempt: Attempt) -> Amount:
    """The cost of a call for limits. If none was reported, the reserved cost: never less than the true one.

    A call that timed out or broke off may be billed; a call that the provider rejected is not.
    """
    if attempt.patient:
        return Amount()
    worst = Amount() if asked is None or attempt.outcome in TURNED_AWAY else reserved(asked)
    metered = attempt.input is not None and attempt.output is not None
    counted = (attempt.input or 0) + (attempt.output or 0) if metered else worst.tokens
    return Amount(1, counted, attempt.usd if attempt.usd is not None else 0.0 if metered else worst.usd)


def seconds(at: str) -> float:
    """A journal's time stamp as seconds since the epoch."""
    try:
        return datetime.fromisoformat(at).timestamp()
    except (ValueError, OverflowError):
        return 0.0  # not a time: the hash chain shows whether the line was changed
