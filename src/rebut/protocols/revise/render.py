"""How critiques and revisions read in Markdown: in their files, and in the prompts of others."""

from __future__ import annotations

from collections.abc import Sequence

from rebut.core.text import squeeze
from rebut.domain.forms import cited
from rebut.domain.ledger import Claim, Entry, Evidence, Ledger, Move, Slip, baseless
from rebut.protocols.revise import headings
from rebut.protocols.revise.forms import Critique, Dispute, Objection, Revision

NONE = "None."
Placed = Sequence[tuple[str, Entry]]


def critique(
    form: Critique,
    weaknesses: Placed,
    disagreements: Placed,
    source: str,
    round: int,
    strengths: Sequence[Claim] = (),
) -> str:
    """A critique under the header of its round. One line for each item, so that they can be counted."""
    looked_up = {claim.text: claim.evidence for claim in strengths}
    strong = [f"{s.text}{_places(looked_up.get(s.text, cited(s.evidence)))}" for s in form.strengths if s.text]
    parts = [
        f"## Critique of {source} (Round {round})",
        _section("Strengths", strong),
        _section("Weaknesses", [_objection(o, *placed) for o, placed in _paired(form.weaknesses, weaknesses)]),
        _section("Disagreements", [_objection(o, *placed) for o, placed in _paired(form.disagreements, disagreements)]),
        _section("Concessions", [f"{f'{c.id}: ' if c.id else ''}{c.text}" for c in form.concessions if c.text or c.id]),
    ]
    return "\n\n".join(parts) + "\n"


def _paired(items: Sequence[Objection], placed: Placed) -> list[tuple[Objection, tuple[str, Entry]]]:
    return list(zip([item for item in items if item.text], placed, strict=True))


def _objection(item: Objection, id: str, entry: Entry) -> str:
    evidence = () if isinstance(entry, Slip) else entry.evidence
    severity, lowered = weighed(item.severity, evidence)
    grade = severity if item.impact == "none" else f"{severity}, {item.impact}"
    text = f"{item.text}: {item.why}" if isinstance(item, Dispute) and item.why else item.text
    return f"{id or 'no such point'} ({grade}{lowered}) {text}{_places(evidence)}"


def weighed(severity: str, evidence: Sequence[Evidence]) -> tuple[str, str]:
    """A severity as it may stand, and why it is not as it was said: nothing is high that rests on what is absent."""
    if severity == "high" and baseless(evidence):
        return "medium", "; said to be high, but what it cites is absent"
    return severity, ""


def revision(form: Revision, number: int, known: Sequence[str], entered: Sequence[Entry] = ()) -> str:
    """The comment, the Defense where anything is defended, then the document. `entered` are its moves, looked up."""
    marked = {m.point: m.evidence for m in entered if isinstance(m, Move) and m.kind == "defend"}
    inner = headings.parts(form.document)
    addressed = [a.id for a in form.addressed if a.id in known]
    defended = [d for d in form.defended if d.id in known]
    listed = f"Addressed critique points [{', '.join(addressed)}]. Defended: [{', '.join(d.id for d in defended)}]."
    top = [f"<!-- Revision v{number}: {listed} -->"]
    rows = [f"- {d.id}: {squeeze(d.reason)}{_places(marked.get(d.id, cited(d.evidence)))}" for d in defended]
    if inner.defense:
        rows += ["", inner.defense]  # what the author wrote there by hand is not lost
    if rows:
        top += ["", "### Defense", "", *rows]
    return "\n".join([*top, "", inner.document.strip("\n"), ""])


def points(ledger: Ledger, who: Sequence[str], names: Sequence[str]) -> str:
    """The ledger as authors and the synthesizer see it: who raised a point, by the name that the reader knows."""
    called = dict(zip(who, names, strict=True))
    rows = []
    for p in ledger.points:
        voices = " and ".join(called.get(v, v) for v in p.voices)
        severity = "P2" if p.severity == "P1" and baseless(p.evidence) else p.severity
        rows.append(f"{p.id} ({p.category}; {severity}; raised by {voices}; {ledger.status(p.id)}): {squeeze(p.text)}")
        for m in ledger.moves:
            if m.point == p.id and m.reason:
                rows.append(f"   {called.get(m.by, m.by)}, round {m.round}, {m.kind}: {squeeze(m.reason)}")
    for s in ledger.slips:
        rows.append(f"note: {called.get(s.by, s.by)} {s.kind.replace('dropped', 'dropped without a word')} {s.point}")
    return "\n".join(rows) or "none"


def _section(title: str, rows: Sequence[str]) -> str:
    return f"### {title}\n" + ("\n".join(f"- {squeeze(row)}" for row in rows) if rows else NONE)


def _places(evidence: Sequence[Evidence]) -> str:
    shown = []
    for e in evidence:
        quoted = f' "{squeeze(e.quote)}"' if e.quote else ""
        shown.append(f"{e.place}{quoted}" + (f" [{e.mark}]" if e.mark else ""))
    return f" — {'; '.join(shown)}" if shown else ""
