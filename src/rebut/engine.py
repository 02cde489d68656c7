"""The engine: begin a debate, take it up again, branch it, or run it anew from its record alone.

All four do one thing: run the protocol's coroutine from the top over a `Room`. What differs is what the room holds.
"""

from __future__ import annotations

import asyncio
import base64
import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rebut import __version__, session
from rebut.aside import aside
from rebut.budget import MAX_OUTPUT, Limits
from rebut.debate import Debate
from rebut.endings import described, seated
from rebut.errors import (
    Aborted,
    DeadlineReached,
    NotOnRecord,
    ParticipantFailed,
    ProtocolError,
    RecordError,
    TooFewReplies,
    UsageError,
)
from rebut.events import Closed, Fact, Resumed
from rebut.journal import Journal
from rebut.leaving import leave
from rebut.ledger import NOTHING_KEPT, Ledger, Move
from rebut.opening import keys_of, redactor_of, sides_of, snapshot, target_of, view_of
from rebut.outcome import Outcome
from rebut.plan import Plan, Table, opened, sound
from rebut.protocol import Ended, Protocol
from rebut.record import Amount, Record
from rebut.redaction import Redactor
from rebut.resuming import amend, end_orphans, parent_of
from rebut.room import Room
from rebut.text import at_the_door, clean, cut
from rebut.types import Json

if TYPE_CHECKING:
    from rebut.view import View


async def start(plan: Plan, table: Table) -> Outcome:
    """Open a new session and run it."""
    sound(plan)
    table.control.begin()
    keys = {"fence": secrets.token_bytes(32), "redaction": plan.redaction or secrets.token_bytes(32)}
    redact = Redactor(keys["redaction"], table.known_secrets).redact
    topic = redact(clean(plan.topic)).strip()
    folder = await aside(lambda: session.create(table.root))  # it waits for the disk, and others may be debating
    journal = Journal.open(folder, table.listener)
    try:
        facts: dict[str, Json] = {"notes": list(plan.notes)} if plan.notes else {}
        # The snapshot takes its time, so it comes first: a session that is on record can be resumed.
        view = await snapshot(plan, folder, lambda text: redact(clean(text)), table, facts)
        if plan.target is not None:
            # What was resolved with this session's redactor passes unchanged; what anybody made by hand does not.
            facts["target"] = at_the_door(plan.target.to_json(), lambda text: redact(clean(text)))
        if plan.protocol.folder:
            facts["folder"] = await _claimed(plan, folder, topic)
        journal.write(opened(plan, folder, topic, alias=_alias(plan)))
        facts["keys"] = {n: base64.b64encode(k).decode() for n, k in keys.items()}  # last: see `keys_of`
        for name, value in facts.items():
            journal.write(Fact(key=name, cls="input", value=value))
        await journal.sync()
        room = _room(journal.record, plan, table, journal=journal, view=view)
        return await _run(room, plan, table, folder)
    except UsageError:
        if not journal.record.calls:
            shutil.rmtree(folder, ignore_errors=True)  # nothing was asked yet: there is nothing to keep
        raise
    except RecordError as error:
        if "keys" in journal.record.facts:
            raise
        shutil.rmtree(folder, ignore_errors=True)
        raise UsageError(error.message, "Nothing was called. Make room, then start it again.") from error
    finally:
        journal.close()


async def resume(plan: Plan, table: Table, folder: Path, raised: Mapping[str, float] | None = None) -> Outcome:
    """Take a session up again: run from the top, ask only what is not on record."""
    journal = Journal.open(folder, table.listener)
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
        await journal.sync()
        parent = parent_of(record, table)
        room = _room(record, plan, table, journal=journal, view=view_of(record, folder, table), parent=parent)
        return await _run(room, plan, table, folder)
    finally:
        journal.close()


async def fork(plan: Plan, table: Table, parent: Path) -> Outcome:
    """Branch a session into a new one of its own: what still fits is copied, the rest is asked anew."""
    sound(plan)
    old = session.load(parent)
    folder = await aside(lambda: session.create(table.root))
    if (parent / "snapshot").is_dir():
        shutil.copytree(parent / "snapshot", folder / "snapshot")
    journal = Journal.open(folder, table.listener)
    try:
        topic = redactor_of(old, table)(clean(plan.topic)).strip()
        journal.write(opened(plan, folder, topic, old.opened.id, _alias(plan)))
        if plan.notes:
            journal.write(Fact(key="notes", cls="input", value=list(plan.notes)))
        if plan.protocol.folder:
            journal.write(Fact(key="folder", cls="input", value=await _claimed(plan, folder, topic)))
        for name in ("snapshot", "target", "context", "keys"):
            if name in old.facts:
                journal.write(old.facts[name])
        await journal.sync()
        view = view_of(journal.record, folder, table)
        room = _room(journal.record, plan, table, journal=journal, view=view, parent=old)
        return await _run(room, plan, table, folder)
    finally:
        journal.close()


async def fork_plan(plan: Plan, table: Table, parent: Path) -> tuple[int, int]:
    """How many answers a fork would take over, and about how many it would ask anew; calls nothing."""
    sound(plan)
    old = session.load(parent)
    topic = redactor_of(old, table)(clean(plan.topic)).strip()
    record = Record()
    room = _room(record, plan, table, view=view_of(old, parent, table), parent=old)
    room.write(opened(plan, parent, topic, parent=old.opened.id))
    whole_on_record = False
    with suppress(NotOnRecord, ParticipantFailed, TooFewReplies, Aborted):
        await plan.protocol.run(_debate(room, plan))
        whole_on_record = True
    await _close(room)
    if whole_on_record:
        return record.answers, 0
    each = plan.protocol.calls(plan.settings) if plan.protocol.calls else None
    whole = sum(each.get(p.seat.partition(".")[0], 0) for p in plan.seats) if each else old.answers
    return record.answers, max(1, whole - record.answers)


async def replay(plan: Plan, table: Table, record: Record) -> Outcome:
    """Run the protocol again over the record alone: no model, no network, nothing written."""
    room = _room(record, plan, table, view=None)
    try:
        outcome = await plan.protocol.run(_debate(room, plan))
    finally:
        await _close(room)
    if not outcome.complete:
        return outcome
    return _filled(outcome, room)


# how a run goes


async def _run(room: Room, plan: Plan, table: Table, folder: Path) -> Outcome:
    if table.on_ready:
        table.on_ready(room.record, folder)
    table.control.begin()

    async def publish() -> list[str]:
        return await _leave(room, plan, Ended(room.record, plan.settings))

    room.publish = publish
    debate = _debate(room, plan)
    try:
        outcome = await plan.protocol.run(debate)
    except DeadlineReached as error:
        partial = _partial(room, plan, debate, str(error.message))
        await _leave(room, plan, Ended(room.record, plan.settings, outcome=partial))
        await room.sync()
        return partial
    except (ParticipantFailed, TooFewReplies, Aborted) as error:
        for note in await _leave(room, plan, Ended(room.record, plan.settings, error=error)):
            error.add_note(note)
        raise
    finally:
        await _close(room)
    if not isinstance(outcome, Outcome):
        raise ProtocolError(f"{plan.protocol.name} returned {outcome!r:.60}, not an Outcome", "Mend it, then resume.")
    outcome = _filled(outcome, room)
    ended = Ended(room.record, plan.settings, outcome=outcome)
    notes = await _leave(room, plan, ended)
    outcome = outcome.filled(notes=(*outcome.notes, *notes))
    await room.append(Closed(outcome=outcome.to_json()))
    return outcome


def _debate(room: Room, plan: Plan) -> Debate:
    fact = room.record.facts.get("context") or (room.parent.facts.get("context") if room.parent else None)
    context = ""
    if fact and isinstance(fact.value, dict):
        from rebut.context import Gathered

        context = Gathered.from_json(fact.value).text
    return Debate(room.record.opened.topic, plan.settings, room, context)


def _filled(outcome: Outcome, room: Room) -> Outcome:
    record = room.record
    notes = [*outcome.notes, *described(record), *room.notes]
    if any(e.note == NOTHING_KEPT for e in room.ledger.evidence):
        notes.append("citations of files were not looked up: this is no git repository, and no --context was given")
    unplaced = room.ledger.unplaced
    if unplaced:
        notes.append(_unplaced(unplaced))
    return outcome.filled(
        conclusive=outcome.conclusive and not unplaced,
        ledger=room.ledger,
        seats=seated(record),
        spent=record.spent(),
        rounds=record.spent_in_rounds(),
        session=record.opened.id,
        notes=tuple(dict.fromkeys(notes)),
    )


def _unplaced(objections: Sequence[Move]) -> str:
    """An objection that cannot be placed is not a new point, and a run that lost one is not a clean one."""
    count = f"{len(objections)} objections name" if len(objections) > 1 else "1 objection names"
    said = "; ".join(f"{m.by} on {cut(m.point, 20)}: {cut(m.reason, 80)}" for m in objections[:5])
    return f"{count} a point that does not exist, and nobody weighed what it says: {said}"


def _partial(room: Room, plan: Plan, debate: Debate, why: str) -> Outcome:
    """The best typed result at a deadline. The session stays open."""
    if plan.protocol.partial:
        outcome = plan.protocol.partial(debate)
    else:
        outcome = Outcome("partial", "PARTIAL", f"{room.record.answers} answers are on record, no decision yet.")
    return _filled(outcome.filled(complete=False, conclusive=False, stopped=why), room)


async def _leave(room: Room, plan: Plan, ended: Ended) -> list[str]:
    """Write the protocol's artifacts, and record which files are ours."""
    files = plan.protocol.artifacts(ended) if plan.protocol.artifacts else ()
    return (await leave(room, files))[1] if files else []


async def _close(room: Room) -> None:
    if room.sides is not None:
        await room.sides.close()


# what a run needs


def _room(
    record: Record,
    plan: Plan,
    table: Table,
    *,
    view: View | None,
    journal: Journal | None = None,
    parent: Record | None = None,
) -> Room:
    keys = keys_of(parent or record)
    redactor = Redactor(base64.b64decode(keys["redaction"]), table.known_secrets)
    target = target_of(parent or record)
    closing, thinking = _closing(plan, table)
    return Room(
        record=record,
        seats=plan.seats,
        connect=table.connect,
        redact=redactor.redact,
        fence_key=base64.b64decode(keys["fence"]),
        limits=Limits.from_json(record.limits) if record.lines else plan.limits,
        closing=closing,
        closing_thinking=thinking,
        fallbacks=plan.fallbacks,
        journal=journal,
        parent=parent,
        upgraded=_upgraded(record, plan.protocol),
        control=table.control,
        sides=sides_of(view, target, redactor.redact, str(plan.workspace), table),
        target=target,
        root=table.root,
        never=table.never,
        ledger=Ledger(plan.protocol.letter),
        folder=str(record.facts["folder"].value) if "folder" in record.facts else "",
        trips=table.trips,
        failed_before=frozenset(k for k, c in record.calls.items() if c.failed and not c.failed.reopened),
    )


async def _claimed(plan: Plan, folder: Path, topic: str) -> str:
    assert plan.protocol.folder is not None
    place = plan.protocol.folder
    return str(await asyncio.to_thread(place, plan.settings, plan.workspace, folder, session.slug(topic)))


def _alias(plan: Plan) -> str:
    return plan.protocol.claim(plan.settings, datetime.now(), os.getpid()) if plan.protocol.claim else ""


def _closing(plan: Plan, table: Table) -> tuple[Amount, int]:
    """The worst case of the closing call, set aside from the start, and how much of that is for thinking."""
    size = plan.protocol.closing_tokens
    if not size:
        return Amount(), 0
    closer = next((p for p in plan.seats if p.seat == plan.protocol.judge), None)
    limited = plan.limits.usd is not None or plan.limits.tokens is not None
    connection = table.connect(closer.spec) if closer and limited else None
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
