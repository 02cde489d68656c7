"""The state file of a duel, `debate/last-debate.json`: made from the record, in a schema that other tools read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from rebut.core.json_value import Json
from rebut.core.types import ModelSpec
from rebut.domain.session_status import fallbacks
from rebut.engine.protocol import Artifact, Ended
from rebut.protocols.duel.settings import STATE_FOLDER
from rebut.protocols.shared import json_text
from rebut.record.events import Answered
from rebut.record.record import Call, Record


def artifacts(ended: Ended) -> list[Artifact]:
    record, outcome = ended.record, ended.outcome
    seats = {str(row["seat"]): ModelSpec.parse(str(row["spec"])) for row in record.opened.seats}
    data: dict[str, Json] = dict(outcome.data if outcome else getattr(ended.error, "data", ended.so_far))
    stamp = record.lines[0].at
    short = hashlib.sha256(record.opened.id.encode()).hexdigest()[:4]
    state: dict[str, Any] = {
        "id": f"debate-{stamp}-{short}",
        "topic": record.opened.topic,
        "proposer": _tool(seats["proposer"]),
        "challenger": _tool(seats["challenger"]),
        "effort": str(ended.settings.effort) or None,
        "rounds_completed": data.get("rounds_completed", 0),
        "max_rounds": ended.planned,
        "status": status(ended),
        "exchanges": _exchanges(record, seats, data),
        "verdict": _verdict(ended, seats),
        "timestamp": record.lines[-1].at if outcome or ended.error else _last_turn(record, data),
        "session": record.opened.id,
    }
    if found := fallbacks(record):  # the schema of other tools does not have this key, so it is never written empty
        state["fallbacks"] = found
    base = f"{ended.settings.state_dir}/" if ended.settings.state_dir else ""
    return [Artifact(f"{base}{STATE_FOLDER}/last-debate.json", json_text(state))]


def status(ended: Ended) -> str:
    """Return completed, incomplete, uncontested or aborted; without a verdict one of the last two."""
    outcome = ended.outcome
    if outcome is not None and outcome.kind == "uncontested":
        return "uncontested"
    if outcome is None or not outcome.verdict:
        return "aborted"
    return "completed" if outcome.conclusive else "incomplete"


def _tool(spec: ModelSpec) -> dict[str, Json]:
    return {"tool": spec.provider, "model": spec.model or None}


def _exchanges(record: Record, seats: dict[str, ModelSpec], data: dict[str, Json]) -> list[dict[str, Json]]:
    rows = data.get("exchanges")
    out: list[dict[str, Json]] = []
    for row in rows if isinstance(rows, list) else ():
        assert isinstance(row, dict)
        n, role = row["round"], str(row["role"])
        turn = _turns(record, role, f"r{n}/")
        ms = sum(c.answered.ms for c in turn if c.answered)
        tool = _tool_of(turn, seats[role])
        out.append({"round": n, "role": role, "tool": tool, "response": row["response"], "duration_ms": ms})
    return out


def _last_turn(record: Record, data: dict[str, Json]) -> str:
    """Return when the last turn ended.

    With this time, a resumed duel repeats the text of each turn exactly, so it never replaces the file of a later turn.
    """
    rows = data.get("exchanges")
    last = rows[-1] if isinstance(rows, list) and rows else None
    keys = [c.key for c in _turns(record, str(last["role"]), f"r{last['round']}/")] if isinstance(last, dict) else []
    times = [line.at for line in record.lines if isinstance(line.event, Answered) and line.event.key in keys]
    return times[-1] if times else record.lines[0].at


def _turns(record: Record, role: str, begin: str = "") -> list[Call]:
    return [c for c in record.calls.values() if c.key.startswith(begin) and c.key.endswith(f"@{role}")]


def _tool_of(turn: Iterable[Call], seated: ModelSpec) -> str:
    """The tool that answered: the fallback, if the seat's own model failed."""
    asked = [one for call in turn if call.answered for one, got in call.returned if one and got.outcome == "ok"]
    return ModelSpec.parse(asked[-1].spec).provider if asked else seated.provider


def _verdict(ended: Ended, seats: dict[str, ModelSpec]) -> dict[str, Json] | None:
    outcome = ended.outcome
    if outcome is None or not outcome.verdict:
        return None
    decision = outcome.data["decision"]
    assert isinstance(decision, dict)
    agreements, disputes = decision["agreements"], decision["disagreements"]
    assert isinstance(agreements, list) and isinstance(disputes, list)
    return {
        "winner": _tool_of(_turns(ended.record, outcome.verdict.winner), seats[outcome.verdict.winner]),
        "winner_role": outcome.verdict.winner,
        "reasoning": outcome.verdict.reasoning,
        "agreements": [a["text"] for a in agreements if isinstance(a, dict)],
        "disagreements": [d["point"] for d in disputes if isinstance(d, dict)],
        "recommendation": outcome.verdict.recommendation,
    }
