"""Reads a JSON object with the mistakes that models make, in one pass over the text.

Accepted besides JSON: comments, missing and trailing commas, names without quotes, other quotation marks, quotes within
a text that should have been escaped, line ends in a text, and the literals of Python. A general library for this takes
time that grows with the square of the length, which is minutes for a reply of a few pages.
"""

from __future__ import annotations

import re

from rebut.core.text import valid_unicode

DEEPEST = 100
_SPACE = re.compile(r"(?:\s++|//[^\n]*+|#[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+")
_GAP = re.compile(r"(?:\s++|,|//[^\n]*+|#[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+")
_NAME = re.compile(r"[\w$-]++")
_BARE = re.compile(r"[^,\]}\n]++")
_NUMBER = re.compile(r"-?\d{1,300}(?:\.\d{1,300})?(?:[eE][+-]?\d{1,3})?")
_CLOSING = {'"': '"', "'": "'", "“": "”", "‘": "’", "`": "`"}
# What may follow a quoted text: the end of its object or list, a comma and the next part, or the next name below it.
_AFTER = re.compile(
    r"\s*+(?:[}\]]|$|//|/\*|,\s*+(?:[\"'“‘`{\[}\]/#-]|\d|$|(?:true|false|null|none)\b|[\w$-]++\s*+:)"
    r")|[^\S\n]*+\n\s*+[\"'“‘][^\"'“”’\n]*+[\"'”’]\s*+:",
    re.I,
)
_COMMENT = re.compile(r"//|/\*|\s#")
_AFTER_NAME = re.compile(r"\s*+[:=]")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.S)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_LITERALS: dict[str, object] = {"true": True, "false": False, "null": None, "none": None, "undefined": None}


class LenientObject:
    """An object that was read from a text. Raises ValueError if the text is no object, even with mistakes."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._depth = text, 0, 0
        self.names_twice = False
        """Whether an object in it names a field twice."""
        self._skip(_SPACE)
        if self._next() != "{":
            raise ValueError("no object")
        self.value = self._object()
        self._skip(_SPACE)
        if self._at < len(text):
            raise ValueError("text after the object")

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip(self, what: re.Pattern[str]) -> None:
        found = what.match(self._text, self._at)
        self._at = found.end() if found else self._at

    def _enter(self) -> None:
        self._depth += 1
        self._at += 1
        if self._depth > DEEPEST:
            raise ValueError("nested too deep")

    def _object(self) -> dict[str, object]:
        self._enter()
        found: dict[str, object] = {}
        while True:
            self._skip(_GAP)
            if self._next() == "}":
                self._at += 1
                self._depth -= 1
                return found
            name = self._name()
            self._skip(_SPACE)
            if self._next() not in (":", "="):
                raise ValueError("no value after a name")
            self._at += 1
            self._skip(_SPACE)
            self.names_twice = self.names_twice or name in found
            found[name] = self._value()

    def _array(self) -> list[object]:
        self._enter()
        found: list[object] = []
        while True:
            self._skip(_GAP)
            if self._next() == "]":
                self._at += 1
                self._depth -= 1
                return found
            found.append(self._value())

    def _name(self) -> str:
        if self._next() in _CLOSING:
            return self._quoted(_AFTER_NAME)
        found = _NAME.match(self._text, self._at)
        if not found:
            raise ValueError("no name")
        self._at = found.end()
        return found[0]

    def _value(self) -> object:
        first = self._next()
        if first == "{":
            return self._object()
        if first == "[":
            return self._array()
        if first and first in _CLOSING:
            return self._quoted(_AFTER)
        found = _BARE.match(self._text, self._at)
        if not found:
            raise ValueError("no value")
        self._at = found.end()
        bare = _COMMENT.split(found[0], maxsplit=1)[0].strip()
        if _NUMBER.fullmatch(bare):
            return int(bare) if bare.lstrip("-").isdecimal() else float(bare)
        return _LITERALS.get(bare.lower(), bare)

    def _quoted(self, after: re.Pattern[str]) -> str:
        """Read a text up to the quotation mark that ends it: the first one that something in `after` follows."""
        closing = re.compile(r"\\.|" + _CLOSING[self._next()], re.S)
        start = at = self._at + 1
        while found := closing.search(self._text, at):
            at = found.end()
            if found[0][0] != "\\" and after.match(self._text, at):
                self._at = at
                return valid_unicode(_ESCAPE.sub(_unescaped, self._text[start : at - 1]))
        raise ValueError("a text without an end")


def _unescaped(found: re.Match[str]) -> str:
    if found[1]:
        return chr(int(found[1], 16))
    return _ESCAPED.get(found[2], found[2] if found[2] in "\"'\\/`" else found[0])
