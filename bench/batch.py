"""`rebut batch` with two processes: 200 and 1,000 debates at once, and 10,000 in one run.

The command runs as a user runs it. Its start-up is left out: the wall is that of the debates, from the first opening to
the last closing on record, and CPU and memory are what they add to the same command with one debate for each process.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from bench import said, server
from bench.calls import CALLS, TOPIC, bare, sent, shared
from bench.places import own_home
from bench.table import Row
from rebut.record.journal import NAME

PROCESSES = 2
LATENCY = 0.2
RUNS = 3
MANY = 10_000
AT_ONCE = 200
"""Of the many."""


@dataclass(frozen=True, slots=True)
class Took:
    """What a batch took: the wall of its debates in seconds, its CPU in seconds, its largest process in MB."""

    wall: float
    cpu: float
    peak: float
    line: tuple[tuple[int, float], ...] = ()
    """Debates that had ended, and the MB of all its processes then."""


def rows() -> list[Row]:
    with server.serving(said.by_form(), LATENCY, paced=True) as where:
        path, call = asyncio.run(_floors(where))
        least = _batch(where, PROCESSES, PROCESSES)
        two_hundred = [_batch(where, AT_ONCE, AT_ONCE) for _ in range(RUNS)]
        thousand = _batch(where, 1000, 1000)
        many = _batch(where, MANY, AT_ONCE)
    more = (AT_ONCE - PROCESSES) * CALLS
    cpu = median(1000 * (took.cpu - least.cpu) / more for took in two_hundred)
    each = (thousand.peak - least.peak) / (1000 / PROCESSES)
    early = next(size for ended, size in many.line if ended >= MANY // 5)
    late = max(size for ended, size in many.line if ended >= MANY // 2)
    of = f"{PROCESSES} processes"
    return [
        Row(f"batch, {of}, 200 at once: wall", median(took.wall for took in two_hundred), "s", path, 2),
        Row(f"  CPU per call, beside bare: the reply comes in {server.CHUNKS} pieces", cpu, "ms", call, 6),
        Row(f"batch, {of}, 1,000 at once: wall", thousand.wall, "s", path, 10),
        Row("  memory of a debate in flight", each, "MB", 0.25, 1),
        Row(
            f"batch, {of}, {MANY:,} in one run: memory in its second half, beside after a fifth", late, "MB", early, 1.1
        ),
        Row("  wall per debate", 1000 * many.wall / MANY, "ms"),
        Row("  CPU per debate", 1000 * many.cpu / MANY, "ms"),
    ]


async def _floors(where: server.Server) -> tuple[float, float]:
    """Seconds of the calls of one debate, one after the other, and CPU milliseconds of a bare call among many."""
    with own_home() as workspace:
        bodies = await sent(workspace)
    await asyncio.gather(*(bare(where.url, bodies[:1]) for _ in range(AT_ONCE)))
    paths, calls = [], []
    for _ in range(RUNS):
        paths.append(await bare(where.url, bodies))
        before = time.process_time()
        await asyncio.gather(*(bare(where.url, bodies) for _ in range(AT_ONCE)))
        calls.append(1000 * (time.process_time() - before) / (AT_ONCE * CALLS))
    await shared().close()
    return median(paths), median(calls)


def _batch(where: server.Server, count: int, at_once: int) -> Took:
    with TemporaryDirectory(prefix="rebut-bench-") as folder:
        home = Path(folder)
        command = [*_rebut(), "batch", "lines.jsonl", "--out", "rows.jsonl", "--quiet", "--processes", str(PROCESSES)]
        _write(home, where, count)
        env = {"PATH": os.environ["PATH"], "HOME": folder, "REBUT_HOME": f"{folder}/state"}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        child = subprocess.Popen(
            [*command, "--at-once", str(at_once)],
            cwd=home, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        with _sampled(child.pid, home / "rows.jsonl", count // 50) as line:
            errors = child.communicate()[1].decode(errors="replace")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        ended = [json.loads(row)["heading"] for row in (home / "rows.jsonl").read_text().splitlines()]
        if child.returncode or ended != ["VERDICT"] * count:
            raise RuntimeError(f"{len(ended)} of {count} ended, not all with a verdict; {errors[-2000:]}")
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        # The largest of all children so far: batches are measured in the order of their size.
        peak = after.ru_maxrss / (1024 * 1024 if sys.platform == "darwin" else 1024)
        return Took(_wall(home / "state/sessions"), cpu, peak, tuple(line))


def _rebut() -> list[str]:
    script = Path(sys.executable).with_name("rebut")
    return [str(script)] if script.exists() else [sys.executable, "-m", "rebut"]


def _write(home: Path, where: server.Server, count: int) -> None:
    """The lines, and a config with the one provider that they name."""
    place = urlsplit(where.url)
    config = home / ".config/rebut/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        f'[providers.loop]\nwire = "openai"\nbase_url = "http://{place.netloc}/v1"\nmodel = "m"\nfamily = "loop"\n'
        "at_once = 1000\nfree = true\n"
    )
    seats = {"proposer": "loop:a", "challenger": "loop:b"}
    debate = {"protocol": "duel", "topic": TOPIC, "seats": seats, "settings": {"rounds": 2}}
    (home / "lines.jsonl").write_text("".join(json.dumps({"id": n, **debate}) + "\n" for n in range(count)))


@contextmanager
def _sampled(pid: int, out: Path, step: int) -> Iterator[list[tuple[int, float]]]:
    """How much memory a process and its children have, each time that `step` more debates have ended."""
    line: list[tuple[int, float]] = []
    over = threading.Event()

    def look() -> None:
        size, last = 0, 0
        while not over.wait(0.2):
            if not out.exists() or (now := out.stat().st_size) == size:
                continue
            size, ended = now, out.read_bytes().count(b"\n")
            if ended >= last + step:
                last = ended
                line.append((ended, _memory(pid)))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield line
    finally:
        over.set()
        thread.join()


def _memory(pid: int) -> float:
    """MB of a process and its children; 0 where there is no /proc."""
    proc = Path("/proc")
    try:
        below = (proc / f"{pid}/task/{pid}/children").read_text().split()
        pages = [int((proc / f"{one}/statm").read_text().split()[1]) for one in (pid, *below)]
    except OSError:
        return 0.0
    return sum(pages) * resource.getpagesize() / 1024 / 1024


def _wall(sessions: Path) -> float:
    """From the first opening on record to the last closing."""
    first, last = [], []
    for path in sessions.glob(f"*/{NAME}"):
        lines = path.read_bytes().splitlines()
        first.append(json.loads(lines[0])["at"])
        last.append(json.loads(lines[-1])["at"])
    return (datetime.fromisoformat(max(last)) - datetime.fromisoformat(min(first))).total_seconds()
