"""How long calls took in earlier sessions, to estimate how long the next ones may take.

One small file in the user's state folder holds a line per answered call, added when a session closes. No other part of
rebut needs it: without the file, no estimate is shown.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from rebut.core import files
from rebut.core.frozen import frozen
from rebut.record.record import Record, name_of_step, seat_of

NAME = "timings.jsonl"
MOST_BYTES = 32_000
"""About five hundred calls. A file that grows beyond this is cut to its newer half."""
SCRIPTED = "scripted:"
"""How the spec of a seat begins if its answers come from a file, whose pauses say nothing about models."""
QUICKEST = 0.5
"""Seconds. A faster answer comes from a program or a script, and says nothing about how long another model takes."""


def median(values: Sequence[float]) -> float:
    """The median of some values. Loading the module `statistics` would take longer than any caller runs."""
    rising = sorted(values)
    half = len(rising) // 2
    return rising[half] if len(rising) % 2 else (rising[half - 1] + rising[half]) / 2


@frozen
class Took:
    """How long one call of an earlier session took."""

    spec: str
    step: str
    role: str
    seconds: float


@frozen
class Usual:
    """How long a kind of call usually takes, and which of the earlier calls that is based on."""

    seconds: float
    by: frozenset[int]


@frozen
class Expected:
    """How long the rest of a debate may take."""

    seconds: float
    by: int
    """The number of earlier calls that this is based on."""
    late: float = 0.0
    """The usual time of a running call that already takes longer than usual; 0 if there is none."""


@frozen
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
            found = mine or [n for n, t in here.items() if t.seconds >= QUICKEST and not _is_scripted(t.spec)]
            middle = median([every[n].seconds for n in found]) if found else 0.0
            self._known[key] = Usual(middle, frozenset(found)) if found else None
        return self._known[key]

    def expected(
        self, planned: Mapping[str, int], seats: Mapping[str, str], made: Iterable[str], running: Mapping[str, float]
    ) -> Expected | None:
        """How long the rest may take; None if that is unknown.

        `planned` is how many calls each seat of a role may make, `seats` the model spec of each seat, `made` the keys
        that have an answer or a failure, `running` the calls in flight with the seconds they have taken. Seats of one
        role are asked at the same time, so the slowest of them counts.
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


@frozen
class Timings:
    """The file of timings. Several processes may add to it at once; a line that cannot be read is ignored."""

    path: Path

    @classmethod
    def beside(cls, sessions: Path) -> Timings:
        """The timings that belong to a folder of sessions."""
        return cls(sessions.parent / NAME)

    def add(self, record: Record) -> None:
        """Add the calls of a session. If the file cannot be written, later estimates know less; nothing else fails."""
        lines = [
            json.dumps((call.spec, call.step, call.role, call.seconds), ensure_ascii=False) for call in _calls(record)
        ]
        if not lines:
            return
        # One write at the end of the file, which the system does not mix with the write of another process. Its first
        # line break ends a line that was cut off.
        data = "\n".join(["", *lines, ""]).encode("utf-8", "replace")
        try:
            if not self.path.parent.is_dir():  # to ask is far quicker than to make a folder that is there
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                os.write(fd, data)
                size = os.fstat(fd).st_size
            finally:
                os.close(fd)
            if size > MOST_BYTES:
                # Lines that another process adds at this very moment are lost, which does little harm to an estimate.
                files.write(self.path, self._tail(MOST_BYTES // 2), 0o600)
        except OSError:
            return

    def history(self) -> History:
        """The calls of earlier sessions, the oldest first."""
        try:
            data = self._tail(MOST_BYTES)
        except OSError:
            return History()
        return History(tuple(filter(None, map(_read, data.split(b"\n")))))

    def _tail(self, most: int) -> bytes:
        """The last lines of the file, at most `most` bytes."""
        if not self.path.is_file():
            return b""
        with self.path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - most))
            data = file.read(most)
        return data if size <= most else data.partition(b"\n")[2]


def _calls(record: Record) -> Iterator[Took]:
    """The calls that took a model some time: not the copied answers of a fork, and not those of people."""
    for key, call in record.calls.items():
        asked = call.asked[max(call.asked)] if call.asked else None
        answered = call.answered
        if asked and asked.spec and not asked.patient and answered and answered.ms and not answered.copied_from:
            yield Took(asked.spec, name_of_step(key), seat_of(key).partition(".")[0], answered.ms / 1000)


def _is_scripted(spec: str) -> bool:
    return spec.rpartition("=")[2].startswith(SCRIPTED)


def _read(line: bytes) -> Took | None:
    try:
        spec, step, role, seconds = json.loads(line)
        call = Took(str(spec), str(step), str(role), float(seconds))
    except (ValueError, TypeError, RecursionError, OverflowError):
        return None
    return call if math.isfinite(call.seconds) and call.seconds > 0 else None
