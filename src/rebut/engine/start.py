"""Starting a debate: a new session is opened with its keys, snapshot and target, and then run.

Start, resume, fork and replay all do one thing: run the protocol's coroutine from the top over a `Runtime`. They differ
in what its record holds.
"""

from __future__ import annotations

import asyncio
import base64
import secrets
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rebut.core.errors import RecordError, UsageError
from rebut.core.files import find_repository, repository
from rebut.core.json_value import Json
from rebut.core.redaction import Redactor
from rebut.core.text import at_the_door, slug
from rebut.domain.checks import CHECKS
from rebut.domain.outcome import Outcome
from rebut.domain.session_status import ASKED
from rebut.engine.admission import admitted
from rebut.engine.plan import OWN_OUTPUT, Environment, Plan, opened, sound
from rebut.engine.protocol import FilesFolder, NewSession
from rebut.engine.run import run_protocol
from rebut.engine.runtime import NEVER_HERE, runtime_of
from rebut.record import sessions
from rebut.record.events import Fact
from rebut.record.journal import Journal, opened_journal

if TYPE_CHECKING:
    from rebut.workspace.targets.target import Target
    from rebut.workspace.tree import View


async def start(plan: Plan, environment: Environment) -> Outcome:
    """Open a new session and run it."""
    async with _opened(plan, environment) as (folder, journal, view):
        runtime = runtime_of(journal.record, plan, environment, journal=journal, view=view)
        return await run_protocol(runtime, plan, environment, folder)


async def open_only(plan: Plan, environment: Environment) -> str:
    """Open a new session and leave it to another process, which resumes it. Returns its id."""
    async with _opened(plan, environment) as (folder, _, _):
        return folder.name


@asynccontextmanager
async def _opened(plan: Plan, environment: Environment) -> AsyncIterator[tuple[Path, Journal, View | None]]:
    """A new session whose opening is on record."""
    sound(plan)
    keys = {"fence": secrets.token_bytes(32), "redaction": plan.redaction or secrets.token_bytes(32)}
    redactor = Redactor(keys["redaction"], environment.known_secrets)
    topic = redactor.door(plan.topic).strip()
    async with new_session(environment) as (folder, journal):
        facts: dict[str, Json] = {"notes": list(plan.notes)} if plan.notes else {}
        if plan.asked:
            facts[ASKED] = dict(plan.asked)
        # The snapshot comes first because it takes long: a session whose opening is on record can be resumed.
        view = await _snapshot(plan, folder, redactor.door, environment, facts)
        if plan.target is not None:
            facts["target"] = _target_fact(plan.target, redactor.door, plan.searched)
            if plan.earlier is not None:
                from rebut.domain.earlier_review import EARLIER

                facts[EARLIER] = at_the_door(plan.earlier.to_json(), redactor.door)
            if plan.unread_ok:
                facts["unread_ok"] = list(plan.unread_ok)
        if plan.run_checks:
            facts[CHECKS] = await offered(plan, environment, view)
        files = await files_folder(plan, folder, topic)
        if files.path:
            facts["folder"] = files.path
        journal.write(opened(plan, folder, topic, alias=files.alias))
        facts["keys"] = {n: base64.b64encode(k).decode() for n, k in keys.items()}  # last: see `keys_of`
        for name, value in facts.items():
            journal.write(Fact(key=name, cls="input", value=value))
        await journal.sync()
        yield folder, journal, view


@asynccontextmanager
async def new_session(environment: Environment) -> AsyncIterator[tuple[Path, Journal]]:
    """A new session's folder and journal. The folder is removed if the debate is refused before any call."""
    async with admitted():
        # In a thread, since it waits for the disk: other debates continue meanwhile.
        folder = await asyncio.to_thread(sessions.create, environment.root)
        try:
            journal = await opened_journal(folder, environment.listener)
        except RecordError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise UsageError(error.message, "No model was called.") from error
        async with _removed_if_refused(folder, journal):
            yield folder, journal


@asynccontextmanager
async def _removed_if_refused(folder: Path, journal: Journal) -> AsyncIterator[None]:
    try:
        yield
    except asyncio.CancelledError:
        if "keys" not in journal.record.facts:
            sessions.discard(folder, journal)  # it could not be resumed
        raise
    except UsageError as refused:
        # Copied answers do not count: the parent of the fork still has them.
        if not any(c.asked for c in journal.record.calls.values()):
            sessions.discard(folder, journal)
            refused.add_note(f"session {folder.name} was removed: no model was asked")
        raise
    except RecordError as error:
        if "keys" in journal.record.facts:
            raise
        sessions.discard(folder, journal)
        raise UsageError(error.message, "No model was called. Make room on the disk and start again.") from error
    finally:
        journal.close()


async def files_folder(plan: Plan, folder: Path, topic: str) -> FilesFolder:
    """The folder that the protocol claims for this session's files, if it wants one."""
    if plan.protocol.folder is None:
        return FilesFolder()
    session = NewSession(plan.settings, plan.workspace, folder, slug(topic))
    return await asyncio.to_thread(plan.protocol.folder, session)


async def _snapshot(
    plan: Plan, folder: Path, door: Callable[[str], str], environment: Environment, facts: dict[str, Json]
) -> View | None:
    """Copy the workspace as it is now and read the context files that the user gave; both become facts."""
    if not plan.context and find_repository(plan.workspace) is None:
        return None
    from rebut.workspace.context import gather
    from rebut.workspace.snapshot import take
    from rebut.workspace.tree import View

    keep = folder / sessions.SNAPSHOT
    never = (*environment.never, *OWN_OUTPUT)
    taken = await take(plan.workspace, keep, door, include=plan.context, never=never)
    facts["snapshot"] = taken.to_json()
    view = View(taken, keep, door)
    if plan.context:
        facts["context"] = (await gather(view, taken.included, never=never)).to_json()
    if taken.copies:
        await asyncio.to_thread(sessions.keep_files, folder, snapshot=True)
    return view


async def offered(plan: Plan, environment: Environment, view: View | None) -> Json:
    """The runners that debaters may use, with what each runs, and what is missing where none works.

    They are recorded, because prompts name the runners. A runner is offered if it works here and the project has files
    for it.
    """
    if environment.check_runner is None:
        return {"runners": {}, "missing": NEVER_HERE}
    runner = environment.check_runner(repository(plan.workspace), str)
    names = await view.names() if view is not None else ()
    try:
        missing = await runner.available(names)
    finally:
        await runner.close()
    work = {name: runner.tables[name].about for name, why in missing.items() if not why}
    lacking = "" if work else next(iter(missing.values()), "the project has no files for any runner")
    return {"runners": dict[str, Json](work), "missing": lacking}


def _target_fact(target: Target, door: Callable[[str], str], searched: bool) -> Json:
    """The target as it is recorded. With `searched`, its file texts are redacted already and not searched again."""
    if not searched:
        return at_the_door(target.to_json(), door)
    bare = tuple(replace(change, before=None, after=None) for change in target.changes)
    data = at_the_door(replace(target, changes=bare).to_json(), door)
    assert isinstance(data, dict) and isinstance(data["changes"], list)
    for row, change in zip(data["changes"], target.changes, strict=True):
        assert isinstance(row, dict)
        row |= {"before": change.before, "after": change.after}
    return data
