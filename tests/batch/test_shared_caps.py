"""Slots of a worker that shares a provider's caps with others: none is lost when a call is cancelled."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

pytest.importorskip("psycopg")

from rebut.batch.shared_caps import SharedCaps
from rebut.core.caps import Caps

ONE = Caps(at_once=1)


class Locks(SharedCaps):
    """The locks of a database, which are re-entrant, and answers that come when the test says so."""

    def __init__(self) -> None:
        super().__init__("postgresql://nowhere")
        self.locked = Counter[int]()
        self.elsewhere = set[int]()
        """Slots that another worker has."""
        self.answer = asyncio.Event()
        self.answer.set()
        self.asked = asyncio.Event()

    async def _on_slots(self, sql: str, *values: Any) -> Any:
        async with self._locking:
            self.asked.set()
            await self.answer.wait()
            number = values[1]
            if "unlock" in sql:
                self.locked[number] -= 1
                return True
            if number in self.elsewhere:
                return False
            self.locked[number] += 1
            return True


async def settled(caps: Locks) -> None:
    while caps._sent:
        await asyncio.gather(*caps._sent)
    await asyncio.sleep(0)


async def in_slot(caps: Locks, ended: asyncio.Event) -> None:
    async with caps.slot("p", ONE):
        await ended.wait()


def test_a_lock_that_comes_after_its_call_was_cancelled_is_given_back() -> None:
    async def run() -> None:
        caps, ended = Locks(), asyncio.Event()
        caps.answer.clear()
        call = asyncio.create_task(in_slot(caps, ended))
        await caps.asked.wait()
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        caps.answer.set()
        for _ in range(5):
            await asyncio.sleep(0)
        await settled(caps)
        assert not +caps.locked and not caps._of("p").held

    asyncio.run(run())


def test_a_slot_that_is_passed_to_a_call_as_it_is_cancelled_is_not_lost() -> None:
    async def run() -> None:
        caps, ended = Locks(), asyncio.Event()
        first = asyncio.create_task(in_slot(caps, ended))
        await asyncio.sleep(0.01)
        second = asyncio.create_task(in_slot(caps, asyncio.Event()))
        await asyncio.sleep(0.01)
        mine = caps._of("p")
        assert len(mine.waiting) == 1 and +caps.locked == Counter({0: 1})
        passed = mine.waiting[0]
        passed.add_done_callback(lambda _: second.cancel())  # runs before the call that waits is woken
        ended.set()
        await asyncio.gather(first, second, return_exceptions=True)
        await settled(caps)
        third = asyncio.create_task(in_slot(caps, ended))
        await asyncio.wait_for(third, 20)
        await settled(caps)
        assert not +caps.locked and not mine.held

    asyncio.run(run())
