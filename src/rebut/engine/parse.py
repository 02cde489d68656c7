"""Reading a structured reply: objections generously, agreement strictly. What cannot be read is sent back.

A reply that is one JSON object and nothing else, bare or in one fence, is read as it is. In any other reply the object
may be a draft, an example, or a quotation of what is under review. It is read only if it does not agree, keep, concede
or resolve anything (`Form.is_agreement`), and only such an object is repaired.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from rebut.core.json_value import Json
from rebut.core.text import clean

if TYPE_CHECKING:
    from pydantic import ValidationError

    from rebut.domain.forms import Form

T = TypeVar("T", bound="Form")
_Reader = Callable[[str], dict[str, object] | None]

MAX_REPLY = 4_000_000
MOST_ITEMS = 1_000
"""In all lists of a reply. Points are compared with each other and their citations looked up: 6,000 take minutes."""
MOST_FENCES = 8
MOST_OBJECTS = 1_000
MOST_BRACES = 50_000
THINKING = re.compile(
    r"<(/?)(think|thinking|thoughts?|reasoning|reflection|scratchpad)>\s*|[\[◁](/?)(think)[\]▷]\s*", re.I
)
"""A tag at which the thinking of a model begins or, with a slash, ends."""
NO_OBJECT = "no JSON object was found in the reply"
NOT_ALONE = (
    "the reply agrees, keeps, concedes or resolves something in a JSON object with other text around it; that is read "
    "only from a reply that is this one object and nothing else"
)
BROKEN = (
    "the reply agrees, keeps, concedes or resolves something in a JSON object with syntax errors; that is read only "
    "from valid JSON, without comments"
)
TWICE = "the reply names a field twice in one object; name each once"
LOOKS_LIKE = (
    "the reply agrees, keeps, concedes or resolves something, and its field {!r} only looks like `{}`; correct the name"
)
DIFFERENT = "the reply has several JSON objects that differ; give the one that counts"
_ANY_OPENING = re.compile(r"[ \t]*(`{3,}+|~{3,}+)[^`]*$")
_OPENING = re.compile(r"[ \t]*+(`{3,}+|~{3,}+)[ \t]*+(?:json[c5]?+)?[ \t]*+$", re.I)
_ODD_ESCAPE = re.compile(r"\\[^nt\"\\/]")
"""An escape of JSON that may become a control character or a lone surrogate."""
_LETTERS = dict(zip("асԁеһіјӏорԛѕуѵхɑαɡıοτυνкпт", "acdehijlopqsyvxaagiotuvknt", strict=True))
"""Letters of other alphabets that look like those of a field's name."""
_SIGNS = re.compile(r'\\.|["{}]', re.S)


class UnreadableReply(ValueError):
    """The reply is not what was asked for. The message can be sent back to the model."""


class _NamedTwice(ValueError):
    """An object has a key twice. The JSON parser would silently keep the last."""

    def __init__(self, found: dict[str, object]) -> None:
        super().__init__()
        self.object = found


class _DoesNotFit(ValueError):
    """An object is not the form that was asked for."""


def parse(text: str, schema: type[T], *, truncated: bool = False) -> T:
    """Read `text` as a `schema`. Raises `UnreadableReply`.

    A reply that the provider cut off is never read: a half would count as a whole argument.
    """
    if len(text) > MAX_REPLY:
        raise UnreadableReply(f"the reply is {len(text):,} characters long; at most {MAX_REPLY:,} are read")
    if truncated:
        raise UnreadableReply("the reply was cut off at the output limit; answer again, shorter")
    for is_whole in (True, False):
        whole = text if is_whole else after_thinking(text)
        try:
            found = _loaded(_unfenced(whole))
            if found is not None:
                value = _filled(found, schema, plain=not _ODD_ESCAPE.search(whole) and clean(whole) == whole)
                if (odd := _odd_name(found, schema)) and type(value).is_agreement(value):
                    raise UnreadableReply(LOOKS_LIKE.format(*odd))
                return value
        except _NamedTwice:
            raise UnreadableReply(TWICE) from None
        except _DoesNotFit as error:
            raise UnreadableReply(str(error)) from None
    value, problem = _only_object(_without_thinking(text), schema)
    if type(value).is_agreement(value):
        raise UnreadableReply(problem)
    return value


# thinking


def after_thinking(text: str) -> str:
    """The reply without the thinking that it begins with; empty if the thinking never ends."""
    at = len(text) - len(text.lstrip())
    thinking: re.Match[str] | None = None
    for tag in THINKING.finditer(text, at):
        if thinking:
            if ends_thinking(tag, thinking):
                thinking, at = None, tag.end()
        elif tag.start() == at and not ends_thinking(tag):
            thinking = tag
        else:
            break
    return "" if thinking else text[at:]


def _without_thinking(text: str) -> str:
    """The reply without any thinking. Text before a lone end tag is thinking, too: some servers drop the first tag."""
    kept, start = list[str](), 0
    thinking: re.Match[str] | None = None
    for tag in THINKING.finditer(text):
        if thinking:
            if not ends_thinking(tag, thinking):
                continue
            thinking = None
        elif ends_thinking(tag):
            kept.clear()
        else:
            kept.append(text[start : tag.start()])
            thinking = tag
        start = tag.end()
    return "".join([*kept, "" if thinking else text[start:]])


def ends_thinking(tag: re.Match[str], opened: re.Match[str] | None = None) -> bool:
    """Whether thinking ends with this tag; if `opened` is given, the thinking that began with that tag."""
    if "/" not in (tag[1], tag[3]):
        return False
    return opened is None or (tag[2] or tag[4]).lower() == (opened[2] or opened[4]).lower()


# an object that is the whole reply


def _unfenced(text: str) -> str:
    """The text, or the body of the fence around all of it."""
    bare = text.strip().removeprefix("\ufeff").strip()
    first, _, rest = bare.partition("\n")
    body, _, last = rest.rpartition("\n")
    opened = _OPENING.fullmatch(first.rstrip())
    return body if opened and last.strip() == opened[1] else bare


def _loaded(text: str) -> dict[str, object] | None:
    """The text as one JSON object; None if it is not. Raises `_NamedTwice`."""
    twice = False

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        nonlocal twice
        found = dict(pairs)
        twice = twice or len(found) < len(pairs)
        return found

    try:
        found = json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    if twice:
        raise _NamedTwice(found)
    return found


def _filled(found: dict[str, object], schema: type[T], *, plain: bool = False) -> T:
    """The form, filled in. An optional field that does not fit is left out. Raises `_DoesNotFit`.

    With `plain`, its texts are known to need no tidying, and fields that do not fit are removed from `found` itself.
    """
    from pydantic_core import ValidationError

    try:
        given: Any = found if plain else _tidy(found)
        if (items := _items([given[name] for name in schema.model_fields if name in given])) > MOST_ITEMS:
            raise _DoesNotFit(
                f"the lists in the reply have {items:,} items; at most {MOST_ITEMS:,} are read. "
                "Give the most important ones"
            )
        try:
            value = schema.model_validate(given)
        except ValidationError as error:
            if not all(_leave_out(given, schema, row["loc"]) for row in error.errors(include_url=False)):
                raise
            value = schema.model_validate(given)
    except ValidationError as error:
        raise _DoesNotFit(_explained(error)) from None
    except RecursionError:
        raise _DoesNotFit("the JSON object of the reply is nested too deep") from None
    if schema.model_fields and not value.model_fields_set:
        # Such as a server's error message: if every field has a default, it would count as a form without objections.
        raise _DoesNotFit("the reply has none of the fields that were asked for")
    return value


def _items(values: Iterable[object]) -> int:
    """How many items all lists in these values have."""
    total = 0
    for value in values:
        if isinstance(value, list):
            total += len(value) + _items(value)
        elif isinstance(value, dict):
            total += _items(value.values())
    return total


def _odd_name(given: object, schema: type[Form]) -> tuple[str, str] | None:
    """A name in an object that only looks like the name of a field, and that field; None if there is none.

    Unknown names are ignored: an objection under such a name would be lost, and a field that agrees would be read.
    """
    from rebut.domain.forms import entries_of

    if not isinstance(given, dict):
        rows = given if isinstance(given, list) else ()
        return next((odd for row in rows if (odd := _odd_name(row, schema))), None)
    entries = entries_of(schema)
    for name, value in given.items():
        if name in entries:
            inner = entries[name]
            odd = _odd_name(value, inner) if inner else None
        else:
            seen = _as_seen(name)
            odd = next(((name, field) for field in schema.model_fields if _as_seen(field) == seen), None)
        if odd:
            return odd
    return None


@lru_cache(maxsize=1024)
def _as_seen(name: str) -> str:
    """The letters and digits of a name as a reader sees them: without case, marks, spaces and signs."""
    import unicodedata

    plain = unicodedata.normalize("NFKD", name[:100]).casefold()
    return "".join(_LETTERS.get(one, one) for one in plain if one.isalnum())


def _leave_out(given: Any, schema: type[Form], path: Sequence[str | int]) -> bool:
    """Take the field at `path` out of an object, or make a list of its only entry; False if it must not be missing.

    A field that lists entries of its own, such as findings, may be missing only if it is empty: no entry is lost.
    """
    from rebut.domain.forms import entry_of, says_nothing

    value: Any = given
    form: type[Form] | None = schema
    found: tuple[dict[str, Any], type[Form], str] | None = None
    for part in path:
        if isinstance(value, dict) and form and isinstance(part, str):
            found = value, form, part
            value, form = value.get(part), entry_of(form, part)
        elif isinstance(value, list) and form and isinstance(part, int) and part < len(value):
            found, value = None, value[part]
        else:
            break  # inside a plain value
    if found is None:
        return False
    holder, owner, name = found
    if isinstance(value, dict) and value and entry_of(owner, name):
        holder[name] = [value]  # one entry where a list of them was asked for
        return True
    field = owner.model_fields.get(name)
    if field is None or field.is_required() or (entry_of(owner, name) and not says_nothing(holder.get(name))):
        return False
    holder.pop(name, None)
    return True


# an object among other text, or one with syntax errors


def _only_object(text: str, schema: type[T]) -> tuple[T, str]:
    """The only object of a reply that fits, and why it is not read if it agrees. Raises `UnreadableReply`."""
    spans = list(islice(_spans(text), MOST_OBJECTS + 1)) if text.count("{") <= MOST_BRACES else []
    if len(spans) > MOST_OBJECTS:
        raise UnreadableReply(f"the reply has more than {MOST_OBJECTS:,} JSON objects; give one")
    fitting, problem = _fitting(spans, _loaded, schema)
    reason = NOT_ALONE
    if not fitting:
        fitting, worse = _fitting(spans, _repaired, schema)
        reason, problem = BROKEN, problem or worse
    if not fitting:
        raise UnreadableReply(problem or NO_OBJECT)
    if any(other != fitting[0] for other in fitting):
        raise UnreadableReply(DIFFERENT)
    return fitting[0], reason


def _fitting(spans: Sequence[str], read: _Reader, schema: type[T]) -> tuple[list[T], str]:
    """The spans that can be read as the form, and what is wrong with the others. Raises `UnreadableReply`."""
    fitting, problem = list[T](), ""
    for span in spans:
        try:
            found = read(span)
            if found is not None:
                fitting.append(_filled(found, schema))
        except _DoesNotFit as error:
            problem = problem or str(error)
        except _NamedTwice as twice:
            if _fits(twice.object, schema):  # else it is not the reply, but something that the reply quotes
                raise UnreadableReply(TWICE) from None
    return fitting, problem


def _fits(found: dict[str, object], schema: type[T]) -> bool:
    try:
        _filled(found, schema)
    except _DoesNotFit:
        return False
    return True


def _spans(text: str) -> Iterator[str]:
    """The parts of a reply from an outermost brace to the one that closes it. Braces within strings do not count.

    An object inside of a brace that is never closed does not count: it is only a part of one that was cut off.
    """
    for part in _unfenced_parts(text):
        opened, found, quoted = list[int](), list[tuple[int, int]](), False
        for sign in _SIGNS.finditer(part):
            if sign[0] == '"':
                quoted = bool(opened) and not quoted
            elif quoted or sign[0] not in "{}":
                continue
            elif sign[0] == "{":
                opened.append(sign.start())
            elif opened:
                start = opened.pop()
                while found and found[-1][0] > start:
                    found.pop()
                found.append((start, sign.end()))
        yield from (part[start:end] for start, end in found if not opened or start < opened[0])


def _unfenced_parts(text: str) -> Iterator[str]:
    """The bodies of fenced blocks, and the text outside of them: a brace in the one never closes one in the other.

    One pass over the lines: a regular expression could be made to take hours.
    """
    fence, body, rest, count = "", list[str](), list[str](), 0
    for line in text.split("\n"):
        if not fence:
            opened = _ANY_OPENING.match(line) if count < MOST_FENCES else None
            if opened:
                fence, body = opened[1], []
            else:
                rest.append(line)
        elif line.strip() == fence:
            yield "\n".join(body)
            fence, count = "", count + 1
        else:
            body.append(line)
    yield "\n".join([*rest, *body] if fence else rest)


# repair


def _repaired(span: str) -> dict[str, object] | None:
    """An object with syntax errors, repaired; None if that is impossible. Raises `_NamedTwice`."""
    from rebut.engine.lenient_json import LenientObject

    try:
        found = LenientObject(span)
    except ValueError:
        return None
    if found.names_twice:
        raise _NamedTwice(found.value)
    return found.value or None


def _tidy(found: object) -> object:
    """The value without control characters and lone surrogates, which a reply may contain as escapes."""
    match found:
        case str():
            return clean(found)
        case list():
            return [_tidy(item) for item in found]
        case dict():
            tidy = {_tidy(key): _tidy(item) for key, item in found.items()}
            if len(tidy) < len(found):  # names that differ in invisible characters only
                raise _DoesNotFit(TWICE)
            return tidy
        case _:
            return found


def _explained(error: ValidationError) -> str:
    rows = []
    for row in error.errors(include_url=False, include_input=False)[:6]:
        where = ".".join(str(part) for part in row["loc"]) or "the reply"
        rows.append(f"{where}: {row['msg']}")
    return "; ".join(rows)


def fits(schema: type[Form], value: Json) -> bool:
    """Whether a recorded value still fits its form. How it was written does not matter any more."""
    from pydantic import ValidationError

    try:
        schema.model_validate(value)
    except ValidationError:
        return False
    return True
