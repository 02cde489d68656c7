"""The target of a debate: what is discussed, read once, redacted and recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast, get_args

from rebut.core.errors import RecordError
from rebut.core.frozen import frozen
from rebut.core.json_value import Json, as_row, remade
from rebut.core.text import counted, cut
from rebut.core.types import Changed
from rebut.record.record import Record
from rebut.workspace.context import BUDGET, FittingFiles, Gathered
from rebut.workspace.diff import line_counts
from rebut.workspace.tree import Text

Kind = Literal["code", "proposal", "mixed"]
Confidence = Literal["high", "medium", "low"]
KINDS: tuple[Kind, ...] = get_args(Kind)
CONFIDENCES: tuple[Confidence, ...] = get_args(Confidence)


@frozen
class Wanted:
    """What the user gave, as it was given. Empty means: not given."""

    target: str = "auto"
    scope: str = ""
    content: str = ""
    artifact_file: str = ""
    stdin: str = ""
    """Standard input, already read. A caller reads it only if no source that takes precedence is given."""
    context_file: str = ""
    from_transcript: bool = False
    instead: str = ""
    """What else the user could give, in the words of the command; for error messages."""


@frozen
class Target:
    """What is debated. Paths are relative to the top of the workspace; `base` and `new` are commits, "" for its files.

    Where there was nothing before (a root commit, an unborn branch), `base` is the id of the empty tree.
    """

    kind: Kind
    confidence: Confidence
    why: str
    scope: str = ""
    text: str = ""
    """The part that is a proposal. A line in brackets replaces each piece of code and names the file it is read as."""
    diff: str = ""
    """The part that is code, as one unified diff."""
    changes: tuple[Changed, ...] = ()
    base: str = ""
    new: str = ""
    left_out: tuple[str, ...] = ()
    """One line for each file of the target that is not read, such as "logo.png: binary"."""
    notes: tuple[str, ...] = ()
    origin: str = ""
    """What was given and where, for code that came as a text: "a diff on standard input"."""
    loose: tuple[str, ...] = ()
    """Files that a pasted diff changes but that do not match it in the workspace, so they cannot be read in full."""
    given: str = ""
    """The whole text, if code was given as a text or within one."""
    file: str = ""
    """The workspace file that `given` was read from; empty if it came from elsewhere or is itself a changed file."""
    wrote: str = ""
    """The family of the models that wrote the text, if it comes from the transcript of a tool."""
    path: str = ""
    """The file that a text with citations was read from, as the user named it."""
    cites: tuple[str, ...] = ()
    """The text's own citations, looked up: the count of each mark, then a line for each that is absent or moved."""

    @property
    def is_beside_change(self) -> bool:
        """Whether a text with code in it was given beside a change in git."""
        return bool(self.given and self.scope) and not self.scope.startswith("file:")

    @property
    def texts(self) -> dict[str, str]:
        """The new side of every changed file that has one."""
        return {change.path: change.after for change in self.changes if change.after is not None}

    @property
    def prose(self) -> str:
        """The text without the lines that stand for code."""
        stand_ins = {f"({change.path})" for change in self.changes}
        return "\n".join(line for line in self.text.split("\n") if line not in stand_ins)

    def to_json(self) -> dict[str, Json]:
        return cast(dict[str, Json], as_row(self))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Target:
        """Read back what `to_json` gave."""
        kind, confidence = data.get("kind"), data.get("confidence")
        if kind not in KINDS or confidence not in CONFIDENCES:
            hint = "Open it with the version of rebut that made it."
            raise RecordError(f"a target of kind {kind!r} and confidence {confidence!r} is on record", hint)
        return remade(cls, data, changes=tuple(map(Changed.from_json, data.get("changes", ()))))


# Changed files as a critic gets them: in full, each line with its number, as far as they fit a budget.


def whole_files(target: Target, budget_bytes: int = BUDGET) -> Gathered:
    """The new side of every changed file that fits; the others are named with the reason, deleted ones included."""
    fitting = FittingFiles(budget_bytes)
    left_out: list[tuple[str, str]] = []
    for change in target.changes:
        why = "deleted" if change.after is None else fitting.add(Text.of(change.path, change.after))
        if why:
            left_out.append((change.path, why))
    for line in target.left_out:
        path, _, why = line.rpartition(": ")
        left_out.append((path, why))
    return Gathered(tuple(fitting.files), tuple(left_out))


# What a debate is about, in one line.


def headline(target: Target) -> str:
    """`uncommitted changes: 4 files, +132 -18`, or the first words of a proposal."""
    parts = [_change(target)] if target.changes or target.diff else []
    first = next((line.strip("#*> ") for line in target.text.splitlines() if line.strip("#*>`- ")), "")
    if first:
        parts.append(cut(first, 100))
    return "; ".join(parts) or f"an empty {target.kind} target"


def _change(target: Target) -> str:
    name = {"uncommitted": "uncommitted changes", "staged": "staged changes"}.get(target.scope, target.scope)
    name = name or target.origin or "given code"
    added, removed = line_counts(target.diff)
    what = "readable file" if target.left_out else "file"  # a doubt about those left out counts all files
    return f"{name}: {counted(len(target.changes), what)}, +{added} -{removed}"


def text_target(text: str) -> Target:
    """A text alone as a target."""
    return Target("proposal", "high", "the topic itself", text=text)


def target_of(record: Record) -> Target | None:
    """The target on record; None for protocols that have none."""
    fact = record.facts.get("target")
    if fact is None:
        return None
    return Target.from_json(cast(Mapping[str, Json], fact.value))


def absent_citations(target: Target) -> list[str]:
    """The citations in the reviewed text that were not found."""
    return [line.removeprefix("absent: ") for line in target.cites[1:] if line.startswith("absent: ")]
