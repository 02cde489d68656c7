"""Standard input as a text to debate: read when somebody sends one, left alone when nobody does."""

from __future__ import annotations

import os
import select
import stat
import sys

from rebut.cli.output import say
from rebut.core.errors import UsageError

PATIENCE = 3.0
"""Seconds for the first byte. Tools that start others often leave them a pipe that never says a word."""


MOST = 20_000_000
"""Bytes, more than any change that could be debated. What is sent without end must not fill the memory."""


def everything() -> str:
    data = sys.stdin.buffer.read(MOST + 1)
    if len(data) > MOST:
        raise UsageError(f"more than {MOST // 1_000_000} MB came on standard input", "Send what should be debated.")
    return data.decode(errors="replace")


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
