"""How what was said is put: to the judge, to the critic of the next round, and on the pages that stay."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rebut.core.text import squeeze, tame
from rebut.core.types import Changed
from rebut.domain.ledger import Evidence, Ledger, Point
from rebut.domain.review_result import ReviewFinding, reason, ruling, severity
from rebut.protocols.cross import findings as weighing
from rebut.protocols.cross.forms import CodeCritique, ProposalCritique

NOTHING = " [cites nothing]"
LONGEST_LINE = 2_000


def finding(point: Point) -> str:
    """A finding as it was raised, with its marks."""
    action = f" To do: {point.action}" if point.action else ""
    fix = f" Proposed text: {point.fix}" if point.fix else ""
    return f"{point.id} ({point.severity}, {point.category}): {point.text}{marks(point.evidence)}{action}{fix}"


def marks(evidence: Sequence[Evidence]) -> str:
    return f" — {'; '.join(e.shown for e in evidence)}" if evidence else NOTHING


def weighed(ledger: Ledger, points: Iterable[Point]) -> str:
    """Findings with the judge's word on each."""
    rows = []
    for p in points:
        word = ruling(ledger, p)
        said = reason(ledger, p)
        judged = f" Judge: {word}, {severity(ledger, p)}{f', {said}' if said else ''}." if word else ""
        rows.append(f"- {finding(p)}{judged} Status: {ledger.status(p.id)}.")
    return "\n".join(rows) or "none"


def concerns(replies: Sequence[CodeCritique], points: Sequence[Point]) -> str:
    """A round's critique: agreements, concerns, suggestions, and what a proposal's critic adds."""
    parts = [
        _list("Agreements", [a for r in replies for a in r.agreements]),
        _list("Concerns", [finding(p) for p in points]),
        _list("Suggestions", [s for r in replies for s in r.suggestions]),
    ]
    for reply in replies:
        if isinstance(reply, ProposalCritique):
            parts.append(_list("Missing alternatives", reply.alternatives))
            parts.append(f"Recommended decision: {reply.recommendation or 'none given'}")
    return "\n\n".join(parts)


def page(n: int, replies: Sequence[CodeCritique], points: Sequence[Point], ledger: Ledger, agreed: bool) -> str:
    """`round-N-critique.md`: what the critic said, and what became of it."""
    found = [f"{finding(p)}{_judged(ledger, p)}" for p in points]
    parts = [
        f"# Round {n}: critique",
        _section("Agreements", [a for r in replies for a in r.agreements]),
        _section("Concerns", found),
        _section("Suggestions", [s for r in replies for s in r.suggestions]),
    ]
    for reply in replies:
        if isinstance(reply, ProposalCritique):
            parts.append(_section("Missing alternatives", reply.alternatives))
            parts.append(_section("Recommended decision", [reply.recommendation]))
    missed = [p for p in ledger.points if p.round == n and "judge" in p.voices]
    parts += [_section("Added by the judge", [finding(p) for p in missed])] if missed else []
    parts += ["The critic agrees."] if agreed else []
    return "\n\n".join(parts) + "\n"


def cited(ledger: Ledger, changes: Sequence[Changed]) -> str:
    """The lines around what is cited, for a judge to whom the whole change would be too much."""
    texts = {c.path: c.after for c in changes if c.after is not None}
    out: dict[str, str] = {}
    for point in ledger.points:
        for e in point.evidence:
            place = weighing.lines_of(e.place)
            if place and place[0] in texts:
                path, first, last = place
                out[e.place] = f"{e.place}\n{excerpt(texts[path], first, last)}"
    return "\n\n".join(out.values()) or "none of the cited lines could be shown"


def table(findings: Sequence[ReviewFinding]) -> tuple[tuple[str, ...], ...]:
    """A round's findings for a person who decides: one row each, below a head."""
    head = ("id", "sev", "where", "finding", "quote", "judge")
    rows = []
    for f in findings:
        why = f": {squeeze(f.reason)}" if f.ruling == "invalid" and f.reason else ""
        rows.append((f.id, f.severity, f.place or "–", squeeze(f.text), f.mark or "–", f"{f.ruling or '–'}{why}"))
    return (head, *rows)


def _judged(ledger: Ledger, point: Point) -> str:
    word = ruling(ledger, point)
    return f" Judge: {word}, {severity(ledger, point)}. {reason(ledger, point)}" if word else ""


def _list(title: str, items: Sequence[str]) -> str:
    rows = [f"- {item}" for item in items if item]
    return f"{title}:\n" + ("\n".join(rows) if rows else "- none")


def _section(title: str, items: Sequence[str]) -> str:
    rows = [f"- {squeeze(tame(item))}" for item in items if item] or ["- none"]
    return f"## {title}\n\n" + "\n".join(rows)


def excerpt(text: str, start: int, end: int, around: int = 8) -> str:
    """Some lines of a file with their numbers."""
    lines = text.split("\n")
    first, last = max(1, start - around), min(len(lines), end + around)
    return "\n".join(f"{n:>4}| {lines[n - 1][:LONGEST_LINE]}" for n in range(first, last + 1))
