"""A ballot: what a person in a seat is shown and asked. The case in short, a few decisions by one letter, and remarks.

A protocol gives it along with a question. The answers become the same form that a model would fill in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from rebut.core.frozen import frozen
from rebut.core.json_value import Json


@frozen
class Option:
    """One way to decide."""

    key: str
    """The letter or digit."""
    value: Json
    words: str


@frozen
class KeyChoice:
    """One decision, made by one key."""

    name: str
    """The field of the form that it fills."""
    ask: str
    options: tuple[Option, ...]


@frozen
class Remark:
    """A text, which may be left to what is usual."""

    name: str
    ask: str
    usual: Mapping[str, str] = field(default_factory=dict)
    """Key of the first decision → the text that an empty line stands for; the empty key is for every other."""
    many: str | None = None
    """For a list with an entry per line: the field of an entry that has the text; empty if the text is the entry."""


@frozen
class Listed:
    """One of several things on which a person can rule."""

    id: str
    title: str
    text: str
    severity: str = ""
    stands: str = ""
    """The ruling that stands already, in words; empty if the person must rule."""


@frozen
class Rulings:
    """Several things, each of which is ruled on by one key. The answers fill a list of the form."""

    name: str
    rows: tuple[Listed, ...]
    options: tuple[Option, ...]
    ruling: str = "ruling"
    """The name of the ruling in each row of the form …"""
    severity: str = ""
    """… of its severity, which the person may then edit; empty if there is none …"""
    reason: str = "reason"
    """… and of the reason."""
    noun: str = "finding"


@frozen
class Ballot:
    """Everything that a person is shown and asked."""

    case: tuple[str, ...]
    """Paragraphs."""
    picks: tuple[KeyChoice, ...]
    rulings: Rulings | None = None
    remarks: tuple[Remark, ...] = ()
    remarks_first: bool = False
    """Whether the remarks are asked for before the decisions."""
    aside: str = ""
    """The field of a reason that the person may give before the first decision, where a key alone ends the form."""
    table: tuple[tuple[str, ...], ...] = ()
    """Shown below the case, its header first."""
    rest: Mapping[str, Json] = field(default_factory=dict)
    """The fields of the form that a person is not asked for."""
