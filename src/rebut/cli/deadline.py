"""The clock of a command: when its process began, and a bell that rings when the time it was given is all but over."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable

_started: list[float] = []
_bells: list[Bell] = []


def start() -> None:
    """Note when this process began: the processor's time until now has gone into loading Python and rebut."""
    _started[:] = [time.monotonic() - time.process_time()]


def began() -> float | None:
    """When the process of this command began, on the monotonic clock; None where rebut is not its own process."""
    return _started[0] if _started else None


def set_bell(deadline: float, last_word: Callable[[], None]) -> None:
    """Have the bell of this command ring."""
    hush()
    begin = began()
    if begin is not None:
        _bells.append(Bell(deadline, begin, last_word))


def before_the_end(last_word: Callable[[], None]) -> None:
    """Something better to say when it rings."""
    for bell in _bells:
        bell.last_word = last_word


def hush() -> None:
    """It need not ring any more. If it has just begun to, this does not return."""
    while _bells:
        if not _bells.pop().silence():
            threading.Event().wait()  # it has the last word, and ends the process


class Bell:
    """Rings in a thread of its own. Whatever the program hangs in then, its last word is said and the process ends."""

    SPARE = 0.3
    """Seconds before the end at which it rings, for the last word."""

    def __init__(self, deadline: float, begin: float, last_word: Callable[[], None]) -> None:
        self.last_word, self._said = last_word, threading.Lock()
        left = deadline - min(self.SPARE, deadline / 4) - (time.monotonic() - begin)
        self._timer = threading.Timer(max(0.0, left), self._ring)
        self._timer.daemon = True
        self._timer.start()

    def _ring(self) -> None:
        if self.silence():
            try:
                self.last_word()
            finally:
                leave_at_once(5)

    def silence(self) -> bool:
        """Who comes first has the last word: True if that is the caller."""
        first = self._said.acquire(blocking=False)
        self._timer.cancel()
        return first


def leave_at_once(code: int) -> None:
    """End the process without waiting for threads: a model in one of them may think for minutes."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # closed, or gone
            continue
    os._exit(code)
