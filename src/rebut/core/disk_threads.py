"""Aside: what waits for the disk is done in a few threads, so that other debates of the process go on meanwhile.

`run_in_executor` costs more than most of this work itself: two futures, a lock and a wake-up of the loop for every
piece. Here the threads take what has come by the time they are free, and what is done by the time the loop looks is
handed back in one go.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from rebut.core.errors import RebutError

T = TypeVar("T")
Then = Callable[[Any, Exception | None], None]
"""Told in the loop what the work gave, or how it failed."""

THREADS = 4
"""Enough for a file system to join what they wait for; more of them only get in each other's way."""

_asides: dict[asyncio.AbstractEventLoop, Aside] = {}


class Aside:
    """The threads of one event loop. They belong to the loop's own executor, and end with it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._todo: deque[tuple[Callable[[], Any], Then]] = deque()
        self._done: deque[tuple[Then, Any, Exception | None]] = deque()
        self._told = False
        """The loop knows that something is done, and has not looked yet."""
        self._working = 0

    def run(self, work: Callable[[], Any], then: Then) -> None:
        """Do `work` in a thread. It fails by an error of the system or of ours."""
        self._todo.append((work, then))
        self._start()

    def _start(self) -> None:
        if self._working < min(THREADS, len(self._todo)):
            self._working += 1
            self._loop.run_in_executor(None, self._work).add_done_callback(self._ended)

    def _work(self) -> None:
        """In a thread: do what waits until nothing does."""
        while self._todo:
            try:
                work, then = self._todo.popleft()
            except IndexError:  # another thread was quicker
                return
            result: Any = None
            failed: Exception | None = RuntimeError("what was done aside broke off")  # unless we learn better
            try:
                result, failed = work(), None
            except (OSError, RebutError) as error:
                failed = error
            finally:
                self._done.append((then, result, failed))
                if not self._told:
                    self._told = True
                    self._loop.call_soon_threadsafe(self._hand_back)

    def _hand_back(self) -> None:
        self._told = False  # first: what is done from here on is told again
        while self._done:
            then, result, failed = self._done.popleft()
            then(result, failed)

    def _ended(self, thread: asyncio.Future[None]) -> None:
        self._working -= 1
        self._start()  # for what came after the thread had looked for the last time


def of_loop() -> Aside:
    """The threads of the running loop."""
    loop = asyncio.get_running_loop()
    mine = _asides.get(loop)
    if mine is None:
        for old in [known for known in _asides if known.is_closed()]:
            del _asides[old]
        mine = _asides[loop] = Aside(loop)
    return mine


def aside(work: Callable[[], T]) -> asyncio.Future[T]:
    """What comes of `work`. Cancelling the future leaves the work to end by itself."""
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def then(result: T, failed: Exception | None) -> None:
        if future.cancelled():
            return
        if failed is not None:
            future.set_exception(failed)
        else:
            future.set_result(result)

    of_loop().run(work, then)
    return future
