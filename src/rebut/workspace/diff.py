"""A unified diff built from two sides and the spans in which they differ; it holds no text that the sides do not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple

from rebut.workspace.patch import touched

CONTEXT = 3
MOST_COMPARED = 4_000_000
"""Above this many pairs of lines a comparison here would take seconds: all of it then counts as replaced."""
UNUSUAL = re.compile(r"[\x00-\x1f\x7f\"\\]")
ESCAPES = dict(zip('\a\b\t\n\v\f\r"\\', map("\\{}".format, 'abtnvfr"\\'), strict=True))
SECTION = re.compile(r"^(?=diff --git )", re.M)
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
NO_NEWLINE = "\\ No newline at end of file"


class Span(NamedTuple):
    """Lines of the old side, from `old` up to `old_end`, in whose place the new side has its own. Counted from 0."""

    old: int
    old_end: int
    new: int
    new_end: int


class BothTexts:
    """Both texts in lines; a side that does not exist has none."""

    def __init__(self, before: str | None, after: str | None) -> None:
        self.old, self.old_ends = _lines(before)
        self.new, self.new_ends = _lines(after)

    @property
    def newlines(self) -> tuple[int, int]:
        return len(self.old) - (not self.old_ends), len(self.new) - (not self.new_ends)

    def differences(self) -> tuple[Span, ...]:
        """Where the sides differ, found without git."""
        old, new = (_told_apart(*side) for side in ((self.old, self.old_ends), (self.new, self.new_ends)))
        least, first, last = min(len(old), len(new)), 0, 0
        while first < least and old[first] == new[first]:
            first += 1
        while last < least - first and old[-1 - last] == new[-1 - last]:
            last += 1
        old, new = old[first : len(old) - last], new[first : len(new) - last]
        if len(old) * len(new) > MOST_COMPARED:
            return (Span(first, first + len(old), first, first + len(new)),)
        codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        return tuple(Span(*(first + n for n in place)) for tag, *place in codes if tag != "equal")

    def fits(self, spans: Sequence[Span]) -> bool:
        """Whether spans lie inside of both sides, and all that is between them is equally long on both."""
        old = new = 0
        for span in spans:
            if span.old - old != span.new - new or not old <= span.old <= span.old_end <= len(self.old):
                return False
            if not span.new <= span.new_end <= len(self.new):
                return False
            old, new = span.old_end, span.new_end
        return len(self.old) - old == len(self.new) - new

    def hunks(self, spans: Sequence[Span]) -> Iterator[str]:
        for group in _groups(spans):
            start, stop = max(0, group[0].old - CONTEXT), min(len(self.old), group[-1].old_end + CONTEXT)
            shift = group[0].new - group[0].old
            lines: list[str] = []
            at = start + shift
            for span in group:
                lines += self._marked(" ", self.new, at, span.new, self.new_ends)
                lines += self._marked("-", self.old, span.old, span.old_end, self.old_ends)
                lines += self._marked("+", self.new, span.new, span.new_end, self.new_ends)
                at = span.new_end
            new_stop = group[-1].new_end + stop - group[-1].old_end
            lines += self._marked(" ", self.new, at, new_stop, self.new_ends)
            yield "\n".join((f"@@ -{_range(start, stop)} +{_range(start + shift, new_stop)} @@", *lines))

    @staticmethod
    def _marked(sign: str, lines: Sequence[str], start: int, stop: int, ends: bool) -> list[str]:
        marked = [sign + line for line in lines[start:stop]]
        if stop == len(lines) and not ends and marked:
            marked.append(NO_NEWLINE)
        return marked


def _lines(text: str | None) -> tuple[list[str], bool]:
    lines = (text or "").split("\n")
    ends = lines[-1] == ""
    if ends:
        lines.pop()
    return lines, ends


def _told_apart(lines: Sequence[str], ends: bool) -> list[str]:
    """The lines, with a mark on the last one if no newline ends it, since that is a difference too."""
    return [*lines] if ends or not lines else [*lines[:-1], f"{lines[-1]}\n"]


def _groups(spans: Sequence[Span]) -> Iterator[list[Span]]:
    group: list[Span] = []
    for span in spans:
        if group and span.old - group[-1].old_end > 2 * CONTEXT:
            yield group
            group = []
        group.append(span)
    if group:
        yield group


def _range(start: int, stop: int) -> str:
    count = stop - start
    return f"{start + 1}" if count == 1 else f"{start + 1 if count else start},{count}"


def added(spans: Sequence[Span]) -> tuple[tuple[int, int], ...]:
    """The lines of the new side that were written, as first and last, counted from 1."""
    return tuple((span.new + 1, span.new_end) for span in spans if span.new_end > span.new)


def written(before: str | None, after: str | None) -> tuple[tuple[int, int], ...]:
    """The lines of `after` that differ from `before`, as first and last, by a comparison that is never long."""
    return added(BothTexts(before, after).differences())


def quoted(name: str) -> str:
    """A name as git writes it in a diff."""
    if not UNUSUAL.search(name):
        return name
    return '"' + UNUSUAL.sub(lambda m: ESCAPES.get(m[0]) or f"\\{ord(m[0]):03o}", name) + '"'


def section(
    path: str,
    before: str | None,
    after: str | None,
    spans: Sequence[Span],
    *,
    old_path: str = "",
    modes: tuple[str, str] = ("", ""),
    sides: BothTexts | None = None,
) -> str:
    """One file of a diff, its header included."""
    old, new = quoted(f"a/{old_path or path}"), quoted(f"b/{path}")
    lines = [f"diff --git {old} {new}"]
    if before is None:
        lines.append(f"new file mode {modes[1] or '100644'}")
    elif after is None:
        lines.append(f"deleted file mode {modes[0] or '100644'}")
    elif modes[0] != modes[1]:
        lines += [f"old mode {modes[0]}", f"new mode {modes[1]}"]
    if old_path:
        lines += [f"rename from {quoted(old_path)}", f"rename to {quoted(path)}"]
    if spans:
        # A name with a space gets a tab behind it, as git writes it, so that programs know where it ends.
        ends = ["\t" if " " in name else "" for name in (old, new)]
        lines.append(f"--- {old}{ends[0]}" if before is not None else "--- /dev/null")
        lines.append(f"+++ {new}{ends[1]}" if after is not None else "+++ /dev/null")
        lines += (sides or BothTexts(before, after)).hunks(spans)
    return "\n".join(lines) + "\n"


def all_new(text: str) -> tuple[Span, ...]:
    """The span of a file that was not there before."""
    count = len(_lines(text)[0])
    return (Span(0, 0, 0, count),) if count else ()


# The parts of a patch that git wrote: what it does to each file, without the lines themselves.

MODE = re.compile(r"^(?:(old|deleted file)|new(?: file)?) mode (\d{6})$", re.M)


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a patch does to one file."""

    path: str
    modes: tuple[str, str]
    spans: tuple[Span, ...]


def parts(patch: str) -> Iterator[FileChange]:
    """The files of a patch that git wrote. Lines of a file begin with a sign, so that none looks like a head."""
    for text in re.split(r"^(?=diff --git )", patch, flags=re.M):
        head, *hunks = re.split(r"^(?=@@ )", text, flags=re.M)
        if names := touched(text):
            modes = {bool(m[1]): m[2] for m in MODE.finditer(head)}
            spans = tuple(span for hunk in hunks for span in _spans(hunk))
            yield FileChange(names[0], (modes.get(True, ""), modes.get(False, "")), spans)


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
