"""A session as a file, from its record alone: Markdown and JSON."""

from __future__ import annotations

from collections.abc import Sequence

from rebut.core.json_value import Json
from rebut.core.markdown import backticks, inline, tame
from rebut.core.text import cut
from rebut.domain import render
from rebut.domain.amounts import spent
from rebut.domain.checks import CodeCheck
from rebut.domain.ledger import ledger_to_json
from rebut.domain.outcome import Outcome
from rebut.domain.session_status import asked_by, counted_ledger, headline_of, ledger_of, outcome_of, status
from rebut.domain.user_notes import heard, unheard
from rebut.record.events import Fact, to_json
from rebut.record.record import Record, seat_of
from rebut.reports import review, worth


def markdown(record: Record) -> str:
    """A whole session as one Markdown document."""
    opened, outcome, ledger = record.opened, outcome_of(record), ledger_of(record)
    rows = [
        f"# {asked_by(record) or inline(opened.protocol)}: {inline(cut(opened.topic, 120))}",
        "",
        f"Session `{opened.id}`, opened {record.lines[0].at}.",
        "",
    ]
    rows += ["| seat | model | family |", "|---|---|---|"]
    rows += [
        f"| {render.cell(s['seat'])} | {render.cell(s['spec'])} | {render.cell(s.get('family', ''))} |"
        for s in opened.seats
    ]
    if len(opened.topic) > 120:
        rows += ["", "## Topic", "", tame(opened.topic)]
    rows += [
        "",
        "## Outcome",
        "",
        f"**{_heading(record, outcome)}**" if outcome else f"Still {status(record)}.",
        "",
    ]
    if outcome:
        rows += [outcome.final or tame(outcome.decision), ""]
    if outcome and (new := outcome.rewritten):
        rows += [f"## What changed in {inline(new.file)}", "", *_fenced(new.diff, "diff"), ""]
    if outcome and outcome.worth:
        rows += worth.markdown(outcome.worth)
    rows += ["## Answers", ""]
    shown = set[int]()
    for call in record.calls.values():
        for note in heard(record, call.key):
            rows += [] if note.number in shown else ["### Note of the user to every seat", "", tame(note.text), ""]
            shown.add(note.number)
        if call.answered:
            rows += [
                f"### {call.key} ({inline(call.answered.model) or 'unknown model'})",
                "",
                render.markdown(call.answered.value, render.Known(ledger, seat_of(call.key))),
                "",
            ]
            rows += [f"> still breaks a rule after being sent back: {inline(c)}" for c in call.answered.complaints]
        elif call.failed:
            rows += [f"### {call.key}", "", f"No answer: {call.failed.failure}, {inline(call.failed.message)}", ""]
    for note in unheard(record):
        rows += ["### Note of the user, too late for every seat", "", tame(note.text), ""]
    final = counted_ledger(record)
    if final.points or final.claims:
        made = outcome.review if outcome else None
        weighed = {f.id: f.severity for f in made.findings} if made else None
        rows += ["## Claims and points", "", *render.table(final, weighed), ""]
    if final.checks:
        rows += ["## Checks", "", *_checks(final.checks)]
    rows += ["## Cost", "", spent(record.spent()), ""]
    return "\n".join(rows).rstrip() + "\n"


def _heading(record: Record, outcome: Outcome) -> str:
    """The heading of the outcome; for a session of `review` or `plan`, the one that this command shows."""
    if outcome.review and asked_by(record):
        return inline(review.heading_of(record, outcome))
    return inline(outcome.heading) + (f": {inline(headline_of(outcome))}" if outcome.verdict else "")


def _checks(found: Sequence[tuple[str, CodeCheck]]) -> list[str]:
    """Every check: its claim, verdict and code, and what its command printed."""
    rows = []
    for id, check in found:
        rows += [f"### {id}: {inline(check.runner)}, {inline(check.claim)}", "", inline(check.verdict), ""]
        rows += [*_fenced(check.code), ""]
        rows += [f"`{inline(check.command)}` in the sandbox:", "", *_fenced(check.output), ""] if check.output else []
    return rows


def _fenced(text: str, kind: str = "") -> list[str]:
    fence = backticks(text)
    return [fence + kind, text.strip("\n"), fence]


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
        "ledger": ledger_to_json(counted_ledger(record)),
        "events": events,
    }
