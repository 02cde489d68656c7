"""Standard input as a text to debate: read when somebody sends one, left alone when nobody does."""

from __future__ import annotations

import os
import select
import stat
import sys

from rebut.cli.saying import say

PATIENCE = 3.0
"""Seconds for the first byte. Tools that start others often leave them a pipe that never says a word."""


def everything() -> str:
    return sys.stdin.buffer.read().decode(errors="replace")


def waiting() -> str:
    """What a file or a pipe on standard input holds; empty for a terminal, a closed one, and one that stays silent."""
    try:
        handle = sys.stdin.fileno()
        mode = os.fstat(handle).st_mode
    except (OSError, ValueError, AttributeError):
        return ""
    if stat.S_ISREG(mode):
        return everything()
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return ""
    if not select.select([handle], [], [], PATIENCE)[0]:
        say("  nothing came on standard input; going on without it (- waits for it)", sys.stderr)
        return ""
    return everything()
