"""Steering a running debate from outside: deadline, draining, and the user's decisions.

`Control` is what the caller holds. It bounds every call by the deadline, and passes the user's decisions on to the
`Steering` of the running debate. A decision (end the rounds, one more round, skip a slow call) or a note to the seats
is recorded as a fact before it takes effect, so it also holds when the debate is resumed, forked or replayed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, cast

from rebut.core.errors import DeadlineReached, Interrupted
from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.domain import user_notes
from rebut.record.events import Fact
from rebut.record.record import Amount, Record, seat_of, step_of
from rebut.record.timings import median

if TYPE_CHECKING:
    from rebut.engine.live_answer import LiveAnswer
    from rebut.engine.plan import Plan
    from rebut.engine.runtime import Runtime

T = TypeVar("T")
K = TypeVar("K")

# decisions on record

SETTLE, MORE = "settle", "more"
SKIPPED = "#left"
"""The end of the key of a fact that the user skipped a call; the call's key comes before it."""


@frozen
class RoundsEnded:
    """The user ended the rounds: in which round, and which of its steps had been asked by then."""

    round: int
    steps: tuple[str, ...] = ()


def settled(record: Record) -> RoundsEnded | None:
    """The decision to end the rounds; None if there is none."""
    fact = record.facts.get(SETTLE)
    if fact is None or not isinstance(fact.value, dict):
        return None
    return RoundsEnded(cast(int, fact.value["round"]), tuple(cast(list[str], fact.value["steps"])))


def added(record: Record) -> int:
    """How many rounds the user added."""
    fact = record.facts.get(MORE)
    return fact.value if fact and isinstance(fact.value, int) else 0


def why_skipped(runtime: Runtime, key: str, fp: str) -> str:
    """Why a call was skipped, in this debate or in the parent of this fork; empty if it was not."""
    fact = runtime.record.facts.get(key + SKIPPED)
    if fact is None and runtime.parent and (old := runtime.parent.facts.get(key + SKIPPED)) and old.of == fp:
        runtime.write(fact := old)
    return str(fact.value or "") if fact else ""


def decisions(record: Record, *, rounds: bool) -> list[Fact]:
    """The facts of the user's notes and, with `rounds`, of the decisions on rounds, for a fork to copy."""
    keys = [f"{user_notes.FACT}{note.number}" for note in user_notes.notes_of(record)]
    return [record.facts[key] for key in (*((SETTLE, MORE) if rounds else ()), *keys) if key in record.facts]


def as_decided(settings: Any, record: Record) -> Any:
    """The settings with the rounds that the user's decisions leave, for counting calls."""
    planned, ended = _rounds(settings), settled(record)
    rounds = planned + added(record)
    rounds = max(1, min(rounds, ended.round)) if ended else rounds
    return settings.model_copy(update={"rounds": rounds}) if planned and rounds != planned else settings


def _rounds(settings: Any) -> int:
    rounds = getattr(settings, "rounds", 0)
    return rounds if isinstance(rounds, int) else 0


# deciding, in one running debate

MOST_ROUNDS = 20
"""More than any shipped protocol has; the search for a protocol's maximum ends here."""
PATIENCE = 2.0
"""A call is slow beyond this many times the median of its siblings."""


@frozen
class SlowCall:
    """A call that takes long compared with its siblings, in seconds."""

    key: str
    took: float
    usual: float

    @property
    def seat(self) -> str:
        return seat_of(self.key)


@dataclass(slots=True)
class Steering:
    """The user's decisions for one running debate. Each method returns why it refuses; empty if it does not."""

    runtime: Runtime
    name: str
    """The protocol's name."""
    planned: int = 0
    """Rounds in the settings; 0 for a protocol without rounds."""
    most: int = 0
    """The most rounds that the debate may have."""
    why_most: str = ""

    @property
    def rounds(self) -> int:
        """Rounds as planned now, with those that the user added."""
        return self.planned + added(self.runtime.record)

    def settle(self) -> str:
        """End the rounds."""
        if refused := self.refuses_settling:
            return refused
        now = self.runtime.rounds.now
        scope = f"r{now}/"
        steps = {step_of(key).removeprefix(scope) for key in self.runtime.record.calls if key.startswith(scope)}
        self._decide(SETTLE, {"round": now, "steps": list[Json](sorted(steps))})
        return ""

    def more(self) -> str:
        """Add a round."""
        if refused := self.refuses_more:
            return refused
        self._decide(MORE, added(self.runtime.record) + 1)
        return ""

    def skip(self, key: str) -> str:
        """Skip a call whose siblings have answered."""
        runtime, seat = self.runtime, seat_of(key)
        if key not in runtime.control.flying:
            return f"{key} is not being asked"
        siblings = self._siblings(key)
        if not siblings:
            return f"no other seat has answered this step yet, so {seat} cannot be skipped"
        took = time.monotonic() - runtime.control.flying[key]
        fp = next((asked.fp for asked in runtime.record.call(key).asked.values()), "")
        others = "the other seat took" if len(siblings) == 1 else f"the {len(siblings)} other seats took a median of"
        why = f"skipped by the user after {took:.0f} s; {others} {median(siblings):.0f} s"
        self._decide(key + SKIPPED, why, of=fp)
        return ""

    def say(self, text: str) -> str:
        """Add a note of the user to every question of the stages that have not begun yet."""
        runtime = self.runtime
        text, known = runtime.door(text).strip(), user_notes.notes_of(runtime.record)
        if refused := user_notes.refused(text, len(known)):
            return refused
        # Calls of this process may not be on record yet, and it may not have come to those of an earlier process yet.
        begun = user_notes.stages([*runtime.record.calls, *(key for key in runtime.keys if not key.startswith("#"))])
        note = user_notes.UserNote(len(known) + 1, text, begun)
        self._decide(f"{user_notes.FACT}{note.number}", note.to_json())
        return ""

    @property
    def refuses_settling(self) -> str:
        """Why the user cannot end the rounds; empty if possible."""
        if not self.planned:
            return f"{self.name} has no rounds"
        if self.runtime.rounds.over:
            return "the rounds are over; this is the closing"
        if settled(self.runtime.record):
            return "it is settled already: no further rounds"
        return ""

    @property
    def refuses_more(self) -> str:
        """Why the user cannot add a round; empty if possible."""
        runtime = self.runtime
        if refused := self.refuses_settling:
            return refused
        if self.rounds >= self.most:
            return self.why_most or f"{self.name} has at most {self.most} rounds"
        name = runtime.refusing_limit(Amount(1))
        return f"{runtime.limit(name)} leaves no room for another round" if name else ""

    def slow_calls(self) -> list[SlowCall]:
        """Calls that take more than twice the median of their finished siblings, the longest first."""
        now, found = time.monotonic(), list[SlowCall]()
        # A copy, as in `_siblings`: the screen calls this from another thread while calls begin and end.
        for key, since in list(self.runtime.control.flying.items()):
            siblings = self._siblings(key)
            if not siblings or key + SKIPPED in self.runtime.record.facts:
                continue
            if now - since > PATIENCE * median(siblings):
                found.append(SlowCall(key, now - since, median(siblings)))
        return sorted(found, key=lambda one: -one.took)

    def _siblings(self, key: str) -> list[float]:
        """Seconds that the answered calls of the same step took."""
        calls = list(self.runtime.record.calls.values())
        return [c.answered.ms / 1000 for c in calls if c.answered and c.key != key and step_of(c.key) == step_of(key)]

    def _decide(self, key: str, value: Json, of: str = "") -> None:
        self.runtime.write(Fact(key=key, cls="input", of=of, value=value))


def steering_of(runtime: Runtime, plan: Plan) -> Steering:
    """The steering of a debate. Its most rounds are found by trying more in its settings."""
    name, planned = plan.protocol.name, _rounds(plan.settings)
    most, why = planned, ""
    while planned and most < MOST_ROUNDS:
        if plan.most_rounds is not None and most >= plan.most_rounds:
            why = f"this repository permits at most {most} rounds"
            break
        try:
            wider = type(plan.settings).model_validate({**plan.settings.model_dump(), "rounds": most + 1})
        except ValueError:
            break
        if _rounds(wider) != most + 1:
            break
        most += 1
    return Steering(runtime, name, planned, most, why)


# the caller's control

NO_DEBATE = "no debate is under way"
PAUSES = (0.15, 0.15)
"""Seconds to wait after each of the two cancellations of a call that must end."""
Why = Literal["deadline", "left", "done"]
_bounding: ContextVar[tuple[Control, ...]] = ContextVar("bounding", default=())
"""The controls whose `bounded` the current code runs in."""


class Cut(Exception):
    """A call was cut off, and why."""

    def __init__(self, why: Why) -> None:
        super().__init__(why)
        self.why: Why = why


class SharedLimits(Protocol):
    """Limits that hold for several debates together. Each debate has its own view of them."""

    def call(self, worst: Amount) -> AbstractAsyncContextManager[None]:
        """A context for a call and its record: waits until the call fits. Raises `Interrupted` if it never will."""

    async def again(self, worst: Amount) -> bool:
        """Whether a request that was lost may be sent again at once."""


@dataclass(slots=True)
class Control:
    """Steers one debate, from the thread of its event loop.

    `settle`, `more`, `skip` and `say` return why they refuse; empty if they do not. Several debates of one `Setup`
    share its deadline; a decision is then for the one that began last.
    """

    deadline: float | None = None
    """Seconds until the result must be there."""
    draining: bool = False
    shared: SharedLimits | None = None
    """Limits that this debate shares with others."""
    on_text: Callable[[str, str], None] | None = None
    """Called with (key, piece) as text streams in."""
    on_wait: Callable[[str, str], None] | None = None
    """Called with (key, reason) when a call must wait, and with an empty reason when it continues."""
    on_heard: Callable[[str, LiveAnswer], None] | None = None
    """Called with (key, answer) when a call begins, and for each point of its answer: when it is complete, and when its
    citation is checked."""
    calls: Mapping[str, int] = field(default_factory=dict, init=False)
    """Role → how many calls each of its seats may make. The engine sets it when the debate begins."""
    on_calls: Callable[[], None] | None = None
    """Called when a call begins or ends, and before a person is asked."""
    began: float | None = None
    """When the deadline's clock began, on the monotonic clock: for a command, the start of its process."""
    flying: dict[str, float] = field(default_factory=dict, init=False)
    """Calls in flight: key → since when."""
    typing: set[str] = field(default_factory=set, init=False)
    """Keys that people are being asked."""
    under_way: list[Steering] = field(default_factory=list, init=False)
    """The debates that are running, the latest last."""
    _ends: float = field(default=float("inf"), init=False)
    _calls: dict[tuple[str, object], asyncio.Future[Why]] = field(default_factory=dict, init=False)
    _frames: dict[object, asyncio.Future[Why]] = field(default_factory=dict, init=False)

    # the deadline

    def begin(self) -> None:
        """Start the clock, if there is a deadline and it does not run yet."""
        if self.deadline is None or self.ends is not None:
            return
        now, loop = time.monotonic(), asyncio.get_running_loop()
        self.began = now if self.began is None else self.began
        self._ends = self.began + self.deadline - self.kept
        loop.call_later(max(0.0, self._ends - now), self._strike, False)
        loop.call_later(max(0.0, self._ends - now) + self.kept / 2, self._strike, True)

    @property
    def kept(self) -> float:
        """Seconds reserved for the ending: tools are ended, files written, the result printed."""
        whole = self.deadline or 0.0
        return min(max(0.6, whole * 0.1), 1.5, whole / 2)

    @property
    def ends(self) -> float | None:
        """When every call ends, on the monotonic clock."""
        return None if self._ends == float("inf") else self._ends

    @property
    def over(self) -> bool:
        return time.monotonic() >= self._ends

    def expire(self) -> None:
        """Act as if the deadline were reached now."""
        self._ends = 0.0
        self._strike(False)

    def _strike(self, last: bool) -> None:
        stops = list(self._calls.values())
        if last or self.steering is None:  # a running debate ends by itself as soon as its calls have ended
            stops += self._frames.values()
        for stop in stops:
            _set(stop, "deadline")

    def late(self) -> DeadlineReached:
        allowed = "" if self.deadline is None else f" of {self.deadline:g} s"
        return DeadlineReached(f"the deadline{allowed} was reached")

    def check(self) -> None:
        """Raise if no new call may start."""
        if self.draining:
            raise Interrupted("stopped on request")
        if self.over:
            raise self.late()

    def room(self, worst: Amount) -> AbstractAsyncContextManager[None]:
        """A context for a call: waits until the limits that debates share leave room for it."""
        return self.shared.call(worst) if self.shared else nullcontext()

    def drain(self) -> None:
        """Let calls in flight finish, and start no other."""
        self.draining = True

    async def bounded(self, work: Coroutine[Any, Any, T]) -> T:
        """Run work until the deadline. Raises `DeadlineReached` if it comes before a debate has a partial result."""
        self.begin()
        if any(one is self for one in _bounding.get()):
            return await work
        within = _bounding.set((*_bounding.get(), self))
        try:
            return await self._until_cut(self._frames, object(), work)
        except Cut:
            raise self.late() from None
        finally:
            _bounding.reset(within)

    # calls

    async def call(self, key: str, work: Coroutine[Any, Any, T]) -> T:
        """One call to a model. Raises `Cut` if the deadline comes first or the user skips the call."""
        self.flying[key] = time.monotonic()
        self._changed()
        try:
            return await self._until_cut(self._calls, (key, object()), work)
        finally:
            self.flying.pop(key, None)  # another debate of this setup may have asked under the same key
            self._changed()

    async def person(self, key: str, work: Coroutine[Any, Any, T]) -> T:
        """One question to a person, who has the keyboard meanwhile."""
        self.typing.add(key)
        self._changed()
        try:
            return await self._until_cut(self._calls, (key, object()), work)
        finally:
            self.typing.discard(key)
            self._changed()

    def _changed(self) -> None:
        if self.on_calls:
            self.on_calls()

    async def _until_cut(self, stops: dict[K, asyncio.Future[Why]], key: K, work: Coroutine[Any, Any, T]) -> T:
        loop = asyncio.get_running_loop()
        stop: asyncio.Future[Why] = loop.create_future()
        task = asyncio.ensure_future(work)
        task.add_done_callback(lambda _: _set(stop, "done"))
        stops[key] = stop
        if self.over:
            loop.call_soon(_set, stop, "deadline")  # not at once: work that need not wait still gives its result
        try:
            await stop
        except asyncio.CancelledError:
            task.cancel()
            while not task.done():
                try:
                    await asyncio.wait((task,))
                except asyncio.CancelledError:
                    task.cancel()  # once more, for a task that is still cleaning up after the first
            task.cancelled() or task.exception()  # retrieved, so that asyncio does not log it
            raise
        finally:
            del stops[key]
        if task.done():
            return task.result()
        why = stop.result()
        await end(task)
        if why == "deadline" and task.done() and not task.cancelled() and task.exception() is None:
            return task.result()  # the result arrived at the last moment
        raise Cut(why)

    # the user's decisions

    @property
    def steering(self) -> Steering | None:
        """The debate that decisions are for."""
        return self.under_way[-1] if self.under_way else None

    def settle(self) -> str:
        """End the rounds: calls in flight finish, then the debate closes with what is on record."""
        return self.steering.settle() if self.steering else NO_DEBATE

    def more(self) -> str:
        """Add a round to those planned."""
        return self.steering.more() if self.steering else NO_DEBATE

    def skip(self, key: str) -> str:
        """Continue without a slow call whose siblings have answered. It counts as a failure of its seat."""
        if self.steering is None:
            return NO_DEBATE
        refused = self.steering.skip(key)
        stops = [] if refused else [stop for (name, _), stop in self._calls.items() if name == key and not stop.done()]
        for stop in stops[-1:]:
            stop.set_result("left")
        return refused

    leave = skip  # its name in 0.1, kept for one release

    def say(self, text: str) -> str:
        """Add a note of the user: every seat gets it, quoted, from the next round on."""
        return self.steering.say(text) if self.steering else NO_DEBATE


def _set(stop: asyncio.Future[Why], why: Why) -> None:
    if not stop.done():
        stop.set_result(why)


async def end(task: asyncio.Task[Any]) -> None:
    """End a task: cancel it twice, and then wait no longer. Closing the event loop ends the rest."""
    for pause in PAUSES:
        task.cancel()
        await asyncio.wait((task,), timeout=pause)
        if task.done():
            break
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
