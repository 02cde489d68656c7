"""The Python functions: ask, check, review, plan, run; and start, resume, fork and replay, which are async.

    outcome = rebut.ask("Redis or Memcached?", models=["openai:a", "openai:b"])
    outcome = rebut.run("duel", "Redis or Memcached?", proposer="openai:a", challenger="openai:b", rounds=2)

Keyword arguments named after the protocol's seats are model specs; the rest are its settings. `ask`, `review` and
`plan` have twins for async code, `ask_async` and so on; the twin of `run` is `start`. `stream` gives the events of a
debate while it runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rebut.core import event_loop
from rebut.core.errors import DeadlineReached, UsageError
from rebut.domain.outcome import Outcome, nothing_yet
from rebut.engine import fork as forking, resume as resuming, run as running, start as starting
from rebut.engine.live_events import DebateEnded, DebateEvent, EventFeed, both
from rebut.engine.plan import Plan, participants
from rebut.engine.protocol import load
from rebut.engine.steering import Control
from rebut.record import sessions
from rebut.record.record import Record
from rebut.setup import verbs
from rebut.setup.prepare import Setup as Setup, settings_of, state_dir as state_dir

if TYPE_CHECKING:
    from rebut.setup.verbs import Verb
    from rebut.workspace.targets.target import Wanted

Desk = Setup
"""The name of `Setup` in 0.1, kept for one release."""


async def start(protocol: str | Path, topic: str = "", *, setup: Setup | None = None, **named: Any) -> Outcome:
    """Start a debate and run it to its end. Raises `RebutError`; every answer received by then is on record.

    `target` is what is debated, for protocols that have one: a `Target`, or a `Wanted` that is read first.
    """
    return await _in_time(_start, _setup(setup, named), protocol, topic, **named)


async def _start(setup: Setup, protocol: str | Path, topic: str, **named: Any) -> Outcome:
    _must_be(topic, "a debate takes its topic", str)
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
    """Count the answers that such a fork would reuse, and the questions that it would ask. Calls no model."""
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
    """The plan for replaying a record, which reaches no model."""
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


# The short ways


def ask(question: str, *, models: Sequence[str] = (), quick: bool = False, deep: bool = False, **named: Any) -> Outcome:
    """Two models answer a question, and debate if they differ: `rebut ask`.

    With `deep` they debate for up to three rounds, and each judge is asked in both orders of the answers.
    """
    event_loop.refuse_to_wait("ask", "ask_async")
    return asyncio.run(ask_async(question, models=models, quick=quick, deep=deep, **named))


async def ask_async(
    question: str, *, models: Sequence[str] = (), quick: bool = False, deep: bool = False, **named: Any
) -> Outcome:
    """`ask`, for async code."""
    _must_be(question, "ask takes a question", str)
    if not question.strip():
        raise UsageError("the question is empty")
    return await _short(verbs.ask(_models(models)), question, None, quick, deep, named)


def review(
    change: str | Path = "", *, models: Sequence[str] = (), quick: bool = False, deep: bool = False, **named: Any
) -> Outcome:
    """A critic reads a change, and a judge weighs the findings: `rebut review`.

    `change` is a diff, a commit, a range A..B or a file; if it is empty, the uncommitted changes, or else this branch.
    A `Path` is always a file. With `fix=True`, the debate also writes a patch.
    """
    event_loop.refuse_to_wait("review", "review_async")
    return asyncio.run(review_async(change, models=models, quick=quick, deep=deep, **named))


async def review_async(
    change: str | Path = "", *, models: Sequence[str] = (), quick: bool = False, deep: bool = False, **named: Any
) -> Outcome:
    """`review`, for async code."""
    _must_be(change, "review takes a change", str, Path)
    what, is_file = str(change), isinstance(change, Path)

    async def wanted(setup: Setup) -> Wanted:
        if is_file:
            verbs.must_be_file(what, setup.workspace, "Give a commit or a range as str.")
        elif "\n" in what:
            from rebut.workspace.targets.target import Wanted

            return Wanted(target="code", content=what)
        return await verbs.change(what, setup.workspace)

    named["skip_materialize_opposite"] = not named.pop("fix", False)
    return await _short(verbs.review(_models(models)), "", wanted, quick, deep, named)


def plan(
    path: str | Path, *, models: Sequence[str] = (), quick: bool = False, deep: bool = False, **named: Any
) -> Outcome:
    """A critic reads the plan in a file, and a judge weighs the findings: `rebut plan`."""
    event_loop.refuse_to_wait("plan", "plan_async")
    return asyncio.run(plan_async(path, models=models, quick=quick, deep=deep, **named))


async def plan_async(
    path: str | Path, *, models: Sequence[str] = (), quick: bool = False, deep: bool = False, **named: Any
) -> Outcome:
    """`plan`, for async code."""
    _must_be(path, "plan takes the path of a file", str, Path)
    if "\n" in str(path):
        raise UsageError("plan takes the path of a file, got a text of several lines", "Write the text to a file.")

    async def wanted(setup: Setup) -> Wanted:
        return verbs.text_file(str(path), setup.workspace)

    named["skip_materialize_opposite"] = True
    return await _short(verbs.plan(_models(models)), "", wanted, quick, deep, named)


def _must_be(given: object, takes: str, *kinds: type) -> None:
    if not isinstance(given, kinds):
        names = " or ".join("pathlib.Path" if kind is Path else kind.__name__ for kind in kinds)
        raise UsageError(f"{takes}, got {type(given).__name__}", f"Give it as {names}.")


def _models(given: Sequence[str]) -> list[str]:
    if isinstance(given, str):  # a string is a sequence of letters
        raise UsageError(f"models must be a list, got {given!r}", f"Write models={given.split(',')!r}.")
    return [str(one) for one in given]


async def _short(
    verb: Verb,
    topic: str,
    wanted: Callable[[Setup], Awaitable[Wanted]] | None,
    quick: bool,
    deep: bool,
    named: dict[str, Any],
) -> Outcome:
    """Run what a verb stands for."""
    if quick and deep:
        raise UsageError("give quick or deep, not both")

    async def act(setup: Setup) -> Outcome:
        found = await wanted(setup) if wanted else None
        look = verb.first_look(named, found, quick=quick, deep=deep)
        if found is not None:
            named["target"], named["redaction"] = await setup.resolve(found)
        naming = 'models=["{}", "{}"]'
        made = verbs.planned(setup, verb.protocol, topic, first_look=look, naming=naming, **named)
        if made.protocol.reviews:
            made = replace(made, asked={"verb": verb.name})
        outcome = await starting.start(made, setup.environment)
        if outcome.review is None or made.target is None:
            return outcome
        from rebut.reports.review import decided, heading

        return replace(outcome, heading=heading(outcome, made.target), decision=decided(outcome, made.target))

    return await _in_time(act, _setup(named.pop("setup", None), named))


# Events


async def stream(
    what: str | Path | Callable[..., Any], about: str | Path = "", **named: Any
) -> AsyncGenerator[DebateEvent, None]:
    """Run a debate and yield its events as they happen; the last one is `DebateEnded`.

    `what` is a protocol as for `run`, or one of the functions `ask`, `review`, `plan`, `resume` and `fork`; the other
    arguments are those of that function. An error of the debate is raised here. If you stop reading, the debate is
    stopped, and can be resumed.
    """
    if named.get("setup") is not None:
        raise UsageError("stream has no 'setup'", "Give what it would be made of: workspace, env, config, backends.")
    act = partial(start, what) if isinstance(what, str | Path) else _TWINS.get(what)
    if act is None:
        name = getattr(what, "__name__", repr(what))
        known = ", ".join(f"rebut.{one.__name__}" for one in (ask, review, plan, resume, fork))
        raise UsageError(f"there are no events of {name}", f"Give the name of a protocol, or one of {known}.")
    feed = EventFeed()
    control: Control = named.pop("control", None) or Control()
    heard = control.on_heard
    control.on_heard = both(heard, feed.heard)
    named["listener"] = both(named.get("listener"), feed.line)
    named["on_ready"] = both(named.get("on_ready"), feed.ready)
    debate = asyncio.ensure_future(act(about, control=control, **named))
    debate.add_done_callback(lambda _: feed.end())
    try:
        while (event := await feed.next()) is not None:
            yield event
        yield DebateEnded(await debate)
    finally:
        debate.cancel()
        await asyncio.wait([debate])
        control.on_heard = heard
        if not debate.cancelled():
            debate.exception()  # looked at, so that asyncio does not report it again


_TWINS: dict[Callable[..., Any], Callable[..., Coroutine[Any, Any, Outcome]]] = {
    **{ask: ask_async, review: review_async, plan: plan_async},
    **{one: one for one in (ask_async, review_async, plan_async, resume, fork)},
}
"""Function → its twin for async code."""


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
