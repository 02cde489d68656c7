"""Checks of the replies in a review, and the rules that end it. Pure functions of the ledger and the replies."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rebut.domain.ledger import Ledger
from rebut.domain.review_result import Decision
from rebut.protocols.cross import findings
from rebut.protocols.cross.forms import CodeCritique, Judgement
from rebut.protocols.shared import unknown

QUIET_ROUNDS = 2


# what ends it


def agrees(replies: Sequence[CodeCritique]) -> bool:
    """The critic says so in the field for it, in every part, and raises nothing grave in the same breath.

    Its prose is never searched: "must not be approved" is no approval.
    """
    grave = any(f.severity in findings.GRAVE for reply in replies for f in reply.findings if f.text)
    return bool(replies) and all(reply.agrees for reply in replies) and not grave


def is_quiet(ledger: Ledger, n: int) -> bool:
    """Whether a round brought no new P1 or P2: new by its id, weighed by the judge."""
    return not any(p.round == n and findings.is_grave(ledger, p) for p in ledger.points)


def cause(ledger: Ledger, n: int, limit: int, choice: str) -> str:
    """Why the review ends after a round that was judged; empty if it goes on."""
    if choice in ("A", "B", "E"):
        return choice
    if n >= QUIET_ROUNDS and all(is_quiet(ledger, n - back) for back in range(QUIET_ROUNDS)):
        return "quiet"
    return "rounds" if n >= limit else ""


def ending(cause: str, compromised: bool) -> tuple[Decision, bool]:
    """What a cause of ending decides, and whether that is convergence. `compromised`: there was a C before."""
    if cause == "A":
        return "Keep Original", True
    if cause == "B":
        return "Accept Opposite", True
    if cause == "E":
        return "Stopped", False
    if cause in ("agreed", "quiet"):
        return ("Compromise" if compromised else "Keep Original"), True
    return ("Compromise" if compromised else "Stopped"), False


# what a reply must hold


def critique(ledger: Ledger) -> Callable[[CodeCritique], list[str]]:
    def check(reply: CodeCritique) -> list[str]:
        wrong = []
        for n, found in enumerate(reply.findings, 1):
            if not found.text:
                wrong.append(f"finding {n} is empty")
            if found.severity in findings.GRAVE and not found.evidence and not found.same_as:
                wrong.append(f"finding {n} is {found.severity} and cites nothing: name the place and quote it")
        wrong += unknown((f.same_as for f in reply.findings if f.same_as), (p.id for p in ledger.points), "finding")
        if reply.agrees and any(f.severity in findings.GRAVE for f in reply.findings):
            wrong.append("`agrees` is true, but a P1 or P2 is raised: it is one or the other")
        if not reply.agrees and not reply.findings:
            wrong.append("`agrees` is false, but there is no finding: say what is wrong")
        return wrong

    return check


def judgement(ledger: Ledger, n: int) -> Callable[[Judgement], list[str]]:
    def check(reply: Judgement) -> list[str]:
        ruled, known = {w.id for w in reply.findings}, {p.id for p in ledger.points}
        wrong = [f"{p.id} is not weighed" for p in findings.raised_in(ledger, n) if p.id not in ruled]
        wrong += unknown(sorted(ruled), (p.id for p in ledger.points), "finding")
        wrong += [f"{w.id} is weighed without a reason" for w in reply.findings if not w.reason and w.id in known]
        if not reply.reason:
            wrong.append("the choice has no reason")
        if reply.choice == "D" and not reply.rebuttal:
            wrong.append("the choice is D, but there is no rebuttal")
        return wrong

    return check
