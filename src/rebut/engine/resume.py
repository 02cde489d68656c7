"""Resuming a session: the coroutine runs again from the top, and only what is not on record is asked.

Before that, resume ends tools that a dead process left running, changes limits, and reopens skipped calls on request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from rebut import __version__
from rebut.core.errors import RecordError, UsageError
from rebut.core.process import end_orphan, kill_group
from rebut.core.process_identity import started
from rebut.core.types import LEFT
from rebut.domain.outcome import Outcome
from rebut.engine.admission import admitted
from rebut.engine.fork import parent_of
from rebut.engine.plan import Environment, Plan
from rebut.engine.run import run_protocol
from rebut.engine.runtime import keys_of, runtime_of, view_of
from rebut.engine.steering import SKIPPED
from rebut.record.events import Amended, Asked, Fact, Failed, Resumed
from rebut.record.journal import Journal, opened_journal
from rebut.record.record import Record, seat_of, step_of


async def resume(
    plan: Plan,
    environment: Environment,
    folder: Path,
    raised: Mapping[str, float] | None = None,
    *,
    ask_left: bool = False,
) -> Outcome:
    """Resume a session. `raised` changes its limits; `ask_left` asks again what the user skipped."""
    async with admitted():
        return await _resume(plan, environment, folder, raised, ask_left)


async def _resume(
    plan: Plan, environment: Environment, folder: Path, raised: Mapping[str, float] | None, ask_left: bool
) -> Outcome:
    journal = await opened_journal(folder, environment.listener)
    try:
        record = journal.record
        if not record.lines:
            raise RecordError(
                f"session {folder.name} is empty: its process ended before anything was on record",
                f"Start a new one; `rebut delete {folder.name}` removes the remains.",
            )
        if record.closed:
            if raised:
                raise UsageError(
                    f"session {folder.name} is closed, so its limits can no longer change",
                    f"Use `rebut fork {folder.name}` with the new limits: answers that still fit are reused.",
                )
            return Outcome.from_json(record.closed.outcome)
        keys_of(record)
        orphans = end_orphans(record)
        journal.write(
            Resumed(rebut=__version__, protocol_version=plan.protocol.version, torn=journal.torn, orphans=orphans)
        )
        if raised:
            amend(journal, raised)
        if ask_left:
            reopen_skipped(journal)
        await journal.sync()
        view, parent = view_of(record, folder, environment.known_secrets), parent_of(record, environment)
        runtime = runtime_of(record, plan, environment, journal=journal, view=view, parent=parent)
        return await run_protocol(runtime, plan, environment, folder)
    finally:
        journal.close()


def end_orphans(record: Record) -> list[str]:
    """End the tools that a dead process of this session left running. Returns which."""
    return [f"{key} (process {pid})" for key, pid, since in _unfinished(record) if end_orphan(pid, since)]


def kill_all(record: Record) -> None:
    """Kill every tool that the debate started and that has not returned, for a process that must exit at once."""
    for _, pid, since in list(_unfinished(record)):
        if pid > 1 and started(pid) == since:
            kill_group(pid)


def _unfinished(record: Record) -> Iterator[tuple[str, int, str]]:
    """Processes whose call has not returned: the call's key, the process id and when it was started."""
    for name, fact in list(record.facts.items()):
        key, mark, _ = name.partition("#process.")
        if not mark or not isinstance(fact.value, dict) or fact.value["attempt"] in record.call(key).attempts:
            continue
        pid, since = fact.value["pid"], fact.value["started"]
        if isinstance(pid, int):
            yield key, pid, str(since)


def amend(journal: Journal, raised: Mapping[str, float]) -> None:
    """Change limits, and reopen what an old limit ended, unless the debate has already continued without it."""
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


def reopen_skipped(journal: Journal) -> None:
    """Reopen the calls that the user skipped, unless the debate has already continued without them."""
    record = journal.record
    later, late, opened = set[str](), set[str](), 0
    for line in reversed(list(record.lines)):
        match line.event:
            case Asked(key=key):
                later.add(step_of(key))
            case Fact(key=name, value=str(why)) if name.endswith(SKIPPED) and record.facts[name].value:
                key = name.removesuffix(SKIPPED)
                if not later <= {step_of(key)}:
                    late.add(key)
                    continue
                opened += 1
                journal.write(Fact(key=name, cls="input", value=""))
                seat = seat_of(key)
                journal.write(Failed(key=key, seat=seat, fp="", failure=LEFT, message=why, reopened=True))
            case _:
                pass
    if late and not opened:
        raise UsageError(
            f"the debate has continued without {', '.join(sorted(late))}, so it cannot be asked again in this session",
            f"Resume without --ask-left, or ask again in a fork: rebut fork {record.opened.id}.",
        )
