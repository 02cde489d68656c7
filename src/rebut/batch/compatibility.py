"""Which sessions of a queue this machine can continue: by versions, protocol, models and repository."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

from rebut import __version__
from rebut.api import Setup
from rebut.core.errors import NotAvailable, RecordNewer, UsageError
from rebut.engine.plan import participants
from rebut.engine.protocol import changed_file, is_same_text, load
from rebut.record import sessions
from rebut.record.record import Record
from rebut.workspace.git import Git, GitFailed

LARGEST = 1_000_000
"""The most bytes of a commit object."""


async def why_not(setup: Setup, session: str) -> str:
    """Why a session must be left to another worker; empty if it can be continued here."""
    try:
        record = await asyncio.to_thread(sessions.load, setup.environment.root / session)
    except RecordNewer as error:
        return error.message
    return _version(record) or _protocol(record) or _models(setup, record) or await _repository(record)


def _version(record: Record) -> str:
    was = record.opened.rebut
    if _numbers(was) > _numbers(__version__):
        return f"it was started by rebut {was}, which is later than this one ({__version__})"
    return ""


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def _protocol(record: Record) -> str:
    """A session of an earlier protocol version is continued with what is on record; one of a later version is not."""
    was = record.opened
    if file := changed_file(record):  # before `load`, which runs the file
        return f"its protocol file {file} changed since it was recorded"
    try:
        here = load(was.source or was.protocol)
    except UsageError as error:
        return f"its protocol {was.protocol} is not on this machine: {error.message}"
    (then, then_text), (now, now_text) = (one.partition("+")[::2] for one in (was.protocol_version, here.version))
    if _numbers(then) > _numbers(now) or not is_same_text(then_text, now_text):  # a file's or a package's
        return f"its protocol {was.protocol} has version {was.protocol_version}, here it has {here.version}"
    return ""


def _models(setup: Setup, record: Record) -> str:
    """A worker that lacks a provider or a key must leave a debate to workers that have it, instead of failing it."""
    if record.closed:
        return ""
    seats, fallbacks = participants(record)
    for who in seats:
        try:
            setup.connect(who.spec)
        except UsageError as error:
            if not (isinstance(error, NotAvailable) and fallbacks[who.seat]):
                return f"its {who.seat} {who.spec} cannot be called on this machine: {error.message}"
    return ""


async def _repository(record: Record) -> str:
    """Files that were not changed are read from the repository's commit, which must be on this machine."""
    fact = record.facts.get("snapshot")
    taken: Any = fact.value if fact else None
    if not isinstance(taken, dict) or taken.get("kind") != "git" or not taken.get("head"):
        return ""
    head, root = str(taken["head"]), str(taken["root"])
    git = await Git.open(Path(root))
    if git is None:
        return f"its repository {root} is not on this machine"
    try:
        found = await git.object(f"{head}^{{commit}}", LARGEST)
    except GitFailed as error:
        return f"its repository {root} cannot be read: {error}"
    finally:
        await git.close()
    return "" if isinstance(found, bytes) else f"its commit {head[:12]} is not in {root} on this machine"
