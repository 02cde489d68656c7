"""One run of a protocol over a runtime: live, to its outcome or the best result so far; or replayed from the record."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rebut.core.errors import (
    Aborted,
    DeadlineReached,
    Interrupted,
    ParticipantFailed,
    ProtocolError,
    RecordError,
    TooFewReplies,
    WaitingForCaller,
    WaitingForPerson,
)
from rebut.core.text import cut, plural
from rebut.domain.doubts import Doubt
from rebut.domain.ledger import NOTHING_KEPT, Move
from rebut.domain.outcome import Outcome, so_far
from rebut.domain.session_status import described, doubts_of, seated
from rebut.domain.worth import Worth
from rebut.engine.admission import running
from rebut.engine.debate import Debate
from rebut.engine.output_files import write_files
from rebut.engine.plan import Environment, Plan
from rebut.engine.protocol import Ended
from rebut.engine.runtime import Runtime, runtime_of
from rebut.engine.steering import Steering, as_decided, settled, steering_of
from rebut.record import inbox, sessions, stores, turn
from rebut.record.events import Closed
from rebut.record.record import Record
from rebut.record.timings import Timings

if TYPE_CHECKING:
    from rebut.workspace.targets.unread import UnreadFiles


async def run_protocol(runtime: Runtime, plan: Plan, environment: Environment, folder: Path) -> Outcome:
    """Run a debate whose opening is on record, under the user's control."""
    control = environment.control
    control.calls = plan.protocol.calls(as_decided(plan.settings, runtime.record)) if plan.protocol.calls else {}
    if environment.on_ready:
        environment.on_ready(runtime.record, folder)
    control.begin()
    steering = steering_of(runtime, plan)
    control.under_way.append(steering)

    debate = debate_of(runtime, plan)

    async def publish() -> list[str]:
        return await _write_artifacts(runtime, plan, _unfinished(runtime, plan, debate))

    async def take_notes() -> None:
        with suppress(RecordError):  # a journal that cannot be written ends the debate itself
            while True:
                await asyncio.sleep(max(LOOK_SECONDS, running() / LOOKS_PER_SECOND))
                await _take_notes(runtime, steering, folder)

    runtime.publish = publish if plan.protocol.artifacts else None
    runtime.working_time.start()
    await _take_notes(runtime, steering, folder)  # notes that were left while no process ran the debate
    looking = asyncio.ensure_future(take_notes())
    task, journal = asyncio.current_task(), runtime.journal
    assert task is not None and journal is not None
    journal.on_lost = task.cancel  # calls in flight are cancelled with the task
    try:
        return await _to_the_end(runtime, plan, debate, lambda: _take_notes(runtime, steering, folder))
    except asyncio.CancelledError:
        if journal.lost is None:
            raise
        task.uncancel()
        raise journal.lost from None
    except (WaitingForCaller, WaitingForPerson) as waits:
        turn.keep(folder, waits, runtime.record)
        raise
    finally:
        journal.on_lost = None
        looking.cancel()
        runtime.working_time.stop()
        control.under_way.remove(steering)
        runtime.publish = None  # it refers to the debate, whose memory would wait for the garbage collector


LOOK_SECONDS = 0.5
"""Seconds between two looks into the session's inbox …"""
LOOKS_PER_SECOND = 40
"""… and how many looks a second there are in one process: with many debates, each is looked at less often."""


async def _take_notes(runtime: Runtime, steering: Steering, folder: Path) -> None:
    """Record the notes and decisions that other processes left for this debate."""
    for path, text in inbox.waiting(folder):
        refused = steering.settle() if text == inbox.SETTLE else steering.say(text)
        await runtime.sync()
        inbox.take(path, refused)


async def replay(plan: Plan, environment: Environment, record: Record) -> Outcome:
    """Run the protocol again over the record alone: no model is called, nothing is written."""
    runtime = runtime_of(record, plan, environment, view=None)
    try:
        outcome = await plan.protocol.run(debate_of(runtime, plan))
    finally:
        await finish(runtime)
    return _filled(outcome, runtime, plan) if outcome.complete else outcome


async def _to_the_end(
    runtime: Runtime, plan: Plan, debate: Debate, take_notes: Callable[[], Awaitable[None]]
) -> Outcome:
    """Run the protocol, write its files and close the session. A deadline gives a partial outcome instead."""
    try:
        outcome = await plan.protocol.run(debate)
    except DeadlineReached as error:
        partial = _partial(runtime, plan, debate, str(error.message))
        await _write_artifacts(runtime, plan, Ended(runtime.record, plan.settings, outcome=partial))
        await runtime.sync()
        return partial
    except (Interrupted, asyncio.CancelledError):
        await _write_artifacts(runtime, plan, _unfinished(runtime, plan, debate))
        await runtime.sync()
        raise
    except (ParticipantFailed, TooFewReplies, Aborted) as error:
        for note in await _write_artifacts(runtime, plan, Ended(runtime.record, plan.settings, error=error)):
            error.add_note(note)
        raise
    finally:
        await finish(runtime)
    if not isinstance(outcome, Outcome):
        raise ProtocolError(
            f"the protocol {plan.protocol.name} returned {outcome!r:.60} instead of an Outcome",
            "Fix the protocol and resume.",
        )
    await take_notes()  # these notes come too late for any seat, and are reported as such
    outcome = _filled(outcome, runtime, plan)
    notes = await _write_artifacts(runtime, plan, Ended(runtime.record, plan.settings, outcome=outcome))
    outcome = outcome.filled(notes=(*outcome.notes, *notes))
    if stores.of(runtime.root) is not None:
        await asyncio.to_thread(sessions.keep_files, runtime.root / runtime.record.opened.id)
    await runtime.append(Closed(outcome=outcome.to_json()))
    Timings.beside(runtime.root).add(runtime.record)
    return outcome


def _unfinished(runtime: Runtime, plan: Plan, debate: Debate) -> Ended:
    """The debate as it is by now, for files that are written before it ends."""
    known = plan.protocol.partial(debate).data if plan.protocol.partial and runtime.record.answers else {}
    return Ended(runtime.record, plan.settings, so_far=known)


def debate_of(runtime: Runtime, plan: Plan) -> Debate:
    """The debate that the protocol's coroutine gets."""
    fact = runtime.record.facts.get("context") or (runtime.parent.facts.get("context") if runtime.parent else None)
    context = ""
    if fact and isinstance(fact.value, dict):
        from rebut.workspace.context import Gathered

        context = Gathered.from_json(fact.value).text
    return Debate(runtime.record.opened.topic, plan.settings, runtime, context)


async def finish(runtime: Runtime) -> None:
    """Stop checks that were for the screen only, and close the views of the workspace."""
    for check in list(runtime.background):
        check.cancel()
    await asyncio.gather(*runtime.background, return_exceptions=True)
    if runtime.check_runner is not None:
        await runtime.check_runner.close()
    await runtime.sides.close()


async def _write_artifacts(runtime: Runtime, plan: Plan, ended: Ended) -> list[str]:
    """Write the protocol's files. Returns what the user must know about them."""
    files = plan.protocol.artifacts(ended) if plan.protocol.artifacts else ()
    return (await write_files(runtime, files))[1] if files else []


# the outcome


def _partial(runtime: Runtime, plan: Plan, debate: Debate, why: str) -> Outcome:
    """The best result so far, at a deadline. The session stays open."""
    outcome = plan.protocol.partial(debate) if plan.protocol.partial else so_far(runtime.record.answers)
    worth = outcome.worth or Worth(caveat="the debate is not over")
    doubts = (*outcome.doubts, Doubt("deadline", said=why))
    return _filled(outcome.filled(complete=False, doubts=doubts, stopped=why, worth=worth), runtime, plan)


def _filled(outcome: Outcome, runtime: Runtime, plan: Plan) -> Outcome:
    """A protocol's outcome with what the engine knows: ledger, seats, cost, caveats and notes."""
    record = runtime.record
    doubts = [*outcome.doubts, *doubts_of(record, plan.protocol.judge or "", plan.protocol.silent)]
    if any(doubt.kind == "same model" for doubt in doubts):  # it says more than `one model`
        doubts = [doubt for doubt in doubts if doubt.kind != "one model"]
    notes = [*outcome.notes, *described(record), *runtime.notes]
    if carried := list(runtime.carried):
        more = f" and {len(carried) - 3} more" if len(carried) > 3 else ""
        why = runtime.carried[carried[-1]]
        values = plural(len(carried), "a value", "values")
        used = plural(len(carried), "is", "are")
        notes.append(f"{', '.join(carried[:3])}{more}: {values} computed by an earlier version {used} used ({why})")
    if (ended := settled(record)) and not runtime.rounds.cut:
        notes.append(
            f"the user ended the rounds in round {ended.round}, which was the last one, so nothing was skipped"
        )
    if any(e.note == NOTHING_KEPT for e in runtime.ledger.evidence):
        notes.append("citations of files were not checked: this is not a git repository, and no --context was given")
    unplaced = runtime.ledger.unplaced
    if unplaced:
        notes.insert(0, _unplaced(unplaced))  # the screen shows only the first notes
        doubts.append(Doubt("unmatched", "NOT EVERY OBJECTION WEIGHED", notes[0]))
    files = _unread_files(record)
    if files.doubtful:
        doubts.append(Doubt("files unread", files.caveat, files.sentence))
    notes += files.notes
    return outcome.filled(
        doubts=tuple(doubts),
        # A protocol that counts only a part of the ledger, such as whole rounds, gives that part.
        ledger=outcome.ledger if outcome.ledger.points or outcome.ledger.claims else runtime.ledger,
        seats=seated(record),
        spent=record.spent(),
        rounds=record.spent_in_rounds(),
        session=record.opened.id,
        notes=tuple(dict.fromkeys(notes)),
        unread=files.lines,
        worth=outcome.worth.paid(record) if outcome.worth else None,
    ).settled()


def _unread_files(record: Record) -> UnreadFiles:
    """The files of the target that no model read (C17)."""
    from rebut.workspace.targets.unread import UnreadFiles, unread_in

    return unread_in(record) if "target" in record.facts else UnreadFiles()


def _unplaced(objections: Sequence[Move]) -> str:
    """The note on objections that name a point which does not exist: they are no new points, and were not weighed."""
    several = len(objections) > 1
    count, were = (f"{len(objections)} objections name", "were") if several else ("1 objection names", "was")
    said = "; ".join(f"{m.by} on {cut(m.point, 20)}: {cut(m.reason, 80)}" for m in objections[:5])
    return f"{count} a point that does not exist, and {were} not weighed: {said}"
