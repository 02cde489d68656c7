"""Hearing: an answer while it is being written, point by point, each with its mark.

Provisional, all of it: nothing here is on record, and an answer may yet be sent back or cut off. What is shown of it
has passed the door, as everything has that is kept.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rebut.core.errors import RebutError
from rebut.core.redaction import LATE
from rebut.core.text import at_the_door, squeeze
from rebut.core.types import Json
from rebut.domain import glance
from rebut.domain.glance import Glance
from rebut.domain.ledger import Evidence
from rebut.engine.streaming import LONGEST_WORDS, Stream

if TYPE_CHECKING:
    from pydantic import BaseModel

    from rebut.engine.runtime import Room

MOST = 60
"""Points of one answer that are shown and looked up as they come."""
FEWEST_WORDS = 3
"""A text of fewer is a name, a place or a grade: nothing to read along."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One point of an answer that is still being written."""

    text: str
    tag: str = ""
    about: str = ""
    place: str = ""
    mark: str = ""
    """What looking its citation up showed; empty while that goes on."""
    looked_up: bool = False


class Hearing:
    """One call's answer as it comes in."""

    def __init__(self, room: Room, key: str, form: type[BaseModel] | None) -> None:
        self.points: list[Heard] = []
        self.size = 0
        """Characters so far."""
        self._room, self._key = room, key
        self._lists: Mapping[str, tuple[type[BaseModel], Glance]] = glance.lists(form) if form else {}
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
        safe = self._room.door(said) if said else ""
        if self._stream is None or not self._stream.began or self._stream.writing:
            # The redactor sees more than is shown: what it cannot know yet lies in the end that is held back.
            safe = safe[: -self._room.reach]
            safe = safe[: len(safe) - len(safe.split(" ")[-1].split("\n")[-1])]
        words = squeeze(safe.replace("`", ""))
        # Until there is more to read, what was to be read last stands.
        return words if len(words.split()) >= FEWEST_WORDS else self._shown[1]

    # points

    def _point(self, name: str, value: Json) -> None:
        if len(self.points) >= MOST or self._muted or not isinstance(value, dict):
            return
        spelt = json.dumps(value, ensure_ascii=False)
        # What may go on in the next point, and cannot be told before that, ends the reading along.
        self._muted = LATE.search(spelt) is not None
        element, told = self._lists[name]
        filled = None if self._muted else _filled(element, spelt, self._room.door)
        text = squeeze(str(getattr(filled, told.words, ""))) if filled is not None else ""
        if filled is None or not text:
            return
        tag = squeeze(str(getattr(filled, told.tag, ""))) if told.tag else ""
        about = squeeze(str(getattr(filled, told.about, ""))) if told.about else ""
        cited = [cite.evidence() for cite in getattr(filled, told.cites, ()) if hasattr(cite, "evidence")]
        cited = [one for one in cited if one.place]
        self.points.append(Heard(text, tag, about, cited[0].place if cited else ""))
        looking = asyncio.ensure_future(self._look(len(self.points) - 1, cited, told))
        self._room.aside.add(looking)
        looking.add_done_callback(self._room.aside.discard)

    async def _look(self, number: int, cited: list[Evidence], told: Glance) -> None:
        from rebut.evidence.marks import marked

        heard = self.points[number]
        try:
            found = await marked(cited, heard.text, self._room.sides)
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
        if self._room.control.on_heard:
            self._room.control.on_heard(self._key, self)


def _filled(element: type[BaseModel], spelt: str, door: Callable[[str], str]) -> BaseModel | None:
    """An element as its form reads it, without secrets: neither those that its own names give away nor the others."""
    from pydantic import ValidationError

    try:
        return element.model_validate(at_the_door(json.loads(door(spelt)), door))
    except (ValidationError, ValueError, RecursionError):
        return None


def listen(room: Room, key: str, form: type[BaseModel] | None) -> Callable[[str], None] | None:
    """Who hears an answer as it is written; None if nobody does."""
    on_text, on_heard = room.control.on_text, room.control.on_heard
    if on_heard is None:
        return (lambda piece: on_text(key, piece)) if on_text else None
    hearing = Hearing(room, key, form)
    on_heard(key, hearing)

    def take(piece: str) -> None:
        hearing.take(piece)
        if on_text:
            on_text(key, piece)

    return take
