"""What a debate is opened with: its keys, the workspace as it stood, the context that the user gave."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from rebut.core.errors import RecordError
from rebut.core.redaction import Redactor
from rebut.core.types import Json
from rebut.engine.plan import Plan, Table
from rebut.record import sessions as session
from rebut.record.record import Record

if TYPE_CHECKING:
    from rebut.workspace.view import View


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
    plan: Plan, folder: Path, door: Callable[[str], str], table: Table, facts: dict[str, Json]
) -> View | None:
    """Keep the workspace as it stands, and read the context that the user gave."""
    if not (session.repository(plan.workspace) / ".git").exists() and not plan.context:
        return None
    from rebut.evidence.context import gather
    from rebut.workspace.snapshot import take
    from rebut.workspace.view import View

    keep = folder / "snapshot"
    # What debates leave behind is no evidence for the next one.
    never = (*table.never, *OWN_OUTPUT)
    taken = await take(plan.workspace, keep, door, include=plan.context, never=never)
    facts["snapshot"] = taken.to_json()
    view = View(taken, keep, door)
    if plan.context:
        facts["context"] = (await gather(view, taken.included, never=never)).to_json()
    return view


def view_of(record: Record, folder: Path, table: Table) -> View | None:
    fact = record.facts.get("snapshot")
    if fact is None:
        return None
    from rebut.workspace.snapshot import Snapshot
    from rebut.workspace.view import View

    taken = Snapshot.from_json(cast(Mapping[str, Json], fact.value))
    return View(taken, folder / "snapshot", redactor_of(record, table.known_secrets).door)
