"""The last word on time and faults: a call that takes too long, or breaks in an unforeseen way, is a failure."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace

from rebut.backends.http.client import HttpFailed
from rebut.core.errors import ParticipantFailed, Paused, RecordError
from rebut.core.types import Backend, Reply, Request


class Timed:
    """Ends a call at its timeout. The one place where any exception of a backend becomes a failure of its seat.

    A backend with `own_time` keeps the timeout itself. Ours would come a moment before its own, and with it would go
    what the backend makes of what it has heard by then.
    """

    def __init__(self, inner: Backend, *, own_time: bool = False) -> None:
        self._inner = inner
        self._own_time = own_time

    async def complete(self, request: Request) -> Reply:
        scope = asyncio.timeout(None if self._own_time else request.timeout)
        try:
            if self._own_time:
                return await self._inner.complete(request)
            async with scope:
                return await self._inner.complete(request)
        except TimeoutError as error:
            if not scope.expired():
                raise ParticipantFailed("timeout", f"timed out: {error}") from error
            raise ParticipantFailed(
                "timeout", f"no answer within {request.timeout:g} s", "Give it more time with --timeout SECONDS."
            ) from error
        except (ParticipantFailed, Paused, RecordError):  # a record that cannot be written is no model's fault
            raise
        except Exception as error:  # a backend may be anybody's code: however it breaks, only its seat fails
            raise ParticipantFailed("crashed", f"{type(error).__name__}: {error}") from error


# Asking again after a failure that may pass, within the time that the request has.


class Retrying:
    """Repeats a call that met a rate limit, a lost connection or a passing server error.

    Retry-After is obeyed when the time left allows it; else the call fails at once instead of sleeping in vain.
    A request that was lost on its way may have been paid for: it goes out again only when `on_again` has it on record.
    `wait` is the first pause, which doubles up to `longest`; `jitter` is added by chance and is never recorded.
    """

    def __init__(
        self,
        inner: Backend,
        *,
        tries: int = 4,
        wait: float = 0.5,
        longest: float = 20.0,
        jitter: float = 0.5,
        name: str = "it",
    ) -> None:
        self._name = name
        self._inner = inner
        self._tries = tries
        self._wait, self._longest, self._jitter = wait, longest, jitter

    async def complete(self, request: Request) -> Reply:
        end = asyncio.get_running_loop().time() + request.timeout
        try:
            return await self._inner.complete(request)
        except HttpFailed as failed:
            if not failed.retryable or self._tries < 2:
                raise
            first = failed
        return await self._again(request, end, first)

    async def _again(self, request: Request, end: float, first: HttpFailed) -> Reply:
        # Only a call that failed pays for loading and running the retry machinery.
        import stamina

        # Without a handler of its own, each of stamina's log lines would land on the user's screen.
        logger = logging.getLogger("stamina")
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())

        clock = asyncio.get_running_loop().time
        waits: list[str] = []
        pause = 0.0
        num = 1
        no_time = ""
        last = first

        def on(error: Exception) -> bool | float:
            nonlocal no_time, last
            if not isinstance(error, HttpFailed) or not error.retryable:
                return False
            if num == self._tries:
                return False
            left = end - clock()
            asked = error.retry_after
            if asked is not None and asked > left:
                no_time = f"{error.status or 'it'}, asked to wait {asked:.0f} s, which is more than its time left"
                return False
            if asked is None and pause + self._jitter >= left:
                no_time = "no time left for another try"
                return False
            last = error
            seconds = pause if asked is None else asked
            waits.append(f"{seconds:g} s")
            request.on_wait(f"{self._name}: {error.status or 'no connection'}, again in {max(1, round(seconds))} s")
            return True if asked is None else asked

        try:
            async for attempt in stamina.retry_context(
                on=on,
                attempts=self._tries,
                timeout=None,
                wait_initial=self._wait,
                wait_max=self._longest,
                wait_jitter=self._jitter,
            ):
                num, pause = attempt.num, attempt.next_wait
                with attempt:
                    if num == 1:
                        # The call that brought us here.
                        raise first
                    request.on_wait("")
                    if last.lost and not await request.on_again(last):
                        last.retryable = False
                        no_time = "not sent again, since it may have been paid for"
                        raise last
                    reply = await self._inner.complete(replace(request, timeout=max(0.0, end - clock())))
        except HttpFailed as failed:
            why = no_time or (f"gave up after {num} tries" if num > 1 else "")
            if why:
                failed.message = f"{failed.message}; {why}"
            raise
        note = f"answered on try {num}, after waiting {', '.join(waits)}"
        return replace(reply, notes=(*reply.notes, note))


# A bound on how many calls go to one provider at the same time.

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
