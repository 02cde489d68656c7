"""Reading a structured reply: strict first, then repaired, then validated; what fails can be sent back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from rebut.core.text import clean
from rebut.core.types import Json

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
    """The reply does not hold what was asked for; the message is fit to be sent back to its author."""


def parse(text: str, schema: type[T], *, truncated: bool = False) -> T:
    """Read `text` as a `schema`. Raises `UnreadableReply`.

    Repair runs only on a reply that the provider did not cut: mending a truncated reply would pass half an
    argument off as a whole one.
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
            problem = _said(error)
    raise UnreadableReply(problem)


def _objects(text: str) -> Iterator[dict[str, object]]:
    """The JSON objects that the reply may be, best guess first."""
    bare = text.strip()
    strict = False
    if (found := _loaded(bare)) is not None:  # as nearly all replies come: nothing else is looked for yet
        strict = True
        yield found
    fenced = list(_fenced(text))
    start, end = bare.find("{"), bare.rfind("}")
    inner = bare[start : end + 1] if 0 <= start < end else ""
    # The commonest slip is mended exactly; the general repair below may alter words with quotes and backslashes.
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
            continue  # visibly cut off, though the provider did not say so
        if len(candidate) > MAX_REPAIR or _depth(candidate) > DEEPEST_REPAIR:
            continue  # repair takes minutes on deep or endless repetition, and nothing else runs meanwhile
        try:
            mended = repair_json(candidate, return_objects=True)
        except (ValueError, RecursionError):
            continue
        if isinstance(mended, dict) and mended:  # prose gives '', two objects give a list: neither is an answer
            yield mended


def _loaded(candidate: str) -> dict[str, object] | None:
    try:
        found = json.loads(candidate)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _fenced(text: str) -> Iterator[str]:
    """The bodies of fenced blocks. One pass over the lines: a pattern over the whole text can be made to take hours."""
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
    """Without controls and lone surrogates: as escapes they came in behind the back of the door."""
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
    """The text outside of strings and the strings between, in turn; and whether it ends inside one. One pass."""
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
    """Without commas before a closing bracket, those within strings left alone."""
    outside, inside, quoted = _split(text)
    if quoted:
        return text
    parts = [_COMMA.sub("", outside[0])]
    for words, rest in zip(inside, outside[1:], strict=True):
        parts.append(f'"{words}"{_COMMA.sub("", rest)}')
    return "".join(parts)


def _is_cut(text: str) -> bool:
    """Whether the text ends inside a string or an object. Braces within strings are words, not structure."""
    outside, _, quoted = _split(text)
    plain = "".join(outside)
    return quoted or plain.count("{") > plain.count("}")


def _depth(text: str) -> int:
    """How deep the brackets nest, those within strings included."""
    depth = deepest = 0
    for bracket in re.findall(r"[{}\[\]]", text):
        depth += 1 if bracket in "{[" else -1
        deepest = max(deepest, depth)
    return deepest


def _said(error: ValidationError) -> str:
    rows = []
    for row in error.errors(include_url=False, include_input=False)[:6]:
        where = ".".join(str(part) for part in row["loc"]) or "the reply"
        rows.append(f"{where}: {row['msg']}")
    return "; ".join(rows)


def fits(schema: type[BaseModel], value: Json) -> bool:
    """Whether a value that was read before still fits its form."""
    from pydantic import ValidationError

    try:
        schema.model_validate(value)
    except ValidationError:
        return False
    return True
