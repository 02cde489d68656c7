"""A panel that dies at any call or event goes on in another process and comes to the same end, files included."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import crashing
import panels
import pytest
from crashing import FIRST, SECOND, Job, Result, play

from rebut.record.events import Attempt
from rebut.record.sessions import load

Make = Callable[..., Job]
SEATS = {"lead": "one", "challenger": ["two", "three", "four"], "judge": "five"}


def said() -> dict[str, list[Any]]:
    """Three rounds to a trade-off, with replies that are sent back, ask for context, or cannot be read."""
    out: dict[str, list[Any]] = {key: [value] for key, value in panels.tradeoff(3).items()}
    out["opening/personas@judge"].insert(0, panels.personas(domain=""))
    out["opening/position@lead"][0]["position"] = "Zurück zu Redis\u2028mit Replikat 🙂."
    out["r1/challenge@challenger.2"].insert(0, panels.agree("Operator", need=["src/session.py:1-5"]))
    out["r1/challenge@challenger.3"] = ["in plain words, both times"]
    out["r2/confront@lead"] = [panels.confront({"B1": "reject"}, "Use Redis with random keys.", changes=[])]
    out["r2/confront@lead"].append(panels.confront({"B1": "reject"}, "Zurück zu Redis\u2028mit Replikat 🙂."))
    out["r3/confront@lead"] = [panels.confront({"B1": "partial"}, "Redis and a replica.")]
    return out


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in memory where the system has one: so many debates wait long for a disk."""
    memory = Path("/dev/shm")
    place = memory if os.access(memory, os.W_OK) else tmp_path_factory.mktemp("jobs")
    with tempfile.TemporaryDirectory(dir=place) as made:
        yield Path(made)


@pytest.fixture(scope="module")
def make(quick: Path) -> Make:
    def one(name: str, **changes: Any) -> Job:
        folder = quick / name
        folder.mkdir()
        (folder / "work/src").mkdir(parents=True)  # no repository: some hundred of them would take their time
        (folder / "work/src/session.py").write_text("import redis\nttl = 3600\n" + "line = 0\n" * 40)
        settings = {"rounds": 3, "context": ["src"]}
        given = {"protocol": "panel", "settings": settings, "seats": SEATS, "far": True}
        return Job(str(folder), said(), workspace=str(folder / "work"), **{**given, **changes})

    return one


@pytest.fixture(scope="module")
def whole(make: Make) -> tuple[Job, Result]:
    job = make("whole")
    [result] = play([job], **FIRST)
    assert result.outcome, result.message
    assert result.outcome["heading"] == "TRADEOFF (2 OF 3 ANSWERED)"
    return job, result


def resumed(job: Job) -> Job:
    return replace(job, resume="*", die_at_call=0, die_after_event=0)


def asked(job: Job) -> list[tuple[str, str]]:
    return [(key, again) for key, again, _ in crashing.calls(Path(job.folder))]


def answered_before(job: Job) -> set[tuple[str, int]]:
    record = load(crashing.session(Path(job.folder)))
    return {(line.event.key, line.event.attempt) for line in record.lines if isinstance(line.event, Attempt)}


def left(job: Job) -> dict[str, str]:
    """The panel's files, without what must differ: the session's id, the time, and where it lies."""
    [place] = (Path(job.workspace) / "debates").iterdir()
    id, out = crashing.session(Path(job.folder)).name, {}
    for path in sorted(p for p in place.rglob("*") if p.is_file()):
        text = path.read_text(encoding="utf-8").replace(id, "ID").replace(job.folder, "FOLDER")
        text = re.sub(r"^(«(?:begin|end) persona) [0-9a-f]{16}»$", r"\1 TAG»", text, flags=re.M)  # of its session's key
        if path.name == "state.json":
            text = json.dumps(json.loads(text) | {"started": ""})
        out[path.relative_to(place).as_posix()] = text
    return out


def ends_like(whole: tuple[Job, Result], jobs: list[Job], results: list[Result]) -> None:
    for job, result in zip(jobs, results, strict=True):
        name = Path(job.folder).name
        assert result.outcome, f"{name}: {result.error} {result.message}"
        found, expected = crashing.same(result.outcome), crashing.same(whole[1].outcome)
        assert found == expected, name
        assert left(job) == left(whole[0]), name


def test_a_crash_during_any_call_repeats_nothing_that_came_back(make: Make, whole: tuple[Job, Result]) -> None:  # C3
    needed = asked(whole[0])
    assert len(needed) >= 18 and {"preflight/reach@challenger.1", "map@judge"} <= {key for key, _ in needed}
    jobs = [make(f"call {k}", die_at_call=k) for k in range(1, len(needed) + 1)]
    assert all(r.died for r in play(jobs, **FIRST))
    before = [answered_before(job) for job in jobs]
    results = play([resumed(job) for job in jobs], days=400, **SECOND)
    ends_like(whole, jobs, results)
    assert whole[1].year not in {r.year for r in results}, "it really was another date"
    for job, came_back in zip(jobs, before, strict=True):
        wire = Counter(crashing.calls(Path(job.folder)))
        assert set(asked(job)) == set(needed), "nothing is left out"
        after = load(crashing.session(Path(job.folder)))
        for key, attempt in came_back:
            assert attempt in after.calls[key].attempts and attempt in after.calls[key].asked
        repeated = [key for (key, _, _), n in wire.items() if n > 1]
        assert 1 <= len(repeated) <= 3, "what was in flight, and no more"
        assert not any(n > 2 for n in wire.values())


def test_a_crash_after_any_event_changes_nothing(make: Make, whole: tuple[Job, Result]) -> None:  # C3
    events = [json.loads(line) for line in crashing.journal(whole[0]).splitlines()]
    begun = next(e["seq"] for e in events if e["kind"] == "fact" and e["key"] == "keys")
    # Those where facts and files are written, each file once; the calls themselves are the other test's.
    kinds = [e for e in reversed(events) if e["seq"] >= begun and e["kind"] in ("fact", "wrote", "closed")]
    chosen = sorted({(e["kind"], e.get("key") or e.get("path")): int(e["seq"]) for e in kinds}.values())
    jobs = [make(f"event {n}", die_after_event=n) for n in chosen]
    assert all(r.died for r in play(jobs, **FIRST))
    ends_like(whole, jobs, play([resumed(job) for job in jobs], days=-400, **SECOND))
