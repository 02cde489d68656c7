"""A decision record (ADR) of a session: context, decision, alternatives, consequences, dissent. From events alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from rebut.core.text import cut, squeeze, tame
from rebut.domain.ledger import Ledger
from rebut.domain.outcome import Outcome
from rebut.domain.session_status import ledger_of, outcome_of, status
from rebut.record.record import Record
from rebut.reports.terminal import spent

NOBODY = "None: nobody who was heard objects any more."


def adr(record: Record) -> str:
    """The record of one decision, in the sections that such records have. What the session does not hold is said so."""
    opened, outcome, ledger = record.opened, outcome_of(record), ledger_of(record)
    data = dict(outcome.data) if outcome else {}
    files = record.facts.get("context")
    given = files.value.get("files") if files and isinstance(files.value, dict) else ()
    paths = [str(f["path"]) for f in _dicts(given) if "path" in f]
    asked = f"{len(record.calls)} question{'' if len(record.calls) == 1 else 's'}"
    parts = [
        f"# {cut(opened.topic, 100)}",
        f"- Status: {_status(record, outcome)}\n- Date: {record.lines[-1].at[:10]}\n"
        f"- Deciders: {', '.join(_who(row) for row in opened.seats)}\n- Session: {opened.id} ({opened.protocol})",
        "## Context",
        tame(opened.topic) + (f"\n\nField: {data['domain']}." if data.get("domain") else ""),
        _list([f"given to all: {path}" for path in paths]),
        _list([f"taken for granted at the start: {a}" for a in _texts(data.get("opening_assumptions"))]),
        "## Decision",
        tame(outcome.decision) if outcome and outcome.decision else "None was reached.",
        "## Alternatives",
        _list(_alternatives(data)) or "None is on record.",
        "## Consequences",
        _list(_consequences(data, ledger)) or "None is on record.",
        "## Dissent",
        _list(_dissent(data, ledger, outcome)) or (NOBODY if outcome else "Not known: this debate has not ended."),
        "## How this was decided",
        f"{asked}, {spent(record.spent())}. `rebut show {opened.id}` has all of it.",
    ]
    return "\n\n".join(p for p in parts if p) + "\n"


def _status(record: Record, outcome: Outcome | None) -> str:
    if outcome is None:
        return f"proposed; {status(record)}"
    if not outcome.conclusive:
        return f"proposed, on an incomplete debate ({outcome.heading})"
    if outcome.kind == "stopped":  # a review that nobody decided is no decision
        return f"proposed, not decided ({outcome.heading})"
    if outcome.kind == "tradeoff":
        return f"proposed, contested ({outcome.heading})"
    if outcome.kind == "uncontested":
        return "proposed, uncontested: whoever was asked chose the same, and nobody argued against it"
    if outcome.caveats:
        return f"proposed, not independently judged ({outcome.heading})"
    return f"accepted ({outcome.heading})"


def _unresolved(data: Mapping[str, Any]) -> Sequence[str]:
    """What a review leaves to be done: findings that were judged valid, and that no version mends."""
    made = data.get("contract")
    return _texts(made.get("unresolved")) if isinstance(made, dict) else ()


def _who(row: Mapping[str, Any]) -> str:
    return f"{row['seat']} {row['spec']}"


def _alternatives(data: Mapping[str, Any]) -> Iterable[str]:
    history = _dicts(data.get("position_history"))
    for old, new in pairwise(history):
        why = [f"{c.get('lens')} raised {c.get('point')}" for c in _dicts(new.get("causes"))]
        if squeeze(str(old.get("text"))) != squeeze(str(new.get("text"))):
            yield f"v{old.get('version')}: {old.get('text')} Given up: {'; '.join(why) or 'no point was named'}."
    for one in _dicts(data.get("grounds")):
        yield f"what would speak against the decision, says the {one.get('party')}: {one.get('other_right')}"
    verdict = data.get("decision")
    for row in _dicts(verdict.get("disagreements") if isinstance(verdict, dict) else ()):
        yield f"{row.get('point')}: {row.get('proposer')}, or {row.get('challenger')}"


def _consequences(data: Mapping[str, Any], ledger: Ledger) -> Iterable[str]:
    left = {text.partition(" ")[0] for text in _unresolved(data)}
    for p in ledger.points:
        if p.id not in left and ledger.final_status(p.id) in ("conceded", "partly accepted"):
            yield f"{p.id} is taken into account: {p.text}"
    for text in _texts(data.get("opening_weaknesses")):
        yield f"weak by its author's own account: {text}"
    for one in _dicts(data.get("grounds")):
        for crux in _dicts(one.get("cruxes")):
            if crux.get("checkable"):
                yield f"[ ] find out: {crux.get('question')} ({crux.get('how')})"


def _dissent(data: Mapping[str, Any], ledger: Ledger, outcome: Outcome | None) -> Iterable[str]:
    voices = _dicts(data.get("challengers"))
    for c in voices:
        if c.get("stand") == "dissent":
            yield f"{c.get('shown')}: {c.get('objection_strength')}: {c.get('concern')}"
        elif c.get("stand") not in ("agree", "minor"):
            yield f"{c.get('shown')} was not heard: {c.get('failure')}"
    if not voices:
        for p in ledger.open:
            yield f"{p.id} ({p.severity}, {ledger.final_status(p.id)}): {p.text}"
    told = {p.id for p in ledger.open}
    for text in _unresolved(data):
        if text.partition(" ")[0] not in told:
            yield f"not mended: {text}"
    for s in dict.fromkeys(ledger.slips):
        lacking = "new evidence" if s.kind == "walked back" else "a reason"
        yield f"{s.point} was {s.kind} by {s.by} in round {s.round} without {lacking}"
    if outcome and outcome.stopped:
        yield f"the debate ended early: {outcome.stopped}"


def _dicts(rows: Any) -> Sequence[Mapping[str, Any]]:
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list | tuple) else []


def _texts(rows: Any) -> Sequence[str]:
    return [str(row) for row in rows if row] if isinstance(rows, list | tuple) else []


def _list(rows: Iterable[str]) -> str:
    return "\n".join(f"- {squeeze(row)}" for row in rows)
