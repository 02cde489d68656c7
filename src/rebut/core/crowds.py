"""Blocks of a long text that contain so many possible secrets that they are removed whole, without reading each.

To judge one possible secret takes microseconds, and a hostile text has one in every few characters. No source and no
document has as many over a whole block, so this bounds the time that a text of any content takes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator

from rebut.core.lazy_pattern import LazyPattern

Span = tuple[int, int]

BLOCK = 4096
"""Characters of a block."""
MOST = 200
"""Points that each block has: two for each place that is looked at, or one for a name and one for a link behind it, and
more for a value or a secret there."""
PLACE, NAME, LINK, VALUE, SECRET = 2, 1, 1, 6, 3
NAME_IN_VALUE = 3
"""For each further name inside a long value: hardly any text has even one."""
SPARE = 500
"""Further points, shared by all blocks of a text: a file with some hundred keys loses the keys and nothing else."""
FREE = 4
"""Searches of a text in which its blocks have all of their points. Hardly a text needs more."""
LEAST = 100
"""Points that a block keeps in any case: ordinary lines beside a crowd may speak of passwords, too."""
GROWTH = 64
"""Characters around each secret that go with it after many searches, twice as many with each further search."""
LONG = 2_048
"""Characters of a crowded block that are searched together with the text before the block."""
NEAREST = 8
"""A block with a name of a secret in every so many characters, on average, is taken for nothing but names."""
WORD_ENDS = " \n\t\"'`"
"""No secret that is recognised by its own shape contains one of these characters."""
REST = re.compile(
    r"[^\n]{0,512}+(?![^\n])(?:\n(?:[ \t+\-<\"'`]|passw)[^\n]{0,256}+(?![^\n])){0,2}+"
    r"(?:\n[A-Za-z0-9+/=]{16,80}+(?![^\n])){0,99}+"
    r"|[^\n]{0,256}+\S*+"
)
"""What is removed behind a crowded block, since the name in it may be of a value behind it.

That is the line on which the block ends, with up to two lines below that are set in, or begin as a value or a password
does, and with the lines of a key. Of a long line it is some words: `Crowds.behind` covers what follows them.
"""


class Allowance:
    """What may be looked at in one text, however often and in whatever parts it is searched."""

    def __init__(self, text: str) -> None:
        self.counts = len(text) > BLOCK  # a text of one block is read whole
        self.spare = SPARE
        self.most = MOST
        self._searches = 1

    def search_again(self) -> None:
        """After some searches the blocks get less each time: a text may show another secret whenever one is gone."""
        self._searches += 1
        if self._searches > FREE:
            self.most = max(LEAST, self.most // 2)

    @property
    def growth(self) -> int:
        """How many characters around a secret go with it, so that a row of secrets that show one another has an end."""
        many = self._searches - 2 * FREE
        return GROWTH << many if self.counts and many > 0 else 0


class Crowds:
    """Counts what the rules look at in each block of a text, or of a part of one."""

    def __init__(self, text: str, allowance: Allowance) -> None:
        self._allowance = allowance
        self._left = [allowance.most] * (len(text) // BLOCK + 1) if allowance.counts else []
        self._full: set[int] = set()
        self._passed_over: list[Span] = []

    @property
    def counts(self) -> bool:
        return bool(self._left)

    def places(
        self,
        pattern: re.Pattern[str] | LazyPattern,
        text: str,
        start: int = 0,
        end: int = sys.maxsize,
        points: int = PLACE,
    ) -> Iterator[re.Match[str]]:
        """The matches of a pattern, except in blocks that are crowded."""
        if not self._left:
            yield from pattern.finditer(text, start, end)
            return
        left, end = self._left, min(end, len(text))
        for first, last in self._not_full(start, end) if self._full else ((start, end),):
            at = first
            while at <= last:
                # A match that is cut off where this ends goes whole: its rest is removed with the crowded block.
                for m in pattern.finditer(text, at, min(end, last + LONG)):
                    block = m.start() // BLOCK
                    if m.start() > last:
                        at = m.start()
                        break
                    if left[block] >= points:
                        left[block] -= points
                    elif not self.admits(m.start(), points):
                        at = (block + 1) * BLOCK
                        if m.end() > at + BLOCK:
                            # To look at a long match again from each block that it covers would take ever longer.
                            self._passed_over.append((at, m.end()))
                            at = m.end()
                        break
                    yield m
                else:
                    break

    def _not_full(self, start: int, end: int) -> Iterator[Span]:
        """The stretches between blocks that are known to be full, in which a pattern may be slow and find nothing."""
        for number in sorted(self._full):
            if start < (first := number * BLOCK):
                yield start, min(first, end)
            start = max(start, first + BLOCK)
            if start > end:
                return
        yield start, end

    def behind(self, start: int = 0, end: int = sys.maxsize) -> Iterator[Span]:
        """The stretches behind crowded blocks, each up to the next one: a value there may have its name inside."""
        for first, last in self._not_full(start, end) if self._full else ():
            if first % BLOCK == 0 and first // BLOCK - 1 in self._full:
                yield first, last

    def admits(self, at: int, points: int = PLACE) -> bool:
        """Whether this place may still be looked at. The question takes its points."""
        if not self._left:
            return True
        block = at // BLOCK
        self.charge(at, points)
        return block not in self._full

    def names(self, low: str, names: Collection[str]) -> None:
        """Finds the blocks that are full of these names, so that nothing in them needs to be looked at."""
        if self._left and sum(map(low.count, names)) * NEAREST * 2 > len(low):
            for block in range(len(self._left)):
                start, end = block * BLOCK, (block + 1) * BLOCK
                if sum(low.count(name, start, end) for name in names) * NEAREST > BLOCK:
                    self._full.add(block)
                    self._left[block] = 0

    def charge(self, at: int, points: int) -> None:
        """Takes so many points from the block of this place."""
        if self._left and (block := at // BLOCK) not in self._full:
            left = self._left[block] = self._left[block] - points
            if left < 0:
                if self._allowance.spare < 0:
                    self._full.add(block)
                    return
                self._allowance.spare -= min(points, -left)
                if self._allowance.spare < 0:
                    # Each block that took shared points, not only the last: the next search would spend them again.
                    self._full |= {number for number, left in enumerate(self._left) if left < 0}

    def spans(self, text: str) -> Iterator[Span]:
        """The crowded blocks, with what belongs to their ends."""
        last = 0
        for number in sorted(self._full):
            start, end = number * BLOCK, min((number + 1) * BLOCK, len(text))
            if last < start and text[start : start + 1] not in WORD_ENDS:
                start = _word_start(text, max(last, start - LONG), start)
            rest = REST.match(text, max(end, last))
            last = rest.end() if rest else end
            yield start, last

    def passed_over(self) -> Iterator[Span]:
        """Blocks that some rule skipped although they are not crowded: a match from a crowded block covers them."""
        done = 0
        for start, end in sorted(self._passed_over):
            for number in range(max(start, done) // BLOCK, (end - 1) // BLOCK + 1):
                if number not in self._full:
                    yield number * BLOCK, (number + 1) * BLOCK
            done = max(done, end)


def _word_start(text: str, floor: int, at: int) -> int:
    """Where the word begins that is cut by a crowded block: some secrets are told by their last characters alone."""
    return max(floor, *(text.rfind(end, floor, at) + 1 for end in WORD_ENDS))
