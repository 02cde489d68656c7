"""Regular expressions that are compiled at their first use: a table of hundreds takes long, and most texts need few."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator


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
