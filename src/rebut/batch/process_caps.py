"""A provider's caps over the processes of a batch: the first process hands out turns and slots to the others.

A pause that a provider asks for reaches every process, so that a 429 slows all debates that use the provider.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from rebut.core.caps import Caps, OwnAdmission

Send = Callable[[Mapping[str, Any]], None]


class CapsForChildren:
    """The caps in the first process."""

    def __init__(self) -> None:
        self._turns = OwnAdmission()
        self._used: dict[str, int] = {}
        self._held: dict[Hashable, list[str]] = {}
        """Process → the providers whose slots it has."""
        self._waiting: dict[str, deque[tuple[Hashable, Send, int, int]]] = {}
        """Provider → the processes that wait for a slot: where to answer, with which number, and how many there are."""

    def take(self, child: Hashable, send: Send, message: Mapping[str, Any]) -> None:
        """A message of a process about caps."""
        provider = message["provider"]
        match message["caps"]:
            case "turn":
                caps = Caps(message["rpm"], message["tpm"])
                wait = self._turns.reserve(provider, caps, message["tokens"])
                send({"caps": message["number"], "value": wait})
            case "take back":
                self._turns.take_back(provider, Caps(message["rpm"], message["tpm"]), message["tokens"])
            case "give back":
                self._turns.give_back(provider, Caps(tpm=message["tpm"]), message["tokens"])
            case "pause":
                self._turns.pause(provider, message["seconds"])
            case "slot":
                waiting = self._waiting.setdefault(provider, deque())
                waiting.append((child, send, message["number"], message["at_once"]))
                self._hand_out(provider)
            case "free":
                if provider in self._held.get(child, ()):
                    self._free(child, provider)

    def lose(self, child: Hashable) -> None:
        """A process has ended: its slots are free, and its questions need no answer."""
        for waiting in self._waiting.values():
            for one in [one for one in waiting if one[0] == child]:
                waiting.remove(one)
        for provider in self._held.pop(child, []):
            self._used[provider] -= 1
            self._hand_out(provider)

    def _free(self, child: Hashable, provider: str) -> None:
        self._held[child].remove(provider)
        self._used[provider] -= 1
        self._hand_out(provider)

    def _hand_out(self, provider: str) -> None:
        waiting = self._waiting.get(provider, deque())
        while waiting and self._used.get(provider, 0) < waiting[0][3]:
            child, send, number, _ = waiting.popleft()
            self._used[provider] = self._used.get(provider, 0) + 1
            self._held.setdefault(child, []).append(provider)
            send({"caps": number, "value": 0})


class CapsOfParent(OwnAdmission):
    """The caps in a process that another one has started."""

    def __init__(self, send: Send) -> None:
        super().__init__()
        self._send = send
        self._asked: dict[int, asyncio.Future[float]] = {}
        self._number = 0

    async def _reserved(self, provider: str, caps: Caps, tokens: int) -> float:
        if caps.rpm or caps.tpm:
            return await self._ask({"caps": "turn", "provider": provider, "tokens": tokens, **_rates(caps)})
        return self.reserve(provider, caps, tokens)  # there may be a pause

    def take_back(self, provider: str, caps: Caps, tokens: int) -> None:
        if caps.rpm or caps.tpm:
            self._send({"caps": "take back", "provider": provider, "tokens": tokens, **_rates(caps)})

    def give_back(self, provider: str, caps: Caps, tokens: int) -> None:
        if caps.tpm:
            self._send({"caps": "give back", "provider": provider, "tokens": tokens, "tpm": caps.tpm})

    def pause(self, provider: str, seconds: float) -> None:
        super().pause(provider, seconds)
        self._send({"caps": "pause", "provider": provider, "seconds": seconds})

    def slot(self, provider: str, caps: Caps) -> AbstractAsyncContextManager[None]:
        return self._slot(provider, caps.at_once or 0)

    @asynccontextmanager
    async def _slot(self, provider: str, at_once: int) -> AsyncIterator[None]:
        if not at_once:
            yield
            return
        asking = asyncio.ensure_future(self._ask({"caps": "slot", "provider": provider, "at_once": at_once}))
        free = {"caps": "free", "provider": provider}
        try:
            await asyncio.shield(asking)
        except asyncio.CancelledError:
            # The slot may be on its way. It is given back when it comes.
            asking.add_done_callback(lambda done: None if done.cancelled() else self._send(free))
            raise
        try:
            yield
        finally:
            self._send(free)

    def answered(self, number: int, value: float) -> None:
        asked = self._asked.pop(number)
        if not asked.done():
            asked.set_result(value)

    def paused(self, provider: str, seconds: float) -> None:
        """Another process was told to wait."""
        super().pause(provider, seconds)

    async def _ask(self, message: Mapping[str, Any]) -> float:
        self._number += 1
        asked: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._asked[self._number] = asked
        self._send({**message, "number": self._number})
        return await asked


def _rates(caps: Caps) -> dict[str, int | None]:
    return {"rpm": caps.rpm, "tpm": caps.tpm}
