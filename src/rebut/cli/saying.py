"""Saying something: text and JSON as the other end can show them."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from typing import TextIO

from rebut.text import clean

_ASCII = str.maketrans({"…": "...", "–": "-", "—": "-", "«": "<<", "»": ">>", "“": '"', "”": '"', "’": "'", "→": "->"})


def width() -> int:
    return max(40, min(shutil.get_terminal_size((80, 24)).columns, 120))


def say(text: str, file: TextIO | None = None, *, emphasis: bool = False) -> None:
    """Print what the other end can show. Text of models must not drive the terminal, so controls are taken out.

    With `emphasis`, lines that begin in capitals are bold on a terminal.
    """
    file = file or sys.stdout
    text = clean(text)
    if emphasis and file.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb":
        text = re.sub(r"^  [A-Z][A-Z ]{5,}[^\n]*", lambda m: f"\x1b[1m{m[0]}\x1b[0m", text, flags=re.M)
    encoding = file.encoding or "ascii"
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        text = text.translate(_ASCII).encode("ascii", "replace").decode()
    print(text, file=file, flush=True)


def say_json(value: object) -> None:
    """One JSON document on standard output."""
    print(as_json(value), flush=True)


def as_json(value: object, *, indent: int | None = 2) -> str:
    """JSON as standard output can take it."""
    return json.dumps(value, ensure_ascii=not _is_utf8(sys.stdout), indent=indent)


def _is_utf8(file: TextIO) -> bool:
    return (file.encoding or "").lower().replace("-", "") == "utf8"
