"""How long a process has worked on a debate, without the time in which it was stopped; and time-outs that count so.

The monotonic clock does not jump. But on some systems it runs while the machine sleeps, and on all of them while the
process is stopped (Ctrl-Z). A regular beat in the event loop finds such gaps.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from rebut.core.event_loop import PerLoop

if TYPE_CHECKING:
    import asyncio

BEAT = 1.0
"""Seconds between two beats."""
STOPPED = 2.0
"""A beat that comes this many seconds late means that the process was stopped, unless it was busy meanwhile."""


class WorkingTime:
    """Counts seconds since it was made, without those that are left out."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._left_out = 0.0
        self._pulse: _Pulse | None = None
        self._before = 0.0

    def seconds(self) -> float:
        now = time.monotonic()
        return max(0.0, now - self._began - self._left_out - self._stopped(now))

    def leave_out(self, seconds: float) -> None:
        """Do not count these seconds: a person took them to answer."""
        self._left_out += seconds

    def start(self) -> None:
        """Begin to watch the running event loop, which shows when the process is stopped."""
        self._pulse = _pulse()
        self._before = self._pulse.stopped(time.monotonic())
        self._pulse.join()

    def stop(self) -> None:
        if self._pulse is not None:
            self._left_out += self._stopped(time.monotonic())
            self._pulse.leave()
            self._pulse = None

    def _stopped(self, now: float) -> float:
        return self._pulse.stopped(now) - self._before if self._pulse is not None else 0.0


def clock() -> float:
    """The time of the running event loop, without the time during which the process was stopped."""
    now = time.monotonic()
    return now - _pulse().stopped(now)


@asynccontextmanager
async def timeout(seconds: float) -> AsyncIterator[asyncio.Timeout]:
    """Like `asyncio.timeout`, but time during which the process was stopped does not count.

    The connection of a call may live on while this process is stopped, and what has arrived meanwhile can be read.
    """
    import asyncio

    pulse = _pulse()
    pulse.join()
    try:
        async with asyncio.timeout(seconds) as scope:
            pulse.scopes.add(scope)
            try:
                yield scope
            finally:
                pulse.scopes.discard(scope)
    finally:
        pulse.leave()


class _Pulse:
    """A regular beat in one event loop, while it is needed, that shows when the process was stopped."""

    def __init__(self) -> None:
        self.scopes: set[asyncio.Timeout] = set()
        """The time-outs to extend by the time during which the process was stopped."""
        self._users = 0
        self._stopped = 0.0
        self._last = self._worked = 0.0
        self._next: asyncio.TimerHandle | None = None

    def join(self) -> None:
        self._users += 1
        if self._users == 1:
            self._wait()

    def leave(self) -> None:
        self._users -= 1
        if not self._users and self._next is not None:
            self._stopped += self._gap(time.monotonic())
            self._next.cancel()
            self._next = None

    def stopped(self, now: float) -> float:
        """For how many seconds the process was stopped so far."""
        return self._stopped + self._gap(now)

    def _wait(self) -> None:
        from asyncio import get_running_loop  # not above: commands that only read records load this module, too

        self._last, self._worked = time.monotonic(), time.process_time()
        self._next = get_running_loop().call_later(BEAT, self._beat)

    def _beat(self) -> None:
        # After a stop, this runs before everything else that is due, except what had less than a beat left.
        if gap := self._gap(time.monotonic()):
            self._stopped += gap
            for scope in self.scopes:
                if (when := scope.when()) is not None and not scope.expired():
                    scope.reschedule(when + gap)
        self._wait()

    def _gap(self, now: float) -> float:
        """Seconds since the last beat during which the process was stopped."""
        late = now - self._last - BEAT
        if self._next is None or late <= STOPPED:
            return 0.0
        return late if time.process_time() - self._worked < late / 2 else 0.0


_pulse = PerLoop(_Pulse).get
