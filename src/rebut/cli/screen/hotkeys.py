"""Keys while models think: settle now, one more round, leave a straggler behind. On a terminal only."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable

from rebut.core.errors import RecordError
from rebut.engine.steering import Control
from rebut.reports.terminal import duration

SETTLE, MORE, LEAVE = "s", "m", "l"
SHOWN = 6.0
"""Seconds for which a refusal stands on the screen."""


class Keys:
    """Reads single keys for as long as models are asked and nobody types. The terminal is as it was otherwise."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._loop: asyncio.AbstractEventLoop | None = None
        self._before: list[object] | None = None
        self._said: tuple[str, float] = ("", 0.0)

    def open(self, around: Callable[[bool], None]) -> None:
        """Begin, in the running loop. `around` is told before the process stops for Ctrl-Z, and after it goes on."""
        self._loop = asyncio.get_running_loop()
        self._around = around
        self._control.on_calls = self.look
        self._loop.add_signal_handler(signal.SIGTSTP, self._stop)
        self._loop.add_signal_handler(signal.SIGCONT, self.look)

    def close(self) -> None:
        if self._loop is None:
            return
        self._off()
        self._control.on_calls = None
        for number in (signal.SIGTSTP, signal.SIGCONT):
            self._loop.remove_signal_handler(number)
        self._loop = None

    def look(self) -> None:
        """A call began or ended, or we are in the foreground again: are keys wanted now?"""
        wanted = bool(self._control.flying) and not self._control.typing and not self._control.draining
        if wanted and self._before is None:
            self._on()
        elif not wanted:
            self._off()

    def restore(self) -> None:
        """The terminal as it was, from any thread."""
        import termios

        before, self._before = self._before, None
        if before is not None:
            try:
                termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, before)  # type: ignore[arg-type]
            except (termios.error, OSError, ValueError):
                return  # it went away

    def _on(self) -> None:
        import termios
        import tty

        assert self._loop is not None
        source = sys.stdin.fileno()
        try:
            if os.tcgetpgrp(source) != os.getpgrp():  # in the background: to touch the terminal would stop us
                return
            self._before = list(termios.tcgetattr(source))
            tty.setcbreak(source, termios.TCSADRAIN)  # what was typed already is not thrown away
        except (termios.error, OSError):
            self._before = None
            return
        self._loop.add_reader(source, self._read)

    def _off(self) -> None:
        if self._before is not None and self._loop is not None:
            self._loop.remove_reader(sys.stdin.fileno())
            self.restore()

    def _stop(self) -> None:
        """Ctrl-Z: leave the terminal as it was, stop as anybody would, and take it up again afterwards."""
        assert self._loop is not None
        self._off()
        self._around(True)
        self._loop.remove_signal_handler(signal.SIGTSTP)
        os.kill(os.getpid(), signal.SIGTSTP)
        self._loop.add_signal_handler(signal.SIGTSTP, self._stop)
        self._around(False)
        self.look()

    def _read(self) -> None:
        try:
            typed = os.read(sys.stdin.fileno(), 4096)
        except OSError:
            typed = b""
        if not typed:  # nobody is there any more
            self._off()
            return
        # Several at once are no keys of ours: F4 ends in an S, and a line that was pasted or typed ahead has anything.
        if len(set(typed)) == 1:
            for key in typed.decode("ascii", "ignore").lower():
                self._press(key)

    def _press(self, key: str) -> None:
        try:
            refused = self._decided(key)
        except RecordError as error:  # a decision that is not on record does not hold
            refused = error.message
        self._said = (f"no: {refused}", time.monotonic()) if refused else ("", 0.0)

    def _decided(self, key: str) -> str:
        """Do what a key stands for; says why not, if it cannot be done."""
        control = self._control
        if control.draining and key in (SETTLE, MORE, LEAVE):
            return "it is being stopped; resumed, it takes keys again"
        if key == SETTLE:
            return control.settle()
        if key == MORE:
            return control.more()
        if key == LEAVE:
            late = control.steering.slow_calls() if control.steering else []
            return control.skip(late[0].key) if late else "nobody takes twice as long as the others did"
        return ""

    def foot(self, width: int) -> list[str]:
        """The last lines of the moving part: the keys that work now, and why the last one did not."""
        steering = self._control.steering
        if self._before is None or steering is None:
            return []
        rows, said = [], self._said
        if said[0] and time.monotonic() - said[1] < SHOWN:
            rows.append(f"    {said[0]}")
        if self._control.draining:  # what is offered would be decided for the resumed debate, unseen
            return [row[: width - 1] for row in rows]
        for one in steering.slow_calls()[:1]:
            beside = f"{duration(one.took)}; the others took {duration(one.usual)}"
            offer = f"    {LEAVE} leave {one.seat} behind"
            rows.append(offer if len(offer) + len(beside) + 4 > width else f"{offer} ({beside})")
        keys = [f"{SETTLE} settle now"] if not steering.refuses_settling else []
        keys += [f"{MORE} one more round"] if not steering.refuses_more else []
        rows += [f"    {'   '.join(keys)}"] if keys else []
        return [row[: width - 1] for row in rows]


def wanted(quiet: bool, plain: bool) -> bool:
    """Whether there is somebody to press a key, and a screen that says which."""
    if quiet or plain or os.environ.get("TERM") == "dumb":
        return False
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty())
