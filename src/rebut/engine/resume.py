"""What resume does before the coroutine runs again: end orphans, change limits, find the parent of a fork."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import cast

from rebut.core.errors import RecordError, UsageError
from rebut.core.process import end_orphan, started
from rebut.core.types import LEFT
from rebut.engine.plan import Environment
from rebut.engine.steering import LEFT_FACT
from rebut.record import sessions
from rebut.record.events import Amended, Asked, Fact, Failed
from rebut.record.journal import Journal
from rebut.record.record import Record, seat_of, step_of

AGAIN = "again"
"""The fact of a fork that takes nothing over."""


def parent_of(record: Record, environment: Environment) -> Record | None:
    """The session that this one was forked from: a fork that died before it had taken all over goes on doing so."""
    if not record.opened.forked_from or AGAIN in record.facts:
        return None
    try:
        return sessions.load(environment.root / record.opened.forked_from)
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
        if attempt not in record.call(name).attempts and end_orphan(cast(int, pid), str(since)):
            ended.append(f"{name} (process {pid})")
    return ended


def kill_all(record: Record) -> None:
    """End at once whatever a debate has started and not seen end, for a process that has no time left itself."""
    for key, fact in list(record.facts.items()):
        name, mark, _ = key.partition("#process.")
        if not mark or not isinstance(fact.value, dict) or fact.value["attempt"] in record.call(name).attempts:
            continue
        pid = fact.value["pid"]
        if isinstance(pid, int) and pid > 1 and started(pid) == fact.value["started"]:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)


def amend(journal: Journal, raised: Mapping[str, float]) -> None:
    """Change limits, and open again what an old limit ended, unless the debate has already gone on from there."""
    record = journal.record
    journal.write(Amended(limits=dict(raised)))
    later: set[str] = set()
    for line in reversed(list(record.lines)):
        match line.event:
            case Asked(key=key):
                later.add(step_of(key))
            case Failed(failure="budget", reopened=False) as e if later <= {step_of(e.key)}:
                journal.write(replace(e, reopened=True))
            case Fact(cls="limit", value=str(reason)) as e if reason and not later:
                journal.write(Fact(key=e.key, cls="limit", value=""))
            case _:
                pass


def ask_again(journal: Journal) -> None:
    """Open again what was left behind by hand, unless the debate has already gone on from there."""
    record = journal.record
    later, gone, opened = set[str](), set[str](), 0
    for line in reversed(list(record.lines)):
        match line.event:
            case Asked(key=key):
                later.add(step_of(key))
            case Fact(key=name, value=str(why)) if name.endswith(LEFT_FACT) and record.facts[name].value:
                key = name.removesuffix(LEFT_FACT)
                if not later <= {step_of(key)}:
                    gone.add(key)
                    continue
                opened += 1
                journal.write(Fact(key=name, cls="input", value=""))
                seat = seat_of(key)
                journal.write(Failed(key=key, seat=seat, fp="", failure=LEFT, message=why, reopened=True))
            case _:
                pass
    if gone and not opened:
        raise UsageError(
            f"the debate has gone on without {', '.join(sorted(gone))}, so it cannot be asked again in this session",
            f"Resume it without --ask-left, or ask all over with a fork: rebut fork {record.opened.id}.",
        )
