"""Asking: blind answers side by side, never called a consensus; where they differ, both are challenged and defended."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import duels
import pytest

import rebut
from rebut.record import sessions
from rebut.reports.worth import sentences
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
    """Answers for all rules: those of this version, and those under which the first answer alone is challenged."""
    rival = duels.opening(position="Sign cookies.", claims=[{"text": "No store, no failover.", "evidence": []}])
    return {
        "answer@proposer": duels.opening(),
        "answer@challenger": duels.opening() if same else rival,
        "comparison@judge": compared(same),
        "r1/challenge@proposer": against_cookies(),
        "r1/challenge@challenger": duels.challenge(unsupported=["C2"]),
        "r1/defense@proposer": duels.defense(1, {"D2": "concede", "D3": "rebut"}),
        "r1/defense@challenger": duels.defense(1, {"D1": "rebut"}) | {"position": "Sign cookies, as of round 1."},
        "verdict@judge": chosen(2),
    } | changes


def against_cookies(**changes: Any) -> dict[str, Any]:
    flaw = duels.flaw("A cookie cannot be revoked.", 3, about="C3", category="security")
    return duels.challenge(flaws=[flaw], unsupported=["C3"], alternatives=["Keep Redis."]) | changes


def chosen(number: int, **changes: Any) -> dict[str, Any]:
    return duels.verdict(better=f"answer {number}", answer="Sign cookies, and drop the store.") | changes


def ask(folder: Path, answers: dict[str, Any], **named: Any) -> rebut.Outcome:
    roles = ("proposer", "challenger", "judge")
    specs = {role: duels.script(folder / f"{role}.json", answers, model=role) for role in roles}
    return rebut.run("ask", TOPIC, **specs, **named)


def prompts(outcome: rebut.Outcome) -> dict[str, str]:
    record = sessions.load(sessions.home() / outcome.session)
    return {key: call.asked[1].prompt for key, call in record.calls.items()}


def test_the_same_choice_twice_is_called_agreement_and_no_debate_is_paid_for(tmp_path: Path, workspace: Path) -> None:
    # C6
    outcome = ask(tmp_path, said(same=True))
    assert (outcome.kind, outcome.heading, outcome.exit_code) == ("uncontested", "BOTH AGREE: Keep Redis", 0)
    assert "consensus" not in outcome.heading.lower() and not outcome.verdict
    assert outcome.decision == "Keep Redis." and outcome.spent.calls == 3
    assert outcome.final.count("Use Redis for user sessions.") == 2, "both answers with their reasons"
    worth = outcome.worth
    assert worth and worth.nothing and worth.first == "both chose “Keep Redis.”"
    assert (worth.alone.calls, worth.debate.calls) == (2, 1), "the comparison is all that was paid for on top"
    assert sentences(worth)[1].startswith("changed nothing: 1 call, 150 tokens, ")


def test_one_model_that_agrees_with_itself_is_called_that(tmp_path: Path, workspace: Path) -> None:  # C2 C6
    spec = duels.script(tmp_path / "one.json", said(same=True), model="one")
    judge = duels.script(tmp_path / "judge.json", said(same=True), model="judge")
    outcome = rebut.run("ask", TOPIC, proposer=spec, challenger=spec, judge=judge, allow_same_model=True)
    assert outcome.heading == "BOTH AGREE, ONE MODEL ALONE: Keep Redis"


def test_two_answers_that_differ_are_both_challenged_and_both_defended(tmp_path: Path, workspace: Path) -> None:
    # C6
    outcome = ask(tmp_path, said(same=False))
    assert (outcome.heading, outcome.conclusive) == ("VERDICT", True)
    assert outcome.decision == "Sign cookies, and drop the store."
    assert outcome.verdict and outcome.verdict.winner == "answer 2", "an answer, never a role"
    asked = prompts(outcome)
    assert list(asked) == [
        "answer@proposer",
        "answer@challenger",
        "comparison@judge",
        "r1/challenge@proposer",
        "r1/challenge@challenger",
        "r1/defense@proposer",
        "r1/defense@challenger",
        "verdict@judge",
    ]
    assert asked["answer@proposer"] == asked["answer@challenger"], "blind: nobody sees anything of the other"
    one, two = asked["r1/challenge@proposer"], asked["r1/challenge@challenger"]
    assert _quotes(one)["the other answer"].startswith("Sign cookies.")
    assert _quotes(one)["your own answer"].startswith("Use Redis for user sessions.")
    assert _quotes(two)["the other answer"] == _quotes(one)["your own answer"]
    assert _quotes(two)["your own answer"] == _quotes(one)["the other answer"]
    apart = [re.sub(r"«begin .*?«end [^»]*»", "", text, flags=re.S) for text in (one, two)]
    assert apart[0] == apart[1], "neither is told anything that the other is not"
    worth = outcome.worth
    assert worth and worth.first == "one said “Keep Redis.”, the other “Sign cookies.”"
    assert worth.changed == ("judged for answer 2", "answer 1: position moved after D2")
    assert (worth.alone.calls, worth.debate.calls) == (2, 6)


def _quotes(prompt: str) -> dict[str, str]:
    return dict(re.findall(r"«begin (.+?) [0-9a-f]{16}»\n(.*?)\n«end ", prompt, flags=re.S))


def test_the_judge_is_told_neither_seats_nor_models(tmp_path: Path, workspace: Path) -> None:
    prompt = prompts(ask(tmp_path, said(same=False)))["verdict@judge"]
    assert not re.search(r"proposer|challenger", prompt, re.I)
    titles = list(_quotes(prompt))[1:-1]
    first, second = sorted(("answer 1", "answer 2"), reverse=titles[0] == "answer 2")  # which is first is drawn
    assert titles == [
        first,
        second,
        f"round 1, challenge of {first}",
        f"round 1, challenge of {second}",
        f"round 1, defense of {first}",
        f"round 1, defense of {second}",
    ]
    points = _quotes(prompt)["the points at issue"]
    assert "D1 (P1, about answer 2; defended)" in points
    assert "D2 (P1, about answer 1; conceded)" in points


def test_points_of_two_answers_never_become_one(tmp_path: Path, workspace: Path) -> None:  # C10
    same_words = duels.flaw("It is slow.", about="")
    answers = said(
        same=False,
        **{
            "r1/challenge@proposer": against_cookies(flaws=[same_words]),
            "r1/challenge@challenger": duels.challenge(flaws=[same_words | {"same_as": "D1"}], unsupported=["C2"]),
            "r1/defense@proposer": duels.defense(1, {"D2": "rebut", "D1": "concede"}),
            "r1/defense@challenger": duels.defense(1, {"D1": "rebut"}),
        },
    )
    outcome = ask(tmp_path, answers)
    points = {p.id: (p.about, p.by, outcome.ledger.status(p.id)) for p in outcome.ledger.points}
    assert points == {
        "D1": ("answer 2", "proposer", "defended"),
        "D2": ("answer 1", "challenger", "defended"),
    }, "the author of answer 1 cannot concede a point against answer 2"
    answers_shown = outcome.answers
    assert answers_shown and [one.points for one in answers_shown.answers] == [("D2",), ("D1",)]


@pytest.mark.parametrize(
    ("lost", "heading"),
    [
        ("r1/challenge@proposer", "VERDICT, ANSWER 2 WAS NOT CHALLENGED"),
        ("r1/challenge@challenger", "VERDICT, ANSWER 1 WAS NOT CHALLENGED"),
        ("r1/defense@proposer", "VERDICT, ANSWER 1 WAS NOT DEFENDED"),
    ],
)
def test_what_was_done_to_one_answer_alone_is_in_the_heading(
    tmp_path: Path, workspace: Path, lost: str, heading: str
) -> None:  # C5 C6
    outcome = ask(tmp_path, said(same=False, **{lost: {"fail": "auth", "message": "log in first"}}))
    assert (outcome.heading, outcome.conclusive, outcome.exit_code) == (heading, False, 3)
    assert outcome.answers and len(outcome.answers.unequal) == 1 and "log in first" in outcome.answers.unequal[0]
    asked = list(prompts(outcome))
    assert asked[-1] == "verdict@judge"
    if lost == "r1/challenge@proposer":
        assert "r1/defense@challenger" not in asked, "there is nothing to defend"


def test_an_answer_against_which_nothing_was_raised_is_no_contest(tmp_path: Path, workspace: Path) -> None:  # C6
    outcome = ask(tmp_path, said(same=False, **{"r1/challenge@proposer": against_cookies(flaws=[])}))
    assert outcome.heading == "VERDICT, NOTHING WAS RAISED AGAINST ANSWER 2" and not outcome.conclusive


def test_two_challenges_that_fail_leave_two_answers_and_no_verdict(tmp_path: Path, workspace: Path) -> None:  # C5 C6
    failed = {f"r1/challenge@{role}": {"fail": "auth", "message": "no"} for role in ("proposer", "challenger")}
    outcome = ask(tmp_path, said(same=False, **failed))
    assert (outcome.heading, outcome.exit_code) == ("NO VERDICT, THE ANSWERS DIFFER", 3)
    assert not outcome.decision and not outcome.verdict


def test_further_rounds_are_held_for_both_and_a_later_one_counts_if_it_is_whole(
    tmp_path: Path, workspace: Path
) -> None:
    new = [duels.flaw("Cookies grow.", 4, about="")]
    second = {
        "r2/follow-up@proposer": duels.follow_up(2, {"D1": "unresolved"}, new),
        "r2/follow-up@challenger": duels.follow_up(2, {"D3": "resolved"}),
        "r2/defense@challenger": duels.defense(2, {"D1": "rebut", "D4": "rebut"}),
    }
    outcome = ask(tmp_path, said(same=False) | second, rounds=2)
    assert (outcome.heading, outcome.spent.calls) == ("VERDICT", 11), "answer 1 has no open point to defend"
    assert outcome.answers and outcome.answers.rounds == 2
    failing = {"r2/follow-up@challenger": {"fail": "auth", "message": "no"}}
    cut_short = ask(tmp_path, said(same=False) | second | failing, rounds=2)
    assert cut_short.heading == "VERDICT AFTER 1 OF 2 ROUNDS" and not cut_short.conclusive
    assert "Cookies grow." not in prompts(cut_short)["verdict@judge"], "half a round would favour one answer"


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
    assert asyncio.run(rebut.resume(found.id)).heading == "BOTH AGREE: Keep Redis"


def test_a_judge_that_cannot_compare_leaves_both_answers_for_resume(tmp_path: Path, workspace: Path) -> None:
    # C3
    failing = {"comparison@judge": [{"fail": "rate limit", "message": "later"}, compared(True)]}
    with pytest.raises(rebut.Aborted, match="did not compare"):
        ask(tmp_path, said(same=True, **failing))
    [found] = sessions.sessions(sessions.home())
    outcome = asyncio.run(rebut.resume(found.id))
    assert outcome.heading == "BOTH AGREE: Keep Redis" and outcome.spent.calls == 4


def test_at_a_deadline_the_blind_answers_are_the_result(tmp_path: Path, workspace: Path) -> None:
    # C17
    outcome = ask(
        tmp_path, said(same=False, **{"comparison@judge": {"hang": True}}), **time_is_up("asked", "comparison@judge")
    )
    assert (outcome.complete, outcome.basis, outcome.exit_code) == (False, "round 0", 5)
    assert outcome.heading == "NO VERDICT YET, 2 OF 2 ANSWERS" and outcome.decision == (
        "Undecided: Use Redis for user sessions.; or: Sign cookies."
    ), "one of two answers that were not compared is no decision"


def test_a_deadline_before_the_verdict_gives_both_answers_as_they_are(tmp_path: Path, workspace: Path) -> None:
    # C6 C17
    outcome = ask(
        tmp_path, said(same=False, **{"verdict@judge": {"hang": True}}), **time_is_up("asked", "verdict@judge")
    )
    assert outcome.heading == "NO VERDICT YET, 1 OF 1 ROUNDS" and outcome.basis == "round 1"
    assert outcome.decision == "Undecided: Redis with a replica, as of round 1.; or: Sign cookies, as of round 1."


def test_a_verdict_that_cannot_be_afforded_leaves_both_answers(tmp_path: Path, workspace: Path) -> None:
    # C6 D7
    long = duels.challenge(unsupported=["C2"], alternatives=["Redis it is. " * 9000])
    outcome = ask(tmp_path, said(same=False, **{"r1/challenge@challenger": long}), limits={"tokens": 40_000})
    assert outcome.heading == "NO VERDICT" and not outcome.decision
    assert outcome.answers and [one.first for one in outcome.answers.answers] == [
        "Use Redis for user sessions.",
        "Sign cookies.",
    ]


def test_a_session_that_challenged_one_answer_alone_goes_on_by_its_own_rules(
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # C3 C13: version 4 asked for no challenge of the second answer
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rebut.protocols.ask.version", "4")
        old = ask(tmp_path, said(same=False))
    assert old.verdict and old.verdict.winner == "challenger" and old.spent.calls == 5
    fork = asyncio.run(rebut.fork(old.session))
    assert fork.verdict and fork.verdict.winner == "challenger" and fork.spent.calls == 0, "every answer is reused"
    again = asyncio.run(rebut.fork(fork.session))
    assert again.verdict and again.spent.calls == 0, "the fork of a fork, too"
    anew = asyncio.run(rebut.replay(again.session))
    assert anew.verdict and anew.verdict.winner == "challenger"
