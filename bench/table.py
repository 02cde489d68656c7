"""One row of the table for each figure, and the table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """A figure beside its floor. Without a target it is there to be read, not to be reached."""

    name: str
    measured: float
    unit: str
    floor: float | None = None
    target: float | None = None
    """The largest ratio of measured to floor that is good enough."""
    ratio: float | None = None
    """Given where it is the median of ratios, which is steadier than the ratio of two medians."""

    @property
    def times(self) -> float | None:
        if self.ratio is not None:
            return self.ratio
        return self.measured / self.floor if self.floor else None

    @property
    def verdict(self) -> str:
        if self.target is None or self.times is None:
            return ""
        return "ok" if self.times <= self.target else "MISS"

    def cells(self) -> tuple[str, ...]:
        return (
            self.name,
            f"{self.measured:,.{_places(self.measured)}f} {self.unit}",
            "" if self.floor is None else f"{self.floor:,.{_places(self.floor)}f} {self.unit}",
            "" if self.times is None else f"{self.times:.2f}",
            "" if self.target is None else f"≤ {self.target:g}",
            self.verdict,
        )


HEAD = ("figure", "measured", "floor", "ratio", "target", "")


def _places(value: float) -> int:
    return 0 if value >= 1000 or value == int(value) else 1 if value >= 100 else 2 if value >= 1 else 3


def shown(rows: Iterable[Row]) -> str:
    """All rows as text, numbers to the right."""
    cells = [HEAD, *(row.cells() for row in rows)]
    widths = [max(len(row[n]) for row in cells) for n in range(len(HEAD))]
    lines = []
    for row in cells:
        parts = [row[0].ljust(widths[0]), *(row[n].rjust(widths[n]) for n in range(1, 5)), row[5]]
        lines.append("  ".join(parts).rstrip())
    return "\n".join([lines[0], "-" * len(max(lines, key=len)), *lines[1:]])
