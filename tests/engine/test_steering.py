"""Decisions by hand: settle now, one more round, leave a straggler behind. On record before they take effect."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import crashing
import crosses
import duels
import panels
import pytest
import revisions
import test_ask
from crashing import FIRST, SECOND, Job, end_of, play, resumed

import rebut
from rebut.engine import steering
from rebut.engine.steering import NO_DEBATE
from rebut.record import sessions
from rebut.record.events import Asked, Fact
from rebut.record.record import Record
from tests import voices

DUEL = crashing.SEATS
CROSS = {"author": "zero", "critic": "one", "judge": "two"}
REVISE = {"author": ["a=one", "b=two"], "synthesizer": "three"}
PANEL = {"lead": "one", "challenger": ["two", "three", "four"], "judge": "five"}
REVIEW = {
    "r1/critique@critic": crosses.critique(crosses.raised()),
    "r1/judgement@judge": crosses.judgement("C", {"F1": "valid P1"}),
    "r1/version.code@judge": crosses.patch(),
    "r2/critique@critic": crosses.critique(),
}


@dataclass(frozen=True)
class Case:
    """A debate, what is decided while one key is asked, and how it must end."""

    protocol: str
    said: Mapping[str, Any]
    seats: Mapping[str, Any]
    rounds: int
    at: str
    decision: str
    heading: str
    stopped: str = ""
    never: tuple[str, ...] = ()
    """Beginnings of keys that must not be asked."""
    asked: tuple[str, ...] = field(default=())
    """Keys that must be."""


CASES = {
    "a duel is settled": Case(
        *("duel", duels.answers(3), DUEL, 3, "r1/challenge@challenger", "settle", "VERDICT AFTER 1 OF 3 ROUNDS"),
        stopped="settled by hand after round 1",
        never=("r2/",),
        asked=("verdict@judge",),
    ),
    "a duel has one round more": Case(
        *("duel", duels.answers(3), DUEL, 2, "r2/follow-up@challenger", "more", "VERDICT"),
        asked=("r3/follow-up@challenger",),
    ),
    "blind answers are not argued out": Case(
        *("ask", test_ask.said(same=False), DUEL, 1, "answer@proposer", "settle", "NO VERDICT, THE ANSWERS DIFFER"),
        stopped="settled by hand before round 1",
        never=("r1/", "verdict"),
    ),
    "one of two is left behind": Case(
        *("ask", test_ask.said(same=False), DUEL, 1, "answer@challenger", "leave", "ONE ANSWER"),
        stopped="the challenger (two) did not answer: left behind, skipped by the user after 0 s; "
        "the other seat took 0 s",
        never=("comparison", "r1/"),
    ),
    "a review is settled": Case(
        *("cross", REVIEW, CROSS, 3, "r1/critique@critic", "settle", "COMPROMISE AFTER 1 OF 3 ROUNDS"),
        stopped="settled by hand after round 1",
        never=("r2/",),
        asked=("r1/version.code@judge",),
    ),
    "a review has one round more": Case(
        *("cross", REVIEW, CROSS, 1, "r1/version.code@judge", "more", "COMPROMISE"),
        asked=("r2/critique@critic",),
    ),
    "a revision is settled while it is criticized": Case(
        *("revise", revisions.answers(1), REVISE, 1, "r1/critique@author.2", "settle", "PLAN AFTER 0 OF 1 ROUNDS"),
        stopped="settled by hand in round 1, before its revisions",
        never=("r1/revision",),
        asked=("r1/critique@author.1", "synthesis@synthesizer"),
    ),
    "a revision is settled while it is revised": Case(
        *("revise", revisions.answers(2), REVISE, 2, "r1/revision@author.1", "settle", "PLAN AFTER 1 OF 2 ROUNDS"),
        stopped="settled by hand after round 1",
        never=("r2/",),
    ),
    "a revision has one round more": Case(
        *("revise", revisions.answers(2), REVISE, 1, "r0/draft@author.1", "more", "PLAN AFTER 2 ROUNDS"),
        asked=("r2/revision@author.2",),
    ),
    "an author is left behind": Case(
        *("revise", revisions.answers(1), REVISE, 1, "r1/critique@author.2", "leave"),
        "PLAN AFTER 0 OF 1 ROUNDS, ONE VERSION STALE",
        stopped="no critique by b in round 1 (left behind: skipped by the user after 0 s; the other seat took 0 s)",
        never=("r1/critique.again", "r1/revision"),
    ),
    "a panel is settled": Case(
        *("panel", panels.tradeoff(3), PANEL, 3, "r1/challenge@challenger.1", "settle", "TRADEOFF AFTER 1 OF 3 ROUNDS"),
        stopped="settled by hand after round 1",
        never=("r2/",),
        asked=("map@judge",),
    ),
    "a panel has one round more": Case(
        *("panel", panels.tradeoff(2), PANEL, 1, "r1/challenge@challenger.3", "more", "TRADEOFF"),
        asked=("r2/confront@lead",),
    ),
    "a challenger is left behind": Case(
        *("panel", panels.tradeoff(2), PANEL, 2, "r1/challenge@challenger.2", "leave", "TRADEOFF (2 OF 3 ANSWERED)"),
    ),
}


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[Path]:
    with crashing.quick_folder(tmp_path) as folder:
        yield folder


def job(case: Case, folder: Path, **changes: Any) -> Job:
    folder.mkdir()
    work = folder / "work"  # no repository where none is needed: some hundred of them would take their time
    crosses.repository(work) if case.protocol == "cross" else work.mkdir()
    return Job(
        str(folder),
        {key: [value] for key, value in case.said.items()},
        workspace=str(work),
        protocol=case.protocol,
        seats=case.seats,
        settings={"rounds": case.rounds},
        scope="uncommitted" if case.protocol == "cross" else "",
        decide={case.at: case.decision},
        **changes,
    )


def record(one: Job) -> Record:
    return sessions.load(crashing.session(Path(one.folder)))


def ending(one: Job, result: crashing.Result) -> str:
    """What must not differ, whatever the session is called, wherever it lies and however long a straggler took."""
    told = json.dumps(end_of(result), sort_keys=True).replace(one.folder, "")
    told = re.sub(r"after \d+ s; (the \w+(?: \w+)?) took \d+ s", r"after 0 s; \1 took 0 s", told)
    return re.sub(r"debate-\d{8}-\d{6}-\d+", "ID", told)


def decisions(one: Job) -> list[str]:
    facts = [line.event for line in record(one).lines if isinstance(line.event, Fact)]
    return [f.key for f in facts if f.key in ("settle", "more") or f.key.endswith("#left")]


@pytest.mark.parametrize("name", CASES)
def test_a_decision_holds_whenever_its_process_dies(name: str, quick: Path) -> None:
    # C3 C6 C14
    case = CASES[name]
    whole = job(case, quick / "whole")
    [result] = play([whole], **FIRST)
    outcome = json.loads(ending(whole, result))
    assert (outcome["heading"], outcome["stopped"]) == (case.heading, case.stopped)
    assert outcome["conclusive"] is (case.decision == "more" or (not case.stopped and "OF" not in case.heading))
    keys = [key for key, _, _ in crashing.calls(Path(whole.folder))]
    assert not [key for key in keys if key.startswith(case.never)] if case.never else True
    assert set(case.asked) <= set(keys) and "CONSENSUS" not in case.heading
    assert len(decisions(whole)) == 1
    lines = record(whole).lines
    decided = next(n for n, line in enumerate(lines) if _decides(line.event))
    events = [lines[decided - 1], lines[decided], *(x for x in lines[decided:] if isinstance(x.event, Asked))]
    jobs = [job(case, quick / str(line.seq), die_after_event=line.seq) for line in events]
    assert all(r.died for r in play(jobs, **FIRST))
    ends = play([resumed(one, forked=False) for one in jobs], days=400, **SECOND)
    for line, one, end in zip(events, jobs, ends, strict=True):
        assert ending(one, end) == ending(whole, result), line
        assert len(decisions(one)) == 1, f"{line}: what is on record is not decided again"
        _asked_once(record(one))


def _decides(event: object) -> bool:
    return isinstance(event, Fact) and (event.key in ("settle", "more") or event.key.endswith("#left"))


def _asked_once(found: Record) -> None:
    answered: set[tuple[str, str]] = set()
    for line in found.lines:
        if isinstance(line.event, Asked):
            call = (line.event.key, line.event.followup)
            assert call not in answered, f"{call[0]} was asked again, though its answer was on record"
            attempt = found.calls[line.event.key].attempts.get(line.event.attempt)
            if attempt is not None and attempt.outcome in ("ok", "left behind"):
                answered.add(call)


@pytest.mark.parametrize("name", ["a duel is settled", "a duel has one round more", "one of two is left behind"])
def test_a_replay_and_a_fork_are_the_same_debate(name: str, quick: Path) -> None:
    # C13
    whole = job(CASES[name], quick / "whole")
    [result] = play([whole], **FIRST)
    outside: dict[str, Any] = {
        "backends": dict.fromkeys(("one", "two", "three"), _Mute()),
        "env": {"HOME": whole.folder, "REBUT_HOME": f"{whole.folder}/home", "PATH": ""},
    }
    id = crashing.session(Path(whole.folder)).name
    expected = json.loads(ending(whole, result))
    for again in (rebut.replay(id, **outside), rebut.fork(id, **outside)):
        outcome = asyncio.run(again).to_json()
        assert {k: outcome[k] for k in ("heading", "decision", "verdict", "conclusive")} == {
            k: expected[k] for k in ("heading", "decision", "verdict", "conclusive")
        }


class _Mute:
    async def complete(self, request: rebut.Request) -> rebut.Reply:
        raise AssertionError(f"{request.key} is on record, and was asked")


# what cannot be decided


class Watching:
    """A model that does something at a key, and keeps what came of it."""

    def __init__(self, said: Mapping[str, Any], at: str, act: str, **named: Any) -> None:
        self.said, self.at, self.act, self.named = said, at, act, named
        self.control, self.told = rebut.Control(), list[str]()

    async def complete(self, request: rebut.Request) -> rebut.Reply:
        if request.key == self.at:
            words = [request.key] if self.act == "leave" else []
            self.told.append(getattr(self.control, self.act)(*words))
        return rebut.Reply(json.dumps(self.said[request.key]), "m", "f", rebut.Usage(1, 1), 0.0)

    def duel(self, workspace: Path) -> rebut.Outcome:
        seats = {"proposer": "fake:a", "challenger": "fake:b", "judge": "fake:c"}
        named = {"backends": {"fake": self}, "control": self.control, "workspace": workspace, **seats, **self.named}
        return rebut.run("duel", "Redis?", **named)


@pytest.mark.parametrize(
    ("at", "act", "named", "why"),
    [
        ("r1/opening@proposer", "more", {"rounds": 5}, "duel has at most 5 rounds"),
        ("r1/opening@proposer", "more", {"rounds": 2, "limits": {"calls": 2}}, "the limit of 2 calls leaves no room"),
        ("verdict@judge", "more", {"rounds": 1}, "the rounds are over; this is the closing"),
        ("verdict@judge", "settle", {"rounds": 1}, "the rounds are over; this is the closing"),
        (
            "r1/opening@proposer",
            "leave",
            {"rounds": 1},
            "no other seat has answered this step yet, so proposer cannot be skipped",
        ),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(
    workspace: Path, at: str, act: str, named: dict[str, Any], why: str
) -> None:
    # C4 C14
    watching = Watching(duels.answers(5), at, act, **named)
    outcome = watching.duel(workspace)
    assert len(watching.told) == 1 and watching.told[0].startswith(why)
    assert not any(_decides(line.event) for line in sessions.load(sessions.home() / outcome.session).lines)


def test_a_repository_that_permits_fewer_rounds_permits_no_more_by_hand(workspace: Path) -> None:
    # C16
    (workspace / "rebut.toml").write_text("[limits]\nrounds = 2\n")
    watching = Watching(duels.answers(3), "r1/opening@proposer", "more", rounds=2)
    watching.duel(workspace)
    assert watching.told == ["this repository permits at most 2 rounds"]


def test_without_a_debate_there_is_nothing_to_steer() -> None:
    # C14
    control = rebut.Control()
    assert [control.settle(), control.more(), control.skip("r1/opening@proposer")] == [NO_DEBATE] * 3


def test_settled_in_the_last_round_leaves_nothing_out_and_says_so(workspace: Path) -> None:
    # C6
    outcome = Watching(duels.answers(2), "r2/defense@proposer", "settle", rounds=2).duel(workspace)
    assert (outcome.heading, outcome.conclusive, outcome.stopped) == ("VERDICT", True, "")
    assert "the user ended the rounds in round 2, which was the last one, so nothing was skipped" in outcome.notes


def test_who_was_left_behind_is_asked_again_only_when_told_to(quick: Path) -> None:
    # C3
    case = CASES["one of two is left behind"]
    one = job(case, quick / "left")
    play([one], **FIRST)
    fact = next(line.seq for line in record(one).lines if _decides(line.event))
    dead = job(case, quick / "dead", die_after_event=fact)
    play([dead], **FIRST)
    told = replace(resumed(dead), ask_left=True, decide={})
    [end] = play([told], **SECOND)
    assert end.outcome["heading"] != "ONE ANSWER" and end.outcome["kind"] == "verdict"
    assert [key for key, _, _ in crashing.calls(Path(dead.folder))].count(case.at) == 2


@pytest.mark.parametrize("again", [True, False])
def test_a_fork_that_dies_as_soon_as_it_can_go_on_knows_all_that_it_was_told(workspace: Path, again: bool) -> None:
    # C3 C13
    watching = Watching(duels.answers(3), "r1/opening@proposer", "settle", rounds=3)
    first = watching.duel(workspace)
    outside: dict[str, Any] = {"backends": {"fake": watching}, "workspace": workspace}
    asyncio.run(rebut.fork(first.session, again=again, **outside))
    voices.crash_at(voices.is_("fact", "keys"))
    watching.at = ""
    outcome = asyncio.run(rebut.resume(voices.folder().name, **outside))
    assert outcome.heading == "VERDICT AFTER 1 OF 3 ROUNDS", "what was decided still holds"
    assert outcome.spent.calls == (3 if again else 0)


def test_a_fork_counts_on_the_rounds_that_were_decided(workspace: Path) -> None:
    # C4 C13
    first = Watching(duels.answers(3), "r1/opening@proposer", "settle", rounds=3).duel(workspace)
    outside: dict[str, Any] = {"backends": {"fake": _Mute()}, "workspace": workspace}
    counted = asyncio.run(rebut.api.fork_plan(first.session, judge="fake:d", **outside))
    assert counted == (2, 1), "the verdict alone is asked anew, for no further round is held"


def test_whoever_draws_looks_on_while_calls_begin(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # C14: the screen asks from a thread of its own; that a call begins right then must not end its drawing

    control, found = rebut.Control(), list[str]()

    def median(data: list[float]) -> float:
        control.flying[f"one more {len(control.flying)}@seat"] = 0.0
        return min(data)

    async def look(request: rebut.Request) -> rebut.Reply:
        if request.key == "answer@challenger":
            assert control.steering is not None
            while not control.steering.slow_calls():  # noqa: ASYNC110  until its sibling has answered
                await asyncio.sleep(0)
            monkeypatch.setattr(steering, "median", median)
            found.extend(one.key for one in control.steering.slow_calls())
            monkeypatch.undo()
        value = test_ask.said(same=False)[request.key]
        return rebut.Reply(json.dumps(value), "m", "f", rebut.Usage(1, 1), 0.0)

    seats = {"proposer": "fake:a", "challenger": "fake:b", "judge": "fake:c"}
    rebut.run("ask", "Redis?", control=control, backends={"fake": voices.Voice(look)}, workspace=workspace, **seats)
    assert found == ["answer@challenger"]


def test_what_a_review_leaves_out_is_counted_with_the_rounds_that_were_added(quick: Path) -> None:
    # C6
    case = replace(CASES["a review is settled"], rounds=1)
    one = replace(job(case, quick / "one"), decide={"r1/critique@critic": "more", "r1/judgement@judge": "settle"})
    [result] = play([one], **FIRST)
    assert result.outcome["heading"] == "COMPROMISE AFTER 1 OF 2 ROUNDS"
    assert "1 of 2 rounds" in json.dumps(result.outcome["worth"])


# calls that could change nothing


def test_a_duel_in_which_nothing_is_open_holds_no_further_round(workspace: Path) -> None:
    # D1 C6
    said = duels.answers(4)
    said["r2/defense@proposer"] = duels.defense(2, {"D1": "concede", "D2": "concede"})
    said["r2/follow-up@challenger"] = duels.follow_up(2, {"D1": "resolved", "D2": "resolved"})
    watching = Watching(said, "", "", rounds=4)
    outcome = watching.duel(workspace)
    assert outcome.heading == "VERDICT, NOTHING LEFT OPEN AFTER 2 OF 4 ROUNDS" and outcome.conclusive
    keys = sessions.load(sessions.home() / outcome.session).calls
    assert "verdict@judge" in keys and not [key for key in keys if key.startswith("r3/")]
    assert any("no point was open after round 2 of 4" in note for note in outcome.notes)


def test_a_rebuttal_that_nobody_would_read_is_not_asked_for(quick: Path) -> None:
    # J10
    manual = crosses.judgement("E", {"F1": "valid P1"})
    said = {"r1/critique@critic": REVIEW["r1/critique@critic"], "r1/judgement@judge": manual}
    said["r1/decision@decider"] = {"choice": "D"}
    case = Case("cross", said, {**CROSS, "decider": "three"}, 1, "", "", "")
    one = replace(job(case, quick / "one"), settings={"rounds": 1, "mode": "manual"})
    [result] = play([one], **FIRST)
    keys = [key for key, _, _ in crashing.calls(Path(one.folder))]
    assert keys == ["r1/critique@critic", "r1/judgement@judge", "r1/decision@decider"], result
    assert any("no model would read a rebuttal" in note for note in result.outcome["notes"])
