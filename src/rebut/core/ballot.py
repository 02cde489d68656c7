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
    draft: str = ""
    """The text as it is so far: the editor opens with it, and an empty line keeps it."""


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
class RulingList:
    """The list of the form for one kind of ruling, and the names of its fields there."""

    name: str
    reason: str
    cites: str = ""
    id: str = "id"


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
    lists: Mapping[str, RulingList] = field(default_factory=dict)
    """Ruling → the list that it goes into; without any, all go into the list `name`."""


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


# The parts of the form that a ballot fills, however a person is asked.


def ruling(rulings: Rulings, row: Listed, value: Json, severity: str, why: str) -> dict[str, Json]:
    """One ruling as the form has it."""
    made: dict[str, Json] = {"id": row.id, rulings.ruling: value, rulings.reason: why}
    made |= {rulings.cites: cited(why)} if rulings.cites else {}
    return made | ({rulings.severity: severity or row.severity} if rulings.severity else {})


def in_lists(rulings: Rulings, made: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """The fields of the form that rulings fill, made one by one."""
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
    """One entry of a list as the form has it; `decided` are the choices about it."""
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
    """The fields of a form: those of its parts are put into these."""
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
    """The form that a ballot fills, from what a person sent at once; `Unfilled` if something is missing.

    `picks` has a key for each decision, `rulings` a key, severity and reason for each id, `remarks` a text or, for a
    list, a text and the keys of its decisions for each entry, and `reason` the one that goes with the first decision.
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
