"""How a panel reads: the lead's case, the points with what was said on them last, and each turn as Markdown."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rebut.core.text import squeeze, tame
from rebut.core.types import Json
from rebut.domain import render as ledgers
from rebut.domain.ledger import Ledger, Point
from rebut.domain.render import Vocabulary, bullets, section
from rebut.engine.protocol import Artifact, Ended
from rebut.protocols.panel.reply_checks import NAME
from rebut.protocols.panel.state import Position
from rebut.record.events import Fact
from rebut.record.record import Call, Record

WORDS = Vocabulary(
    severities=NAME,
    moves={"resolve": "accept", "withdraw": "accept"},
    moves_of={"lead": {"concede": "accept", "partly": "partial", "defend": "reject"}},
)
Name = Callable[[str], str]


def case(position: str, ledger: Ledger, weaknesses: Sequence[str], assumptions: Sequence[str]) -> str:
    """The opening as the challengers see it."""
    parts = [position, ledgers.claims(ledger.claims)]
    parts += [bullets("Weaknesses, as the lead sees them:", weaknesses), bullets("Assumptions:", assumptions)]
    return "\n\n".join(p for p in parts if p)


def points(ledger: Ledger, wanted: Sequence[Point], name: Name) -> str:
    """Points with the last answer of each side to them, and nothing older: prompts grow with what is open only."""
    return "\n".join(ledgers.points(ledger, WORDS, only=wanted, name=name)) or "none"


def brief(wanted: Sequence[Point], name: Name) -> str:
    """One line each, for those who need not answer them."""
    return "\n".join(
        f"{p.id} ({' and '.join(name(v) for v in p.voices)}; {NAME[p.severity]}): {squeeze(p.text)}" for p in wanted
    )


def standing(position: Position) -> str:
    """A version of the position with what changed in it."""
    changed = [f"{c.what or c.text} (because of {c.point}, {c.lens})" for c in position.causes]
    told = bullets("Changes since the previous version:", changed) or "Nothing changed since the previous version."
    return f"{position.text}\n\n{told}"


# turns, told from the record alone


def turn(step: str, value: Any, ledger: Ledger, seat: str, n: int) -> str:
    """One answer as Markdown. Everything is read from events, so any older record can be told too."""
    if not isinstance(value, dict):
        return tame(str(value))
    made = [p for p in ledger.points if seat in p.voices and p.round == n]
    moves = [m for m in ledger.moves if m.by == seat and m.round == n]
    parts: list[str] = []
    if step == "position":
        parts += [tame(str(value.get("position", ""))), f"**Confidence:** {str(value.get('confidence', '')).upper()}"]
        parts.append("**Reasoning:**\n\n" + ledgers.claims(c for c in ledger.claims if c.by == seat))
        parts += [_bold("Weaknesses", value.get("weaknesses")), _bold("Assumptions", value.get("assumptions"))]
    elif step == "challenge":
        said = f"**Verdict:** {value.get('verdict', '')}, objections {value.get('objection_strength', '')}"
        parts += [
            said,
            tame(str(value.get("summary", ""))),
            ledgers.raised(made, WORDS),
            _examined(value.get("examined")),
        ]
    elif step in ("confront", "address"):
        parts += [ledgers.moves(moves, WORDS)]
        if step == "confront":
            parts += [f"**Position now:**\n\n{tame(str(value.get('position', '')))}", _changes(value.get("changes"))]
            parts.append(f"**Confidence:** {str(value.get('confidence', '')).upper()}")
    elif step == "rebuttal":
        parts += [f"**Answer:** {value.get('answer', '')}", tame(str(value.get("summary", "")))]
        parts += [ledgers.moves(moves, WORDS), ledgers.raised(made, WORDS), _examined(value.get("examined"))]
    elif step == "grounds":
        parts += [f"**Why:** {tame(str(value.get('why', '')))}"]
        parts += [f"**What would make the other side right:** {tame(str(value.get('other_right', '')))}"]
        parts.append(_bold("Assumptions", value.get("assumptions")))
        cruxes = value.get("cruxes")
        asked = [str(c.get("question", "")) for c in cruxes if isinstance(c, dict)] if isinstance(cruxes, list) else []
        parts.append(_bold("What would change this party's mind", asked))
    return "\n\n".join(p for p in parts if p)


def _examined(rows: Any) -> str:
    found = [r for r in rows if isinstance(r, dict)] if isinstance(rows, list) else []
    return _bold("Examined", [f"{r.get('angle', '')}: {r.get('what', '')}: {r.get('found', '')}" for r in found])


def _changes(rows: Any) -> str:
    said = []
    for row in rows if isinstance(rows, list) else ():
        ids = row.get("because") if isinstance(row, dict) else None
        because = ", ".join(str(i) for i in ids) if isinstance(ids, list) else ids
        said += [f"{row.get('what', '')} (because of {because})"] if isinstance(row, dict) else []
    return _bold("What changed", said)


def _bold(title: str, items: Any) -> str:
    return section(f"**{title}:**", [str(i) for i in items] if isinstance(items, list) else [], "")


# A panel's files in `debates/NNN-slug`: projections of the record, written as the debate goes on, never read back.

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
            head = f"# Round {n}: {names[seat][1]}\n\n"
            out.append(Artifact(f"{folder}/rounds/r{n:03}_{names[seat][0]}.md", head + _said(call, ended) + "\n"))
    out.append(Artifact(f"{folder}/transcript.md", _transcript(ended, names)))
    out.append(Artifact(f"{folder}/state.json", json.dumps(_state(ended, state), indent=2, ensure_ascii=False) + "\n"))
    return out


def _new_personas(record: Record) -> dict[str, str]:
    """The files of the personas, until they are first checked: from then on a file that was changed is reported.

    A session that an earlier version began has them written again in the words of this one.
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
    """Where the panel stands, as it last kept it."""
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
        "position": history[-1],
        **state,
        "points": [
            {
                "id": p.id,
                "text": p.text,
                "by": list(p.voices),
                "round": p.round,
                "severity": p.severity,
                "category": p.category,
                "status": ledger.final_status(p.id) if outcome and whole else ledger.status(p.id),
                "evidence": [{"place": e.place, "quote": e.quote, "mark": e.mark} for e in p.evidence],
            }
            for p in ledger.points
        ],
    }


def _context(ended: Ended, state: Mapping[str, Any]) -> str:
    opened = ended.record.opened
    rows = ["# Context", "", "## Topic", "", tame(opened.topic), "", f"**Domain:** {state.get('domain', '')}", ""]
    rows += ["## Panel", "", "| seat | lens | model | persona |", "|---|---|---|---|"]
    rows += [
        f"| {row['seat']} | – | {row['spec']} | – |"
        for row in opened.seats
        if not str(row["seat"]).startswith("challenger")
    ]
    rows += [f"| {c['seat']} | {c['lens']} | {c['model']} | {c['persona_file']} |" for c in _challengers(state)]
    rows += ["", f"At most {ended.planned} rounds; at least {ended.settings.min_challengers} must answer.", ""]
    rows += ["## Files", ""]
    fact = ended.record.facts.get("context")
    given = fact.value.get("files") if fact and isinstance(fact.value, dict) else None
    files = [str(f.get("path", "")) for f in given if isinstance(f, dict)] if isinstance(given, list) else []
    rows += [f"- {path}" for path in files] or ["None was given."]
    return "\n".join(rows) + "\n"


def _transcript(ended: Ended, names: Mapping[str, tuple[str, str]]) -> str:
    rows, heading = [f"# {tame(ended.record.opened.topic)}"], ""
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
        rows.append(f"### {names[seat][1] if seat in names else 'Lead'}: {step}\n\n{_said(call, ended)}")
    if ended.outcome:
        rows.append(ended.outcome.final.strip())
    elif ended.error:
        rows.append(f"## Aborted\n\n{tame(ended.error.message)}")
    return "\n\n".join(rows) + "\n"


def _said(call: Call, ended: Ended) -> str:
    n, step, seat = _parts(call.key)
    if call.answered:
        broken = "".join(f"\n\n> rule broken after one send-back: {c}" for c in call.answered.complaints)
        return turn(step, call.answered.value, ended.ledger, seat, n or (1 if step == "address" else 0)) + broken
    if call.failed and call.failed.failure == "bad reply" and call.unread:
        return f"**Verdict:** unknown. The reply could not be read, and is kept as it came:\n\n{tame(call.unread)}"
    return f"**No answer:** {call.failed.failure}, {call.failed.message}" if call.failed else "**Not answered yet.**"


def _parts(key: str) -> tuple[int, str, str]:
    scope, _, rest = key.rpartition("/")
    step, _, seat = rest.rpartition("@")
    return (int(scope[1:]) if scope[:1] == "r" and scope[1:].isdigit() else 0), step, seat


def _challengers(state: Mapping[str, Any]) -> list[dict[str, Json]]:
    rows = state.get("challengers")
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
