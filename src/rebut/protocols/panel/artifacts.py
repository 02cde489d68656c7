"""The files of a panel in `debates/NNN-slug`: made from the record, written as the debate proceeds, never read back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rebut.core.json_value import Json, objects
from rebut.core.markdown import inline, tame
from rebut.domain.render import cell
from rebut.domain.session_status import fallbacks, stood_in
from rebut.engine.protocol import Artifact, Ended
from rebut.protocols.panel.render import turn
from rebut.protocols.shared import json_text
from rebut.record.events import Fact
from rebut.record.record import Call, Record

STEPS = ("challenge", "rebuttal")


def artifacts(ended: Ended) -> list[Artifact]:
    record = ended.record
    place = record.facts.get("folder")
    state = state_of(record)
    if place is None or state is None:
        return []
    folder = str(place.value)
    out = [Artifact(f"{folder}/context.md", _context(ended, state))]
    out += [Artifact(f"{folder}/{name}", text) for name, text in _new_personas(record).items()]
    names = {str(c["seat"]): (str(c["name"]), str(c["shown"])) for c in _challengers(state)}
    for call in record.calls.values():
        n, step, seat = _parts(call.key)
        if n and step in STEPS and seat in names:
            head = f"# Round {n}: {inline(names[seat][1])}\n\n{_fallback_note(call, ended)}"
            out.append(Artifact(f"{folder}/rounds/r{n:03}_{names[seat][0]}.md", head + _said(call, ended) + "\n"))
    out.append(Artifact(f"{folder}/transcript.md", _transcript(ended, names)))
    out.append(Artifact(f"{folder}/state.json", json_text(_state(ended, state))))
    return out


def _new_personas(record: Record) -> dict[str, str]:
    """The persona files to write: all of them until they are first checked, then none, as a changed file is reported.

    In a session that an earlier version began, they are written again in the words of this version.
    """
    texts: dict[str, str] = {}
    for line in record.lines:
        match line.event:
            case Fact(key="persona-files", value=dict() as value):
                texts = {name: str(text) for name, text in value.items()}
            case Fact(key=key) if key.endswith("#files"):
                texts = {}
    return texts


def state_of(record: Record) -> Mapping[str, Any] | None:
    """The state of the panel as it was last recorded."""
    found = [fact.value for key, fact in record.facts.items() if key.rpartition("/")[2] == "state"]
    last = found[-1] if found else None
    return last if isinstance(last, dict) else None


def _state(ended: Ended, state: Mapping[str, Any]) -> dict[str, Any]:
    record, outcome, ledger = ended.record, ended.outcome, ended.ledger
    whole = outcome.complete if outcome else False
    if outcome and whole:
        state = outcome.data
    status = outcome.kind if outcome and whole else "aborted" if ended.error else "in progress"
    history = state.get("position_history") or [{}]
    return {
        "session": record.opened.id,
        "topic": record.opened.topic,
        "started": record.lines[0].at,
        "status": status,
        "heading": outcome.heading if outcome else "",
        "error": ended.error.message if ended.error else "",
        "max_rounds": ended.planned,
        "min_challengers": ended.settings.min_challengers,
        "lead": next(str(row["spec"]) for row in record.opened.seats if row["seat"] == "lead"),
        "fallbacks": fallbacks(record),
        "position": history[-1],
        **state,
        "points": [
            {
                "id": p.id,
                "text": p.text,
                "by": list(p.voices),
                "said": [{"by": one.by, "round": one.round, "text": one.text} for one in p.wordings],
                "round": p.round,
                "severity": p.severity,
                "category": p.category,
                "status": ledger.final_status(p.id) if outcome and whole else ledger.status(p.id),
                "contested": ledger.contested(p),
                "evidence": [{"place": e.place, "quote": e.quote, "mark": e.mark} for e in p.evidence],
            }
            for p in ledger.points
        ],
    }


def _context(ended: Ended, state: Mapping[str, Any]) -> str:
    opened = ended.record.opened
    rows = [
        "# Context",
        "",
        "## Topic",
        "",
        tame(opened.topic),
        "",
        f"**Domain:** {inline(str(state.get('domain', '')))}",
        "",
    ]
    rows += ["## Panel", "", "| seat | lens | model | persona |", "|---|---|---|---|"]
    rows += [
        f"| {row['seat']} | – | {cell(row['spec'])} | – |"
        for row in opened.seats
        if not str(row["seat"]).startswith("challenger")
    ]
    rows += [
        f"| {c['seat']} | {cell(c['lens'])} | {cell(c['model'])} | {cell(c['persona_file'])} |"
        for c in _challengers(state)
    ]
    if found := fallbacks(ended.record):
        rows += ["", *(f"- {inline(one)}" for one in found)]
    rows += ["", f"At most {ended.planned} rounds; at least {ended.settings.min_challengers} must answer.", ""]
    rows += ["## Files", ""]
    fact = ended.record.facts.get("context")
    given = fact.value.get("files") if fact and isinstance(fact.value, dict) else None
    rows += [f"- {inline(str(file.get('path', '')))}" for file in objects(given)] or ["No files were given."]
    return "\n".join(rows) + "\n"


def _transcript(ended: Ended, names: Mapping[str, tuple[str, str]]) -> str:
    rows, heading = [f"# {inline(ended.record.opened.topic)}"], ""
    if found := fallbacks(ended.record):
        rows.append("\n".join(f"- {inline(one)}" for one in found))
    titles = {"opening": "Opening", "remarks": "Minor remarks", "assumptions": "Assumptions", "preflight": ""}
    for call in ended.record.calls.values():
        scope = call.key.rpartition("/")[0]
        n, step, seat = _parts(call.key)
        title = f"Round {n}" if n else titles.get(scope, "")
        if not title or seat == "judge" or not (call.answered or call.failed):
            continue
        if title != heading:
            heading = title
            rows.append(f"## {title}")
        who = inline(names[seat][1]) if seat in names else "Lead"
        rows.append(f"### {who}: {step}\n\n{_fallback_note(call, ended)}{_said(call, ended)}")
    if ended.outcome:
        rows.append(ended.outcome.final.strip())
    elif ended.error:
        rows.append(f"## Aborted\n\n{tame(ended.error.message)}")
    return "\n\n".join(rows) + "\n"


def _fallback_note(call: Call, ended: Ended) -> str:
    """A paragraph on the fallback that gave an answer; empty if the seat's own model did."""
    by = stood_in(ended.record, call.key)
    return f"*{inline(by)}*\n\n" if by else ""


def _said(call: Call, ended: Ended) -> str:
    n, step, seat = _parts(call.key)
    if call.answered:
        broken = "".join(f"\n\n> rule broken after one send-back: {inline(c)}" for c in call.answered.complaints)
        return turn(step, call.answered.value, ended.ledger, seat, n or (1 if step == "address" else 0)) + broken
    if call.failed and call.failed.failure == "bad reply" and call.last_reply:
        return f"**Verdict:** unknown. The reply could not be read, and is kept as received:\n\n{tame(call.last_reply)}"
    return (
        f"**No answer:** {call.failed.failure}, {inline(call.failed.message)}"
        if call.failed
        else "**Not answered yet.**"
    )


def _parts(key: str) -> tuple[int, str, str]:
    scope, _, rest = key.rpartition("/")
    step, _, seat = rest.rpartition("@")
    return (int(scope[1:]) if scope[:1] == "r" and scope[1:].isdigit() else 0), step, seat


def _challengers(state: Mapping[str, Any]) -> list[dict[str, Json]]:
    return objects(state.get("challengers"))
