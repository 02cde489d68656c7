"""Limits how many debates run at once in one process, by the files that it may open. The others wait for their turn."""

from __future__ import annotations

import asyncio
import gc
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

PER_DEBATE = 8
"""Descriptors that one debate may need: its journal, its lock, pipes to git, and files that are open for a moment."""
SHARED = 128
"""Descriptors for the rest of the process: connections to providers, and the program that runs rebut."""

GC_THRESHOLD = 20_000
"""New objects before Python looks for garbage, while several debates run. With its usual 700 it looks through the
records of all debates again and again, which takes a tenth of the time and finds next to nothing."""

_running = 0
_usual = 0
"""The threshold that the program around rebut had set; 0 while that is in force."""
_waiting: deque[asyncio.Future[None]] = deque()


def most() -> int:
    """How many debates this process can have open."""
    try:
        import resource
    except ImportError:  # Windows
        return 512
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1_000_000 if soft == resource.RLIM_INFINITY else max(1, (soft - SHARED) // PER_DEBATE)


def running() -> int:
    """How many debates are open in this process."""
    return _running


@asynccontextmanager
async def admitted() -> AsyncIterator[None]:
    """Wait until one more debate can be open."""
    global _running
    while _running >= most():
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        _waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                _wake_next()  # it was this debate's turn, and it is cancelled: wake the next
            raise
    _running += 1
    _collect_seldom(_running > 1)
    try:
        yield
    finally:
        _running -= 1
        _collect_seldom(_running > 1)
        _wake_next()


def _collect_seldom(several: bool) -> None:
    global _usual
    now, *others = gc.get_threshold()
    if several and not _usual and 0 < now < GC_THRESHOLD:  # 0: the program has switched the collector off
        _usual = now
        gc.set_threshold(GC_THRESHOLD, *others)
    elif not several and _usual:
        if now == GC_THRESHOLD:  # else the program has set another number meanwhile
            gc.set_threshold(_usual, *others)
        _usual = 0


def _wake_next() -> None:
    while _waiting:
        turn = _waiting.popleft()
        loop = turn.get_loop()
        if not turn.done() and not loop.is_closed():  # a debate that was cancelled waits no longer
            loop.call_soon_threadsafe(_wake, turn)
            return


def _wake(turn: asyncio.Future[None]) -> None:
    if turn.done():
        _wake_next()
    else:
        turn.set_result(None)
