"""Blocks of a long text that contain so many possible secrets that they are removed whole, without reading each.

To judge one possible secret takes microseconds, and a hostile text has one in every few characters. No source and no
document has as many over a whole block, so this bounds the time that a text of any content takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rebut.core.lazy_pattern import LazyPattern

Span = tuple[int, int]

BLOCK = 4096
"""Characters of a block."""
LONG = 4 * BLOCK
"""In a text that is not longer, everything is read."""
MOST = 128
"""Points of a block: one for each place that is looked at, and `FOUND` more for each secret."""
FOUND = 3
NEAREST = 8
"""Characters between two names of secrets, on average over a block, below which a block is nothing but names."""
REST = re.compile(r"[^\n]{0,512}+(?=\n)|\S*+")
"""What is removed behind a crowded block: the line on which it ends or, if that is long, the word."""


class Crowds:
    """Counts what the rules look at in each block of one text."""

    def __init__(self, text: str) -> None:
        self._points = [0] * (len(text) // BLOCK + 1) if len(text) > LONG else []

    def places(self, pattern: re.Pattern[str] | LazyPattern, text: str) -> Iterator[re.Match[str]]:
        """The matches of a pattern, except in blocks that are crowded."""
        at = 0
        if not self._points:
            yield from pattern.finditer(text)
            return
        while at <= len(text):
            for m in pattern.finditer(text, at):
                if not self.admits(m.start()):
                    at = (m.start() // BLOCK + 1) * BLOCK
                    break
                yield m
            else:
                return

    def admits(self, at: int) -> bool:
        """Whether this place is still looked at, which counts."""
        if not self._points:
            return True
        block = at // BLOCK
        self._points[block] += 1
        return self._points[block] <= MOST

    def names(self, low: str, names: Sequence[str]) -> None:
        """Finds the blocks that are full of these names, so that not even their surroundings need to be read."""
        if self._points and sum(map(low.count, names)) * NEAREST * 2 > len(low):
            for block in range(len(self._points)):
                start, end = block * BLOCK, (block + 1) * BLOCK
                if sum(low.count(name, start, end) for name in names) * NEAREST > BLOCK:
                    self._points[block] = MOST + 1

    def found(self, at: int) -> None:
        """A secret begins here."""
        if self._points:
            self._points[at // BLOCK] += FOUND

    def spans(self, text: str) -> Iterator[Span]:
        """The crowded blocks, with what belongs to their ends."""
        last = 0
        for number, points in enumerate(self._points):
            if points > MOST:
                start, end = number * BLOCK, min((number + 1) * BLOCK, len(text))
                rest = REST.match(text, max(end, last))
                last = rest.end() if rest else end
                yield start, last
