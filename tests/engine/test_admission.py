"""Many debates at once in one process: as many run as it may open files for, and the others wait."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
from pathlib import Path

import duels
import pytest

from rebut.engine import admission
from rebut.engine.admission import admitted

MANY = """
import asyncio, json, os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
import rebut

async def main():
    seats = {"proposer": "scripted:a.json", "challenger": "scripted:b.json", "judge": "scripted:c.json"}
    debates = (rebut.start("duel", f"Question {n}?", rounds=1, **seats) for n in range(120))
    ended = await asyncio.gather(*debates, return_exceptions=True)
    print(json.dumps([one.heading if hasattr(one, "heading") else repr(one) for one in ended]))

asyncio.run(main())
"""


def test_debates_beyond_the_limit_on_open_files_wait_and_none_fails(workspace: Path) -> None:
    answers = {key: {"json": said} for key, said in duels.answers(1).items()}
    for name in "abc":
        (workspace / f"{name}.json").write_text(json.dumps({"model": name, "family": name, "answers": answers}))
    done = subprocess.run([sys.executable, "-c", MANY], cwd=workspace, capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)) == {"VERDICT"}


def test_a_debate_that_is_cancelled_while_it_waits_gives_its_turn_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "most", lambda: 1)
    order: list[str] = []

    async def debate(name: str, leave: asyncio.Event) -> None:
        async with admitted():
            order.append(name)
            await leave.wait()

    async def main() -> None:
        leave = asyncio.Event()
        first, second, third = (asyncio.ensure_future(debate(name, leave)) for name in ("a", "b", "c"))
        await asyncio.sleep(0.01)
        assert order == ["a"]
        leave.set()
        second.cancel()
        await asyncio.wait_for(asyncio.gather(first, third), 5)
        assert second.cancelled()

    asyncio.run(main())
    assert order == ["a", "c"] and admission._running == 0 and not admission._waiting


def test_garbage_is_looked_for_less_often_only_while_several_debates_run() -> None:
    before = gc.get_threshold()

    async def main() -> list[int]:
        seen = [gc.get_threshold()[0]]
        async with admitted():
            seen.append(gc.get_threshold()[0])
            async with admitted():
                seen.append(gc.get_threshold()[0])
            seen.append(gc.get_threshold()[0])
        return seen

    gc.set_threshold(700, 10, 10)
    try:
        assert asyncio.run(main()) == [700, 700, admission.GC_THRESHOLD, 700]
        assert gc.get_threshold() == (700, 10, 10)
        gc.set_threshold(0)  # a program that has switched the collector off keeps it off
        assert asyncio.run(main()) == [0, 0, 0, 0]
    finally:
        gc.set_threshold(*before)
