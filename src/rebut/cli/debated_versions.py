"""What the citations of a session were looked up in, opened again: for the page, an export and `rebut rerun`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import cast

from rebut.core.errors import RebutError
from rebut.core.files import repository
from rebut.core.json_value import Json
from rebut.engine.runtime import redactor_of
from rebut.record import sessions
from rebut.record.record import Record
from rebut.setup import config
from rebut.workspace.snapshot import Snapshot
from rebut.workspace.targets.target import target_of
from rebut.workspace.tree import DebatedVersions, View


def debated_versions(record: Record, folder: Path) -> DebatedVersions | None:
    """The versions of the workspace that were debated; None if the session kept none and has no target."""
    workspace = Path(record.opened.workspace)
    known, never = list[str](), tuple[str, ...]()
    with suppress(RebutError):  # a config file that is wrong now says nothing about an old session
        now = config.load_config(workspace=repository(workspace), env=os.environ)
        known, never = now.known_secrets(os.environ), now.never
    fact, target = record.facts.get("snapshot"), target_of(record)
    if fact is None and target is None:
        return None
    door = redactor_of(record, tuple(known)).door
    view = None
    if fact is not None:
        taken = Snapshot.from_json(cast(Mapping[str, Json], fact.value))
        view = View(taken, sessions.snapshot(folder), door)
    return DebatedVersions.of(view, target, door, str(workspace), never)
