"""Text: cleaned, encoded, measured, fingerprinted, and made fit for a line or a page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import cast

from rebut.core.json_value import Json

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_CONTROL_BYTES = bytes([*range(0x09), *range(0x0B, 0x20), 0x7F])
"""The control characters of ASCII."""

_canonical = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_UNBREAKABLE = "\0"
"""Replaces a space at which a line must not break."""
_ESCAPE = re.compile(r"\\(?:(/)|u00([2-7][0-9A-Fa-f])|.)", re.S)


def valid_unicode(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates replaced, since UTF-8 cannot encode these."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clean(text: str) -> str:
    """Text as it may enter a debate: valid Unicode, plain line ends, no control characters."""
    is_ascii = text.isascii()
    text = text if is_ascii else valid_unicode(text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if is_ascii:  # many times faster than a pattern on the text
        kept = text.encode().translate(None, _CONTROL_BYTES)
        return text if len(kept) == len(text) else kept.decode()
    return _CONTROL.sub("", text)


def unescaped(text: str) -> str:
    """JSON without needless escapes: written as `\\u0067hp_…` or with `\\/`, a secret would not be found."""

    def plain(match: re.Match[str]) -> str:
        char = "/" if match[1] else chr(int(match[2] or "22", 16))
        return match[0] if char in '"\\\x7f' else char

    return _ESCAPE.sub(plain, text) if "\\" in text else text


def encoded(value: Json | Mapping[str, Json], indent: int | None = None) -> bytes:
    """JSON as it is written and sent: UTF-8, without spaces unless indented for people, lone surrogates replaced.

    pydantic writes the same bytes as `json` in a fraction of its time. It is imported here, since only debates write.
    """
    import pydantic_core

    try:
        return pydantic_core.to_json(value, indent=indent)
    except pydantic_core.PydanticSerializationError:
        text = json.dumps(value, ensure_ascii=False, indent=indent) if indent else _encode(value)
        return valid_unicode(text).encode()


def as_recorded(value: Json) -> Json:
    """A value as it will be read back from a record: tuples as lists, keys as text, valid Unicode."""
    found: Json = json.loads(encoded(value).decode())
    return found


def decoded(text: str | bytes) -> Json:
    """The JSON value of a text; None if it is not JSON."""
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def file_bytes(text: str) -> bytes:
    """The text as UTF-8; a lone surrogate that represents a byte, as in `surrogateescape`, becomes that byte."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def tokens(text: str) -> int:
    """A high estimate of the tokens in a text, for reserving: a third of its UTF-8 bytes."""
    return len(text.encode(errors="replace")) // 3 + 8


def canonical(value: Json | object) -> str:
    """JSON that is the same for equal values, whatever the order of their keys."""
    return _canonical(value)


def fingerprint(value: Json | object) -> str:
    import hashlib

    return hashlib.sha256(_canonical_bytes(value)).hexdigest()[:24]


def _canonical_bytes(value: Json | object) -> bytes:
    if _is_texts(value):
        # Mostly a prompt. pydantic writes the same bytes, and Python then keeps the UTF-8 of the text for later use.
        import pydantic_core

        with suppress(pydantic_core.PydanticSerializationError):
            return pydantic_core.to_json(value)
    return canonical(value).encode(errors="replace")


def _is_texts(value: object) -> bool:
    """Whether a value consists of texts and lists only, so that it has no keys to sort."""
    return type(value) is str or (type(value) is list and all(map(_is_texts, value)))


def squeeze(text: str) -> str:
    """The text in one line, with single spaces."""
    return " ".join(text.split())


def harmless(text: str) -> str:
    """Text for the log of a GitHub workflow, where `::` at the start of a line, or `##[` anywhere, is a command."""
    return re.sub(r"(?m)^([^\S\n]*):(?=:)", r"\1:\\", text).replace("##[", "##\\[")


def cut(text: str, limit: int) -> str:
    """The beginning of a text in one line of at most `limit` characters; an ellipsis replaces the rest."""
    line = squeeze(text[: 4 * limit])
    if len(line) <= limit < len(text):  # the beginning is mostly white space, or the whole text is short
        line = squeeze(text)
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def printable(text: str, limit: int) -> str:
    """The beginning of a program's output in one line of at most `limit` characters, without control characters."""
    line = squeeze("".join(c if c.isprintable() else " " for c in text[: 4 * limit]))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def last_line(text: str) -> str:
    """The last line that is not blank; empty if there is none."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


NARROW = 72
"""Columns of a terminal below which there is no space for a column of labels beside the text."""


def cut_start(text: str, limit: int) -> str:
    """The end of a text in at most `limit` characters: of a path, or of an answer that is still streaming."""
    return text if len(text) <= limit else "…" + text[len(text) - limit + 1 :]


def wrapped(
    text: str, width: int, *, indent: str = "", hanging: str | None = None, break_words: bool = False
) -> list[str]:
    """One paragraph as lines of at most `width` columns; an empty text is one empty line.

    `indent` begins the first line and `hanging` the others (the same as `indent` unless given). Lines never break at a
    hyphen, and within a word only with `break_words`: a path or a command stays in one piece, so that it can be copied.
    A number of seconds or minutes stays with its unit, and a command of rebut in backticks stays on one line.
    """
    import textwrap  # here, since few commands print paragraphs

    rest = indent if hanging is None else hanging
    wrapper = textwrap.TextWrapper(
        width, initial_indent=indent, subsequent_indent=rest, break_long_words=break_words, break_on_hyphens=False
    )
    kept = re.sub(r"(?<=\d) (?=(?:s|min)\b)", _UNBREAKABLE, text)
    if "`rebut " in kept and not break_words:
        kept = re.sub(r"`rebut [^`\n]{1,60}`", lambda command: command[0].replace(" ", _UNBREAKABLE), kept)
    return [line.replace(_UNBREAKABLE, " ") for line in wrapper.wrap(kept)] or [""]


def plural(count: int, one: str, many: str = "") -> str:
    """The form of a noun, or of a noun with its verb, that fits a count: `plural(2, "file")` is `files`."""
    return one if count == 1 else many or f"{one}s"


def counted(count: int, one: str, many: str = "") -> str:
    """A count with its noun: `1 file`, `2 files`; `counted(n, "entry", "entries")` where an s is not enough."""
    return f"{count} {plural(count, one, many)}"


def at_the_door(value: Json, door: Callable[[str], str]) -> Json:
    """A JSON value with `door` applied to every text in it: texts from a protocol are cleaned and redacted, too."""
    match value:
        case str():
            return door(value)
        case list() if len(value) >= MANY_TEXTS and all(isinstance(item, str) for item in value):
            return [*_many_at_the_door(cast(list[str], value), door)]
        case list():
            return [at_the_door(item, door) for item in value]
        case dict():
            return {key: at_the_door(item, door) for key, item in value.items()}
        case _:
            return value


MANY_TEXTS, AT_ONCE = 100, 50
"""A list of MANY_TEXTS or more, such as the names of all unread files, passes the door AT_ONCE texts at a time."""
SHORT_TEXTS = 3000
"""Characters at most that pass the door at a time: a longer text is searched less thoroughly."""


def _many_at_the_door(texts: list[str], door: Callable[[str], str]) -> Iterator[str]:
    """Each text with `door` applied. Texts that do not change as the lines of one text do not change one by one."""
    for start in range(0, len(texts), AT_ONCE):
        some = texts[start : start + AT_ONCE]
        joined = "\n".join(some)
        passes = len(joined) <= SHORT_TEXTS and door(joined) == joined
        yield from some if passes else map(door, some)


def slug(topic: str, limit: int = 40) -> str:
    """A short, safe name for a topic: ASCII words joined by hyphens, never empty."""
    import unicodedata

    plain = unicodedata.normalize("NFKD", topic[:400]).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z0-9]+", plain)
    out = ""
    for word in words:
        if len(out) + len(word) + 1 > limit:
            break
        out = f"{out}-{word}" if out else word
    return out or (words[0][:limit] if words else "debate")
