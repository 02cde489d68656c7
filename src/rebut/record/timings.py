"""How long calls took in the latest sessions on this machine, to estimate how long the next ones take.

Only an estimate, and never needed: where nothing is known, none is shown.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rebut.record import journal
from rebut.record.record import name_of_step, seat_of

MOST_SESSIONS = 40
MOST_BYTES = 4_000_000
"""Of one journal; the rest is not read."""
ALL_BYTES = 24_000_000
QUICKEST = 0.5
"""Seconds. What answers faster is a program or a script, and does not show how long another model takes."""


@dataclass(frozen=True, slots=True)
class Took:
    """One call of an earlier session."""

    spec: str
    step: str
    role: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Usual:
    """How long calls of a kind usually took, and the numbers of the calls that this is taken from."""

    seconds: float
    by: frozenset[int]


@dataclass(frozen=True, slots=True)
class Expected:
    """How long the rest of a debate may take."""

    seconds: float
    by: int
    """From how many earlier calls that is estimated."""
    late: float = 0.0
    """The usual time of a call that is taking longer now; 0 if none is."""


@dataclass(frozen=True, slots=True)
class History:
    """Calls of earlier sessions."""

    took: tuple[Took, ...] = ()
    _known: dict[tuple[str, str, str], Usual | None] = field(default_factory=dict, compare=False, repr=False)

    def usual(self, spec: str, step: str = "", role: str = "") -> Usual | None:
        """The median of this model in this step or role; else of this model; else of any model in that step or role."""
        key = (spec, step, role)
        if key not in self._known:
            every = dict(enumerate(self.took))
            here = {n: t for n, t in every.items() if (not step or t.step == step) and (not role or t.role == role)}
            mine = [n for n, t in here.items() if t.spec == spec] or [n for n, t in every.items() if t.spec == spec]
            found = mine or [n for n, t in here.items() if t.seconds >= QUICKEST]
            middle = statistics.median(every[n].seconds for n in found) if found else 0.0
            self._known[key] = Usual(middle, frozenset(found)) if found else None
        return self._known[key]

    def expected(
        self, planned: Mapping[str, int], seats: Mapping[str, str], made: Iterable[str], running: Mapping[str, float]
    ) -> Expected | None:
        """How long the rest may take; None where that is unknown.

        `planned` is how many calls each seat of a role may make, `seats` the model of each seat, `made` the keys with
        an answer or a failure, `running` those in flight with the seconds they have taken. Seats of one role are
        asked together, so the slowest of them counts.
        """
        usual = {
            key: self.usual(seats[seat_of(key)], step=name_of_step(key)) for key in running if seat_of(key) in seats
        }
        if not planned or any(one is None for one in usual.values()):
            return None
        known = {key: one for key, one in usual.items() if one is not None}
        late = [one.seconds for key, one in known.items() if running[key] > one.seconds]
        now = max((max(0.0, one.seconds - running[key]) for key, one in known.items()), default=0.0)
        by = frozenset[int]().union(*(one.by for one in known.values()))
        later, begun = 0.0, [*made, *running]
        for role, count in planned.items():
            rest: list[float] = []
            for seat, spec in seats.items():
                if seat.partition(".")[0] != role:
                    continue
                left = count - sum(1 for key in begun if seat_of(key) == seat)
                if left <= 0:
                    continue
                one = self.usual(spec, role=role)
                if one is None:
                    return None
                by |= one.by
                rest.append(left * one.seconds)
            later += max(rest, default=0.0)
        return Expected(now + later, len(by), max(late, default=0.0))


def look_back(root: Path, without: str = "") -> History:
    """Read the latest sessions, but not this one. Limited in number and bytes; what cannot be read is skipped."""
    took: list[Took] = []
    left = ALL_BYTES
    for path in _latest(root, without):
        try:
            with path.open("rb") as file:
                raw = file.read(min(MOST_BYTES, left))
        except OSError:
            continue
        left -= len(raw)
        took += _calls(raw)
        if left <= 0:
            break
    return History(tuple(took))


def _latest(root: Path, without: str) -> list[Path]:
    """The journals that were written to last."""
    found: list[tuple[float, Path]] = []
    try:
        folders = [one for one in root.iterdir() if one.name != without and not one.name.startswith(".")]
    except OSError:
        return []
    for path in (folder / journal.NAME for folder in folders):
        with suppress(OSError):  # one that is being deleted
            found.append((path.stat().st_mtime, path))
    return [path for _, path in sorted(found, reverse=True)[:MOST_SESSIONS]]


def _calls(raw: bytes) -> Iterator[Took]:
    """The answers in a journal for which a model took time. A line that was cut, or is not an event, is skipped."""
    specs: dict[str, str] = {}
    for line in raw.split(b"\n"):
        asked = b'"kind":"asked"' in line[:400]
        if not asked and b'"kind":"answered"' not in line[:400]:
            continue
        try:
            event = json.loads(line)
            key = event["key"]
            if asked:
                specs[key] = "" if event.get("patient") else event.get("spec", "")
            elif (spec := specs.get(key)) and event.get("ms") and not event.get("copied_from"):
                role = seat_of(key).partition(".")[0]
                yield Took(spec, name_of_step(key), role, event["ms"] / 1000)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
