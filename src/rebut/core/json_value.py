"""JSON values, and frozen dataclasses as JSON objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

T = TypeVar("T")
Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def objects(value: object) -> list[dict[str, Json]]:
    """The objects in a JSON list; none if the value is not a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


HIGHEST = 10**15
"""Above this, a number of tokens or the like is a mistake: sums of some hundred digits fit into no float."""


def count(value: object) -> int | None:
    """A whole number from 0 to `HIGHEST`; None if the value is anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= HIGHEST else None


def amount(value: object) -> float | None:
    """A number from 0 to `HIGHEST`, as a price is; None if the value is anything else, such as infinity."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= HIGHEST else None


PLAIN = frozenset((str, int, float, bool, type(None)))


def as_row(value: Any) -> Any:
    """A value as plain JSON: the fields of a dataclass in their order, tuples as lists. `remade` reads it back."""
    if (kind := type(value)) in PLAIN:
        return value
    if kind is tuple or kind is list:
        return [as_row(item) for item in value]
    if names := getattr(kind, "__dataclass_fields__", None):
        # Texts and numbers are tested here: a call for each would take longer than the rest.
        return {name: as_row(item) if type(item := getattr(value, name)) not in PLAIN else item for name in names}
    return {key: as_row(item) for key, item in value.items()} if isinstance(value, Mapping) else value


def remade(kind: type[T], row: Mapping[str, Any], **parts: Any) -> T:
    """A value from its recorded row; `parts` replace fields. A field that a later version of rebut added is ignored."""
    names = cast(Any, kind).__dataclass_fields__
    own = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items() if name in names}
    return kind(**own | parts)
