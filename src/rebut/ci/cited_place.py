"""The place that a finding cites: its file and its lines, in the old or the new version of the change."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from rebut.core.citation_syntax import exact_place, understand
from rebut.core.frozen import frozen
from rebut.core.redaction import by_kind
from rebut.core.text import squeeze
from rebut.core.types import Changed
from rebut.domain.review_result import ReviewFinding
from rebut.workspace.targets.target import Target


@frozen
class Cited:
    """A place in a file, and its lines. Lines count from 1; 0 if none is named."""

    path: str
    first: int = 0
    last: int = 0
    lines: tuple[str, ...] = ()
    """Empty if the text at that place is unknown."""
    nth: int = 1
    of: int = 1
    """Which occurrence of these lines in the file this is (1-based), and how many there are."""
    changed: bool = False
    """Whether the place is in the new version of a changed file."""

    @property
    def digest(self) -> str:
        """A hash of the lines, independent of line ends and position.

        A secret counts by its kind: its placeholder differs in every session.
        """
        plain = (by_kind(line.rstrip("\r"), "") for line in self.lines)  # without "\r", as in recorded dismissals
        text = "\n".join(plain) + f"\n{self.nth}/{self.of}"
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def cited_place(finding: ReviewFinding, target: Target) -> Cited | None:
    """The place that a finding cites; None if it cites no file."""
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
    # First try the exact paths of the change: they may contain characters that the citation syntax does not allow.
    changes = {c.path: c for c in target.changes}
    if exact := exact_place(place, changes):
        return changes[exact.path], exact.path, exact.start, exact.end
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
    """The version with the quote, old or new; the new one if that is unclear."""
    if change.after is None:
        return change.before or "", False
    if quote and change.before is not None:
        words = squeeze(quote)
        if words not in squeeze(change.after) and words in squeeze(change.before):
            return change.before, False
    return change.after, True


def _spanned(every: Sequence[str], first: int, last: int, quote: str) -> tuple[int, int]:
    """First and last line, extended to the quoted lines; found by the quote if no line is named."""
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
    """The number of this block among all blocks with the same lines, and the number of these blocks."""
    block, count = list(lines), len(lines)
    starts = [n for n, line in enumerate(every, 1) if line == block[0] and list(every[n - 1 : n - 1 + count]) == block]
    return starts.index(first) + 1, len(starts)
