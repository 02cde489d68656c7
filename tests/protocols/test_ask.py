"""Asking: blind answers side by side, never called a consensus, and a duel from those answers where they differ."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import duels
import pytest

import rebut
from rebut.record import sessions
from rebut.reports.terminal import worth_sentences
from tests.voices import time_is_up

TOPIC = "Should the shop keep user sessions in Redis?"


def compared(same: bool) -> dict[str, Any]:
    return {
        "first": "Keep Redis.",
        "second": "Keep Redis." if same else "Sign cookies.",
        "same": same,
        "reason": "they would do the same" if same else "one keeps the store, the other drops it",
        "recommendation": "Keep Redis." if same else "",
    }


def said(same: bool, **changes: Any) -> dict[str, Any]:
    rival = duels.opening(position="Sign cookies.", claims=[{"text": "No store, no failover.", "evidence": []}])
    return {
        "answer@proposer": duels.opening(),
        "answer@challenger": duels.opening() if same else rival,
        "comparison@judge": compared(same),
        "r1/challenge@challenger": duels.challenge(unsupported=["C2"]),
        "verdict@judge": duels.verdict(),
    } | changes


def ask(folder: Path, answers: dict[str, Any], **named: Any) -> rebut.Outcome:
    roles = ("proposer", "challenger", "judge")
    specs = {role: duels.script(folder / f"{role}.json", answers, model=role) for role in roles}
    return rebut.run("ask", TOPIC, **specs, **named)


def prompts(outcome: rebut.Outcome) -> dict[str, str]:
    record = sessions.load(sessions.home() / outcome.session)
    return {key: call.asked[1].prompt for key, call in record.calls.items()}


def test_the_same_choice_twice_is_uncontested_and_no_debate_is_paid_for(tmp_path: Path, workspace: Path) -> None:
    # C6
    outcome = ask(tmp_path, said(same=True))
    assert (outcome.kind, outcome.heading, outcome.exit_code) == ("uncontested", "UNCONTESTED", 0)
    assert "consensus" not in outcome.heading.lower() and outcome.verdict is None
    assert outcome.decision == "Keep Redis." and outcome.spent.calls == 3
    assert outcome.final.count("Use Redis for user sessions.") == 2, "both answers with their reasons"
    worth = outcome.worth
    assert worth and worth.nothing and worth.first == "both chose “Keep Redis.”"
    assert (worth.alone.calls, worth.debate.calls) == (2, 1), "the comparison is all that was paid for on top"
    assert worth_sentences(worth)[1].startswith("changed nothing: 1 call, 150 tokens, ")


def test_different_choices_lead_to_a_duel_that_starts_from_them(tmp_path: Path, workspace: Path) -> None:
    # C6
    outcome = ask(tmp_path, said(same=False))
    assert outcome.heading == "VERDICT" and outcome.verdict and outcome.verdict.winner == "challenger"
    asked = prompts(outcome)
    assert list(asked) == [
        "answer@proposer",
        "answer@challenger",
        "comparison@judge",
        "r1/challenge@challenger",
        "verdict@judge",
    ], "the opening is not asked for twice"
    assert "Use Redis for user sessions." in asked["r1/challenge@challenger"]
    assert "Sign cookies." in asked["r1/challenge@challenger"], "the challenger is shown its own answer"
    assert asked["answer@proposer"] == asked["answer@challenger"], "blind: nobody sees anything of the other"
    worth = outcome.worth
    assert worth and worth.first == "one said “Keep Redis.”, the other “Sign cookies.”"
    assert (worth.changed, worth.points) == (("judged for the other",), (("open", 2),))
    assert (worth.alone.calls, worth.debate.calls) == (2, 3)


def test_further_rounds_go_on_as_a_duel_does(tmp_path: Path, workspace: Path) -> None:
    answers = duels.answers(2) | said(same=False)
    outcome = ask(tmp_path, answers, rounds=2)
    assert outcome.heading == "VERDICT" and outcome.spent.calls == 7


@pytest.mark.parametrize("lost", ["proposer", "challenger"])
def test_one_answer_alone_is_called_that_and_is_inconclusive(tmp_path: Path, workspace: Path, lost: str) -> None:
    # C5, C6
    failing = {f"answer@{lost}": {"fail": "auth", "message": "log in first"}}
    outcome = ask(tmp_path, said(same=True, **failing))
    assert (outcome.heading, outcome.exit_code) == ("ONE ANSWER", 3)
    assert f"the {lost}" in outcome.stopped and "log in first" not in outcome.decision
    assert outcome.spent.calls <= 2, "nothing is compared"


def test_nobody_answering_aborts_and_can_be_resumed(tmp_path: Path, workspace: Path) -> None:
    # C3, C5
    failing = {
        f"answer@{role}": [{"fail": "auth", "message": "no"}, duels.opening()] for role in ("proposer", "challenger")
    }
    with pytest.raises(rebut.Aborted, match="no model answered"):
        ask(tmp_path, said(same=True, **failing))
    [found] = sessions.sessions(sessions.home())
    assert asyncio.run(rebut.resume(found.id)).heading == "UNCONTESTED"


def test_a_judge_that_cannot_compare_leaves_both_answers_for_resume(tmp_path: Path, workspace: Path) -> None:
    # C3
    failing = {"comparison@judge": [{"fail": "rate limit", "message": "later"}, compared(True)]}
    with pytest.raises(rebut.Aborted, match="did not compare"):
        ask(tmp_path, said(same=True, **failing))
    [found] = sessions.sessions(sessions.home())
    outcome = asyncio.run(rebut.resume(found.id))
    assert outcome.heading == "UNCONTESTED" and outcome.spent.calls == 4


def test_at_a_deadline_the_blind_answers_are_the_result(tmp_path: Path, workspace: Path) -> None:
    # C17
    outcome = ask(
        tmp_path, said(same=False, **{"comparison@judge": {"hang": True}}), **time_is_up("asked", "comparison@judge")
    )
    assert (outcome.complete, outcome.basis, outcome.exit_code) == (False, "round 0", 5)
    assert outcome.heading == "NO VERDICT YET, 2 OF 2 ANSWERS" and outcome.decision == (
        "Undecided: Use Redis for user sessions.; or: Sign cookies."
    ), "one of two answers that were not compared is no decision"


def test_a_deadline_before_the_verdict_counts_the_rounds_of_the_duel_alone(tmp_path: Path, workspace: Path) -> None:
    # C6 C17
    outcome = ask(
        tmp_path, said(same=False, **{"verdict@judge": {"hang": True}}), **time_is_up("asked", "verdict@judge")
    )
    assert outcome.heading == "NO VERDICT YET, 1 OF 1 ROUNDS" and outcome.basis == "round 1"
    assert "**Rounds**: 1  \n" in outcome.final, "a blind answer of the challenger's is no round"


def test_a_verdict_that_cannot_be_afforded_counts_the_rounds_of_the_duel_alone(tmp_path: Path, workspace: Path) -> None:
    # C6 D7
    long = duels.challenge(unsupported=["C2"], alternatives=["Redis it is. " * 9000])
    outcome = ask(tmp_path, said(same=False, **{"r1/challenge@challenger": long}), limits={"tokens": 40_000})
    assert outcome.heading == "NO VERDICT" and "**Rounds**: 1  \n" in outcome.final
