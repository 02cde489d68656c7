"""The command on a pseudo-terminal of its own, with somebody who reads and types."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import forkserver

Talk = Callable[[Callable[[str], None], Callable[[str], None]], None]


def nothing(expect: Callable[[str], None], type_: Callable[[str], None]) -> None:
    """Just watch."""


def at_a_terminal(words: list[str], env: Mapping[str, str], cwd: Path, talk: Talk = nothing) -> tuple[int, str]:
    """Run rebut; `talk` gets `expect`, which reads on until some words have come, and `type`. Code and screen."""
    command = [sys.executable, "-m", "rebut", *words]
    return _followed(lambda far: forkserver.Popen(command, **far, env=env, cwd=cwd, terminal=True), talk)


def watched(command: list[str], env: Mapping[str, str], cwd: Path | None, talk: Talk) -> tuple[int, str]:
    """The same for any command."""
    # Not pty.fork: forking a process that has threads is unsafe, and newer Pythons say so.
    return _followed(lambda far: subprocess.Popen(command, **far, env=env, cwd=cwd, start_new_session=True), talk)


def _followed(start: Callable[[Mapping[str, int]], subprocess.Popen[Any]], talk: Talk) -> tuple[int, str]:
    terminal, far = os.openpty()
    child = start({"stdin": far, "stdout": far, "stderr": far})
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
