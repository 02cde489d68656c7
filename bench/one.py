"""One duel beside its critical path: five calls, one after the other, to a model that thinks for 200 ms."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from statistics import median

from bench import said
from bench.calls import CALLS, bare, duel, sent, shared
from bench.places import own_home
from bench.table import Row
from tests.loopback import Loopback

LATENCY = 0.2
RUNS = 7


def rows() -> list[Row]:
    with own_home() as workspace, Loopback(said.by_form(), process=True, latency=LATENCY) as server:
        return asyncio.run(_measure(server.url, workspace))


async def _measure(url: str, workspace: Path) -> list[Row]:
    first = await duel(url, workspace)
    bodies = await sent(workspace)
    duels, paths = [], []
    for _ in range(RUNS):
        paths.append(await bare(url, bodies))
        duels.append(await duel(url, workspace))
    # The program then keeps the workspace as it stands and looks up each of the citations: git runs a few times.
    said.write_cited_file(workspace)
    subprocess.run(["git", "init", "-q", str(workspace)], check=True)  # noqa: ASYNC221  nothing else runs here
    in_git = [await duel(url, workspace) for _ in range(3)]
    await shared().close()
    path = median(paths)
    ratio = median(d / p for d, p in zip(duels, paths, strict=True))
    return [
        Row(f"one duel: wall, beside {CALLS} bare calls", median(duels) * 1000, "ms", path * 1000, 1.05, ratio),
        Row("  the first in its process", first * 1000, "ms", path * 1000),
        Row("  in a git repository", median(in_git) * 1000, "ms", path * 1000),
    ]
