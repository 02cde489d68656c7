"""From what authors wrote to entries of the ledger."""

from __future__ import annotations

from rebut.domain.forms import cited
from rebut.domain.ledger import Claim, Entry, Ledger, Move, Point, Slip
from rebut.protocols.revise import reply_checks as rules
from rebut.protocols.revise.convergence import DISAGREEMENT, WEAKNESS
from rebut.protocols.revise.forms import Critique, Dispute, Objection, Revision


def critique(form: Critique, by: str, about: str, round: int, ledger: Ledger) -> list[Entry]:
    """Weaknesses, then disagreements, then what is conceded by id, then what was silently dropped, then strengths."""
    out = [_raised(w, WEAKNESS, by, about, round, ledger) for w in form.weaknesses if w.text]
    out += [_raised(d, DISAGREEMENT, by, about, round, ledger) for d in form.disagreements if d.text]
    for one in form.concessions:
        if one.id:
            known = ledger.point(one.id)
            # To concede what one alone has raised is to take it back.
            own = known is not None and known.voices == (by,)
            out.append(Move(one.id, "withdraw" if own else "concede", by, round, one.text))
    out += [Slip("dropped", id, by, round) for id in rules.unspoken(ledger, by, form)]
    # What it praises by its place, so that this is looked up, too.
    return out + [Claim(s.text, by, round, cited(s.evidence)) for s in form.strengths if s.text and cited(s.evidence)]


def _raised(item: Objection, kind: str, by: str, about: str, round: int, ledger: Ledger) -> Entry:
    text = f"{item.text}: {item.why}" if isinstance(item, Dispute) and item.why else item.text
    known = ledger.point(item.same_as) if item.same_as else None
    if known is not None and by in known.voices:
        return Move(known.id, "maintain", by, round, text, cited(item.evidence), severity=item.grade)
    category = f"{kind}: {item.impact}"
    return Point(text, by, round, item.grade, category, cited(item.evidence), about, item.same_as)


def revision(form: Revision, by: str, round: int) -> list[Entry]:
    out: list[Entry] = [Move(a.id, "concede", by, round, a.change) for a in form.addressed]
    defended = {a.id for a in form.addressed}
    # Said both ways, it was given in to.
    out += [Move(d.id, "defend", by, round, d.reason, cited(d.evidence)) for d in form.defended if d.id not in defended]
    return out
