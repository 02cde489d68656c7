"""A duel that dies at any call, any event or any byte goes on in another process and comes to the same end."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import crashing
import duels
import pytest
from crashing import (
    FIRST,
    SECOND,
    Job,
    Result,
    all_end_like,
    end_of,
    journal,
    play,
    questions,
    quick_folder,
    repository,
    resumed,
    wire,
)

from rebut.record.events import Resumed
from rebut.record.journal import NAME
from rebut.record.sessions import load

Make = Callable[..., Job]


def said() -> dict[str, list[Any]]:
    """Three rounds, with one reply that is sent back, one that asks for context, and one that cannot be read."""
    out: dict[str, list[Any]] = {key: [value] for key, value in duels.answers(3).items()}
    out["r1/challenge@challenger"].insert(0, duels.challenge(alternatives=[]))
    defense = out["r2/defense@proposer"]
    defense[0]["position"] = "Zurück zu Redis\u2028mit Replikat 🙂."
    defense.insert(0, {**defense[0], "need": ["src/session.py:1-5"]})
    out["r2/follow-up@challenger"].insert(0, "I would rather say it in plain words.")
    return out


@dataclass(frozen=True)
class Whole:
    """The duel without an interruption: what every other run is held against."""

    job: Job
    result: Result

    @property
    def end(self) -> dict[str, Any]:
        return end_of(self.result)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in journal(self.job).split(b"\n")[:-1]]

    @property
    def begun(self) -> int:
        """The number of the event that ends the opening."""
        return next(int(e["seq"]) for e in self.events if e["kind"] == "fact" and e["key"] == "keys")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    folder = tmp_path_factory.mktemp("whole")
    job = Job(str(folder), said(), settings={"rounds": 3}, workspace=str(repository(folder / "work")))
    return Whole(job, play([job], **FIRST)[0])


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where the system has one: so many debates wait long for a disk."""
    with quick_folder(tmp_path) as made:
        yield made


@pytest.fixture
def workspace(quick: Path) -> Path:
    return repository(quick / "work")


@pytest.fixture
def make(quick: Path, workspace: Path) -> Make:
    def one(name: str, **changes: Any) -> Job:
        folder = quick / name
        folder.mkdir()
        return Job(str(folder), said(), settings={"rounds": 3}, workspace=str(workspace), **changes)

    return one


def disturb(workspace: Path) -> None:
    """The workspace goes on living between crash and resume."""
    (workspace / "src/session.py").write_text("nothing of what was cited\n")


def test_a_crash_during_any_call_repeats_that_call_alone_and_changes_nothing(  # C3
    make: Make, whole: Whole, workspace: Path
) -> None:
    needed = questions(whole.job)
    assert len(needed) == 11 and len({why for _, why in needed}) == 4, "send-back, context and repair take part"
    jobs = [make(f"call {k}", die_at_call=k) for k in range(1, len(needed) + 1)]
    assert all(r.died for r in play(jobs, **FIRST))
    disturb(workspace)
    results = play([resumed(job) for job in jobs], days=400, **SECOND)
    all_end_like(whole.end, jobs, results)
    assert whole.result.year not in {r.year for r in results}, "it really was another date"
    for k, job in enumerate(jobs, 1):
        assert questions(job) == [*needed[:k], *needed[k - 1 :]]
        [(repeated, times)] = [(call, n) for call, n in Counter(wire(job)).items() if n > 1]
        assert repeated == wire(job)[k - 1] and times == 2, "asked in the very same words"
        record = load(crashing.session(Path(job.folder)))
        assert [a.key for a in record.in_doubt] == [needed[k - 1][0]]


def test_a_crash_after_any_event_repeats_no_call_and_changes_nothing(  # C3
    make: Make, whole: Whole, workspace: Path
) -> None:
    events = whole.events[whole.begun - 1 :]
    jobs = [make(f"event {e['seq']}", die_after_event=e["seq"]) for e in events]
    assert all(r.died for r in play(jobs, **FIRST))
    left = [journal(job) for job in jobs]
    disturb(workspace)
    results = play([resumed(job) for job in jobs], days=-400, **SECOND)
    all_end_like(whole.end, jobs, results)
    for job, before, event in zip(jobs, left, events, strict=True):
        assert questions(job) == questions(whole.job), f"after {event['kind']} nothing is asked twice or left out"
        assert journal(job).startswith(before), "what was on record stays as it was"
    kinds = Counter(e["kind"] for e in events)
    assert kinds["attempt"] == 11 and kinds["answered"] == 8 and kinds["closed"] == 1


def test_a_debate_that_dies_at_every_call_in_turn_still_comes_to_its_end(make: Make, whole: Whole) -> None:  # C3
    needed = questions(whole.job)
    job = make("often", die_at_call=1)
    # Each life repeats the call in doubt, and dies during the next one.
    lives = [job, *(replace(job, resume="*", die_at_call=2) for _ in needed)]
    *before, last = play(lives, workers=1, **SECOND)
    assert all(r.died for r in before)
    all_end_like(whole.end, [job], [last])
    assert questions(job) == [q for q in needed for _ in range(2)]
    spent = last.outcome["spent"]
    assert spent["in_doubt"] == len(needed) and spent["calls"] == 2 * len(needed), "calls in doubt count as spent"


@pytest.mark.skipif(crashing.DATABASE in os.environ, reason="in a database the opening is stored as a whole")
def test_a_crash_before_the_opening_is_whole_costs_nothing_and_says_to_start_anew(  # C3
    make: Make, whole: Whole
) -> None:
    jobs = [make(f"event {n}", die_after_event=n) for n in range(1, whole.begun)]
    assert len(jobs) >= 2 and all(r.died for r in play(jobs, **FIRST))
    for job, result in zip(jobs, play([resumed(job) for job in jobs], **SECOND), strict=True):
        assert result.error == "RecordError" and "while it was being opened" in result.message
        assert "Start a new one" in result.hint and wire(job) == []


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_crash_while_the_state_file_is_written_leaves_it_ours(  # C3
    moment: str, make: Make, whole: Whole, workspace: Path
) -> None:
    earlier = replace(make("files"), settings={"rounds": 3, "state_dir": str(workspace / "state")})
    [first] = play([earlier], **FIRST)
    all_end_like(whole.end, [earlier], [first])
    job = replace(earlier, die_at_file=moment)
    assert play([job], **FIRST)[0].died
    [id] = {folder.name for folder in crashing.all_sessions(Path(job.folder))} - {first.outcome["session"]}
    all_end_like(whole.end, [job], play([replace(job, resume=id, die_at_file="")], days=1, **SECOND))
    [file] = [path for path in (workspace / "state/debate").iterdir() if not path.name.startswith(".")]
    text = file.read_text(encoding="utf-8")
    assert json.loads(text)["session"] == id and "Zurück zu Redis\u2028mit Replikat 🙂" in text


@pytest.mark.skipif(crashing.DATABASE in os.environ, reason="a row of a database is never half written")
@pytest.mark.parametrize("kind", ["attempt", "answered"])
def test_a_journal_cut_at_any_byte_of_an_event_loses_that_event_alone(kind: str, quick: Path) -> None:  # C3
    # A small duel without a repository, so that each of some hundred resumes is quick.
    short = duels.verdict(
        reasoning="D1 zählt 🙂.", recommendation="Go.", agreements=[], disagreements=[], unresolved=[]
    )
    answers = {key: [value] for key, value in duels.answers(1).items()} | {"verdict@judge": [short]}
    first = Job(str(quick / "whole"), answers, settings={"rounds": 1})
    Path(first.folder).mkdir()
    [result] = play([first], **FIRST)
    data = journal(first)
    lines = data.split(b"\n")[:-1]
    at = next(n for n, line in enumerate(lines) if f'"kind":"{kind}","key":"verdict@judge"'.encode() in line)
    start = sum(len(line) + 1 for line in lines[:at])
    end = start + len(lines[at]) + 1
    jobs = []
    for cut in range(start, end + 1):
        folder = quick / str(cut) / "home/sessions" / result.outcome["session"]
        folder.mkdir(parents=True)
        (folder / NAME).write_bytes(data[:cut])
        jobs.append(Job(str(quick / str(cut)), answers, resume=folder.name, forked=cut % 50 == 0))
    assert len(jobs) > 200 and any(data[cut] & 0xC0 == 0x80 for cut in range(start, end)), "inside a character, too"
    all_end_like(end_of(result), jobs, play(jobs, days=1, **SECOND))
    for job, cut in zip(jobs, range(start, end + 1), strict=True):
        whole_lines, torn = (data[:end], b"") if cut == end else (data[:start], data[start:cut])
        folder = crashing.session(Path(job.folder))
        aside = {path.name: path.read_bytes() for path in folder.glob("journal.torn-*")}
        assert list(aside.values()) == ([torn] if torn else [])
        assert (folder / NAME).read_bytes().startswith(whole_lines), "nothing but the torn bytes left the journal"
        [again] = [line.event for line in load(folder).lines if isinstance(line.event, Resumed)]
        assert again.torn == len(torn)
        lost = kind == "attempt" and cut < end
        assert [key for key, _ in questions(job)] == (["verdict@judge"] if lost else [])


# what a protocol may not do, and what an upgrade may


PROTOCOL = '''"""Two questions to one seat."""
from rebut import Form, Outcome

seats = {"speaker": 1}
WORDS = {"zeal", "doubt", "proof", "habit", "faith", "taste", "sense", "pride", "haste", "craft", "greed", "poise"}


class Said(Form):
    text: str
    #more


async def run(debate):
    who = debate.seat("speaker")
    first = await debate.ask(who, "first", f"Speak of {JOINED}.", schema=Said)
    second = await debate.ask(who, "second", f"Now of {first.value.text}.", schema=Said)
    return Outcome("done", "DONE", second.value.text)
'''


def protocol(path: Path, joined: str, more: str = "") -> str:
    path.write_text(PROTOCOL.replace("{JOINED}", "{" + joined + "}").replace("#more", more))
    return str(path)


def two_questions(folder: Path, joined: str, **changes: Any) -> Job:
    folder.mkdir()
    said = {"first@speaker": [{"text": "one thing"}], "second@speaker": [{"text": "another"}]}
    source = protocol(folder / "talk.py", joined)
    return Job(str(folder), said, protocol=source, seats={"speaker": "one"}, die_at_call=2, **changes)


def test_a_prompt_that_depends_on_the_hash_seed_is_caught_on_resume(quick: Path) -> None:  # C3
    jobs = [two_questions(quick / str(n), "' '.join(WORDS)") for n in range(2)]
    assert all(r.died for r in play(jobs, **FIRST))
    [other] = play([resumed(jobs[0])], **SECOND)
    assert other.error == "ReplayMismatch" and "first@speaker" in other.message
    assert "the order of a set" in other.hint and "rebut fork" in other.hint
    assert len(wire(jobs[0])) == 2, "nothing was asked on a false footing"
    [same_seed] = play([resumed(jobs[1])], **FIRST)
    assert same_seed.outcome["decision"] == "another", "in one process, or with one seed, it passes by luck"


def test_a_prompt_that_is_put_in_order_passes_under_any_hash_seed(quick: Path) -> None:  # C3
    job = two_questions(quick / "sorted", "' '.join(sorted(WORDS))")
    assert play([job], **FIRST)[0].died
    [result] = play([resumed(job)], **SECOND)
    assert result.outcome["decision"] == "another" and result.outcome["notes"] == []


def test_after_an_upgrade_of_rebut_the_recorded_answer_wins_with_a_note(quick: Path) -> None:  # C3
    job = two_questions(quick / "upgraded", "' '.join(WORDS)")
    assert play([job], **FIRST)[0].died
    [result] = play([resumed(job, version="99.0")], **SECOND)
    assert result.outcome["decision"] == "another"
    [note] = result.outcome["notes"]
    assert "first@speaker" in note and "is 99.0" in note and "the recorded answer is used" in note
    assert [key for key, _ in questions(job)] == ["first@speaker", "second@speaker", "second@speaker"]


def test_after_an_edit_of_the_protocol_the_recorded_answer_wins_if_it_still_fits(quick: Path) -> None:  # C3
    job = two_questions(quick / "edited", "'proof'")
    assert play([job], **FIRST)[0].died
    protocol(Path(job.protocol), "'doubt'", more="size: int = 0")
    [result] = play([resumed(job)], **SECOND)
    assert result.outcome["decision"] == "another"
    [note] = result.outcome["notes"]
    assert "first@speaker" in note and "the protocol was 1+" in note and "the recorded answer is used" in note


def test_after_an_edit_that_the_recorded_answer_does_not_fit_the_advice_is_to_fork(quick: Path) -> None:  # C3
    job = two_questions(quick / "outgrown", "'proof'")
    assert play([job], **FIRST)[0].died
    protocol(Path(job.protocol), "'proof'", more="size: int")
    [result] = play([resumed(job)], **SECOND)
    assert result.error == "ReplayMismatch" and "no longer fits" in result.message
    assert f"rebut fork {resumed(job).resume}" in result.hint
    assert len(wire(job)) == 2
