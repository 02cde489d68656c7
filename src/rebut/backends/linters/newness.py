"""What a change brings in, of all that analysers find in the files it touches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rebut.backends.linters.findings import Caught
from rebut.core.types import Changed


@dataclass(frozen=True, slots=True)
class Sifted:
    """The findings on the new side, sorted out."""

    stand: tuple[Caught, ...]
    already: int
    outside: int

    @property
    def tally(self) -> str:
        raised = len(self.stand) + self.already + self.outside
        stand = "stands" if len(self.stand) == 1 else "stand"
        return (
            f"{raised} raised, {self.already} already there, {self.outside} outside the change, "
            f"{len(self.stand)} {stand}"
        )


def sift(before: Sequence[Caught], after: Sequence[Caught], change: Sequence[Changed]) -> Sifted:
    """Leave what is new and on lines that the change wrote.

    A finding was already there if the same rule spoke of the same text on the old side, as often as it did there: of
    two alike where there was one, one is new. It is looked for in the same file first, and among what is left over
    then in the others, since code moves. Those off the written lines are matched first: they are the ones that
    stood before.
    """
    added = {number: changed.added for number, changed in enumerate(change, 1)}
    lined = sorted(after, key=lambda c: _touched(c, added[c.laid.number]))
    left = Counter(_key(c) for c in before)
    rest = []
    for one in lined:
        if left[_key(one)] > 0:
            left[_key(one)] -= 1
        else:
            rest.append(one)
    anywhere = Counter[tuple[str, ...]]()
    for key, count in left.items():
        anywhere[key[1:]] += count
    stand, outside = [], 0
    for one in rest:
        if anywhere[_key(one)[1:]] > 0:
            anywhere[_key(one)[1:]] -= 1
        elif _touched(one, added[one.laid.number]):
            stand.append(one)
        else:
            outside += 1
    ordered = sorted(stand, key=lambda c: (c.severity, c.laid.path, c.line, c.tool, c.rule, c.message))
    return Sifted(tuple(ordered), len(after) - len(stand) - outside, outside)


def _touched(one: Caught, added: Sequence[tuple[int, int]]) -> bool:
    return any(first <= one.last and one.first <= last for first, last in added)


def _key(one: Caught) -> tuple[str, ...]:
    text = " ".join(one.laid.lines[one.line - 1].split())
    return (str(one.laid.number), one.tool, one.rule, text)


def cited(one: Caught, added: Sequence[tuple[int, int]]) -> int:
    """The line to point at: the tool's, or if that is an old one, the first new one that it speaks of."""
    if any(first <= one.line <= last for first, last in added):
        return one.line
    return min((max(first, one.first) for first, last in added if first <= one.last and one.first <= last))
