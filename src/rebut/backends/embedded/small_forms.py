"""Forms filled in by a model that is too small to write JSON by itself.

Under the grammar of a whole form, such a model writes valid JSON without content. So each text field is asked for in
plain text, with the field's description as the question; then all small values (a choice, yes or no, a number, an id)
are asked for at once, under a grammar. Optional fields are left out. If the reply is sent back, only the fields that
the complaints name are asked for again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from rebut.core.errors import ParticipantFailed
from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.core.text import decoded
from rebut.core.types import SentBack

SENTENCES, LISTED = 60, 90
"""Tokens for a field of a few sentences, and for a list of them."""
ITEMS = 3
"""The most entries of a list."""
LONGEST = 600
"""The most characters of an entry."""
MOST_IDS = 6
MOST_TURNS = 24
_ID = r"[A-OQ-Z]\d{1,3}"  # P1 to P3 are severities
_DEFINED = re.compile(rf"^[ \t>*#-]*({_ID})\b", re.M)
_ASKED = re.compile(rf"\b({_ID})\b(?=[,)]|\s+(?:is|cites)\b)")
_SMALL = ("boolean", "integer", "number")
_CONSTRAINTS = ("type", "enum", "minimum", "maximum", "description")
_COMMON = frozenset(("position", "evidence", "answered", "sentences"))
"""Long words of descriptions that do not tell one field from another."""

Schema = Mapping[str, Any]


class SmallModel(Protocol):
    """How the model is reached. Each question follows the same shortened prompt."""

    def write(self, question: str, most: int) -> str: ...

    def choose(self, question: str, schema: Schema, most: int) -> Json: ...


@frozen
class Choice:
    """A small value that is still to be chosen."""

    label: str
    schema: Schema
    kept: tuple[str, ...] = ()
    """The entries that a list of ids had before the reply was sent back."""


@frozen
class TextWithId:
    """A text that must name an id, and the choice of that id."""

    text: str
    id: Choice


Tree = Json | Choice | TextWithId | list["Tree"] | dict[str, "Tree"]
"""A reply in which the small values are still missing."""


def filled(schema: Schema, prompt: str, sent_back: SentBack | None, model: SmallModel) -> Json:
    """A value of the schema, made of what the model answers."""
    form = _Form(schema, prompt, sent_back, model)
    return form.choose_all(form.tree())


class _Form:
    def __init__(self, schema: Schema, prompt: str, sent_back: SentBack | None, model: SmallModel) -> None:
        self._schema = schema
        self._definitions: Schema = schema.get("$defs", {})
        self._model = model
        self._turns = 0
        self._written: list[str] = []
        rows = sent_back.complaints if sent_back else ()
        self._complaints = "\n".join(rows).lower()
        self._before = _object_in(sent_back.reply) if sent_back else {}
        tail = prompt.rpartition("«end ")[2].partition("»")[2] or prompt
        self._complaint_ids = _unique(_ASKED.findall("\n".join(rows)))
        self._asked = _unique([*_ASKED.findall(tail), *self._complaint_ids])
        """Ids that the question itself names: a list by id has one entry for each."""
        self._ids = _unique([*_DEFINED.findall(prompt), *self._asked])

    def tree(self) -> Tree:
        """Fill all fields, or after a send-back only those that the complaints name: the others stay as they were."""
        parts = self._properties(self._schema)
        to_redo = (
            {name: part for name, part in parts.items() if self._has_complaint(name, part)} if self._before else {}
        )
        if not to_redo:
            return self._object(self._schema, "")
        return {**self._before, **self._object({"properties": to_redo, "required": list(to_redo)}, "")}

    def choose_all(self, tree: Tree) -> Json:
        """Ask for all small values at once, and insert them."""
        choices = {choice.label: choice for choice in _choices(tree)}
        if not choices:
            return _inserted(tree, {})
        schema = {
            "type": "object",
            "properties": {label: dict(choice.schema) for label, choice in choices.items()},
            "required": list(choices),
            "additionalProperties": False,
        }
        question = CHOICES.format(written="\n".join(self._written), rows="\n".join(map(_row, choices.values())))
        most = 40 + sum(30 if "enum" in choice.schema else 30 + 15 * ITEMS for choice in choices.values())
        values = self._model.choose(question, schema, most)
        if not isinstance(values, dict) or set(choices) - set(values):
            raise ParticipantFailed("bad reply", "the model did not finish choosing")
        return _inserted(tree, values)

    def _fill(self, schema: Schema, label: str, about: str = "", given: str = "") -> Tree:
        """The value of one field. If `given` is not empty, a text field takes it; otherwise the model is asked."""
        schema = self._resolved(schema)
        kind = schema.get("type")
        if "const" in schema:
            constant: Json = schema["const"]
            return constant
        if kind == "null":
            return None
        if "enum" in schema or kind in _SMALL:
            return Choice(label, {key: schema[key] for key in _CONSTRAINTS if key in schema})
        if kind == "object":
            return self._object(schema, label, given)
        if kind == "array":
            return self._array(schema, label, about)
        return given or self._text(label, about)

    def _object(self, schema: Schema, label: str, given: str = "") -> dict[str, Tree]:
        out: dict[str, Tree] = {}
        for name, part in self._properties(schema).items():
            resolved = self._resolved(part)
            about = _description(part) or _description(resolved)
            inner = f"{label}, {_spaced(name)}" if label else _spaced(name)
            if self._is_id_list(resolved, about):
                out[name] = self._id_list(name, inner)
            elif name in schema.get("required", ()) or part.get("x-asked"):
                takes = given if resolved.get("type") == "string" and "enum" not in resolved else ""
                out[name] = self._fill(part, inner, about, takes)
                given = "" if takes else given
        return out

    def _array(self, schema: Schema, label: str, about: str) -> Tree:
        each = self._resolved(schema.get("items", {}))
        if "enum" in each or each.get("type") in _SMALL:
            return [self._fill(each, f"{label} 1")]
        if self._ids and "id" in self._properties(each) and "id" in each.get("required", ()):
            return [self._by_id(each, id) for id in (self._asked or self._ids)[:MOST_IDS]]
        answer = self._answer(LIST.format(label=label, about=_colon(about)), LISTED)
        found = [] if re.match(r"(?i)\W*none\b", answer) else listed(answer)
        return [self._fill(each, f"{label} {n}", given=text) for n, text in enumerate(found, 1)]

    def _by_id(self, schema: Schema, id: str) -> Tree:
        return {
            name: id if name == "id" else self._fill(part, f"{_spaced(name)} on {id}", _description(part))
            for name, part in self._properties(schema).items()
            if name in schema.get("required", ())
        }

    def _id_list(self, name: str, label: str) -> Choice:
        earlier = self._before.get(name)
        kept = tuple(str(id) for id in earlier) if isinstance(earlier, list) else ()
        options = [id for id in self._complaint_ids if id not in kept] or self._ids
        few: Schema = {"type": "array", "items": {"enum": list(options)}, "maxItems": len(options[:ITEMS])}
        return Choice(label, {**few, "minItems": 1} if self._complaint_ids else few, kept)

    def _text(self, label: str, about: str) -> Tree:
        text = self._answer(TEXT.format(label=label, about=_colon(about)), SENTENCES)
        if self._ids and re.search(r"\bids\b", about) and not any(re.search(rf"\b{id}\b", text) for id in self._ids):
            return TextWithId(text, Choice(f"what decides the {label}", {"enum": list(self._ids)}))
        return text

    def _answer(self, question: str, most: int) -> str:
        for _ in range(2):
            self._turns += 1
            if self._turns > MOST_TURNS:
                raise ParticipantFailed("bad reply", "this form has more fields than a model this small can fill")
            if text := tidied(self._model.write(question, most)):
                self._written.append(text)
                return text
        raise ParticipantFailed("bad reply", f"the model wrote nothing when asked: {question}")

    def _properties(self, schema: Schema) -> dict[str, Schema]:
        return dict(schema.get("properties", {}))

    def _resolved(self, schema: Schema) -> Schema:
        """The schema without references, reduced to one of its alternatives: null if it is allowed, else the first."""
        if "$ref" in schema:
            target = self._definitions[schema["$ref"].rpartition("/")[2]]
            return self._resolved({**target, **{key: value for key, value in schema.items() if key != "$ref"}})
        options = schema.get("anyOf") or schema.get("oneOf")
        if not options:
            return schema
        return self._resolved(next((option for option in options if option.get("type") == "null"), options[0]))

    def _is_id_list(self, schema: Schema, about: str) -> bool:
        texts = "items" in schema and self._resolved(schema["items"]).get("type") == "string"
        return bool(self._ids) and texts and bool(re.search(r"\bids\b", about))

    def _has_complaint(self, name: str, part: Schema) -> bool:
        """Whether a complaint names this field: by its name, the name of a part, or a long word of its description."""
        words = {_spaced(name), *map(_spaced, self._properties(self._resolved(part)))}
        words |= set(re.findall(r"[a-z]{8,}", _description(part).lower())) - _COMMON
        return any(re.search(rf"\b{re.escape(re.sub('e?s$', '', word))}", self._complaints) for word in words)


def _choices(tree: Tree) -> Iterator[Choice]:
    if isinstance(tree, Choice):
        yield tree
    elif isinstance(tree, TextWithId):
        yield tree.id
    elif isinstance(tree, dict | list):
        for inner in tree.values() if isinstance(tree, dict) else tree:
            yield from _choices(inner)


def _inserted(tree: Tree, values: Mapping[str, Json]) -> Json:
    """The tree with the chosen values in place of its choices."""
    if isinstance(tree, Choice):
        value = values[tree.label]
        return list(dict.fromkeys([*tree.kept, *map(str, value)])) if isinstance(value, list) else value
    if isinstance(tree, TextWithId):
        return f"{tree.text} ({values[tree.id.label]})"
    if isinstance(tree, dict):
        return {name: _inserted(inner, values) for name, inner in tree.items()}
    if isinstance(tree, list):
        return [_inserted(inner, values) for inner in tree]
    return tree


def _row(choice: Choice) -> str:
    """A choice as the model is asked for it: its label, its options and its description."""
    options = choice.schema.get("enum") or choice.schema.get("items", {}).get("enum")
    shown = f" ({' or '.join(map(str, options))})" if options else ""
    return f"- {choice.label}{shown}{_colon(_description(choice.schema))}"


def _description(schema: Schema) -> str:
    return " ".join(schema.get("description", "").split()).rstrip(".")


def _colon(about: str) -> str:
    return f": {about}" if about else ""


def _spaced(name: str) -> str:
    return name.replace("_", " ").lower()


def _object_in(text: str) -> dict[str, Json]:
    found = decoded(text)
    return found if isinstance(found, dict) else {}


def _unique(found: list[str]) -> list[str]:
    return list(dict.fromkeys(found))


# The plain text that a small model writes. ----------------------------------------------------------------------------

_BULLET = re.compile(r"^\s*(?:[-*•–]|\(?\d{1,2}[.):]|[a-z]\))\s+")
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[A-Z\"'(])")


def tidied(text: str) -> str:
    """The text without code fences, headings, emphasis and a last sentence that was cut off."""
    lines = [re.sub(r"^\s*#+\s*", "", line).replace("**", "").rstrip() for line in text.splitlines()]
    lines = [line for line in lines if line.strip() and not re.match(r"\s*(```|«|»|<<)", line)]
    whole = "\n".join(lines).strip()
    if whole[:1] == whole[-1:] == '"' and whole.count('"') == 2:
        whole = whole[1:-1].strip()
    ended = max(whole.rfind(mark) for mark in ".!?")
    return whole[: ended + 1] if ended > len(whole) // 3 else whole


def listed(text: str) -> list[str]:
    """The entries of a list, numbered or not; for running text, its sentences."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    rows = [_BULLET.sub("", line) for line in lines if _BULLET.match(line)]
    if not rows:
        rows = [sentence for line in lines for sentence in _SENTENCE.split(line)]
    entries = [row.strip()[:LONGEST] for row in rows if len(row.split()) > 2] or [text[:LONGEST]]
    return _unique([entry for entry in entries if not entry.endswith("?")] or entries)[:ITEMS]


TEXT = "Write your {label}{about}. One or two plain sentences, no JSON."
LIST = "List your {label}{about}. Two or three, numbered, one plain sentence each, no JSON."
CHOICES = """You wrote:
{written}

Now fill in these small fields, as JSON:
{rows}"""
