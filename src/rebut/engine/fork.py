"""Forking a session into a new one: answers whose question is unchanged are copied, the others are asked again."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import suppress
from pathlib import Path

from rebut.core.errors import Aborted, NotOnRecord, ParticipantFailed, RecordError, TooFewReplies, UsageError
from rebut.domain.outcome import Outcome
from rebut.engine.plan import Environment, Plan, opened, sound
from rebut.engine.run import debate_of, finish, run
from rebut.engine.runtime import redactor_of, runtime_of, view_of
from rebut.engine.start import files_folder, new_session
from rebut.engine.steering import as_decided, decisions
from rebut.record import sessions
from rebut.record.events import Fact
from rebut.record.record import Record

AGAIN = "again"
"""The fact of a fork that copies no answers."""


async def fork(plan: Plan, environment: Environment, parent: Path, *, again: bool = False) -> Outcome:
    """Fork a session and run the new one. Answers that still fit are copied; with `again`, none."""
    sound(plan)
    old = sessions.load(parent)
    async with new_session(environment) as (folder, journal):
        if (parent / "snapshot").is_dir():
            # In a thread: copying may take long, and other debates continue meanwhile.
            await asyncio.to_thread(_copy_snapshot, parent / "snapshot", folder / "snapshot")
        topic = redactor_of(old, environment.known_secrets).door(plan.topic).strip()
        files = await files_folder(plan, folder, topic)
        journal.write(opened(plan, folder, topic, old.opened.id, files.alias))
        if plan.notes:
            journal.write(Fact(key="notes", cls="input", value=list(plan.notes)))
        if files.path:
            journal.write(Fact(key="folder", cls="input", value=files.path))
        if again:
            journal.write(Fact(key=AGAIN, cls="limit", value=True))  # resume reads it, too
        for fact in decisions(old) if plan.decided else ():
            journal.write(fact)
        for name in (
            "snapshot",
            "target",
            "unread_ok",
            "context",
            "keys",
        ):  # the keys last: with them the fork can be resumed
            if name in old.facts:
                journal.write(old.facts[name])
        await journal.sync()
        view = view_of(journal.record, folder, environment)
        reused = None if again else old
        runtime = runtime_of(journal.record, plan, environment, journal=journal, view=view, parent=reused)
        return await run(runtime, plan, environment, folder)


async def fork_plan(plan: Plan, environment: Environment, parent: Path) -> tuple[int, int]:
    """How many answers a fork would reuse, and about how many questions it would ask. Calls no model."""
    sound(plan)
    old = sessions.load(parent)
    topic = redactor_of(old, environment.known_secrets).door(plan.topic).strip()
    record = Record()
    runtime = runtime_of(record, plan, environment, view=view_of(old, parent, environment), parent=old)
    runtime.write(opened(plan, parent, topic, parent=old.opened.id))
    for fact in decisions(old) if plan.decided else ():
        runtime.write(fact)
    complete = False
    with suppress(NotOnRecord, ParticipantFailed, TooFewReplies, Aborted):
        await plan.protocol.run(debate_of(runtime, plan))
        complete = True
    await finish(runtime)
    if complete:
        return record.answers, 0
    each = plan.protocol.calls(as_decided(plan.settings, record)) if plan.protocol.calls else None
    total = sum(each.get(p.seat.partition(".")[0], 0) for p in plan.seats) if each else old.answers
    return record.answers, max(1, total - record.answers)


def parent_of(record: Record, environment: Environment) -> Record | None:
    """The session that this one was forked from: a resumed fork still copies from it."""
    if not record.opened.forked_from or AGAIN in record.facts:
        return None
    try:
        return sessions.load(environment.root / record.opened.forked_from)
    except RecordError:
        return None  # deleted since then: what was not copied is asked


def _copy_snapshot(source: Path, target: Path) -> None:
    try:
        shutil.copytree(source, target)
    except (shutil.Error, OSError) as error:
        raise UsageError(
            f"the snapshot of session {source.parent.name} could not be copied: {error}", "No model was called."
        ) from error
