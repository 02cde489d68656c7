"""How a duel reads: each turn as Markdown, the list of points, and the report at the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rebut.core.text import squeeze, tame
from rebut.domain.ledger import Claim, Entry, Evidence, Ledger, Move, Point
from rebut.engine.debate import Debate
from rebut.protocols.duel import reply_checks as rules
from rebut.protocols.duel.forms import Challenge, Decision, Defense, Opening, Summary

NOTHING = " (cites nothing)"


def opening(form: Opening, new: Sequence[Entry]) -> str:
    return f"{form.position}\n\n{_claims(new)}".strip()


def challenge(form: Challenge, new: Sequence[Entry]) -> str:
    parts = [_points(new)]
    if form.unsupported:
        parts.append(f"Called unsupported: {', '.join(form.unsupported)}")
    parts.append(_list("Alternatives", form.alternatives))
    looked = form.coverage
    parts.append(
        _list(
            "Looked at",
            [
                f"correctness: {looked.correctness}",
                f"security: {looked.security}",
                f"developer experience: {looked.developer_experience}",
            ],
        )
    )
    agreed = [f"{a.text} (risk that remains: {a.risk or 'none named'})" for a in form.agreements]
    parts.append(_list("Agreed", agreed))
    return "\n\n".join(p for p in parts if p)


def defense(form: Defense, ledger: Ledger, n: int) -> str:
    moves = _moves(m for m in ledger.moves if m.by == "proposer" and m.round == n)
    new = _claims(c for c in ledger.claims if c.by == "proposer" and c.round == n)
    return "\n\n".join(p for p in (moves, f"Position now: {form.position}", new) if p)


def follow_up(new: Sequence[Entry], ledger: Ledger, n: int) -> str:
    moves = _moves(m for m in ledger.moves if m.by == "challenger" and m.round == n)
    return "\n\n".join(p for p in (moves, _points(new)) if p)


def points(ledger: Ledger) -> str:
    """The ledger as the debaters and the judge see it."""
    rows = []
    for p in ledger.points:
        about = f", about {p.about}" if p.about else ""
        kind = f"{p.severity}, {p.category}{about}; {ledger.status(p.id)}"
        rows.append(f"{p.id} ({kind}): {p.text}{_marks(p.evidence) or NOTHING}")
    for s in ledger.slips:
        rows.append(f"note: {s.by} {s.kind} {s.point} in round {s.round}" + _why(s.kind))
    rows += [f"note: {m.by} answered {m.point}, which is no point of this debate" for m in ledger.unmatched]
    return "\n".join(rows) or "none was raised"


def _why(kind: str) -> str:
    return " without new evidence" if kind == "walked back" else " without giving a reason"


def own_summary(ledger: Ledger, conceded: Sequence[Move]) -> str:
    """What the program can say without a model: the points and the concessions."""
    return f"{points(ledger)}\n\n{_list('Concessions', [f'{m.point}: {m.reason}' for m in conceded])}".strip()


def summary(form: Summary, verbatim: Sequence[str], conceded: Sequence[Move]) -> str:
    """The minutes; concessions that the writer left out are put back from the ledger, word for word."""
    # A few words out of a concession may say another thing than all of it: it then stands whole in their place.
    quotes = [(quote, rules.plain(quote)) for quote in verbatim]
    whole = [(m, squeeze(m.reason)) for m in conceded if not any(squeeze(m.reason) in plain for _, plain in quotes)]
    kept = [quote for quote, plain in quotes if not any(plain in reason for _, reason in whole)]
    kept += [f"{m.point}: {m.reason}" for m, _ in whole]
    agreed = [f"{a.text} (evidence: {', '.join(c.place for c in a.evidence) or 'none'})" for a in form.agreements]
    parts = [
        f"Proposer: {form.proposer}",
        f"Challenger: {form.challenger}",
        _list("Concessions, verbatim", kept),
        _list("Agreed", agreed),
        _list("Open", form.disagreements),
        _list("Contradictions", form.contradictions),
    ]
    return "\n\n".join(p for p in parts if p)


def checked(ledger: Ledger) -> str:
    """What the program looked at, in one sentence; never that anything is so."""
    marks = ledger.marks()
    total = sum(marks.values())
    said = ", ".join(f"{n} {name}" for name, n in sorted(marks.items()))
    looked = f"{total - marks.get('uncheckable', 0)} of {total} citations looked up ({said})"
    slips = [f"{s.point} {s.kind} by the {s.by}" for s in ledger.slips]
    bare = sum(1 for p in ledger.points if not p.evidence)
    return (
        f"{looked if total else 'no citation was made'}; {len(ledger.unsupported)} of {len(ledger.claims)} claims and "
        f"{bare} of {len(ledger.points)} points cite nothing; "
        f"concessions held: {'; '.join(slips) if slips else 'none was walked back or dropped'}."
    )


def unsupported(ledger: Ledger) -> list[str]:
    """What either side asserted and cited nothing for."""
    asserted: list[Claim | Point] = [*ledger.claims, *ledger.points]
    rows = [f"{one.id} ({one.by}, round {one.round}): {one.text}" for one in asserted if not one.evidence]
    return rows + [f"on {m.point} ({m.by}, round {m.round}): {m.reason}" for m in ledger.moves if _bare(m)]


def _bare(move: Move) -> bool:
    """An answer that needs evidence and brings none; pressing on and giving in need none."""
    return move.kind in ("defend", "partly", "resolve") and not move.evidence


def report(debate: Debate, ledger: Ledger, decision: Decision, rounds: int, notes: Sequence[str]) -> str:
    """The synthesis in its fixed format."""
    names = {role: debate.seat(role).label for role in ("proposer", "challenger")}
    agreed = [
        f"{a.text} (evidence: {', '.join(c.place for c in a.evidence) or 'none given'}"
        + (f"; risk that remains: {a.risk})" if a.risk else ")")
        for a in decision.agreements
    ]
    differ = [
        f"{d.point}: {names['proposer']} argues {d.proposer}, {names['challenger']} argues {d.challenger}"
        for d in decision.disagreements
    ]
    parts = [
        _head(debate, ledger, rounds),
        f"### Verdict\n\n{names[decision.winner]} ({decision.winner}) had the stronger argument because: "
        f"{tame(decision.reasoning)}",
        "### Debate Quality\n\n"
        f"- **Genuine disagreement**: {decision.genuine_disagreement}\n"
        f"- **Evidence quality**: {decision.evidence_quality}\n"
        f"- **Challenge depth**: {decision.challenge_depth}",
        _section("Key Agreements", agreed),
        _section("Key Disagreements", differ),
        _section("Unresolved Questions", decision.unresolved),
        _section("Unsupported Claims", unsupported(ledger)),
        _section("Notes", [*([debate.stopped] if debate.stopped else []), *notes]) if debate.stopped or notes else "",
        f"### Recommendation\n\n{tame(decision.recommendation)}",
    ]
    return "\n\n".join(p for p in parts if p) + "\n"


def without_verdict(debate: Debate, rounds: int, why: str) -> str:
    head, left = _head(debate, debate.ledger, rounds), points(debate.ledger)
    return f"{head}\n\n### Verdict\n\nNone: {why}.\n\n### Points at issue\n\n{left}\n"


def _head(debate: Debate, ledger: Ledger, rounds: int) -> str:
    rows = [f"**Topic**: {squeeze(debate.topic)}"]
    for role in ("proposer", "challenger"):
        who = debate.seat(role)
        spoke = f", for which {debate.stand_in(who)} spoke as a fallback" if debate.stand_in(who) else ""
        rows.append(f"**{role.capitalize()}**: {who.label} ({who.spec.model or 'default model'}){spoke}")
    planned = debate.planned(debate.settings.rounds)
    rows.append(f"**Rounds**: {rounds}" + ("" if rounds == planned else f" of {planned}"))
    rows.append(f"**Rigor**: Two positions compared under adversarial rules. The program checked: {checked(ledger)}")
    return "## Debate Summary\n\n" + "  \n".join(rows)


def _claims(entries: Iterable[Entry]) -> str:
    rows = [c for c in entries if isinstance(c, Claim)]
    return "\n".join(f"- {c.id}: {c.text}{_marks(c.evidence) or NOTHING}" for c in rows)


def _points(entries: Iterable[Entry]) -> str:
    rows = [p for p in entries if isinstance(p, Point)]
    return "\n".join(f"- {p.id} ({p.severity}, {p.category}): {p.text}{_marks(p.evidence) or NOTHING}" for p in rows)


def _moves(moves: Iterable[Move]) -> str:
    verbs = {"defend": "rebut", "partly": "trade-off", "resolve": "resolved", "maintain": "unresolved"}
    rows = []
    for m in moves:
        shown = NOTHING if _bare(m) else _marks(m.evidence)
        rows.append(f"- {m.point} {verbs.get(m.kind, m.kind)}: {m.reason}{shown}")
    return "\n".join(rows)


def _marks(evidence: Sequence[Evidence]) -> str:
    return f" — {'; '.join(e.shown for e in evidence)}" if evidence else ""


def _list(title: str, items: Sequence[str]) -> str:
    rows = [f"- {item}" for item in items if item]
    return f"{title}:\n" + "\n".join(rows) if rows else ""


def _section(title: str, items: Sequence[str]) -> str:
    rows = [f"- {squeeze(item)}" for item in items if item] or ["- none"]
    return f"### {title}\n\n" + "\n".join(rows)
