"""Pure functions that check the replies in a revision. Each returns what is wrong, which is sent back once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from rebut.core.text import plural, squeeze
from rebut.domain.ledger import Ledger, Point
from rebut.protocols.revise.forms import Critique, Draft, Plan, Revision, Verdict
from rebut.protocols.revise.sections import changed_headings, headings, parts, sections
from rebut.protocols.shared import missing, name_faults, overruled, unknown, unsound


def draft(reply: Draft) -> list[str]:
    if not reply.document:
        return ["the document is empty"]
    return [] if sections(reply.document) else ["the document has no heading: give every section one"]


def critique(ledger: Ledger, critic: str, about: str) -> Callable[[Critique], list[str]]:
    def check(reply: Critique) -> list[str]:
        wrong = missing(reply, "weaknesses")
        for kind, items in (("weakness", reply.weaknesses), ("disagreement", reply.disagreements)):
            for n, item in enumerate(items, 1):
                if not item.text:
                    wrong.append(f"{kind} {n} is empty")
                elif not item.evidence:
                    wrong.append(f"{kind} {n} names no place: a section of the document, or a file and line")
        raised = (item.point("", critic, about, 0) for item in (*reply.weaknesses, *reply.disagreements))
        wrong += unsound(ledger, raised)
        wrong += unknown((c.id for c in reply.concessions if c.id), (p.id for p in ledger.points))
        wrong += [
            f"{id} was defended: raise it again (`same_as`) or concede it"
            for id in unnamed(ledger, critic, about, reply)
        ]
        return wrong

    return check


def due(ledger: Ledger, critic: str) -> list[str]:
    """Points of this critic that were defended: it must raise them again or concede them."""
    return [p.id for p in ledger.having("defended") if critic in p.voices]


def named_in(ledger: Ledger, critic: str, about: str, reply: Critique) -> set[str]:
    """The points that a critique concedes or raises again, by id or in the same words."""
    items = (*reply.weaknesses, *reply.disagreements)
    again = {item.same_as for item in items if item.same_as}
    raised = [ledger.repeated(item.point("", critic, about, 0)) for item in items if not item.same_as]
    return again | {p.id for p in raised if p} | {c.id for c in reply.concessions if c.id}


def unnamed(ledger: Ledger, critic: str, about: str, reply: Critique) -> list[str]:
    named = named_in(ledger, critic, about, reply)
    return [id for id in due(ledger, critic) if id not in named]


def revision(ledger: Ledger, author: str, required: Sequence[str], before: str) -> Callable[[Revision], list[str]]:
    """`before` is the author's version to be revised, `required` the points that need an answer."""
    was = headings(before)

    def check(reply: Revision) -> list[str]:
        if not reply.document:
            return ["the document is empty: give the whole document, including what does not change"]
        wrong = changed_headings(was, headings(reply.document))
        addressed, defended = {a.id for a in reply.addressed}, {d.id for d in reply.defended}
        wrong += [
            f"{id} is not answered: put it under `addressed` or `defended`"
            for id in required
            if id not in addressed | defended
        ]
        wrong += [f"{id} is both addressed and defended" for id in sorted(addressed & defended)]
        wrong += [f"{a.id} is addressed, but the change is not described" for a in reply.addressed if not a.change]
        wrong += [f"{d.id} is defended without a reason" for d in reply.defended if not d.reason]
        wrong += unknown(sorted(addressed | defended), (p.id for p in ledger.points))
        wrong += [
            f"{id} is about the other document: answer only points about yours"
            for id in sorted((addressed | defended) & foreign(ledger, author))
        ]
        same = squeeze(parts(reply.document).document) == squeeze(parts(before).document)
        if addressed and same:
            wrong.append("points are addressed, but the document is word for word the same")
        return wrong

    return check


def foreign(ledger: Ledger, author: str) -> set[str]:
    """The points about the other author's document, which an author cannot address or defend."""
    return {p.id for p in ledger.points if p.about != author}


def plan(ledger: Ledger) -> Callable[[Plan], list[str]]:
    def check(reply: Plan) -> list[str]:
        wrong = [] if reply.document else ["the document is empty"]
        ruled = Counter(reply.ruled())
        wrong += [
            f"{p.id} is not accounted for: adopted, overruled or unresolved" for p in ledger.points if p.id not in ruled
        ]
        wrong += [f"{id} is accounted for more than once" for id, count in ruled.items() if count > 1]
        wrong += [f"{r.id} is overruled without a reason" for r in reply.overruled if not r.why]
        wrong += [f"{u.id} is unresolved without a tie-break" for u in reply.unresolved if not u.tie_break]
        wrong += name_faults(overruled_by_plan(ledger, reply))
        return wrong + unknown(sorted(ruled), (p.id for p in ledger.points))

    return check


def verdict(ledger: Ledger) -> Callable[[Verdict], list[str]]:
    def check(reply: Verdict) -> list[str]:
        wrong = [f"the assessment of the {n} review is empty" for n in ("first", "second") if not getattr(reply, n)]
        wrong += [f"finding {n} is empty" for n, f in enumerate(reply.findings, 1) if not f.text]
        wrong += [f"disagreement {n} has no tie-break" for n, d in enumerate(reply.disagreement, 1) if not d.tie_break]
        wrong += [f"{p.id} is still open: say what decides it" for p in untied(ledger, reply)]
        wrong += [
            f"the check of {id} is marked shown: name {id} in a finding, or say under `check_fault`, by id, what is "
            "wrong with the check"
            for id in overruled_by_verdict(ledger, reply)
        ]
        grave = [str(n) for n, f in enumerate(reply.findings, 1) if f.text and f.severity == "high"]
        if reply.decision == "approve" and grave:
            which = f"{plural(len(grave), 'finding', 'findings')} {', '.join(grave)} {plural(len(grave), 'is', 'are')}"
            wrong.append(f"the decision is approve, but {which} of high severity: it is one or the other")
        return wrong

    return check


def overruled_by_plan(ledger: Ledger, reply: Plan) -> list[str]:
    """The ids of points that a plan overrules although a check shows them, without a fault found in the check."""
    return overruled(ledger, [one.id for one in reply.overruled], reply)


def overruled_by_verdict(ledger: Ledger, reply: Verdict) -> list[str]:
    """The same for a verdict on reviews, which rules on findings instead of points.

    It follows a point if a finding names the point, or if the point's tie-break mentions the check.
    """
    named = " ".join(f"{f.text} {f.why}" for f in reply.findings)
    named += " ".join(d.point for d in reply.disagreement if re.search(r"\bchecks?\b", d.tie_break, re.I))
    left = [p.id for p in ledger.points if ledger.status(p.id) != "withdrawn" and not re.search(rf"\b{p.id}\b", named)]
    return overruled(ledger, left, reply)


def grave(points: Iterable[Point]) -> list[str]:
    """The ids of the points that are P1 or P2."""
    return [p.id for p in points if p.severity != "P3"]


def untied(ledger: Ledger, reply: Verdict) -> list[Point]:
    """The open points for which a verdict gives no tie-break."""
    said = " ".join(d.point for d in reply.disagreement).replace(":", " ").replace(",", " ").split()
    return [p for p in ledger.open if p.id not in said]
