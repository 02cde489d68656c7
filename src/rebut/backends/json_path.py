"""Finds values in a tool's output as its table says: parses it, keeps matching items, takes values by path."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence

from rebut.backends.cli_tools.tables import Pick
from rebut.core.json_value import Json, amount, count as whole_number
from rebut.core.text import decoded

_MOST_STARTS = 200


class Extract:
    """The output of one call. `read` returns the text of stdout, stderr or a file by its name."""

    def __init__(self, read: Callable[[str], str], form: str) -> None:
        self._read = read
        self._form = form
        self._items: dict[tuple[str, str], list[Json]] = {}

    def text(self, picks: Sequence[Pick]) -> str:
        """The text of the first pick that finds any."""
        for pick in picks:
            found = [_spelled(value) for value in self._values(pick)]
            if text := _combined(found, pick.how):
                return text
        return ""

    def number(self, picks: Sequence[Pick]) -> float | None:
        """The number of the first pick that finds one: neither negative nor above `HIGHEST`."""
        for pick in picks:
            found = [amount(v) for v in self._values(pick) if isinstance(v, int | float) and not isinstance(v, bool)]
            taken = found if pick.how == "sum" else found[:1] if pick.how == "first" else found[-1:]
            numbers = [number for number in taken if number is not None]
            if numbers and len(numbers) == len(taken):
                return sum(numbers)
        return None

    def count(self, picks: Sequence[Pick]) -> int | None:
        number = self.number(picks)
        return None if number is None else whole_number(int(number))

    def _values(self, pick: Pick) -> list[Json]:
        return [value for item in self._parsed(pick.at, pick.form or self._form) for value in picked(item, pick)]

    def _parsed(self, at: str, form: str) -> list[Json]:
        if (at, form) not in self._items:
            text = self._read(at)
            self._items[at, form] = _FORMS[form](text)
        return self._items[at, form]


def picked(item: Json, pick: Pick) -> list[Json]:
    """The values that a pick takes from one item; none if the item does not match."""
    if not fits(item, pick.where):
        return []
    return [value for path in pick.take for value in at(item, path) if value is not None]


def _spelled(value: Json) -> str:
    """A value as text; empty if it is nested too deep to be written."""
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return ""


def _combined(found: list[str], how: str) -> str:
    if not found:
        return ""
    if how == "join":
        return "".join(found)
    if how == "each":
        return " + ".join(dict.fromkeys(found))
    return found[0] if how == "first" else found[-1]


def fits(value: Json, where: Mapping[str, Json]) -> bool:
    return all(wanted in list(at(value, path)) for path, wanted in where.items())


def at(value: Json, path: str) -> Iterator[Json]:
    """All values at a dotted path; none if there is no such path."""
    head, _, rest = path.partition(".")
    if not path:
        yield value
    elif head == "*":
        members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        for member in members:
            yield from at(member, rest)
    elif head == "@key" and isinstance(value, dict):
        yield from value
    elif isinstance(value, list) and head.isdigit() and int(head) < len(value):
        yield from at(value[int(head)], rest)
    elif isinstance(value, dict) and head in value:
        yield from at(value[head], rest)


def _json(text: str) -> list[Json]:
    """The items of one JSON value: the members of an array, else the value. Tools may write warnings before it."""
    value = decoded(text)
    if value is None:
        lines = text.splitlines(keepends=True)
        starts = [n for n, line in enumerate(lines) if line[:1] in ("{", "[")]
        for n in reversed(starts[-_MOST_STARTS:]):
            value = decoded("".join(lines[n:]))
            if value is not None:
                break
    return value if isinstance(value, list) else [] if value is None else [value]


def _lines(text: str) -> list[Json]:
    values = (decoded(line) for line in text.split("\n") if line.lstrip()[:1] in ("{", "["))
    return [value for value in values if value is not None]


def _text(text: str) -> list[Json]:
    return [text.strip()]


_FORMS: dict[str, Callable[[str], list[Json]]] = {"json": _json, "lines": _lines, "text": _text}
