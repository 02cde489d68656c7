"""A whole session as Markdown or JSON, from its record alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rebut.core.text import cut, tame
from rebut.core.types import Json
from rebut.domain.ledger import Ledger, ledger_to_json
from rebut.domain.session_status import ledger_of, outcome_of, status
from rebut.record.events import Fact, to_json
from rebut.record.record import Record
from rebut.reports.terminal import spent, worth_markdown


def markdown(record: Record) -> str:
    """A whole session as one Markdown document."""
    opened, outcome = record.opened, outcome_of(record)
    rows = [
        f"# {opened.protocol}: {cut(opened.topic, 120)}",
        "",
        f"Session `{opened.id}`, opened {record.lines[0].at}.",
        "",
    ]
    rows += ["| seat | model | family |", "|---|---|---|"]
    rows += [f"| {s['seat']} | {_cell(s['spec'])} | {_cell(s.get('family', ''))} |" for s in opened.seats]
    if len(opened.topic) > 120:
        rows += ["", "## Topic", "", opened.topic]
    rows += [
        "",
        "## Outcome",
        "",
        f"**{outcome.heading}{f': {outcome.verdict.winner}' if outcome.verdict else ''}**"
        if outcome
        else f"Still {status(record)}.",
        "",
    ]
    if outcome:
        rows += [outcome.final or tame(outcome.decision), ""]
    if outcome and outcome.worth:
        rows += worth_markdown(outcome.worth)
    rows += ["## Answers", ""]
    for call in record.calls.values():
        if call.answered:
            rows += [
                f"### {call.key} ({call.answered.model or 'unknown model'})",
                "",
                tame(prose(call.answered.value)),
                "",
            ]
            rows += [f"> still breaks a rule after being sent back: {c}" for c in call.answered.complaints]
        elif call.failed:
            rows += [f"### {call.key}", "", f"No answer: {call.failed.failure}, {call.failed.message}", ""]
    rows += points_table(ledger_of(record))
    rows += ["## Cost", "", spent(record.spent()), ""]
    return "\n".join(rows).rstrip() + "\n"


def points_table(ledger: Ledger) -> list[str]:
    if not ledger.points and not ledger.claims:
        return []
    rows = ["## Claims and points", "", "| id | who | what | status | evidence |", "|---|---|---|---|---|"]
    for c in ledger.claims:
        rows.append(
            f"| {c.id} | {c.by} | {_cell(c.text)} | {'unsupported' if c.unsupported else ''} | {_cited(c.evidence)} |"
        )
    for p in ledger.points:
        state = f"{p.severity}, {ledger.final_status(p.id)}"
        rows.append(f"| {p.id} | {', '.join(p.voices)} | {_cell(p.text)} | {state} | {_cited(p.evidence)} |")
    return [*rows, ""]


def _cited(evidence: Iterable[Any]) -> str:
    return _cell("; ".join(f"{e.place} ({e.mark or 'unchecked'})" for e in evidence))


def _cell(value: object) -> str:
    return cut(str(value), 300).replace("|", "\\|")


def as_json(record: Record) -> dict[str, Json]:
    """A whole session as JSON, without its redaction keys."""
    hidden = {"keys"}
    events: list[Json] = [
        {"seq": line.seq, "at": line.at, **to_json(line.event)}
        for line in record.lines
        if not (isinstance(line.event, Fact) and line.event.key in hidden)
    ]
    outcome = outcome_of(record)
    return {
        "id": record.opened.id,
        "status": status(record),
        "outcome": outcome.to_json() if outcome else None,
        "ledger": ledger_to_json(ledger_of(record)),
        "events": events,
    }


def prose(value: Json, depth: int = 0) -> str:
    """Any structured answer as readable Markdown."""
    pad = "  " * depth
    match value:
        case dict():
            rows = []
            for key, item in value.items():
                if item in (None, "", [], {}):
                    continue
                name = key.replace("_", " ")
                if isinstance(item, dict | list):
                    rows.append(f"{pad}- **{name}**:\n{prose(item, depth + 1)}")
                else:
                    rows.append(f"{pad}- **{name}**: {item}")
            return "\n".join(rows)
        case list():
            rows = []
            for item in value:
                if isinstance(item, dict):
                    first, *rest = [(k, v) for k, v in item.items() if v not in (None, "", [], {})] or [("", "")]
                    rows.append(f"{pad}- {first[1]}" if not isinstance(first[1], dict | list) else f"{pad}- {first[0]}")
                    rows.append(prose(dict(rest), depth + 1))
                else:
                    rows.append(f"{pad}- {item}")
            return "\n".join(row for row in rows if row)
        case _:
            return f"{pad}{value}"
