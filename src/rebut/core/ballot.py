"""A ballot: what a person in a seat is shown and asked. The case in short, a few decisions by one letter, and remarks.

A protocol gives it along with a question. The answers become the same form that a model would fill in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

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
    """The field of the form; `a.b` is the field b of its part a."""
    ask: str
    usual: Mapping[str, str] = field(default_factory=dict)
    """Key of the first decision → the text that an empty line stands for; the empty key is for every other."""
    many: str | None = None
    """For a list with an entry per line: the field of an entry that has the text; empty if the text is the entry."""
    each: tuple[KeyChoice, ...] = ()
    """What is decided about every entry of a list."""
    cites: str = ""
    """The field of an entry that gets the places which its text cites; empty if there is none."""
    also: str = ""
    """Another field of an entry that gets the same text."""
    least: int = 0
    """How many entries a list needs."""


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
    argued: bool = False
    """Whether every ruling needs a reason: where a person debates, the reason is what counts."""
    cites: str = ""
    """The name of the places that the reason cites; empty if there is none."""


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
    text: str = ""
    """What it is about, such as a diff: shown below the case, line by line; of a long one the beginning."""
    rest: Mapping[str, Json] = field(default_factory=dict)
    """The fields of the form that a person is not asked for."""


def answered(ballot: Ballot, sent: Mapping[str, Any]) -> tuple[dict[str, Json], str]:
    """The form that a ballot fills, from what a person sent at once, and what is still missing; empty if nothing is.

    `picks` has a key for each decision, `rulings` a key, severity and reason for each id, `remarks` a text or, for a
    list, its entries, and `reason` the one that goes with the decision.
    """
    picks, rulings, remarks = (_table(sent.get(name)) for name in ("picks", "rulings", "remarks"))
    form: dict[str, Json] = dict(ballot.rest)
    first = ""
    for pick in ballot.picks:
        option = _option(pick.options, picks.get(pick.name))
        if option is None:
            return {}, f"Choose one: {pick.ask or ', '.join(one.key for one in pick.options)}"
        first = first or option.key
        form[pick.name] = option.value
    for remark in ballot.remarks:
        said = remarks.get(remark.name)
        if remark.many is not None:
            lines = [str(line).strip() for line in said] if isinstance(said, list) else []
            form[remark.name] = [{remark.many: line} if remark.many else line for line in lines if line]
            continue
        text = str(said or "").strip() or remark.usual.get(first, remark.usual.get("", ""))
        if not text:
            return {}, f"An answer is needed: {remark.ask}"
        form[remark.name] = text
    if ballot.aside:
        form[ballot.aside] = str(sent.get("reason") or "").strip()
    if ballot.rulings:
        ruled: list[Json] = []
        for row in ballot.rulings.rows:
            made = _table(rulings.get(row.id))
            option = _option(ballot.rulings.options, made.get("key"))
            if option is None and not row.stands:
                return {}, f"Rule on {row.id}: {row.title}"
            if option is not None:
                one: dict[str, Json] = {"id": row.id, ballot.rulings.ruling: option.value}
                one[ballot.rulings.reason] = str(made.get("reason") or "").strip()
                severity = str(made.get("severity") or row.severity)
                ruled.append(one | ({ballot.rulings.severity: severity} if ballot.rulings.severity else {}))
        form[ballot.rulings.name] = ruled
    return form, ""


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _option(options: Sequence[Option], key: object) -> Option | None:
    return next((one for one in options if one.key == key), None)
