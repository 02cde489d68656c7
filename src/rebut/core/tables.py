"""The tables that rebut ships as TOML files: each is read once in a process.

To parse them takes longer than to open a debate, and a program may open hundreds.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def shipped(file: str) -> Mapping[str, Any]:
    """What stands in one of them. It is shared: whoever changes something changes a copy."""
    return tomllib.loads(files("rebut").joinpath(file).read_text("utf-8"))
