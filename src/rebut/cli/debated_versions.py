"""Opens again what a session's citations were looked up in: for the page, an export and `rebut rerun`."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from rebut.core.errors import RebutError
from rebut.core.files import repository
from rebut.engine.runtime import redactor_of, view_of
from rebut.record.record import Record
from rebut.setup import config
from rebut.workspace.targets.target import target_of
from rebut.workspace.tree import DebatedVersions


def debated_versions(record: Record, folder: Path) -> DebatedVersions | None:
    """The versions of the workspace that were debated; None if the session kept none and has no target."""
    workspace = Path(record.opened.workspace)
    known, never = list[str](), tuple[str, ...]()
    with suppress(RebutError):  # a config file that is wrong now says nothing about an old session
        now = config.load_config(workspace=repository(workspace), env=os.environ)
        known, never = now.known_secrets(os.environ), now.never
    view, target = view_of(record, folder, known), target_of(record)
    if view is None and target is None:
        return None
    return DebatedVersions.of(view, target, redactor_of(record, known).door, str(workspace), never)
