"""Caps over all workers, as the provider sees them."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from console import piped

from tests_postgres import provider
from tests_postgres.provider import most_at_once, most_in
from tests_postgres.workers import batch, working

SECONDS = 60.0


def test_two_workers_keep_to_one_providers_caps(database: str, own_home: Path, tmp_path: Path) -> None:
    with provider.serving(tmp_path / "calls", 0.25) as mine:
        mine.configure(own_home, "rpm = 600\nat_once = 4")
        file = batch(tmp_path, 150)
        done = piped("batch", str(file), "--on", database, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        with working(2, database, tmp_path, "--at-once", "10") as workers:
            for worker in workers:
                with suppress(PermissionError):  # other work of this machine is not what is measured
                    os.setpriority(os.PRIO_PROCESS, worker.process.pid, -10)
                worker.until("took")
            time.sleep(3)
            began = time.monotonic()
            time.sleep(SECONDS)
            calls = [call for call in mine.calls() if began <= call.came < began + SECONDS]
            shares = [len(worker.events("ended")) for worker in workers]
        used = len(calls) / SECONDS / 10
        print(
            f"{len(calls)} calls in {SECONDS:.0f} s ({used:.0%}); at most {most_in(calls, 1.0)} in a second,", end=" "
        )
        print(f"{most_at_once(calls)} at once; debates ended by each worker: {shares}")
        assert most_in(calls, 1.0) <= 10
        assert most_at_once(calls) <= 4
        assert used >= 0.9
        assert min(shares) > 0


def test_a_retry_after_makes_every_worker_wait(database: str, own_home: Path, tmp_path: Path) -> None:
    with provider.serving(tmp_path / "calls", 0.05, "--busy", "20", "21") as mine:
        mine.configure(own_home, "rpm = 1200")
        file = batch(tmp_path, 30)
        assert piped("batch", str(file), "--on", database, cwd=tmp_path).returncode == 0
        with working(2, database, tmp_path, "--at-once", "5", "--until-empty") as workers:
            for worker in workers:
                assert worker.process.wait(90) == 0, worker.log.read_text()
        calls = sorted(mine.calls(), key=lambda call: call.came)
        [refused] = [call for call in calls if call.status == 429]
        # A call whose turn had come when the answer arrived still leaves, one for each worker at most.
        after = [call.came - refused.left for call in calls if call.came > refused.left + 0.1]
        assert len([seconds for seconds in after if seconds < 2.9]) <= len(workers), sorted(after)[:5]
        assert 2.9 <= sorted(after)[len(workers)] < 10, sorted(after)[:5]
        assert len([call for call in calls if call.status == 200]) == 150
