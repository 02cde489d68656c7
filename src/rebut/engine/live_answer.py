"""Hearing: an answer while it is being written, point by point, each with its mark.

Provisional, all of it: nothing here is on record, and an answer may yet be sent back or cut off. What is shown of it
has passed the door, as everything has that is kept.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rebut.core.errors import RebutError
from rebut.core.redaction import LATE
from rebut.core.text import at_the_door, squeeze
from rebut.core.types import Json
from rebut.domain import forms
from rebut.domain.forms import Glance
from rebut.domain.ledger import Evidence

if TYPE_CHECKING:
    from pydantic import BaseModel

    from rebut.engine.runtime import Runtime

MOST_POINTS = 60
"""Points of one answer that are shown and looked up as they come."""
FEWEST_WORDS = 3
"""A text of fewer is a name, a place or a grade: nothing to read along."""


@dataclass(frozen=True, slots=True)
class LivePoint:
    """One point of an answer that is still being written."""

    text: str
    tag: str = ""
    about: str = ""
    place: str = ""
    mark: str = ""
    """What looking its citation up showed; empty while that goes on."""
    looked_up: bool = False


class LiveAnswer:
    """One call's answer as it comes in."""

    def __init__(self, runtime: Runtime, key: str, form: type[BaseModel] | None) -> None:
        self.points: list[LivePoint] = []
        self.size = 0
        """Characters so far."""
        self._runtime, self._key = runtime, key
        self._lists: Mapping[str, tuple[type[BaseModel], Glance]] = forms.lists(form) if form else {}
        self._stream = Stream(self._lists) if form else None
        self._prose: list[str] = []
        self._prose_size = 0
        self._muted = False
        self._shown = (-1, "")

    @property
    def stays(self) -> bool:
        """Whether its points are worth keeping on screen once they are on record."""
        return all(told.stays for _, told in self._lists.values())

    def take(self, piece: str) -> None:
        """Text came in. Nothing is waited for: what must be looked up is looked up aside."""
        self.size += len(piece)
        before = len(self.points)
        if self._stream is not None:
            for name, value in self._stream.take(piece):
                self._point(name, value)
        if self._stream is None or not self._stream.began:
            self._prose_size += len(piece)
            self._prose.append(piece)
            if self._prose_size > LONGEST_WORDS:
                self._prose.clear()
        if len(self.points) > before:
            self._tell()

    def words(self) -> str:
        """The text that is being written, in one line, its end held back; empty when there is nothing to read along."""
        if self._shown[0] != self.size:
            self._shown = (self.size, self._readable())
        return self._shown[1]

    def _readable(self) -> str:
        if self._muted:
            return ""
        said = self._stream.words if self._stream and self._stream.began else "".join(self._prose)
        if LATE.search(said):
            return ""
        safe = self._runtime.door(said) if said else ""
        if self._stream is None or not self._stream.began or self._stream.writing:
            # The redactor sees more than is shown: what it cannot know yet lies in the end that is held back.
            safe = safe[: -self._runtime.reach]
            safe = safe[: len(safe) - len(safe.split(" ")[-1].split("\n")[-1])]
        words = squeeze(safe.replace("`", ""))
        # Until there is more to read, what was to be read last stands.
        return words if len(words.split()) >= FEWEST_WORDS else self._shown[1]

    # points

    def _point(self, name: str, value: Json) -> None:
        if len(self.points) >= MOST_POINTS or self._muted or not isinstance(value, dict):
            return
        spelt = json.dumps(value, ensure_ascii=False)
        # What may go on in the next point, and cannot be told before that, ends the reading along.
        self._muted = LATE.search(spelt) is not None
        element, told = self._lists[name]
        filled = None if self._muted else _filled(element, spelt, self._runtime.door)
        text = squeeze(str(getattr(filled, told.words, ""))) if filled is not None else ""
        if filled is None or not text:
            return
        tag = squeeze(str(getattr(filled, told.tag, ""))) if told.tag else ""
        about = squeeze(str(getattr(filled, told.about, ""))) if told.about else ""
        cited = [cite.evidence() for cite in getattr(filled, told.cites, ()) if hasattr(cite, "evidence")]
        cited = [one for one in cited if one.place]
        self.points.append(LivePoint(text, tag, about, cited[0].place if cited else ""))
        looking = asyncio.ensure_future(self._look(len(self.points) - 1, cited, told))
        self._runtime.aside.add(looking)
        looking.add_done_callback(self._runtime.aside.discard)

    async def _look(self, number: int, cited: list[Evidence], told: Glance) -> None:
        from rebut.evidence.marks import marked

        heard = self.points[number]
        try:
            found = await marked(cited, heard.text, self._runtime.sides)
        except RebutError:  # git was gone just now; when the answer is on record, that is said
            found = ()
        # Of several, the one that counts against it.
        first = next((one for one in found if one.mark == "absent"), found[0] if found else None)
        if first is not None:
            heard = replace(heard, place=first.place, mark=first.mark)
        elif not cited:
            heard = replace(heard, mark=told.bare)
        self.points[number] = replace(heard, looked_up=True)
        self._tell()

    def _tell(self) -> None:
        if self._runtime.control.on_heard:
            self._runtime.control.on_heard(self._key, self)


def _filled(element: type[BaseModel], spelt: str, door: Callable[[str], str]) -> BaseModel | None:
    """An element as its form reads it, without secrets: neither those that its own names give away nor the others."""
    from pydantic import ValidationError

    try:
        return element.model_validate(at_the_door(json.loads(door(spelt)), door))
    except (ValidationError, ValueError, RecursionError):
        return None


def listen(runtime: Runtime, key: str, form: type[BaseModel] | None) -> Callable[[str], None] | None:
    """Who hears an answer as it is written; None if nobody does."""
    on_text, on_heard = runtime.control.on_text, runtime.control.on_heard
    if on_heard is None:
        return (lambda piece: on_text(key, piece)) if on_text else None
    hearing = LiveAnswer(runtime, key, form)
    on_heard(key, hearing)

    def take(piece: str) -> None:
        hearing.take(piece)
        if on_text:
            on_text(key, piece)

    return take


# A JSON answer read while it is being written: each element of the lists that matter, as soon as it is whole.
#
# Every character is looked at once, wherever the pieces are cut. Nothing here is an answer: that is read by `parsing`
# when all of it has come.

LONGEST = 200_000
"""Characters of an element beyond which it is no point that anybody could read in a line."""
LONGEST_WORDS = 16_000
"""Characters of a text up to which its words are kept while it is being written."""
DEEPEST = 100
MOST_ELEMENTS = 1_000
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
        self._left = MOST_ELEMENTS

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
