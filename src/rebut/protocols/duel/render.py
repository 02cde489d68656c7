"""The text of a duel: turns and points for prompts, and the final report."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rebut.core.markdown import inline, tame
from rebut.core.text import cut, squeeze
from rebut.domain import render as ledgers
from rebut.domain.ledger import UNPROVEN, Claim, Entry, Ledger, Move, Point, distinct
from rebut.domain.render import Vocabulary, bullets, section
from rebut.engine.debate import Debate
from rebut.protocols.duel import reply_checks
from rebut.protocols.duel.forms import Challenge, Decision, Defense, Opening, Summary

WORDS = Vocabulary(
    moves={"defend": "rebut", "partly": "trade-off", "resolve": "resolved", "maintain": "unresolved"},
    needs_evidence=("concede", "defend", "partly", "resolve", "withdraw"),
)


# the turns


def opening(form: Opening, new: Sequence[Entry]) -> str:
    return f"{form.position}\n\n{ledgers.claims(new)}".strip()


def challenge(form: Challenge, ledger: Ledger, by: str = "challenger") -> str:
    looked = form.coverage
    covered = {
        "correctness": looked.correctness,
        "security": looked.security,
        "developer experience": looked.developer_experience,
    }
    agreed = [f"{a.text} (risk that remains: {a.risk or 'none named'})" for a in form.agreements]
    parts = [
        ledgers.raised_by(ledger, by, 1, WORDS),
        f"Claims without evidence: {', '.join(form.unsupported)}" if form.unsupported else "",
        bullets("Alternatives:", form.alternatives),
        bullets("Examined:", [f"{field}: {found}" for field, found in covered.items()]),
        bullets("Agreed:", agreed),
    ]
    return "\n\n".join(p for p in parts if p)


def defense(form: Defense, ledger: Ledger, n: int, by: str = "proposer", claims: Sequence[Entry] | None = None) -> str:
    """Render a defense. `claims` are its new claims; None stands for all claims of the seat in this round."""
    moves = ledgers.moves((m for m in ledger.moves if m.by == by and m.round == n), WORDS)
    made = [c for c in ledger.claims if c.by == by and c.round == n] if claims is None else claims
    new = ledgers.claims(made)
    return "\n\n".join(p for p in (moves, f"Position now: {form.position}", new) if p)


def follow_up(ledger: Ledger, n: int, by: str = "challenger") -> str:
    moves = ledgers.moves((m for m in ledger.answers if m.by == by and m.round == n), WORDS)
    return "\n\n".join(p for p in (moves, ledgers.raised_by(ledger, by, n, WORDS)) if p)


def points(ledger: Ledger, name: Callable[[str], str] = str, *, quoted_since: int = ledgers.ENDLESS) -> str:
    """The points for the debaters and the judge, whose prompts also quote the turns since round `quoted_since`."""
    shown = ledgers.points(ledger, WORDS, name=name, answers="none", quoted_since=quoted_since)
    rows = [*shown, *ledgers.unmatched(ledger, name)]
    return "\n".join(rows) or "none"


# the summary of earlier rounds


def summary(form: Summary, verbatim: Sequence[str], conceded: Sequence[Move]) -> str:
    """The summary; concessions that its writer left out are added from the ledger, word for word."""
    # A quoted part of a concession may mean something else than the whole, so the whole concession replaces it.
    quotes = [(quote, reply_checks.bare_quote(quote)) for quote in verbatim]
    whole = [(m, squeeze(m.reason)) for m in conceded if not any(squeeze(m.reason) in plain for _, plain in quotes)]
    kept = [quote for quote, plain in quotes if not any(plain in reason for _, reason in whole)]
    kept += [f"{m.point}: {m.reason}" for m, _ in whole]
    agreed = [f"{a.text} (evidence: {', '.join(c.place for c in a.evidence) or 'none'})" for a in form.agreements]
    parts = [
        f"Proposer: {form.proposer}",
        f"Challenger: {form.challenger}",
        bullets("Concessions, verbatim:", kept),
        bullets("Agreed:", agreed),
        bullets("Open:", form.disagreements),
        bullets("Contradictions:", form.contradictions),
    ]
    return "\n\n".join(p for p in parts if p)


def own_summary(ledger: Ledger, conceded: Sequence[Move]) -> str:
    """A summary without a model: the points and the concessions."""
    given = bullets("Concessions:", [f"{m.point}: {m.reason}" for m in conceded])
    return f"{points(ledger)}\n\n{given}".strip()


# the report


def report(
    debate: Debate, ledger: Ledger, decision: Decision, rounds: int, notes: Sequence[str], votes: Sequence[str] = ()
) -> str:
    """The report in its fixed format."""
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
        section("### Votes", votes, "") if votes else "",
        "### Debate Quality\n\n"
        f"- **Genuine disagreement**: {decision.genuine_disagreement}\n"
        f"- **Evidence quality**: {decision.evidence_quality}\n"
        f"- **Challenge depth**: {decision.challenge_depth}",
        section("### Key Agreements", agreed),
        section("### Key Disagreements", differ),
        section("### Unresolved Questions", decision.unresolved),
        section("### Unsupported Claims", unsupported(ledger)),
        section("### Notes", [*([debate.stopped] if debate.stopped else []), *notes, *debate.fallbacks], ""),
        f"### Recommendation\n\n{tame(decision.recommendation)}",
    ]
    return "\n\n".join(p for p in parts if p) + "\n"


def rows(ledger: Ledger, decision: Decision) -> tuple[tuple[str, str], ...]:
    """What the screen shows of the report besides the verdict: the ratings, the open questions, the rigor line."""
    quality = (
        f"genuine disagreement {decision.genuine_disagreement}, evidence quality {decision.evidence_quality}, "
        f"challenge depth {decision.challenge_depth}"
    )
    left = [squeeze(question) for question in decision.unresolved]
    more = f"; {len(left) - 3} more in the report" if len(left) > 3 else ""
    unresolved = "; ".join(cut(question, 160) for question in left[:3]) + more
    return (("quality", quality), ("unresolved", unresolved or "none"), ("rigor", checked(ledger)))


def without_verdict(debate: Debate, rounds: int, why: str, votes: Sequence[str] = ()) -> str:
    head, left = _head(debate, debate.ledger, rounds), points(debate.ledger)
    parts = [head, f"### Verdict\n\nNone: {inline(why)}."]
    parts += [section("### Votes", votes, "")] if votes else []
    parts.append(f"### Points at issue\n\n{tame(left)}")
    return "\n\n".join([*parts, *filter(None, [section("### Notes", debate.fallbacks, "")])]) + "\n"


def _head(debate: Debate, ledger: Ledger, rounds: int) -> str:
    rows = [f"**Topic**: {inline(debate.topic)}"]
    for role in ("proposer", "challenger"):
        who = debate.seat(role)
        fallback = f", answered by its fallback {debate.stand_in(who)}" if debate.stand_in(who) else ""
        model = who.spec.model or "default model"
        rows.append(f"**{role.capitalize()}**: {inline(f'{who.label} ({model}){fallback}')}")
    planned = debate.planned(debate.settings.rounds)
    rows.append(f"**Rounds**: {rounds}" + ("" if rounds == planned else f" of {planned}"))
    rows.append(f"**Rigor**: Two positions compared under adversarial rules. The program checked: {checked(ledger)}")
    return "## Debate Summary\n\n" + "  \n".join(rows)


def checked(ledger: Ledger, name: Callable[[str], str] = "the {}".format) -> str:
    """What the program checked, in one sentence. It never says that a claim is true."""
    marks = ledger.marks()
    total = sum(marks.values())
    said = ", ".join(f"{n} {name}" for name, n in sorted(marks.items()))
    looked = f"{total - marks.get('uncheckable', 0)} of {total} citations checked ({said})"
    slips = [f"{s.point} {s.kind} by {name(s.by)}" for s in ledger.slips]
    bare = sum(1 for p in ledger.points if not p.evidence)
    granted = [p.id for p in ledger.having(UNPROVEN)]
    unproven = f"{', '.join(granted)} conceded without evidence, which settles nothing; " if granted else ""
    return (
        f"{looked if total else 'nothing was cited'}; {len(ledger.unsupported)} of {len(ledger.claims)} claims and "
        f"{bare} of {len(ledger.points)} points cite nothing; {unproven}"
        f"concessions: {'; '.join(slips) if slips else 'none was walked back, and no point was dropped'}."
    )


def unsupported(ledger: Ledger) -> list[str]:
    """What either side asserted without citing anything."""
    asserted: list[Claim | Point] = [*ledger.claims, *(one for p in ledger.points for one in distinct(p.wordings))]
    rows = [f"{one.id} ({one.by}, round {one.round}): {one.text}" for one in asserted if not one.evidence]
    return rows + [
        f"on {m.point} ({m.by}, round {m.round}): {m.reason}"
        for m in ledger.answers
        if m.kind in WORDS.needs_evidence and not m.evidence
    ]
