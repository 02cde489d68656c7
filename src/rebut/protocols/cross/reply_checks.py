"""Checks of the replies in a review. Each returns what is wrong, which is sent back once; pure functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rebut.domain.ledger import Ledger, Same
from rebut.protocols.cross import findings
from rebut.protocols.cross.forms import CodeCritique, Judgement
from rebut.protocols.shared import called_same, unknown, unsound


def critique(ledger: Ledger) -> Callable[[CodeCritique], list[str]]:
    def check(reply: CodeCritique) -> list[str]:
        wrong = []
        for n, found in enumerate(reply.findings, 1):
            if not found.text:
                wrong.append(f"finding {n} is empty")
            if found.severity in findings.GRAVE and not found.evidence and not found.same_as:
                wrong.append(f"finding {n} is {found.severity} and cites nothing: name the place and quote it")
        wrong += unsound(ledger, (f.point("critic", 0) for f in reply.findings), "finding")
        if reply.agrees and any(f.severity in findings.GRAVE for f in reply.findings):
            wrong.append("`agrees` is true, but a P1 or P2 is raised: it is one or the other")
        if not reply.agrees and not reply.findings:
            wrong.append("`agrees` is false, but there is no finding: say what is wrong")
        return wrong

    return check


def judgement(ledger: Ledger, n: int) -> Callable[[Judgement], list[str]]:
    def check(reply: Judgement) -> list[str]:
        named, known = {w.id for w in reply.findings}, ledger.point_ids
        ruled = {ledger.issue_of(id) for id in named}
        wrong = [f"{p.id} is not weighed" for p in findings.raised_in(ledger, n) if p.id not in ruled]
        wrong += unknown(sorted(named), known, "finding")
        wrong += joins(ledger, reply, n)[1]
        wrong += unsound(ledger, (f.point("judge", n) for f in reply.missed), "finding")
        wrong += [f"{w.id} is weighed without a reason" for w in reply.findings if not w.reason and w.id in known]
        if not reply.reason:
            wrong.append("the choice has no reason")
        if reply.choice == "D" and not reply.rebuttal:
            wrong.append("the choice is D, but there is no rebuttal")
        return wrong

    return check


def joins(ledger: Ledger, reply: Judgement, n: int) -> tuple[list[Same], list[str]]:
    """The findings that the judge joins to earlier ones, and what makes no sense of it."""
    return called_same(ledger, "judge", n, [(w.id, w.same_as, w.move) for w in reply.findings], "finding")


def agrees(replies: Sequence[CodeCritique]) -> bool:
    """Whether the critic agrees: by the field `agrees` of every part, and without raising a P1 or P2.

    Its prose is never searched: "must not be approved" is not an approval.
    """
    grave = any(f.severity in findings.GRAVE for reply in replies for f in reply.findings if f.text)
    return bool(replies) and all(reply.agrees for reply in replies) and not grave
