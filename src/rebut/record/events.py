"""The kinds of event in a journal (schema 1, frozen): their fields, and how a line is read and written.

A line is one JSON object: `seq`, `prev` (hash of the line before), `at` (UTC), `kind`, and the fields of that kind.
A field with its default value is omitted. A reader ignores fields it does not know, so fields may be added
within schema 1; none may change its meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, field, fields
from operator import attrgetter
from typing import Any, ClassVar, Literal

from rebut.core.frozen import frozen
from rebut.core.json_value import Json, amount, count

SCHEMA = 1

FactClass = Literal["input", "derived", "limit"]


@frozen(kw_only=True)
class Opened:
    """The debate begins: everything it was given."""

    kind: ClassVar[str] = "opened"
    id: str
    protocol: str
    topic: str
    schema: int = SCHEMA
    rebut: str = ""
    protocol_version: str = ""
    source: str = ""
    """The protocol's file, if the protocol is the user's own."""
    slug: str = ""
    workspace: str = ""
    settings: Mapping[str, Json] = field(default_factory=dict)
    seats: Sequence[Mapping[str, Json]] = ()
    limits: Mapping[str, Json] = field(default_factory=dict)
    aliases: Sequence[str] = ()
    forked_from: str = ""
    one_model: Mapping[str, str] = field(default_factory=dict)
    """For names that mean the same model: name → the name under which that model counts."""
    ledger: int = 1
    """The version of the rules by which several points become one issue."""
    started_in: str = ""
    """The folder in which the command ran, if the debate is about another one, as in the demo."""


@frozen(kw_only=True)
class Resumed:
    """Another process resumed the debate."""

    kind: ClassVar[str] = "resumed"
    rebut: str = ""
    protocol_version: str = ""
    torn: int = 0
    """Bytes of an unfinished last line that were moved to a file of their own."""
    orphans: Sequence[str] = ()
    """Tools of the earlier process that were still running and were ended."""


@frozen(kw_only=True)
class Amended:
    """Limits were changed on resume: name → new value."""

    kind: ClassVar[str] = "amended"
    limits: Mapping[str, Json] = field(default_factory=dict)


@frozen(kw_only=True)
class Asked:
    """A call is about to start; its worst case is reserved. Without an `attempt` after it, it was cut off."""

    kind: ClassVar[str] = "asked"
    key: str
    seat: str
    fp: str
    attempt: int = 1
    why: str = "ask"
    """ask, repair, context, send-back, or again after a request that was lost on its way."""
    spec: str = ""
    """The model that is called: the seat's own, or its fallback."""
    prompt: str = ""
    """The whole question; empty on later attempts, which repeat it."""
    followup: str = ""
    schema: str = ""
    tokens: int = 0
    usd: float | None = None
    patient: bool = False
    """A person is asked: no call is made, nothing is reserved."""


@frozen(kw_only=True)
class Attempt:
    """A backend returned, with an answer or a failure."""

    kind: ClassVar[str] = "attempt"
    key: str
    attempt: int = 1
    outcome: str = "ok"
    """`ok`, or the class of the failure."""
    text: str = ""
    message: str = ""
    hint: str = ""
    model: str = ""
    family: str = ""
    input: int | None = None
    output: int | None = None
    cached: int | None = None
    usd: float | None = None
    ms: int = 0
    truncated: bool = False
    patient: bool = False
    """A person answered: the time is not the debate's."""
    notes: Sequence[str] = ()
    unread: str = ""
    """The part of the question that the participant was not shown or could not read."""
    skipped: Sequence[str] = ()
    """The paths of changed files that the participant did not read, because it has no rules for such files."""
    again: bool = False
    """The request was lost on its way, perhaps paid for. It is no failure yet: the next attempt sends it again,
    unless a limit or a stop comes first."""


@frozen(kw_only=True)
class Answered:
    """The settled answer to a key."""

    kind: ClassVar[str] = "answered"
    key: str
    seat: str
    fp: str
    value: Json = None
    schema: str = ""
    complaints: Sequence[str] = ()
    model: str = ""
    family: str = ""
    ms: int = 0
    unread: str = ""
    """The part of the question that the model was not shown or could not read."""
    copied_from: str = ""
    """The session from which a fork copied this answer, at no cost."""


@frozen(kw_only=True)
class Failed:
    """The settled failure of a key; with `reopened`, resume asks again."""

    kind: ClassVar[str] = "failed"
    key: str
    seat: str
    fp: str
    failure: str = "crashed"
    message: str = ""
    hint: str = ""
    reopened: bool = False
    attempt: int = 0
    """When set, only this attempt is void; earlier ones still count as answers."""


@frozen(kw_only=True)
class Fact:
    """Something found out without a model. A fork copies `input`, `derived` if `of` is the same, never `limit`."""

    kind: ClassVar[str] = "fact"
    key: str
    cls: FactClass = "derived"
    of: str = ""
    value: Json = None


@frozen(kw_only=True)
class Wrote:
    """A file is about to be written outside the journal; the hash shows later whether it was changed since."""

    kind: ClassVar[str] = "wrote"
    path: str
    sha: str = ""


@frozen(kw_only=True)
class Closed:
    """The end. Whatever follows is a fork."""

    kind: ClassVar[str] = "closed"
    outcome: Mapping[str, Json] = field(default_factory=dict)


Event = Opened | Resumed | Amended | Asked | Attempt | Answered | Failed | Fact | Wrote | Closed
KINDS: dict[str, type[Event]] = {
    c.kind: c for c in (Opened, Resumed, Amended, Asked, Attempt, Answered, Failed, Fact, Wrote, Closed)
}


@frozen
class Line:
    """An event with its number and time in the journal."""

    seq: int
    at: str
    event: Event
    ran: int | None = None
    """Milliseconds that the writing process had worked by then; None in journals of earlier versions."""


_DEFAULTS: dict[type[Event], list[tuple[str, object]]] = {
    kind: [(f.name, f.default) for f in fields(kind)] for kind in KINDS.values()
}
_VALUES: dict[type[Event], Callable[[Event], tuple[Any, ...]]] = {
    kind: attrgetter("kind", *(f.name for f in fields(kind))) for kind in KINDS.values()
}
"""Reads the kind of an event and all its fields."""


def to_json(event: Event) -> dict[str, Json]:
    """The event's own fields, without those that have their default value."""
    kind, *values = _VALUES[type(event)](event)
    out: dict[str, Json] = {"kind": kind}
    for (name, default), value in zip(_DEFAULTS[type(event)], values, strict=True):
        if value is default or (default is not MISSING and value == default):
            continue
        out[name] = value
    return out


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


_FITS: Mapping[str, Callable[[Any], bool]] = {
    "str": lambda value: isinstance(value, str),
    "int": lambda value: count(value) is not None,
    "bool": lambda value: isinstance(value, bool),
    "int | None": lambda value: value is None or _is_number(value),
    "float | None": lambda value: value is None or _is_number(value),
    "FactClass": lambda value: isinstance(value, str),
    "Sequence[str]": _is_texts,
    "Mapping[str, str]": lambda value: isinstance(value, dict) and _is_texts([*value.values()]),
    "Mapping[str, Json]": lambda value: isinstance(value, dict),
    "Sequence[Mapping[str, Json]]": lambda value: (
        isinstance(value, list) and all(isinstance(one, dict) for one in value)
    ),
    "Json": lambda value: True,
}
"""By the type of a field, as it is written: whether a value from a file has that type."""
_KNOWN: Mapping[str, Callable[[Any], int | float | None]] = {"int | None": count, "float | None": amount}
"""Numbers that a provider reported: one that cannot be true, such as 10^309 tokens, is unknown, like a missing one."""
_READ = {kind: [(f.name, _FITS[str(f.type)], _KNOWN.get(str(f.type))) for f in fields(kind)] for kind in KINDS.values()}


def from_json(data: Mapping[str, Any]) -> Event:
    """Read an event; KeyError or TypeError if it is not one."""
    kind, values = KINDS[data["kind"]], dict[str, Any]()
    for name, fits, known in _READ[kind]:
        if name not in data:
            continue
        value = data[name]
        if not fits(value):
            raise TypeError(f"{kind.kind}: {name} is a {type(value).__name__}")
        values[name] = known(value) if known else value
    return kind(**values)
