"""The text of a review: findings for prompts and for the decider, and the page of a round."""

from __future__ import annotations

from collections.abc import Sequence

from rebut.core.markdown import backticks, inline
from rebut.core.text import squeeze
from rebut.core.types import Changed
from rebut.domain import render as ledgers
from rebut.domain.fixes import lines_of
from rebut.domain.ledger import Ledger, Move, Point
from rebut.domain.render import Vocabulary, bullets, section
from rebut.domain.review_result import ReviewFinding, reason, ruling, severity
from rebut.protocols.cross import findings as weighing
from rebut.protocols.cross.forms import CodeCritique, ProposalCritique
from rebut.workspace.targets.target import Target

LONGEST_LINE = 2_000
AROUND = 8
"""Lines before and after a citation that are shown with it."""
WORDS = Vocabulary(
    moves_of={
        "judge": {"concede": "valid", "defend": "invalid", "maintain": "missing evidence"},
        "decider": {"concede": "valid", "defend": "invalid", "maintain": "missing evidence"},
        "critic": {"maintain": "raised again", "mend": "fixed", "withdraw": "withdrawn"},
    }
)


def findings_text(ledger: Ledger, points: Sequence[Point]) -> str:
    """Findings for a prompt, with the judge's ruling on each."""
    return "\n".join(ledgers.points(ledger, WORDS, only=points, status=lambda id: _status(ledger, id))) or "none"


def _status(ledger: Ledger, id: str) -> str:
    """The judge's ruling on a finding, and whether the finding is over."""
    point = ledger.point(id)
    assert point is not None
    word, status = ruling(ledger, point), ledger.status(id)
    judged = f"judged {word}, {severity(ledger, point)}" if word else "not judged yet"
    return f"{judged}, {status}" if status in weighing.OVER else judged


def artifact(target: Target) -> str:
    """`artifact.md`: the artifact as the user gave it."""
    if target.given and not target.is_beside_change:
        return target.given
    parts = [text.rstrip("\n")] if (text := target.given or target.text) else []
    if target.diff:
        parts.append(fenced(target.diff, "diff"))
    elif target.changes:
        parts += [f"## {inline(c.path)}\n\n{fenced(c.after)}" for c in target.changes if c.after is not None]
    return "\n\n".join(parts) + "\n"


def fenced(text: str, kind: str = "") -> str:
    fence = backticks(text)
    return f"{fence}{kind}\n{text.rstrip(chr(10))}\n{fence}"


def concerns(replies: Sequence[CodeCritique], points: Sequence[Point], unplaced: Sequence[Move] = ()) -> str:
    """A round's critique: agreements, concerns, suggestions, and what a proposal's critic adds.

    `unplaced` are concerns that name a finding which does not exist.
    """
    documents = dict.fromkeys(p.about for p in points)
    found = [
        f"Concerns{f' about {about}' if about else ''}:\n" + ledgers.raised([p for p in points if p.about == about])
        for about in documents
    ]
    found += ["\n".join(["Concerns:", *(f"- {row}" for row in ledgers.unplaced(unplaced))])] if unplaced else []
    parts = [
        bullets("Agreements:", [a for r in replies for a in r.agreements], "- none"),
        *(found or ["Concerns:\n- none"]),
        bullets("Suggestions:", [s for r in replies for s in r.suggestions], "- none"),
    ]
    for reply in replies:
        if isinstance(reply, ProposalCritique):
            parts.append(bullets("Missing alternatives:", reply.alternatives, "- none"))
            parts.append(f"Recommended decision: {reply.recommendation or 'none given'}")
    return "\n\n".join(parts)


def page(
    n: int, replies: Sequence[CodeCritique], points: Sequence[Point], ledger: Ledger, agreed: bool, by: str = ""
) -> str:
    """`round-N-critique.md`: the critique, and the judge's ruling on each finding. `by` names the fallback, if any."""
    found = [f"{ledgers.point_line(p)}{_judged(ledger, p)}" for p in points]
    found += ledgers.unplaced_by(ledger, "critic", n)
    parts = [
        f"# Round {n}: critique",
        *([by] if by else []),
        section("## Agreements", [a for r in replies for a in r.agreements]),
        section("## Concerns", found),
        section("## Suggestions", [s for r in replies for s in r.suggestions]),
    ]
    for reply in replies:
        if isinstance(reply, ProposalCritique):
            parts.append(section("## Missing alternatives", reply.alternatives))
            parts.append(section("## Recommended decision", [reply.recommendation]))
    missed = ledger.raised_by("judge", n)
    added = [*map(ledgers.point_line, missed), *ledgers.unplaced_by(ledger, "judge", n)]
    parts += [section("## Added by the judge", added)] if added else []
    parts += ["The critic agrees."] if agreed else []
    return "\n\n".join(parts) + "\n"


def cited_excerpts(ledger: Ledger, changes: Sequence[Changed]) -> str:
    """The lines around each citation, for a change that is too large to be shown as a whole."""
    texts = {c.path: c.after for c in changes if c.after is not None}
    out: dict[str, str] = {}
    for point in ledger.points:
        for e in point.evidence:
            place = lines_of(e.place)
            if place and place[0] in texts:
                path, first, last = place
                out[e.place] = f"{e.place}\n{excerpt(texts[path], first, last)}"
    return "\n\n".join(out.values()) or "none of the cited lines could be shown"


def table(findings: Sequence[ReviewFinding]) -> tuple[tuple[str, ...], ...]:
    """The findings of a round for a person who decides: a header, then one row each."""
    head = ("id", "sev", "where", "finding", "quote", "judge")
    rows = []
    for f in findings:
        why = f": {squeeze(f.reason)}" if f.ruling == "invalid" and f.reason else ""
        rows.append((f.id, f.severity, f.place or "–", squeeze(f.text), f.mark or "–", f"{f.ruling or '–'}{why}"))
    return (head, *rows)


def _judged(ledger: Ledger, point: Point) -> str:
    word = ruling(ledger, point)
    return f" Judge: {word}, {severity(ledger, point)}. {reason(ledger, point)}" if word else ""


def excerpt(text: str, start: int, end: int) -> str:
    """The lines `start` to `end` of a file and some lines around them, with their numbers."""
    lines = text.split("\n")
    first, last = max(1, start - AROUND), min(len(lines), end + AROUND)
    return "\n".join(f"{n:>4}| {lines[n - 1][:LONGEST_LINE]}" for n in range(first, last + 1))
