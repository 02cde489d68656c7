"""The lines of a batch: each is one debate as JSON, checked before any model is called."""

from __future__ import annotations

import codecs
import csv
import hashlib
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rebut.api import Setup
from rebut.core import files
from rebut.core.errors import UsageError
from rebut.core.frozen import frozen
from rebut.core.text import counted
from rebut.domain.limits import RANGES
from rebut.engine.plan import Plan, sound
from rebut.workspace.targets.target import Wanted

LARGEST = 500_000_000
"""Bytes of a file of lines."""
OPTIONS = ("context", "limits", "fallbacks", "models", "temperature", "seed", "allow_same_model")
"""What a line may choose besides its seats and settings."""
LATER = ("workspace", "note", "arm", "run_checks")
"""Fields that lines of the first version did not have: without them, a line keeps its hash."""


class TargetFields(BaseModel):
    """What is debated: a scope of git, a file or a text."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Literal["auto", "code", "proposal", "mixed"] = "auto"
    scope: str = ""
    file: str = ""
    text: str = ""

    def wanted(self) -> Wanted:
        return Wanted(self.kind, self.scope, self.text, self.file)


class LineFields(BaseModel):
    """One line of a batch, as the user writes it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: str | int = ""
    protocol: str = Field(min_length=1)
    topic: str = ""
    target: TargetFields | str | None = None
    seats: dict[str, str | list[str]] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)
    context: list[str] = Field(default_factory=list)
    limits: dict[str, float] = Field(default_factory=dict)
    fallbacks: dict[str, list[str]] = Field(default_factory=dict)
    models: dict[str, str] = Field(default_factory=dict)
    temperature: float | None = None
    seed: int | None = None
    allow_same_model: bool = False
    workspace: str = ""
    """The folder that it is about, if that is not the current one."""
    note: str = ""
    """A note of the user, which every seat gets from the first question on."""
    run_checks: bool | None = None
    """Whether checks are run. Only a program says so: a file of lines may come from anywhere."""
    arm: str = ""
    """A name of the user for what is compared, such as a protocol with its models; reports are by arm."""


@frozen
class BatchLine:
    """One debate of a batch."""

    number: int
    """Its place in the file; the first line is 1."""
    hash: str
    """A hash of the line and the number of equal lines before it. It names the debate in results and journal."""
    fields: LineFields

    @classmethod
    def of(cls, number: int, fields: LineFields, before: int = 0) -> BatchLine:
        """A line; `before` is how many equal lines come before it."""
        digest = hashlib.sha256(f"{before} {same(fields)}".encode("utf-8", "replace")).hexdigest()[:24]
        return cls(number, digest, fields)

    @property
    def id(self) -> str | int:
        """The user's id, else the line's number."""
        return self.fields.id if self.fields.id != "" else self.number

    async def plan(self, setup: Setup, limits: Mapping[str, float] | None = None) -> Plan:
        """The checked plan of the debate. `limits` apply where the line itself sets none."""
        said, fields = self.fields, {**self.fields.settings, **self.fields.seats}
        setup = setup.at(said.workspace) if said.workspace else setup
        if odd := sorted(set(fields) & {*OPTIONS, "target", "redaction", "usual_limits", "run_checks"}):
            raise UsageError(f"{odd[0]!r} is neither a seat nor a setting", f"Write {odd[0]!r} beside them.")
        fields |= {name: value for name in OPTIONS if (value := getattr(said, name)) not in (None, {}, [], False)}
        fields |= {} if said.run_checks is None else {"run_checks": said.run_checks}
        if limits:
            fields["limits"] = {**limits, **said.limits}
        if said.target is not None:
            from rebut.workspace.targets.resolve import question, unanswerable

            wanted = Wanted(scope=said.target) if isinstance(said.target, str) else said.target.wanted()
            fields["target"], fields["redaction"] = await setup.resolve(wanted)
            if wanted.target == "auto" and question(fields["target"]):
                raise UsageError(
                    unanswerable(fields["target"]).message, 'Say which in the target: {"kind": "code", …}.'
                )
        return setup.plan(said.protocol, said.topic, **fields)


@frozen
class BadLine:
    """A line that cannot be run, and why."""

    number: int
    why: str


def read_lines(path: Path) -> tuple[list[BatchLine], list[BadLine]]:
    """The lines of a file of JSON, or the rows of a table whose name ends in .csv. Empty ones are skipped."""
    try:
        data = files.read(path, LARGEST + 1, pipes=True)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}", "Give a file with one debate per line.") from None
    if len(data) > LARGEST:
        raise UsageError(f"{path} is larger than {LARGEST:,} bytes", "Split it into several files.")
    if path.suffix.casefold() == ".csv":
        return _checked(_rows_of_table(data))
    rows = data.removeprefix(codecs.BOM_UTF8).split(b"\n")
    numbered = ((number, raw) for number, raw in enumerate(rows, 1) if raw.strip())
    return _checked((number, partial(parsed, raw)) for number, raw in numbered)


def _rows_of_table(data: bytes) -> Iterator[tuple[int, Callable[[], LineFields]]]:
    """The rows of a CSV table, each with the line that it begins in."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("the table is not UTF-8", "Save it as UTF-8.") from None
    table, began = csv.reader(io.StringIO(text), strict=True), 1
    try:
        head = [name.strip() for name in next(table, [])]
        if len(head) == 1 and ";" in head[0]:
            raise UsageError("the cells of the table are separated by semicolons", "Separate them by commas.")
        if twice := [name for name, count in Counter(head).items() if count > 1]:
            raise UsageError(f"the table has two columns {twice[0]!r}", "Give each column a name of its own.")
        while True:
            began = table.line_num + 1
            cells = next(table, None)
            if cells is None:
                return
            if any(cell.strip() for cell in cells):
                yield began, partial(_of_row, head, cells)
    except csv.Error as error:
        raise UsageError(
            f"line {began} of the table cannot be read: {error}", "Quote cells that have commas, quotes or newlines."
        ) from None


def _of_row(head: Sequence[str], cells: Sequence[str]) -> LineFields:
    """The fields of one row: `seats.proposer` is a part of `seats`; empty cells are left out."""
    if len(cells) > len(head):
        raise UsageError(f"it has {len(cells)} cells, and the table has {counted(len(head), 'column')}")
    row: dict[str, Any] = {}
    for name, cell in zip(head, cells, strict=False):
        if cell.strip():
            group, _, part = name.partition(".")
            parts = row.setdefault(group, {}) if part else None
            if (part and not isinstance(parts, dict)) or (not part and name in row):
                raise UsageError(f"it has {group!r} and a part of it: fill in one of the two columns")
            if part:
                row[group][part] = _cell(cell, group)
            else:
                row[name] = _cell(cell, name)
    return _validated(row)


WORDS = ("id", "protocol", "topic", "seats", "models", "workspace", "note", "arm", "target")
"""Fields whose cells are text, even if they look like a number."""


def _cell(text: str, name: str) -> Any:
    """A cell as a value: JSON where it is a number, true, false, a list or an object; otherwise the text."""
    if name in WORDS and not (name in ("target", "seats") and text.lstrip().startswith(("{", "["))):
        return text.strip()
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return [text.strip()] if name == "context" else text.strip()


def each(output: str, template: Mapping[str, Any]) -> tuple[list[BatchLine], list[BadLine]]:
    """A debate for each line of a command's output: `{}` in the template is the first word of the line."""

    def filled(value: Any, word: str) -> Any:
        if isinstance(value, str):
            return value.replace("{}", word)
        if isinstance(value, Mapping):
            return {name: filled(part, word) for name, part in value.items()}
        return [filled(part, word) for part in value] if isinstance(value, list) else value

    words = [(number, line.split()[0]) for number, line in enumerate(output.splitlines(), 1) if line.strip()]
    return _checked((n, partial(_validated, {"id": word, **filled(template, word)})) for n, word in words)


def _checked(found: Iterable[tuple[int, Callable[[], LineFields]]]) -> tuple[list[BatchLine], list[BadLine]]:
    """The lines that are debates, and the other lines with the reason why not."""
    good, bad = list[tuple[int, LineFields]](), list[BadLine]()
    ids = dict[str | int, int]()
    for number, made in found:
        try:
            fields = made()
        except UsageError as error:
            bad.append(BadLine(number, error.message))
            continue
        if fields.run_checks is not None:
            bad.append(BadLine(number, "run_checks: a line cannot say whether checks are run"))
            continue
        if fields.id != "" and (first := ids.setdefault(fields.id, number)) != number:
            bad.append(BadLine(number, f"its id {fields.id!r} is also the id of line {first}"))
            continue
        good.append((number, fields))
    return _batch_lines(good), bad


def _batch_lines(rows: Iterable[tuple[int, LineFields]]) -> list[BatchLine]:
    """The lines of a batch. Equal lines get different hashes, by the number of equal lines before them."""
    seen, out = Counter[str](), list[BatchLine]()
    for number, fields in rows:
        before = seen[same(fields)]
        seen[same(fields)] += 1
        out.append(BatchLine.of(number, fields, before))
    return out


def in_workspace(lines: Iterable[BatchLine], workspace: Path) -> list[BatchLine]:
    """The lines, each with the absolute path of its folder. The same line in another folder is another debate."""
    places = [(line, str((workspace / line.fields.workspace).resolve())) for line in lines]
    return _batch_lines((line.number, line.fields.model_copy(update={"workspace": place})) for line, place in places)


def same(fields: LineFields) -> str:
    """A text that is the same for equal lines. Fields that later versions added count only if they are given."""
    later = {name for name in LATER if not getattr(fields, name)}
    return json.dumps(fields.model_dump(mode="json", exclude=later), sort_keys=True)


def parsed(raw: bytes) -> LineFields:
    """The fields of one line; UsageError if it is not a debate."""
    try:
        return _validated(json.loads(raw.decode()))
    except UnicodeDecodeError:
        raise UsageError("it is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"it is not JSON: {error}") from None


def _validated(fields: Any) -> LineFields:
    try:
        return LineFields.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        said = {"missing": f"it has no {name!r}", "extra_forbidden": f"there is no field {name!r}"}.get(first["type"])
        raise UsageError(said or (f"{name}: {first['msg']}" if name else "it is not a JSON object")) from None


async def refused(lines: Sequence[BatchLine], setup: Setup, limits: Mapping[str, float]) -> list[BadLine]:
    """The lines that cannot be run, by all checks that need no call of a model, under the limits of the batch."""
    bad = list[BadLine]()
    # A batch may have higher limits than a debate.
    limits = {name: min(value, RANGES[name][1]) for name, value in limits.items()}
    for line in lines:
        try:
            plan = await line.plan(setup, limits)
            sound(plan)
            for who in plan.seats:
                if who.seat not in plan.protocol.silent and setup.connect(who.spec).patient:
                    raise UsageError(f"{who.spec} cannot be the {who.seat}: no person answers in a batch")
        except UsageError as error:
            bad.append(BadLine(line.number, f"{error.message}. {error.hint}".removesuffix(". ")))
    return bad
