"""Was it worth it: what the first answers alone would have said, what the debate changed, and what that cost.

Counted from the record and the ledger; no model is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rebut.core.types import Json, as_row, remade
from rebut.domain.ledger import Ledger, Point
from rebut.record.events import Asked, Attempt, Resumed
from rebut.record.record import Record, Spent, seconds

FATES = ("conceded", "partly accepted", "resolved", "defended", "withdrawn")
"""The settled statuses of a point; every other one is open."""
TAKEN = ("conceded", "partly accepted")


@dataclass(frozen=True, slots=True)
class Worth:
    """One debate compared with its first answers."""

    first: str = ""
    """What the first answers alone would have concluded."""
    points: tuple[tuple[str, int], ...] = ()
    """Status → how many of the points that were raised have it."""
    changed: tuple[str, ...] = ()
    """What the debate changed, one fact each."""
    same: bool | None = None
    """Whether the end is what the first answers said; None where that was not decided."""
    caveat: str = ""
    """Why this is unknown, or not complete."""
    noun: str = "point"
    keys: tuple[str, ...] = ()
    """The calls of the first answers; one that ends in `*` means all that begin like that."""
    alone: Spent = Spent()
    """What the first answers cost …"""
    debate: Spent = Spent()
    """… and what the rest of the debate cost."""
    reused: int = 0
    """First answers that were copied from another session, and cost nothing here."""

    @property
    def raised(self) -> int:
        return sum(count for _, count in self.points)

    @property
    def nothing(self) -> bool:
        """The debate changed nothing: its end is what the first answers said."""
        return self.same is True and not self.changed

    def paid(self, record: Record) -> Worth:
        """The same with what each part cost."""
        mine = chosen(self.keys)
        reused = sum(1 for k, c in record.calls.items() if mine(k) and c.answered and c.answered.copied_from)
        total, alone = record.spent().seconds, busy(record, mine)
        debate = replace(_part(record, lambda key: not mine(key)), seconds=max(0.0, total - alone))
        return replace(self, alone=replace(_part(record, mine), seconds=alone), debate=debate, reused=reused)

    def to_json(self) -> dict[str, Json]:
        return {**as_row(self), "points": dict(self.points)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Worth:
        points = tuple((str(name), int(count)) for name, count in data.get("points", {}).items())
        alone, debate = (remade(Spent, data.get(name, {})) for name in ("alone", "debate"))
        return remade(cls, data, points=points, alone=alone, debate=debate)


def chosen(keys: Iterable[str]) -> Callable[[str], bool]:
    """Whether a key is among these."""
    whole = {key for key in keys if not key.endswith("*")}
    begun = tuple(key[:-1] for key in keys if key.endswith("*"))
    return lambda key: key in whole or (bool(begun) and key.startswith(begun))


def fates(ledger: Ledger) -> tuple[tuple[str, int], ...]:
    """How many points have which status, each counted once."""
    counts: dict[str, int] = {}
    for point in ledger.points:
        fate = fate_of(ledger, point)
        counts[fate] = counts.get(fate, 0) + 1
    return tuple((name, counts[name]) for name in (*FATES, "struck", "open") if name in counts)


def fate_of(ledger: Ledger, point: Point) -> str:
    """Its status in a word. A point that rests on an absent citation is struck, unless the other side conceded it."""
    status = ledger.status(point.id)
    if point.struck and status not in TAKEN:
        return "struck"
    return status if status in FATES else "open"


def busy(record: Record, mine: Callable[[str], bool]) -> float:
    """Seconds during which any of these calls was in flight, without the time in which people were thinking."""
    total, last, going = 0.0, 0.0, set[str]()
    for line in record.lines:
        now = seconds(line.at)
        if isinstance(line.event, Resumed):
            going.clear()  # the earlier process died, and nothing happened until now
        total += max(0.0, now - last) if going else 0.0
        last = now
        match line.event:
            case Asked(key=key, patient=False) if mine(key):
                going.add(key)
            case Attempt(key=key):
                going.discard(key)
            case _:
                pass
    return total


def _part(record: Record, mine: Callable[[str], bool]) -> Spent:
    part = Record()
    part.calls = {key: call for key, call in record.calls.items() if mine(key)}
    return part.spent()
