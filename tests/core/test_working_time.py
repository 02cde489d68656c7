"""Time-outs and clocks that leave out the time during which the process was stopped."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace

import pytest

from rebut.core import working_time
from rebut.core.working_time import WorkingTime, clock, timeout


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(working_time, "BEAT", 0.02)
    monkeypatch.setattr(working_time, "STOPPED", 0.2)


def test_a_time_out_gets_back_the_time_of_a_stop() -> None:  # C4
    async def work() -> tuple[float, float]:
        began, watch = clock(), WorkingTime()
        watch.start()
        async with timeout(3) as scope:
            time.sleep(4)  # noqa: ASYNC251  nothing of this process runs meanwhile
            await asyncio.sleep(0.1)
            assert not scope.expired()
        watch.stop()
        return clock() - began, watch.seconds()

    took, worked = asyncio.run(work())
    assert took < 3 and worked < 3


def test_a_time_out_that_passes_while_the_process_works_ends_the_work() -> None:  # C4
    async def work() -> None:
        async with timeout(0.3):
            await asyncio.sleep(60)

    with pytest.raises(TimeoutError):
        asyncio.run(work())


@pytest.mark.parametrize(("busy", "counted"), [(5.0, 5.0), (0.1, 0.02)])
def test_only_a_process_that_does_nothing_was_stopped(
    monkeypatch: pytest.MonkeyPatch, busy: float, counted: float
) -> None:  # C4
    now = SimpleNamespace(monotonic=lambda: whole, process_time=lambda: used)
    whole = used = 100.0
    monkeypatch.setattr(working_time, "time", now)

    async def work() -> float:
        nonlocal whole, used
        watch = WorkingTime()
        watch.start()
        whole, used = whole + 5, used + busy
        watch.stop()
        return watch.seconds()

    assert asyncio.run(work()) == pytest.approx(counted)


def test_nothing_beats_when_nothing_is_timed() -> None:
    async def work() -> list[bool]:
        seen = list[bool]()
        async with timeout(5):
            seen.append(working_time._pulse()._next is not None)
        seen.append(working_time._pulse()._next is not None)
        return seen

    assert asyncio.run(work()) == [True, False]
