"""A text as the rules for secrets read it: in lower case, by its words, and with a count for each of its blocks."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import accumulate

from rebut.core.crowds import Allowance, Crowds

SHORTEST = 14
"""No secret of a known shape is shorter, so that such shapes are tried first on the words that are long enough."""
RUN = re.compile(r"[A-Za-z0-9_+/=:-]{10}")
"""Each secret of a known shape without a space contains such a run; most code and prose does not."""

SCATTERED = re.compile(r"\d(?<!\d\d)\d*+(?:\D++\d++){3}")
"""The pattern begins with a digit and looks behind it only then: a search for a digit is many times faster."""
KEPT_WORD = 128
MOST_WORDS = 20_000
LEARNT, MOST_NEW = 24, 1_000
"""The most gates in new words, and the most new words of a text, that are remembered: more would take too long."""
FEW_LETTERS = 8_192
"""Of a text with more characters, the different ones are collected first: there may be only a few of them."""
GRAM = 4
"""Bytes of a text that are looked at as one number."""


class GatesByWord:
    """Which gates are in which words: texts that a rule has to find for it to be worth trying.

    The replies of a debate share most of their words. So each word is looked at once, and what it contains is known
    when it comes again.
    """

    def __init__(self, gates: Iterable[str]) -> None:
        """The gates are in lower case, ASCII and without a space. One that begins with a line end begins a word."""
        every = dict.fromkeys(gates)
        self._short = tuple(gate for gate in every if len(gate) <= GRAM)
        self._by_gram: dict[int, list[str]] = {}
        """The first four characters of each longer gate, and the four from its second on, as numbers."""
        for gate in every:
            if len(gate) > GRAM:
                for at in (0, 1):
                    number = int.from_bytes(gate[at : at + GRAM].encode(), sys.byteorder)
                    self._by_gram.setdefault(number, []).append(gate)
        self._grams = frozenset(self._by_gram)
        self._plain: set[str] = set()
        self._others: dict[str, tuple[str, ...]] = {}

    def read(self, words: set[str]) -> tuple[set[str], set[str]]:
        """The gates that are in these words, and the words that have one or could be a secret."""
        rest = words - self._plain
        present: set[str] = set()
        for word in self._others.keys() & rest:
            present.update(self._others.get(word, ()))
        if new := sorted(rest.difference(self._others), key=len):  # what is in a short one is found early
            low = joined(new)
            found = self.among(low)
            present.update(found)
            if len(found) <= LEARNT and len(new) <= MOST_NEW:
                self._learn(new, low, found)
        return present, rest

    def among(self, low: str) -> list[str]:
        """The gates that are in this text.

        Each longer gate has one of its two numbers at an even place, and all numbers at even places are compared with
        them in one go. To look for one gate after the other takes three times as long, and six on some texts.
        """
        data = memoryview(low.encode("utf-8", "surrogatepass"))
        used = set(low) if len(low) > FEW_LETTERS else None
        likely = {gate: None for gate in self._short if used is None or used.issuperset(gate)}
        for at in (0, GRAM // 2):
            end = len(data) - (len(data) - at) % GRAM
            if at < end:
                for number in sorted(self._grams.intersection(data[at:end].cast("I"))):
                    likely.update(dict.fromkeys(self._by_gram[number]))
        return [gate for gate in likely if gate in low]

    def _learn(self, words: list[str], low: str, gates: list[str]) -> None:
        if len(self._plain) + len(self._others) > MOST_WORDS:
            self._plain.clear()  # a screen may be drawn from a thread of its own: nothing is looked up again
            self._others.clear()
        ends = list(accumulate(len(word) + 1 for word in low[1:].split("\n")))
        inside: dict[int, dict[str, None]] = {}
        for gate in gates:
            at = low.find(gate)
            while at >= 0:
                number = bisect_right(ends, at)
                inside.setdefault(number, {})[gate] = None
                at = low.find(gate, ends[number])
        others = {words[number]: tuple(found) for number, found in inside.items() if len(words[number]) <= KEPT_WORD}
        for word in words:
            if SHORTEST <= len(word) <= KEPT_WORD:
                others.setdefault(word, ())
        self._others.update(others)
        self._plain.update({word for word in words if len(word) < SHORTEST}.difference(others))


def joined(words: Iterable[str]) -> str:
    """Each word on a line of its own, in lower case."""
    return "\n".join(("", *words)).lower()


class SearchedText:
    """One text, and what several rules need to know about it: each is found out once, and only if it is needed."""

    def __init__(self, text: str, gates: GatesByWord, allowance: Allowance) -> None:
        self.text = text
        self.crowds = Crowds(text, allowance)
        self.present, self._words = gates.read(set(text.split()))
        """The gates that may be anywhere in the text, and the words that have one or could be a secret."""
        self.has: Callable[[str], bool] = self.present.__contains__

    def has_any(self, gates: Iterable[str]) -> bool:
        return not self.present.isdisjoint(gates)

    def those(self, gates: frozenset[str]) -> list[str]:
        """The gates among these that may be in the text, always in the same order."""
        return sorted(self.present & gates)

    @cached_property
    def low(self) -> str:
        """In lower case, each character in its place: a few have a longer small form and are left as they are."""
        low = self.text.lower()
        return low if len(low) == len(self.text) else "".join(c if len(c.lower()) > 1 else c.lower() for c in self.text)

    @cached_property
    def _long(self) -> list[str]:
        return [word for word in self._words if len(word) >= SHORTEST]

    @cached_property
    def long(self) -> str:
        """The words that could be a secret or contain one: far less to search than the whole text, as a rule."""
        return "\n".join([word for word in self._long if RUN.search(word)])

    @cached_property
    def scattered(self) -> bool:
        """Whether it has a long word with digits all over it, as the numbers of sessions have."""
        return any(len(word) >= 20 and SCATTERED.search(word) for word in self._long)
