"""JSON schemas as the stricter providers take them. What is left out here, the engine still checks in the reply."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from rebut.core.types import Json, Request

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
    """The schema's name in the characters that providers take."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", request.schema_name)[:64] or "reply"


def schema_in_prompt(request: Request) -> str:
    """The question for a model that takes no schema, which then stands in the words."""
    return request.prompt + SCHEMA_IN_PROMPT.format(json.dumps(request.schema, ensure_ascii=False))


def schema_blamed(words: str, status: int) -> bool:
    """Whether a server's error is about the schema, as far as its words tell."""
    if re.search(r"response_format|json_schema|schema|structured|grammar|requested parameters", words):
        return True
    return status == 501 or (status in (400, 422) and bool(NOT_KNOWN.search(words)))


def closed(schema: Mapping[str, Json]) -> Node:
    """Objects take no further properties, and bounds on size and number are gone.

    An object that is a free mapping stays as it is, for the provider to refuse: to close it would forbid all content.
    """

    def close(node: Node) -> Node:
        kept = {key: value for key, value in node.items() if key not in _BOUNDS}
        if kept.get("minItems") not in (None, 0, 1):
            del kept["minItems"]
        if "properties" in kept and kept.get("additionalProperties") in (None, True):
            kept["additionalProperties"] = False
        return kept

    return _each(schema, close)


def bare_references(schema: Mapping[str, Json]) -> Node:
    """A reference stands alone: no description or default beside it."""

    def bare(node: Node) -> Node:
        return {key: value for key, value in node.items() if key.startswith("$")} if "$ref" in node else node

    return _each(schema, bare)


def _each(schema: Mapping[str, Json], change: Callable[[Node], Node]) -> Node:
    """Apply a change to a schema and all schemas inside it; names of properties and values are not schemas."""
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
