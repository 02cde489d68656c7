"""A review that dies at any call goes on in another process, on another day, and comes to the same end."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import crashing
import crosses
import pytest
from crashing import FIRST, SECOND, Job, Result, play

from rebut.protocols.cross.settings import state_dir

SEATS = {"author": "zero", "critic": "one", "judge": "two"}


def said() -> dict[str, list[Any]]:
    """A compromise whose first patch does not apply, then a rebuttal, then an acceptance; one reply has a need."""
    first = crosses.critique(
        crosses.raised(), crosses.raised("No test.", "README.md:1", severity="P2", category="tests")
    )
    again = crosses.raised("Still no retry bound 🙂.", "api/orders.py:6", category="reliability", severity="P2")
    last = crosses.raised("A return of None says nothing.", "api/orders.py:7", category="maintainability")
    last["evidence"][0]["quote"] = "return None"
    fix = (
        "--- a/api/orders.py\n+++ b/api/orders.py\n@@ -4,4 +4,3 @@\n def pay(order):\n     charge(order)\n"
        "     commit(order)\n-    return None\n"
    )
    return {
        "r1/critique@critic": [{**first, "need": ["api/orders.py:1-3"]}, first],
        "r1/judgement@judge": [crosses.judgement("C", {"F1": "valid P1", "F2": "missing evidence P3"})],
        "r1/version.code@judge": [crosses.patch("--- a/no.py\n+++ b/no.py\n@@ -1 +1 @@\n-a\n+b\n"), crosses.patch()],
        "r2/critique@critic": ["I would rather say it in words.", crosses.critique(again, earlier=[crosses.looked()])],
        "r2/judgement@judge": [crosses.judgement("D", {"F3": "invalid P2"})],
        "r3/critique@critic": [crosses.critique(crosses.raised("again", same_as="F3"), last)],
        "r3/judgement@judge": [crosses.judgement("B", {"F3": "invalid P2", "F4": "valid P2"})],
        "r3/version.code@critic": [crosses.patch(fix)],
    }


def same(result: Result) -> str:
    """What must not differ between two runs: all but the session's name, which stands in the contract."""
    assert result.outcome, f"{result.code} {result.error}: {result.message}"
    return re.sub(r"debate-\d{8}-\d{6}-\d+", "ID", json.dumps(crashing.same(result.outcome), sort_keys=True))


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return crosses.repository(tmp_path_factory.mktemp("shop") / "work")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, workspace: Path) -> tuple[Job, Result]:
    folder = tmp_path_factory.mktemp("whole")
    job = Job(str(folder), said(), workspace=str(workspace), protocol="cross", seats=SEATS, scope="uncommitted")
    return job, play([job], **FIRST)[0]


def test_the_review_without_a_crash_is_the_one_that_is_meant(whole: tuple[Job, Result]) -> None:  # J10
    outcome = whole[1].outcome
    assert outcome["heading"] == "ACCEPT OPPOSITE", whole[1]
    history = outcome["data"]["contract"]["history"]
    assert [h["taken"] for h in history] == ["C", "D", "B"]
    assert [v["version"] for v in outcome["data"]["versions"]] == [2, 3]
    marks = {p["id"]: [e["mark"] for e in p["evidence"]] for p in outcome["ledger"]["points"]}
    # F3 cites line 6 of version 2, where the commit stands; in the working tree it is the charge.
    assert marks["F3"][0] == "found"
    assert len(crashing.calls(Path(whole[0].folder))) == 11


def test_it_dies_at_every_call_and_comes_to_the_same_end(whole: tuple[Job, Result], tmp_path: Path) -> None:  # C3
    job, result = whole
    workspace = Path(job.workspace)
    count = len(crashing.calls(Path(job.folder)))
    jobs = []
    for n in range(1, count + 1):
        folder = tmp_path / f"call-{n}"
        folder.mkdir()
        jobs.append(replace(job, folder=str(folder), die_at_call=n))
    assert all(r.died for r in play(jobs, **FIRST))
    # The workspace goes on living between crash and resume.
    (workspace / "api/orders.py").write_text("nothing of what was cited\n")
    try:
        done = play([replace(j, resume="*", die_at_call=0) for j in jobs], days=400, **SECOND)
    finally:
        (workspace / "api/orders.py").write_text(crosses.AFTER)
    for one, ended in zip(jobs, done, strict=True):
        assert same(ended) == same(result), Path(one.folder).name
        keys = [(key, again) for key, again, _ in crashing.calls(Path(one.folder))]
        # The call that died was in doubt and is made again; no other is.
        assert len(keys) == count + 1, Path(one.folder).name


def test_a_session_is_replayed_from_its_record_alone(whole: tuple[Job, Result]) -> None:  # C13
    import asyncio

    import rebut

    job, result = whole
    folder = Path(job.folder)
    env = {"HOME": job.folder, "REBUT_HOME": crashing.home(folder), "PATH": ""}
    again = asyncio.run(rebut.replay(crashing.session(folder).name, env=env, workspace=job.workspace))
    assert same(Result(0, again.to_json())) == same(result)


def test_two_reviews_that_start_at_the_same_moment_write_to_the_same_place(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    touch = Path.touch

    def touched(self: Path, *given: Any, **named: Any) -> None:
        touch(self, *given, **named)
        self.unlink()  # by the other one

    monkeypatch.setattr(Path, "touch", touched)
    place, notice = state_dir({"HOME": str(workspace.parent)}, workspace)
    assert (place, notice) == (str(workspace / ".git" / "review-loop"), "")
