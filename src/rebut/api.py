"""The public functions: start, resume, fork and replay a debate (async), or `run` one and wait.

    outcome = rebut.run("duel", "Redis or Memcached?", proposer="openai:a", challenger="openai:b", rounds=2)

Keyword arguments named after the protocol's seats are model specs; the rest are its settings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

from rebut.core import event_loop
from rebut.core.errors import DeadlineReached, UsageError
from rebut.domain.outcome import Outcome, nothing_yet
from rebut.engine import fork as forking, resume as resuming, run as running, start as starting
from rebut.engine.plan import Plan, participants
from rebut.engine.protocol import load
from rebut.record import sessions
from rebut.record.record import Record
from rebut.setup.prepare import Setup as Setup, settings_of, state_dir as state_dir

Desk = Setup
"""The name of `Setup` in 0.1, kept for one release."""


async def start(protocol: str | Path, topic: str = "", *, setup: Setup | None = None, **named: Any) -> Outcome:
    """Start a debate and run it to its end. Raises `RebutError`; every answer received by then is on record.

    `target` is what is debated, for protocols that have one: a `Target`, or a `Wanted` that is read first.
    """
    return await _in_time(_start, _setup(setup, named), protocol, topic, **named)


async def _start(setup: Setup, protocol: str | Path, topic: str, **named: Any) -> Outcome:
    if "target" in named:
        from rebut.workspace.targets.target import Wanted

        if isinstance(named["target"], Wanted):
            named["target"], named["redaction"] = await setup.resolve(named["target"])
    return await starting.start(setup.plan(protocol, topic, **named), setup.environment)


async def resume(
    name: str,
    *,
    setup: Setup | None = None,
    limits: Mapping[str, float] | None = None,
    ask_left: bool = False,
    **named: Any,
) -> Outcome:
    """Resume a session. `limits` raises or lowers limits, which is recorded.

    With `ask_left`, calls that the user skipped are made again, unless the debate has continued without them.
    """
    setup = _setup(setup, named)
    _refuse_others(named, "resume", "limits; other changes need a fork")
    return await _in_time(_resume, setup, name, limits, ask_left)


async def _resume(setup: Setup, name: str, limits: Mapping[str, float] | None, ask_left: bool) -> Outcome:
    setup, folder, record = setup.for_session(name)
    narrowed = {} if record.closed else setup.narrowed(record)  # the repository may be stricter by now
    raised = {**narrowed, **setup.permitted_limits(limits or {})}
    plan = setup.plan_of(record, {"limits": raised})
    return await resuming.resume(plan, setup.environment, folder, raised, ask_left=ask_left)


async def fork(name: str, *, setup: Setup | None = None, again: bool = False, **changes: Any) -> Outcome:
    """Fork a session with another seat, setting, limit or topic. Reuses answers that still fit; with `again`, none."""
    return await _in_time(_fork, _setup(setup, changes), name, again, **changes)


async def _fork(setup: Setup, name: str, again: bool, **changes: Any) -> Outcome:
    setup, folder, record = setup.for_session(name)
    return await forking.fork(setup.plan_of(record, changes), setup.environment, folder, again=again)


async def fork_plan(name: str, *, setup: Setup | None = None, **changes: Any) -> forking.ForkCount:
    """How many answers that fork would reuse, and how many questions it would ask."""
    setup, folder, record = _setup(setup, changes).for_session(name)
    return await forking.fork_plan(setup.plan_of(record, changes), setup.environment, folder)


async def replay(name: str, *, setup: Setup | None = None, **named: Any) -> Outcome:
    """Run a session again from its record alone: offline, free, nothing is written."""
    setup = _setup(setup, named)
    _refuse_others(named, "replay", "nothing; changes need a fork")
    folder = setup.find(name)
    record = sessions.load(folder)
    return await running.replay(replay_plan(record), setup.environment, record)


def replay_plan(record: Record) -> Plan:
    """A plan that runs over its record without reaching any model."""
    made = load(record.opened.source or record.opened.protocol)
    seats, fallbacks = participants(record)
    return Plan(
        protocol=made,
        topic=record.opened.topic,
        seats=seats,
        settings=settings_of(made, record.opened.settings),
        workspace=Path(record.opened.workspace),
        fallbacks=fallbacks,
    )


def run(protocol: str | Path, topic: str = "", **named: Any) -> Outcome:
    """`start`, for code that is not async."""
    event_loop.refuse_to_wait("run", "start")
    return asyncio.run(start(protocol, topic, **named))


async def _in_time(
    act: Callable[..., Coroutine[Any, Any, Outcome]], setup: Setup, *words: Any, **named: Any
) -> Outcome:
    """Do something under the setup's deadline. If the time is up before there is a debate, the outcome says so."""
    try:
        return await setup.environment.control.bounded(act(setup, *words, **named))
    except DeadlineReached as late:
        return nothing_yet(late.message)


def _setup(setup: Setup | None, named: dict[str, Any]) -> Setup:
    """The given setup, or one made from its own keywords, which are removed from the others."""
    known = ("workspace", "env", "config", "backends", "control", "listener", "on_ready")
    own = {name: named.pop(name) for name in known if name in named}
    given: Setup | None = setup or named.pop("desk", None)  # `desk` is what `setup` was called in 0.1
    return given or Setup(**own)


def _refuse_others(named: Mapping[str, Any], act: str, takes: str) -> None:
    if named:
        raise UsageError(f"{act} has no {next(iter(named))!r}", f"A {act} changes {takes}.")
