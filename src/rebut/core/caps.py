"""A provider's caps: requests and tokens a minute, and calls at once, for one process or shared by several.

Each request waits for its turn. Turns come at an even pace (GCRA with a burst of one), so that a cap also holds for a
provider that counts its requests by the second.
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
"""The part of a cap that rebut uses. Requests sent at an even pace do not arrive quite so evenly."""


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
        """The requests that the provider permits in `span` seconds, the shortest time for which it may count them."""
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
"""The client calls this when it sends a request, which may be later than the request's turn."""


class Admission(Protocol):
    """Decides when a request may be sent."""

    async def turn(
        self, provider: str, caps: Caps, tokens: int, on_wait: Callable[[float], None]
    ) -> Callable[[], None]:
        """Wait for the turn of a request of at most `tokens` tokens. `on_wait` is called with the seconds, if any.

        Returns a function for the caller to call when it sends the request.
        """

    def give_back(self, provider: str, caps: Caps, tokens: int) -> None:
        """Give back tokens that were reserved for a request and not used."""

    def pause(self, provider: str, seconds: float) -> None:
        """Let no debate send the provider a request for `seconds`."""

    def slot(self, provider: str, caps: Caps) -> AbstractAsyncContextManager[None]:
        """Enter this around a request: it counts as one of the calls that the provider permits at once."""


class OwnAdmission:
    """The turns of one process. The backend itself counts its calls at once."""

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
            except ParticipantFailed:  # the call does not wait that long: the next call gets its turn
                self.take_back(provider, caps, tokens)
                raise
            await asyncio.sleep(wait)
            if self._paused.get(provider, 0.0) <= time.monotonic():
                break
            # Meanwhile the provider asked all calls to wait. Calls whose turn has passed must not be sent together.
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
        """Cancel a reserved turn that is not used."""
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
    """The admission that this process uses."""
    return _admission


def is_shared() -> bool:
    return not isinstance(_admission, OwnAdmission)


def share(shared: Admission | None) -> None:
    """Use an admission that several processes share; None for this process's own."""
    global _admission
    _admission = shared or OwnAdmission()
