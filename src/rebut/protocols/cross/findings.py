"""Weighing: what the ledger says of each finding once the judge has spoken and its evidence is held against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rebut.core.types import Finding
from rebut.domain.ledger import Ledger, Point
from rebut.domain.review_result import ReviewFinding, ReviewResult, ruling, severity
from rebut.domain.worth import Worth

OVER = ("resolved", "withdrawn")
GRAVE = ("P1", "P2")


def lines_of(place: str) -> tuple[str, int, int] | None:
    """The path, the first and the last line that a place names; None where it names no line."""
    path, _, lines = place.rpartition(":")
    first, _, last = lines.partition("-")
    return (path, int(first), int(last if last.isdecimal() else first)) if first.isdecimal() else None


def is_grave(ledger: Ledger, point: Point) -> bool:
    """P1 or P2 as weighed, and not thrown out."""
    return severity(ledger, point) in GRAVE and ruling(ledger, point) != "invalid"


def stands(ledger: Ledger, point: Point) -> bool:
    """Neither thrown out nor done away with."""
    return ruling(ledger, point) != "invalid" and ledger.status(point.id) not in OVER


def unmended(ledger: Ledger) -> Ledger:
    """The same without what later versions did away with: how it stands against the first one."""
    return replace(ledger, moves=tuple(m for m in ledger.moves if m.kind != "mend"))


def unweighed(ledger: Ledger) -> tuple[Point, ...]:
    """Grave findings on which the judge never ruled."""
    return tuple(p for p in ledger.points if is_grave(ledger, p) and stands(ledger, p) and not ruling(ledger, p))


def raised_in(ledger: Ledger, n: int) -> tuple[Point, ...]:
    """What was raised in a round, or raised again."""
    pressed = {m.point for m in ledger.moves if m.round == n and m.by == "critic" and m.kind == "maintain"}
    return tuple(p for p in ledger.points if (p.round == n and "critic" in p.voices) or p.id in pressed)


def for_programs(ledger: Ledger, rule_based: bool) -> tuple[Finding, ...]:
    """The findings for a judge that is a program."""
    return tuple(
        Finding(
            id=p.id,
            severity=severity(ledger, p),
            category=p.category,
            text=p.text,
            marks=tuple(e.mark for e in p.evidence),
            status=ledger.status(p.id),
            rule_based=rule_based,
            has_fix=bool(p.fix),
        )
        for p in ledger.points
    )


# Was a review worth it: the artifact as it stood, the critic's findings alone, and what came of both.

CRITIQUE = ("r1/critique*",)
FATES = ("valid", "without evidence", "unweighed", "mended", "withdrawn", "invalid", "struck")


def weighed(made: ReviewResult, versions: int, what: str, caveat: str = "") -> Worth:
    """The account of a review. `versions` is how many were written, `what` is reviewed: the change or the text."""
    critics = [f for f in made.findings if f.round == 1 and "critic" in f.voices]
    grave = sum(1 for f in critics if f.raised_as == "P1")
    found = f"{len(critics)} finding{'' if len(critics) == 1 else 's'}" if critics else "nothing"
    found += f" ({grave} P1)" if grave else ""
    changed = _changes(made.findings, versions)
    kept = made.decision == "Keep Original"
    if made.decision == "Stopped":
        changed.insert(0, "no decision")
    elif not kept:
        changed.insert(0, "not as it stood")
    return Worth(
        first=f"{what} as it stood; the critic alone raised {found}",
        points=_fates(made.findings),
        changed=tuple(changed),
        same=None if made.decision == "Stopped" else kept and not changed,
        caveat=caveat,
        noun="finding",
        keys=CRITIQUE,
    )


def _changes(findings: Sequence[ReviewFinding], versions: int) -> list[str]:
    """What the judge and later rounds did to the critic's findings, and to what is reviewed."""
    said = []
    if regraded := [f for f in findings if f.ruling and not f.struck and f.severity != f.raised_as]:
        said.append(", ".join(f"{f.id} {f.raised_as} to {f.severity}" for f in regraded[:3]))
        said[-1] += f" and {len(regraded) - 3} more regraded" if len(regraded) > 3 else ""
    if added := [f.id for f in findings if f.voices == ("judge",)]:
        said.append(f"{', '.join(added)} added by the judge")
    if versions:
        said.append(f"version {versions + 1} written")
    return said


def _fates(findings: Sequence[ReviewFinding]) -> tuple[tuple[str, int], ...]:
    counts: dict[str, int] = {}
    for finding in findings:
        fate = _fate(finding)
        counts[fate] = counts.get(fate, 0) + 1
    return tuple((name, counts[name]) for name in FATES if name in counts)


def _fate(f: ReviewFinding) -> str:
    if f.ruling == "invalid":
        return "invalid"
    if f.status in ("resolved", "withdrawn"):
        return "mended" if f.status == "resolved" else "withdrawn"
    if f.struck:
        return "struck"
    return {"valid": "valid", "missing evidence": "without evidence"}.get(f.ruling, "unweighed")
