"""The ballot of a person who judges a review or decides in it: every finding, and the choices A to E."""

from __future__ import annotations

from collections.abc import Sequence

from rebut.core.ballot import Ballot, KeyChoice, Listed, Option, Remark, Rulings
from rebut.core.text import squeeze
from rebut.domain.review_result import ReviewFinding
from rebut.protocols.cross import prompts, render

ACCEPT, REJECT = Option("a", "valid", "accept"), Option("r", "invalid", "reject")
CHOICE = KeyChoice("choice", "", tuple(Option(key, key, words) for key, words in prompts.SHORT.items()))


def of_decider(findings: Sequence[ReviewFinding], where: str, advice: str) -> Ballot:
    """The judge has ruled, so a letter alone decides, also on a finding that the judge left out."""
    return Ballot(
        case=(where, advice),
        table=render.table(findings),
        picks=(CHOICE,),
        rulings=_rulings(findings, judged=True),
        aside="reason",
    )


def of_judge(findings: Sequence[ReviewFinding], where: str) -> Ballot:
    """Every finding is ruled on, then one letter decides."""
    return Ballot(
        case=(where,),
        table=render.table(findings),
        picks=(CHOICE,),
        rulings=_rulings(findings, judged=False),
        remarks=(Remark("reason", "Why", {"": "the judge, a person, gave no reason"}),),
    )


def _rulings(findings: Sequence[ReviewFinding], *, judged: bool) -> Rulings:
    rows = tuple(
        Listed(
            f.id,
            "  ".join(part for part in (f.id, f.severity, f.place, f.mark) if part),
            squeeze(f.text) + (f"\nto do: {squeeze(f.action)}" if f.action else ""),
            f.severity,
            (f.ruling or "not weighed") if judged else "",
        )
        for f in findings
    )
    return Rulings("findings", rows, (ACCEPT, REJECT), severity="severity")
