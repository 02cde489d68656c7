"""What can be checked of the replies. Each check says what is wrong, for the one send-back; pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from rebut.core.text import squeeze
from rebut.domain.ledger import Ledger
from rebut.protocols.revise import headings
from rebut.protocols.revise.forms import Critique, Draft, Plan, Revision, Verdict


def draft(reply: Draft) -> list[str]:
    if not reply.document:
        return ["the document is empty"]
    return [] if headings.sections(reply.document) else ["the document has no heading: give every section one"]


def due(ledger: Ledger, critic: str) -> list[str]:
    """Points of this critic that were answered with a defense: it may press them or give in, but not keep silent."""
    return [p.id for p in ledger.having("defended") if critic in p.voices]


def critique(ledger: Ledger, critic: str) -> Callable[[Critique], list[str]]:
    def check(reply: Critique) -> list[str]:
        wrong = []
        for kind, items in (("weakness", reply.weaknesses), ("disagreement", reply.disagreements)):
            for n, item in enumerate(items, 1):
                if not item.text:
                    wrong.append(f"{kind} {n} is empty")
                elif not item.evidence:
                    wrong.append(f"{kind} {n} names no place: a section of the document, or a file and line")
        named = spoken_of(reply)
        wrong += _unknown(named, ledger)
        wrong += [
            f"{id} was defended: press it again (`same_as`) or concede it" for id in unspoken(ledger, critic, reply)
        ]
        return wrong

    return check


def spoken_of(reply: Critique) -> set[str]:
    again = {item.same_as for item in (*reply.weaknesses, *reply.disagreements) if item.same_as}
    return again | {c.id for c in reply.concessions if c.id}


def unspoken(ledger: Ledger, critic: str, reply: Critique) -> list[str]:
    return [id for id in due(ledger, critic) if id not in spoken_of(reply)]


def revision(ledger: Ledger, required: Sequence[str], before: str) -> Callable[[Revision], list[str]]:
    """`before` is the version that is revised, `required` the points that need an answer."""
    was = headings.headings(before)

    def check(reply: Revision) -> list[str]:
        if not reply.document:
            return ["the document is empty: the whole of it is asked for, also where nothing changes"]
        wrong = headings.difference(was, headings.headings(reply.document))
        addressed, defended = {a.id for a in reply.addressed}, {d.id for d in reply.defended}
        wrong += [
            f"{id} is not answered: address it or defend against it"
            for id in required
            if id not in addressed | defended
        ]
        wrong += [f"{id} is both addressed and defended" for id in sorted(addressed & defended)]
        wrong += [f"{a.id} is said to be addressed, but not how" for a in reply.addressed if not a.change]
        wrong += [f"{d.id} is defended without a reason" for d in reply.defended if not d.reason]
        wrong += _unknown(addressed | defended, ledger)
        same = squeeze(headings.parts(reply.document).document) == squeeze(headings.parts(before).document)
        if addressed and same:
            wrong.append("points are said to be addressed, and the document is word for word as it was")
        return wrong

    return check


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
        return wrong + _unknown(ruled, ledger)

    return check


def verdict(ledger: Ledger) -> Callable[[Verdict], list[str]]:
    def check(reply: Verdict) -> list[str]:
        wrong = [f"the assessment of the {n} review is empty" for n in ("first", "second") if not getattr(reply, n)]
        wrong += [f"finding {n} is empty" for n, f in enumerate(reply.findings, 1) if not f.text]
        wrong += [f"disagreement {n} has no tie-break" for n, d in enumerate(reply.disagreement, 1) if not d.tie_break]
        said = " ".join(d.point for d in reply.disagreement).replace(":", " ").replace(",", " ").split()
        wrong += [f"{p.id} is still open, and nothing is said to decide it" for p in ledger.open if p.id not in said]
        return wrong

    return check


def _unknown(ids: Iterable[str], ledger: Ledger) -> list[str]:
    known = [p.id for p in ledger.points]
    there = f"the points are {', '.join(known)}" if known else "there is no point yet"
    return [f"there is no point {id}: {there}" for id in sorted(set(ids) - set(known))]
