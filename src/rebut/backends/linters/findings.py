"""Findings of analysers: files copied for them, reports read, findings that a change introduces, and fixes."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from posixpath import normpath
from typing import Literal

from rebut.backends.json_path import at, fits
from rebut.backends.linters.tables import Analyser, Grade
from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.core.text import file_bytes, printable, squeeze
from rebut.core.types import Changed

Silenced = Literal["", "before", "by this change"]
NO_RULE = "syntax"
_LONGEST = 400


@frozen
class LinterFinding:
    """One finding of an analyser."""

    tool: str
    rule: str
    file: FileCopy
    line: int
    """The line that the tool names."""
    first: int
    last: int
    """The first and the last line that the finding is about."""
    message: str
    grade: Grade
    help: str = ""
    edits: tuple[Edit, ...] = ()

    silenced: Silenced = ""
    """Whether a comment there silences the rule, and whether it was there before or comes with this change."""

    @property
    def severity(self) -> str:
        # Only an older comment lowers the severity, since it was reviewed: a change could silence all findings in it.
        return "P3" if self.silenced == "before" else self.grade.severity


def read_report(
    analyser: Analyser, text: str, copies: Sequence[FileCopy], folder: Path
) -> tuple[list[LinterFinding], set[int]]:
    """The findings, and the numbers of files that were not read completely. ValueError if this is not a report."""
    try:
        whole: Json = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    report = analyser.output
    by_name = {one.name: one for one in copies}
    found, unread = [], set()
    for item in at(whole, report.items):
        one = _finding(analyser, item, by_name, folder)
        if one is None:
            raise ValueError("a finding in a file that it was not given")
        found.append(one)
        if one.rule in analyser.unread_rules:
            unread.add(one.file.number)
    for path in at(whole, report.unread) if report.unread else ():
        # If the report names an unknown file, any of the files may be the one that was not read.
        known = by_name.get(_name(path, folder))
        unread |= {known.number} if known else {one.number for one in copies}
    return found, unread


def _finding(analyser: Analyser, item: Json, by_name: Mapping[str, FileCopy], folder: Path) -> LinterFinding | None:
    report = analyser.output
    places = [p for p in at(item, report.within) if fits(p, report.where)] if report.within else [item]
    place = places[0] if places else None

    def texts(path: str) -> list[str]:
        values = [v for within in (place, item) for v in at(within, path)] if path else []
        return [str(v) for v in values if isinstance(v, str | int) and not isinstance(v, bool)]

    def numbers(path: str) -> list[int]:
        return [int(v) + 1 - report.first for v in texts(path) if re.fullmatch(r"\d{1,9}", v)]

    one = by_name.get(_name(next(iter(texts(report.path)), ""), folder))
    if one is None:
        return None
    rows = numbers(report.line) or [1]  # without a line, the finding is about the whole file
    ends, end_column = numbers(report.end) or rows, numbers(report.end_column)
    last = max(ends)
    if last > rows[0] and end_column and end_column[0] == 1:
        last -= 1  # it ends before the first character of that line
    rule = report.rule_prefix + next(iter(texts(report.rule)), NO_RULE)
    level = next(iter(texts(report.level)), "")
    grade = next((g for g in analyser.grades if _graded(g, rule, level)), analyser.grades[-1])
    line = one.line(rows[0])
    statement = _end_of_statement(one.lines, line, analyser.begins) if analyser.begins else line
    return LinterFinding(
        analyser.name,
        rule,
        one,
        line,
        min(line, one.line(min(ends))),
        max(statement, one.line(last)),
        printable(next(iter(texts(report.message)), rule), _LONGEST),
        grade,
        printable(next(iter(texts(report.help)), ""), _LONGEST),
        () if one.rows else tuple(_edits(analyser, item)),
    )


def _end_of_statement(lines: Sequence[str], first: int, begins: str) -> int:
    """The last line before the next statement."""
    return next((n for n, line in enumerate(lines[first:], first) if re.match(begins, line)), len(lines))


def _edits(analyser: Analyser, item: Json) -> Iterator[Edit]:
    shape, first = analyser.output.edits, analyser.output.first
    if shape is None or not fits(item, shape.where):
        return
    for edit in at(item, shape.each):
        values = [next(at(edit, path), None) for path in (shape.line, shape.column, shape.end_line, shape.end_column)]
        text = next(at(edit, shape.text), None)
        whole = [v + 1 - first for v in values if isinstance(v, int)]
        if len(whole) == 4 and isinstance(text, str):
            yield Edit(whole[0], whole[1], whole[2], whole[3], text)


def _graded(grade: Grade, rule: str, level: str) -> bool:
    return fnmatchcase(level, grade.level) and any(fnmatchcase(rule, glob) for glob in grade.rules)


def _name(path: Json, folder: Path) -> str:
    """The name of the copied file for a path in a report: tools report it as given, or as an absolute path."""
    return normpath(str(path)).removeprefix(f"{folder.resolve()}/").removeprefix(f"{folder}/")


# Copies of the changed files for the analysers, in private folders and under safe names.
#
# A file's own name could be a flag, lead out of the folder, be a tool's config, or match what a tool ignores. So each
# file is copied to NUMBER/file.SUFFIX, and findings are reported under its real name.

_LONE_RETURN = re.compile(r"\r(?!\n)")


@frozen
class FileCopy:
    """The copy of one version of a file."""

    number: int
    """The number of the file in the change, the same for both versions."""
    path: str
    """Its real name in the new version, under which findings are reported."""
    name: str
    """Its path in the folder of its version."""
    lines: tuple[str, ...]
    """As git counts them, without their line ends."""
    rows: tuple[int, ...] = ()
    """The line of each row as a tool counts rows; empty if both counts are the same."""
    readers: tuple[Analyser, ...] = ()

    def line(self, row: int) -> int:
        """The line of a row as a tool counts rows, at most the last line of the file."""
        if self.rows:
            row = self.rows[max(0, min(row, len(self.rows)) - 1)]
        last = len(self.lines) - (1 if len(self.lines) > 1 and not self.lines[-1] else 0)
        return max(1, min(row, last))


def copy_files(folder: Path, change: Sequence[Changed], analysers: Sequence[Analyser], *, old: bool) -> list[FileCopy]:
    """Copy one version of the changed files, without those that no analyser reads."""
    folder.mkdir(mode=0o700)
    out = []
    for number, changed in enumerate(change, 1):
        text, path = (changed.before, changed.old_path or changed.path) if old else (changed.after, changed.path)
        if text is None:
            continue
        readers = tuple(a for a in analysers if a.reads(path, text))
        if not readers:
            continue
        name = f"{number}/{_safe_name(path, readers)}"
        place = folder / name
        place.parent.mkdir(mode=0o700)
        place.write_bytes(file_bytes(_masked(_LONE_RETURN.sub("\n", text), readers)))
        lines = tuple(line.removesuffix("\r") for line in text.split("\n"))
        out.append(FileCopy(number, changed.path, name, lines, _rows(text), readers))
    return out


def _safe_name(path: str, readers: Sequence[Analyser]) -> str:
    name = path.rpartition("/")[2]
    if any(name in reader.keep for reader in readers):
        return name
    suffix = re.search(r"\.[A-Za-z0-9]{1,12}$", name)
    return f"file{suffix[0] if suffix else ''}"


def _masked(text: str, readers: Sequence[Analyser]) -> str:
    for reader in readers:
        if reader.masks:
            text = re.sub(reader.masks, lambda found: "x" * len(found[0]), text)
    return text


def _rows(text: str) -> tuple[int, ...]:
    """The line of each row of a copy. Some tools count a lone carriage return as a line end, and git does not. A copy
    has a line feed in its place, so that all tools count alike; this maps their rows back to lines."""
    if not _LONE_RETURN.search(text):
        return ()
    pieces = re.split(r"(\r\n|\n|\r)", text)
    rows, line = [], 1
    for n in range(0, len(pieces), 2):
        rows.append(line)
        if n + 1 < len(pieces) and "\n" in pieces[n + 1]:
            line += 1
    return tuple(rows)


# The findings that a change introduces, of all findings in the changed files.


@frozen
class Sifted:
    """The findings that count, and how many others there are."""

    new: tuple[LinterFinding, ...]
    already: int
    outside: int

    @property
    def tally(self) -> str:
        raised = len(self.new) + self.already + self.outside
        return f"{raised} raised, {self.already} already there, {self.outside} outside the change, {len(self.new)} new"


def sift(before: Sequence[LinterFinding], after: Sequence[LinterFinding], change: Sequence[Changed]) -> Sifted:
    """Keep findings that are new and on lines that the change wrote.

    A finding is old if the same rule reported the same text in the old version. Each old finding matches one new one:
    of two equal findings where there was one before, one is new. Matches are searched in the same file first, then in
    the others, since code moves. Findings outside the written lines are matched first, as they are most likely old.
    A finding that became more severe is new: in a call of several lines, a line other than its own may have changed.
    """
    added = {number: changed.added for number, changed in enumerate(change, 1)}
    untouched_first = sorted(after, key=lambda c: _touched(c, added[c.file.number]))
    left = Counter[tuple[tuple[str, ...], str]]((_key(c), c.grade.severity) for c in before)
    rest = [one for one in untouched_first if not _use_up(left, _key(one), one.grade.severity)]
    anywhere = Counter[tuple[tuple[str, ...], str]]()
    for (key, severity), count in left.items():
        anywhere[key[1:], severity] += count
    new, outside = [], 0
    for one in rest:
        if _use_up(anywhere, _key(one)[1:], one.grade.severity):
            continue
        if _touched(one, added[one.file.number]):
            new.append(one)
        else:
            outside += 1
    silenced_lines = SilencedLines(change)
    marked = [replace(one, silenced=silenced_lines.origin(one)) for one in new]
    ordered = sorted(marked, key=lambda c: (c.severity, c.file.path, c.line, c.tool, c.rule, c.message))
    return Sifted(tuple(ordered), len(after) - len(new) - outside, outside)


class SilencedLines:
    """Tells which comments that silence an analyser were there before the change.

    Such a comment was there if the base had it together with all lines of the finding, in this or another changed file:
    code that was only moved keeps what its reviewers accepted. New code beside an old comment does not share in that.
    """

    def __init__(self, change: Sequence[Changed]) -> None:
        self._before = _LineIndex([list(map(squeeze, (changed.before or "").split("\n"))) for changed in change])
        # Lines that stay in their place cannot be moved as well.
        self._stays = _LineIndex([_unwritten(changed) for changed in change])
        self._left: dict[tuple[str, ...], int] = {}

    def origin(self, one: LinterFinding) -> Silenced:
        reader = next(a for a in one.file.readers if a.name == one.tool)
        places = _comments(one, reader.silenced) if reader.silenced else []
        for line in places:
            first, last = min(line, one.first), max(line, one.last)
            if last - first >= LONGEST_BLOCK:
                continue
            block = tuple(squeeze(text) for text in one.file.lines[first - 1 : last])
            if block not in self._left:
                self._left[block] = self._before.count(block) - self._stays.count(block)
            if self._left[block] > 0:
                self._left[block] -= 1
                return "before"
        return "by this change" if places else ""


LONGEST_BLOCK = 200
"""Lines of a finding that are looked for in the base; the comment at a longer finding counts as new."""


class _LineIndex:
    """The lines of several files, to count how often a block of lines occurs."""

    def __init__(self, files: Sequence[Sequence[str | None]]) -> None:
        self._files = files
        self._places: dict[str, list[tuple[int, int]]] = {}
        for file, lines in enumerate(files):
            for n, line in enumerate(lines):
                if line is not None:
                    self._places.setdefault(line, []).append((file, n))

    def count(self, block: Sequence[str]) -> int:
        places = self._places.get(block[0], ())
        return sum(tuple(self._files[file][n : n + len(block)]) == block for file, n in places)


def _unwritten(changed: Changed) -> list[str | None]:
    """The lines of the new version that the change did not write; None in place of the others."""
    lines: list[str | None] = list(map(squeeze, (changed.after or "").split("\n")))
    for first, last in changed.added:
        lines[first - 1 : last] = [None] * len(lines[first - 1 : last])
    return lines


def _comments(one: LinterFinding, silenced: str) -> list[int]:
    """The lines with a comment that silences this rule: those of the finding, and a comment alone on the line above."""
    lines = one.file.lines
    above = one.first - 1
    own = [n for n in range(one.first, one.last + 1) if _silences(silenced, lines[n - 1], one.rule)]
    if above >= 1 and ALONE.match(lines[above - 1]) and _silences(silenced, lines[above - 1], one.rule):
        own.append(above)
    return own


ALONE = re.compile(r"\s*(?:#|//|/\*|<!--|--|;)")
NAMED_RULE = re.compile(r"\b[A-Z]{1,5}\d{2,5}\b|(?<=[\[,=\s])@?[a-z]+\d*(?:[-/][a-z\d]+)+")

RULE_RANGE = re.compile(r"\b([A-Z]{1,5})(\d{2,5})-(?:\1)?(\d{2,5})\b")


def _silences(silenced: str, line: str, rule: str) -> bool:
    """Whether a comment in this line silences the rule: it names no rule at all, or this one."""
    found = re.search(silenced, line)
    if found is None:
        return False
    rest = line[found.end() :].removeprefix("-next-line").removeprefix("-line")
    named = NAMED_RULE.findall(rest)
    ranges = ((one[1], one[2], one[3]) for one in RULE_RANGE.finditer(rest))
    number = rule.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    if any(rule == f"{start}{number}" and low <= number <= high for start, low, high in ranges):
        return True
    return not named or any(name in rule or name.rpartition("/")[2] in rule for name in named)


SEVERITIES = ("P1", "P2", "P3")


def _use_up(left: Counter[tuple[tuple[str, ...], str]], key: tuple[str, ...], severity: str) -> bool:
    """Whether an old finding, at least as severe, has this key; if so, it is used up."""
    for known in reversed(SEVERITIES[: SEVERITIES.index(severity) + 1]):
        if left[key, known] > 0:
            left[key, known] -= 1
            return True
    return False


def _touched(one: LinterFinding, added: Sequence[tuple[int, int]]) -> bool:
    return any(first <= one.last and one.first <= last for first, last in added)


def _key(one: LinterFinding) -> tuple[str, ...]:
    text = " ".join(one.file.lines[one.line - 1].split())
    return (str(one.file.number), one.tool, one.rule, text)


def line_to_cite(one: LinterFinding, added: Sequence[tuple[int, int]]) -> int:
    """The line to cite: the tool's line if the change wrote it, else the first line of the finding that it wrote."""
    if any(first <= one.line <= last for first, last in added):
        return one.line
    return min((max(first, one.first) for first, last in added if first <= one.last and one.first <= last))


# Fixes, as whole lines.


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """A replacement of the text between two positions. Lines and columns count from 1; the end is not included."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


@frozen
class Fix:
    """A replacement of the lines from `first` to `last`."""

    first: int
    last: int
    text: str


def as_lines(edits: Sequence[Edit], lines: Sequence[str], line: int) -> Fix | None:
    """Edits as a replacement of whole lines, `line` among them. None if they do not fit the text.

    A replacement is never empty, which would mean "no fix": if lines are removed, a neighbouring line is included.
    """
    if not edits:
        return None
    first = min([line, *(e.line for e in edits)])
    last = max([line, *(e.end_line for e in edits)])
    if first < 1 or last > len(lines):
        return None
    new = _edited(edits, lines, first, last)
    if new is None:
        return None
    while not new.strip() and (first > 1 or last < len(lines)):
        if first > 1:
            first -= 1
            new = f"{lines[first - 1]}\n{new}"
        else:
            last += 1
            new = f"{new}\n{lines[last - 1]}"
    return Fix(first, last, new) if new.strip() else None


def _edited(edits: Iterable[Edit], lines: Sequence[str], first: int, last: int) -> str | None:
    text = "\n".join(lines[first - 1 : last])
    starts = [0]
    for line in lines[first - 1 : last]:
        starts.append(starts[-1] + len(line) + 1)
    end = len(text)
    for edit in sorted(edits, reverse=True):
        a = starts[edit.line - first] + edit.column - 1
        b = starts[edit.end_line - first] + edit.end_column - 1
        if not 0 <= a <= b <= end:
            return None
        text, end = text[:a] + edit.text.replace("\r\n", "\n") + text[b:], a
    return text
