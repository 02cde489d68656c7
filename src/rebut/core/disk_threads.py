"""Threads for disk syncs: several debates in one process wait for the disk without blocking each other.

`run_in_executor` for each sync would cost more than most syncs: two futures, a lock and a wake-up of the loop. Here a
thread does all waiting work, and the loop receives all finished work at once. Decision 0005 has the figures.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from rebut.core.event_loop import PerLoop

Then = Callable[[OSError | RuntimeError | None], None]
"""Called in the loop when the work is done, with its error if it failed."""

THREADS = 4
"""Enough for a file system to combine their syncs; more threads only delay each other."""


class DiskThreads:
    """The threads of one event loop. They belong to the loop's own executor, and end with it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._todo: deque[tuple[Callable[[], None], Then]] = deque()
        self._done: deque[tuple[Then, OSError | RuntimeError | None]] = deque()
        self._notified = False
        """Whether a call of `_hand_back` by the loop is due."""
        self._working = 0

    def run(self, work: Callable[[], None], then: Then) -> None:
        """Do `work`, which may raise OSError, in a thread; then call `then` in the loop."""
        self._todo.append((work, then))
        self._start()

    def _start(self) -> None:
        if self._working < min(THREADS, len(self._todo)):
            self._working += 1
            self._loop.run_in_executor(None, self._work).add_done_callback(self._ended)

    def _work(self) -> None:
        """In a thread: do the waiting work until there is none."""
        while self._todo:
            try:
                work, then = self._todo.popleft()
            except IndexError:  # another thread was faster
                return
            failed: OSError | RuntimeError | None = RuntimeError("the work in a disk thread broke off")
            try:
                work()
                failed = None
            except OSError as error:
                failed = error
            finally:
                self._done.append((then, failed))
                if not self._notified:
                    self._notified = True
                    self._loop.call_soon_threadsafe(self._hand_back)

    def _hand_back(self) -> None:
        self._notified = False  # first, so that work that ends from here on notifies the loop again
        while self._done:
            then, failed = self._done.popleft()
            then(failed)

    def _ended(self, thread: asyncio.Future[None]) -> None:
        self._working -= 1
        self._start()  # for work that was added after the thread found none


disk_threads = PerLoop(DiskThreads).get
"""The threads of the running loop."""
