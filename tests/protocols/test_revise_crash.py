"""A revision that dies at any call or event goes on in another process, and leaves the same files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import crashing
import pytest
import revisions
from crashing import FIRST, SECOND, Job, all_end_like, end_of, play, questions, repository, resumed, wire
from revisions import document, revision

from rebut.record.sessions import load

Make = Callable[..., Job]
ROUNDS = {"plan": 2, "review": 1}
CALLS = {"plan": 11 + 4, "review": 7 + 4}
FILES = {"plan": 12, "review": 8}
SEATS = {"author": ["claude=one", "codex=two"], "synthesizer": "three"}


def said(stage: str) -> dict[str, list[Any]]:
    """A debate with a draft that asks for context, a revision that is sent back and a critique that fails once."""
    out: dict[str, list[Any]] = {key: [value] for key, value in revisions.answers(ROUNDS[stage], stage).items()}
    draft = out["r0/draft@author.2"]
    draft[0]["document"] = document("author 2 🙂", "Zurück\u2028dahin.")
    draft.insert(0, {**draft[0], "need": ["src/session.py:1-3"]})
    out["r1/revision@author.1"].insert(0, revision("# Sessions\n\n## Goal\n\nNothing else.\n", ["W2"]))
    out["r1/revision@author.2"] = [revision(document("author 2 🙂", "Twice."), ["W1"])]
    last = f"r{ROUNDS[stage]}/critique"
    out[f"{last}.again@author.2"] = out[f"{last}@author.2"]
    out[f"{last}@author.2"] = ["I would rather say it in plain words.", "Really."]
    if stage == "review":
        (verdict,) = out["synthesis@synthesizer"]
        verdict["findings"][0]["text"] = "Das ttl ist fest 🙂."
    return out


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    with crashing.quick_folder(tmp_path) as quick:

        def one(name: str, stage: str, **changes: Any) -> Job:
            folder = quick / name
            folder.mkdir()
            workspace = repository(folder / "work")
            revisions.change(workspace)
            settings = {"rounds": ROUNDS[stage], "stage": stage}
            scope = "uncommitted" if stage == "review" else ""
            more = {"settings": settings, "scope": scope, "protocol": "revise", "seats": SEATS, **changes}
            return Job(str(folder), said(stage), workspace=str(workspace), **more)

        yield one


def files(job: Job) -> dict[str, str]:
    """What lies in the track, but for what a dying process was in the middle of writing."""
    place = revisions.phase(Path(job.workspace))
    return {p.name: p.read_text(encoding="utf-8") for p in place.iterdir() if not p.name.startswith(".")}


def disturb(job: Job) -> None:
    """The workspace goes on living between crash and resume."""
    (Path(job.workspace) / "src/session.py").write_text("nothing of what was cited\n")


@pytest.mark.parametrize("stage", ["plan", "review"])
def test_a_crash_during_any_call_changes_neither_the_end_nor_a_file(make: Make, stage: str) -> None:  # C3
    whole = make("whole", stage)
    [result] = play([whole], **FIRST)
    needed = questions(whole)
    assert len(needed) == CALLS[stage] and len({why for _, why in needed}) == 4, "repair, send-back and context"
    jobs = [make(f"call {k}", stage, die_at_call=k) for k in range(1, len(needed) + 1)]
    assert all(r.died for r in play(jobs, **FIRST))
    for job in jobs:
        disturb(job)
    results = play([resumed(job) for job in jobs], days=400, **SECOND)
    all_end_like(end_of(result), jobs, results)
    assert result.year not in {r.year for r in results}, "it really was another date"
    expected = files(whole)
    assert len(expected) == FILES[stage] and "🙂" in "".join(expected.values())
    for job in jobs:
        assert files(job) == expected, Path(job.folder).name
        # Siblings that were in flight together are asked again together; nothing else is.
        again = {key for key, count in Counter(wire(job)).items() if count > 1}
        doubt = {a.key for a in load(crashing.session(Path(job.folder))).in_doubt}
        assert {key for key, _, _ in again} <= doubt and 1 <= len(doubt) <= 2
        assert sorted(set(questions(job))) == sorted(set(needed))


def test_a_crash_around_any_file_or_claim_changes_neither_the_end_nor_a_file(make: Make) -> None:  # C3 K12
    whole = make("whole", "review")
    [result] = play([whole], **FIRST)
    record = load(crashing.session(Path(whole.folder)))
    begun = next(line.seq for line in record.lines if getattr(line.event, "key", "") == "keys")
    # Where files and claims come into it; for the others, a protocol is like any other, and there is a test of duels.
    late = [line for line in record.lines if line.seq >= begun and line.event.kind in ("wrote", "fact", "closed")]
    jobs = [make(f"event {line.seq}", "review", die_after_event=line.seq) for line in late]
    assert all(r.died for r in play(jobs, **FIRST))
    for job in jobs:
        disturb(job)
    results = play([resumed(job) for job in jobs], days=-400, **SECOND)
    all_end_like(end_of(result), jobs, results)
    kinds = Counter(line.event.kind for line in late)
    assert kinds["wrote"] == 8 and kinds["fact"] >= 6 and kinds["closed"] == 1
    expected = files(whole)
    for job in jobs:
        assert files(job) == expected, Path(job.folder).name
        assert not revisions.phase(Path(job.workspace), 2).exists(), "it goes on in the phase that it claimed"
