"""The ballots for people in a review: for a critic, a judge, and a decider, who chooses A to E."""

from __future__ import annotations

from collections.abc import Sequence

from rebut.core.ballot import Ballot, KeyChoice, Listed, Option, Remark, Rulings
from rebut.core.text import squeeze
from rebut.domain.review_result import ReviewFinding
from rebut.protocols.cross import prompts, render
from rebut.protocols.shared import NO_REASON, by_first_letter

ACCEPT, REJECT = Option("a", "valid", "accept"), Option("r", "invalid", "reject")
CHOICE = KeyChoice("choice", "", tuple(Option(key, key, words) for key, words in prompts.SHORT.items()))


def of_decider(findings: Sequence[ReviewFinding], where: str, advice: str) -> Ballot:
    """The decider's ballot. The judge has ruled, so a letter is enough, even if a finding has no ruling."""
    return Ballot(
        case=(where, advice),
        table=render.table(findings),
        picks=(CHOICE,),
        rulings=_rulings(findings, judged=True),
        aside="reason",
    )


def of_judge(findings: Sequence[ReviewFinding], where: str) -> Ballot:
    """The judge's ballot: a ruling on every finding, then the letter that decides."""
    return Ballot(
        case=(where,),
        table=render.table(findings),
        picks=(CHOICE,),
        rulings=_rulings(findings, judged=False),
        remarks=(Remark("reason", "Why", {"": NO_REASON}),),
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


SEVERITY = KeyChoice(
    "severity",
    "How grave is it?",
    (Option("1", "P1", "must not ship"), Option("2", "P2", "fix before merging"), Option("3", "P3", "minor")),
)
CATEGORY = KeyChoice(
    "category",
    "What is it about?",
    by_first_letter("correctness", "security", "reliability", "performance", "maintainability", "tests", "other"),
)
STATES = (
    Option("f", "fixed", "fixed"),
    Option("s", "still there", "still there"),
    Option("w", "withdrawn", "withdrawn: it was no problem"),
    Option("n", "not checked", "not checked"),
)
AGREES = KeyChoice(
    "agrees",
    "Is it acceptable as it is?",
    (Option("y", True, "yes: no P1 or P2 speaks against it"), Option("n", False, "no")),
)


def of_critic(where: str, text: str, earlier: Sequence[ReviewFinding]) -> Ballot:
    """The critic's ballot: what is wrong with the artifact; in later rounds also what became of earlier findings."""
    rows = tuple(Listed(f.id, f"{f.id}  {f.severity}  {f.place}", squeeze(f.text)) for f in earlier)
    return Ballot(
        case=(where, "Say what is wrong with it."),
        text=text,
        picks=(AGREES,),
        rulings=Rulings("earlier", rows, STATES, "state") if rows else None,
        remarks=(
            Remark(
                "findings",
                "What is wrong, the gravest first; cite it as path:line",
                many="text",
                each=(SEVERITY, CATEGORY),
                cites="evidence",
            ),
        ),
        remarks_first=True,
        rest={"agreements": [], "suggestions": [], "need": []},
    )
