"""The real command, as people and programs run it: in a pipe, and on a pseudo-terminal of a given size."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import forkserver
from forkserver import REBUT as REBUT


def piped(
    *words: str, env: Mapping[str, str] | None = None, cwd: Path | None = None, feed: str = ""
) -> subprocess.CompletedProcess[str]:
    return forkserver.run(
        [REBUT, *words], capture_output=True, text=True, env={**os.environ, **(env or {})}, cwd=cwd, input=feed
    )


@dataclass(frozen=True)
class Seen:
    """What came over a terminal."""

    code: int
    raw: str

    @property
    def text(self) -> str:
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.raw).replace("\r", "")


def at_a_terminal(
    *words: str,
    columns: int = 80,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    keys: Callable[[str], bytes] = lambda seen: b"",
) -> Seen:
    """Run it to its end. `keys` is told all that was shown so far, whenever there is more, and says what to type."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    around = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}
    child = forkserver.Popen(
        [REBUT, *words],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**around, "TERM": "xterm-256color", **(env or {})},
        cwd=cwd,
        terminal=True,
    )
    os.close(follower)
    seen = b""
    for piece in pieces(leader):
        seen += piece
        if typed := keys(seen.decode(errors="replace")):
            os.write(leader, typed)
    code = child.wait()
    os.close(leader)
    return Seen(code, seen.decode(errors="replace"))


def pieces(leader: int) -> Iterator[bytes]:
    """What arrives at a terminal, until no program has it open any more."""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:
            return
        if not piece:
            return
        yield piece


class Once:
    """Types something the first time that a text is on screen."""

    def __init__(self, text: str, keys: bytes) -> None:
        self.text, self.keys = text, keys

    def __call__(self, seen: str) -> bytes:
        if self.text not in seen:
            return b""
        typed, self.keys = self.keys, b""
        return typed
