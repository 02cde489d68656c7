"""Paging: a long text through the user's pager, as git does it; only where somebody sits at a terminal."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys

from rebut.cli.output import fitted, plain, say

USUAL = "less"
LESS = "FRX"
"""For a `less` without wishes of its own: leave at once what fits, keep colours, leave the screen as it was."""


def page(text: str, *, allowed: bool = True) -> None:
    """Say a text, through a pager if it is longer than the screen."""
    command = _pager() if allowed and _is_long(text) else []
    if not command or not _paged(command, text):
        say(text, emphasis=True)


def _is_long(text: str) -> bool:
    """Whether somebody is there to page through it, and has to. Without a terminal on both sides nobody is."""
    if plain() or os.environ.get("TERM") == "dumb" or not (sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    return text.count("\n") + 2 > shutil.get_terminal_size((80, 24)).lines


def _pager() -> list[str]:
    """The user's own, else `less`; nothing for an empty one or `cat`."""
    try:
        words = shlex.split(os.environ.get("PAGER", USUAL))
    except ValueError:
        return []
    if not words or words == ["cat"]:
        return []
    return words if shutil.which(words[0]) else []


def _paged(command: list[str], text: str) -> bool:
    """Whether the pager took it. It may be left before it has read everything, and Ctrl-C is meant for it."""
    env = {**os.environ, "LESS": os.environ.get("LESS", LESS)}
    try:
        child = subprocess.Popen(command, stdin=subprocess.PIPE, env=env)
    except OSError:
        return False
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # after it has started, or it would ignore them as well
    try:
        child.communicate(f"{fitted(text, sys.stdout, emphasis=True)}\n".encode(errors="replace"))
    finally:
        signal.signal(signal.SIGINT, before)
    return True
