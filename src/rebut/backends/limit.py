"""A bound on how many calls go to one provider at the same time."""

from __future__ import annotations

import asyncio

from rebut.types import Backend, Reply, Request

AT_ONCE = 8

_places: dict[asyncio.AbstractEventLoop, dict[str, asyncio.Semaphore]] = {}


class Limited:
    """Waits for a free place at the provider, then asks.

    All backends of one provider share its places, and the first to ask decides how many there are. Put this outside
    of `Retrying`: waiting for a place then takes nothing from the request's time, and a call that was told to wait
    keeps its place, which is what the provider wants.
    """

    def __init__(self, inner: Backend, provider: str, at_once: int = AT_ONCE) -> None:
        if at_once < 1:
            raise ValueError("at_once must be at least 1")
        self._inner = inner
        self._provider = provider
        self._at_once = at_once

    async def complete(self, request: Request) -> Reply:
        async with self._place():
            return await self._inner.complete(request)

    def _place(self) -> asyncio.Semaphore:
        loop = asyncio.get_running_loop()
        mine = _places.get(loop)
        if mine is None:
            # A semaphore knows its loop, so a weak key would never go: drop the closed ones by hand.
            for old in [known for known in _places if known.is_closed()]:
                del _places[old]
            mine = _places[loop] = {}
        place = mine.get(self._provider)
        if place is None:
            place = mine[self._provider] = asyncio.Semaphore(self._at_once)
        return place
