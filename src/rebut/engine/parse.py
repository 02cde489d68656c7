"""Reading a structured reply: parsed strictly, else repaired, then validated. What fails can be sent back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from rebut.core.json_value import Json
from rebut.core.text import clean

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

T = TypeVar("T", bound="BaseModel")

MAX_REPLY = 4_000_000
MAX_REPAIR = 200_000
DEEPEST_REPAIR = 100
MOST_FENCES = 8
_OPENING = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*(?:json\w*)?[ \t]*$", re.I)
_TOKEN = re.compile(r'"|\\.|[^"\\]+|\\', re.S)
_COMMA = re.compile(r",(?=\s*[}\]])")


class UnreadableReply(ValueError):
    """The reply is not what was asked for. The message can be sent back to the model."""


def parse(text: str, schema: type[T], *, truncated: bool = False) -> T:
    """Read `text` as a `schema`. Raises `UnreadableReply`.

    Repair runs only on a reply that the provider did not cut off: a repaired half would count as a whole argument.
    """
    from pydantic import ValidationError

    if len(text) > MAX_REPLY:
        raise UnreadableReply(f"the reply is {len(text):,} characters long; at most {MAX_REPLY:,} are read")
    if truncated:
        raise UnreadableReply("the reply was cut off at the output limit; answer again, shorter")
    problem = "no JSON object was found in the reply"
    for found in _objects(text):
        try:
            return schema.model_validate(_tidy(found) if "\\" in text else found)
        except ValidationError as error:
            problem = _explained(error)
    raise UnreadableReply(problem)


def _objects(text: str) -> Iterator[dict[str, object]]:
    """The JSON objects that the reply may mean, the most likely first."""
    bare = text.strip()
    strict = False
    if (found := _loaded(bare)) is not None:  # nearly every reply; nothing else is tried yet
        strict = True
        yield found
    fenced = list(_fenced(text))
    start, end = bare.find("{"), bare.rfind("}")
    inner = bare[start : end + 1] if 0 <= start < end else ""
    # The most common error is repaired exactly; the general repair below may alter texts with quotes and backslashes.
    without_commas = (_without_commas(candidate) for candidate in (*fenced, inner))
    for candidate in chain((*fenced, inner), without_commas):
        if (found := _loaded(candidate)) is not None:
            strict = True
            yield found
    if strict or start < 0:
        return
    from json_repair import repair_json

    for candidate in [*fenced, inner or bare[start:]]:
        if _is_cut(candidate) or _is_cut(bare[start:]):
            continue  # visibly cut off, though the provider did not report it
        if len(candidate) > MAX_REPAIR or _depth(candidate) > DEEPEST_REPAIR:
            continue  # repair takes minutes on deep or long repetition, and blocks the event loop meanwhile
        try:
            repaired = repair_json(candidate, return_objects=True)
        except (ValueError, RecursionError):
            continue
        if isinstance(repaired, dict) and repaired:  # prose gives '', two objects give a list: neither is an answer
            yield repaired


def _loaded(candidate: str) -> dict[str, object] | None:
    try:
        found = json.loads(candidate)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _fenced(text: str) -> Iterator[str]:
    """The bodies of fenced blocks, in one pass over the lines: a regular expression could be made to take hours."""
    fence, body, count = "", list[str](), 0
    for line in text.split("\n"):
        if fence:
            if line.strip() == fence:
                yield "\n".join(body)
                fence, count = "", count + 1
            else:
                body.append(line)
        elif count < MOST_FENCES and (opened := _OPENING.fullmatch(line)):
            fence, body = opened[1], []


def _tidy(found: object) -> object:
    """Without control characters and lone surrogates, which a reply may contain as escapes."""
    match found:
        case str():
            return clean(found)
        case list():
            return [_tidy(item) for item in found]
        case dict():
            return {_tidy(key): _tidy(item) for key, item in found.items()}
        case _:
            return found


def _split(text: str) -> tuple[list[str], list[str], bool]:
    """The text outside of strings, the strings between, and whether the text ends inside a string. One pass."""
    outside, inside, quoted = [""], list[str](), False
    for token in _TOKEN.findall(text):
        if token == '"':
            quoted = not quoted
            if quoted:
                inside.append("")
            else:
                outside.append("")
        elif quoted:
            inside[-1] += token
        else:
            outside[-1] += token
    return outside, inside, quoted


def _without_commas(text: str) -> str:
    """Without commas before a closing bracket; strings are unchanged."""
    outside, inside, quoted = _split(text)
    if quoted:
        return text
    parts = [_COMMA.sub("", outside[0])]
    for words, rest in zip(inside, outside[1:], strict=True):
        parts.append(f'"{words}"{_COMMA.sub("", rest)}')
    return "".join(parts)


def _is_cut(text: str) -> bool:
    """Whether the text ends inside a string or an object. Braces inside strings do not count."""
    outside, _, quoted = _split(text)
    plain = "".join(outside)
    return quoted or plain.count("{") > plain.count("}")


def _depth(text: str) -> int:
    """How deep the brackets nest, including those inside strings."""
    depth = deepest = 0
    for bracket in re.findall(r"[{}\[\]]", text):
        depth += 1 if bracket in "{[" else -1
        deepest = max(deepest, depth)
    return deepest


def _explained(error: ValidationError) -> str:
    rows = []
    for row in error.errors(include_url=False, include_input=False)[:6]:
        where = ".".join(str(part) for part in row["loc"]) or "the reply"
        rows.append(f"{where}: {row['msg']}")
    return "; ".join(rows)


def fits(schema: type[BaseModel], value: Json) -> bool:
    """Whether a recorded value still fits its form."""
    from pydantic import ValidationError

    try:
        schema.model_validate(value)
    except ValidationError:
        return False
    return True
