"""Wrappers around any backend: a timeout, retries, and a provider's caps on calls at once, requests and tokens."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, replace

from rebut.backends.http.client import HttpFailed
from rebut.core.caps import Caps, admission, on_send
from rebut.core.errors import ParticipantFailed, Paused, RecordError
from rebut.core.event_loop import PerLoop
from rebut.core.text import tokens
from rebut.core.types import Backend, Reply, Request
from rebut.core.working_time import clock, timeout


class Timed:
    """Ends a call at its timeout. The one place where any exception of a backend becomes a failure of its seat.

    A backend with `own_time` enforces the timeout itself: it can still use what it received by then, which would be
    lost if this wrapper cancelled the call a moment earlier.
    """

    def __init__(self, inner: Backend, *, own_time: bool = False) -> None:
        self._inner = inner
        self._own_time = own_time

    async def complete(self, request: Request) -> Reply:
        scope: asyncio.Timeout | None = None
        try:
            if self._own_time:
                return await self._inner.complete(request)
            async with timeout(request.timeout) as scope:
                return await self._inner.complete(request)
        except TimeoutError as error:
            if scope is None or not scope.expired():
                raise ParticipantFailed("timeout", f"timed out: {error}") from error
            raise ParticipantFailed(
                "timeout", f"no answer within {request.timeout:g} s", "Give it more time with --timeout SECONDS."
            ) from error
        except (ParticipantFailed, Paused, RecordError):  # an unwritable record is not the model's failure
            raise
        except Exception as error:  # third-party code: whatever it raises, only its seat fails
            raise ParticipantFailed("crashed", f"{type(error).__name__}: {error}") from error


class Retrying:
    """Repeats a call that met a rate limit, a lost connection or a temporary server error.

    A Retry-After header is obeyed if the remaining time allows it; otherwise the call fails at once instead of waiting
    in vain. A request whose connection was lost may have been billed: it is sent again only after `on_again` has
    recorded that. `wait` is the first pause, which doubles up to `longest`; random jitter of up to `jitter` seconds is
    added to each pause and is never recorded.
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
        end = clock() + request.timeout
        attempt, pauses = request, list[str]()
        while True:
            try:
                reply = await self._inner.complete(attempt)
            except HttpFailed as failed:
                pause = self._pause(failed, len(pauses) + 1, end - clock())
                pauses.append(f"{pause:g} s")
                request.on_wait(f"{self._name}: {failed.status or 'no connection'}, again in {max(1, round(pause))} s")
                jitter = random.uniform(0, self._jitter) if failed.retry_after is None else 0.0
                await asyncio.sleep(pause + jitter)
                request.on_wait("")
                if failed.lost and not await request.on_again(failed):
                    failed.retryable = False
                    _explain(failed, "not sent again, since it may have been billed")
                    raise
                attempt = replace(request, timeout=max(0.0, end - clock()))
                continue
            if not pauses:
                return reply
            note = f"answered on try {len(pauses) + 1}, after waiting {', '.join(pauses)}"
            return replace(reply, notes=(*reply.notes, note))

    def _pause(self, failed: HttpFailed, tries: int, left: float) -> float:
        """Seconds to wait before the next try, without jitter. Raises `failed` if there is no next try."""
        if not failed.retryable or tries >= self._tries:
            raise _explain(failed, f"gave up after {tries} tries" if tries > 1 else "")
        if failed.retry_after is None:
            pause = min(self._longest, self._wait * 2.0 ** (tries - 1))
            if pause + self._jitter >= left:
                raise _explain(failed, "no time left for another try")
            return pause
        if failed.retry_after > left:
            asked = f"{failed.status or 'it'}, asked to wait {failed.retry_after:.0f} s"
            raise _explain(failed, f"{asked}, but the call has less time left")
        return failed.retry_after


def _explain(failed: HttpFailed, why: str) -> HttpFailed:
    """Add to the failure's message why there is no further try."""
    if why:
        failed.message = f"{failed.message}; {why}"
    return failed


class Capped:
    """Sends a request when the provider's caps permit it. Put it inside of `Retrying`: every try is a request."""

    def __init__(self, inner: Backend, provider: str, caps: Caps) -> None:
        self._inner, self._provider, self._caps = inner, provider, caps

    async def complete(self, request: Request) -> Reply:
        caps, name, shared = self._caps, self._provider, admission()
        worst = tokens(request.whole) + request.max_output if caps.tpm else 0

        def waits(seconds: float) -> None:
            if seconds > request.patience:
                raise ParticipantFailed(
                    "timeout",
                    f"{name}: its caps allow the next call only in {seconds:.0f} s, and this call has less time left",
                    f"Raise rpm or tpm in [providers.{name}] if the provider permits it, or give it more time.",
                )
            if seconds > 1:
                request.on_wait(f"{name}: waiting {seconds:.0f} s for its turn (caps of the provider)")

        async with shared.slot(name, caps):
            before = on_send.set(await shared.turn(name, caps, worst, waits))
            request.on_wait("")
            try:
                reply = await self._inner.complete(request)
            except HttpFailed as failed:
                if failed.retry_after is not None or failed.status == 429:
                    shared.pause(name, min(LONGEST_PAUSE, 1.0 if failed.retry_after is None else failed.retry_after))
                raise
            finally:
                on_send.reset(before)
        if worst and reply.usage.total:
            shared.give_back(name, caps, worst - reply.usage.total)
        return reply


LONGEST_PAUSE = 60.0
"""The most seconds for which one reply may make all calls to its provider wait. The next reply may do so again."""


AT_ONCE = 8


@dataclass(slots=True)
class Slots:
    """The concurrent calls that one provider may have, and how many calls wait for a free slot."""

    free: asyncio.Semaphore
    at_once: int
    waiting: int = 0


_slots = PerLoop[dict[str, Slots]](dict)


class Limited:
    """Waits for a free slot at the provider, then makes the call.

    All backends of one provider share its slots; the first call decides how many there are. Put this wrapper outside
    of `Retrying`: waiting for a slot then takes nothing from the request's timeout, and a call that the provider told
    to wait keeps its slot, as providers want. The wait ends with the request's patience, and at the latest when the
    calls that have the slots, and the calls ahead in the queue, must all have timed out.
    """

    def __init__(self, inner: Backend, provider: str, at_once: int = AT_ONCE, *, called: str = "") -> None:
        if at_once < 1:
            raise ValueError("at_once must be at least 1")
        self._inner = inner
        self._provider = provider
        self._called = called or provider
        self._at_once = at_once

    async def complete(self, request: Request) -> Reply:
        slots = self._provider_slots()
        if slots.free.locked():
            request = await self._queue(slots, request)
        else:
            await slots.free.acquire()
        try:
            return await self._inner.complete(request)
        finally:
            slots.free.release()

    async def _queue(self, slots: Slots, request: Request) -> Request:
        """Wait for a slot. The time that this takes is deducted from the request's patience."""
        began, turns = clock(), slots.waiting // slots.at_once + 1
        most = min(request.patience, turns * request.timeout)
        request.on_wait(f"{self._called}: waiting for a free slot (limit: {slots.at_once} at once)")
        slots.waiting += 1
        try:
            async with timeout(most) as scope:
                await slots.free.acquire()
        except TimeoutError as error:
            if not scope.expired():
                raise
            message = f"{self._called}: no free slot within {most:.0f} s (limit: {slots.at_once} at once)"
            raise ParticipantFailed(
                "timeout", message, "Give it more time, or use fewer models of this provider."
            ) from error
        finally:
            slots.waiting -= 1
        request.on_wait("")
        left = max(0.001, request.patience - (clock() - began))
        return replace(request, timeout=min(request.timeout, left), patience=left)

    def _provider_slots(self) -> Slots:
        known = _slots.get()
        if self._provider not in known:
            known[self._provider] = Slots(asyncio.Semaphore(self._at_once), self._at_once)
        return known[self._provider]
