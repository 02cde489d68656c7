"""The result of a revision as a file: the plan with its synthesis notes, or the verdict of a review."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rebut.core.text import cut, squeeze, tame
from rebut.domain.ledger import Claim, Entry, Ledger
from rebut.protocols.revise.forms import Plan, Verdict
from rebut.protocols.revise.prose import tally
from rebut.protocols.revise.render import weighed
from rebut.protocols.revise.state import Course

NONE = "None."
POINT = 100


def of_plan(form: Plan, ledger: Ledger, course: Course) -> str:
    """The plan, then what became of each point."""
    texts = {p.id: cut(p.text, POINT) for p in ledger.points}
    ruled = set(form.ruled())

    def named(id: str) -> str:
        return f"{id} ({texts[id]})" if id in texts else f"{id} (no point of this debate)"

    notes = [
        "## Synthesis Notes",
        how(course),
        _list("### Adopted", [f"{named(r.id)}: {r.how}" for r in form.adopted]),
        _list("### Overruled", [f"{named(r.id)}: {r.why or 'no reason given'}" for r in form.overruled]),
        _list("### Unresolved", [f"{named(r.id)}. Tie-break: {r.tie_break or 'none given'}" for r in form.unresolved]),
    ]
    if cites := tally(course.result):
        notes.append(f"### Citations\n\nThe plan cites {cites}.")
    if left := [named(id) for id in texts if id not in ruled]:
        notes.append(_list("### Not accounted for by the synthesizer", left))
    return "\n\n".join([form.document.strip("\n"), *notes]) + "\n"


def of_verdict(form: Verdict, placed: Sequence[tuple[str, Entry]], course: Course) -> str:
    """The verdict of a review: assessments, findings, agreement, disagreement."""
    parts = [
        "# Review Verdict",
        f"**Decision**: {form.decision}",
        tame(form.summary),
        how(course),
        "## Final Assessments",
    ]
    for author, said in enumerate((form.first, form.second)):
        name, version = course.files.names[author], course.latest(author)
        stale = f", stale: {course.stale[author]}" if author in course.stale else ""
        parts += [f"### {name} ({Path(version.path).name}{stale})", tame(said) or "None given."]
    holders = {"both": "both", "first": course.files.names[0], "second": course.files.names[1]}
    rows = []
    for finding, (id, claim) in zip([f for f in form.findings if f.text], placed, strict=True):
        assert isinstance(claim, Claim)
        why = f" Severity: {finding.why}" if finding.why else ""
        number = f"{id} " if id else ""
        severity, lowered = weighed(finding.severity, claim.evidence)
        rows.append(f"{number}[{severity}{lowered}] ({holders[finding.held_by]}) {finding.text}{_cited(claim)}.{why}")
    parts.append(_list("## Findings", rows))
    parts.append(_list("## Points of Agreement", form.agreement))
    split = [f"{d.point}. Tie-break: {d.tie_break or 'none given'}" for d in form.disagreement]
    parts.append(_list("## Points of Disagreement", split))
    return "\n\n".join(p for p in parts if p) + "\n"


def how(course: Course) -> str:
    """How the result came about, in a sentence or two: a degraded debate never reads as a whole one."""
    if not course.settings.debates:
        return "Made out of two drafts at once; nothing was debated."
    done, budget = course.complete, course.planned
    rounds = f"{done} of {budget} round{'' if budget == 1 else 's'}"
    if course.cut_short:
        stale = [f"the version of {course.files.names[a]} is stale" for a in course.stale]
        return f"The debate was cut short after {rounds}: {'; '.join([squeeze(course.cut_short), *stale])}."
    if course.converged:
        return f"Debated for {rounds}; converged: {course.converged}."
    return f"Debated for {rounds}; not converged."


def _cited(claim: Claim) -> str:
    shown = [f"{e.place} [{e.mark}]" if e.mark else e.place for e in claim.evidence]
    return f" — {'; '.join(shown)}" if shown else " — cites nothing"


def _list(title: str, rows: Sequence[str]) -> str:
    body = "\n".join(f"- {squeeze(row)}" for row in rows if row.strip())
    return f"{title}\n\n{body or NONE}"
