"""A provider's caps over all workers of a database: turns are handed out by a function there, slots are its locks.

A slot is an advisory lock of this worker's own connection, so that it is free again the moment the worker dies. A
worker that is stopped keeps its slots, which is right: its calls are in flight.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from zlib import crc32

import psycopg

from rebut.core.caps import Caps
from rebut.record.postgres.connection import AGAIN, PatientConnection, close_async, connect_async

LOOK = 0.05
"""Seconds between two tries for a slot that another worker has."""
HELD = 5.0
"""Seconds for which calls of this worker may pass a slot on to each other; then others have a chance."""
SPAN = 1.05
"""Factor by which a span is made longer: requests that are sent within it may arrive within a shorter one."""
LATE = 0.01
"""Seconds by which a request may be late without telling the other workers."""


@dataclass(slots=True)
class _Provider:
    """What this worker knows of one provider."""

    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One call at a time asks for its turn, so that the turns of others do not lie far ahead when a pause comes."""
    taking: asyncio.Lock = field(default_factory=asyncio.Lock)
    held: dict[int, float] = field(default_factory=dict)
    """Slot of this worker → the time since when it has it."""
    waiting: list[asyncio.Future[int]] = field(default_factory=list)


class SharedCaps:
    """The caps of one worker's event loop."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._turns = PatientConnection(url)
        self._slots: psycopg.AsyncConnection[tuple[Any, ...]] | None = None
        self._locking = asyncio.Lock()
        self._providers: dict[str, _Provider] = {}
        self._connections = 0
        """How often the connection of the slots was opened."""
        self._sent: set[asyncio.Future[Any]] = set()

    def _of(self, provider: str) -> _Provider:
        return self._providers.setdefault(provider, _Provider())

    # Turns. -----------------------------------------------------------------------------------------------------------

    async def turn(
        self, provider: str, caps: Caps, tokens: int, on_wait: Callable[[float], None]
    ) -> Callable[[], None]:
        async with self._of(provider).asking:
            rates = (caps.requests_a_second, caps.most, caps.span * SPAN, float(tokens), caps.tokens_a_second)
            asked = time.monotonic()
            wait, number = await self._turns.ask("select * from rebut_admit(%s, %s, %s, %s, %s, %s)", provider, *rates)
            ends = asked + wait  # at the earliest: how long the answer took is not known
            while wait > 0:
                on_wait(wait)
                await asyncio.sleep(wait)
                if wait < 1.0:
                    break
                # A pause may have come meanwhile.
                [wait] = await self._turns.ask("select coalesce(rebut_paused(%s), 0)", provider)

        def sent() -> None:
            if (late := time.monotonic() - ends) > LATE and caps.rpm:
                self._later(self._turns.ask("select rebut_late(%s, %s, %s)", provider, number, late))

        return sent

    def give_back(self, provider: str, caps: Caps, tokens: int) -> None:
        if caps.tpm:
            sql = "select rebut_give_back(%s, %s, %s)"
            self._later(self._turns.ask(sql, provider, float(tokens), caps.tokens_a_second))

    def pause(self, provider: str, seconds: float) -> None:
        self._later(self._turns.ask("select rebut_pause(%s, %s)", provider, seconds))

    def _later(self, asking: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.ensure_future(asking)
        self._sent.add(task)
        task.add_done_callback(self._sent.discard)

    # Slots. -----------------------------------------------------------------------------------------------------------

    def slot(self, provider: str, caps: Caps) -> AbstractAsyncContextManager[None]:
        return self._slot(provider, caps.at_once or 0)

    @asynccontextmanager
    async def _slot(self, provider: str, count: int) -> AsyncIterator[None]:
        if not count:
            yield
            return
        mine = self._of(provider)
        number = await self._take(mine, provider, count)
        taken = self._connections
        try:
            yield
        finally:
            if taken == self._connections:  # otherwise the lock was lost with its connection
                self._pass_on(mine, provider, number)

    async def _take(self, mine: _Provider, provider: str, count: int) -> int:
        passed: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        mine.waiting.append(passed)
        taking = asyncio.ensure_future(self._lock(mine, provider, count))
        used: asyncio.Future[int] | None = None
        try:
            await asyncio.wait((passed, taking), return_when=asyncio.FIRST_COMPLETED)
            used = passed if passed.done() else taking
            return used.result()
        finally:
            if passed in mine.waiting:
                mine.waiting.remove(passed)
            taking.cancel()
            for other in (passed, taking):  # a slot that is not used here: the next call gets it
                if other is not used and other.done() and not other.cancelled() and other.exception() is None:
                    self._pass_on(mine, provider, other.result())

    async def _lock(self, mine: _Provider, provider: str, count: int) -> int:
        """A slot that is locked now. One call of this worker tries at a time; the others wait behind it."""
        async with mine.taking:
            while True:
                # The database would grant a lock again that this worker holds.
                free = [number for number in range(count) if number not in mine.held]
                for number in free:
                    trying = asyncio.ensure_future(self._try(mine, provider, number))
                    try:
                        if await asyncio.shield(trying):
                            return number
                    except asyncio.CancelledError:
                        # The lock may be on its way. The next call gets it, or it is given back.
                        trying.add_done_callback(partial(self._unclaimed, mine, provider, number))
                        raise
                await asyncio.sleep(LOOK)

    async def _try(self, mine: _Provider, provider: str, number: int) -> bool:
        mine.held[number] = time.monotonic()  # so that no other call of this worker tries it meanwhile
        locked = False
        try:
            locked = bool(await self._on_slots("select pg_try_advisory_lock(%s, %s)", _key(provider), number))
        finally:
            if locked:
                mine.held[number] = time.monotonic()
            else:
                mine.held.pop(number, None)
        return locked

    def _unclaimed(self, mine: _Provider, provider: str, number: int, tried: asyncio.Future[bool]) -> None:
        if not tried.cancelled() and tried.exception() is None and tried.result():
            self._pass_on(mine, provider, number)

    def _pass_on(self, mine: _Provider, provider: str, number: int) -> None:
        """Give a slot to the next call of this worker or, after a while, to whichever worker is quickest."""
        if time.monotonic() - mine.held.get(number, 0.0) < HELD:
            for waiting in mine.waiting:
                if not waiting.done():
                    mine.waiting.remove(waiting)
                    waiting.set_result(number)
                    return
        mine.held.pop(number, None)
        self._later(self._on_slots("select pg_advisory_unlock(%s, %s)", _key(provider), number))

    async def _on_slots(self, sql: str, *values: Any) -> Any:
        async with self._locking:
            try:
                if self._slots is None or self._slots.closed:
                    self._slots = await connect_async(self._url)
                    self._connections += 1
                    for mine in self._providers.values():
                        mine.held.clear()  # the locks were lost with the connection
                row = await (await self._slots.execute(sql, values)).fetchone()
                return row[0] if row else None
            except (psycopg.OperationalError, OSError):
                await close_async(self._slots)
                self._slots = None
                await asyncio.sleep(AGAIN)
                return False

    async def close(self) -> None:
        for sent in list(self._sent):
            sent.cancel()
        await self._turns.close()
        await close_async(self._slots)


def _key(provider: str) -> int:
    """The number of a provider's locks: the same in every process."""
    return crc32(f"rebut {provider}".encode()) - 2**31
