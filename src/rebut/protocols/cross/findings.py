"""What the ledger says about each finding: whether it is grave, whether it is still open, when it was raised."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from rebut.core.types import Finding
from rebut.domain.ledger import OVER as OVER, Ledger, Point
from rebut.domain.review_result import MOVES, ruling, severity

GRAVE = ("P1", "P2")


def is_grave(ledger: Ledger, point: Point) -> bool:
    """Whether a finding is a P1 or P2 as last weighed, and not judged invalid."""
    return severity(ledger, point) in GRAVE and ruling(ledger, point) != "invalid"


def is_open(ledger: Ledger, point: Point) -> bool:
    """Whether a finding is neither judged invalid nor fixed or withdrawn."""
    return ruling(ledger, point) != "invalid" and ledger.status(point.id) not in OVER


def unweighed(ledger: Ledger) -> tuple[Point, ...]:
    """Grave findings on which the judge never ruled."""
    return tuple(p for p in ledger.points if is_grave(ledger, p) and is_open(ledger, p) and not ruling(ledger, p))


def valid_and_grave(ledger: Ledger) -> list[Point]:
    """The P1 and P2 that were judged valid, are still open, and do not rest on an absent citation."""
    grave = [p for p in ledger.points if is_grave(ledger, p) and is_open(ledger, p) and not p.struck]
    return [p for p in grave if ruling(ledger, p) == "valid"]


def without_fixes(ledger: Ledger, first: Collection[int] = ()) -> Ledger:
    """The ledger as it applies to the first version: without the fixes of later versions.

    `first` are the rounds in which the first version was under review: a fix that was seen there counts.
    """
    return replace(ledger, moves=tuple(m for m in ledger.moves if m.kind != MOVES["fixed"] or m.round in first))


def raised_in(ledger: Ledger, n: int) -> tuple[Point, ...]:
    """The findings that the critic raised, or raised again, in a round."""
    ids = {one.id for one in ledger.raised_by("critic", n)}
    return tuple(p for p in ledger.points if p.id in ids)


def for_programs(ledger: Ledger, rule_based: bool) -> tuple[Finding, ...]:
    """The findings for a judge that is a program."""
    return tuple(
        Finding(
            id=p.id,
            severity=severity(ledger, p),
            category=p.category,
            text=p.words(),
            marks=tuple(e.mark for e in p.evidence),
            status=ledger.status(p.id),
            rule_based=rule_based,
            has_fix=bool(p.fix),
            place=p.evidence[0].place if p.evidence else "",
        )
        for p in ledger.points
    )
