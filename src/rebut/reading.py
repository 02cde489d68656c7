"""Reading a session: its ledger, outcome and status from the record alone; no protocol code, no lock."""

from __future__ import annotations

from rebut.endings import progress
from rebut.ledger import Ledger, from_json
from rebut.outcome import Outcome
from rebut.record import Record


def ledger_of(record: Record) -> Ledger:
    """The ledger as the record has it: no protocol code needed, also for a debate that is still open."""
    ledger: Ledger | None = None
    for event in record.facts.values():  # each key once, with its last value: an upgrade may have made one anew
        if event.key.endswith("#ledger") and isinstance(event.value, dict):
            ledger = ledger or Ledger(str(event.value["letter"]))
            ledger = ledger.add(from_json(row) for row in event.value["entries"])  # type: ignore[union-attr,arg-type]
    return ledger or Ledger()


def outcome_of(record: Record) -> Outcome | None:
    return Outcome.from_json(record.closed.outcome) if record.closed else None


def status(record: Record, running: str = "") -> str:
    """How a session stands, in a few words; `running` is the process that works on it."""
    if outcome := outcome_of(record):
        return outcome.heading.lower() + (f": {outcome.verdict.winner}" if outcome.verdict else "")
    return f"running in process {running}, {record.answers} answers so far" if running else f"open, {progress(record)}"
