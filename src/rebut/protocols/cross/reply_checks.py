"""Pure functions that check the replies in a review. Each returns what is wrong, which is sent back once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from rebut.core.citation_syntax import find_citations
from rebut.domain.forms import fault_of
from rebut.domain.ledger import Ledger, Point, Same
from rebut.domain.review_result import ruling, severity
from rebut.protocols.cross import findings
from rebut.protocols.cross.forms import Additions, CodeCritique, Judgement, Weighed
from rebut.protocols.shared import called_same, is_shown, misread, missing, unknown, unsound


def critique(ledger: Ledger, changed: Sequence[Point] = (), about: str = "") -> Callable[[CodeCritique], list[str]]:
    """`changed` are the findings that were raised against an earlier version than the one under review.

    `about` is the document, if there is more than one.
    """

    def check(reply: CodeCritique) -> list[str]:
        named = [one.id for one in reply.earlier]
        wrong = missing(reply, "findings") + unknown(named, ledger.point_ids, "finding")
        looked = {ledger.issue_of(id) for id in (*named, *(f.same_as for f in reply.findings))}
        for point in changed:
            if point.id not in looked and findings.is_grave(ledger, point) and findings.is_open(ledger, point):
                wrong.append(f"{point.id} is not looked at: say under `earlier` what the version under review shows")
        later = {p.id for p in changed if not not_passing(ledger, p.id)}
        wrong += [
            f"{one.id} cannot be fixed: {_why_not_fixed(ledger, one.id)}"
            for one in reply.earlier
            if one.state == "fixed" and ledger.point(ledger.issue_of(one.id)) and ledger.issue_of(one.id) not in later
        ]
        for n, found in enumerate(reply.findings, 1):
            if not found.text:
                wrong.append(f"finding {n} is empty")
            if found.severity in findings.GRAVE and not found.evidence and not found.same_as:
                wrong.append(f"finding {n} is {found.severity} and cites nothing: name the place and quote it")
        wrong += unsound(ledger, (f.point("critic", 0, about) for f in reply.findings), "finding")
        if reply.agrees and any(f.severity in findings.GRAVE for f in reply.findings):
            wrong.append("`agrees` is true, but a P1 or P2 is raised: it is one or the other")
        if not reply.agrees and not reply.findings and "findings" in reply.model_fields_set:
            wrong.append("`agrees` is false, but there is no finding: say what is wrong")
        return wrong

    return check


def judgement(
    ledger: Ledger, n: int, changed: Collection[str] = (), *, outside: Collection[str] = (), unquestioned: bool = False
) -> Callable[[Judgement], list[str]]:
    """`changed` are the ids of findings that were raised against an earlier version than the one under review.

    `outside` are the ids of findings outside the change, which do not speak against keeping it.
    `unquestioned`: a person judges, or the session began under a version that does not check choices against rulings.
    """

    def check(reply: Judgement) -> list[str]:
        named, known = {w.id for w in reply.findings}, ledger.point_ids
        ruled = {ledger.issue_of(id) for id in named}
        wrong = [f"{p.id} is not weighed" for p in findings.raised_in(ledger, n) if p.id not in ruled]
        wrong += unknown(sorted(named), known, "finding")
        wrong += joins(ledger, reply, n)[1]
        wrong += unsound(ledger, (f.point("judge", n) for f in reply.missed), "finding")
        wrong += [f"{w.id} is weighed without a reason" for w in reply.findings if not w.reason and w.id in known]
        for w in reply.findings:
            if w.ruling == "fixed" and w.id in known and ledger.issue_of(w.id) not in changed:
                wrong.append(f"{w.id} cannot be fixed: {_why_not_fixed(ledger, w.id)}")
        wrong += [] if unquestioned else [*_weakened(ledger, reply), *misread(ledger, reply.reason)]
        wrong += [] if unquestioned else _name_faults(ledger, reply.findings)
        if not reply.reason:
            wrong.append("the choice has no reason")
        if reply.choice == "A" and not unquestioned and (left := _grave_and_valid(ledger, reply, outside)):
            wrong.append(f"the choice is A, but you call {', '.join(left)} valid at P1 or P2: it is one or the other")
        if reply.choice == "D" and not reply.rebuttal:
            wrong.append("the choice is D, but there is no rebuttal")
        return wrong

    return check


def not_passing(ledger: Ledger, id: str) -> str:
    """Why the check of a finding does not show that it is fixed in the last version; empty if it passes there.

    Also empty if no check was run again for the finding: only a check that showed a finding by failing is.
    """
    ran = [again.side for again in ledger.reruns if again.point == ledger.issue_of(id)]
    said = {"passes": "", "fails": "its check still fails on this version"}
    return said.get(ran[-1], f"its check {ran[-1] or 'was not run'} on this version") if ran else ""


def _why_not_fixed(ledger: Ledger, id: str) -> str:
    return not_passing(ledger, id) or "there is no other version since it was raised"


def overruled(ledger: Ledger, rulings: Sequence[Weighed]) -> list[str]:
    """The ids of findings that are ruled invalid although a check shows them, without a fault found in the check."""
    return [w.id for w in rulings if is_shown(ledger, w.id) and w.ruling == "invalid" and not fault_of(w)]


def _name_faults(ledger: Ledger, rulings: Sequence[Weighed]) -> list[str]:
    return [
        f"{id} is ruled invalid, but its check is marked shown: say under `check_fault` what is wrong with it"
        for id in overruled(ledger, rulings)
    ]


def _weakened(ledger: Ledger, reply: Judgement) -> list[str]:
    """Complaints about weaker rulings on findings that were called valid before: they count only with new evidence."""
    wrong = list[str]()
    for w in reply.findings:
        point = ledger.point(w.id)
        if point is None or ruling(ledger, point) != "valid" or find_citations(w.reason):
            continue
        before = severity(ledger, point)
        if w.ruling in ("invalid", "missing evidence") or (w.ruling == "valid" and w.severity > before):
            wrong.append(
                f"{w.id} was called valid at {before}: a weaker ruling counts only if its reason cites new evidence"
            )
    return wrong


def _grave_and_valid(ledger: Ledger, reply: Judgement, outside: Collection[str]) -> list[str]:
    """The P1 and P2 within the change that are valid by the reply or, where it does not rule, by earlier rulings.

    One entry stands for all P1 and P2 that the reply adds.
    """
    ruled = {ledger.issue_of(w.id): w for w in reply.findings}
    now = [id for id, w in ruled.items() if w.ruling == "valid" and w.severity in findings.GRAVE]
    before = [p.id for p in findings.valid_and_grave(ledger) if p.id not in ruled]
    valid = [id for id in (*before, *now) if id not in outside]
    return [*valid, *("what you add" for f in reply.missed[:1] if f.severity in findings.GRAVE)]


def additions(ledger: Ledger, ids: Sequence[str]) -> Callable[[Additions], list[str]]:
    def check(reply: Additions) -> list[str]:
        ruled = {w.id: w for w in reply.findings}
        wrong = [f"{id} is not weighed" for id in ids if id not in ruled]
        wrong += [f"{w.id} is weighed without a reason" for w in ruled.values() if not w.reason]
        return wrong + _name_faults(ledger, list(ruled.values()))

    return check


def joins(ledger: Ledger, reply: Judgement, n: int) -> tuple[list[Same], list[str]]:
    """The judge's joins of findings to earlier ones, and complaints about joins that make no sense."""
    return called_same(ledger, "judge", n, [(w.id, w.same_as, w.move) for w in reply.findings], "finding")


def names_nothing(reply: CodeCritique) -> bool:
    """Whether a critic does not agree, yet names no finding, not even an earlier one that may still be there."""
    still = any(one.state in ("still there", "not checked") for one in reply.earlier)
    return not reply.agrees and not still and not any(f.text for f in reply.findings)


def agrees(replies: Sequence[CodeCritique]) -> bool:
    """Whether the critic agrees: by the field `agrees` of every part, and without raising a P1 or P2.

    Its prose is never searched: "must not be approved" is not an approval.
    """
    grave = any(f.severity in findings.GRAVE for reply in replies for f in reply.findings if f.text)
    return bool(replies) and all(reply.agrees for reply in replies) and not grave
