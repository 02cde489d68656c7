"""The keyboard of a terminal: lines, and single keys."""

from __future__ import annotations

import os
import select
import sys
import threading


class Keyboard:
    """Lines from standard input, read so that the wait can be broken off from another thread."""

    def __init__(self) -> None:
        self._rest = b""

    def key(self, stop: threading.Event) -> str:
        """One key, without Enter; EOFError as for a line."""
        if self._rest:
            return self.read(stop)
        import termios
        import tty

        source = sys.stdin.fileno()
        before = termios.tcgetattr(source)
        try:
            tty.setcbreak(source, termios.TCSADRAIN)  # what was typed already is not thrown away
            while not select.select([source], [], [], 0.1)[0]:
                if stop.is_set():
                    raise EOFError
            got = os.read(source, 1)
        finally:
            termios.tcsetattr(source, termios.TCSADRAIN, before)
        if got in (b"", b"\x04", b"\0"):  # a Ctrl-D from before the switch reads as a zero
            raise EOFError
        return got.decode("ascii", "replace")

    def read(self, stop: threading.Event) -> str:
        """One line without its end; EOFError when the person is done or `stop` is set."""
        source = sys.stdin.fileno()
        while b"\n" not in self._rest:
            if stop.is_set():
                raise EOFError
            if not select.select([source], [], [], 0.1)[0]:
                continue
            got = os.read(source, 4096)
            if not got:
                raise EOFError
            self._rest += got
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode("utf-8", "replace").rstrip("\r")
