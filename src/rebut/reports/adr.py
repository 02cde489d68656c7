"""A decision record (ADR) of a session: context, decision, alternatives, consequences, dissent. From events alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rebut.core.json_value import objects
from rebut.core.markdown import inline, tame
from rebut.core.text import counted, cut
from rebut.domain.amounts import spent
from rebut.domain.doubts import RULES
from rebut.domain.ledger import Ledger
from rebut.domain.outcome import DecisionNotes, Outcome
from rebut.domain.session_status import counted_ledger, outcome_of, status
from rebut.record.record import Record

NO_DISSENT = "None: no participant that answered still objects."


def adr(record: Record) -> str:
    """The decision of a session, in the usual sections of a decision record. Missing parts are marked as missing."""
    opened, outcome, ledger = record.opened, outcome_of(record), counted_ledger(record)
    notes = (outcome.decision_notes if outcome else None) or DecisionNotes()
    files = record.facts.get("context")
    given = files.value.get("files") if files and isinstance(files.value, dict) else ()
    paths = [str(f["path"]) for f in objects(given) if "path" in f]
    asked = counted(len(record.calls), "question")
    parts = [
        f"# {inline(cut(opened.topic, 100))}",
        f"- Status: {inline(_status(record, outcome))}\n- Date: {record.lines[-1].at[:10]}\n"
        f"- Deciders: {inline(', '.join(map(_decider, opened.seats)))}\n- Session: {opened.id} ({opened.protocol})",
        "## Context",
        tame(opened.topic),
        _list([f"file given to all: {path}" for path in paths]),
        _list(notes.context),
        "## Decision",
        tame(outcome.decision) if outcome and outcome.decision else "None was reached.",
        "## Alternatives",
        _list(notes.alternatives) or "None is on record.",
        "## Consequences",
        _list(_consequences(notes, outcome, ledger)) or "None is on record.",
        "## Dissent",
        _list(_dissent(notes, ledger, outcome)) or (NO_DISSENT if outcome else "Not known: this debate has not ended."),
        "## How this was decided",
        f"{asked}, {spent(record.spent())}. Details: `rebut show {opened.id}`.",
    ]
    return "\n\n".join(p for p in parts if p) + "\n"


def _status(record: Record, outcome: Outcome | None) -> str:
    if outcome is None:
        return f"proposed; {status(record)}"
    if not outcome.conclusive:
        return f"proposed, on an incomplete debate ({outcome.heading})"
    if outcome.unsettled:
        return f"proposed, {outcome.unsettled}" + ("" if ":" in outcome.unsettled else f" ({outcome.heading})")
    if outcome.accepted:
        return f"accepted ({outcome.heading})"
    why = next((RULES[doubt.kind].means for doubt in outcome.doubts if "accepted" in doubt.denies), "with a caveat")
    return f"proposed: {why} ({outcome.heading})"


def _unresolved(outcome: Outcome | None) -> Sequence[str]:
    """The findings of a review that were judged valid and that no version fixes, each as `ID text`."""
    return outcome.review.unresolved if outcome and outcome.review else ()


def _decider(row: Mapping[str, Any]) -> str:
    return f"{row['seat']} {row['spec']}"


def _consequences(notes: DecisionNotes, outcome: Outcome | None, ledger: Ledger) -> Iterable[str]:
    unresolved_ids = {text.partition(" ")[0] for text in _unresolved(outcome)}
    valid = {f.id for f in outcome.review.findings if f.ruling == "valid"} if outcome and outcome.review else set()
    for p in ledger.points:
        if p.id not in unresolved_ids and ledger.final_status(p.id) in ("conceded", "partly accepted"):
            yield f"{p.id} {'is a finding that was judged valid' if p.id in valid else 'was accepted'}: {p.words()}"
    yield from notes.consequences


def _dissent(notes: DecisionNotes, ledger: Ledger, outcome: Outcome | None) -> Iterable[str]:
    if notes.dissent is None:
        for p in ledger.open:
            yield f"{p.id} ({p.severity}, {ledger.final_status(p.id)}): {p.words()}"
    yield from notes.dissent or ()
    open_ids = {p.id for p in ledger.open}
    for text in _unresolved(outcome):
        if text.partition(" ")[0] not in open_ids:
            yield f"not fixed: {text}"
    for s in dict.fromkeys(ledger.slips):
        lacking = "new evidence" if s.kind == "walked back" else "a reason"
        yield f"{s.point} was {s.kind} by {s.by} in round {s.round} without {lacking}"
    if outcome and outcome.stopped:
        yield f"the debate ended early: {outcome.stopped}"


def _list(rows: Iterable[str]) -> str:
    return "\n".join(f"- {inline(row)}" for row in rows)
