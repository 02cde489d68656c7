"""Was a review worth it: the artifact as it stood, the critic's findings alone, and what came of both."""

from __future__ import annotations

from collections.abc import Sequence

from rebut.domain.review_result import Contract, Held
from rebut.domain.worth import Worth

CRITIQUE = ("r1/critique*",)
FATES = ("valid", "without evidence", "unweighed", "mended", "withdrawn", "invalid", "struck")


def weighed(made: Contract, versions: int, what: str, caveat: str = "") -> Worth:
    """The account of a review. `versions` is how many were written, `what` is reviewed: the change or the text."""
    critics = [f for f in made.findings if f.round == 1 and "critic" in f.voices]
    grave = sum(1 for f in critics if f.raised_as == "P1")
    found = f"{len(critics)} finding{'' if len(critics) == 1 else 's'}" if critics else "nothing"
    found += f" ({grave} P1)" if grave else ""
    changed = _changes(made.findings, versions)
    kept = made.decision == "Keep Original"
    if made.decision == "Stopped":
        changed.insert(0, "nobody decided")
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


def _changes(findings: Sequence[Held], versions: int) -> list[str]:
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


def _fates(findings: Sequence[Held]) -> tuple[tuple[str, int], ...]:
    counts: dict[str, int] = {}
    for finding in findings:
        fate = _fate(finding)
        counts[fate] = counts.get(fate, 0) + 1
    return tuple((name, counts[name]) for name in FATES if name in counts)


def _fate(f: Held) -> str:
    if f.ruling == "invalid":
        return "invalid"
    if f.status in ("resolved", "withdrawn"):
        return "mended" if f.status == "resolved" else "withdrawn"
    if f.struck:
        return "struck"
    return {"valid": "valid", "missing evidence": "without evidence"}.get(f.ruling, "unweighed")
