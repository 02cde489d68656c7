"""A form, filled in by a model too small to write one: its words are asked for in plain text, one field at a time, and
only what is small (a choice, a yes or no, a number, an id) is written under a grammar.

Under the grammar of a whole form such a model writes valid JSON with nothing in it. What a field needs stands in its
description. Fields that may be left out are left out; of a reply that is sent back, only what was missed is asked anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Protocol

from rebut.backends.embedded.gist import first_quoted, unquoted
from rebut.backends.embedded.holes import Hole, Naming, Schema, Tree, about as described, colon, holes_in, put, row
from rebut.backends.embedded.plainwords import ITEMS, listed, tidied, unique
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
            return Naming(text, Hole(f"what decides the {label}", {"enum": list(self._ids)}))
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
