"""Was it worth it: what the first answers alone would have said, what the debate changed, and what that cost.

All of it is counted from the record and the ledger; no model is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rebut.core.frozen import frozen
from rebut.core.json_value import Json, as_row, remade
from rebut.core.text import cut
from rebut.domain.ledger import Ledger, Point
from rebut.record.events import Asked, Attempt, Resumed
from rebut.record.record import Record, Spent, seconds

FATES = ("conceded", "resolved", "withdrawn")
"""Statuses of a point that are counted by their own name. Every other status is open, as in the terminal's table."""
LONGEST_QUOTE = 200
TAKEN = ("conceded", "partly accepted")


@frozen
class Worth:
    """What a debate changed, compared with its first answers, and what it cost."""

    first: str = ""
    """What the first answers alone would have concluded."""
    points: tuple[tuple[str, int], ...] = ()
    """The statuses of the points that were raised, each with its count."""
    changed: tuple[str, ...] = ()
    """What the debate changed, one fact each."""
    same: bool | None = None
    """Whether the result is what the first answers said; None without a decision."""
    caveat: str = ""
    """Why the comparison is impossible or not complete; empty if it is complete."""
    noun: str = "point"
    keys: tuple[str, ...] = ()
    """The keys of the first answers' calls; a key that ends in `*` is a prefix."""
    alone: Spent = Spent()
    """What the first answers cost …"""
    debate: Spent = Spent()
    """… and what the rest of the debate cost."""
    reused: int = 0
    """First answers that were reused from another session, and cost nothing here."""

    @property
    def raised(self) -> int:
        return sum(count for _, count in self.points)

    @property
    def nothing(self) -> bool:
        """Whether the debate changed nothing: its result is what the first answers said."""
        return self.same is True and not self.changed

    def paid(self, record: Record) -> Worth:
        """The comparison with the cost of each part, from the record."""
        mine = chosen(self.keys)
        reused = sum(1 for k, c in record.calls.items() if mine(k) and c.answered and c.answered.copied_from)
        total, alone = record.active_seconds(), busy(record, mine)
        debate = replace(record.part(lambda key: not mine(key)).spent(), seconds=max(0.0, total - alone))
        return replace(self, alone=replace(record.part(mine).spent(), seconds=alone), debate=debate, reused=reused)

    def to_json(self) -> dict[str, Json]:
        return {**as_row(self), "points": dict(self.points)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Worth:
        points = tuple((str(name), int(count)) for name, count in data.get("points", {}).items())
        alone, debate = (remade(Spent, data.get(name, {})) for name in ("alone", "debate"))
        return remade(cls, data, points=points, alone=alone, debate=debate)


def chosen(keys: Iterable[str]) -> Callable[[str], bool]:
    """A test whether a key is among these; one that ends in `*` is a prefix."""
    whole = {key for key in keys if not key.endswith("*")}
    begun = tuple(key[:-1] for key in keys if key.endswith("*"))
    return lambda key: key in whole or (bool(begun) and key.startswith(begun))


def fates(ledger: Ledger) -> tuple[tuple[str, int], ...]:
    """How many points have which status, each point counted once."""
    return tally((fate_of(ledger, point) for point in ledger.points), (*FATES, "struck", "open"))


def tally(words: Iterable[str], order: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """How often each word occurs, in the given order; words that do not occur are left out."""
    counts = Counter(words)
    return tuple((word, counts[word]) for word in order if counts[word])


def quoted(text: str) -> str:
    """A first answer on one line."""
    return f"“{cut(text, LONGEST_QUOTE)}”"


def fate_of(ledger: Ledger, point: Point) -> str:
    """The status of a point in one word. A point that rests on an absent citation is struck, unless it was accepted."""
    status = ledger.status(point.id) if not ledger.contested(point) else "unresolved"
    if point.struck and status not in TAKEN:
        return "struck"
    return status if status in FATES else "open"


def busy(record: Record, mine: Callable[[str], bool]) -> float:
    """Seconds during which any of these calls was running, without the time that people took."""
    total, last, running = 0.0, 0.0, set[str]()
    for line in record.lines:
        now = seconds(line.at)
        if isinstance(line.event, Resumed):
            running.clear()  # the process that was asking ended, and nothing ran until now
        total += max(0.0, now - last) if running else 0.0
        last = now
        match line.event:
            case Asked(key=key, patient=False) if mine(key):
                running.add(key)
            case Attempt(key=key):
                running.discard(key)
            case _:
                pass
    return total
