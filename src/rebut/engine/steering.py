"""Control: how the outside steers a debate while it runs. A deadline, draining, and what is decided by hand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from rebut.core.errors import DeadlineReached, Interrupted

if TYPE_CHECKING:
    from rebut.engine.helm import Helm
    from rebut.engine.live_answer import Hearing

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

    `settle`, `more` and `leave` say why not where something cannot be done; nothing, if it is done. Several debates
    at one desk share its deadline; what is decided by hand is then for the one that began last.
    """

    deadline: float | None = None
    """Seconds until the result must be there."""
    draining: bool = False
    on_text: Callable[[str, str], None] | None = None
    """Called with (key, piece) as text streams in."""
    on_wait: Callable[[str, str], None] | None = None
    """Called with (key, words) when a call must wait, and with no words when it goes on."""
    on_heard: Callable[[str, Hearing], None] | None = None
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
    helms: list[Helm] = field(default_factory=list, init=False)
    """The debates that are under way, the latest last."""
    _ends: float = field(default=float("inf"), init=False)
    _calls: dict[tuple[str, object], asyncio.Future[Why]] = field(default_factory=dict, init=False)
    _frames: dict[object, asyncio.Future[Why]] = field(default_factory=dict, init=False)

    @property
    def helm(self) -> Helm | None:
        """The debate that is under way."""
        return self.helms[-1] if self.helms else None

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
        if last or self.helm is None:  # a debate that is under way ends by itself, as soon as its calls have
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
            self.flying.pop(key, None)  # another debate at this desk may have asked under the same key
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
        return self.helm.settle() if self.helm else NO_DEBATE

    def more(self) -> str:
        """One round more than planned."""
        return self.helm.more() if self.helm else NO_DEBATE

    def leave(self, key: str) -> str:
        """Go on without a call whose siblings have answered. It counts as a failure of its seat."""
        if self.helm is None:
            return NO_DEBATE
        refused = self.helm.leave(key)
        stops = [] if refused else [stop for (name, _), stop in self._calls.items() if name == key and not stop.done()]
        for stop in stops[-1:]:
            stop.set_result("left")
        return refused


async def end(task: asyncio.Task[Any]) -> None:
    """End a piece of work: ask, insist, and then wait no longer; whoever closes the loop sees to the rest."""
    for patience in (ASKED, FORCED):
        task.cancel()
        await asyncio.wait((task,), timeout=patience)
        if task.done():
            break
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
