"""A question that dies at any call goes on in another process and comes to the same answer."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import crashing
import pytest
import test_ask
from crashing import FIRST, SECOND, Job, all_end_like, end_of, play, questions, repository, resumed, wire

from rebut.record.sessions import load


@pytest.mark.parametrize("same", [False, True])
def test_a_crash_during_any_call_repeats_what_was_in_flight_alone(tmp_path: Path, same: bool) -> None:  # C3
    with crashing.quick_folder(tmp_path) as quick:
        workspace = repository(quick / "work")

        def one(name: str, die_at_call: int = 0) -> Job:
            folder = quick / name
            folder.mkdir()
            more = {"die_at_call": die_at_call} if die_at_call else {}
            said = {key: [answer] for key, answer in test_ask.said(same=same).items()}
            return Job(str(folder), said, protocol="ask", workspace=str(workspace), **more)

        whole = one("whole")
        [result] = play([whole], **FIRST)
        needed = questions(whole)
        assert len(needed) >= 3
        jobs = [one(f"call {k}", k) for k in range(1, len(needed) + 1)]
        assert all(r.died for r in play(jobs, **FIRST))
        results = play([resumed(job) for job in jobs], days=400, **SECOND)
        all_end_like(end_of(result), jobs, results)
        for job in jobs:
            again = {key for (key, _, _), count in Counter(wire(job)).items() if count > 1}
            doubt = {attempt.key for attempt in load(crashing.session(Path(job.folder))).in_doubt}
            assert again <= doubt and 1 <= len(doubt) <= 2, "both sides answer at the same time"
            assert sorted(set(questions(job))) == sorted(set(needed))
