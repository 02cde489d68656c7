"""Several answers to one question, side by side: what each said first, what it says now, and where they differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from rebut.core.frozen import frozen
from rebut.core.json_value import Json, as_row, remade


@frozen
class GivenAnswer:
    """One of the answers."""

    seat: str
    model: str
    """Which model answered, as the user names it."""
    first: str
    """What it said before it saw any other answer."""
    final: str = ""
    """What it says at the end; empty if it was not asked again."""
    points: tuple[str, ...] = ()
    """The ids of the points that were raised against it."""
    accepted: tuple[str, ...] = ()
    """The ids of the points that its author conceded or partly accepted."""

    @property
    def now(self) -> str:
        return self.final or self.first


@frozen
class SideBySide:
    """All answers, in the order of the seats, and how they compare."""

    answers: tuple[GivenAnswer, ...]
    same: bool | None = None
    """Whether the first answers make the same choice; None if they were not compared."""
    differ: str = ""
    """Where the first answers differ, or what makes them the same."""
    chosen: int = 0
    """The number of the answer that the judge prefers, from 1; 0 if there is no such decision."""
    rounds: int = 0
    """Complete rounds of debate."""
    unequal: tuple[str, ...] = ()
    """What was done to one answer and not to the other; empty if both were treated alike."""

    def to_json(self) -> dict[str, Json]:
        return cast(dict[str, Json], as_row(self))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SideBySide:
        return remade(cls, data, answers=tuple(remade(GivenAnswer, row) for row in data.get("answers", ())))
