"""A JSON answer read while it is being written: each element of the lists that matter, as soon as it is whole.

Every character is looked at once, wherever the pieces are cut. Nothing here is an answer: that is read by `parsing`
when all of it has come.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection

from rebut.core.types import Json

LONGEST = 200_000
"""Characters of an element beyond which it is no point that anybody could read in a line."""
LONGEST_WORDS = 16_000
"""Characters of a text up to which its words are kept while it is being written."""
DEEPEST = 100
MOST = 1_000
"""Elements, and false beginnings: an answer that has more of either is not being written for a reader."""

_OUTSIDE = re.compile(r'["{}\[\],:]|\s+|[^\s"{}\[\],:]+')
_INSIDE = re.compile(r'"|(?:[^"\\]++|\\.)++|\\', re.S)
_WHOLE = re.compile(r"(?:[^\\]++|\\[^u]|\\u[0-9a-fA-F]{4})*+", re.S)
"""A string as far as its escapes are whole."""


class Stream:
    """One answer. Prose and fences before, between and after its object are passed over."""

    def __init__(self, lists: Collection[str]) -> None:
        self.began = False
        """An object has begun: what comes is no prose any more."""
        self._lists = frozenset(lists)
        self._within = bytearray()
        """The brackets that are open, outermost first; none while an object is looked for."""
        self._quoted = self._escaped = False
        self._is_key = False
        self._colon = False
        """The value of a field comes next."""
        self._field = ""
        self._name: list[str] = []
        self._string: list[str] = []
        """The text that is being written, or was last, as it is spelt."""
        self._length = 0
        self._element: list[str] | None = None
        self._size = 0
        self._bare = False
        """The element is a number or a word, which only what follows can end."""
        self._left = MOST

    def take(self, piece: str) -> list[tuple[str, Json]]:
        """One more piece; gives the elements that it completes, each with the name of its list."""
        done: list[tuple[str, Json]] = []
        at = 0
        while at < len(piece) and self._left:
            if not self._within:
                at = piece.find("{", at)
                if at < 0:
                    break
                self._open("{")
                at += 1
                continue
            found = (_INSIDE if self._quoted else _OUTSIDE).match(piece, at)
            assert found is not None  # between them, the alternatives take any character
            if self._quoted:
                at = self._in_string(piece, at, found[0], done)
            elif self._in_object(found[0], done):
                at = found.end()
        return done

    @property
    def writing(self) -> bool:
        """Whether the text of `words` goes on."""
        return self._quoted and not self._is_key

    @property
    def words(self) -> str:
        """The text that is being written, or was last: values alone, never names or signs. Empty when it is too long.

        Some of it may be half of something: whoever shows it has to hold its end back.
        """
        if self._length > LONGEST_WORDS:
            return ""
        return _said("".join(self._string))

    def _in_string(self, piece: str, at: int, token: str, done: list[tuple[str, Json]]) -> int:
        """Inside of a string, up to its end or the end of the piece. Gives the place to go on from."""
        if self._escaped:
            self._escaped = False
            self._keep(piece[at])  # whatever it is, it ends nothing
            return at + 1
        if token == "\\":
            self._escaped = True
        elif token == '"':
            self._quoted = False
            if self._is_key and len(self._within) == 1:
                self._field = _said("".join(self._name))
            if self._element is not None or self._size:
                self._add(token)
                self._ended(done)
            return at + 1
        self._keep(token)
        return at + len(token)

    def _keep(self, text: str) -> None:
        if self._is_key:
            if len(self._within) == 1:
                self._name.append(text)
        elif (longer := self._length + len(text)) <= LONGEST_WORDS:
            self._string.append(text)
            self._length = longer
        else:
            self._string.clear()
            self._length = LONGEST_WORDS + 1
        if self._element is not None or self._size:
            self._add(text)

    def _in_object(self, token: str, done: list[tuple[str, Json]]) -> bool:
        """Outside of strings. False if this was no JSON after all and the same token is to be looked at again."""
        if self._bare and (token.isspace() or token in ",]}"):
            self._ended(done, at_once=True)
        wants_key = self._within[-1] == ord("{") and not self._colon
        if token == '"':
            self._start(token)
            self._quoted, self._is_key, self._name = True, wants_key, []
            if not wants_key:
                self._string, self._length = [], 0
        elif token in "{[":
            if wants_key:
                return self._give_up()
            self._start(token)
            self._open(token)
        elif token in "}]":
            if self._within[-1] != (ord("{") if token == "}" else ord("[")):
                return self._give_up()
            self._within.pop()
            self._colon = False
            if self._element is not None or self._size:
                self._add(token)
                self._ended(done)
        elif token == ":":
            self._colon = True
            self._in_element(token)
        elif token == ",":
            self._colon = False
            self._in_element(token)
        elif token.isspace():
            self._in_element(token)
        elif wants_key:
            return self._give_up()
        else:
            fresh = self._element is None and not self._size
            self._start(token)
            self._bare = self._bare or (fresh and self._element is not None)
        return True

    def _open(self, bracket: str) -> None:
        self.began = True
        self._within.append(ord(bracket))
        self._colon = False
        if len(self._within) > DEEPEST:
            self._left = 0

    def _give_up(self) -> bool:
        """What began like an object was prose, or is broken: look for the next one."""
        self._within.clear()
        self._element, self._size, self._bare, self._colon = None, 0, False, False
        self._left -= 1
        return False

    # the element that is being written

    def _start(self, token: str) -> None:
        """A value begins. It is an element if it stands in one of the lists."""
        if self._element is None and not self._size:
            if bytes(self._within[:3]) != b"{[" or self._field not in self._lists:
                return
            self._element = []
        self._add(token)

    def _in_element(self, token: str) -> None:
        if self._element is not None or self._size:
            self._add(token)

    def _add(self, text: str) -> None:
        self._size += len(text)
        if self._element is not None:
            self._element.append(text)
            if self._size > LONGEST:
                self._element = None  # it is only waited for from here on

    def _ended(self, done: list[tuple[str, Json]], *, at_once: bool = False) -> None:
        if len(self._within) != 2 or (self._bare and not at_once):
            return
        spelt, self._element, self._size, self._bare = self._element, None, 0, False
        self._left -= 1
        if spelt is None:
            return
        try:
            done.append((self._field, json.loads("".join(spelt), strict=False)))
        except (ValueError, RecursionError):
            return  # a slip that the whole answer may yet be mended of


def _said(spelt: str) -> str:
    """The text that a string spells, as far as it is whole; empty for one that is none."""
    whole = _WHOLE.match(spelt)
    try:
        return str(json.loads(f'"{whole[0] if whole else ""}"', strict=False))
    except ValueError:
        return ""
