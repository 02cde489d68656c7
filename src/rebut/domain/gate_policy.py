"""The policy of a gate: what fails a review. A repository may make the user's own policy stricter, never looser.

The exception is `unread_ok`, which a repository may extend; its value at the base commit of a change counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rebut.core.frozen import frozen

STRICTER: Mapping[str, tuple[str, ...]] = {
    "fail_on": ("", "P1", "P2", "P3"),
    "on_inconclusive": ("pass", "fail"),
    "dismissals": ("all", "shared", "none"),
    "outside": ("pass", "fail"),
}
"""The values of each rule, the loosest first."""


@frozen
class Wish:
    """What one source sets for a gate; None where it sets nothing."""

    fail_on: str | None = None
    """A severity; `P1:shown` counts only findings that a check shows."""
    on_inconclusive: str | None = None
    dismissals: str | None = None
    outside: str | None = None
    unread_ok: tuple[str, ...] = ()
    """Paths, folders and globs that a review may leave unread."""

    @property
    def is_stricter(self) -> bool:
        """Whether it sets a rule that can make a gate stricter."""
        return any(getattr(self, name) is not None for name in STRICTER)

    def over(self, other: Wish) -> Wish:
        """The other wish, with each rule that this wish sets in place of its own."""
        mine = {name: getattr(self, name) for name in STRICTER}
        return replace(other, **{name: value for name, value in mine.items() if value is not None})


@frozen
class Policy:
    """The policy that applies to a review."""

    fail_on: str = ""
    """The least severe severity that fails; empty if none does."""
    on_inconclusive: str = "fail"
    dismissals: str = "all"
    """Which dismissals count: all, those shared in the repository, or none."""
    outside: str = "pass"
    """Whether findings outside the change fail a gate."""
    unread_ok: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    counts: str = "any"
    """Which findings of that severity fail: any, or only those that a check shows."""

    @property
    def threshold(self) -> str:
        """The threshold as a user writes it: `P1`, `P1:shown`."""
        return f"{self.fail_on}{SHOWN}" if self.fail_on and self.counts == "shown" else self.fail_on

    def fails(self, severity: str) -> bool:
        return bool(self.fail_on) and severity <= self.fail_on


SHOWN = ":shown"
THRESHOLDS = tuple(f"{severity}{only}" for severity in ("P1", "P2", "P3") for only in ("", SHOWN))
"""What a user may write: a severity, and whether only findings count that a check shows."""


def combined_wish(mine: Wish, theirs: Wish, source: str) -> Policy:
    """The policy from the user's wish, made stricter by the repository's (C16); `source` names where that is set.

    Only `unread_ok` adds up: the project decides which files may stay unread, and the report still lists each of them.
    """
    policy = Policy()
    values: dict[str, str] = {}
    notices: list[str] = []
    counts = "any"
    for name, order in STRICTER.items():
        default: str = getattr(policy, name)
        own: str = getattr(mine, name) if getattr(mine, name) is not None else default
        other: str | None = getattr(theirs, name)
        if name == "fail_on":  # the two parts of a threshold are compared one by one
            given = [one for one in (own, other) if one]
            counts = "shown" if given and all(one.endswith(SHOWN) for one in given) else "any"
            if own.endswith(SHOWN) and counts == "any":
                notices.append(f"{source} counts every finding, not only those that a check shows")
            own, other = own.removesuffix(SHOWN), other.removesuffix(SHOWN) if other else other
        values[name] = own
        if other is None or other == own:
            continue
        if order.index(other) > order.index(own):
            values[name] = other
            if getattr(mine, name) is not None:
                notices.append(f"{source} sets {name} = {other}, which is stricter than your {own}")
        elif name != "fail_on":  # that the user's threshold is stricter needs no notice
            notices.append(f"{source} says {name} = {other}; a repository may not loosen a gate, so {own} holds")
    accepted = tuple(dict.fromkeys((*mine.unread_ok, *theirs.unread_ok)))
    return replace(policy, **values, counts=counts, unread_ok=accepted, notices=tuple(notices))
