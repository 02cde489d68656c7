"""The ballot of a person who judges a duel: the case in short, the winner, three ratings, and what to do."""

from __future__ import annotations

from collections.abc import Callable

from rebut.core.ballot import Ballot, KeyChoice, Option, Remark
from rebut.core.text import squeeze
from rebut.domain.ledger import Ledger
from rebut.protocols.duel import render

WINNER = KeyChoice(
    "winner",
    "Who had the better case?",
    (Option("P", "proposer", "the proposer"), Option("C", "challenger", "the challenger")),
)
LEVELS = (Option("h", "high", "high"), Option("m", "medium", "medium"), Option("l", "low", "low"))
RATINGS = (
    KeyChoice("genuine_disagreement", "Did the challenger hold a position of its own?", LEVELS),
    KeyChoice("evidence_quality", "Did both sides cite specifics?", LEVELS),
    KeyChoice("challenge_depth", "Were the challenges substantial?", LEVELS),
)
NO_REASON = "the judge, a person, gave no reason"


def of_judge(topic: str, ledger: Ledger, position: str, alternative: str) -> Ballot:
    case = (
        squeeze(topic),
        "",
        f"The proposer says: {squeeze(position)}",
        f"The challenger would rather: {squeeze(alternative)}" if alternative else "",
        "",
        *points(ledger),
        "",
        f"checked: {render.checked(ledger)}",
    )
    return Ballot(
        case=case,
        picks=(WINNER, *RATINGS),
        remarks=(
            Remark("recommendation", "What to do now", {"P": squeeze(position), "C": squeeze(alternative)}),
            Remark("reasoning", "Why", {"": NO_REASON}),
        ),
    )


def points(ledger: Ledger, name: Callable[[str], str] = str) -> list[str]:
    """Every point in a line or two, with its status and its first citation."""
    rows = []
    for p in ledger.points:
        cited = f" ({p.evidence[0].place} {p.evidence[0].mark})" if p.evidence else " (cites nothing)"
        about = f", about {name(p.about)}" if p.about else ""
        rows.append(f"{p.id}  {p.severity}{about}, {ledger.final_status(p.id)}: {squeeze(p.text)}{cited}")
        last = [m for m in ledger.answers if m.point == p.id][-1:]
        rows += [f"    {name(m.by)}: {squeeze(m.reason)}" for m in last]
    return rows or ["no point was raised"]
