"""Models made of Python for tests of the engine, protocols in a few lines, and looks at what is on record."""

from __future__ import annotations

import asyncio
import inspect
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import forkserver

from rebut.core.types import Reply, Request, Usage
from rebut.engine.steering import Control
from rebut.record import journal, sessions
from rebut.record.events import Event, Line
from rebut.record.record import Record

USAGE = Usage(10, 5)


class Voice:
    """A model at the edge of rebut: says what it was told to say for a key, and remembers what it was asked.

    What to say: a text, a `Reply`, an exception to raise, a list of these (one per attempt, the last repeats), a
    mapping of key to these, or a function of the request that gives one of them, async or not.
    """

    def __init__(self, says: Any = "yes", model: str = "voice-1") -> None:
        self.says, self.model = says, model
        self.asked: list[Request] = []

    @property
    def keys(self) -> list[str]:
        return [request.key for request in self.asked]

    async def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        said = self.says
        if isinstance(said, Mapping):
            said = said.get(request.key, "yes")
        if callable(said) and not isinstance(said, type):
            said = said(request)
            if inspect.isawaitable(said):
                said = await said
        if isinstance(said, list):
            said = said[min(request.attempt, len(said)) - 1]
        if isinstance(said, BaseException):
            raise said
        return said if isinstance(said, Reply) else Reply(said, self.model, "voices", USAGE, 0.0)


def protocol(folder: Path, body: str, name: str = "small") -> Path:
    """Write a protocol file: `body` is the inside of `run`, or a whole module when it defines `run` itself."""
    if "async def run" not in body:
        indented = "".join(f"    {line}\n" if line.strip() else "\n" for line in body.splitlines())
        body = f'seats = {{"author": 1, "critic": 1}}\n\n\nasync def run(debate):\n{indented}'
    path = folder / f"{name}.py"
    path.write_text(PREAMBLE + body)
    return path


PREAMBLE = '''"""A protocol of a test."""

import os
from pathlib import Path

from pydantic import BaseModel

from rebut import Answer, Ask, Claim, Failure, Form, Outcome, ParticipantFailed, Point


def done(**data):
    return Outcome("done", "DONE", data=data)


'''


def folder(id: str = "") -> Path:
    """The folder of a session: by its id, or the newest one."""
    root = sessions.home()
    return root / id if id else sessions.sessions(root)[0].folder


def record(id: str = "") -> Record:
    return sessions.load(folder(id))


def events(id: str = "", *kinds: str) -> list[Event]:
    return [line.event for line in record(id).lines if not kinds or line.event.kind in kinds]


def crash_at(holds: Callable[[Event], bool], id: str = "") -> None:
    """Leave the journal as a process leaves it that dies right after writing the first event for which `holds`."""
    place = folder(id)
    lines = journal.read(place).lines
    keep = next(n for n, line in enumerate(lines, 1) if holds(line.event))
    raw = (place / journal.NAME).read_bytes().split(b"\n")
    (place / journal.NAME).write_bytes(b"\n".join(raw[:keep]) + b"\n")


def time_is_up(kind: str, key: str) -> dict[str, Any]:
    """A debate's outside whose deadline comes with an event: no clock, no machine that is too slow for it."""
    control = Control()

    def listen(line: Line) -> None:
        if is_(kind, key)(line.event):
            control.expire()

    return {"control": control, "listener": listen}


def is_(kind: str, key: str = "") -> Callable[[Event], bool]:
    return lambda event: event.kind == kind and (not key or getattr(event, "key", "") == key)


async def cut_off(awaitable: Any, until: asyncio.Event) -> None:
    """Run until something happens, then drop it as a second Ctrl-C does."""
    task = asyncio.ensure_future(awaitable)
    await until.wait()
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return
    raise AssertionError("it was not dropped")


# the real program


def cli(*words: str, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return forkserver.run(
        [sys.executable, "-m", "rebut", *words],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
        env={**os.environ, **(env or {})},
        cwd=cwd,
    )


def begin(*words: str) -> subprocess.Popen[str]:
    """Start the program and come back while it runs."""
    return forkserver.Popen(
        [sys.executable, "-m", "rebut", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(what: Callable[[], bool], process: subprocess.Popen[str] | None = None) -> None:
    """Wait until something can be seen; fail when the process ends before that."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        if what():
            return
        if process is not None and process.poll() is not None:
            out, err = process.communicate()
            raise AssertionError(f"the process ended with {process.returncode}:\n{out}\n{err}")
        time.sleep(0.01)
    raise AssertionError("it never happened")


def on_record(kind: str, key: str = "", count: int = 1) -> Callable[[], bool]:
    """Whether the newest session holds an event by now."""

    def look() -> bool:
        found = sessions.sessions(sessions.home())
        return bool(found) and sum(1 for e in events(found[0].id) if is_(kind, key)(e)) >= count

    return look
