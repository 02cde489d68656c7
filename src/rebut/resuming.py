"""What resume does before the coroutine runs again: end orphans, change limits, find the parent of a fork."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from rebut import session
from rebut.errors import RecordError
from rebut.events import Amended, Asked, Fact, Failed
from rebut.journal import Journal
from rebut.plan import Table
from rebut.processes import end_group
from rebut.record import Record

AGAIN = "again"
"""The fact of a fork that takes nothing over."""


def parent_of(record: Record, table: Table) -> Record | None:
    """The session that this one was forked from: a fork that died before it had taken all over goes on doing so."""
    if not record.opened.forked_from or AGAIN in record.facts:
        return None
    try:
        return session.load(table.root / record.opened.forked_from)
    except RecordError:
        return None  # deleted since: the fork needs it no more than for what it has not yet copied


def end_orphans(record: Record) -> list[str]:
    """End the tools that a dead process of ours left running."""
    ended: list[str] = []
    for key, fact in record.facts.items():
        name, mark, _ = key.partition("#process.")
        if not mark or not isinstance(fact.value, dict):
            continue
        pid, since, attempt = fact.value["pid"], fact.value["started"], fact.value["attempt"]
        if attempt not in record.call(name).attempts and end_group(cast(int, pid), str(since)):
            ended.append(f"{name} (process {pid})")
    return ended


def amend(journal: Journal, raised: Mapping[str, float]) -> None:
    """Change limits, and open again what an old limit ended, unless the debate has already gone on from there."""
    record = journal.record
    journal.write(Amended(limits=dict(raised)))
    later: set[str] = set()
    for line in reversed(list(record.lines)):
        match line.event:
            case Asked(key=key):
                later.add(_step(key))
            case Failed(failure="budget", reopened=False) as e if later <= {_step(e.key)}:
                journal.write(
                    Failed(key=e.key, seat=e.seat, fp=e.fp, failure="budget", message=e.message, reopened=True)
                )
            case Fact(cls="limit", value=str(reason)) as e if reason and not later:
                journal.write(Fact(key=e.key, cls="limit", value=""))
            case _:
                pass


def _step(key: str) -> str:
    """The step that a key belongs to: siblings of a parallel step share it."""
    return key.rpartition("@")[0].partition(".")[0]
