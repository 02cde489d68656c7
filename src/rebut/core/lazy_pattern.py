"""Regular expressions: compiled at their first use, and one for any of many texts.

To compile a table of hundreds takes long, and most texts need few of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub")


class LazyPattern:
    """Like what `re.compile` returns, and after the first use as quick: its methods are then those of the pattern."""

    __slots__ = ("_flags", "pattern", *METHODS)

    search: Callable[..., re.Match[str] | None]
    match: Callable[..., re.Match[str] | None]
    fullmatch: Callable[..., re.Match[str] | None]
    finditer: Callable[..., Iterator[re.Match[str]]]
    findall: Callable[..., list[str]]
    sub: Callable[..., str]

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern, self._flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        for method in METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def any_of(texts: Iterable[str]) -> str:
    """A pattern for the longest of these texts. What they have in common is tried once, as in a tree of their letters.

    A plain `a|b|c` of hundreds takes ten times as long, since each of them is tried at each character.
    """
    by_first: dict[str, list[str]] = {}
    for text in texts:
        by_first.setdefault(text[:1], []).append(text[1:])
    ends = by_first.pop("", None) is not None
    branches = [re.escape(first) + any_of(rest) for first, rest in sorted(by_first.items())]
    if not branches:
        return ""
    return branches[0] if len(branches) == 1 and not ends else f"(?:{'|'.join(branches)}){'?' if ends else ''}"


def any_character(characters: Iterable[str]) -> str:
    """A pattern for one of these characters."""
    return f"[{''.join(map(re.escape, sorted(set(characters))))}]"
