"""Reading a session: its ledger, outcome and status from the record alone; no protocol code, no lock."""

from __future__ import annotations

from rebut.endings import ledger_of as ledger_of, progress
from rebut.outcome import Outcome
from rebut.record import Record


def outcome_of(record: Record) -> Outcome | None:
    return Outcome.from_json(record.closed.outcome) if record.closed else None


def status(record: Record, running: str = "") -> str:
    """How a session stands, in a few words; `running` is the process that works on it."""
    if outcome := outcome_of(record):
        return outcome.heading.lower() + (f": {outcome.verdict.winner}" if outcome.verdict else "")
    return f"running in process {running}, {record.answers} answers so far" if running else f"open, {progress(record)}"
