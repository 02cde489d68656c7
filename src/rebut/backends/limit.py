"""A bound on how many calls go to one provider at the same time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from rebut.core.errors import ParticipantFailed
from rebut.core.types import Backend, Reply, Request

AT_ONCE = 8


@dataclass(slots=True)
class Places:
    """The places at one provider, and how many wait for one."""

    free: asyncio.Semaphore
    at_once: int
    waiting: int = 0


_places: dict[asyncio.AbstractEventLoop, dict[str, Places]] = {}


class Limited:
    """Waits for a free place at the provider, then asks.

    All backends of one provider share its places, and the first to ask decides how many there are. Put this outside
    of `Retrying`: waiting for a place then takes nothing from the request's time, and a call that was told to wait
    keeps its place, which is what the provider wants. The wait ends with the request's patience, and at the latest
    when all who stand before it, and those who have the places, must have had their time.
    """

    def __init__(self, inner: Backend, provider: str, at_once: int = AT_ONCE, *, called: str = "") -> None:
        if at_once < 1:
            raise ValueError("at_once must be at least 1")
        self._inner = inner
        self._provider = provider
        self._called = called or provider
        self._at_once = at_once

    async def complete(self, request: Request) -> Reply:
        places = self._at()
        if places.free.locked():
            request = await self._in_line(places, request)
        else:
            await places.free.acquire()
        try:
            return await self._inner.complete(request)
        finally:
            places.free.release()

    async def _in_line(self, places: Places, request: Request) -> Request:
        """Wait for a place. What the wait took from the request's patience is gone for the call too."""
        clock = asyncio.get_running_loop().time
        began, turns = clock(), places.waiting // places.at_once + 1
        most = min(request.patience, turns * request.timeout)
        request.on_wait(f"{self._called}: waiting for a place, {places.at_once} at a time")
        places.waiting += 1
        try:
            async with asyncio.timeout(most) as scope:
                await places.free.acquire()
        except TimeoutError as error:
            if not scope.expired():
                raise
            message = f"{self._called}: no free place within {most:.0f} s; it takes {places.at_once} at a time"
            raise ParticipantFailed("timeout", message, "Give it more time, or seat fewer models of it.") from error
        finally:
            places.waiting -= 1
        request.on_wait("")
        left = max(0.001, request.patience - (clock() - began))
        return replace(request, timeout=min(request.timeout, left), patience=left)

    def _at(self) -> Places:
        loop = asyncio.get_running_loop()
        mine = _places.get(loop)
        if mine is None:
            # A semaphore knows its loop, so a weak key would never go: drop the closed ones by hand.
            for old in [known for known in _places if known.is_closed()]:
                del _places[old]
            mine = _places[loop] = {}
        place = mine.get(self._provider)
        if place is None:
            place = mine[self._provider] = Places(asyncio.Semaphore(self._at_once), self._at_once)
        return place
