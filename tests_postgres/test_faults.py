"""Four workers, 200 debates, and everything that can happen to a worker and a database."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from console import REBUT, piped

from tests_postgres import cluster, provider
from tests_postgres.workers import Recorded, Wire, Worker, batch

DEBATES, CALLS, AT_ONCE = 200, 5, 8
LONG = 22.0
"""Seconds of an absence that is longer than a lease, and than it takes others to notice."""


def until(holds: Callable[[], bool], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_every_debate_ends_whatever_happens(own_home: Path, tmp_path: Path) -> None:
    with cluster.running(sync=True) as server, provider.serving(tmp_path / "calls", 0.4) as mine:
        mine.configure(own_home, "at_once = 64")
        database = server.create("faults")
        wire = Wire(server.port)
        subprocess.run([REBUT, "batch", "upgrade", "--on", database], check=True, capture_output=True)
        done = piped("batch", str(batch(tmp_path, DEBATES)), "--on", database, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        through = f"postgresql://postgres@127.0.0.1:{wire.port}/faults"
        addresses = {"killed": database, "stopped": database, "cut": through, "spared": database}
        words = ("--at-once", str(AT_ONCE))
        workers = {name: Worker(address, tmp_path, name, *words) for name, address in addresses.items()}
        try:
            for worker in workers.values():
                worker.until("ended")
            workers["killed"].signal(signal.SIGKILL)
            workers["stopped"].signal(signal.SIGSTOP)
            wire.cut()
            absent = time.monotonic()
            workers["another"] = Worker(database, tmp_path, "another", *words)
            time.sleep(3)
            server.stop("immediate")  # as if its power had failed
            time.sleep(2)
            server.start()
            until(lambda: time.monotonic() > absent + LONG)
            workers["stopped"].signal(signal.SIGCONT)
            wire.repair()
            done = piped(
                "batch", str(tmp_path / "in.jsonl"), "--on", database, "--out", str(tmp_path / "out"), cwd=tmp_path
            )
            assert done.returncode == 0, done.stdout + done.stderr
            for worker in workers.values():
                if worker.name != "killed":
                    assert worker.process.poll() is None, f"{worker.name} ended: {worker.log.read_text()[-2000:]}"
        finally:
            for worker in workers.values():
                worker.end()
            wire.close()
        rows = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
        recorded = Recorded(database)
        calls = Counter((call.debate, call.form) for call in mine.calls())
        twice = sum(calls.values()) - len(calls)
        taken = {worker.name: len(worker.events("ended")) for worker in workers.values()}
        lost = {worker.name: len(worker.events("lost")) for worker in workers.values()}
        print(f"{len(rows)} debates ended, by worker: {taken}; lost leases: {lost}")
        print(
            f"{sum(calls.values())} calls for {len(calls)} questions: {twice} were in flight at a fault and made twice"
        )
        assert len(rows) == DEBATES == recorded.closed and not any("failure" in row for row in rows)
        assert not recorded.asked_again_though_answered()
        assert len(calls) == DEBATES * CALLS
        # Each call is on record before it is made, and one that is made twice has no answer on record.
        assert sum(recorded.asked().values()) >= sum(calls.values())
        assert twice <= 3 * AT_ONCE, "more than three workers can have had in flight"
