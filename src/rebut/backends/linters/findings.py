"""An analyser's report, read into findings that no longer know which tool wrote them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from posixpath import normpath

from rebut.backends.json_path import at, fits
from rebut.backends.linters.fixes import Edit
from rebut.backends.linters.sides import Laid
from rebut.backends.linters.tables import Analyser, Grade
from rebut.core.types import Json

NO_RULE = "syntax"
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class Caught:
    """One finding."""

    tool: str
    rule: str
    laid: Laid
    line: int
    """Where the tool points."""
    first: int
    last: int
    """All that it speaks of."""
    message: str
    grade: Grade
    help: str = ""
    edits: tuple[Edit, ...] = ()

    @property
    def silenced(self) -> bool:
        """A comment on that line asks for silence."""
        reader = next(a for a in self.laid.readers if a.name == self.tool)
        return bool(reader.silenced) and re.search(reader.silenced, self.laid.lines[self.line - 1]) is not None

    @property
    def severity(self) -> str:
        return "P3" if self.silenced else self.grade.severity


def read(analyser: Analyser, text: str, laid: Sequence[Laid], folder: Path) -> tuple[list[Caught], set[int]]:
    """The findings, and the numbers of the files that it could not wholly read. ValueError: this is no report."""
    try:
        whole: Json = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    report = analyser.output
    by_name = {one.name: one for one in laid}
    found, unread = [], set()
    for item in at(whole, report.items):
        one = _caught(analyser, item, by_name, folder)
        if one is None:
            raise ValueError("a finding in a file that it was not given")
        found.append(one)
        if one.rule in analyser.unread_rules:
            unread.add(one.laid.number)
    for path in at(whole, report.unread) if report.unread else ():
        # A file that it names and we did not give: then nothing is known of any of them.
        known = by_name.get(_name(path, folder))
        unread |= {known.number} if known else {one.number for one in laid}
    return found, unread


def _caught(analyser: Analyser, item: Json, by_name: Mapping[str, Laid], folder: Path) -> Caught | None:
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
    rows = numbers(report.line) or [1]  # what it says of a file as a whole
    ends, end_column = numbers(report.end) or rows, numbers(report.end_column)
    last = max(ends)
    if last > rows[0] and end_column and end_column[0] == 1:
        last -= 1  # it ends before the first character of that line
    rule = report.rule_prefix + next(iter(texts(report.rule)), NO_RULE)
    level = next(iter(texts(report.level)), "")
    grade = next((g for g in analyser.grades if _graded(g, rule, level)), analyser.grades[-1])
    line = one.line(rows[0])
    return Caught(
        analyser.name,
        rule,
        one,
        line,
        min(line, one.line(min(ends))),
        max(line, one.line(last)),
        _short(next(iter(texts(report.message)), rule)),
        grade,
        _short(next(iter(texts(report.help)), "")),
        () if one.rows else tuple(_edits(analyser, item)),
    )


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
    """A path in a report as it was laid: tools give it as they got it, or whole."""
    return normpath(str(path)).removeprefix(f"{folder.resolve()}/").removeprefix(f"{folder}/")


def _short(text: str) -> str:
    text = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * _LONGEST]).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
