"""Asking again after a failure that may pass, within the time that the request has."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from rebut.backends.http.client import HttpFailed
from rebut.core.types import Backend, Reply, Request


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
