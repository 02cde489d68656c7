"""A text as the rules for secrets read it: in lower case, by its words, and with a count for each of its blocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import cached_property

from rebut.core.crowds import LONG, Allowance, Crowds

SHORTEST = 14
"""No secret of a known shape is shorter, so that such shapes are tried first on the words that are long enough."""
RUN = re.compile(r"[A-Za-z0-9_+/=:-]{10}")
"""Somewhere in each such secret that has no space, which most code and prose has not."""

SCATTERED = re.compile(r"(?<!\d)\d++(?:\D++\d++){3}")
SCATTERED_WORD = re.compile(r"(?<!\d)\d++(?:[^\d\s]++\d++){3}")
SAMPLED = 32_768
SLICES, SLICE = 16, 1024
"""How much of a longer text is read first to find out whether its words repeat."""


class SearchedText:
    """One text, and what several rules need to know about it: each is found out once, and only if it is needed."""

    def __init__(self, text: str, whole: SearchedText | None = None) -> None:
        """A part of a whole in which some secrets are gone. What the whole did not contain, no part of it does."""
        self.text = text
        known: dict[str, bool] = whole._has if whole else {}
        # In a long part it takes less to let a rule look for what may not be there than to find that out first.
        self._has: dict[str, bool] = (
            dict(known) if len(text) > LONG else {gate: False for gate in known if not known[gate]}
        )
        self.allowance: Allowance = whole.allowance if whole else Allowance(text)
        self.crowds = Crowds(text, self.allowance)
        self._every: Collection[str] = text.split()
        self._is_plain = len(text) >= SAMPLED and _is_varied(text)
        """Hardly a word is there twice, so that to look at each of them alone takes longer than to look at the text."""
        if not self._is_plain:
            self._every = set(self._every)
        self.words = "\n".join(("", *self._every)).lower()
        """All words in lower case, most of them once: what is not in here is nowhere in the text, unless it contains a
        space."""
        # In a short text it takes less to look again than to remember.
        self.has: Callable[[str], bool] = self._remembered if whole or len(text) > LONG else self.words.__contains__
        """Whether a word, in lower case and without a space, may be anywhere in the text."""

    def _remembered(self, gate: str) -> bool:
        is_there = self._has.get(gate)
        if is_there is None:
            is_there = self._has[gate] = gate in self.words
        return is_there

    @cached_property
    def low(self) -> str:
        """In lower case, each character in its place: a few have a longer small form and are left as they are."""
        low = self.text.lower()
        return low if len(low) == len(self.text) else "".join(c if len(c.lower()) > 1 else c.lower() for c in self.text)

    @cached_property
    def _long(self) -> list[str]:
        return [word for word in self._every if len(word) >= SHORTEST]

    @cached_property
    def long(self) -> str:
        """The words that could be a secret or contain one: far less to search than the whole text, as a rule."""
        if self._is_plain:
            return self.text
        return "\n".join([word for word in self._long if RUN.search(word)])

    @cached_property
    def scattered(self) -> bool:
        """Whether it has a long word with digits all over it, as the numbers of sessions have."""
        if self._is_plain:
            return SCATTERED_WORD.search(self.text) is not None
        return any(len(word) >= 20 and SCATTERED.search(word) for word in self._long)

    @property
    def repeats(self) -> bool:
        """It has few words of its own, so that to look among them takes much less than to look at the text."""
        return not self._is_plain and len(self.words) < len(self.text) // 2


def _is_varied(text: str) -> bool:
    """Whether most of a sample from all over the text are words that are there once."""
    step = len(text) // SLICES
    words = [word for n in range(SLICES) for word in text[n * step : n * step + SLICE].split()]
    return sum(map(len, set(words))) * 4 > sum(map(len, words)) * 3
