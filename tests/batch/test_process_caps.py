"""A provider's caps hold for all processes of a batch together, as the provider sees them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from console import piped

from rebut.batch.process_caps import CapsForChildren, CapsOfParent
from rebut.core import caps as core_caps
from rebut.core.caps import Caps
from rebut.core.errors import ParticipantFailed
from tests_postgres import provider
from tests_postgres.provider import most_at_once, most_in


def batch(folder: Path, count: int) -> str:
    seats = {"proposer": "mine:a", "challenger": "mine:b", "judge": "mine:c"}
    rows = [
        {"id": f"q{n}", "protocol": "duel", "topic": f"q{n}: Redis?", "seats": seats, "settings": {"rounds": 1}}
        for n in range(count)
    ]
    path = folder / "in.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_two_processes_keep_to_one_providers_caps(workspace: Path, tmp_path: Path) -> None:
    with provider.serving(tmp_path / "calls", 0.3) as mine:
        mine.configure(Path.home(), "rpm = 1200\nat_once = 3")
        words = ["batch", batch(tmp_path, 12), "--out", str(tmp_path / "out.jsonl"), "--processes", "2"]
        done = piped(*words)
        assert done.returncode == 0, done.stderr
        calls = mine.calls()
    assert len(calls) == 36
    assert most_at_once(calls) == 3, "not three in each of the two processes"
    assert most_in(calls, 1.0) <= 20


def test_a_429_slows_every_process(workspace: Path, tmp_path: Path) -> None:
    with provider.serving(tmp_path / "calls", 0.05, "--busy", "7", "8") as mine:
        mine.configure(Path.home(), "at_once = 2")
        words = ["batch", batch(tmp_path, 12), "--out", str(tmp_path / "out.jsonl"), "--processes", "2"]
        assert piped(*words).returncode == 0
        calls = mine.calls()
    refused = [call for call in calls if call.status == 429]
    assert refused
    quiet = max(call.left for call in refused)
    others = [call.came for call in calls if call not in refused]
    # One that had left already may come while the news is on its way; the next comes after the pause.
    assert not [came for came in others if quiet + 0.5 < came < quiet + 2.5]
    assert [came for came in others if came > quiet + 2.5]


class Pipe:
    """The messages between one process and the first one, without processes."""

    def __init__(self, first: CapsForChildren, name: str) -> None:
        self._first, self.name = first, name
        self.caps = CapsOfParent(self._up)
        self.sent = 0

    def _up(self, message: Mapping[str, Any]) -> None:
        self.sent += 1
        self._first.take(self.name, self._down, json.loads(json.dumps(message)))

    def _down(self, message: Mapping[str, Any]) -> None:
        if "scarce" in message:
            self.caps.scarce(message["scarce"], message["value"])
        else:
            self.caps.answered(message["caps"], message["value"])


async def in_slot(pipe: Pipe, ended: asyncio.Event, began: list[str]) -> None:
    async with pipe.caps.slot("p", Caps(at_once=2)):
        began.append(pipe.name)
        await ended.wait()


def test_the_slots_of_a_dead_process_are_free_again() -> None:
    async def run() -> list[str]:
        first = CapsForChildren()
        one, two = Pipe(first, "one"), Pipe(first, "two")
        ended, began = asyncio.Event(), list[str]()
        tasks = [asyncio.create_task(in_slot(pipe, ended, began)) for pipe in (one, one, one, two)]
        await asyncio.sleep(0.01)
        assert began == ["one", "one"]
        first.lose("one")  # what it waited for is not handed out either
        await asyncio.sleep(0.01)
        assert began == ["one", "one", "two"]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return began

    asyncio.run(run())


def test_a_call_that_is_cancelled_while_it_waits_keeps_no_slot() -> None:
    async def run() -> None:
        first = CapsForChildren()
        one, two = Pipe(first, "one"), Pipe(first, "two")
        ended, began = asyncio.Event(), list[str]()
        holding = [asyncio.create_task(in_slot(one, ended, began)) for _ in range(2)]
        await asyncio.sleep(0.01)
        waiting = asyncio.create_task(in_slot(two, ended, began))
        await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        ended.set()
        await asyncio.gather(*holding)
        await asyncio.sleep(0.01)
        ended.clear()
        again = [asyncio.create_task(in_slot(two, ended, began)) for _ in range(2)]
        await asyncio.sleep(0.01)
        assert began == ["one", "one", "two", "two"], "both slots are free again"
        ended.set()
        await asyncio.gather(*again)

    asyncio.run(run())


def test_a_process_keeps_a_slot_for_its_next_call() -> None:
    async def run() -> int:
        one = Pipe(CapsForChildren(), "one")
        ended = asyncio.Event()
        ended.set()
        for _ in range(5):
            await in_slot(one, ended, [])
        return one.sent

    assert asyncio.run(run()) == 1, "it asks for a slot once"


@pytest.mark.parametrize("late", [False, True], ids=["known", "its first call comes while others wait"])
def test_slots_that_a_process_keeps_are_given_back_when_another_one_waits(late: bool) -> None:
    async def run() -> None:
        first = CapsForChildren()
        one, two = Pipe(first, "one"), Pipe(first, "two")
        ended, at_once = asyncio.Event(), asyncio.Event()
        at_once.set()
        if not late:
            await in_slot(two, at_once, [])
        began = list[str]()
        holding = [asyncio.create_task(in_slot(one, ended, began)) for _ in range(4)]
        await asyncio.sleep(0.01)
        assert began == ["one"] * 2, "two at once, also with the slot that the other process kept"
        waiting = [asyncio.create_task(in_slot(two, ended, began)) for _ in range(3)]
        await asyncio.sleep(0.01)
        ended.set()
        await asyncio.wait_for(asyncio.gather(*holding, *waiting), 5)
        ended.clear()
        began.clear()
        for pipe in (one, two):  # and so on, in turn: whoever has spare slots gives them back
            again = [asyncio.create_task(in_slot(pipe, ended, began)) for _ in range(2)]
            await asyncio.sleep(0.01)
            assert began == [pipe.name] * 2
            ended.set()
            await asyncio.gather(*again)
            ended.clear()
            began.clear()

    asyncio.run(run())


def test_turns_are_handed_out_to_all_in_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_caps, "time", SimpleNamespace(monotonic=lambda: 1000.0))  # all ask at the same moment

    async def run() -> list[float]:
        first = CapsForChildren()
        pipes = [Pipe(first, name) for name in ("one", "two")]
        waits: list[float] = []
        caps = Caps(rpm=6000)
        await asyncio.gather(*(pipe.caps.turn("p", caps, 0, waits.append) for pipe in pipes for _ in range(3)))
        return waits

    waits = sorted(asyncio.run(run()))
    step = 1 / Caps(rpm=6000).requests_a_second
    assert len(waits) == 5, "the first goes at once"
    assert waits == pytest.approx([step * n for n in range(1, 6)])


def test_a_turn_that_is_not_waited_for_goes_to_the_next_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_caps, "time", SimpleNamespace(monotonic=lambda: 1000.0))
    caps, waits = Caps(rpm=6000), list[float]()

    def refuse(seconds: float) -> None:
        raise ParticipantFailed("timeout", "no time")

    async def run() -> None:
        first = CapsForChildren()
        one, two = Pipe(first, "one"), Pipe(first, "two")
        await one.caps.turn("p", caps, 0, refuse)
        for _ in range(3):
            with pytest.raises(ParticipantFailed):
                await one.caps.turn("p", caps, 0, refuse)
        await two.caps.turn("p", caps, 0, waits.append)

    asyncio.run(run())
    assert waits == pytest.approx([1 / caps.requests_a_second])
