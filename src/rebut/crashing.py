"""Debates that die where they are told to: the other process of `rebut.testing`, which runs jobs from standard input.

Each job has a process of its own, a fork, because that is what dies. The interpreter around them was started with
another hash seed, time zone, locale, working folder and date than the one that began the debates.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rebut.api import Desk
    from rebut.events import Line
    from rebut.record import Record
    from rebut.types import Json

DIED = 86
NEEDED = (
    *("rebut.api", "rebut.backends.scripted", "rebut.context", "rebut.marking", "rebut.snapshot", "rebut.view"),
    *("rebut.forms", "rebut.config", "rebut.targets", "rebut.patching", "json_repair"),
)
"""What a debate loads on its way. Not the protocol itself, which each process loads anew."""


@dataclass(frozen=True, slots=True)
class Job:
    """One debate to begin or, with `resume`, to take up again."""

    protocol: str
    topic: str
    home: str
    workspace: str
    seats: dict[str, list[str]]
    settings: dict[str, Json] = field(default_factory=dict)
    context: list[str] = field(default_factory=list)
    die_at: str = ""
    """`asked` or `attempt`: the event after which it dies."""
    die_after: int = 0
    """The how-manyth of them; 0 for a debate that lives."""
    resume: bool = False


@dataclass(frozen=True, slots=True)
class Ending:
    """What came of a job: an outcome, an error, or a death."""

    died: bool = False
    outcome: dict[str, Json] = field(default_factory=dict)
    error: str = ""


def desk(job: Job) -> Desk:
    """Where a job's debate is held: nothing of the user's own is looked at."""
    from rebut.api import Desk
    from rebut.config import Config

    seen = 0

    def listen(line: Line) -> None:
        nonlocal seen
        seen += line.event.kind == job.die_at
        if job.die_after and seen == job.die_after and line.event.kind == job.die_at:
            os._exit(DIED)

    env = {"HOME": job.home, "REBUT_HOME": job.home, "PATH": os.environ.get("PATH", "")}
    return Desk(workspace=job.workspace, env=env, config=Config(), listener=listen)


def record(job: Job) -> Record:
    """What the one session of a job has on record."""
    from rebut import session

    [folder] = (Path(job.home) / "sessions").iterdir()
    return session.load(folder)


def act(job: Job) -> Ending:
    """Begin or resume a debate, in this process."""
    import asyncio

    from rebut import api
    from rebut.errors import RebutError

    place = desk(job)
    try:
        if job.resume:
            [folder] = (Path(job.home) / "sessions").iterdir()
            outcome = asyncio.run(api.resume(folder.name, desk=place))
        else:
            named: dict[str, Any] = {**job.settings, **job.seats, "context": job.context}
            outcome = asyncio.run(api.start(job.protocol, job.topic, desk=place, **named))
    except RebutError as error:
        return Ending(error=f"{type(error).__name__}: {error}")
    return Ending(outcome=outcome.to_json())


def in_a_fork(job: Job) -> Ending:
    reader, writer = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(reader)
            with os.fdopen(writer, "wb") as file:
                file.write(json.dumps(asdict(act(job))).encode())
            code = 0
        finally:
            if code:
                sys.excepthook(*sys.exc_info())
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        said = answer.read()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code == DIED:
        return Ending(died=True)
    return Ending(**json.loads(said)) if code == 0 else Ending(error=f"its process ended with {code}")


def another_day(days: int) -> None:
    """Move the clock that Python code sees; before anything that keeps a hold of it is imported."""
    real, then = time.time, datetime.datetime

    class Moved(then):  # type: ignore[valid-type, misc]
        """A clock that goes wrong by whole days."""

        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return cls.fromtimestamp(time.time(), tz)

        @classmethod
        def today(cls) -> Any:
            return cls.now()

    local, utc, shown = time.localtime, time.gmtime, time.strftime
    time.time = lambda: real() + days * 86400
    time.localtime = lambda at=None: local(time.time() if at is None else at)
    time.gmtime = lambda at=None: utc(time.time() if at is None else at)
    time.strftime = lambda form, at=None: shown(form, at or time.localtime())
    datetime.datetime = Moved  # type: ignore[misc]


def main(words: Sequence[str]) -> None:
    """`python -m rebut.crashing DAYS`: jobs in on standard input, endings out, one line each."""
    if days := int(words[0]):
        another_day(days)
    jobs = [Job(**job) for job in json.load(sys.stdin)]
    for name in NEEDED:  # once for all forks
        import_module(name)
    for job in jobs:
        print(json.dumps(asdict(in_a_fork(job))), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
