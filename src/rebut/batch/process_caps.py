"""A provider's caps over the processes of a batch: the first process hands out turns and slots to the others.

A process keeps a slot for its next call, and gives it back only when another process waits for one: to ask for a slot
before each call would take longer than everything else that surrounds the call. A pause that a provider asks for
reaches every process, so that a 429 slows all debates that use the provider.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Hashable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from rebut.core.caps import Caps, OwnAdmission

Send = Callable[[Mapping[str, Any]], None]


class CapsForChildren:
    """The caps in the first process."""

    def __init__(self) -> None:
        self._turns = OwnAdmission()
        self._held: dict[str, Counter[Hashable]] = {}
        """Provider → how many of its slots each process has."""
        self._waiting: dict[str, deque[tuple[Hashable, Send, int, int]]] = {}
        """Provider → requests for a slot: the process, where to answer, the request's number, and how many slots."""
        self._sends: dict[Hashable, Send] = {}
        self._scarce: set[str] = set()
        """Providers whose slots the processes were told to give back after each call."""

    def take(self, child: Hashable, send: Send, message: Mapping[str, Any]) -> None:
        """Handle a message of a process about caps."""
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
                if child not in self._sends:
                    self._sends[child] = send
                    for other in self._scarce:
                        send({"scarce": other, "value": True})
                waiting = self._waiting.setdefault(provider, deque())
                waiting.append((child, send, message["number"], message["at_once"]))
                self._hand_out(provider)
            case "free":
                if child in self._sends:
                    self._held[provider][child] -= message["count"]
                    self._hand_out(provider)

    def lose(self, child: Hashable) -> None:
        """A process has ended: its slots are free, and its requests need no answer."""
        self._sends.pop(child, None)
        for provider, waiting in self._waiting.items():
            for one in [one for one in waiting if one[0] == child]:
                waiting.remove(one)
            self._held.get(provider, Counter()).pop(child, None)
            self._hand_out(provider)

    def _hand_out(self, provider: str) -> None:
        waiting, held = self._waiting[provider], self._held.setdefault(provider, Counter())
        while waiting and held.total() < waiting[0][3]:
            child, send, number, _ = waiting.popleft()
            held[child] += 1
            send({"caps": number, "value": 0})
        if bool(waiting) != (provider in self._scarce):
            (self._scarce.add if waiting else self._scarce.discard)(provider)
            for send in self._sends.values():
                send({"scarce": provider, "value": bool(waiting)})


class CapsOfParent(OwnAdmission):
    """The caps in a child process, which asks the first process."""

    def __init__(self, send: Send) -> None:
        super().__init__()
        self._send = send
        self._asked: dict[int, asyncio.Future[float]] = {}
        self._number = 0
        self._spare = Counter[str]()
        """Provider → slots that this process has and does not use."""
        self._scarce: set[str] = set()

    async def _reserved(self, provider: str, caps: Caps, tokens: int) -> float:
        if caps.rpm or caps.tpm:
            return await self._ask({"caps": "turn", "provider": provider, "tokens": tokens, **_rates(caps)})
        return self.reserve(provider, caps, tokens)  # no rate to wait for, but there may be a pause

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
        return _Slot(self, provider, caps.at_once) if caps.at_once else nullcontext()

    async def take_slot(self, provider: str, at_once: int) -> None:
        if self._spare[provider]:
            self._spare[provider] -= 1
            return
        asking = asyncio.ensure_future(self._ask({"caps": "slot", "provider": provider, "at_once": at_once}))
        try:
            await asyncio.shield(asking)
        except asyncio.CancelledError:
            # The slot may be on its way. It is free when it comes.
            asking.add_done_callback(lambda done: None if done.cancelled() else self.free_slot(provider))
            raise

    def free_slot(self, provider: str) -> None:
        if provider in self._scarce:
            self._send({"caps": "free", "provider": provider, "count": 1})
        else:
            self._spare[provider] += 1

    def scarce(self, provider: str, value: bool) -> None:
        """Note whether a call waits for a slot of this provider, here or in another process."""
        (self._scarce.add if value else self._scarce.discard)(provider)
        if value and (spare := self._spare.pop(provider, 0)):
            self._send({"caps": "free", "provider": provider, "count": spare})

    def answered(self, number: int, value: float) -> None:
        asked = self._asked.pop(number)
        if not asked.done():
            asked.set_result(value)

    def paused(self, provider: str, seconds: float) -> None:
        """Pause calls here too, after the provider told another process to wait."""
        super().pause(provider, seconds)

    async def _ask(self, message: Mapping[str, Any]) -> float:
        self._number += 1
        asked: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._asked[self._number] = asked
        self._send({**message, "number": self._number})
        return await asked


class _Slot:
    """A slot of a provider, for one call."""

    def __init__(self, caps: CapsOfParent, provider: str, at_once: int) -> None:
        self._caps, self._provider, self._at_once = caps, provider, at_once

    async def __aenter__(self) -> None:
        await self._caps.take_slot(self._provider, self._at_once)

    async def __aexit__(self, *raised: object) -> None:
        self._caps.free_slot(self._provider)


def _rates(caps: Caps) -> dict[str, int | None]:
    return {"rpm": caps.rpm, "tpm": caps.tpm}
