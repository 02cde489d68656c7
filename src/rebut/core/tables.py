"""Tables of the package that the user's config may change or add to: tools, analysers, runners. Read by pydantic."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, ConfigDict, TypeAdapter, ValidationError

from rebut.core.errors import ConfigError

T = TypeVar("T")
EXACT = ConfigDict(extra="forbid")


def _pattern(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"is not a regular expression: {error}") from None
    return value


def _plain_name(value: Mapping[str, str]) -> Mapping[str, str]:
    """Refuse a name that leads out of the private folder for these files: it could overwrite a file of the user."""
    for name in value:
        if not re.fullmatch(r"(\.?[A-Za-z0-9][\w.-]*/)*\.?[A-Za-z0-9][\w.-]*", name):
            raise ValueError(f"{name!r} is not a plain relative path")
    return value


def _table_name(value: str) -> str:
    """Refuse a name that is not plain: it names a folder, and must not lead out of the parent folder."""
    if not re.fullmatch(r"[A-Za-z][\w.-]*", value):
        raise ValueError("is not a plain name")
    return value


TableName = Annotated[str, AfterValidator(_table_name)]
Regex = Annotated[str, AfterValidator(_pattern)]
Files = Annotated[Mapping[str, str], AfterValidator(_plain_name)]
"""Name → content of files that are written before a call."""


def merged(ours: Mapping[str, object], mine: Mapping[str, object]) -> dict[str, object]:
    """Two tables merged key by key; values that are not tables are replaced."""
    both = dict(ours)
    for key, value in mine.items():
        old = both.get(key)
        both[key] = merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return both


_readers: dict[type, TypeAdapter[Any]] = {}


def load_tables(
    section: str,
    kind: type[T],
    shipped: Mapping[str, Mapping[str, object]],
    own: Mapping[str, object],
    *,
    file: str,
    see: str,
    also: Mapping[str, Sequence[object]] = MappingProxyType({}),
) -> dict[str, T]:
    """The tables of a section by their names: the shipped ones with the user's changes, and the user's own.

    `also` maps the key of a list to entries that are added to it in every table. A ConfigError names the file and the
    wrong key.
    """
    found = {}
    reader = _readers[kind] = _readers.get(kind) or TypeAdapter(kind)
    for name in {**shipped, **own}:
        mine = own.get(name, {})
        if not isinstance(mine, Mapping):
            raise ConfigError(f"{file}: {section}.{name} must be a table", see)
        table = {**merged(shipped.get(name, {}), mine), "name": name}
        for key, more in also.items():
            if isinstance(given := table.get(key, []), list):
                table[key] = [*given, *more]
        try:
            found[name] = reader.validate_python(table)
        except ValidationError as error:
            raise _wrong(error, kind, f"{file}: ", f"{section}.{name}", see) from None
    return found


def _wrong(error: ValidationError, kind: Any, file: str, table: str, see: str) -> ConfigError:
    first = error.errors(include_input=False, include_url=False)[0]
    path = [str(part) for part in first["loc"] if part != "function-before"]
    key = ".".join([table, *path])
    if first["type"] == "missing":
        return ConfigError(f"{file}{key} is missing", see)
    if first["type"] != "unexpected_keyword_argument":
        # The value is not repeated: it may be an environment variable with a key in it.
        return ConfigError(f"{file}{key}: {first['msg'].removeprefix('Value error, ').lower()}", see)
    known = [name.rstrip("_") for name in kind.__dataclass_fields__ if name != "name"] if len(path) == 1 else []
    near = difflib.get_close_matches(path[-1], known, n=1)
    return ConfigError(f"{file}unknown key {key}", f"Did you mean {near[0]}?" if near else see)
