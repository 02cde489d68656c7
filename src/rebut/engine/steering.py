"""Control: how the outside steers a debate while it runs. A deadline, draining, and what is decided by hand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from rebut.core.errors import DeadlineReached, Interrupted
from rebut.core.types import Json
from rebut.domain.limits import shown
from rebut.record.events import Fact
from rebut.record.record import Amount, Record, seat_of, step_of

if TYPE_CHECKING:
    from rebut.engine.live_answer import LiveAnswer
    from rebut.engine.runtime import Runtime

T = TypeVar("T")
K = TypeVar("K")
Why = Literal["deadline", "left"]
ASKED, FORCED = 0.15, 0.15
"""Seconds that a call which must end has after it was asked to, and after it was told to."""
NO_DEBATE = "no debate is under way"
_bounding: ContextVar[tuple[Control, ...]] = ContextVar("bounding", default=())
"""Whose `bounded` the work is in that goes on here."""


class Cut(Exception):
    """A piece of work was cut off, and why."""

    def __init__(self, why: Why) -> None:
        super().__init__(why)
        self.why: Why = why


@dataclass(slots=True)
class Control:
    """Steers one debate, from the thread of its loop. Last, its task is cancelled.

    `settle`, `more` and `skip` say why not where something cannot be done; nothing, if it is done. Several debates
    at one setup share its deadline; what is decided by hand is then for the one that began last.
    """

    deadline: float | None = None
    """Seconds until the result must be there."""
    draining: bool = False
    on_text: Callable[[str, str], None] | None = None
    """Called with (key, piece) as text streams in."""
    on_wait: Callable[[str, str], None] | None = None
    """Called with (key, words) when a call must wait, and with no words when it goes on."""
    on_heard: Callable[[str, LiveAnswer], None] | None = None
    """Called with (key, hearing) when a call begins, and for each point of its answer: once whole, once looked up."""
    calls: Mapping[str, int] = field(default_factory=dict, init=False)
    """Role → how many calls each of its seats may make; told by the engine when the debate begins."""
    on_calls: Callable[[], None] | None = None
    """Called when a call begins or ends; before a person is asked, too."""
    began: float | None = None
    """When the deadline's clock began, on the monotonic clock: for a command, the start of its process."""
    flying: dict[str, float] = field(default_factory=dict, init=False)
    """Calls in flight: key → since when."""
    typing: set[str] = field(default_factory=set, init=False)
    """Keys that people are asked right now."""
    under_way: list[Steering] = field(default_factory=list, init=False)
    """The debates that are under way, the latest last."""
    _ends: float = field(default=float("inf"), init=False)
    _calls: dict[tuple[str, object], asyncio.Future[Why]] = field(default_factory=dict, init=False)
    _frames: dict[object, asyncio.Future[Why]] = field(default_factory=dict, init=False)

    @property
    def steering(self) -> Steering | None:
        """The debate that is under way."""
        return self.under_way[-1] if self.under_way else None

    # the deadline

    def begin(self) -> None:
        """Start the clock, if there is one and it does not run yet."""
        if self.deadline is None or self.ends is not None:
            return
        now, loop = time.monotonic(), asyncio.get_running_loop()
        self.began = now if self.began is None else self.began
        self._ends = self.began + self.deadline - self.kept
        loop.call_later(max(0.0, self._ends - now), self._strike, False)
        loop.call_later(max(0.0, self._ends - now) + self.kept / 2, self._strike, True)

    @property
    def kept(self) -> float:
        """Seconds kept back for the ending: tools are ended, files written, the result printed."""
        whole = self.deadline or 0.0
        return min(max(0.6, whole * 0.1), 1.5, whole / 2)

    @property
    def ends(self) -> float | None:
        """When nothing goes on any more, on the monotonic clock."""
        return None if self._ends == float("inf") else self._ends

    @property
    def over(self) -> bool:
        return time.monotonic() >= self._ends

    def expire(self) -> None:
        """The time is up now, whatever the clock says."""
        self._ends = 0.0
        self._strike(False)

    def _strike(self, last: bool) -> None:
        stops = list(self._calls.values())
        if last or self.steering is None:  # a debate that is under way ends by itself, as soon as its calls have
            stops += self._frames.values()
        for stop in stops:
            if not stop.done():
                stop.set_result("deadline")

    def late(self) -> DeadlineReached:
        allowed = "" if self.deadline is None else f" of {self.deadline:g} s"
        return DeadlineReached(f"the deadline{allowed} was reached")

    def check(self) -> None:
        """Raise when nothing new may be started."""
        if self.draining:
            raise Interrupted("stopped on request")
        if self.over:
            raise self.late()

    def drain(self) -> None:
        self.draining = True

    async def bounded(self, work: Coroutine[Any, Any, T]) -> T:
        """All that leads to a result. `DeadlineReached` if the time is gone before a debate could say how it stands."""
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
        """One call to a model. Raises `Cut` when the deadline comes first, or it is left behind."""
        self.flying[key] = time.monotonic()
        self._changed()
        try:
            return await self._until_cut(self._calls, (key, object()), work)
        finally:
            self.flying.pop(key, None)  # another debate at this setup may have asked under the same key
            self._changed()

    async def person(self, key: str, work: Coroutine[Any, Any, T]) -> T:
        """One question to a person, who has the keyboard for as long."""
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
        stop: asyncio.Future[Why] = asyncio.get_running_loop().create_future()
        task = asyncio.ensure_future(work)
        stops[key] = stop
        if self.over:
            stop.set_result("deadline")
        try:
            await asyncio.wait((task, stop), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            while not task.done():
                try:
                    await asyncio.wait((task,))
                except asyncio.CancelledError:
                    task.cancel()  # once more, for those who are in the middle of ending politely
            task.cancelled() or task.exception()  # looked at, so that nobody complains of it
            raise
        finally:
            del stops[key]
        if task.done():
            return task.result()
        why = stop.result()
        await end(task)
        if why == "deadline" and task.done() and not task.cancelled() and task.exception() is None:
            return task.result()  # it came in the very last moment
        raise Cut(why)

    # decisions by hand

    def settle(self) -> str:
        """No further rounds: what is in flight finishes, then the debate is closed with what there is."""
        return self.steering.settle() if self.steering else NO_DEBATE

    def more(self) -> str:
        """One round more than planned."""
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


async def end(task: asyncio.Task[Any]) -> None:
    """End a piece of work: ask, insist, and then wait no longer; whoever closes the loop sees to the rest."""
    for patience in (ASKED, FORCED):
        task.cancel()
        await asyncio.wait((task,), timeout=patience)
        if task.done():
            break
    task.add_done_callback(lambda done: done.cancelled() or done.exception())


# The steering: what is decided by hand while a debate runs, on record before it takes effect.
#
# A decision is a fact like any other input: it holds for a resumed, a forked and a replayed debate, too.

SETTLE, MORE = "settle", "more"
LEFT_FACT = "#left"
PATIENCE = 2.0
"""A call is a straggler beyond so many times the median of its siblings."""


@dataclass(frozen=True, slots=True)
class RoundsEnded:
    """That the rounds were ended by hand: in which round, and what had been asked of it by then."""

    round: int
    steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SlowCall:
    """A call that takes long beside its siblings, in seconds."""

    key: str
    took: float
    usual: float

    @property
    def seat(self) -> str:
        return seat_of(self.key)


def settled(record: Record) -> RoundsEnded | None:
    fact = record.facts.get(SETTLE)
    if fact is None or not isinstance(fact.value, dict):
        return None
    return RoundsEnded(cast(int, fact.value["round"]), tuple(cast(list[str], fact.value["steps"])))


def added(record: Record) -> int:
    """Rounds that were added by hand."""
    fact = record.facts.get(MORE)
    return fact.value if fact and isinstance(fact.value, int) else 0


def left(runtime: Runtime, key: str, fp: str) -> str:
    """Why a question is not asked any more, if it was left behind, here or in the debate that this is a fork of."""
    fact = runtime.record.facts.get(key + LEFT_FACT)
    if fact is None and runtime.parent and (old := runtime.parent.facts.get(key + LEFT_FACT)) and old.of == fp:
        runtime.write(fact := old)
    return str(fact.value or "") if fact else ""


@dataclass(slots=True)
class Steering:
    """The hand on one debate that runs."""

    runtime: Runtime
    name: str
    """Of the protocol."""
    planned: int = 0
    """Rounds as they were asked for; 0 for a protocol that has none."""
    most: int = 0
    """Rounds at most."""
    why_most: str = ""

    @property
    def rounds(self) -> int:
        """Rounds as they are planned by now."""
        return self.planned + added(self.runtime.record)

    def settle(self) -> str:
        if refused := self.refuses_settling:
            return refused
        now = self.runtime.rounds.now
        scope = f"r{now}/"
        steps = {step_of(key).removeprefix(scope) for key in self.runtime.record.calls if key.startswith(scope)}
        self._decide(SETTLE, {"round": now, "steps": list[Json](sorted(steps))})
        return ""

    def more(self) -> str:
        if refused := self.refuses_more:
            return refused
        self._decide(MORE, added(self.runtime.record) + 1)
        return ""

    @property
    def refuses_more(self) -> str:
        """Why no round can be added; empty if one can."""
        runtime = self.runtime
        if refused := self.refuses_settling:
            return refused
        if self.rounds >= self.most:
            return self.why_most or f"{self.name} has at most {self.most} rounds"
        name = runtime.limits.refuses(runtime.record.committed, Amount(1), runtime.closing)
        if not name and runtime.seconds_left() <= 0:
            name = "minutes"
        if name:
            return f"the limit of {shown(name, getattr(runtime.limits, name))} leaves no room for another round"
        return ""

    def skip(self, key: str) -> str:
        runtime, seat = self.runtime, seat_of(key)
        if key not in runtime.control.flying:
            return f"{key} is not being asked"
        siblings = self._siblings(key)
        if not siblings:
            return f"nobody beside the {seat} has answered yet"
        took = time.monotonic() - runtime.control.flying[key]
        fp = next((asked.fp for asked in runtime.record.call(key).asked.values()), "")
        others = "the other" if len(siblings) == 1 else f"the {len(siblings)} others"
        why = f"by hand, after {took:.0f} s; {others} took {median(siblings):.0f} s"
        runtime.write(Fact(key=key + LEFT_FACT, cls="input", of=fp, value=why))
        return ""

    def slow_calls(self) -> list[SlowCall]:
        """Calls past twice the median of their finished siblings, the longest first."""
        now, found = time.monotonic(), list[SlowCall]()
        # A copy, as below: the screen looks from a thread of its own while calls begin and end.
        for key, since in list(self.runtime.control.flying.items()):
            siblings = self._siblings(key)
            if (
                siblings
                and now - since > PATIENCE * median(siblings)
                and key + LEFT_FACT not in self.runtime.record.facts
            ):
                found.append(SlowCall(key, now - since, median(siblings)))
        return sorted(found, key=lambda one: -one.took)

    def _siblings(self, key: str) -> list[float]:
        """Seconds that those took who were asked the same beside it, and have answered."""
        calls = list(self.runtime.record.calls.values())
        return [c.answered.ms / 1000 for c in calls if c.answered and c.key != key and step_of(c.key) == step_of(key)]

    @property
    def refuses_settling(self) -> str:
        """Why the rounds cannot be ended by hand; empty if they can."""
        if not self.planned:
            return f"{self.name} has no rounds"
        if self.runtime.rounds.over:
            return "the rounds are over; this is the closing"
        if settled(self.runtime.record):
            return "it is settled already: no further rounds"
        return ""

    def _decide(self, key: str, value: Json) -> None:
        self.runtime.write(Fact(key=key, cls="input", value=value))


def decisions(record: Record) -> list[Fact]:
    """What was decided by hand on rounds."""
    return [record.facts[key] for key in (SETTLE, MORE) if key in record.facts]
