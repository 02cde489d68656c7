"""Limits: what a debate may take, and whether one more call fits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rebut.core.errors import UsageError
from rebut.core.frozen import frozen
from rebut.core.json_value import Json, remade

if TYPE_CHECKING:
    from rebut.record.record import Amount

MAX_OUTPUT = 4096
"""Tokens that one reply may have at most."""
RANGES: dict[str, tuple[float, float]] = {
    "rounds": (1, 5),
    "minutes": (1, 1440),
    "tokens": (1000, 1_000_000_000),
    "usd": (0.01, 10_000),
    "calls": (1, 10_000),
    "timeout": (5, 3600),
}
"""The range of each limit. Outside it, a value of a config file is clamped with a notice; one of a flag is an error."""

OF_BATCH: dict[str, tuple[float, float]] = {
    "tokens": (1000, 1_000_000_000_000),
    "usd": (0.01, 10_000_000),
    "calls": (1, 1_000_000_000),
}
"""The range of each limit for a whole batch, which may have a million debates."""


def clamped(source: str, value: float, low: float, high: float, notices: list[str]) -> float:
    """A value of a config file, moved into its range. If it was outside, a notice is added; a NaN becomes `low`."""
    if low <= value <= high:
        return value
    used = high if value > high else low
    said, least, most, taken = map(plain_number, (value, low, high, used))
    notices.append(f"{source} = {said} is outside {least} to {most}; {taken} is used")
    return used


def plain_number(value: float) -> str:
    """A number as a person writes it: `1000000000`, never `1e+09`."""
    return f"{value:.0f}" if abs(value) < 1e15 and value == int(value) else f"{value:g}"


def is_clamped(notice: str) -> bool:
    """Whether a notice comes from `clamped`: such a notice is also shown with the outcome."""
    return " is outside " in notice and notice.endswith(" is used")


@frozen
class Limits:
    """What a debate may take; None means no limit of that kind.

    Limits never enter prompts, so that raising one changes no question.
    """

    minutes: float | None = None
    tokens: int | None = None
    usd: float | None = None
    calls: int | None = None
    timeout: float = 240.0
    """Seconds that a call may take, its retries included."""

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise UsageError(f"the {name} limit must be above 0, got {value}")

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Limits:
        return remade(cls, data)

    def to_json(self) -> dict[str, Json]:
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: value for name, value in values.items() if value is not None}

    def refuses(self, committed: Amount, wanted: Amount, reserve: Amount) -> str:
        """The name of the limit that one more call would break, with `reserve` left for the closing call; else empty.

        The sum of what is settled, in flight, in doubt and reserved never exceeds a cap.
        """
        total = committed + wanted + reserve
        for name, cap, value in (
            ("calls", self.calls, total.calls),
            ("tokens", self.tokens, total.tokens),
            ("usd", self.usd, total.usd),
        ):
            if cap is not None and value > cap + 1e-9:
                return name
        return ""


def span(low: float, high: float) -> str:
    """A limit's range as a person reads it."""
    return f"{low:,g} to {high:,.0f}"


def flag(name: str) -> str:
    """The option of the command line that sets a limit."""
    return {"minutes": "--budget-minutes", "timeout": "--timeout"}.get(name, f"--max-{name}")


def shown_limit(name: str, value: float) -> str:
    """A limit as a person reads it."""
    forms = {"usd": f"${value:,.2f}", "minutes": f"{value:g} min", "timeout": f"{value:g} s a call"}
    return forms.get(name, f"{value:,.0f} {name.removesuffix('s') if value == 1 else name}")
