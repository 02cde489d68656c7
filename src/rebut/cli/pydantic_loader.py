"""Loads pydantic without the parts that no command uses: loading those takes a tenth of the time of a short debate.

If pydantic changes these parts, commands only become slower.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Any


class _PlainDict(dict[str, Any]):
    """Replaces `TypedDict`, which reads the type of each field. Calling a subclass returns a plain dictionary."""

    def __init_subclass__(cls, total: bool = True) -> None:
        pass

    def __new__(cls, **fields: Any) -> Any:
        return fields


def load_pydantic() -> None:
    if "pydantic" in sys.modules or "pydantic_core" in sys.modules:
        return
    if os.environ.get("PYDANTIC_DISABLE_PLUGINS") == "__all__":
        # Plugins are switched off, but the module that finds them would still be loaded, with 32 others.
        none = ModuleType("pydantic.plugin._loader")
        none.__dict__["get_plugins"] = tuple
        sys.modules[none.__name__] = none
    import typing

    import typing_extensions

    places: tuple[Any, ...] = (typing, typing_extensions)
    usual = [place.TypedDict for place in places]
    try:
        for place in places:
            place.TypedDict = _PlainDict
        import pydantic_core.core_schema  # noqa: F401  300 fields, whose types are for type checkers alone
    finally:
        for place, own in zip(places, usual, strict=True):
            place.TypedDict = own
