"""Reading a session: its ledger, outcome and status from the record alone; no protocol code, no lock."""

from __future__ import annotations

from rebut.domain.endings import ledger_of as ledger_of, progress
from rebut.domain.outcome import Outcome
from rebut.domain.review_result import Contract
from rebut.record.record import Record


def outcome_of(record: Record) -> Outcome | None:
    return Outcome.from_json(record.closed.outcome) if record.closed else None


def is_review(record: Record) -> bool:
    """Whether it ended with a review's contract."""
    outcome = outcome_of(record)
    return outcome is not None and "contract" in outcome.data


def headline_of(outcome: Outcome) -> str:
    """Of a review: what stands against it, and what ended it."""
    made = outcome.data.get("contract")
    return Contract.from_json(made).headline if isinstance(made, dict) else ""


def status(record: Record, running: str = "") -> str:
    """How a session stands, in a few words; `running` is the process that works on it."""
    if outcome := outcome_of(record):
        said = outcome.verdict.winner if outcome.verdict else headline_of(outcome)
        return outcome.heading.lower() + (f": {said}" if said else "")
    return f"running in process {running}, {record.answers} answers so far" if running else f"open, {progress(record)}"
