"""Trying a protocol out: play it over a script, and crash it at every call.

    played = play("steelman.py", {"r1/case@skeptic": {"case": "…"}, "r1/reply@owner": {"fair": True, …}})
    assert played.outcome.heading == "KEEP AFTER A FAIR HEARING"

    crash_at_every_call("steelman.py", script)

A script says what each seat answers, by key: a mapping is a form's JSON, a text is said as it stands,
`fails("timeout")` fails, and a list has one of these per attempt. A key may be a pattern such as `r*/case@skeptic`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from rebut import crashing
from rebut.core.types import FAILURES, FailureKind, Json
from rebut.crashing import Ending, Job
from rebut.domain.outcome import Outcome
from rebut.engine.protocol import load
from rebut.record.events import Asked

if TYPE_CHECKING:
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
        outcome = asyncio.run(api.start(job.protocol, job.topic, desk=crashing.desk(job), **named))
        return Played(outcome, crashing.record(job))


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
            _asked_once(_where(job, whole), crashing.record(job))
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
            [sys.executable, "-m", "rebut.crashing", str(days)],
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
