"""JSON schemas for providers that accept only a part of them. The engine checks the reply against the whole schema."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from rebut.core.json_value import Json
from rebut.core.types import Request

NOT_KNOWN = re.compile(
    r"max_completion_tokens|un(supported|known|recogni[sz]ed|expected)|not (supported|permitted)|extra"
)
_BOUNDS = frozenset(
    (
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"),
        *("maxItems", "uniqueItems", "minProperties", "maxProperties"),
    )
)
_NAMED = ("properties", "$defs", "definitions", "patternProperties")
_VALUES = ("enum", "const", "default", "examples", "required")

Node = dict[str, Json]


def schema_label(request: Request) -> str:
    """The schema's name in characters that providers accept."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", request.schema_name)[:64] or "reply"


def schema_in_prompt(request: Request) -> str:
    """The question with the schema in its text, for a model that does not accept a schema."""
    return request.prompt + SCHEMA_IN_PROMPT.format(json.dumps(request.schema, ensure_ascii=False))


def schema_blamed(words: str, status: int) -> bool:
    """Whether a server's error is about the schema, as far as its message shows."""
    if re.search(r"response_format|json_schema|schema|structured|grammar|requested parameters", words):
        return True
    return status == 501 or (status in (400, 422) and bool(NOT_KNOWN.search(words)))


_closed: dict[int, tuple[Mapping[str, Json], Node]] = {}
"""Identity of a schema → the schema and its closed form. The engine sends one object for all calls with a form; while
it is in here, no other object can have its identity."""


def closed(schema: Mapping[str, Json]) -> Node:
    """The schema without bounds on sizes and numbers, and with objects that allow no further properties. It is cached.

    An object that is a free mapping is unchanged, and the provider may refuse it: closing it would forbid all content.
    """
    known = _closed.get(id(schema))
    if known is None:
        if len(_closed) >= 256:
            _closed.clear()
        known = _closed[id(schema)] = schema, _close(schema)
    return known[1]


def _close(schema: Mapping[str, Json]) -> Node:

    def close(node: Node) -> Node:
        kept = {key: value for key, value in node.items() if key not in _BOUNDS}
        if kept.get("minItems") not in (None, 0, 1):
            del kept["minItems"]
        if "properties" in kept and kept.get("additionalProperties") in (None, True):
            kept["additionalProperties"] = False
        return kept

    return _each(schema, close)


def bare_references(schema: Mapping[str, Json]) -> Node:
    """The schema without descriptions and defaults beside its references."""

    def bare(node: Node) -> Node:
        return {key: value for key, value in node.items() if key.startswith("$")} if "$ref" in node else node

    return _each(schema, bare)


def _each(schema: Mapping[str, Json], change: Callable[[Node], Node]) -> Node:
    """Apply a change to a schema and to all schemas inside it; property names and values are not schemas."""
    out: Node = {}
    for key, value in schema.items():
        if key in _NAMED and isinstance(value, dict):
            out[key] = {
                name: _each(inner, change) if isinstance(inner, dict) else inner for name, inner in value.items()
            }
        elif key in _VALUES:
            out[key] = value
        elif isinstance(value, dict):
            out[key] = _each(value, change)
        elif isinstance(value, list):
            out[key] = [_each(inner, change) if isinstance(inner, dict) else inner for inner in value]
        else:
            out[key] = value
    return change(out)


SCHEMA_IN_PROMPT = """

Write your whole answer as a single JSON object, with no words and no code fence around it. It has to be valid against
this JSON schema:

{}"""
