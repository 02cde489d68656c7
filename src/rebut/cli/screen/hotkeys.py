"""Hotkeys while models answer, on a terminal: settle now, one more round, skip a slow model."""

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

SETTLE, MORE, SKIP = "s", "m", "l"
SHOWN = 6.0
"""Seconds for which a refusal is shown."""


class Keys:
    """Reads single keys while calls are in flight and the user is not typing an answer."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._loop: asyncio.AbstractEventLoop | None = None
        self._before: list[object] | None = None
        self._said: tuple[str, float] = ("", 0.0)

    def open(self, around: Callable[[bool], None]) -> None:
        """Begin, in the running loop. `around` is called before the process stops for Ctrl-Z, and when it continues."""
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
        """Switch keys on or off: a call has started or ended, or the process is in the foreground again."""
        wanted = bool(self._control.flying) and not self._control.typing and not self._control.draining
        if wanted and self._before is None:
            self._on()
        elif not wanted:
            self._off()

    def restore(self) -> None:
        """Restore the terminal, from any thread."""
        import termios

        before, self._before = self._before, None
        if before is not None:
            try:
                termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, before)  # type: ignore[arg-type]
            except (termios.error, OSError, ValueError):
                return  # the terminal is gone

    def _on(self) -> None:
        import termios
        import tty

        assert self._loop is not None
        source = sys.stdin.fileno()
        try:
            if os.tcgetpgrp(source) != os.getpgrp():  # in the background, changing the terminal would stop the process
                return
            self._before = list(termios.tcgetattr(source))
            tty.setcbreak(source, termios.TCSADRAIN)  # keeps what was typed already
        except (termios.error, OSError):
            self._before = None
            return
        self._loop.add_reader(source, self._read)

    def _off(self) -> None:
        if self._before is not None and self._loop is not None:
            self._loop.remove_reader(sys.stdin.fileno())
            self.restore()

    def _stop(self) -> None:
        """Ctrl-Z: restore the terminal, stop the process, and switch keys on again when it continues."""
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
        if not typed:  # the terminal is closed
            self._off()
            return
        # Several different bytes are no hotkey: F4 ends in an S, and pasted text has any letter.
        if len(set(typed)) == 1:
            for key in typed.decode("ascii", "ignore").lower():
                self._press(key)

    def _press(self, key: str) -> None:
        try:
            refused = self._decided(key)
        except RecordError as error:  # a decision that cannot be recorded has no effect
            refused = error.message
        self._said = (f"no: {refused}", time.monotonic()) if refused else ("", 0.0)

    def _decided(self, key: str) -> str:
        """Do what a key stands for; returns why not, if that is refused."""
        control = self._control
        if control.draining and key in (SETTLE, MORE, SKIP):
            return "the debate is stopping; resume it to use keys"
        if key == SETTLE:
            return control.settle()
        if key == MORE:
            return control.more()
        if key == SKIP:
            late = control.steering.slow_calls() if control.steering else []
            return control.skip(late[0].key) if late else "no call is slow enough to skip"
        return ""

    def foot(self, width: int) -> list[str]:
        """The last rows: the keys that work now, and why the last one was refused."""
        steering = self._control.steering
        if self._before is None or steering is None:
            return []
        rows, said = [], self._said
        if said[0] and time.monotonic() - said[1] < SHOWN:
            rows.append(f"    {said[0]}")
        if self._control.draining:  # a decision now would be for the resumed debate
            return [row[: width - 1] for row in rows]
        for one in steering.slow_calls()[:1]:
            beside = f"{duration(one.took)}; others took {duration(one.usual)}"
            offer = f"    {SKIP} skip {one.seat}"
            rows.append(offer if len(offer) + len(beside) + 4 > width else f"{offer} ({beside})")
        keys = [f"{SETTLE} settle now"] if not steering.refuses_settling else []
        keys += [f"{MORE} one more round"] if not steering.refuses_more else []
        rows += [f"    {'   '.join(keys)}"] if keys else []
        return [row[: width - 1] for row in rows]


def wanted(quiet: bool, plain: bool) -> bool:
    """Whether hotkeys can be used: a terminal for input and progress, not quiet, not plain."""
    if quiet or plain or os.environ.get("TERM") == "dumb":
        return False
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty())


def one_key() -> str:
    """Wait for one key, without Enter; empty at the end of the input."""
    import termios
    import tty

    source = sys.stdin.fileno()
    before = termios.tcgetattr(source)
    try:
        tty.setcbreak(source, termios.TCSADRAIN)  # keeps what was typed already
        return os.read(source, 1).decode("ascii", "replace")
    finally:
        termios.tcsetattr(source, termios.TCSADRAIN, before)
