"""Two hundred duels at once in one process, beside the same calls made bare: wall, processor time and memory."""

from __future__ import annotations

import asyncio
import gc
import resource
import sys
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench import said, server
from bench.calls import CALLS, bare, duel, sent, shared
from bench.places import own_home
from bench.table import Row

AT_ONCE = 200
LATENCY = 0.2
RUNS = 5


@dataclass(frozen=True, slots=True)
class Took:
    """What one run of all of them cost: seconds, and CPU milliseconds per call here and in the server."""

    wall: float
    cpu: float
    served: float


def rows() -> list[Row]:
    with own_home() as workspace, server.serving(said.by_form(), LATENCY) as where:
        return asyncio.run(_measure(where, workspace))


async def _measure(where: server.Server, workspace: Path) -> list[Row]:
    bodies = await sent(workspace)
    await asyncio.gather(
        *(bare(where.url, bodies[:1]) for _ in range(AT_ONCE))
    )  # all connections are open from here on
    before = _peak()
    peak = 0.0
    paths: list[float] = []
    ours: list[Took] = []
    floors: list[Took] = []
    for _ in range(RUNS):
        paths.append(await bare(where.url, bodies))
        floors.append(await _run(where, [bare(where.url, bodies) for _ in range(AT_ONCE)]))
        ours.append(await _run(where, [duel(where.url, workspace) for _ in range(AT_ONCE)]))
        peak = peak or _peak()
    await shared().close()
    path, wall = median(paths), median(o.wall for o in ours)
    cpu, floor = median(o.cpu for o in ours), median(f.cpu for f in floors)
    name = f"{AT_ONCE} duels at once"
    per_call = median(o.cpu / f.cpu for o, f in zip(ours, floors, strict=True))
    at_wall = median(o.wall / p for o, p in zip(ours, paths, strict=True))
    return [
        Row(f"{name}: wall, beside the critical path", wall * 1000, "ms", path * 1000, 1.5, at_wall),
        Row("  the same calls made bare", median(f.wall for f in floors) * 1000, "ms", path * 1000),
        Row(f"{name}: CPU per call, beside a bare call", cpu, "ms", floor, 4, per_call),
        Row("  CPU per call of the server, beside that of the client", median(o.served for o in ours), "ms", cpu),
        Row(f"{name}: peak memory, beside that of the bare calls", peak, "MB", before),
    ]


async def _run(where: server.Server, work: list[Awaitable[Any]]) -> Took:
    gc.collect()
    served, began, cpu = where.told()["cpu"], time.perf_counter(), time.process_time()
    await asyncio.gather(*work)
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    calls = AT_ONCE * CALLS
    return Took(wall, cpu / calls * 1000, (where.told()["cpu"] - served) / calls * 1000)


def _peak() -> float:
    """The most memory that this process ever had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 * 1024 if sys.platform == "darwin" else 1024)
