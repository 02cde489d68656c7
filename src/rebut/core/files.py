"""A file written whole or not at all: beside its place first, and moved there once it is on disk."""

from __future__ import annotations

import os
import secrets
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any


def write(path: Path, data: bytes, mode: int = 0o666) -> None:
    """Put `data` at `path`, whatever stands there. `mode` holds from the start, less what the user's umask takes."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    finally:
        with suppress(OSError):  # what failed to be written is told, not what failed to be tidied up
            fresh.unlink(missing_ok=True)


# The tables that rebut ships as TOML files: each is read once in a process.
#
# To parse them takes longer than to open a debate, and a program may open hundreds.


@cache
def shipped(file: str) -> Mapping[str, Any]:
    """What stands in one of them. It is shared: whoever changes something changes a copy."""
    return tomllib.loads(files("rebut").joinpath(file).read_text("utf-8"))
