"""One durable step of a journal beside the bare system calls for the same bytes; and many steps at once beside one."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from statistics import median

from bench import said
from bench.places import own_home
from bench.table import Row
from rebut.record.events import Answered, Event
from rebut.record.journal import NAME, Journal, _sync

STEPS = 200
AT_ONCE = 400
RUNS = 5


def rows() -> list[Row]:
    with own_home() as workspace:
        return asyncio.run(_measure(workspace))


def _event(n: int) -> Event:
    return Answered(key=f"r1/step.{n}@challenger", seat="challenger", fp="0" * 24, value=said.challenge())


async def _measure(folder: Path) -> list[Row]:
    journal = Journal.open(folder)
    file = os.open(folder / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    await journal.append(_event(0))
    data = (folder / NAME).read_bytes()  # one event: what a step writes, but for the digits of its number
    steps, bare = [], []
    for n in range(STEPS):  # turn by turn, so that both meet the same disk
        began = time.perf_counter()
        os.write(file, data)
        _sync(file)
        bare.append(time.perf_counter() - began)
        event = _event(n)
        began = time.perf_counter()
        await journal.append(event)
        steps.append(time.perf_counter() - began)
    together = []
    for _ in range(RUNS):
        events = [_event(n) for n in range(AT_ONCE)]
        began = time.perf_counter()
        await asyncio.gather(*(journal.append(event) for event in events))
        together.append(time.perf_counter() - began)
    journal.close()
    os.close(file)
    one = median(steps) * 1000
    return [
        Row("one durable step, beside bare write and sync", one, "ms", median(bare) * 1000, 1.5),
        Row(f"{AT_ONCE} steps at once, beside {AT_ONCE} times one", median(together) * 1000, "ms", AT_ONCE * one, 0.1),
    ]
