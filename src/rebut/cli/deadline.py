"""The --deadline of a command: an alarm that prints the result so far and ends the process in time."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable

_started: list[float] = []
_alarms: list[Alarm] = []


def note_start() -> None:
    """Note when this process began. The CPU time so far went into loading Python and rebut, and counts."""
    _started[:] = [time.monotonic() - time.process_time()]


def began() -> float | None:
    """When this process began, on the monotonic clock; None where rebut runs inside another program."""
    return _started[0] if _started else None


def set_alarm(deadline: float, print_result: Callable[[], None]) -> None:
    """Set the alarm of this command."""
    switch_off()
    begin = began()
    if begin is not None:
        _alarms.append(Alarm(deadline, begin, print_result))


def on_alarm(print_result: Callable[[], None]) -> None:
    """Replace what is printed when the alarm goes off."""
    for alarm in _alarms:
        alarm.print_result = print_result


def switch_off() -> None:
    """Switch the alarm off. If it has just gone off, this does not return."""
    while _alarms:
        if not _alarms.pop().claim():
            threading.Event().wait()  # the alarm prints the result and ends the process


class Alarm:
    """Goes off in a thread of its own: whatever hangs, `print_result` prints the result and the process ends."""

    SPARE = 0.3
    """Seconds before the deadline at which it goes off, for printing."""

    def __init__(self, deadline: float, begin: float, print_result: Callable[[], None]) -> None:
        self.print_result, self._said = print_result, threading.Lock()
        left = deadline - min(self.SPARE, deadline / 4) - (time.monotonic() - begin)
        self._timer = threading.Timer(max(0.0, left), self._go_off)
        self._timer.daemon = True
        self._timer.start()

    def _go_off(self) -> None:
        if self.claim():
            try:
                self.print_result()
            finally:
                exit_at_once(5)

    def claim(self) -> bool:
        """True for the first caller, which then prints the result: the command or the alarm."""
        first = self._said.acquire(blocking=False)
        self._timer.cancel()
        return first


def exit_at_once(code: int) -> None:
    """End the process without waiting for threads: a model may answer in one of them for minutes."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # closed, or gone
            continue
    os._exit(code)
