"""The parts of a patch that git wrote: what it does to each file, without the lines themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rebut.workspace.diff import Span
from rebut.workspace.patch import touched

HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
MODE = re.compile(r"^(?:(old|deleted file)|new(?: file)?) mode (\d{6})$", re.M)


@dataclass(frozen=True, slots=True)
class Part:
    """What a patch does to one file."""

    path: str
    modes: tuple[str, str]
    spans: tuple[Span, ...]


def parts(patch: str) -> Iterator[Part]:
    """The files of a patch that git wrote. Lines of a file begin with a sign, so that none looks like a head."""
    for text in re.split(r"^(?=diff --git )", patch, flags=re.M):
        head, *hunks = re.split(r"^(?=@@ )", text, flags=re.M)
        if names := touched(text):
            modes = {bool(m[1]): m[2] for m in MODE.finditer(head)}
            spans = tuple(span for hunk in hunks for span in _spans(hunk))
            yield Part(names[0], (modes.get(True, ""), modes.get(False, "")), spans)


def _spans(hunk: str) -> Iterator[Span]:
    found = HUNK.match(hunk)
    assert found is not None
    old, new = int(found[1]) - (found[2] != "0"), int(found[3]) - (found[4] != "0")
    first_old, first_new = old, new
    for line in [*hunk.split("\n")[1:], " "]:
        if line[:1] == "-":
            old += 1
        elif line[:1] == "+":
            new += 1
        elif line[:1] != "\\":
            if (old, new) != (first_old, first_new):
                yield Span(first_old, old, first_new, new)
            old, new = old + 1, new + 1
            first_old, first_new = old, new


def meets(spans: Sequence[Span], first: int, last: int) -> bool:
    """Whether any of the old side's lines from `first` to `last`, counted from 1, is changed, or parted by new ones."""
    return any(
        span.old < last and span.old_end >= first if span.old < span.old_end else first <= span.old < last
        for span in spans
    )
