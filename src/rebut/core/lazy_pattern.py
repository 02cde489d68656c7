"""Regular expressions: compiled at their first use, and one for any of many texts.

To compile a table of hundreds takes long, and most texts need few of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator


class LazyPattern:
    """Like what `re.compile` returns."""

    __slots__ = ("_compiled", "_flags", "pattern")

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern, self._flags = pattern, flags
        self._compiled: re.Pattern[str] | None = None

    def _ready(self) -> re.Pattern[str]:
        if self._compiled is None:
            self._compiled = re.compile(self.pattern, self._flags)
        return self._compiled

    def search(self, text: str, *within: int) -> re.Match[str] | None:
        return self._ready().search(text, *within)

    def match(self, text: str, *within: int) -> re.Match[str] | None:
        return self._ready().match(text, *within)

    def fullmatch(self, text: str, *within: int) -> re.Match[str] | None:
        return self._ready().fullmatch(text, *within)

    def finditer(self, text: str, *within: int) -> Iterator[re.Match[str]]:
        return self._ready().finditer(text, *within)

    def findall(self, text: str) -> list[str]:
        return self._ready().findall(text)

    def sub(self, new: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        return self._ready().sub(new, text, count)


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
