"""Hotkeys while models answer, on a terminal: settle now, one more round, skip a slow model, a note to every seat."""

from __future__ import annotations

import asyncio
import codecs
import os
import signal
import sys
import time
from collections.abc import Callable

from rebut.cli.output import can_ask, is_plain
from rebut.core.errors import RecordError
from rebut.core.text import cut_start
from rebut.domain.amounts import duration
from rebut.engine.steering import Control

SETTLE, MORE, SKIP, NOTE = "s", "m", "l", "n"
ERASE, ERASE_ALL, ESCAPE = ("\x7f", "\b"), "\x15", "\x1b"
SHOWN = 6.0
"""Seconds for which a refusal is shown."""


class Keys:
    """Reads single keys while calls are in flight and the user is not typing an answer."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._loop: asyncio.AbstractEventLoop | None = None
        self._before: list[object] | None = None
        self._said: tuple[str, float] = ("", 0.0)
        self._note: str | None = None
        """The note that the user is typing; None while single keys are read."""
        self._typed = codecs.getincrementaldecoder("utf-8")("ignore")

    def open(self, around: Callable[[bool], None]) -> None:
        """Start to read keys. `around` is called before the process stops for Ctrl-Z, and when it continues."""
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
        busy = bool(self._control.flying) or self._note is not None  # the user may type a note between two calls
        wanted = busy and not self._control.typing and not self._control.draining
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
        if self._note is not None:
            self._write(self._typed.decode(typed))
            return
        # Several different bytes are not a hotkey: F4 ends in an S, and pasted text may have any letter.
        if len(set(typed)) == 1:
            for key in typed.decode("ascii", "ignore").lower():
                self._press(key)

    def _write(self, typed: str) -> None:
        """Continue the note. Enter sends it, Escape drops it; the keys of an escape sequence are not text."""
        if typed.startswith(ESCAPE):
            self._note = None if typed == ESCAPE else self._note
            return
        for letter in typed:
            if self._note is None:
                return
            if letter in "\r\n":
                note, self._note = self._note.strip(), None
                if note:
                    self._press(NOTE, note)
            elif letter in ERASE:
                self._note = self._note[:-1]
            elif letter == ERASE_ALL:
                self._note = ""
            elif letter.isprintable():
                self._note += letter

    def _press(self, key: str, note: str = "") -> None:
        try:
            refused = self._decided(key, note)
        except RecordError as error:  # a decision that cannot be recorded has no effect
            refused = error.message
        self._said = (f"no: {refused}", time.monotonic()) if refused else ("", 0.0)

    def _decided(self, key: str, note: str) -> str:
        """Do what a key stands for; returns the reason if that is refused, else nothing."""
        control = self._control
        if control.draining and key in (SETTLE, MORE, SKIP, NOTE):
            return "the debate is stopping; resume it to use keys"
        if key == NOTE and not note:
            self._note = ""
            return ""
        if key == NOTE:
            return control.say(note)
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
        if self._note is not None:
            label = "    note to every seat: "
            end = cut_start(self._note, max(10, width - len(label) - 3))
            return [*(row[: width - 1] for row in rows), f"{label}{end}_", "    Enter sends it, Esc drops it"]
        for one in steering.slow_calls()[:1]:
            beside = f"{duration(one.took)}; others took {duration(one.usual)}"
            offer = f"    {SKIP} skip {one.seat}"
            rows.append(offer if len(offer) + len(beside) + 4 > width else f"{offer} ({beside})")
        keys = [f"{SETTLE} settle now"] if not steering.refuses_settling else []
        keys += [f"{MORE} one more round"] if not steering.refuses_more else []
        keys.append(f"{NOTE} note to every seat")
        rows.append(f"    {'   '.join(keys)}")
        return [row[: width - 1] for row in rows]


def wanted(quiet: bool) -> bool:
    """Whether hotkeys can be used: a terminal for input and progress, not quiet, not plain."""
    return not (quiet or is_plain() or os.environ.get("TERM") == "dumb") and can_ask()


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
