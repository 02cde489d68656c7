"""Showing text of models and repositories to a person: it cannot drive the terminal, and its lines end at words."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from contextlib import suppress
from functools import partial

# Whole colour and cursor sequences go; of longer ones (titles, links) only the control characters, so that a model
# cannot hide text from the person by opening a sequence and never closing it.
CURSOR = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]")
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str) -> str:
    """Text that can be shown: no escapes, no control characters, nothing that turns the direction of reading."""
    return CONTROL.sub("", CURSOR.sub("", text.replace("\r\n", "\n")))


def to_stderr(text: str) -> None:
    """Standard output is kept for results, which may be piped elsewhere."""
    sys.stderr.write(text)
    sys.stderr.flush()


def columns() -> int:
    """How wide the terminal is on which a person is asked, which is standard error's."""
    if not os.environ.get("COLUMNS"):
        with suppress(OSError):
            return os.get_terminal_size(2).columns or 80
    return shutil.get_terminal_size((80, 24)).columns


def readable(text: str) -> str:
    """Long lines end at words where the terminal ends. Those that begin with spaces, as code does, stay as they are."""
    if not sys.stderr.isatty():
        return text
    most = max(40, columns() - 1)
    wrap = partial(textwrap.wrap, width=most, break_long_words=False, break_on_hyphens=False)
    lines = (line if len(line) <= most or line[:1].isspace() else "\n".join(wrap(line)) for line in text.split("\n"))
    return "\n".join(lines)
