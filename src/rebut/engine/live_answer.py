"""`LiveAnswer`: an answer while it streams in, for the screen: its points, each with its citation checked.

All of it is provisional: nothing here is recorded, and the answer may still be sent back or cut off. What is shown has
been cleaned and redacted like everything that is recorded.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from rebut.core.errors import RebutError
from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.core.redaction import LATE, finished
from rebut.core.text import at_the_door, squeeze
from rebut.domain import forms
from rebut.domain.forms import Glance
from rebut.domain.ledger import Evidence
from rebut.engine.parse import THINKING, ends_thinking

if TYPE_CHECKING:
    from pydantic import BaseModel

    from rebut.engine.runtime import Runtime

MOST_POINTS = 60
"""Points of one answer that are shown, and whose citations are checked, as they arrive."""
FEWEST_WORDS = 3
"""A text with fewer words is a name, a place or a grade, and not shown while it is being written."""
MOST_ELEMENTS = 1_000
"""Elements, false beginnings and syntax errors in one answer beyond which the rest is not read."""
DEEPEST = 100
LONGEST = 200_000
"""Characters of an element beyond which it is not shown."""
LONGEST_WORDS = 16_000
"""Characters of a text beyond which it is not shown while it is being written."""
NAME_LENGTH = 200
BETWEEN = " \t\r\n,"
"""What separates the elements of a list."""

_SIGNS = re.compile(rf'{THINKING.pattern}|["\\{{}}\[\]]', re.I)
_PART_OF_TAG = re.compile(r"[<\[◁]/?\w{0,10}\Z")
"""The end of a piece that may be the first half of a tag."""
_NAME = re.compile(r'"(\w+)"\s*:\s*\Z')
"""The name of a field whose value comes next."""
_CONTROLS = dict.fromkeys(range(32), " ")
"""Raw control characters, which some models write into strings; the partial parser rejects them."""


@frozen
class LivePoint:
    """One point of an answer that is still being written."""

    text: str
    tag: str = ""
    about: str = ""
    place: str = ""
    mark: str = ""
    """The result of checking its citation; empty until then."""
    looked_up: bool = False


class LiveAnswer:
    """The answer of one call while it streams in."""

    def __init__(self, runtime: Runtime, key: str, form: type[BaseModel] | None) -> None:
        self.points: list[LivePoint] = []
        self.size = 0
        """Characters received."""
        self._runtime, self._key = runtime, key
        self._lists: Mapping[str, tuple[type[BaseModel], Glance]] = forms.lists(form) if form else {}
        self._stream = AnswerStream(self._lists) if form else None
        self._prose: list[str] = []
        self._prose_size = 0
        self._muted = False
        self._shown = (-1, "")

    @property
    def stays(self) -> bool:
        """Whether its points stay on the screen once they are recorded."""
        return all(glance.stays for _, glance in self._lists.values())

    def take(self, piece: str) -> None:
        """Add a piece. Never blocks: citations are checked in tasks of their own."""
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
            self._report()

    def words(self) -> str:
        """The text being written, in one line, without its end; empty if there is none to show."""
        if self._shown[0] != self.size:
            self._shown = (self.size, self._readable())
        return self._shown[1]

    def _readable(self) -> str:
        if self._muted:
            return ""
        text, writing = "".join(self._prose), True
        if self._stream is not None and self._stream.began:
            text, writing = self._stream.last_text()
        if LATE.search(text):
            return ""
        if writing:
            text = finished(text)
        safe = self._runtime.door(text) if text else ""
        if writing:
            # The end may be the first half of a secret, which the redactor cannot recognise yet.
            safe = safe[: -self._runtime.reach]
            safe = safe[: len(safe) - len(safe.split(" ")[-1].split("\n")[-1])]
        words = squeeze(safe.replace("`", ""))
        # Keep showing the previous text until there is more to read.
        return words if len(words.split()) >= FEWEST_WORDS else self._shown[1]

    # points

    def _point(self, name: str, value: Json) -> None:
        if len(self.points) >= MOST_POINTS or self._muted or not isinstance(value, dict):
            return
        spelled = json.dumps(value, ensure_ascii=False)
        # A secret that ends in a later point cannot be recognised before that, so nothing more of this answer is shown.
        self._muted = LATE.search(spelled) is not None
        element, glance = self._lists[name]
        filled = None if self._muted else _filled(element, spelled, self._runtime.door)
        text = squeeze(str(getattr(filled, glance.words, ""))) if filled is not None else ""
        if filled is None or not text:
            return
        tag = squeeze(str(getattr(filled, glance.tag, ""))) if glance.tag else ""
        about = squeeze(str(getattr(filled, glance.about, ""))) if glance.about else ""
        cited = [cite.evidence() for cite in getattr(filled, glance.cites, ()) if hasattr(cite, "evidence")]
        cited = [one for one in cited if one.place]
        self.points.append(LivePoint(text, tag, about, cited[0].place if cited else ""))
        checking = asyncio.ensure_future(self._check(len(self.points) - 1, cited, glance))
        self._runtime.background.add(checking)
        checking.add_done_callback(self._runtime.background.discard)

    async def _check(self, number: int, cited: list[Evidence], glance: Glance) -> None:
        """Check a point's citations and show the mark."""
        from rebut.evidence.marks import marked

        point = self.points[number]
        try:
            found = await marked(cited, point.text, self._runtime.sides)
        except RebutError:  # git failed; if it still does when the answer is recorded, that is an error
            found = ()
        # Of several citations, show one that counts against the point.
        first = next((one for one in found if one.mark == "absent"), found[0] if found else None)
        if first is not None:
            point = replace(point, place=first.place, mark=first.mark)
        elif not cited:
            point = replace(point, mark=glance.bare)
        self.points[number] = replace(point, looked_up=True)
        self._report()

    def _report(self) -> None:
        if self._runtime.control.on_heard:
            self._runtime.control.on_heard(self._key, self)


def _filled(element: type[BaseModel], spelled: str, door: Callable[[str], str]) -> BaseModel | None:
    """An element as its form reads it, redacted: first its JSON, whose field names reveal secrets, then each text."""
    from pydantic import ValidationError

    try:
        return element.model_validate(at_the_door(json.loads(door(spelled)), door))
    except (ValidationError, ValueError, RecursionError):
        return None


def listen(runtime: Runtime, key: str, form: type[BaseModel] | None) -> Callable[[str], None] | None:
    """What to call with each piece of an answer; None if the caller asked for neither text nor points."""
    on_text, on_heard = runtime.control.on_text, runtime.control.on_heard
    if on_heard is None:
        return (lambda piece: on_text(key, piece)) if on_text else None
    answer = LiveAnswer(runtime, key, form)
    on_heard(key, answer)

    def take(piece: str) -> None:
        answer.take(piece)
        if on_text:
            on_text(key, piece)

    return take


class AnswerStream:
    """Reads a JSON answer while it streams in: gives the elements of the named lists, and the text being written.

    Text before, between and after objects is ignored, and so is a model's thinking. Every character is looked at once,
    to follow which brackets are open; each element is parsed once, when its last bracket arrives. A syntax error costs
    its own element: the whole answer may still be repaired by `parse`.
    """

    def __init__(self, lists: Collection[str]) -> None:
        self.began = False
        """Whether an object has begun; until then the answer is prose."""
        self._lists = frozenset(lists)
        self._open = ""
        """The brackets that are open, the outermost first; empty outside of an object."""
        self._new = False
        """Whether only a first bracket has arrived, and nothing yet that shows that it begins an object."""
        self._quoted = False
        self._escaped = -1
        """The position, in the next piece, of a character behind a backslash."""
        self._name = ""
        """The name of the list that is being written."""
        self._parts: list[str] = []
        """The text of the field or element that is being written."""
        self._left = MOST_ELEMENTS
        self._thinking: re.Match[str] | None = None
        """The tag that began the thinking that is being written; None outside of thinking."""
        self._half_tag = ""
        """The end of the last piece, outside of an object, which may be the first half of a tag."""

    def take(self, piece: str) -> list[tuple[str, Json]]:
        """Add a piece. Returns the elements that it completes, each with the name of its list."""
        done: list[tuple[str, Json]] = []
        start = 0
        piece, self._half_tag = self._half_tag + piece, ""
        for sign in _SIGNS.finditer(piece):
            at, char = sign.start(), sign[0]
            if self._left <= 0:
                break
            if len(char) > 1 and not self._open:
                self._thinking = None if ends_thinking(sign, self._thinking) else self._thinking or sign
                continue
            if self._thinking is not None:
                continue
            if at == self._escaped:
                continue
            if self._quoted:
                self._quoted = char != '"'
                self._escaped = at + 1 if char == "\\" else -1
                continue
            if self._new and (char not in '"}' or (self._text() + piece[start:at]).strip()):
                self._give_up()
            if not self._open:
                if char == "{":
                    self._open, self._new, self._parts, start = "{", True, [], at + 1
                continue
            self.began, self._new = True, False
            if char == '"':
                self._quoted = True
            elif char in "{[":
                self._open += char
                self._left = self._left if len(self._open) <= DEEPEST else 0
                if self._open == "{[":
                    opened = _NAME.search((self._text() + piece[start:at])[-NAME_LENGTH:])
                    self._name, self._parts, start = opened[1] if opened else "", [], at + 1
            elif char in "}]":
                if self._open[-1] != ("{" if char == "}" else "["):
                    self._give_up()
                    continue
                was, self._open = self._open, self._open[:-1]
                if len(self._open) > 1 and self._open != "{[":
                    continue  # inside of an element, or of an object in a field
                if "{[" in (was, self._open):  # the list is over, or an element of it
                    done += self._elements(self._text() + piece[start : at + (was != "{[")])
                self._name, self._parts, start = self._name if self._open == "{[" else "", [], at + 1
        self._escaped -= len(piece)
        if self._open:
            self._parts.append(piece[start:])
        elif half := _PART_OF_TAG.search(piece):
            self._half_tag = half[0]
        return done

    def last_text(self) -> tuple[str, bool]:
        """The last text value so far, and whether it is still being written. Empty if there is none or it is long."""
        from pydantic_core import from_json

        opened, text = self._open, self._text()  # the screen calls this from another thread while pieces arrive
        if not opened or self._new or len(text) > LONGEST:
            return "", False
        data = opened[:2][-1] + text.translate(_CONTROLS).lstrip(BETWEEN)
        try:
            whole, cut = from_json(data, allow_partial=True), from_json(data, allow_partial="trailing-strings")
        except ValueError:
            return "", False
        last = _last_text(cut)
        return (last if len(last) <= LONGEST_WORDS else ""), whole != cut

    def _text(self) -> str:
        return "".join(self._parts)

    def _give_up(self) -> None:
        """Drop this text, which is no object or a broken one, and look for the next object."""
        self._open, self._new, self._name, self._parts = "", False, "", []
        self._left -= 1

    def _elements(self, text: str) -> list[tuple[str, Json]]:
        if self._name not in self._lists:
            return []
        try:
            found = json.loads(f"[{text.strip(BETWEEN)}]", strict=False)
        except (ValueError, RecursionError):
            self._left -= 1
            return []
        done = [(self._name, one) for one in found if len(str(one)) <= LONGEST][: self._left]
        self._left -= len(done)
        return done


def _last_text(value: Json) -> str:
    """The last text value in document order."""
    if isinstance(value, str):
        return value
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return next(filter(None, map(_last_text, reversed(inner))), "")
