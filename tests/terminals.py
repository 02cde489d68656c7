"""The command on a pseudo-terminal of its own, with somebody who reads and types."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

ATTACH = "import fcntl,os,sys,termios; fcntl.ioctl(0,termios.TIOCSCTTY,0); os.execv(sys.argv[1],sys.argv[1:])"
"""Makes the pseudo-terminal the one from which Ctrl-C comes."""
Talk = Callable[[Callable[[str], None], Callable[[str], None]], None]


def nothing(expect: Callable[[str], None], type_: Callable[[str], None]) -> None:
    """Just watch."""


def at_a_terminal(words: list[str], env: Mapping[str, str], cwd: Path, talk: Talk = nothing) -> tuple[int, str]:
    """Run rebut; `talk` gets `expect`, which reads on until some words have come, and `type`. Code and screen."""
    return watched([sys.executable, "-c", ATTACH, sys.executable, "-m", "rebut", *words], env, cwd, talk)


def watched(command: list[str], env: Mapping[str, str], cwd: Path | None, talk: Talk) -> tuple[int, str]:
    """The same for any command."""
    terminal, far = os.openpty()
    # Not pty.fork: forking a process that has threads is unsafe, and newer Pythons say so.
    child = subprocess.Popen(command, stdin=far, stdout=far, stderr=far, env=env, cwd=cwd, start_new_session=True)
    os.close(far)
    screen, at = b"", 0

    def more() -> bool:
        nonlocal screen
        try:
            got = os.read(terminal, 4096)
        except OSError:  # what Linux says when the other side is gone
            return False
        screen += got
        return bool(got)

    def expect(text: str) -> None:
        nonlocal at
        while (found := screen.find(text.encode(), at)) < 0:
            assert more(), f"{text!r} never came: {screen!r}"
        at = found + len(text.encode())

    try:
        talk(expect, lambda keys: assert_typed(terminal, keys))
        while more():
            pass
        return child.wait(30), screen.decode(errors="replace").replace("\r\n", "\n")
    finally:
        os.close(terminal)
        child.kill()
        child.wait()


def assert_typed(terminal: int, keys: str) -> None:
    assert os.write(terminal, keys.encode()) == len(keys.encode())
