"""The budget of a batch over all workers: what its debates have spent and reserved is in the database.

Each worker reports what a debate has spent and reserved in all, never what is to be added, so that a report sent twice
counts once. Each report has the session's epoch: a worker that has lost a debate can no longer change its amounts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from rebut.record.postgres.connection import PatientConnection
from rebut.record.record import Amount

LOOK = 0.25
"""Seconds between two tries for a call that does not fit while others are in flight."""
CLOSING = 5.0
"""Seconds to wait at the end of a debate until the database knows what it has spent."""
RESERVE = "select rebut_reserve(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
SETTLE = "select rebut_settle(%s, %s, %s, %s, %s, %s)"


class DebateBudget:
    """The budget of the batch, as one debate of a worker sees it."""

    def __init__(
        self,
        database: PatientConnection,
        epoch: Callable[[], int],
        spent: Callable[[], Amount],
        stops: Callable[[], bool],
    ) -> None:
        self.reached = ""
        """The limit that stopped this debate."""
        self._database, self._epoch, self._spent, self._stops = database, epoch, spent, stops
        self._in_flight = 0
        self._turn = asyncio.Lock()
        """Lets one statement run at a time, with the amounts on record at that moment. A permitted call is on record
        before the next statement begins, since nothing else runs in between."""
        self._changed = False
        self._settling: asyncio.Future[None] | None = None

    async def reserve(self, line_hash: str, worst: Amount) -> bool:
        while True:
            async with self._turn:
                said = await self._ask(line_hash, worst, again=False)
                self._changed = False  # the database knows what is on record now
                self._in_flight += not said
            if said != "wait":
                self.reached = "" if said == "lost" else said
                return not said
            await asyncio.sleep(LOOK)
            if self._stops():
                return False

    async def add(self, line_hash: str, worst: Amount) -> bool:
        async with self._turn:
            return not await self._ask(line_hash, worst, again=True)

    async def _ask(self, line_hash: str, worst: Amount, *, again: bool) -> str:
        values = (*self._state(line_hash), worst.calls, worst.tokens, worst.usd, again)
        [said] = await self._database.ask(RESERVE, *values)
        return str(said)

    def _state(self, line_hash: str) -> tuple[str | int | float, ...]:
        spent = self._spent()
        return line_hash, self._epoch(), spent.calls, spent.tokens, spent.usd, self._in_flight

    def end_call(self, line_hash: str, amount: Amount) -> None:
        self._in_flight -= 1
        self.settle(line_hash, amount)

    def settle(self, line_hash: str, amount: Amount) -> None:
        self._changed = True
        if self._settling is None or self._settling.done():
            self._settling = asyncio.ensure_future(self._settle(line_hash))

    async def _settle(self, line_hash: str) -> None:
        while self._changed:
            async with self._turn:
                self._changed = False
                await self._database.ask(SETTLE, *self._state(line_hash))

    async def close(self) -> None:
        """Wait until the database has the amounts. If it is away, the next worker of the debate reports them."""
        if self._settling:
            await asyncio.wait((self._settling,), timeout=CLOSING)
