"""A form, filled in by a model too small to write one: its words are asked for in plain text, one field at a time, and
only what is small (a choice, a yes or no, a number, an id) is written under a grammar.

Under the grammar of a whole form such a model writes valid JSON with nothing in it. What a field needs stands in its
description. Fields that may be left out are left out; of a reply that is sent back, only what was missed is asked anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from rebut.core.errors import ParticipantFailed
from rebut.core.types import Json

SENTENCES, LISTED = 60, 90
"""Tokens for a field of a few sentences, and for a list of them."""
MOST_IDS = 6
MOST_TURNS = 24
_ID = r"[A-OQ-Z]\d{1,3}"  # P1 to P3 are severities
_DEFINED = re.compile(rf"^[ \t>*#-]*({_ID})\b", re.M)
_ASKED = re.compile(rf"\b({_ID})\b(?=[,)]|\s+(?:is|cites)\b)")


class Talk(Protocol):
    """The way to the model: each question stands by itself, below what the model is shown."""

    def say(self, question: str, most: int) -> str: ...

    def choose(self, question: str, schema: Schema, most: int) -> Json: ...


def filled(schema: Schema, prompt: str, followup: str, talk: Talk) -> Json:
    """The form as the model would have it."""
    form = _Form(schema, prompt, followup, talk)
    return form.chosen(form.tree())


class _Form:
    def __init__(self, schema: Schema, prompt: str, followup: str, talk: Talk) -> None:
        self._schema = schema
        defs = schema.get("$defs")
        self._defs = defs if isinstance(defs, dict) else {}
        self._talk = talk
        self._turns = 0
        self._written: list[str] = []
        rows = [line for line in unquoted(followup).splitlines() if line.startswith("- ")]
        self._complaints = "\n".join(rows).lower()
        self._before = _object_in(first_quoted(followup)) if rows else {}
        tail = prompt.rpartition("«end ")[2].partition("»")[2] or prompt
        self._missed = unique(_ASKED.findall("\n".join(rows)))
        self._asked = unique([*_ASKED.findall(tail), *self._missed])
        """Ids that the question itself names: a list by id has one entry for each."""
        self._ids = unique([*_DEFINED.findall(prompt), *self._asked])

    def tree(self) -> Tree:
        """All fields; after a send-back, those that the complaints are about, and the others as they were."""
        parts = list(self._parts(self._schema))
        missed = {name for name, part, _ in parts if self._is_missed(name, part)} if self._before else set()
        if not missed:
            return self._object(self._schema, "")
        out: dict[str, Tree] = dict(self._before)
        properties: dict[str, Json] = {name: dict(part) for name, part, _ in parts if name in missed}
        out.update(self._object({"properties": properties, "required": list(properties)}, ""))
        return out

    def _fill(self, schema: Schema, label: str, about: str = "", given: str = "") -> Tree:
        """The value of one field; `given` are words that were already said for it."""
        schema = self._plain(schema)
        kind = schema.get("type")
        if "const" in schema:
            return schema["const"]
        if kind == "null":
            return None
        if "enum" in schema or kind in ("boolean", "integer", "number"):
            return Hole(label, {key: schema[key] for key in _CONSTRAINTS if key in schema})
        if kind == "object":
            return self._object(schema, label, given)
        if kind == "array":
            return self._array(schema, label, about)
        return given or self._text(label, about)

    def _object(self, schema: Schema, label: str, given: str = "") -> dict[str, Tree]:
        out: dict[str, Tree] = {}
        for name, part, required in self._parts(schema):
            plain = self._plain(part)
            about = described(part) or described(plain)
            inner = f"{label}, {_words(name)}" if label else _words(name)
            if self._is_id_list(plain, about):
                out[name] = self._id_list(name, inner)
            elif required:
                takes = given if plain.get("type") == "string" and "enum" not in plain else ""
                out[name] = self._fill(part, inner, about, takes)
                given = "" if takes else given
        return out

    def _array(self, schema: Schema, label: str, about: str) -> Tree:
        items = schema.get("items")
        each = self._plain(items if isinstance(items, dict) else {})
        if "enum" in each or each.get("type") in ("boolean", "integer", "number"):
            return [self._fill(each, f"{label} 1")]
        if self._ids and "id" in [name for name, _, required in self._parts(each) if required]:
            return [self._by_id(each, id) for id in (self._asked or self._ids)[:MOST_IDS]]
        said = self._heard(LIST.format(label=label, about=colon(about)), LISTED)
        found = [] if re.match(r"(?i)\W*none\b", said) else listed(said)
        return [self._fill(each, f"{label} {n}", given=text) for n, text in enumerate(found, 1)]

    def _by_id(self, schema: Schema, id: str) -> Tree:
        out: dict[str, Tree] = {}
        for name, part, required in self._parts(schema):
            if required:
                out[name] = id if name == "id" else self._fill(part, f"{_words(name)} on {id}", described(part))
        return out

    def _id_list(self, name: str, label: str) -> Hole:
        earlier = self._before.get(name)
        kept = tuple(str(id) for id in earlier) if isinstance(earlier, list) else ()
        options = [id for id in self._missed if id not in kept] or self._ids
        few: dict[str, Json] = {"type": "array", "items": {"enum": list(options)}, "maxItems": len(options[:ITEMS])}
        return Hole(label, {**few, "minItems": 1} if self._missed else few, kept)

    def _text(self, label: str, about: str) -> Tree:
        text = self._heard(TEXT.format(label=label, about=colon(about)), SENTENCES)
        if self._ids and re.search(r"\bids\b", about) and not any(re.search(rf"\b{id}\b", text) for id in self._ids):
            return IdChoice(text, Hole(f"what decides the {label}", {"enum": list(self._ids)}))
        return text

    def _heard(self, question: str, most: int) -> str:
        for _ in range(2):
            self._turns += 1
            if self._turns > MOST_TURNS:
                raise ParticipantFailed("bad reply", "this form has more fields than a model this small can fill")
            if text := tidied(self._talk.say(question, most)):
                self._written.append(text)
                return text
        raise ParticipantFailed("bad reply", f"the model said nothing when asked: {question}")

    def chosen(self, tree: Tree) -> Json:
        """Ask for all small things at once, and put them in."""
        holes = {hole.label: hole for hole in holes_in(tree)}
        values: Mapping[str, Json] = {}
        if holes:
            schema: dict[str, Json] = {
                "type": "object",
                "properties": {label: dict(hole.schema) for label, hole in holes.items()},
                "required": list(holes),
                "additionalProperties": False,
            }
            question = CHOICES.format(said="\n".join(self._written), rows="\n".join(map(row, holes.values())))
            most = 40 + sum(30 if "enum" in hole.schema else 30 + 15 * ITEMS for hole in holes.values())
            got = self._talk.choose(question, schema, most)
            if not isinstance(got, dict) or set(holes) - set(got):
                raise ParticipantFailed("bad reply", "the model did not finish choosing")
            values = got
        return put(tree, values)

    def _parts(self, schema: Schema) -> Iterator[tuple[str, Schema, bool]]:
        properties, needed = schema.get("properties"), schema.get("required")
        for name, part in (properties if isinstance(properties, dict) else {}).items():
            if isinstance(part, dict):
                yield name, part, isinstance(needed, list) and name in needed

    def _plain(self, schema: Schema) -> Schema:
        """Without references; of alternatives the emptiest, which is null, else the first."""
        while True:
            ref, options = schema.get("$ref"), schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
            if isinstance(ref, str):
                found = self._defs.get(ref.rpartition("/")[2])
                own = {name: value for name, value in schema.items() if name != "$ref"}
                schema = {**(found if isinstance(found, dict) else {}), **own}
            elif isinstance(options, list) and options:
                nulls = [o for o in options if isinstance(o, dict) and o.get("type") == "null"]
                first = (nulls or options)[0]
                schema = first if isinstance(first, dict) else {}
            else:
                return schema

    def _is_id_list(self, schema: Schema, about: str) -> bool:
        items = schema.get("items")
        texts = isinstance(items, dict) and self._plain(items).get("type") == "string"
        return bool(self._ids) and texts and bool(re.search(r"\bids\b", about))

    def _is_missed(self, name: str, part: Schema) -> bool:
        """Whether a complaint is about this field, by its name, its parts' names, or the long words about it."""
        plain = self._plain(part)
        words = {_words(name), *(_words(inner) for inner, _, _ in self._parts(plain))}
        words |= set(re.findall(r"[a-z]{8,}", described(part).lower())) - _COMMON
        return any(re.search(rf"\b{re.escape(re.sub('e?s$', '', word))}", self._complaints) for word in words)


def _object_in(text: str) -> dict[str, Json]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _words(name: str) -> str:
    return name.replace("_", " ").lower()


_CONSTRAINTS = ("type", "enum", "minimum", "maximum", "description")
_COMMON = frozenset(("position", "evidence", "answered", "sentences"))

TEXT = "Write your {label}{about}. One or two plain sentences, no JSON."
LIST = "List your {label}{about}. Two or three, numbered, one plain sentence each, no JSON."
CHOICES = """You wrote:
{said}

Now fill in these small fields, as JSON:
{rows}"""


# What a model with a small window is shown of a prompt, and how the rest is left out without opening a quote.

_FENCE = re.compile(r"^«(begin|end) ([^»\n]*)»$", re.M)
_TOPIC = "topic "


def shortened(text: str, most: int) -> str:
    """Without its middle, when it is too long. Quotes that the cut leaves open or opens are closed again (C7)."""
    if len(text) <= most:
        return text
    to, on = most * 2 // 5, len(text) - most * 3 // 5
    to, on = text.rfind("\n", 0, to) + 1 or to, text.find("\n", on) + 1 or on
    for fence in _FENCE.finditer(text):  # in a text of long lines, half a fence would be none
        to = fence.start() if fence.start() < to <= fence.end() else to
        on = fence.end() + 1 if fence.start() < on <= fence.end() else on
    closing, opening = (_quote_at(text, place) for place in (to, on))
    return (
        f"{text[:to]}[…]\n"
        + (f"«end {closing}»\n" if closing else "")
        + (f"«begin {opening}»\n[…]\n" if opening else "")
        + text[on:]
    )


def gist(prompt: str, most: int) -> str:
    """Who the reader is, and what is quoted, the topic last. Rules of debate only lead a very small model astray.

    A prompt that quotes nothing is kept whole, as far as there is space.
    """
    quotes = _quotes(prompt)
    if not quotes:
        return shortened(prompt, most)
    role = prompt.partition("\n\n")[0]
    role = "" if "«" in role else " ".join(role.split())[: most // 4]
    material = "\n\n".join(body for label, body in quotes if not label.startswith(_TOPIC))
    topic = shortened("\n\n".join(body for label, body in quotes if label.startswith(_TOPIC)), most // 3)
    space = most - len(role) - len(topic)
    return "\n\n".join(part for part in (role, shortened(material, space), topic) if part)


def _quotes(text: str) -> list[tuple[str, str]]:
    """Label with tag, and the whole quote, fences included."""
    found, inside, start = list[tuple[str, str]](), "", 0
    for fence in _FENCE.finditer(text):
        if not inside and fence[1] == "begin":
            inside, start = fence[2], fence.start()
        elif fence[1] == "end" and fence[2] == inside:
            found.append((inside, text[start : fence.end()]))
            inside = ""
    return found


def _quote_at(text: str, place: int) -> str:
    """Label and tag of the quote that a place stands in. Fences inside a quote are words: only its own tag ends it."""
    inside = ""
    for fence in _FENCE.finditer(text):
        if fence.start() >= place:
            break
        if not inside and fence[1] == "begin":
            inside = fence[2]
        elif fence[1] == "end" and fence[2] == inside:
            inside = ""
    return inside


def first_quoted(text: str) -> str:
    """The words of the first quote, without its fences; empty when nothing is quoted."""
    return _quotes(text)[0][1].partition("\n")[2].rpartition("\n")[0] if _quotes(text) else ""


def unquoted(text: str) -> str:
    """What the program itself says in it."""
    for _, quote in _quotes(text):
        text = text.replace(quote, "", 1)
    return text


# Holes: the small things of a form that are still to be chosen, where they stand, and how they are put in.

Schema = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Hole:
    """A small thing that is still to be chosen."""

    label: str
    schema: Schema
    kept: tuple[str, ...] = ()
    """What a list of ids held before it was sent back."""


@dataclass(frozen=True, slots=True)
class IdChoice:
    """A text that must name an id, and the id that the model is to choose for it."""

    text: str
    hole: Hole


Tree = Json | Hole | IdChoice | list["Tree"] | dict[str, "Tree"]


def holes_in(tree: Tree) -> Iterator[Hole]:
    if isinstance(tree, Hole):
        yield tree
    elif isinstance(tree, IdChoice):
        yield tree.hole
    elif isinstance(tree, dict | list):
        for inner in tree.values() if isinstance(tree, dict) else tree:
            yield from holes_in(inner)


def put(tree: Tree, values: Mapping[str, Json]) -> Json:
    if isinstance(tree, Hole):
        value = values[tree.label]
        return list(dict.fromkeys([*tree.kept, *map(str, value)])) if isinstance(value, list) else value
    if isinstance(tree, IdChoice):
        return f"{tree.text} ({values[tree.hole.label]})"
    if isinstance(tree, dict):
        return {name: put(inner, values) for name, inner in tree.items()}
    if isinstance(tree, list):
        return [put(inner, values) for inner in tree]
    return tree


def row(hole: Hole) -> str:
    items = hole.schema.get("items")
    options = hole.schema.get("enum") or (items.get("enum") if isinstance(items, dict) else None)
    said = f" ({' or '.join(map(str, options))})" if isinstance(options, list) else ""
    return f"- {hole.label}{said}{colon(described(hole.schema))}"


def described(schema: Schema) -> str:
    """What the schema says about it, on one line."""
    said = schema.get("description")
    return " ".join(said.split()).rstrip(".") if isinstance(said, str) else ""


def colon(said: str) -> str:
    return f": {said}" if said else ""


# Plain words out of what a small model wrote: without markup, as one text or as the entries of a list.

ITEMS = 3
LONGEST = 600
_BULLET = re.compile(r"^\s*(?:[-*•–]|\(?\d{1,2}[.):]|[a-z]\))\s+")
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[A-Z\"'(])")


def tidied(text: str) -> str:
    """Plain words: without fences, headings, emphasis and a last sentence that was cut off."""
    lines = [re.sub(r"^\s*#+\s*", "", line).replace("**", "").rstrip() for line in text.splitlines()]
    lines = [line for line in lines if line.strip() and not re.match(r"\s*(```|«|»|<<)", line)]
    whole = "\n".join(lines).strip()
    if whole[:1] == whole[-1:] == '"' and whole.count('"') == 2:
        whole = whole[1:-1].strip()
    ended = max(whole.rfind(mark) for mark in ".!?")
    return whole[: ended + 1] if ended > len(whole) // 3 else whole


def listed(text: str) -> list[str]:
    """The entries of a list, numbered or not; of running text its sentences."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    rows = [_BULLET.sub("", line) for line in lines if _BULLET.match(line)]
    if not rows:
        rows = [sentence for line in lines for sentence in _SENTENCE.split(line)]
    said = [row.strip()[:LONGEST] for row in rows if len(row.split()) > 2] or [text[:LONGEST]]
    return unique([row for row in said if not row.endswith("?")] or said)[:ITEMS]  # a question is no entry


def unique(found: list[str]) -> list[str]:
    return list(dict.fromkeys(found))
