"""The ballots for people in a duel: what they are shown of the case, and what they are asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rebut.core.ballot import Ballot, KeyChoice, Listed, Option, Remark, Rulings
from rebut.core.text import squeeze
from rebut.domain.ledger import Claim, Ledger, Point
from rebut.protocols.duel import render
from rebut.protocols.shared import LEVELS, NO_REASON, by_first_letter, places

WINNER = KeyChoice(
    "winner",
    "Who had the better case?",
    (Option("P", "proposer", "the proposer"), Option("C", "challenger", "the challenger")),
)
RATINGS = (
    KeyChoice("genuine_disagreement", "Did the challenger hold a position of its own?", LEVELS),
    KeyChoice("evidence_quality", "Did both sides cite specifics?", LEVELS),
    KeyChoice("challenge_depth", "Were the challenges substantial?", LEVELS),
)


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
        about = f", about {name(p.about)}" if p.about else ""
        said = f"{squeeze(p.text)} ({places(p.evidence[:1])})"
        rows.append(f"{p.id}  {p.severity}{about}, {ledger.final_status(p.id)}: {said}")
        last = [m for m in ledger.answers if m.point == p.id][-1:]
        rows += [f"    {name(m.by)}: {squeeze(m.reason)}" for m in last]
    return rows or ["no point was raised"]


# people who debate

SEVERITY = KeyChoice(
    "severity",
    "How grave is it?",
    (Option("1", "P1", "it decides the matter"), Option("2", "P2", "it weakens the case"), Option("3", "P3", "minor")),
)
CATEGORY = KeyChoice(
    "category", "What is it about?", by_first_letter("correctness", "security", "developer experience", "other")
)
MOVES = (
    Option("c", "concede", "concede: it is right"),
    Option("d", "rebut", "defend: it is wrong"),
    Option("t", "trade-off", "trade-off: a real cost, and still the better way"),
)
RULINGS = (
    Option("r", "resolved", "resolved: it convinced me"),
    Option("u", "unresolved", "unresolved: the answer does not settle the point"),
    Option("d", "dodged", "dodged: it avoids the point"),
    Option("w", "withdrawn", "withdrawn: I was wrong"),
)


def of_opening(topic: str, task: str) -> Ballot:
    return Ballot(
        case=(squeeze(topic), "", task),
        picks=(),
        remarks=(
            Remark("position", "Your position, in a few sentences"),
            Remark("claims", "What it rests on", many="text", cites="evidence", least=1),
        ),
        remarks_first=True,
        rest={"need": []},
    )


def of_challenge(topic: str, position: str, claims: Sequence[Claim], name: str = "the proposer") -> Ballot:
    looked = "nothing found"
    return Ballot(
        case=(squeeze(topic), "", f"You challenge {name}: {squeeze(position)}", *map(_claim, claims)),
        picks=(),
        remarks=(
            _flaws("What is wrong or missing, the gravest first", least=1),
            Remark("alternatives", "What to do instead", many="", least=1),
            Remark("coverage.correctness", "What you found about correctness", {"": looked}),
            Remark("coverage.security", "What you found about security", {"": looked}),
            Remark("coverage.developer_experience", "What you found about working with it", {"": looked}),
        ),
        remarks_first=True,
        rest={"unsupported": [c.id for c in claims if not c.evidence], "agreements": [], "need": []},
    )


def of_defense(topic: str, position: str, at_issue: Sequence[Point]) -> Ballot:
    return Ballot(
        case=(squeeze(topic), "", f"Your position: {squeeze(position)}", "Answer each point against it."),
        picks=(),
        rulings=Rulings(
            "responses",
            _listed(at_issue),
            MOVES,
            "move",
            reason="argument",
            noun="point",
            argued=True,
            cites="evidence",
        ),
        remarks=(Remark("position", "Your position now", {"": squeeze(position)}),),
        rest={"claims": [], "need": []},
    )


def of_follow_up(topic: str, position: str, at_issue: Sequence[Point], ledger: Ledger) -> Ballot:
    return Ballot(
        case=(squeeze(topic), "", f"The position is now: {squeeze(position)}", "Rule on each answer to your points."),
        picks=(),
        rulings=Rulings("rulings", _listed(at_issue, ledger), RULINGS, noun="point", argued=True, cites="evidence"),
        remarks=(_flaws("What is newly wrong with the position; none is fine", least=0),),
        rest={"need": []},
    )


def _flaws(ask: str, least: int) -> Remark:
    return Remark("flaws", ask, many="text", each=(SEVERITY, CATEGORY), cites="evidence", least=least)


def _claim(claim: Claim) -> str:
    return f"{claim.id}  {squeeze(claim.text)} ({places(claim.evidence)})"


def _listed(at_issue: Sequence[Point], ledger: Ledger | None = None) -> tuple[Listed, ...]:
    rows = []
    for p in at_issue:
        last = [m for m in ledger.answers if m.point == p.id][-1:] if ledger else []
        answered = "".join(f"\nanswered: {squeeze(m.reason)}" for m in last)
        rows.append(Listed(p.id, f"{p.id}  {p.severity}, {places(p.evidence)}", squeeze(p.text) + answered))
    return tuple(rows)
