"""Opens again what a session's citations were looked up in: for the page, an export, findings and `rebut rerun`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from rebut.core.errors import RebutError
from rebut.core.files import repository
from rebut.domain.outcome import Outcome
from rebut.engine.runtime import redactor_of, view_of
from rebut.record import sessions
from rebut.record.record import Record
from rebut.reports import review
from rebut.setup import config
from rebut.workspace.targets.target import Target, target_of
from rebut.workspace.tree import DebatedVersions, Text


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


def shown_review(outcome: Outcome, *, target: Target, **how: Any) -> str:
    """The ending of a review, with the code of every finding."""
    return review.ending(outcome, target=target, files=_cited_files(outcome, target), **how)


def _cited_files(outcome: Outcome, target: Target) -> dict[str, str]:
    """The files that the findings of a review cite besides those of its change, as they were, by the path as cited."""
    found = outcome.review.findings if outcome.review else ()
    paths = {path for f in found if (path := f.place.rpartition(":")[0])} - target.texts.keys()
    if not paths or not outcome.session:
        return {}
    folder = sessions.home() / outcome.session
    with suppress(RebutError, OSError):
        return asyncio.run(_read(debated_versions(sessions.load(folder), folder), paths))
    return {}


async def _read(sides: DebatedVersions | None, paths: Iterable[str]) -> dict[str, str]:
    if sides is None or sides.opened is None:
        return {}
    try:
        read = {path: await sides.opened.read(path.removeprefix("./")) for path in paths}
    finally:
        await sides.close()
    return {path: "\n".join(one.lines) for path, one in read.items() if isinstance(one, Text)}
