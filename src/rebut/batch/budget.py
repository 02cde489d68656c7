"""The budget of a batch: what all its debates have spent and reserved, against its limits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from rebut.domain.limits import Limits
from rebut.record.record import Amount

NOTHING = Amount()


class BatchBudget:
    """The budget of all debates. A call that does not fit waits for others, which may use less than is reserved."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.reached = ""
        """The limit that leaves no room for a further call; empty if there is room."""
        self.on_reached: Callable[[], None] = lambda: None
        self._by: dict[str, Amount] = {}
        self._total = NOTHING
        self._in_flight = 0
        self._waiting: list[asyncio.Future[None]] = []

    def settle(self, line_hash: str, amount: Amount) -> None:
        """Set what a debate has spent and reserved."""
        self._total = self._total - self._by.get(line_hash, NOTHING) + amount
        self._by[line_hash] = amount
        self._wake()

    async def add(self, line_hash: str, worst: Amount) -> bool:
        """Reserve the worst case of a request that is sent again, if it fits now."""
        if self.limits.refuses(self._total, worst, NOTHING):
            return False
        self.settle(line_hash, self._by.get(line_hash, NOTHING) + worst)
        return True

    async def reserve(self, line_hash: str, worst: Amount) -> bool:
        """Reserve the worst case of a call as soon as it fits; False if it never will. `end_call` must follow."""
        while not self.reached:
            if await self.add(line_hash, worst):  # `add` awaits nothing, so no other call comes between
                self._in_flight += 1
                return True
            if not self._in_flight:
                self.reached = self.limits.refuses(self._total, worst, NOTHING)
                self.on_reached()
                self._wake()
                return False
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        return False

    def end_call(self, line_hash: str, amount: Amount) -> None:
        """A call has ended; `amount` is what its debate has now spent and reserved."""
        self._in_flight -= 1
        self.settle(line_hash, amount)

    def lose_calls(self, count: int) -> None:
        """The process that made these calls has ended. Their amounts stay reserved: they may have been billed."""
        self._in_flight -= count
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)
