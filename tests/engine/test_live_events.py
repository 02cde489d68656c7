"""The feed of events: what is told of an answer while it is written."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rebut.engine.live_answer import LivePoint
from rebut.engine.live_events import DebateEvent, DebateStarted, EventFeed, PointWritten
from rebut.record.events import Answered, Asked, Event, Line, Opened
from rebut.record.record import Record

KEY = "r1/challenge@critic"


def told(feed: EventFeed) -> list[DebateEvent]:
    async def read() -> list[DebateEvent]:
        feed.end()
        events = []
        while (event := await feed.next()) is not None:
            events.append(event)
        return events

    return asyncio.run(read())


def begun() -> EventFeed:
    feed = EventFeed()
    happens(feed, Opened(id="s1", protocol="duel", topic="t"))
    feed.ready(Record([Line(1, "", Opened(id="s1", protocol="duel", topic="t"))]), Path("s1"))
    return feed


def happens(feed: EventFeed, event: Event) -> None:
    feed.line(Line(1, "", event))


def answer(*points: LivePoint) -> Any:
    return SimpleNamespace(points=list(points))


def test_a_point_is_told_when_it_is_written_and_again_when_its_citation_is_checked() -> None:
    feed, first, second = begun(), LivePoint("No replica."), LivePoint("No test.", place="a.py:1")
    writing = answer(first)
    for _ in range(2):  # heard twice without a change
        feed.heard(KEY, writing)
    writing.points.append(second)
    feed.heard(KEY, writing)
    writing.points[1] = replace(second, mark="absent", looked_up=True)
    feed.heard(KEY, writing)
    assert told(feed) == [
        DebateStarted("s1", "duel", "t", {}),
        PointWritten(KEY, "critic", 1, "No replica.", "", "", False),
        PointWritten(KEY, "critic", 2, "No test.", "a.py:1", "", False),
        PointWritten(KEY, "critic", 2, "No test.", "a.py:1", "absent", True),
    ]


def test_what_is_checked_after_the_answer_is_on_record_is_not_told_and_another_attempt_is() -> None:
    feed, point = begun(), LivePoint("No replica.")
    happens(feed, Asked(key=KEY, seat="critic", fp="1"))
    feed.heard(KEY, answer(point))
    happens(feed, Answered(key=KEY, seat="critic", fp="1"))
    feed.heard(KEY, answer(replace(point, looked_up=True)))
    happens(feed, Asked(key=KEY, seat="critic", fp="1", attempt=2))
    feed.heard(KEY, answer(point))
    kinds = [type(event).__name__ for event in told(feed)]
    assert kinds == ["DebateStarted", "SeatAsked", "PointWritten", "SeatAnswered", "SeatAsked", "PointWritten"]
