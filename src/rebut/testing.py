"""Trying a protocol out: play it over a script, and crash it at every call.

    played = play("steelman.py", {"r1/case@skeptic": {"case": "…"}, "r1/reply@owner": {"fair": True, …}})
    assert played.outcome.heading == "KEEP AFTER A FAIR HEARING"

    crash_at_every_call("steelman.py", script)

A script says what each seat answers, by key: a mapping is a form's JSON, a text is said as it stands,
`fails("timeout")` fails, and a list has one of these per attempt. A key may be a pattern such as `r*/case@skeptic`.
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from rebut.core.types import FAILURES, FailureKind, Json
from rebut.domain.outcome import Outcome
from rebut.engine.protocol import load
from rebut.record.events import Asked

if TYPE_CHECKING:
    from rebut.api import Setup
    from rebut.record.events import Line
    from rebut.record.record import Record

TOPIC = "Is it worth doing?"
FIRST = {"PYTHONHASHSEED": "1", "TZ": "America/St_Johns", "LC_ALL": "C.UTF-8"}
SECOND = {"PYTHONHASHSEED": "2", "TZ": "Pacific/Kiritimati", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
SAME = ("kind", "heading", "decision", "verdict", "final", "ledger", "data", "conclusive", "stopped", "notes")
"""What two runs of one debate have in common; not ids, times and spend."""


@dataclass(frozen=True, slots=True)
class Fails:
    """A scripted failure."""

    kind: FailureKind
    message: str = ""


def fails(kind: FailureKind, message: str = "") -> Fails:
    """Say in a script that a seat fails, and how."""
    assert kind in FAILURES, f"the ways to fail are {', '.join(FAILURES)}"
    return Fails(kind, message)


Said = str | Mapping[str, Any] | Fails
Script = Mapping[str, Said | Sequence[Said]]


@dataclass(frozen=True, slots=True)
class Played:
    """A debate that was played to its end."""

    outcome: Outcome
    record: Record

    @property
    def asked(self) -> list[Asked]:
        """Every call that was made, in order: its `key`, `prompt`, `followup` and why."""
        return [line.event for line in self.record.lines if isinstance(line.event, Asked)]

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
    """Play a protocol over a script, in this process: no model, no network, nothing of the user's own config.

    Raises what the debate raises (`rebut.RebutError`). `workspace` is what citations are looked up in; `seats` says how
    many sit in a role, where the protocol leaves that open.
    """
    import asyncio

    from rebut import api

    with tempfile.TemporaryDirectory(dir=_quick()) as folder:
        job = _job(protocol, script, Path(folder), topic, workspace, context, seats, settings)
        named: dict[str, Any] = {**job.settings, **job.seats, "context": job.context}
        outcome = asyncio.run(api.start(job.protocol, job.topic, setup=setup(job), **named))
        return Played(outcome, record(job))


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
    """Kill the debate at each of its calls, once before and once after the answer is there, and resume it elsewhere.

    Elsewhere is a new process with another hash seed, time zone, locale, working folder and date. Each must come to the
    very end that an uninterrupted run came to, and ask nothing again whose answer was on record.
    """
    whole = play(protocol, script, topic=topic, workspace=workspace, context=context, seats=seats, **settings)
    with tempfile.TemporaryDirectory(dir=_quick()) as folder:
        jobs = []
        for n in range(1, len(whole.asked) + 1):
            for moment in ("asked", "attempt"):
                own = Path(folder, f"{moment}-{n}")
                own.mkdir()
                job = _job(protocol, script, own, topic, workspace, context, seats, settings)
                jobs.append(replace(job, die_at=moment, die_after=n))
        for job, ending in zip(jobs, _elsewhere(jobs, 0, FIRST), strict=True):
            assert ending.died, f"{_where(job, whole)}: it was to die there, and did not: {ending.error or 'it ended'}"
        resumed = [replace(job, resume=True, die_after=0) for job in jobs]
        for job, ending in zip(jobs, _elsewhere(resumed, 400, SECOND), strict=True):
            _same(_where(job, whole), whole, ending)
            _asked_once(_where(job, whole), record(job))
    return whole


def _quick() -> str | None:
    """A folder in memory where the system has one: so many debates wait long for a disk."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _where(job: Job, whole: Played) -> str:
    word = "after the answer of" if job.die_at == "attempt" else "in the middle of"
    return f"killed {word} call {job.die_after} ({whole.keys[job.die_after - 1]})"


def _same(where: str, whole: Played, ending: Ending) -> None:
    assert ending.outcome, f"{where}: resumed, it came to no end: {ending.error}"
    expected = json.loads(json.dumps(whole.outcome.to_json()))
    for name in SAME:
        assert ending.outcome[name] == expected[name], (
            f"{where}: resumed, {name} came out differently:\n{ending.outcome[name]!r}\ninstead of\n{expected[name]!r}"
        )


def _asked_once(where: str, record: Record) -> None:
    answered: dict[tuple[str, str, str], bool] = {}
    for line in record.lines:
        if isinstance(line.event, Asked):
            call = (line.event.key, line.event.why, line.event.followup)
            assert not answered.get(call), f"{where}: {call[0]} was asked again, though its answer was on record"
            attempt = record.calls[line.event.key].attempts.get(line.event.attempt)
            answered[call] = attempt is not None and attempt.outcome == "ok"


def _elsewhere(jobs: Sequence[Job], days: int, env: Mapping[str, str]) -> list[Ending]:
    """Run jobs in another interpreter under another sky."""
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
    return [Ending(**json.loads(line)) for line in done.stdout.splitlines()]


def _job(
    protocol: ModuleType | str | Path,
    script: Script,
    folder: Path,
    topic: str,
    workspace: Path | str | None,
    context: Sequence[str],
    counts: Mapping[str, int] | None,
    settings: Mapping[str, Json],
) -> Job:
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
    return Job(name, topic, str(home), place, seats, dict(settings), [str(path) for path in context])


def _listed(value: Said | Sequence[Said]) -> Sequence[Said]:
    return [value] if isinstance(value, str | Mapping | Fails) else value


def _answer(said: Said) -> dict[str, Json]:
    usage: dict[str, Json] = {"usage": {"input": 100, "output": 50}}
    if isinstance(said, Fails):
        return {"fail": said.kind, "message": said.message or f"scripted {said.kind}"}
    return {"text": said, **usage} if isinstance(said, str) else {"json": dict(said), **usage}


# Debates that die where they are told to: the other process of `rebut.testing`, which runs jobs from standard input.
#
# Each job has a process of its own, a fork, because that is what dies. The interpreter around them was started with
# another hash seed, time zone, locale, working folder and date than the one that began the debates.

DIED = 86
NEEDED = (
    *(
        "rebut.api",
        "rebut.backends.scripted",
        "rebut.workspace.context",
        "rebut.evidence.marks",
        "rebut.workspace.snapshot",
        "rebut.workspace.tree",
    ),
    *("rebut.domain.forms", "rebut.setup.config", "json_repair"),
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


def setup(job: Job) -> Setup:
    """Where a job's debate is held: nothing of the user's own is looked at."""
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


def record(job: Job) -> Record:
    """What the one session of a job has on record."""
    from rebut.record import sessions

    [folder] = (Path(job.home) / "sessions").iterdir()
    return sessions.load(folder)


def act(job: Job) -> Ending:
    """Begin or resume a debate, in this process."""
    import asyncio

    from rebut import api
    from rebut.core.errors import RebutError

    place = setup(job)
    try:
        if job.resume:
            [folder] = (Path(job.home) / "sessions").iterdir()
            outcome = asyncio.run(api.resume(folder.name, setup=place))
        else:
            named: dict[str, Any] = {**job.settings, **job.seats, "context": job.context}
            outcome = asyncio.run(api.start(job.protocol, job.topic, setup=place, **named))
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
