"""The controls of a running debate: what the page sees while it is written, steering, and a person's answers."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from rebut.backends.human.decisions import Decisions
from rebut.core.ballot import Ballot, KeyChoice, Listed, Option, Remark, Rulings, Unfilled, answered
from rebut.core.types import Material, ModelSpec, Participant, Reply, Request
from rebut.web.controls import LONGEST, MOST_WAITING, Controls

ACCEPT, REJECT = Option("a", "valid", "accept"), Option("r", "invalid", "reject")
CHOICE = KeyChoice("choice", "", tuple(Option(key, key, words) for key, words in zip("ABCDE", "vwxyz", strict=True)))
FINDINGS = Rulings(
    "findings",
    (Listed("F1", "F1  P1", "wrong", "P1", "valid"), Listed("F2", "F2  P2", "slow", "P2", "invalid")),
    (ACCEPT, REJECT),
    severity="severity",
)
UNRULED = Rulings(
    "findings", (Listed("F1", "F1  P1", "wrong", "P1"), Listed("F2", "F2  P2", "slow", "P2")), (ACCEPT, REJECT)
)
WINNER = KeyChoice("winner", "Who?", (Option("P", "proposer", "the proposer"), Option("C", "challenger", "other")))
DECIDER = Ballot(case=("round 1",), picks=(CHOICE,), rulings=FINDINGS, aside="reason", rest={"confidence": "high"})
JUDGE = Ballot(
    case=("the case",),
    picks=(WINNER,),
    remarks=(
        Remark("recommendation", "What now", {"P": "do it", "C": "leave it"}),
        Remark("reasoning", "Why", {"": "no reason"}),
        Remark("unresolved", "What is open", many=""),
        Remark("risks", "Risks", many="text"),
    ),
)
PANEL = Ballot(case=("x",), picks=(), rulings=UNRULED, remarks=(Remark("summary", "In short"),), remarks_first=True)


def typed(ballot: Ballot, *lines: str) -> dict[str, Any]:
    """The form that a terminal makes of a ballot when a person types these."""
    left = list(lines)

    async def read(*_: str) -> str:
        return left.pop(0)

    decisions = Decisions(ballot, key=read, line=read, write=lambda text: None, everything="all")
    form: dict[str, Any] = asyncio.run(decisions.fill())
    assert left == []
    return form


@pytest.mark.parametrize(
    ("ballot", "lines", "sent"),
    [
        (DECIDER, ["B"], {"picks": {"choice": "B"}}),
        (DECIDER, ["w", "too risky", "E"], {"picks": {"choice": "E"}, "reason": " too risky "}),
        (
            DECIDER,
            ["1", "r", "by design", "A"],
            {"picks": {"choice": "A"}, "rulings": {"F1": {"key": "r", "reason": "by design", "severity": "P1"}}},
        ),
        (
            DECIDER,
            ["2", "e", "3", "", "A"],
            {"picks": {"choice": "A"}, "rulings": {"F2": {"key": "a", "reason": "", "severity": "P3"}}},
        ),
        (
            JUDGE,
            ["P", "", "", "one", "two", "", ""],
            {
                "picks": {"winner": "P"},
                "remarks": {"unresolved": [{"text": "one"}, {"text": " "}, {"text": "two"}], "risks": [{}]},
            },
        ),
        (
            JUDGE,
            ["C", "wait", "it is late", "", "cost", ""],
            {
                "picks": {"winner": "C"},
                "remarks": {"recommendation": "wait", "reasoning": "it is late", "risks": [{"text": "cost"}]},
            },
        ),
        (
            PANEL,
            ["a", "r", "no", "all well"],
            {"rulings": {"F1": {"key": "a"}, "F2": {"key": "r", "reason": "no"}}, "remarks": {"summary": "all well"}},
        ),
    ],
)
def test_the_browser_makes_the_form_that_the_terminal_makes(ballot: Ballot, lines: list[str], sent: Any) -> None:
    assert answered(ballot, sent) == typed(ballot, *lines)


@pytest.mark.parametrize(
    ("ballot", "sent", "missing"),
    [
        (DECIDER, {}, "Choose one: A, B, C, D, E"),
        (DECIDER, {"picks": {"choice": "F"}}, "Choose one"),
        (DECIDER, {"picks": ["A"]}, "Choose one"),
        (DECIDER, {"picks": {"choice": ["A"]}}, "Choose one"),
        (JUDGE, {}, "Choose one: Who?"),
        (PANEL, {"remarks": {"summary": " "}}, "An answer is needed: In short"),
        (PANEL, {"remarks": {"summary": "x"}, "rulings": {"F1": {"key": "a"}}}, "Rule on F2"),
        (PANEL, {"remarks": {"summary": "x"}, "rulings": "none"}, "Rule on F1"),
    ],
)
def test_what_is_missing_is_named(ballot: Ballot, sent: Any, missing: str) -> None:
    with pytest.raises(Unfilled, match=re.escape(missing)):
        answered(ballot, sent)


# a person's turn


def request(schema: Any = None, ballot: Ballot | None = None, key: str = "r1/decision@decider") -> Request:
    who = Participant("decider", ModelSpec("human"))
    return Request(key, who, "The question.", schema=schema, material=Material(ballot=ballot))


def asked(made: Request, *sent: Any) -> tuple[Reply, list[str], list[tuple[str, Any]]]:
    """Ask a person who sends these, one after the other: the reply, what was refused, what the page was told."""

    async def turn() -> tuple[Reply, list[str], list[tuple[str, Any]]]:
        controls = Controls(Steering())
        page = controls.watch()
        waiting = asyncio.create_task(controls.complete(made))
        await asyncio.sleep(0)
        late = controls.watch()  # a page that is opened now sees the question, too
        assert late.taken() == page.taken() != []
        refused = [controls.answer(one) for one in sent]
        reply = await waiting
        return reply, refused, [*page.taken(), ("after", controls.answer({"key": made.key, "text": "x"}))]

    return asyncio.run(turn())


def test_a_ballot_is_answered_once() -> None:
    sent = {"key": "r1/decision@decider", "picks": {"choice": "B"}}
    reply, refused, told = asked(request({"type": "object"}, DECIDER), {**sent, "picks": {}}, sent, sent)
    assert refused == ["Choose one: A, B, C, D, E", "", "this question is not open any more"]
    assert json.loads(reply.text)["choice"] == "B" and (reply.model, reply.family) == ("human", "human")
    assert told == [
        ("turn", {"key": "r1/decision@decider", "over": True}),
        ("after", "this question is not open any more"),
    ]


def test_without_a_schema_the_words_are_the_answer() -> None:
    reply, refused, _ = asked(request(), {"key": "r1/decision@decider", "text": "<b>Keep</b> it."})
    assert (reply.text, refused) == ("<b>Keep</b> it.", [""])


def test_with_a_schema_the_value_is_the_answer() -> None:
    reply, _, _ = asked(request({"type": "object"}), {"key": "r1/decision@decider", "value": {"a": [1, "ü"]}})
    assert json.loads(reply.text) == {"a": [1, "ü"]}


@pytest.mark.parametrize("sent", [{}, {"key": None}, {"key": "r9/other@judge", "text": "x"}, {"key": ["a"]}])
def test_an_answer_to_no_question_is_refused(sent: Any) -> None:
    assert Controls(Steering()).answer(sent) == "this question is not open any more"


def test_a_question_that_is_given_up_closes_its_form() -> None:
    async def turn() -> list[tuple[str, Any]]:
        controls = Controls(Steering())
        page = controls.watch()
        waiting = asyncio.create_task(controls.complete(request()))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        return page.taken()

    [(_, form), (_, over)] = asyncio.run(turn())
    assert form["question"] == "The question." and over == {"key": "r1/decision@decider", "over": True}


# steering


@dataclass
class Steering:
    """A debate that notes what it is asked for."""

    refuse: str = ""
    done: list[Any] = field(default_factory=list)

    def settle(self) -> str:
        self.done.append("settle")
        return self.refuse

    def more(self) -> str:
        self.done.append("more")
        return self.refuse

    def skip(self, key: str) -> str:
        self.done.append(("skip", key))
        return self.refuse

    def say(self, text: str) -> str:
        self.done.append(("say", text))
        return self.refuse


@pytest.mark.parametrize(
    ("sent", "done"),
    [
        ({"do": "settle"}, "settle"),
        ({"do": "more"}, "more"),
        ({"do": "skip", "key": "r1/x@a"}, ("skip", "r1/x@a")),
        ({"do": "say", "text": "hm"}, ("say", "hm")),
    ],
)
def test_a_button_reaches_the_debate_and_a_refusal_the_page(sent: Any, done: Any) -> None:
    steering = Steering("it is over")
    assert Controls(steering).steer(sent) == "it is over" and steering.done == [done]


@pytest.mark.parametrize("sent", [{}, {"do": "delete"}, {"do": ["settle"]}, {"do": "x" * 1000}])
def test_another_word_does_nothing(sent: Any) -> None:
    steering = Steering()
    assert Controls(steering).steer(sent).startswith("there is no control called") and steering.done == []


# answers while they are written


@dataclass
class Written:
    points: list[Any] = field(default_factory=list)
    text: str = ""

    def words(self) -> str:
        return self.text


@dataclass(frozen=True)
class Said:
    text: str
    tag: str = "P1"
    about: str = ""
    place: str = "a.py:1"
    mark: str = "found"


def told(change: Callable[[Controls, Written], None]) -> list[tuple[str, Any]]:
    controls, answer = Controls(Steering()), Written()
    controls.heard("r1/x@a", answer)
    page = controls.watch()
    page.taken()
    change(controls, answer)
    return page.taken()


def test_a_point_is_told_when_it_is_written() -> None:
    [(name, row)] = told(lambda controls, answer: answer.points.append(Said("It leaks.")))
    assert name == "live" and [p["text"] for p in row["points"]] == ["It leaks."]


def test_nothing_new_is_nothing_told() -> None:
    assert told(lambda controls, answer: None) == []


def test_the_end_of_a_call_is_told() -> None:
    assert told(lambda controls, answer: controls.ended("r1/x@a")) == [("live", {"key": "r1/x@a", "ended": True})]


def test_of_a_long_text_the_page_gets_the_end() -> None:
    [(_, row)] = told(lambda controls, answer: setattr(answer, "text", "a" * 10_000 + "z"))
    assert len(row["words"]) == LONGEST and row["words"].endswith("z")


def test_a_page_that_does_not_read_does_not_fill_the_memory() -> None:
    controls = Controls(Steering())
    page = controls.watch()
    for n in range(MOST_WAITING + 50):
        controls.waits("r1/x@a", str(n))
    waiting = page.taken()
    assert len(waiting) == MOST_WAITING and waiting[-1][1] == {"key": "r1/x@a", "reason": str(MOST_WAITING + 49)}


def test_a_page_that_is_closed_is_told_nothing_more() -> None:
    controls = Controls(Steering())
    page = controls.watch()
    page.close()
    controls.waits("r1/x@a", "busy")
    assert page.taken() == []
