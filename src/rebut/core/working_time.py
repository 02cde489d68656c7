"""`WorkingTime`: how long a process has worked on a debate, whatever the clock on the wall does meanwhile.

It is measured on the monotonic clock, which does not jump. On some systems that clock runs while the machine sleeps,
and on all of them while the process is stopped (Ctrl-Z), so a beat in the event loop shows such gaps, too.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

BEAT = 1.0
"""Seconds between two beats."""
STOPPED = 10.0
"""A beat that comes this many seconds late means that the process was stopped, not busy."""


class WorkingTime:
    """Seconds since it was made, without those that are left out."""

    def __init__(self) -> None:
        self._began = self._last = time.monotonic()
        self._left_out = 0.0
        self._loop: asyncio.AbstractEventLoop
        self._next: asyncio.TimerHandle | None = None

    def seconds(self) -> float:
        now = time.monotonic()
        return max(0.0, now - self._began - self._left_out - self._gap(now))

    def leave_out(self, seconds: float) -> None:
        """Do not count these seconds: a person took them to answer."""
        self._left_out += seconds

    def start(self) -> None:
        """Begin to beat in the running event loop, which shows when the process is stopped."""
        from asyncio import get_running_loop  # not above: commands that only read records load this module, too

        self._last = time.monotonic()
        self._loop = get_running_loop()
        self._next = self._loop.call_later(BEAT, self._beat)

    def stop(self) -> None:
        if self._next is not None:
            self._left_out += self._gap(time.monotonic())
            self._next.cancel()
            self._next = None

    def _beat(self) -> None:
        now = time.monotonic()
        self._left_out += self._gap(now)
        self._last = now
        self._next = self._loop.call_later(BEAT, self._beat)

    def _gap(self, now: float) -> float:
        """Seconds since the last beat during which the process was stopped."""
        late = now - self._last - BEAT
        return late if self._next is not None and late > STOPPED else 0.0
