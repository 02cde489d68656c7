"""Two hundred duels at once in one process, beside the same calls made bare: wall, processor time and memory."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench import said, server
from bench.calls import CALLS, bare, duel, sent, shared
from bench.places import own_home
from bench.table import Row
from rebut.record.journal import NAME, _sync

AT_ONCE = 200
LATENCY = 0.2
RUNS = 3


@dataclass(frozen=True, slots=True)
class Took:
    """What one run of all of them cost: seconds, and CPU milliseconds per call here and in the server."""

    wall: float
    cpu: float
    served: float


def rows() -> list[Row]:
    with own_home() as workspace:
        with server.serving(said.by_form(), LATENCY) as where:
            out = asyncio.run(_whole(where, workspace))
        with server.serving(said.by_form(), LATENCY, paced=True) as where:
            return [*out, asyncio.run(_paced(where, workspace))]


async def _whole(where: server.Server, workspace: Path) -> list[Row]:
    bodies, parts = await sent(workspace), _parts()
    # From here on all connections are open, for both.
    await asyncio.gather(*(bare(where.url, bodies[:1]) for _ in range(AT_ONCE)))
    before, peak = _peak(), 0.0
    paths: list[float] = []
    floors: list[Took] = []
    kept: list[Took] = []
    ours: list[Took] = []
    for _ in range(RUNS):
        paths.append(await bare(where.url, bodies))
        floors.append(await _run(where, lambda n: bare(where.url, bodies)))
        kept.append(await _run(where, lambda n: _kept(where.url, bodies, parts, workspace / f"bare.{n}")))
        ours.append(await _run(where, lambda n: duel(where.url, workspace)))
        peak = peak or _peak()
    await shared().close()
    path, cpu = median(paths), median(o.cpu for o in ours)
    at_wall = median(o.wall / p for o, p in zip(ours, paths, strict=True))
    return [
        Row(
            f"{AT_ONCE} duels at once: wall, beside the critical path",
            median(o.wall for o in ours) * 1000,
            "ms",
            path * 1000,
            1.5,
            at_wall,
        ),
        Row("  the same calls made bare", median(f.wall for f in floors) * 1000, "ms", path * 1000),
        _cpu("the reply comes at once", ours, floors),
        Row(
            "  a bare call whose part of the record is synced",
            _mid(kept),
            "ms",
            _mid(floors),
            None,
            _over(kept, floors),
        ),
        Row("  the server, beside the client", median(o.served for o in ours), "ms", cpu),
        Row(f"{AT_ONCE} duels at once: peak memory, beside bare calls", peak, "MB", before),
    ]


async def _paced(where: server.Server, workspace: Path) -> Row:
    """The same with replies that come piece by piece, as those of models do: both clients then wake for each piece."""
    bodies = await sent(workspace)
    floors: list[Took] = []
    ours: list[Took] = []
    for _ in range(RUNS):
        floors.append(await _run(where, lambda n: bare(where.url, bodies)))
        ours.append(await _run(where, lambda n: duel(where.url, workspace)))
    await shared().close()
    return _cpu(f"the reply comes in {server.CHUNKS} pieces", ours, floors)


def _cpu(how: str, ours: Sequence[Took], floors: Sequence[Took]) -> Row:
    return Row(f"  CPU per call, beside bare: {how}", _mid(ours), "ms", _mid(floors), 4, _over(ours, floors))


def _mid(runs: Sequence[Took]) -> float:
    return median(run.cpu for run in runs)


def _over(runs: Sequence[Took], floors: Sequence[Took]) -> float:
    return median(run.cpu / floor.cpu for run, floor in zip(runs, floors, strict=True))


async def _run(where: server.Server, work: Callable[[int], Awaitable[Any]]) -> Took:
    gc.collect()
    served, began, cpu = where.told()["cpu"], time.perf_counter(), time.process_time()
    await asyncio.gather(*(work(n) for n in range(AT_ONCE)))
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    calls = AT_ONCE * CALLS
    return Took(wall, cpu / calls * 1000, (where.told()["cpu"] - served) / calls * 1000)


def _parts() -> list[bytes]:
    """A duel's journal as it was made durable: up to a question, up to its answer, and so on; then the end."""
    [path] = (Path(os.environ["REBUT_HOME"]) / "sessions").glob(f"*/{NAME}")
    parts = [b""]
    for line in path.read_bytes().splitlines(keepends=True):
        parts[-1] += line
        if b'"kind":"asked"' in line or b'"kind":"answered"' in line:
            parts.append(b"")
    return parts


async def _kept(url: str, bodies: Sequence[bytes], parts: Sequence[bytes], path: Path) -> None:
    """Bare calls by somebody who keeps the same record as durably, and does nothing else."""
    loop = asyncio.get_running_loop()
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

    async def keep(part: bytes) -> None:
        os.write(file, part)
        await loop.run_in_executor(None, _sync, file)

    for n, body in enumerate(bodies):
        await keep(parts[2 * n])
        await bare(url, [body])
        await keep(parts[2 * n + 1])
    await keep(parts[-1])
    os.close(file)


def _peak() -> float:
    """The most memory that this process ever had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 * 1024 if sys.platform == "darwin" else 1024)
