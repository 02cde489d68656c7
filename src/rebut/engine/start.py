"""The engine: begin a debate, take it up again, branch it, or run it anew from its record alone.

All four do one thing: run the protocol's coroutine from the top over a `Runtime`. They differ in what it holds.
"""

from __future__ import annotations

import asyncio
import base64
import secrets
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rebut import __version__
from rebut.core.errors import Aborted, NotOnRecord, ParticipantFailed, RecordError, TooFewReplies, UsageError
from rebut.core.redaction import Redactor
from rebut.core.text import at_the_door
from rebut.core.types import Json
from rebut.domain.ledger import Ledger
from rebut.domain.limits import MAX_OUTPUT, Limits
from rebut.domain.outcome import Outcome
from rebut.engine.plan import ASKED, Environment, Plan, opened, sound
from rebut.engine.protocol import FilesFolder, NewSession, Protocol
from rebut.engine.resume import AGAIN, amend, ask_again, end_orphans, parent_of
from rebut.engine.run import as_decided, close, debate_of, filled, keys_of, redactor_of, run, snapshot, view_of
from rebut.engine.runtime import Runtime
from rebut.engine.steering import decisions
from rebut.record import sessions
from rebut.record.events import Fact, Resumed
from rebut.record.journal import Journal
from rebut.record.record import Amount, Record
from rebut.workspace.targets.target import target_of

if TYPE_CHECKING:
    from rebut.workspace.targets.target import Target
    from rebut.workspace.tree import View


async def start(plan: Plan, environment: Environment) -> Outcome:
    """Open a new session and run it."""
    sound(plan)
    keys = {"fence": secrets.token_bytes(32), "redaction": plan.redaction or secrets.token_bytes(32)}
    redactor = Redactor(keys["redaction"], environment.known_secrets)
    topic = redactor.door(plan.topic).strip()
    async with _new_session(environment) as (folder, journal):
        facts: dict[str, Json] = {"notes": list(plan.notes)} if plan.notes else {}
        if plan.asked:
            facts[ASKED] = dict(plan.asked)
        # The snapshot takes its time, so it comes first: a session that is on record can be resumed.
        view = await snapshot(plan, folder, redactor.door, environment, facts)
        if plan.target is not None:
            facts["target"] = _entered(plan.target, redactor.door, plan.searched)
        files = await _files_folder(plan, folder, topic)
        if files.path:
            facts["folder"] = files.path
        journal.write(opened(plan, folder, topic, alias=files.alias))
        facts["keys"] = {n: base64.b64encode(k).decode() for n, k in keys.items()}  # last: see `keys_of`
        for name, value in facts.items():
            journal.write(Fact(key=name, cls="input", value=value))
        await journal.sync()
        runtime = _runtime(journal.record, plan, environment, journal=journal, view=view)
        return await run(runtime, plan, environment, folder)


async def resume(
    plan: Plan,
    environment: Environment,
    folder: Path,
    raised: Mapping[str, float] | None = None,
    *,
    ask_left: bool = False,
) -> Outcome:
    """Take a session up again: run from the top, ask only what is not on record."""
    journal = Journal.open(folder, environment.listener)
    try:
        record = journal.record
        if not record.lines:
            raise RecordError(f"session {folder.name} is empty: its process died before anything was on record")
        if record.closed:
            if raised:
                raise UsageError(
                    f"session {folder.name} is closed, so its limits cannot change any more",
                    f"Go on with `rebut fork {folder.name}` and the new limits: what still fits is reused.",
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
            ask_again(journal)
        await journal.sync()
        parent = parent_of(record, environment)
        runtime = _runtime(
            record, plan, environment, journal=journal, view=view_of(record, folder, environment), parent=parent
        )
        return await run(runtime, plan, environment, folder)
    finally:
        journal.close()


async def fork(plan: Plan, environment: Environment, parent: Path, *, again: bool = False) -> Outcome:
    """Branch a session into a new one of its own: what still fits is copied, the rest is asked anew; `again`: all."""
    sound(plan)
    old = sessions.load(parent)
    async with _new_session(environment) as (folder, journal):
        if (parent / "snapshot").is_dir():
            # A thread of its own: it may take long, and the syncs of all journals would wait for it.
            await asyncio.to_thread(_copied, parent / "snapshot", folder / "snapshot")
        topic = redactor_of(old, environment.known_secrets).door(plan.topic).strip()
        files = await _files_folder(plan, folder, topic)
        journal.write(opened(plan, folder, topic, old.opened.id, files.alias))
        if plan.notes:
            journal.write(Fact(key="notes", cls="input", value=list(plan.notes)))
        if files.path:
            journal.write(Fact(key="folder", cls="input", value=files.path))
        if again:
            journal.write(Fact(key=AGAIN, cls="limit", value=True))  # for resume, too
        for fact in decisions(old) if plan.decided else ():
            journal.write(fact)
        for name in ("snapshot", "target", "context", "keys"):  # the keys last: with them it can be taken up again
            if name in old.facts:
                journal.write(old.facts[name])
        await journal.sync()
        view = view_of(journal.record, folder, environment)
        runtime = _runtime(journal.record, plan, environment, journal=journal, view=view, parent=None if again else old)
        return await run(runtime, plan, environment, folder)


@asynccontextmanager
async def _new_session(environment: Environment) -> AsyncIterator[tuple[Path, Journal]]:
    """A session of one's own, which goes again if it is refused before anybody was asked: there is nothing to keep."""
    folder = await asyncio.to_thread(sessions.create, environment.root)  # it waits for the disk
    journal = Journal.open(folder, environment.listener)
    try:
        yield folder, journal
    except asyncio.CancelledError:
        if "keys" not in journal.record.facts:
            shutil.rmtree(folder, ignore_errors=True)  # it cannot be taken up again
        raise
    except UsageError as refused:
        # What a fork has taken over is still with its parent.
        if all(c.answered and c.answered.copied_from for c in journal.record.calls.values()):
            shutil.rmtree(folder, ignore_errors=True)
            refused.add_note(f"session {folder.name} was not kept: nobody was asked")
        raise
    except RecordError as error:
        if "keys" in journal.record.facts:
            raise
        shutil.rmtree(folder, ignore_errors=True)
        raise UsageError(error.message, "Nothing was called. Make room, then start it again.") from error
    finally:
        journal.close()


def _copied(kept: Path, into: Path) -> None:
    try:
        shutil.copytree(kept, into)
    except (shutil.Error, OSError) as error:
        raise UsageError(
            f"the snapshot of session {kept.parent.name} could not be copied: {error}", "Nothing was called."
        ) from error


async def fork_plan(plan: Plan, environment: Environment, parent: Path) -> tuple[int, int]:
    """How many answers a fork would take over, and about how many it would ask anew; calls nothing."""
    sound(plan)
    old = sessions.load(parent)
    topic = redactor_of(old, environment.known_secrets).door(plan.topic).strip()
    record = Record()
    runtime = _runtime(record, plan, environment, view=view_of(old, parent, environment), parent=old)
    runtime.write(opened(plan, parent, topic, parent=old.opened.id))
    for fact in decisions(old) if plan.decided else ():
        runtime.write(fact)
    whole_on_record = False
    with suppress(NotOnRecord, ParticipantFailed, TooFewReplies, Aborted):
        await plan.protocol.run(debate_of(runtime, plan))
        whole_on_record = True
    await close(runtime)
    if whole_on_record:
        return record.answers, 0
    each = plan.protocol.calls(as_decided(plan.settings, record)) if plan.protocol.calls else None
    whole = sum(each.get(p.seat.partition(".")[0], 0) for p in plan.seats) if each else old.answers
    return record.answers, max(1, whole - record.answers)


async def replay(plan: Plan, environment: Environment, record: Record) -> Outcome:
    """Run the protocol again over the record alone: no model, no network, nothing written."""
    runtime = _runtime(record, plan, environment, view=None)
    try:
        outcome = await plan.protocol.run(debate_of(runtime, plan))
    finally:
        await close(runtime)
    if not outcome.complete:
        return outcome
    return filled(outcome, runtime, plan)


# what a run needs


def _runtime(
    record: Record,
    plan: Plan,
    environment: Environment,
    *,
    view: View | None,
    journal: Journal | None = None,
    parent: Record | None = None,
) -> Runtime:
    from rebut.workspace.tree import DebatedVersions

    keys = keys_of(parent or record)
    redactor = redactor_of(parent or record, environment.known_secrets)
    target = target_of(parent or record)
    closing, thinking = _closing(plan, environment)
    return Runtime(
        record=record,
        seats=plan.seats,
        connect=environment.connect,
        redact=redactor.redact,
        reach=redactor.reach,
        fence_key=base64.b64decode(keys["fence"]),
        limits=Limits.from_json(record.limits) if record.lines else plan.limits,
        closing=closing,
        closing_thinking=thinking,
        fallbacks=plan.fallbacks,
        journal=journal,
        parent=parent,
        upgraded=_upgraded(record, plan.protocol),
        elder=_upgraded(parent, plan.protocol) if parent else "",
        control=environment.control,
        sides=DebatedVersions.of(view, target, redactor.door, str(plan.workspace), environment.never),
        target=target,
        root=environment.root,
        never=environment.never,
        ledger=Ledger(plan.protocol.letter, noun=plan.protocol.noun),
        folder=str(record.facts["folder"].value) if "folder" in record.facts else "",
        reachability=environment.reachability,
        failed_before=frozenset(k for k, c in record.calls.items() if c.failed and not c.failed.reopened),
    )


def _entered(target: Target, door: Callable[[str], str], searched: bool) -> Json:
    """The target as it goes on record. What was read by this session's key passes unchanged; other texts may not."""
    if not searched:
        return at_the_door(target.to_json(), door)
    bare = tuple(replace(change, before=None, after=None) for change in target.changes)
    data = at_the_door(replace(target, changes=bare).to_json(), door)
    assert isinstance(data, dict) and isinstance(data["changes"], list)
    for row, change in zip(data["changes"], target.changes, strict=True):
        assert isinstance(row, dict)
        row |= {"before": change.before, "after": change.after}
    return data


async def _files_folder(plan: Plan, folder: Path, topic: str) -> FilesFolder:
    """The folder that the protocol claims for this session's files, if it wants one."""
    if plan.protocol.folder is None:
        return FilesFolder()
    session = NewSession(plan.settings, plan.workspace, folder, sessions.slug(topic))
    return await asyncio.to_thread(plan.protocol.folder, session)


def _closing(plan: Plan, environment: Environment) -> tuple[Amount, int]:
    """The worst case of the closing call, set aside from the start, and how much of that is for thinking."""
    size = plan.protocol.closing_tokens
    if not size:
        return Amount(), 0
    closer = next((p for p in plan.seats if p.seat == plan.protocol.judge), None)
    limited = plan.limits.usd is not None or plan.limits.tokens is not None
    connection = environment.connect(closer.spec) if closer and limited else None
    if connection is None:
        return Amount(1, size), 0
    usd = connection.price(max(0, size - MAX_OUTPUT), MAX_OUTPUT + connection.thinking)
    return Amount(1, size + connection.thinking, usd or 0.0), connection.thinking


def _upgraded(record: Record, protocol: Protocol) -> str:
    if not record.lines:
        return ""
    was = record.opened
    if was.rebut != __version__:
        return f"rebut was {was.rebut}, is {__version__}"
    if was.protocol_version != protocol.version:
        return f"the protocol was {was.protocol_version}, is {protocol.version}"
    return ""
