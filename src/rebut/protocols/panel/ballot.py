"""The ballots of a person who leads a panel: each objection is accepted, partly accepted or rejected by one key."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rebut.core.ballot import Ballot, KeyChoice, Listed, Option, Remark, Rulings
from rebut.core.text import squeeze
from rebut.domain.ledger import Point

OPTIONS = (
    Option("a", "accept", "accept"),
    Option("p", "partial", "accept in part"),
    Option("r", "reject", "reject"),
)
CONFIDENCE = KeyChoice(
    "confidence",
    "How sure are you?",
    (Option("h", "high", "high"), Option("m", "medium", "medium"), Option("l", "low", "low")),
)


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
            Remark("reasoning", "What it rests on; cite files as path:line", many="text"),
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
        places = ", ".join(f"{e.place} {e.mark}" for e in p.evidence) or "cites nothing"
        who = " and ".join(lens(voice) for voice in p.voices)
        rows.append(Listed(p.id, f"{p.id}  {who}, {places}", squeeze(p.words(lens))))
    return Rulings("responses", tuple(rows), OPTIONS, ruling="move", noun="point")
