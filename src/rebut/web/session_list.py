"""The list of sessions, and a fork beside its parent, for the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rebut.core.errors import RecordError
from rebut.core.json_value import Json
from rebut.domain.amounts import duration
from rebut.domain.session_status import outcome_of, status
from rebut.record import sessions
from rebut.record.record import Record
from rebut.reports.compare import LABELS, paired
from rebut.reports.review import headline
from rebut.reports.terminal import shown_spec

MOST = 500
"""Sessions in the list; older ones are counted."""


def session_rows(found: Sequence[sessions.FoundSession]) -> list[Json]:
    """What the list shows of each session, the newest first."""
    out: list[Json] = []
    for one in found[:MOST]:
        row: dict[str, Json] = {"id": one.id, "at": one.at, "protocol": one.opened.protocol, "topic": one.opened.topic}
        row["models"] = [shown_spec(str(seat.get("spec", ""))) for seat in one.opened.seats]
        try:
            record = sessions.load(one.folder)
            with sessions.understood(one.id):
                row |= _state(record, sessions.running(one.folder))
        except RecordError as error:
            row |= {"status": f"unreadable: {error.message}", "state": "unreadable"}
        out.append(row)
    return out


def _state(record: Record, running: str) -> dict[str, Json]:
    """What a session came to, and at what cost."""
    outcome, cost = outcome_of(record), record.spent()
    row: dict[str, Json] = {"status": status(record, running), "usd": cost.usd, "time": duration(cost.seconds)}
    row["state"] = "running" if running else "open"
    if outcome:
        row["state"] = "decided" if outcome.conclusive else "undecided"
    if outcome and outcome.conclusive and outcome.review:
        row |= {"status": headline(outcome)} | ({"state": "problems"} if outcome.review.shown else {})
    return row | {"calls": cost.calls, "forked_from": record.opened.forked_from}


def compared(fork: Record, root: Path) -> dict[str, Json]:
    """A fork beside its parent, as a table: labels, and a column for each; empty if the session is no fork."""
    pair = paired(fork, sessions.loader(root))
    if pair is None:
        return {}
    columns: list[Json] = [[*pair.parent.cells("parent", 200)]] if pair.parent else []
    columns.append([*pair.fork.cells("this fork", 200)])
    return {"labels": [*LABELS], "columns": columns, "parent": pair.from_id, "reused": pair.reused.line()}
