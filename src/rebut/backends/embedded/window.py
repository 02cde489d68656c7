"""The window: the questions of one call, each below what the model is shown, held within what it can hold."""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Callable, Mapping

from rebut.backends.embedded.llama import Engine, TooLong, Turn
from rebut.core.errors import ParticipantFailed
from rebut.core.types import Json, Request


class Window:
    """One call's way to the engine. Used in a worker thread."""

    def __init__(self, engine: Engine, request: Request, on_piece: Callable[[str], bool]) -> None:
        self._on_piece = on_piece
        drawn = request.sampling
        own = "" if drawn.seed is None else f"#{drawn.seed}"
        self._seed = zlib.crc32(f"{request.key}#{request.attempt}{own}".encode())
        self._engine, self._temperature = engine, drawn.temperature
        self._shown = ""
        self._show: Callable[[int], str] = lambda most: ""
        self.unread = ""
        self.input = self.output = 0
        self.cut = False

    def open(self, show: Callable[[int], str], most: int) -> None:
        """`show` gives what the model is shown, within so many characters."""
        self._show, self._shown = show, show(most)
        if len(whole := show(sys.maxsize)) > most:
            self._note(whole)

    def say(self, question: str, most: int, schema: Mapping[str, Json] | None = None) -> str:
        while True:
            text = joined(self._shown, question)
            self._seed += 1
            try:
                said = self._engine.chat(Turn(text, most, self._seed, schema, self._temperature), self._on_piece)
            except TooLong as error:
                self._shorten(error.tokens, error.window, most)
                continue
            if said.cut and said.output < most - 1:  # the window, not the limit, cut it off
                self._shorten(said.prompt, said.prompt + said.output, most)
                continue
            break
        # What is shown is read once and kept; of the later questions only their own words are new.
        self.input += said.prompt - said.cached
        self.output += said.output
        self.cut = said.cut
        return said.text

    def choose(self, question: str, schema: Mapping[str, Json], most: int) -> Json:
        try:
            found: Json = json.loads(self.say(question, most, schema))
        except ValueError:
            raise ParticipantFailed("bad reply", "the model did not finish choosing") from None
        return found

    def _shorten(self, tokens: int, window: int, most: int) -> None:
        target = min(int(len(self._shown) * (window - most) / tokens * 0.9), len(self._shown) - 100)
        if target < 200:
            raise ParticipantFailed("bad reply", f"question and answer do not fit a window of {window} tokens")
        self._shown = self._show(target)
        self._note(self._show(sys.maxsize))

    def _note(self, whole: str) -> None:
        left = len(whole) - len(self._shown)
        self.unread = f"too long for this model: {left:,} of {len(whole):,} characters, in the middle, were left out"


def joined(text: str, more: str) -> str:
    return f"{text}\n\n{more}" if more else text
