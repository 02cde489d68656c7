"""Testing a protocol: play it with scripted answers, and crash it at every call.

    played = play("steelman.py", {"r1/case@skeptic": {"case": "…"}, "r1/reply@owner": {"fair": True, …}})
    assert played.outcome.heading == "KEEP AFTER A FAIR HEARING"

    crash_at_every_call("steelman.py", script)

A script gives the answer of each seat by key: a mapping is a form's JSON, a text is the reply as it is,
`fails("timeout")` is a failure, and a list has one of these per attempt. A key may be a pattern such as
`r*/case@skeptic`.

The crashes happen in other processes: `python -m rebut.testing DAYS` reads jobs from standard input, and runs each in a
process of its own.
"""

from __future__ import annotations

# Only the standard library here: the other process moves its clock before it imports anything that may keep a reference
# to it.
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from rebut.core.frozen import frozen

if TYPE_CHECKING:
    from rebut.api import Setup
    from rebut.core.json_value import Json
    from rebut.core.types import FailureKind
    from rebut.domain.outcome import Outcome
    from rebut.record.events import Asked, Line
    from rebut.record.record import Record

TOPIC = "Is it worth doing?"
FIRST = {"PYTHONHASHSEED": "1", "TZ": "America/St_Johns", "LC_ALL": "C.UTF-8"}
SECOND = {"PYTHONHASHSEED": "2", "TZ": "Pacific/Kiritimati", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
DAYS_LATER = 400
SAME = ("kind", "heading", "decision", "verdict", "final", "ledger", "data", "conclusive", "stopped", "notes")
"""The parts of an outcome that two runs of one debate have in common. Ids, times and cost differ."""
DIED = 86
"""The exit status of a process that was killed at its call."""
NEEDED = (
    *("rebut.api", "rebut.backends.scripted", "rebut.workspace.context", "rebut.evidence.marks"),
    *("rebut.workspace.snapshot", "rebut.workspace.tree", "rebut.domain.forms", "rebut.setup.config"),
)
"""What a debate imports while it runs. Not the protocol, which each process imports by itself."""


# scripts


@frozen
class Fails:
    """A scripted failure."""

    kind: FailureKind
    message: str = ""


def fails(kind: FailureKind, message: str = "") -> Fails:
    """In a script: the seat fails with this kind of failure."""
    from rebut.core.types import FAILURES

    assert kind in FAILURES, f"{kind!r} is not a kind of failure; the kinds are {', '.join(FAILURES)}"
    return Fails(kind, message)


Said = str | Mapping[str, Any] | Fails
Script = Mapping[str, Said | Sequence[Said]]


# playing and crashing


@frozen
class Played:
    """A debate that was played to its end."""

    outcome: Outcome
    record: Record

    @property
    def asked(self) -> list[Asked]:
        """Every call that was made, in order: its `key`, `prompt`, `followup` and why."""
        return _asked(self.record)

    @property
    def keys(self) -> list[str]:
        return [asked.key for asked in self.asked]


def play(
    protocol: ModuleType | str | Path,
    script: Script,
    *,
    topic: str = TOPIC,
    workspace: Path | str | None = None,
    context: Sequence[str] = (),
    seats: Mapping[str, int] | None = None,
    **settings: Any,
) -> Played:
    """Play a protocol with scripted answers, in this process: no model, no network, none of the user's config.

    Raises what the debate raises (`rebut.RebutError`). `workspace` is the folder that citations are checked against;
    `seats` gives the number of seats of a role, where the protocol leaves that open.
    """
    with tempfile.TemporaryDirectory(dir=_fast_folder()) as folder:
        job = _job(protocol, script, Path(folder), topic, workspace, context, seats, settings)
        return Played(_run(job), _record(job))


def crash_at_every_call(
    protocol: ModuleType | str | Path,
    script: Script,
    *,
    topic: str = TOPIC,
    workspace: Path | str | None = None,
    context: Sequence[str] = (),
    seats: Mapping[str, int] | None = None,
    **settings: Any,
) -> Played:
    """Kill the debate at each of its calls, once before and once after the answer arrives, and resume it.

    It is resumed in a new process with another hash seed, time zone, locale, working folder and date. Each resumed
    debate must end exactly as an uninterrupted one, and ask no question again whose answer is on record.
    """
    whole = play(protocol, script, topic=topic, workspace=workspace, context=context, seats=seats, **settings)
    with tempfile.TemporaryDirectory(dir=_fast_folder()) as folder:
        jobs = []
        for n in range(1, len(whole.asked) + 1):
            for moment in ("asked", "attempt"):
                own = Path(folder, f"{moment}-{n}")
                own.mkdir()
                job = _job(protocol, script, own, topic, workspace, context, seats, settings)
                jobs.append(replace(job, die_at=moment, die_after=n))
        for job, ending in zip(jobs, _elsewhere(jobs, 0, FIRST), strict=True):
            assert ending.died, f"{_where(job, whole)}: it did not die there: {ending.error or 'it ended'}"
        resumed = [replace(job, resume=True, die_after=0) for job in jobs]
        for job, ending in zip(jobs, _elsewhere(resumed, DAYS_LATER, SECOND), strict=True):
            _ends_alike(_where(job, whole), whole, ending)
            _asks_nothing_twice(_where(job, whole), _record(job))
    return whole


def _where(job: _Job, whole: Played) -> str:
    moment = "after the answer of" if job.die_at == "attempt" else "in the middle of"
    return f"killed {moment} call {job.die_after} ({whole.keys[job.die_after - 1]})"


def _ends_alike(where: str, whole: Played, ending: _Ending) -> None:
    assert ending.outcome, f"{where}: the resumed debate has no outcome: {ending.error}"
    expected = json.loads(json.dumps(whole.outcome.to_json()))
    for name in SAME:
        assert ending.outcome[name] == expected[name], (
            f"{where}: in the resumed debate, {name} differs:\n{ending.outcome[name]!r}\ninstead of\n{expected[name]!r}"
        )


def _asks_nothing_twice(where: str, record: Record) -> None:
    answered: dict[tuple[str, str, str], bool] = {}
    for asked in _asked(record):
        call = (asked.key, asked.why, asked.followup)
        assert not answered.get(call), f"{where}: {call[0]} was asked again, though its answer was on record"
        attempt = record.calls[asked.key].attempts.get(asked.attempt)
        answered[call] = attempt is not None and attempt.outcome == "ok"


def _asked(record: Record) -> list[Asked]:
    from rebut.record.events import Asked

    return [line.event for line in record.lines if isinstance(line.event, Asked)]


# one debate, as data that another process can run


@frozen
class _Job:
    """A debate to start or, with `resume`, to resume."""

    protocol: str
    topic: str
    home: str
    workspace: str
    seats: dict[str, list[str]]
    settings: dict[str, Json] = field(default_factory=dict)
    context: list[str] = field(default_factory=list)
    die_at: str = ""
    """The kind of event after which the process dies: `asked` or `attempt`."""
    die_after: int = 0
    """How many of these events; 0 for a debate that lives."""
    resume: bool = False


@frozen
class _Ending:
    """How a job ended: with an outcome, an error, or the death of its process."""

    died: bool = False
    outcome: dict[str, Json] = field(default_factory=dict)
    error: str = ""


def _job(
    protocol: ModuleType | str | Path,
    script: Script,
    folder: Path,
    topic: str,
    workspace: Path | str | None,
    context: Sequence[str],
    counts: Mapping[str, int] | None,
    settings: Mapping[str, Json],
) -> _Job:
    from rebut.engine.protocol import load

    name = str(protocol.__file__) if isinstance(protocol, ModuleType) else str(protocol)
    name = str(Path(name).resolve()) if name.endswith(".py") else name
    answers = {key: [_answer(said) for said in _listed(value)] for key, value in script.items()}
    seats: dict[str, list[str]] = {}
    for role, count in {**load(name).seats, **(counts or {})}.items():
        for n in range(1, count + 1):
            seat = role if count == 1 else f"{role}.{n}"
            file = folder / f"{seat}.json"
            file.write_text(json.dumps({"model": seat, "family": seat, "answers": answers}), encoding="utf-8")
            seats.setdefault(role, []).append(f"scripted:{file}")
    if workspace is None:
        workspace = folder / "work"
        workspace.mkdir()
    home = folder / "home"
    home.mkdir()
    place = str(Path(workspace).resolve())
    return _Job(name, topic, str(home), place, seats, dict(settings), [str(path) for path in context])


def _listed(value: Said | Sequence[Said]) -> Sequence[Said]:
    return [value] if isinstance(value, str | Mapping | Fails) else value


def _answer(said: Said) -> dict[str, Json]:
    usage: dict[str, Json] = {"usage": {"input": 100, "output": 50}}
    if isinstance(said, Fails):
        return {"fail": said.kind, "message": said.message or f"scripted {said.kind}"}
    return {"text": said, **usage} if isinstance(said, str) else {"json": dict(said), **usage}


def _fast_folder() -> str | None:
    """A folder in memory if the system has one, since so many debates would wait long for a disk."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _run(job: _Job) -> Outcome:
    """Start or resume the debate of a job, in this process."""
    import asyncio

    from rebut import api

    setup = _setup(job)
    if job.resume:
        return asyncio.run(api.resume(_folder(job).name, setup=setup))
    named: dict[str, Any] = {**job.settings, **job.seats, "context": job.context}
    return asyncio.run(api.start(job.protocol, job.topic, setup=setup, **named))


def _setup(job: _Job) -> Setup:
    """A setup without the user's own config, whose process dies where the job says."""
    from rebut.api import Setup
    from rebut.setup.config import Config

    seen = 0

    def listen(line: Line) -> None:
        nonlocal seen
        seen += line.event.kind == job.die_at
        if job.die_after and seen == job.die_after and line.event.kind == job.die_at:
            os._exit(DIED)

    env = {"HOME": job.home, "REBUT_HOME": job.home, "PATH": os.environ.get("PATH", "")}
    return Setup(workspace=job.workspace, env=env, config=Config(), listener=listen)


def _record(job: _Job) -> Record:
    from rebut.record import sessions

    return sessions.load(_folder(job))


def _folder(job: _Job) -> Path:
    """The folder of the job's only session."""
    [folder] = (Path(job.home) / "sessions").iterdir()
    return folder


# the other process


def _elsewhere(jobs: Sequence[_Job], days: int, env: Mapping[str, str]) -> list[_Ending]:
    """Run jobs in another interpreter, with another environment, working folder and date."""
    with tempfile.TemporaryDirectory() as nowhere:
        done = subprocess.run(
            [sys.executable, "-m", "rebut.testing", str(days)],
            input=json.dumps([asdict(job) for job in jobs]),
            capture_output=True,
            text=True,
            encoding="utf-8",
            env={**os.environ, **env, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            cwd=nowhere,
        )
    assert done.returncode == 0, done.stderr
    return [_Ending(**json.loads(line)) for line in done.stdout.splitlines()]


def _main(arguments: Sequence[str]) -> None:
    """`python -m rebut.testing DAYS`: reads jobs from standard input, and prints how each ended, one line each."""
    if days := int(arguments[0]):
        _move_clock(days)
    jobs = [_Job(**job) for job in json.load(sys.stdin)]
    for name in NEEDED:  # once, for all forks
        import_module(name)
    for job in jobs:
        print(json.dumps(asdict(_in_a_fork(job))), flush=True)


def _move_clock(days: int) -> None:
    """Move the clock that Python code sees. Call it before importing anything that keeps a reference to the clock."""
    real, then = time.time, datetime.datetime

    class Moved(then):  # type: ignore[valid-type, misc]
        """A clock that is wrong by whole days."""

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


def _in_a_fork(job: _Job) -> _Ending:
    """Run a job in a fork of this process, because the process of a job may die."""
    from rebut.core.errors import RebutError

    reader, writer = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(reader)
            try:
                ending = _Ending(outcome=_run(job).to_json())
            except RebutError as error:
                ending = _Ending(error=f"{type(error).__name__}: {error}")
            with os.fdopen(writer, "wb") as file:
                file.write(json.dumps(asdict(ending)).encode())
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
        return _Ending(died=True)
    return _Ending(**json.loads(said)) if code == 0 else _Ending(error=f"its process ended with {code}")


if __name__ == "__main__":
    _main(sys.argv[1:])
