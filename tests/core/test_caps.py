"""A provider's caps in one process: turns at an even pace, tokens by weight, a pause for all."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from itertools import pairwise

import pytest

from rebut.backends.http.client import HttpFailed
from rebut.backends.wrappers import Capped
from rebut.core import caps
from rebut.core.caps import USED, Caps, OwnAdmission
from rebut.core.errors import ParticipantFailed
from rebut.core.types import ModelSpec, Participant, Reply, Request, Usage


class Clock:
    """A clock that moves only during a sleep."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr(asyncio, "sleep", self._sleep)

    async def _sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture(autouse=True)
def own() -> OwnAdmission:
    caps.share(None)
    found = caps.admission()
    assert isinstance(found, OwnAdmission)
    return found


def run(work: Awaitable[object]) -> object:
    """Run a coroutine without a loop: nothing in it really waits."""
    coroutine = work.__await__()
    try:
        while True:
            next(coroutine)
    except StopIteration as end:
        return end.value


def turn(own: OwnAdmission, given: Caps, tokens: int = 0) -> None:
    run(own.turn("mine", given, tokens, lambda seconds: None))


def test_requests_leave_at_an_even_pace(own: OwnAdmission, clock: Clock) -> None:
    sent = []
    for _ in range(11):
        turn(own, Caps(rpm=600))
        sent.append(clock.now)
    gaps = [later - before for before, later in pairwise(sent)]
    assert gaps == pytest.approx([0.1 / USED] * 10)


def test_without_caps_no_request_waits(own: OwnAdmission, clock: Clock) -> None:
    for _ in range(100):
        turn(own, Caps())
    assert clock.now == 1000.0


def test_tokens_are_reserved_at_the_worst_case_and_given_back(own: OwnAdmission, clock: Clock) -> None:
    given = Caps(tpm=6000)
    turn(own, given, 1000)
    turn(own, given, 1000)
    first = clock.now - 1000.0
    assert first == pytest.approx(1000 / (100 * USED))
    own.give_back("mine", given, 900)
    turn(own, given, 1000)
    assert clock.now - 1000.0 - first == pytest.approx(100 / (100 * USED))


def test_a_pause_holds_for_all_calls_to_the_provider(own: OwnAdmission, clock: Clock) -> None:
    own.pause("mine", 7)
    own.pause("mine", 3)
    turn(own, Caps())
    assert clock.now == pytest.approx(1007.0)
    run(own.turn("another", Caps(), 0, lambda seconds: None))
    assert clock.now == pytest.approx(1007.0)


class Sleeps:
    """Yields how long it wants to sleep."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __await__(self) -> Iterator[float]:
        yield self.seconds


def test_calls_whose_turns_passed_during_a_pause_leave_at_an_even_pace(
    own: OwnAdmission, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asyncio, "sleep", Sleeps)
    calls = [own.turn("mine", Caps(rpm=60), 0, lambda seconds: None).__await__() for _ in range(5)]
    waiting, left = [(clock.now, n) for n in range(5)], list[float]()
    while waiting:
        waiting.sort()
        clock.now, n = waiting.pop(0)
        try:
            waiting.append((clock.now + next(calls[n]), n))
        except StopIteration:
            left.append(clock.now)
        if n == 4:
            own.pause("mine", 1060.0 - clock.now)  # four calls wait: their turns are in the next seconds
    assert left[0] == 1000.0 and left[1] >= 1060.0
    assert all(later - before >= 0.99 / USED for before, later in pairwise(left)), left


class Busy:
    """Refuses once, then answers."""

    def __init__(self) -> None:
        self.calls = 0

    async def complete(self, request: Request) -> Reply:
        self.calls += 1
        if self.calls == 1:
            raise HttpFailed("rate limit", "429", status=429, retryable=True, retry_after=5.0)
        return Reply("yes", usage=Usage(10, 5))


def request(**more: object) -> Request:
    return Request("k", Participant("seat", ModelSpec("mine", "m")), "Why?", **more)  # type: ignore[arg-type]


def test_a_refusal_makes_the_next_call_wait_as_long_as_it_says(clock: Clock) -> None:
    backend, said = Busy(), list[str]()
    with pytest.raises(HttpFailed):
        run(Capped(backend, "mine", Caps()).complete(request()))
    reply = run(Capped(backend, "mine", Caps()).complete(request(on_wait=said.append)))
    assert isinstance(reply, Reply) and clock.now == pytest.approx(1005.0)
    assert said == ["mine: waiting 5 s for its turn (caps of the provider)", ""]


def test_a_call_that_has_no_time_to_wait_for_its_turn_fails(clock: Clock) -> None:
    own = caps.admission()
    own.pause("mine", 50)
    with pytest.raises(ParticipantFailed, match="its caps allow the next call only in 50 s") as failed:
        run(Capped(Busy(), "mine", Caps(rpm=10)).complete(request(patience=20.0)))
    assert failed.value.kind == "timeout" and "[providers.mine]" in failed.value.hint


def test_a_call_that_does_not_wait_for_its_turn_leaves_it_to_the_next(own: OwnAdmission, clock: Clock) -> None:
    turn(own, Caps(rpm=2))
    for _ in range(20):
        with pytest.raises(ParticipantFailed):
            run(Capped(Busy(), "mine", Caps(rpm=2)).complete(request(patience=20.0)))
    turn(own, Caps(rpm=2))
    assert clock.now - 1000.0 == pytest.approx(30 / USED)


def test_what_several_processes_share_decides_if_it_is_there(clock: Clock) -> None:
    asked = list[str]()

    class Shared(OwnAdmission):
        async def turn(
            self, provider: str, given: Caps, tokens: int, on_wait: Callable[[float], None]
        ) -> Callable[[], None]:
            asked.append(provider)
            return lambda: None

    caps.share(Shared())
    with pytest.raises(HttpFailed):
        run(Capped(Busy(), "mine", Caps()).complete(request()))
    assert asked == ["mine"]
