"""A provider's caps: requests and tokens a minute, and calls at once. Kept by one process, or shared by several.

A request is sent when its turn has come, and turns are handed out at an even pace (GCRA with a burst of one), so that a
provider that counts by the second sees no more than one that counts by the minute.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from contextvars import ContextVar
from typing import Protocol

from rebut.core.errors import ParticipantFailed
from rebut.core.frozen import frozen

USED = 0.93
"""The part of a cap that is used. Requests that leave at an even pace do not arrive quite so evenly."""


@frozen
class Caps:
    """What a provider permits; None for what is not limited."""

    rpm: int | None = None
    tpm: int | None = None
    at_once: int | None = None

    @property
    def requests_a_second(self) -> float:
        return (self.rpm or 0) / 60 * USED

    @property
    def most(self) -> int:
        """The requests that the provider permits in `span` seconds, the shortest time that it may count by."""
        return max(1, (self.rpm or 0) // 60)

    @property
    def span(self) -> float:
        return self.most / ((self.rpm or 60) / 60)

    @property
    def tokens_a_second(self) -> float:
        return (self.tpm or 0) / 60 * USED


def _nothing() -> None:
    pass


on_send: ContextVar[Callable[[], None]] = ContextVar("on_send", default=_nothing)
"""Called by the client at the moment when it sends a request: it may be later than its turn."""


class Admission(Protocol):
    """Decides when a request may be sent."""

    async def turn(
        self, provider: str, caps: Caps, tokens: int, on_wait: Callable[[float], None]
    ) -> Callable[[], None]:
        """Wait for the turn of a request that takes at most so many tokens. `on_wait` gets the seconds, if any.

        Returns what is to be called when it is sent.
        """

    def give_back(self, provider: str, caps: Caps, tokens: int) -> None:
        """The request took so many tokens less than were reserved for it."""

    def pause(self, provider: str, seconds: float) -> None:
        """The provider wants no request for so long, from any debate."""

    def slot(self, provider: str, caps: Caps) -> AbstractAsyncContextManager[None]:
        """Around a request: one of the calls that the provider permits at once."""


class OwnAdmission:
    """The turns of one process. Its calls at once are counted by the backend itself."""

    def __init__(self) -> None:
        self._next: dict[str, tuple[float, float]] = {}
        """Provider → when its next request may be sent, and when its tokens permit one."""
        self._paused: dict[str, float] = {}

    async def turn(
        self, provider: str, caps: Caps, tokens: int, on_wait: Callable[[float], None]
    ) -> Callable[[], None]:
        while wait := await self._reserved(provider, caps, tokens):
            try:
                on_wait(wait)
            except ParticipantFailed:  # the call does not wait so long: its turn is for the next one
                self.take_back(provider, caps, tokens)
                raise
            await asyncio.sleep(wait)
            if self._paused.get(provider, 0.0) <= time.monotonic():
                break
            # The provider has asked all calls to wait since. Turns that passed meanwhile must not leave together.
            caps, tokens = Caps(caps.rpm), 0
        return _nothing

    async def _reserved(self, provider: str, caps: Caps, tokens: int) -> float:
        return self.reserve(provider, caps, tokens)

    def reserve(self, provider: str, caps: Caps, tokens: int) -> float:
        """Reserve the next turn. Returns the seconds until then."""
        now = time.monotonic()
        request, token = self._next.get(provider, (0.0, 0.0))
        at = max(now, request, token, self._paused.get(provider, 0.0))
        if caps.rpm or caps.tpm:
            self._next[provider] = (
                at + 1 / caps.requests_a_second if caps.rpm else request,
                at + tokens / caps.tokens_a_second if caps.tpm else token,
            )
        return at - now

    def take_back(self, provider: str, caps: Caps, tokens: int) -> None:
        """A turn that was reserved is not used."""
        request, token = self._next.get(provider, (0.0, 0.0))
        self._next[provider] = (
            request - (1 / caps.requests_a_second if caps.rpm else 0.0),
            token - (tokens / caps.tokens_a_second if caps.tpm else 0.0),
        )

    def give_back(self, provider: str, caps: Caps, tokens: int) -> None:
        if caps.tpm and provider in self._next:
            request, token = self._next[provider]
            self._next[provider] = request, token - tokens / caps.tokens_a_second

    def pause(self, provider: str, seconds: float) -> None:
        self._paused[provider] = max(self._paused.get(provider, 0.0), time.monotonic() + seconds)

    def slot(self, provider: str, caps: Caps) -> AbstractAsyncContextManager[None]:
        return nullcontext()


_admission: Admission = OwnAdmission()


def admission() -> Admission:
    """What decides in this process."""
    return _admission


def is_shared() -> bool:
    return not isinstance(_admission, OwnAdmission)


def share(shared: Admission | None) -> None:
    """Let an admission that several processes share decide; None for this process's own."""
    global _admission
    _admission = shared or OwnAdmission()
