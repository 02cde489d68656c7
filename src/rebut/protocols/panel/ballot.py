"""The ballots for people on a panel: for the lead, who answers each objection with one key, and for challengers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from rebut.core.ballot import Ballot, KeyChoice, Listed, Option, Remark, Rulings
from rebut.core.text import squeeze
from rebut.domain.ledger import Ledger, Point
from rebut.protocols.shared import LEVELS, places

OPTIONS = (
    Option("a", "accept", "accept"),
    Option("p", "partial", "accept in part"),
    Option("r", "reject", "reject"),
)
CONFIDENCE = KeyChoice("confidence", "How sure are you?", LEVELS)


def of_opening(topic: str) -> Ballot:
    return Ballot(
        case=(
            squeeze(topic),
            "",
            "You lead this panel: take a position. Several experts attack it, then you answer them.",
        ),
        picks=(CONFIDENCE,),
        remarks=(
            Remark("position", "Your position"),
            Remark("reasoning", "What it rests on; cite files as path:line", many="text", cites="evidence"),
            Remark("weaknesses", "Where it is weakest", many=""),
            Remark("assumptions", "What must be true for it to hold", many=""),
        ),
        remarks_first=True,
    )


def of_confrontation(topic: str, position: str, points: Sequence[Point], lens: Callable[[str], str]) -> Ballot:
    return Ballot(
        case=(squeeze(topic), "", f"Your position: {squeeze(position)}"),
        rulings=_rulings(points, lens),
        picks=(CONFIDENCE,),
        remarks=(Remark("position", "Your position now", {"": position}),),
    )


def of_remarks(topic: str, points: Sequence[Point], lens: Callable[[str], str]) -> Ballot:
    return Ballot(case=(squeeze(topic),), rulings=_rulings(points, lens), picks=())


def _rulings(points: Sequence[Point], lens: Callable[[str], str]) -> Rulings:
    rows = []
    for p in points:
        who = " and ".join(lens(voice) for voice in p.voices)
        rows.append(Listed(p.id, f"{p.id}  {who}, {places(p.evidence)}", squeeze(p.words(lens))))
    return Rulings("responses", tuple(rows), OPTIONS, ruling="move", noun="point", cites="evidence")


# challengers

STRENGTH = KeyChoice(
    "strength",
    "How grave is it?",
    (
        Option("1", "strong", "the position fails"),
        Option("2", "moderate", "it must be fixed"),
        Option("3", "minor", "a remark"),
    ),
)
CATEGORY = KeyChoice(
    "category",
    "What is it about?",
    tuple(
        Option(key, word, word)
        for key, word in (
            *(("c", "correctness"), ("d", "design"), ("s", "security"), ("l", "scaling"), ("o", "operations")),
            *(("m", "cost"), ("u", "usability"), ("x", "other")),
        )
    ),
)
VERDICT = KeyChoice(
    "verdict",
    "Do you accept the position?",
    (
        Option("a", "agree", "yes"),
        Option("p", "partial", "in part"),
        Option("d", "disagree", "no"),
    ),
)
GRAVEST = KeyChoice("objection_strength", "How grave is your gravest objection?", STRENGTH.options)
RULED = (
    Option("a", "accept", "accept: it convinced me"),
    Option("m", "maintain", "maintain"),
    Option("e", "escalate", "escalate: it is graver than I said"),
)
ANSWER = KeyChoice(
    "answer",
    "And the position as a whole?",
    (
        Option("a", "accept", "accept it"),
        Option("m", "maintain", "still object"),
        Option("e", "escalate", "object more strongly"),
    ),
)


def of_challenge(topic: str, lens: str, looks_for: Sequence[str], case: str) -> Ballot:
    options = tuple(Option(str(n), angle, angle) for n, angle in enumerate(looks_for[:9], 1))
    angles = (KeyChoice("angle", "Which of the things that you look for is it?", options),)
    return Ballot(
        case=(squeeze(topic), "", f"You look at it as {lens}: {'; '.join(looks_for)}.", "", f"The lead says: {case}"),
        picks=(VERDICT, GRAVEST),
        remarks=(
            Remark(
                "examined", "What you examined, and what you found", many="found", also="what", each=angles, least=1
            ),
            Remark("points", "Your objections; none is fine", many="text", each=(STRENGTH, CATEGORY), cites="evidence"),
            Remark("summary", "Your view in a sentence"),
        ),
        remarks_first=True,
        rest={"need": []},
    )


def of_rebuttal(
    topic: str, position: str, points: Sequence[Point], lens: Callable[[str], str], ledger: Ledger
) -> Ballot:
    said = {m.point: squeeze(m.reason) for m in ledger.answers if m.reason}
    rows = tuple(
        replace(row, text=f"{row.text}\nanswered: {said[row.id]}") if row.id in said else row
        for row in _rulings(points, lens).rows
    )
    return Ballot(
        case=(squeeze(topic), "", f"The position is now: {squeeze(position)}", "Rule on each answer to your points."),
        rulings=Rulings("rulings", rows, RULED, noun="point", argued=True, cites="evidence"),
        picks=(ANSWER,),
        remarks=(
            Remark(
                "points", "What is newly wrong; none is fine", many="text", each=(STRENGTH, CATEGORY), cites="evidence"
            ),
            Remark("summary", "Your view now, in a sentence"),
        ),
        remarks_first=True,
        rest={"need": []},
    )
