"""`LiveAnswer`: an answer while it streams in, for the screen: its points, each with its citation checked.

All of it is provisional: nothing here is recorded, and the answer may still be sent back or cut off. What is shown has
been cleaned and redacted like everything that is recorded.
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
PASSES, FREE = 32, 100_000
"""An answer of n characters costs at most PASSES * n + FREE characters of reading, whatever a model writes."""

_PARTS = re.compile(r"[^\[\]}]*+[\[\]}]|[^\[\]}]++")
"""Pieces that end with a bracket, and what follows the last one."""
_START = re.compile(r'\{\s*+(?:["}]|\Z)')
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.S)
_LIST = re.compile(r'("\w+")\s*:\s*\[\Z')
"""A list that has just begun, and its name."""
_CONTROLS = dict.fromkeys(range(32), " ")
"""Raw control characters, which some models write into strings; the partial parser rejects them."""


@dataclass(frozen=True, slots=True)
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

    Text before, between and after objects is ignored. Only the field or element being written is kept and read again,
    and only when a bracket comes in, so the cost grows with the length of the answer. A syntax error costs its own
    element: the whole answer may still be repaired by `parse`.
    """

    def __init__(self, lists: Collection[str]) -> None:
        self.began = False
        """Whether an object has begun; until then the answer is prose."""
        self._lists = frozenset(lists)
        self._head = ""
        """What encloses the text that is kept: nothing, `{`, or `{"name":[`."""
        self._parts: list[str] = []
        self._inside = self._quoted = False
        """Whether the text so far is in an object; whether it ended in a string when it was last read."""
        self._received = self._read = self._length = 0
        self._left = MOST_ELEMENTS

    def take(self, piece: str) -> list[tuple[str, Json]]:
        """Add a piece. Returns the elements that it completes, each with the name of its list."""
        done: list[tuple[str, Json]] = []
        for part in map(re.Match.group, _PARTS.finditer(piece)):
            if self._left <= 0:
                break
            self._parts.append(part)
            self._length += len(part)
            self._received += len(part)
            self._quoted = self._quoted and '"' not in part
            if not (self._inside or self._begins()) or part[-1] not in "[]}" or self._quoted:
                continue
            if self._read + self._length <= FREE + PASSES * self._received:
                self._read += self._length
                done += self._complete()
        return done

    def last_text(self) -> tuple[str, bool]:
        """The last text value so far, and whether it is still being written. Empty if there is none or it is long."""
        from pydantic_core import from_json

        if not self._inside or self._length > LONGEST:
            return "", False
        data = self._text().translate(_CONTROLS)
        try:
            whole, cut = from_json(data, allow_partial=True), from_json(data, allow_partial="trailing-strings")
        except ValueError:
            return "", False
        text = _last_text(cut)
        return (text if len(text) <= LONGEST_WORDS else ""), whole != cut

    def _text(self) -> str:
        return self._head + "".join(self._parts).lstrip(" \t\r\n,")

    def _restart(self, head: str, rest: str = "") -> None:
        self._head, self._parts, self._length, self._inside = head, [rest], len(rest), bool(head)

    def _begins(self) -> bool:
        """Look for the object's first bracket. Each bracket that begins no object counts towards the limit."""
        text = "".join(self._parts)
        found = _START.search(text)
        self._left -= text.count("{", 0, found.start() if found else len(text))
        whole = found is not None and found[0][-1] in '"}'
        self._restart("", text[found.start() :] if found and whole else "{" if found else "")
        self._inside = whole
        self.began = self.began or self._inside
        return self._inside

    def _complete(self) -> list[tuple[str, Json]]:
        """The elements that are complete, now that a bracket has come in; what is kept begins again behind them."""
        text = self._text()
        plain = _STRING.sub("", text)
        self._quoted = '"' in plain
        depth = sum(map(plain.count, "{[")) - sum(map(plain.count, "}]"))
        if self._quoted:
            return []
        if depth > 2:
            self._left = self._left if depth <= DEEPEST else 0
            return []
        try:
            found = json.loads(text + ("", "}", "]}")[max(0, depth)], strict=False)
        except (ValueError, RecursionError):
            found = {}
            self._left -= 1
        if depth == 2:
            opened = _LIST.search(text)
            if not (found or opened or self._head.endswith("[")):
                return []  # in an object of the object
            name = json.dumps(next(reversed(found))) if found else opened[1] if opened else ""
            self._restart(f"{{{name}:[" if name else self._head)
        else:
            self._restart("{" if depth == 1 else "")
        lists = {name: value for name, value in found.items() if name in self._lists and isinstance(value, list)}
        done = [(name, one) for name, value in lists.items() for one in value if len(str(one)) <= LONGEST]
        done, self._left = done[: self._left], self._left - len(done)
        return done


def _last_text(value: Json) -> str:
    """The last text value in document order."""
    if isinstance(value, str):
        return value
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return next(filter(None, map(_last_text, reversed(inner))), "")
