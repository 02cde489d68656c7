"""The replay of a journal of a thousand calls, beside reading its lines as JSON."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path
from statistics import median

import rebut
from bench.places import own_home
from bench.table import Row
from rebut.core.types import Reply, Request, Usage
from rebut.record.journal import NAME

RUNS = 7
PROTOCOL = Path(__file__).with_name("thousand.py")


class Fluent:
    """Answers at once."""

    async def complete(self, request: Request) -> Reply:
        answer = {"text": f"This is what I say to {request.key}, in one sentence.", "grade": 3}
        return Reply(json.dumps(answer), model="m", family="f", usage=Usage(120, 40), usd=0.0)


def rows() -> list[Row]:
    with own_home() as workspace:
        return asyncio.run(_measure(workspace))


async def _measure(workspace: Path) -> list[Row]:
    outcome = await rebut.start(
        PROTOCOL, "a thousand small things", speaker="fluent:m", backends={"fluent": Fluent()}, workspace=workspace
    )
    journal = Path(os.environ["REBUT_HOME"]) / "sessions" / outcome.session / NAME
    replays, reads = [], []
    for _ in range(RUNS):
        began = time.perf_counter()
        with journal.open("rb") as file:
            for line in file:
                json.loads(line)
        reads.append(time.perf_counter() - began)
        began = time.perf_counter()
        again = await rebut.replay(outcome.session, workspace=workspace)
        replays.append(time.perf_counter() - began)
        if again.decision != outcome.decision or again.spent.calls != 1000:
            raise RuntimeError("the replay is not what was recorded")
    ratio = median(a / b for a, b in zip(replays, reads, strict=True))
    return [
        Row("replay of 1,000 calls, beside reading JSON", median(replays) * 1000, "ms", median(reads) * 1000, 10, ratio)
    ]
