"""Judges: which side they read first is drawn, one whose choice follows the order has no vote, several vote."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duels
import pytest
from test_ask import chosen, compared, said

import rebut
from rebut.core.types import Request
from rebut.record import sessions
from rebut.reports import adr, export, terminal
from tests.voices import Voice


def debaters(answers: dict[str, Any]) -> dict[str, Voice]:
    return {name: Voice({key: json.dumps(value) for key, value in answers.items()}, name) for name in ("pro", "con")}


def of_duel(winner: str) -> dict[str, Any]:
    return duels.verdict() | {"winner": winner, "reasoning": f"By D1, the {winner} is right."}


def quoted(prompt: str) -> list[str]:
    """What a judge reads, in its order, by the labels of the quotes."""
    return re.findall(r"«begin (.+?) [0-9a-f]{16}»", prompt)


def first_read(request: Request) -> str:
    """The side that a prompt shows first."""
    labels = [label for label in quoted(request.prompt) if re.search(r"proposer|challenger|answer \d", label)]
    found = re.search(r"proposer|challenger|answer \d", labels[0])
    assert found
    return found[0]


def duel(*judges: Voice, **named: Any) -> rebut.Outcome:
    answers = {
        "r1/opening@proposer": duels.opening(),
        "r1/challenge@challenger": duels.challenge(),
    }
    names = ("one", "two", "three")[: len(judges)]
    backends = {**debaters(answers), **dict(zip(names, judges, strict=True))}
    seats: dict[str, Any] = {"proposer": "pro", "challenger": "con", "judge": list(names)}
    return rebut.run("duel", duels.TOPIC, rounds=1, judges=len(judges), **seats, backends=backends, **named)


def ask(*judges: Voice, **named: Any) -> rebut.Outcome:
    names = ("one", "two", "three")[: len(judges)]
    backends = {**debaters(said(same=False)), **dict(zip(names, judges, strict=True))}
    seats: dict[str, Any] = {"proposer": "pro", "challenger": "con", "judge": list(names)}
    return rebut.run("ask", "Redis or cookies?", judges=len(judges), **seats, backends=backends, **named)


def choosing(pick: Callable[[Request], str], name: str = "judge") -> Voice:
    """A judge of a duel or of a question."""

    def reply(request: Request) -> str:
        if request.key.startswith("comparison"):
            return json.dumps(compared(same=False))
        winner = pick(request)
        made = chosen(int(winner[-1])) if winner.startswith("answer") else of_duel(winner)
        return json.dumps(made)

    return Voice(reply, name)


@pytest.mark.parametrize("debate", [duel, ask])
def test_which_side_stands_first_is_drawn_for_each_session(debate: Any, workspace: Path) -> None:
    seen = set()
    for _ in range(24):  # one of 8 million times all are alike
        judge = choosing(first_read)
        outcome = debate(judge)
        verdict = next(one for one in judge.asked if one.key.startswith("verdict"))
        seen.add(first_read(verdict))
        folder = sessions.home() / outcome.session
        assert sessions.load(folder).calls["verdict@judge"].asked[1].prompt
        if len(seen) == 2:
            break
    assert len(seen) == 2


@pytest.mark.parametrize("debate", [duel, ask])
def test_a_judge_that_takes_the_first_side_decides_nothing_when_asked_in_both_orders(
    debate: Any, workspace: Path
) -> None:
    outcome = debate(choosing(first_read), both_orders=True)
    assert outcome.heading == "NO VERDICT, INCONCLUSIVE BECAUSE THE VERDICT CHANGES WITH THE ORDER OF THE SIDES"
    assert (outcome.exit_code, outcome.conclusive, bool(outcome.verdict)) == (3, False, False)
    [vote] = outcome.votes
    assert (vote.winner, vote.flipped) == ("", "first") and vote.other_order
    shown = terminal.ending(outcome, width=100)
    assert "chooses the side that it reads first, so it has no vote" in " ".join(shown.split())
    assert "Ended early" not in shown


def test_a_judge_that_takes_the_number_1_decides_nothing_either(workspace: Path) -> None:
    outcome = ask(choosing(lambda request: "answer 1"), both_orders=True)
    assert not outcome.conclusive and [doubt.kind for doubt in outcome.doubts] == ["order decides"]


def test_a_judge_that_looks_at_the_case_keeps_its_verdict_in_both_orders(workspace: Path) -> None:
    def cookies(request: Request) -> str:
        found = re.search(r"«begin (answer \d) [0-9a-f]{16}»\n[^«]*Sign cookies", request.prompt)
        assert found
        return found[1]

    judge = choosing(cookies)
    outcome = ask(judge, both_orders=True)
    assert outcome.verdict and outcome.verdict.winner == "answer 2" and outcome.conclusive
    asked = [one for one in judge.asked if one.key.startswith("verdict")]
    assert [one.key for one in asked] == ["verdict@judge", "verdict.other-order@judge"]
    assert {first_read(one) for one in asked} == {"answer 1"} or first_read(asked[0]) == first_read(asked[1])
    assert ("votes", "1 of 1 judge for answer 2, each asked in both orders") in outcome.rows
    kept = duel(choosing(lambda request: "challenger"), both_orders=True)
    assert kept.verdict and kept.verdict.winner == "challenger" and kept.conclusive


def test_a_person_who_prefers_one_answer_keeps_the_verdict_in_both_orders(workspace: Path) -> None:
    def cookies(request: Request) -> str:
        ballot = request.material.for_person()
        assert ballot
        return next(line[:8] for line in ballot.case if line.startswith("answer ") and "ookies" in line)

    outcome = ask(choosing(cookies), both_orders=True)
    assert outcome.verdict and outcome.verdict.winner == "answer 2" and outcome.conclusive, outcome.rows


def test_three_judges_decide_by_majority_and_the_dissent_is_in_every_output(workspace: Path) -> None:
    judges = [choosing(lambda r, side=side: side, f"model-{side}") for side in ("challenger", "proposer", "challenger")]
    outcome = duel(*judges)
    verdict = outcome.verdict
    assert verdict and verdict.winner == "challenger" and outcome.conclusive
    [dissent] = verdict.dissent
    assert (dissent.judge, dissent.by, dissent.winner) == ("judge.2", "model-proposer", "proposer")
    assert len(verdict.votes) == 3
    record = sessions.load(sessions.home() / outcome.session)
    reasons = "By D1, the proposer is right."
    assert outcome.decision_notes and reasons in str(outcome.decision_notes.dissent)
    for text in (
        terminal.ending(outcome, width=200),
        outcome.final,
        export.markdown(record),
        adr.adr(record),
        json.dumps(outcome.to_json()),
    ):
        assert reasons in text
    again = rebut.Outcome.from_json(outcome.to_json())
    assert again.verdict == verdict and again.votes == outcome.votes


@pytest.mark.parametrize(("side", "doubted"), [("challenger", True), ("proposer", False)])
def test_what_any_of_several_judges_says_about_the_record_is_checked(side: str, doubted: bool, workspace: Path) -> None:
    def misreads(request: Request) -> str:
        return json.dumps(of_duel(side) | {"reasoning": f"D1 was conceded, so the {side} is right."})

    plain = choosing(lambda request: "challenger", "plain")
    wrong = Voice(misreads, "wrong")
    outcome = duel(plain, wrong, choosing(lambda request: "challenger", "third"))
    assert outcome.verdict and outcome.verdict.winner == "challenger"
    said_of_it = "the reasons say that D1 was conceded"
    assert len(wrong.asked) == 2, "it is sent back once"
    assert ("A JUDGE MISREADS THE RECORD" in outcome.heading) == doubted
    marked = [doubt.said for doubt in outcome.doubts if doubt.kind == "misread record"] if doubted else outcome.notes
    assert any("judge.2" in one and said_of_it in one for one in marked), (outcome.doubts, outcome.notes)


def test_what_a_judge_says_in_the_other_order_is_checked_too(workspace: Path) -> None:
    def misreads(request: Request) -> str:
        reasons = "D1 was conceded." if "other-order" in request.key else "By D1, the challenger is right."
        return json.dumps(of_duel("challenger") | {"reasoning": reasons})

    outcome = duel(Voice(misreads, "judge"), both_orders=True)
    assert [doubt.kind for doubt in outcome.doubts if "conceded" in doubt.said] == ["misread record"]


def test_an_answer_that_several_judges_prefer_says_how_many_and_which_has_a_part_in_it(workspace: Path) -> None:
    third, other = choosing(lambda request: "answer 2", "third"), choosing(lambda request: "answer 1", "other")

    def debates(request: Request) -> str:
        return str(third.says(request)) if "judge" in request.key else json.dumps(said(same=False)[request.key])

    con = Voice(debates, "con")
    backends = {**debaters(said(same=False)), "con": con, "one": other, "two": third}
    seats: dict[str, Any] = {"proposer": "pro", "challenger": "con", "judge": ["one", "two", "con"]}
    outcome = rebut.run("ask", "Redis or cookies?", judges=3, **seats, backends=backends)
    shown = " ".join(terminal.ending(outcome, width=200).split())
    assert "after 1 round of debate, by 2 of 3 judges; judge.3, which also gave answer 2." in shown


def test_two_judges_that_differ_decide_nothing(workspace: Path) -> None:
    outcome = ask(choosing(lambda request: "answer 1", "a"), choosing(lambda request: "answer 2", "b"))
    assert outcome.heading == "NO VERDICT, NO MAJORITY OF THE JUDGES" and outcome.exit_code == 3
    assert [vote.winner for vote in outcome.votes] == ["answer 1", "answer 2"]


def test_a_judge_that_fails_has_no_vote_and_the_others_may_still_be_a_majority(workspace: Path) -> None:
    silent = Voice(RuntimeError("gone"), "silent")
    agreed = duel(choosing(lambda r: "proposer", "a"), silent, choosing(lambda r: "proposer", "c"))
    assert agreed.verdict and agreed.verdict.winner == "proposer"
    assert any(label == "no vote" and "judge.2" in text for label, text in agreed.rows)
    split = duel(choosing(lambda r: "proposer", "a"), silent, choosing(lambda r: "challenger", "c"))
    assert not split.verdict and split.heading.startswith("NO VERDICT, NO MAJORITY")


@pytest.mark.parametrize("debate", [duel, ask])
def test_too_few_judges_are_named_and_the_one_that_answered_is_not_blamed(debate: Any, workspace: Path) -> None:
    def silent(request: Request) -> str:
        if request.key.startswith("comparison"):
            return json.dumps(compared(same=False))
        raise RuntimeError("gone")

    picks = "answer 1" if debate is ask else "proposer"
    with pytest.raises(rebut.Aborted) as error:
        debate(choosing(lambda r: picks, "a"), Voice(silent, "b"), Voice(silent, "c"))
    assert error.value.message.startswith("too few judges gave a verdict: 1 of 3 answered, 2 needed. judge.2 (")
    assert "judge.1" not in error.value.message and "--seat judge.N=SPEC" in error.value.hint


def test_the_same_answer_is_a_majority_of_comparisons(workspace: Path) -> None:
    def comparing(same: bool) -> Voice:
        return Voice(lambda r: json.dumps(compared(same) if r.key.startswith("comp") else chosen(1)), "j")

    assert ask(comparing(True), comparing(True), comparing(False)).kind == "uncontested"
    assert ask(comparing(True), comparing(False), comparing(False)).kind == "verdict"


def test_a_fork_names_one_of_several_judges(workspace: Path) -> None:
    outcome = duel(*(choosing(lambda r: "proposer", name) for name in "abc"))
    with pytest.raises(rebut.UsageError, match="more than one judge") as error:
        asyncio.run(rebut.fork(outcome.session, judge="scripted:other.json"))
    assert "--seat judge.1=SPEC" in error.value.hint
    with pytest.raises(rebut.UsageError, match="keeps its number of judges: the session has 3, not 5"):
        asyncio.run(rebut.fork(outcome.session, judges=5))


def test_a_fork_with_another_model_for_one_default_judge_keeps_the_others(workspace: Path) -> None:
    said = {"r1/opening@proposer": duels.opening(), "r1/challenge@challenger": duels.challenge()}

    def reply(request: Request) -> str:
        return json.dumps(said.get(request.key) or of_duel("challenger"))

    voices = {name: Voice(reply, name) for name in ("pro", "con", "new")}
    first = rebut.run("duel", duels.TOPIC, rounds=1, judges=3, proposer="pro", challenger="con", backends=voices)
    other: dict[str, Any] = {"judge.2": "new"}
    outcome = asyncio.run(rebut.fork(first.session, backends=voices, **other))
    assert [(vote.judge, vote.by) for vote in outcome.votes] == [
        ("judge.1", "pro"),
        ("judge.2", "new"),
        ("judge.3", "pro"),
    ]
    assert len([note for note in outcome.notes if "not independent" in note]) == 2


def test_judges_that_did_not_answer_are_no_judges_who_follow_the_order(workspace: Path) -> None:
    def half(request: Request) -> str:
        if "other-order" in request.key:
            raise RuntimeError("gone")
        return json.dumps(of_duel("proposer"))

    outcome = duel(choosing(first_read, "a"), Voice(half, "b"), Voice(half, "c"), both_orders=True)
    assert outcome.heading == "NO VERDICT, NO MAJORITY OF THE JUDGES"
    assert [doubt.kind for doubt in outcome.doubts] == ["no majority"]
