"""Child processes whose start is cancelled."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CLOSING = """
import asyncio, os
from pathlib import Path
from rebut.core import process

async def main():
    starting = asyncio.ensure_future({call})
    for _ in range({turns}):
        await asyncio.sleep(0)

asyncio.run(main())
"""
TWICE = """
import asyncio, os
from contextlib import suppress
from pathlib import Path
from rebut.core import process

async def main():
    starting = asyncio.ensure_future({call})
    for turns in ({turns}, 1):
        for _ in range(turns):
            await asyncio.sleep(0)
        starting.cancel()
    with suppress(asyncio.CancelledError):
        await starting
    children = Path(f"/proc/{{os.getpid()}}/task/{{os.getpid()}}/children")
    for _ in range(500):
        if not children.read_text():
            return
        await asyncio.sleep(0.02)
    raise SystemExit(f"left: {{children.read_text()}}")

asyncio.run(main())
"""
CALLS = {
    "run": "process.run_program([{words}], cwd=Path('/'), env=os.environ, seconds=60)",
    "start": "process.start_program([{words}], cwd=Path('/'), env=os.environ)",
}


@pytest.mark.parametrize(("call", "turns"), [("run", 1), ("run", 3), ("run", 40), ("start", 1), ("start", 3)])
def test_an_event_loop_that_closes_while_a_program_starts_ends_and_leaves_no_process(
    tmp_path: Path, call: str, turns: int
) -> None:
    mark = tmp_path / "here"
    words = f"'sh', '-c', 'sleep 4; touch {mark}'"
    code = CLOSING.format(call=CALLS[call].format(words=words), turns=turns)
    subprocess.run([sys.executable, "-c", code], check=True, timeout=50)
    left = subprocess.run(["pgrep", "-f", str(mark)], capture_output=True, text=True)
    assert left.returncode == 1 and not left.stdout, left.stdout


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
@pytest.mark.parametrize(("call", "turns"), [("run", 1), ("run", 3), ("start", 1), ("start", 3)])
def test_who_is_cancelled_again_while_a_program_starts_leaves_no_process(call: str, turns: int) -> None:
    code = TWICE.format(call=CALLS[call].format(words="'sleep', '50'"), turns=turns)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=40)
    assert done.returncode == 0, done.stderr
