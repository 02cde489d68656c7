"""The lines that a finding cites, as they stand in the version that was reviewed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from rebut.core.redaction import PLACEHOLDER
from rebut.core.text import squeeze
from rebut.core.types import Changed
from rebut.domain.review_result import Held
from rebut.evidence.citation_syntax import understand
from rebut.workspace.targets import Target

RANGE = re.compile(r"(?::(\d{1,9})(?:-(\d{1,9}))?)?")


@dataclass(frozen=True, slots=True)
class Cited:
    """A place in a file, and what stands there. Lines are counted from 1; 0 where none is named."""

    path: str
    first: int = 0
    last: int = 0
    lines: tuple[str, ...] = ()
    """Empty if nobody can say what stands there."""
    nth: int = 1
    of: int = 1
    """The how-manieth block of exactly these lines in its file, out of how many."""
    changed: bool = False
    """It lies in the new side of a file that the change touches."""

    @property
    def digest(self) -> str:
        """What these lines say, whatever their line ends, and wherever in the file they stand.

        A secret counts by its kind alone: its placeholder is another one in every session.
        """
        plain = (PLACEHOLDER.sub(_kind, line.rstrip("\r")) for line in self.lines)
        text = "\n".join(plain) + f"\n{self.nth}/{self.of}"
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def cited(finding: Held, target: Target) -> Cited | None:
    """Where a finding points first; None if that is no file."""
    found = _place(finding.place, target)
    if found is None:
        return None
    change, path, first, last = found
    quote = finding.quote if finding.mark in ("found", "moved") else ""
    if change is None:
        return Cited(path, first, last, tuple(quote.splitlines()))
    text, is_new = _side(change, quote)
    every = text.split("\n") if text else []
    if every and every[-1] == "":
        every.pop()
    first, last = _spanned(every, min(first, len(every)), min(last, len(every)), quote)
    lines = tuple(every[first - 1 : last]) if first else tuple(every)
    nth, of = _which(every, lines, first) if first else (1, 1)
    return Cited(change.path, first, last, lines, nth, of, is_new)


def _place(place: str, target: Target) -> tuple[Changed | None, str, int, int] | None:
    # A path of the change comes first, as it is: it may hold what no citation would otherwise be read as.
    for change in sorted(target.changes, key=lambda c: len(c.path), reverse=True):
        found = RANGE.fullmatch(place.removeprefix(change.path)) if place.startswith(change.path) else None
        if found:
            ends = sorted((int(found[1] or 0), int(found[2] or found[1] or 0)))
            return change, change.path, ends[0], ends[1]
    read = understand(place)
    if not read.path:
        return None
    path = read.path.removeprefix("./")
    names = (path, path[2:]) if path.startswith(("a/", "b/")) else (path,)
    mine = [c for c in target.changes if c.path in names or c.old_path in names]
    mine = mine or [c for c in target.changes if c.path.endswith(f"/{path}")]
    if len(mine) == 1:
        return mine[0], mine[0].path, read.start, read.end
    return (None, path, read.start, read.end) if read.kind == "file" else None


def _side(change: Changed, quote: str) -> tuple[str, bool]:
    """The side that the quote stands on, the new one if in doubt."""
    if change.after is None:
        return change.before or "", False
    if quote and change.before is not None:
        words = squeeze(quote)
        if words not in squeeze(change.after) and words in squeeze(change.before):
            return change.before, False
    return change.after, True


def _spanned(every: Sequence[str], first: int, last: int, quote: str) -> tuple[int, int]:
    """First and last line, widened to what is quoted; found by the quote where no line is named."""
    rows = [row for row in quote.splitlines() if row.strip()]
    if not rows:
        return first, last
    words = squeeze(quote)
    if not first:
        starts = (n for n, line in enumerate(every, 1) if squeeze(rows[0]) in squeeze(line))
        first = last = next(starts, 0)
    span = len(quote.strip("\r\n").splitlines())
    if first and span > last - first + 1 and words in squeeze("\n".join(every[first - 1 : first - 1 + span])):
        last = min(len(every), first - 1 + span)
    return first, last


def _which(every: Sequence[str], lines: Sequence[str], first: int) -> tuple[int, int]:
    """Which of all blocks of these lines this one is. One more of them, and it is another: that is the safe side."""
    block, count = list(lines), len(lines)
    starts = [n for n, line in enumerate(every, 1) if line == block[0] and list(every[n - 1 : n - 1 + count]) == block]
    return starts.index(first) + 1, len(starts)


def _kind(found: re.Match[str]) -> str:
    return found[0].rpartition(":")[0]
