"""Playing: one run of a protocol over a runtime, to its outcome, its best result so far, or what stopped it."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rebut.core.errors import Aborted, DeadlineReached, ParticipantFailed, ProtocolError, RecordError, TooFewReplies
from rebut.core.redaction import Redactor
from rebut.core.text import cut
from rebut.core.types import Json
from rebut.domain.ledger import NOTHING_KEPT, Move
from rebut.domain.outcome import Outcome, so_far
from rebut.domain.session_status import ALONE, caveats, described, seated, unread
from rebut.domain.worth import Worth
from rebut.engine.debate import Debate
from rebut.engine.output_files import write_files
from rebut.engine.plan import Environment, Plan
from rebut.engine.protocol import Ended
from rebut.engine.runtime import Runtime
from rebut.engine.steering import Steering, added, settled
from rebut.record import sessions
from rebut.record.events import Closed
from rebut.record.record import Record
from rebut.record.timings import Timings

if TYPE_CHECKING:
    from rebut.workspace.tree import View

MOST_ROUNDS = 20
"""No protocol of ours has as many; the search for a bound ends there."""


async def run(runtime: Runtime, plan: Plan, environment: Environment, folder: Path) -> Outcome:
    environment.control.calls = (
        plan.protocol.calls(as_decided(plan.settings, runtime.record)) if plan.protocol.calls else {}
    )
    if environment.on_ready:
        environment.on_ready(runtime.record, folder)
    control = environment.control
    control.begin()
    steering = _steering(runtime, plan)
    control.under_way.append(steering)

    async def publish() -> list[str]:
        return await _leave(runtime, plan, Ended(runtime.record, plan.settings))

    runtime.publish = publish
    try:
        return await played(runtime, plan)
    finally:
        control.under_way.remove(steering)


async def played(runtime: Runtime, plan: Plan) -> Outcome:
    debate = debate_of(runtime, plan)
    try:
        outcome = await plan.protocol.run(debate)
    except DeadlineReached as error:
        partial = _partial(runtime, plan, debate, str(error.message))
        await _leave(runtime, plan, Ended(runtime.record, plan.settings, outcome=partial))
        await runtime.sync()
        return partial
    except (ParticipantFailed, TooFewReplies, Aborted) as error:
        for note in await _leave(runtime, plan, Ended(runtime.record, plan.settings, error=error)):
            error.add_note(note)
        raise
    finally:
        await close(runtime)
    if not isinstance(outcome, Outcome):
        raise ProtocolError(f"{plan.protocol.name} returned {outcome!r:.60}, not an Outcome", "Mend it, then resume.")
    outcome = filled(outcome, runtime, plan)
    ended = Ended(runtime.record, plan.settings, outcome=outcome)
    notes = await _leave(runtime, plan, ended)
    outcome = outcome.filled(notes=(*outcome.notes, *notes))
    await runtime.append(Closed(outcome=outcome.to_json()))
    Timings.beside(runtime.root).add(runtime.record)
    return outcome


def _steering(runtime: Runtime, plan: Plan) -> Steering:
    """The hand on this debate. How many rounds it may have at most, its own settings know."""
    name, planned = plan.protocol.name, _rounds(plan.settings)
    most, why = planned, ""
    while planned and most < MOST_ROUNDS:
        if plan.most_rounds is not None and most >= plan.most_rounds:
            why = f"this repository permits at most {most} rounds"
            break
        try:
            wider = type(plan.settings).model_validate({**plan.settings.model_dump(), "rounds": most + 1})
        except ValueError:
            break
        if _rounds(wider) != most + 1:
            break
        most += 1
    return Steering(runtime, name, planned, most, why)


def as_decided(settings: Any, record: Record) -> Any:
    """The settings with as many rounds as there will be by what was decided by hand; for counting calls, no more."""
    planned, by_hand = _rounds(settings), settled(record)
    rounds = planned + added(record)
    rounds = max(1, min(rounds, by_hand.round)) if by_hand else rounds
    return settings.model_copy(update={"rounds": rounds}) if planned and rounds != planned else settings


def _rounds(settings: Any) -> int:
    rounds = getattr(settings, "rounds", 0)
    return rounds if isinstance(rounds, int) else 0


def debate_of(runtime: Runtime, plan: Plan) -> Debate:
    fact = runtime.record.facts.get("context") or (runtime.parent.facts.get("context") if runtime.parent else None)
    context = ""
    if fact and isinstance(fact.value, dict):
        from rebut.workspace.context import Gathered

        context = Gathered.from_json(fact.value).text
    return Debate(runtime.record.opened.topic, plan.settings, runtime, context)


def filled(outcome: Outcome, runtime: Runtime, plan: Plan) -> Outcome:
    record = runtime.record
    found = caveats(record, plan.protocol.judge or "", plan.protocol.silent)
    told = [one for one in found if one != ALONE or not outcome.caveats]  # a protocol may have said it in its own words
    notes = [*outcome.notes, *described(record), *runtime.notes]
    if carried := list(runtime.carried):
        more = f" and {len(carried) - 3} more" if len(carried) > 3 else ""
        why = runtime.carried[carried[-1]]
        notes.append(f"{', '.join(carried[:3])}{more}: as an earlier version worked it out ({why})")
    if (by_hand := settled(record)) and not runtime.rounds.cut:
        notes.append(f"settled by hand in round {by_hand.round}, which was the last one: nothing was left out")
    if any(e.note == NOTHING_KEPT for e in runtime.ledger.evidence):
        notes.append("citations of files were not looked up: this is no git repository, and no --context was given")
    unplaced = runtime.ledger.unplaced
    if unplaced:
        notes.append(_unplaced(unplaced))
    return outcome.filled(
        conclusive=outcome.conclusive and not unplaced and not unread(record),
        heading=", ".join([outcome.heading, *told]),
        caveats=(*outcome.caveats, *told),
        ledger=runtime.ledger,
        seats=seated(record),
        spent=record.spent(),
        rounds=record.spent_in_rounds(),
        session=record.opened.id,
        notes=tuple(dict.fromkeys(notes)),
        worth=outcome.worth.paid(record) if outcome.worth else None,
    )


def _unplaced(objections: Sequence[Move]) -> str:
    """An objection that cannot be placed is not a new point, and a run that lost one is not a clean one."""
    count = f"{len(objections)} objections name" if len(objections) > 1 else "1 objection names"
    said = "; ".join(f"{m.by} on {cut(m.point, 20)}: {cut(m.reason, 80)}" for m in objections[:5])
    return f"{count} a point that does not exist, and nobody weighed what it says: {said}"


def _partial(runtime: Runtime, plan: Plan, debate: Debate, why: str) -> Outcome:
    """The best typed result at a deadline. The session stays open."""
    outcome = plan.protocol.partial(debate) if plan.protocol.partial else so_far(runtime.record.answers)
    worth = outcome.worth or Worth(caveat="the debate is not over")
    return filled(outcome.filled(complete=False, conclusive=False, stopped=why, worth=worth), runtime, plan)


async def _leave(runtime: Runtime, plan: Plan, ended: Ended) -> list[str]:
    """Write the protocol's artifacts, and record which files are ours."""
    files = plan.protocol.artifacts(ended) if plan.protocol.artifacts else ()
    return (await write_files(runtime, files))[1] if files else []


async def close(runtime: Runtime) -> None:
    for looking in list(runtime.aside):  # what was looked up for the screen alone is wanted no longer
        looking.cancel()
    await asyncio.gather(*runtime.aside, return_exceptions=True)
    await runtime.sides.close()


# What a debate is opened with: its keys, the workspace as it stood, the context that the user gave.

DRAFTS = ("plan_*.md", "review*.md", "critique_of_*.md", "debate_log*.md")
"""In the tracks of `revise`, all but the plan that came out: an author who could ask for the other's is not blind."""
PANEL = ("context.md", "state.json", "transcript.md", "rounds/r[0-9][0-9][0-9]_*.md")
OWN_OUTPUT = (
    *("debate/last-debate*.json", "*/debate/last-debate*.json"),
    *(f"{above}.kiln/tracks/phase-*/{name}" for name in DRAFTS for above in ("", "*/")),
    *(f"{above}debates/[0-9][0-9][0-9]*-*/{name}" for name in PANEL for above in ("", "*/")),
)


def keys_of(record: Record) -> Mapping[str, str]:
    """The session's own keys. They are the last fact of an opening: where they stand, all of it stands."""
    if "keys" not in record.facts:
        raise RecordError(
            f"session {record.opened.id} died while it was being opened, before anything was asked", "Start it anew."
        )
    return cast(Mapping[str, str], record.facts["keys"].value)


def redactor_of(record: Record, known: Sequence[str]) -> Redactor:
    return Redactor(base64.b64decode(keys_of(record)["redaction"]), known)


async def snapshot(
    plan: Plan, folder: Path, door: Callable[[str], str], environment: Environment, facts: dict[str, Json]
) -> View | None:
    """Keep the workspace as it stands, and read the context that the user gave."""
    if not (sessions.repository(plan.workspace) / ".git").exists() and not plan.context:
        return None
    from rebut.workspace.context import gather
    from rebut.workspace.snapshot import take
    from rebut.workspace.tree import View

    keep = folder / "snapshot"
    # What debates leave behind is no evidence for the next one.
    never = (*environment.never, *OWN_OUTPUT)
    taken = await take(plan.workspace, keep, door, include=plan.context, never=never)
    facts["snapshot"] = taken.to_json()
    view = View(taken, keep, door)
    if plan.context:
        facts["context"] = (await gather(view, taken.included, never=never)).to_json()
    return view


def view_of(record: Record, folder: Path, environment: Environment) -> View | None:
    fact = record.facts.get("snapshot")
    if fact is None:
        return None
    from rebut.workspace.snapshot import Snapshot
    from rebut.workspace.tree import View

    taken = Snapshot.from_json(cast(Mapping[str, Json], fact.value))
    return View(taken, folder / "snapshot", redactor_of(record, environment.known_secrets).door)
