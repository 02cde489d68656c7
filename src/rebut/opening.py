"""What a debate is opened with: its keys, the workspace as it stood, the context that the user gave."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from rebut import session
from rebut.errors import RecordError
from rebut.plan import Plan, Table
from rebut.record import Record
from rebut.redaction import Redactor
from rebut.text import clean
from rebut.types import Json

if TYPE_CHECKING:
    from rebut.sides import Sides
    from rebut.targets import Target
    from rebut.view import View


OWN_OUTPUT = ("debate/last-debate*.json", "*/debate/last-debate*.json")


def keys_of(record: Record) -> Mapping[str, str]:
    """The session's own keys. They are the last fact of an opening: where they stand, all of it stands."""
    if "keys" not in record.facts:
        raise RecordError(
            f"session {record.opened.id} died while it was being opened, before anything was asked", "Start it anew."
        )
    return cast(Mapping[str, str], record.facts["keys"].value)


def redactor_of(record: Record, table: Table) -> Callable[[str], str]:
    return Redactor(base64.b64decode(keys_of(record)["redaction"]), table.known_secrets).redact


async def snapshot(
    plan: Plan, folder: Path, door: Callable[[str], str], table: Table, facts: dict[str, Json]
) -> View | None:
    """Keep the workspace as it stands, and read the context that the user gave."""
    if not (session.repository(plan.workspace) / ".git").exists() and not plan.context:
        return None
    from rebut.context import gather
    from rebut.snapshot import take
    from rebut.view import View

    keep = folder / "snapshot"
    # What debates leave behind is no evidence for the next one.
    never = (*table.never, *OWN_OUTPUT)
    taken = await take(plan.workspace, keep, door, include=plan.context, never=never)
    facts["snapshot"] = taken.to_json()
    view = View(taken, keep, door)
    if plan.context:
        facts["context"] = (await gather(view, taken.included, never=never)).to_json()
    return view


def target_of(record: Record) -> Target | None:
    fact = record.facts.get("target")
    if fact is None:
        return None
    from rebut.targets import Target

    return Target.from_json(cast(Mapping[str, Json], fact.value))


def sides_of(
    view: View | None, target: Target | None, redact: Callable[[str], str], workspace: str, table: Table
) -> Sides | None:
    if view is None and target is None:
        return None
    from rebut.sides import Sides

    return Sides.of(view, target, lambda text: redact(clean(text)), workspace, table.never)


def view_of(record: Record, folder: Path, table: Table) -> View | None:
    fact = record.facts.get("snapshot")
    if fact is None:
        return None
    from rebut.snapshot import Snapshot
    from rebut.view import View

    redact = redactor_of(record, table)
    taken = Snapshot.from_json(cast(Mapping[str, Json], fact.value))
    return View(taken, folder / "snapshot", lambda text: redact(clean(text)))
