"""The engine: begin a debate, take it up again, branch it, or run it anew from its record alone.

All four do one thing: run the protocol's coroutine from the top over a `Room`. What differs is what the room holds.
"""

from __future__ import annotations

import base64
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rebut import __version__, artifacts, session
from rebut.budget import MAX_OUTPUT, Limits
from rebut.debate import Debate
from rebut.endings import described, seated
from rebut.errors import (
    Aborted,
    DeadlineReached,
    NotOnRecord,
    ParticipantFailed,
    RecordError,
    TooFewReplies,
    UsageError,
)
from rebut.events import Amended, Closed, Fact, Failed, Line, Opened, Resumed, Wrote
from rebut.journal import Journal
from rebut.ledger import Ledger
from rebut.outcome import Outcome
from rebut.processes import end_group
from rebut.protocol import Ended, Protocol
from rebut.record import Amount, Record
from rebut.redaction import Redactor
from rebut.room import Connection, Control, Room
from rebut.text import clean
from rebut.types import Json, ModelSpec, Participant

if TYPE_CHECKING:
    from rebut.view import View

TOPIC_LIMIT = 100_000


@dataclass(frozen=True, slots=True)
class Table:
    """The outside of a debate, none of it on record: how to reach models, what is secret, who listens."""

    connect: Callable[[ModelSpec], Connection]
    root: Path
    """The folder of all sessions."""
    known_secrets: Sequence[str] = ()
    never: Sequence[str] = ()
    control: Control = field(default_factory=Control)
    listener: Callable[[Line], None] | None = None
    on_ready: Callable[[Record, Path], None] | None = None
    """Called once the debate is on record and before anything is asked."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A debate as asked for, everything checked."""

    protocol: Protocol
    topic: str
    seats: Sequence[Participant]
    settings: Any
    workspace: Path
    limits: Limits = Limits()
    context: Sequence[str] = ()
    fallbacks: Mapping[str, Sequence[ModelSpec]] = field(default_factory=dict)
    notes: Sequence[str] = ()


async def start(plan: Plan, table: Table) -> Outcome:
    """Open a new session and run it."""
    _debatable(plan.topic)
    keys = {"fence": secrets.token_bytes(32), "redaction": secrets.token_bytes(32)}
    redact = Redactor(keys["redaction"], table.known_secrets).redact
    topic = redact(clean(plan.topic)).strip()
    folder = session.create(table.root)
    journal = Journal.open(folder, table.listener)
    try:
        facts: dict[str, Json] = {"notes": list(plan.notes)} if plan.notes else {}
        # The snapshot takes its time, so it comes first: a session that is on record can be resumed.
        view = await _snapshot(plan, folder, lambda text: redact(clean(text)), table.never, facts)
        journal.write(opened(plan, folder, topic))
        facts["keys"] = {n: base64.b64encode(k).decode() for n, k in keys.items()}  # last: see `_keys`
        for name, value in facts.items():
            journal.write(Fact(key=name, cls="input", value=value))
        await journal.sync()
        room = _room(journal.record, plan, table, journal=journal, view=view)
        return await _run(room, plan, table, folder)
    except UsageError:
        if not journal.record.calls:
            shutil.rmtree(folder, ignore_errors=True)  # nothing was asked yet: there is nothing to keep
        raise
    finally:
        journal.close()


def _debatable(topic: str) -> None:
    if not clean(topic).strip():
        raise UsageError("the topic is empty", "Say what to debate, in quotes.")
    if len(topic) > TOPIC_LIMIT:
        raise UsageError(
            f"the topic is {len(topic):,} characters long; at most {TOPIC_LIMIT:,} are taken",
            "Ask the question in a sentence and give the material with --context FILE.",
        )


def opened(plan: Plan, folder: Path, topic: str, parent: str = "") -> Opened:
    seats: list[dict[str, Json]] = [
        {
            "seat": p.seat,
            "spec": (f"{p.spec.name}=" if p.spec.name else "") + str(p.spec),
            "family": p.family,
            "persona": p.persona,
            "fallbacks": [str(s) for s in plan.fallbacks.get(p.seat, ())],
        }
        for p in plan.seats
    ]
    return Opened(
        id=folder.name,
        protocol=plan.protocol.name,
        topic=topic,
        rebut=__version__,
        protocol_version=plan.protocol.version,
        source=plan.protocol.source,
        slug=session.slug(topic),
        workspace=str(plan.workspace),
        settings=plan.settings.model_dump(mode="json"),
        seats=seats,
        limits=plan.limits.to_json(),
        forked_from=parent,
    )


async def resume(plan: Plan, table: Table, folder: Path, raised: Mapping[str, float] | None = None) -> Outcome:
    """Take a session up again: run from the top, ask only what is not on record."""
    journal = Journal.open(folder, table.listener)
    try:
        record = journal.record
        if not record.lines:
            raise RecordError(f"session {folder.name} is empty: its process died before anything was on record")
        if record.closed:
            return Outcome.from_json(record.closed.outcome)
        _keys(record)
        orphans = _end_orphans(record)
        journal.write(
            Resumed(rebut=__version__, protocol_version=plan.protocol.version, torn=journal.torn, orphans=orphans)
        )
        if raised:
            _amend(journal, raised)
        await journal.sync()
        parent = _parent(record, table)
        room = _room(record, plan, table, journal=journal, view=_view_of(record, folder, table), parent=parent)
        return await _run(room, plan, table, folder)
    finally:
        journal.close()


def _parent(record: Record, table: Table) -> Record | None:
    """The session that this one was forked from: a fork that died before it had taken all over goes on doing so."""
    if not record.opened.forked_from:
        return None
    try:
        return session.load(table.root / record.opened.forked_from)
    except RecordError:
        return None  # deleted since: the fork needs it no more than for what it has not yet copied


async def fork(plan: Plan, table: Table, parent: Path) -> Outcome:
    """Branch a session into a new one of its own: what still fits is copied, the rest is asked anew."""
    _debatable(plan.topic)
    old = session.load(parent)
    folder = session.create(table.root)
    if (parent / "snapshot").is_dir():
        shutil.copytree(parent / "snapshot", folder / "snapshot")
    journal = Journal.open(folder, table.listener)
    try:
        topic = _redactor(old, table)(clean(plan.topic)).strip()
        journal.write(opened(plan, folder, topic, parent=old.opened.id))
        for name in ("snapshot", "context", "notes", "keys"):
            if name in old.facts:
                journal.write(old.facts[name])
        await journal.sync()
        view = _view_of(journal.record, folder, table)
        room = _room(journal.record, plan, table, journal=journal, view=view, parent=old)
        return await _run(room, plan, table, folder)
    finally:
        journal.close()


async def fork_plan(plan: Plan, table: Table, parent: Path) -> tuple[int, int]:
    """How many answers a fork would take over, and about how many it would ask anew; calls nothing."""
    _debatable(plan.topic)
    old = session.load(parent)
    topic = _redactor(old, table)(clean(plan.topic)).strip()
    record = Record()
    room = _room(record, plan, table, view=_view_of(old, parent, table), parent=old)
    room.write(opened(plan, parent, topic, parent=old.opened.id))
    with suppress(NotOnRecord, ParticipantFailed, TooFewReplies, Aborted):
        await plan.protocol.run(_debate(room, plan))
    await _close(room)
    return record.answers, max(0, old.answers - record.answers)


async def replay(plan: Plan, table: Table, folder: Path) -> Outcome:
    """Run the protocol again over the record alone: no model, no network, nothing written."""
    record = session.load(folder)
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
    debate = _debate(room, plan)
    try:
        outcome = await plan.protocol.run(debate)
    except DeadlineReached as error:
        await room.sync()
        return _partial(room, plan, debate, str(error.message))
    except (ParticipantFailed, TooFewReplies, Aborted) as error:
        await _leave(room, plan, table, folder, Ended(room.record, plan.settings, error=error))
        raise
    finally:
        await _close(room)
    outcome = _filled(outcome, room)
    ended = Ended(room.record, plan.settings, outcome=outcome)
    notes = await _leave(room, plan, table, folder, ended)
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
    return outcome.filled(
        ledger=room.ledger,
        seats=seated(record),
        spent=record.spent(),
        session=record.opened.id,
        notes=tuple(dict.fromkeys(notes)),
    )


def _partial(room: Room, plan: Plan, debate: Debate, why: str) -> Outcome:
    """The best typed result at a deadline. The session stays open."""
    if plan.protocol.partial:
        outcome = plan.protocol.partial(debate)
    else:
        outcome = Outcome("partial", "PARTIAL", f"{room.record.answers} answers are on record, no decision yet.")
    return _filled(outcome.filled(complete=False, conclusive=False, stopped=why), room)


async def _leave(room: Room, plan: Plan, table: Table, folder: Path, ended: Ended) -> list[str]:
    """Write the protocol's artifacts, and record which files are ours."""
    notes: list[str] = []
    for one in plan.protocol.artifacts(ended) if plan.protocol.artifacts else ():
        wanted = folder / one.path
        path = artifacts.place(wanted, room.record, table.root)
        # On record before it is there: a process that dies in between must know the file for its own.
        room.write(Wrote(path=str(path), sha=artifacts.sha(one.text)))
        try:
            artifacts.save(path, one.text)
        except RecordError as error:
            notes.append(error.message)
            continue
        if path != wanted:
            notes.append(f"{wanted} is not rebut's own any more and was left alone; see {path.name} beside it")
    return notes


async def _close(room: Room) -> None:
    if room.view is not None:
        await room.view.close()


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
    keys = _keys(parent or record)
    redactor = Redactor(base64.b64decode(keys["redaction"]), table.known_secrets)
    return Room(
        record=record,
        seats=plan.seats,
        connect=table.connect,
        redact=redactor.redact,
        fence_key=base64.b64decode(keys["fence"]),
        limits=Limits.from_json(record.limits) if record.lines else plan.limits,
        closing=_closing(plan, table),
        fallbacks=plan.fallbacks,
        journal=journal,
        parent=parent,
        upgraded=_upgraded(record, plan.protocol),
        control=table.control,
        view=view,
        never=table.never,
        ledger=Ledger(plan.protocol.letter),
        failed_before=frozenset(k for k, c in record.calls.items() if c.failed and not c.failed.reopened),
    )


def _closing(plan: Plan, table: Table) -> Amount:
    """The worst case of the closing call, set aside from the start."""
    size = plan.protocol.closing_tokens
    if not size:
        return Amount()
    closer = next((p for p in plan.seats if p.seat == plan.protocol.judge), None)
    connection = table.connect(closer.spec) if closer and plan.limits.usd is not None else None
    price = connection.price(max(0, size - MAX_OUTPUT), MAX_OUTPUT) if connection else None
    return Amount(1, size, price or 0.0)


def _upgraded(record: Record, protocol: Protocol) -> str:
    if not record.lines:
        return ""
    was = record.opened
    if was.rebut != __version__:
        return f"rebut was {was.rebut}, is {__version__}"
    if was.protocol_version != protocol.version:
        return f"the protocol was {was.protocol_version}, is {protocol.version}"
    return ""


def _keys(record: Record) -> Mapping[str, str]:
    """The session's own keys. They are the last fact of an opening: where they stand, all of it stands."""
    if "keys" not in record.facts:
        raise RecordError(
            f"session {record.opened.id} died while it was being opened, before anything was asked", "Start it anew."
        )
    return cast(Mapping[str, str], record.facts["keys"].value)


def _redactor(record: Record, table: Table) -> Callable[[str], str]:
    return Redactor(base64.b64decode(_keys(record)["redaction"]), table.known_secrets).redact


async def _snapshot(
    plan: Plan, folder: Path, door: Callable[[str], str], never: Sequence[str], facts: dict[str, Json]
) -> View | None:
    """Keep the workspace as it stands, and read the context that the user gave."""
    if not (session.repository(plan.workspace) / ".git").exists() and not plan.context:
        return None
    from rebut.context import gather
    from rebut.snapshot import take
    from rebut.view import View

    keep = folder / "snapshot"
    taken = await take(plan.workspace, keep, door, include=plan.context, never=never)
    facts["snapshot"] = taken.to_json()
    view = View(taken, keep, door)
    if plan.context:
        facts["context"] = (await gather(view, taken.included, never=never)).to_json()
    return view


def _view_of(record: Record, folder: Path, table: Table) -> View | None:
    fact = record.facts.get("snapshot")
    if fact is None:
        return None
    from rebut.snapshot import Snapshot
    from rebut.view import View

    redact = _redactor(record, table)
    taken = Snapshot.from_json(cast(Mapping[str, Json], fact.value))
    return View(taken, folder / "snapshot", lambda text: redact(clean(text)))


def _end_orphans(record: Record) -> list[str]:
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


def _amend(journal: Journal, raised: Mapping[str, float]) -> None:
    """Change limits, and open again what an old limit ended, unless the debate has already gone on from there."""
    record = journal.record
    journal.write(Amended(limits=dict(raised)))
    for line in reversed(list(record.lines)):
        match line.event:
            case Failed(failure="budget", reopened=False) as e:
                journal.write(
                    Failed(key=e.key, seat=e.seat, fp=e.fp, failure="budget", message=e.message, reopened=True)
                )
            case Fact(cls="limit", value=str(reason)) as e if reason:
                journal.write(Fact(key=e.key, cls="limit", value=""))
            case e if e.kind == "asked":
                break
            case _:
                pass


def participants(record: Record) -> tuple[list[Participant], dict[str, list[ModelSpec]]]:
    """The seats as they were filled when the debate opened."""
    seats, fallbacks = [], {}
    for row in record.opened.seats:
        seat = str(row["seat"])
        spec = ModelSpec.parse(str(row["spec"]))
        seats.append(Participant(seat, spec, str(row.get("family", "")), str(row.get("persona", ""))))
        fallbacks[seat] = [ModelSpec.parse(str(s)) for s in cast(list[Json], row.get("fallbacks", []))]
    return seats, fallbacks
