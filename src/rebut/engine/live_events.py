"""A running debate as typed events, for people who build their own interface.

`EventFeed` turns what the engine reports (lines of the journal, answers while they are written) into these events.
Only `PointWritten` is provisional: the journal has everything else before its event is sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, ParamSpec

from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.domain.ledger import Point, Status
from rebut.domain.outcome import Outcome
from rebut.domain.session_status import ledger_of
from rebut.record import events
from rebut.record.record import Record, seat_of

if TYPE_CHECKING:
    from rebut.engine.live_answer import LiveAnswer, LivePoint

P = ParamSpec("P")


@frozen
class DebateStarted:
    """The session is on record; from now on it can be resumed by its id."""

    session: str
    protocol: str
    topic: str
    seats: Mapping[str, str]
    """Seat → its model."""


@frozen
class SeatAsked:
    """A call begins."""

    key: str
    """The question, such as `r1/challenge@challenger`."""
    seat: str
    model: str
    attempt: int
    why: str
    """ask; or repair, context, send-back, again for a later attempt."""


@frozen
class PointWritten:
    """A point of an answer that is still being written: sent when it is complete, and again once it is checked.

    It is provisional: the answer may still be sent back, and the point has no id yet.
    """

    key: str
    seat: str
    number: int
    """Its place in the answer, from 1."""
    text: str
    place: str
    mark: str
    """What looking up its citation showed; empty until then."""
    checked: bool


@frozen
class SeatAnswered:
    """An answer is on record."""

    key: str
    seat: str
    model: str
    seconds: float
    value: Json
    """The filled form, or the text."""


@frozen
class SeatFailed:
    """A question stays without an answer."""

    key: str
    seat: str
    failure: str
    """The kind of failure, such as `timeout`."""
    message: str
    reopened: bool
    """Whether the question is asked again when the debate is resumed."""


@frozen
class PointChanged:
    """A point was raised, or a move on it changed its status."""

    point: Point
    status: Status
    was: Status | Literal[""]
    """Its earlier status; empty for a new point."""


@frozen
class DebateEnded:
    """The last event."""

    outcome: Outcome


DebateEvent = DebateStarted | SeatAsked | PointWritten | SeatAnswered | SeatFailed | PointChanged | DebateEnded


class EventFeed:
    """The events of one debate, in the order in which they happened."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[DebateEvent | None] = asyncio.Queue()
        self._record: Record | None = None
        self._status: dict[str, Status] = {}
        self._written: dict[str, tuple[LiveAnswer, list[LivePoint]]] = {}
        """Key → the answer that is being written, and its points as they were sent."""
        self._settled: set[str] = set()
        """Keys with an answer or a failure: later pieces of their answers are ignored."""

    def ready(self, record: Record, folder: Path) -> None:
        """Send the start of the debate, which is on record now."""
        was = record.opened
        seats = {str(row["seat"]): str(row["spec"]) for row in was.seats}
        self._record = record
        self._send(DebateStarted(was.id, was.protocol, was.topic, seats))
        self._send_changes()  # those of a resumed debate

    def line(self, line: events.Line) -> None:
        """Send what a new line of the journal says."""
        event = line.event
        if self._record is None:  # the opening, or what resume records before the debate continues
            return
        if isinstance(event, events.Asked):
            self._settled.discard(event.key)
            self._send(SeatAsked(event.key, event.seat, event.spec, event.attempt, event.why))
        elif isinstance(event, events.Answered):
            self._settled.add(event.key)
            self._send(SeatAnswered(event.key, event.seat, event.model, event.ms / 1000, event.value))
        elif isinstance(event, events.Failed):
            self._settled.add(event.key)
            self._send(SeatFailed(event.key, event.seat, event.failure, event.message, event.reopened))
        elif isinstance(event, events.Fact) and event.key.endswith("#ledger"):
            self._send_changes()

    def heard(self, key: str, answer: LiveAnswer) -> None:
        """Send the points of an answer that are new, or whose citations were checked."""
        if key in self._settled:
            return
        earlier, sent = self._written.get(key, (None, []))
        if earlier is not answer:  # another attempt
            sent = []
        for n, point in enumerate(answer.points, 1):
            if n > len(sent) or sent[n - 1] != point:
                seat, checked = seat_of(key), point.looked_up
                self._send(PointWritten(key, seat, n, point.text, point.place, point.mark, checked))
        self._written[key] = answer, list(answer.points)

    def _send_changes(self) -> None:
        """Send the points that are new or have another status."""
        if self._record is None:
            return
        ledger = ledger_of(self._record)
        for point in ledger.points:
            status = ledger.status(point.id)
            was: Status | Literal[""] = self._status.get(point.id, "")
            if status != was:
                self._status[point.id] = status
                self._send(PointChanged(point, status, was))

    def _send(self, event: DebateEvent) -> None:
        self._waiting.put_nowait(event)

    def end(self) -> None:
        """End the feed: there are no further events."""
        self._waiting.put_nowait(None)

    async def next(self) -> DebateEvent | None:
        """The next event; None after the last one."""
        return await self._waiting.get()


def both(first: Callable[P, None] | None, then: Callable[P, None]) -> Callable[P, None]:
    """A function that calls both, such as a listener of the user and that of a feed."""

    def call(*args: P.args, **named: P.kwargs) -> None:
        if first:
            first(*args, **named)
        then(*args, **named)

    return call
