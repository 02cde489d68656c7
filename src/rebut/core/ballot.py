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
    """A text that a person is asked for, often with a default."""

    name: str
    """The field of the form; `a.b` is the field b of its part a."""
    ask: str
    usual: Mapping[str, str] = field(default_factory=dict)
    """Key of the first decision → the default text, for an empty line; the empty key is for all other decisions."""
    many: str | None = None
    """For a list with an entry per line: the field of an entry that gets the text; empty if the text is the entry."""
    each: tuple[KeyChoice, ...] = ()
    """The decisions about each entry of a list."""
    cites: str = ""
    """The field of an entry that gets the places which its text cites; empty if there is none."""
    also: str = ""
    """Another field of an entry that gets the same text."""
    least: int = 0
    """How many entries a list needs."""
    draft: str = ""
    """The text as it is so far: the editor opens with it, and an empty line keeps it."""


@frozen
class Listed:
    """One thing that a person can rule on, such as a finding."""

    id: str
    title: str
    text: str
    severity: str = ""
    stands: str = ""
    """The ruling that was made already, in words; empty if the person must rule."""


@frozen
class RulingList:
    """The list of the form for one kind of ruling, and the names of the fields of its entries."""

    name: str
    reason: str
    cites: str = ""
    id: str = "id"


@frozen
class Rulings:
    """Several things that a person rules on, each by one key. The rulings fill one or more lists of the form."""

    name: str
    rows: tuple[Listed, ...]
    options: tuple[Option, ...]
    ruling: str = "ruling"
    """The field of an entry that gets the ruling."""
    severity: str = ""
    """The field of an entry that gets the severity, which the person may then edit; empty if there is none."""
    reason: str = "reason"
    """The field of an entry that gets the reason."""
    noun: str = "finding"
    argued: bool = False
    """Whether every ruling needs a reason: where a person debates, the reason is what counts."""
    cites: str = ""
    """The field of an entry that gets the places which the reason cites; empty if there is none."""
    lists: Mapping[str, RulingList] = field(default_factory=dict)
    """Ruling → the list that it is added to; if this is empty, all rulings are added to the list `name`."""


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
    """The field of a reason that the person may add before the first decision; empty if there is none."""
    table: tuple[tuple[str, ...], ...] = ()
    """Rows of a table that is shown below the case, the header first."""
    text: str = ""
    """The text to judge, such as a diff: its lines, or the first of many, are shown below the case."""
    rest: Mapping[str, Json] = field(default_factory=dict)
    """The fields of the form that a person is not asked for."""


# The parts of the form that a ballot fills, however a person is asked.


def ruling(rulings: Rulings, row: Listed, value: Json, severity: str, why: str) -> dict[str, Json]:
    """One ruling as an entry of the form."""
    made: dict[str, Json] = {"id": row.id, rulings.ruling: value, rulings.reason: why}
    made |= {rulings.cites: cited(why)} if rulings.cites else {}
    return made | ({rulings.severity: severity or row.severity} if rulings.severity else {})


def in_lists(rulings: Rulings, made: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """The lists of the form, filled with the rulings `made`."""
    if not rulings.lists:
        return {rulings.name: [dict(row) for row in made]}
    out: dict[str, list[Json]] = {one.name: [] for one in rulings.lists.values()}
    for row in made:
        into, why = rulings.lists[str(row[rulings.ruling])], row[rulings.reason]
        filled: dict[str, Json] = {into.id: row["id"], into.reason: why}
        filled |= {into.cites: cited(str(why))} if into.cites else {}
        out[into.name].append(filled)
    return dict(out)


def entry(remark: Remark, said: str, decided: Mapping[str, Json]) -> Json:
    """One entry of a list of the form, with the text `said`; `decided` are the decisions about it."""
    if not remark.many:
        return said
    made: dict[str, Json] = {remark.many: said}
    made |= {remark.also: said} if remark.also else {}
    made |= {remark.cites: cited(said)} if remark.cites else {}
    return made | dict(decided)


def cited(text: str) -> list[Json]:
    """The places that a person's text cites, with the words that it quotes."""
    from rebut.core.citation_syntax import find_citations

    return [{"place": one.citation.place, "quote": one.citation.quote} for one in find_citations(text)]


def nested(fields: Mapping[str, Json]) -> dict[str, Json]:
    """The fields of a form, with `a.b` moved into the part `a` as its field `b`."""
    out: dict[str, Json] = {}
    for name, value in fields.items():
        part, dot, inner = name.partition(".")
        if dot:
            within = out.setdefault(part, {})
            assert isinstance(within, dict)
            within[inner] = value
        else:
            out[name] = value
    return out


class Unfilled(Exception):
    """Something that a ballot needs is missing; the message says what."""


def answered(ballot: Ballot, sent: Mapping[str, Any]) -> dict[str, Json]:
    """The filled form, from all that a person entered, sent at once; `Unfilled` if something is missing.

    In `sent`, `picks` has a key for each decision, `rulings` a key, severity and reason for each id, `remarks` a text
    or, for a list, a text and the keys of its decisions for each entry, and `reason` the reason for the first decision.
    """
    picks, rulings, remarks = (_table(sent.get(name)) for name in ("picks", "rulings", "remarks"))
    form: dict[str, Json] = dict(ballot.rest)
    first = ""
    for pick in ballot.picks:
        option = _needed(pick, picks.get(pick.name))
        first = first or option.key
        form[pick.name] = option.value
    for remark in ballot.remarks:
        form[remark.name] = _remark(remark, remarks.get(remark.name), first)
    if ballot.aside:
        form[ballot.aside] = _text(sent.get("reason"))
    if ballot.rulings:
        rows = ((row, _table(rulings.get(row.id))) for row in ballot.rulings.rows)
        form |= in_lists(
            ballot.rulings, [made for row, said in rows if (made := _ruling(ballot.rulings, row, said)) is not None]
        )
    return nested(form)


def _remark(remark: Remark, said: object, first: str) -> Json:
    if remark.many is None:
        text = _text(said) or remark.draft or remark.usual.get(first, remark.usual.get("", ""))
        if not text:
            raise Unfilled(f"An answer is needed: {remark.ask}")
        return text
    out = list[Json]()
    for one in said if isinstance(said, list) else ():
        row = _table(one)
        if text := _text(row.get("text")):
            keys = _table(row.get("picks"))
            out.append(entry(remark, text, {p.name: _needed(p, keys.get(p.name)).value for p in remark.each}))
    if len(out) < remark.least:
        raise Unfilled(f"At least one is needed: {remark.ask}")
    return out


def _ruling(rulings: Rulings, row: Listed, said: Mapping[str, Any]) -> dict[str, Json] | None:
    option = next((one for one in rulings.options if one.key == said.get("key")), None)
    if option is None:
        if row.stands:
            return None
        raise Unfilled(f"Rule on {row.id}: {row.title}")
    why = _text(said.get("reason"))
    if rulings.argued and not why:
        raise Unfilled(f"A reason is needed for {row.id}: {row.title}")
    return ruling(rulings, row, option.value, _text(said.get("severity")), why)


def _needed(pick: KeyChoice, key: object) -> Option:
    option = next((one for one in pick.options if one.key == key), None)
    if option is None:
        raise Unfilled(f"Choose one: {pick.ask or ', '.join(one.key for one in pick.options)}")
    return option


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
