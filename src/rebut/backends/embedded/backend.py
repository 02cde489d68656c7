"""A model file in a seat: `local`, the embedded model, and `gguf:PATH`. Nothing leaves this process."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from rebut.backends.embedded.llama import Engine, Stopped, TooLong, Turn, loaded
from rebut.backends.embedded.small_forms import filled, gist, shortened
from rebut.backends.families import family_of
from rebut.backends.http.schemas import schema_in_prompt
from rebut.core.errors import ParticipantFailed
from rebut.core.types import Json, Reply, Request, Usage

LABEL = "SmolLM2 135M: shows the machinery, not wisdom"
GIST = "of a prompt it is shown its role and what is quoted, and a form is asked of it field by field"
SMALL = 1_200_000_000
"""Bytes. A model of less than some 2 billion parameters cannot fill in a form by itself."""
SMALL_WINDOW, WINDOW = 2048, 8192
SMALL_PROMPT = 512
"""Tokens that a small model is shown: it makes nothing of more, and reads about 100 a second on one core."""
PLAIN = 320
"""Tokens of a small model's answer in plain text; beyond that it repeats itself."""
_CHARACTERS = 4
"""To a token, about; the engine says exactly when it was too much."""


class Local:
    """One seat's way to an engine that all seats of that file share."""

    def __init__(self, path: Path, *, name: str = "", label: str = "", effort: str = "", engine: Engine | None = None):
        self.small = path.stat().st_size < SMALL
        self.family = label or family_of(path.stem) or path.stem
        self._name = name or path.stem
        self._window = SMALL_WINDOW if self.small else WINDOW
        self._engine = engine or loaded(path, self._window)
        self._notes = ["; ".join(part for part in (label, GIST if self.small else "") if part)]
        if effort:
            self._notes.append(f"{self._name} has no levels of effort; {effort} was left out")

    async def complete(self, request: Request) -> Reply:
        loop, gone = asyncio.get_running_loop(), threading.Event()

        def on_piece(piece: str) -> bool:
            if piece and not gone.is_set():
                loop.call_soon_threadsafe(request.on_text, piece)
            return gone.is_set()

        window = Window(self._engine, request, on_piece)
        try:
            text = await asyncio.to_thread(self._answer, request, window)
        except asyncio.CancelledError:
            gone.set()  # the thread stops at its next token
            raise
        except Stopped:
            raise ParticipantFailed("crashed", f"{self._name} was stopped in the middle of its answer") from None
        notes, self._notes = tuple(filter(None, self._notes)), []  # what holds for every call is said once
        return Reply(
            text,
            model=self._name,
            family=self.family,
            usage=Usage(window.input, window.output),
            usd=0.0,
            truncated=window.cut,
            notes=notes,
            unread=window.unread,
        )

    def _answer(self, request: Request, window: Window) -> str:
        schema = request.schema
        if not self.small:
            whole = joined(schema_in_prompt(request) if schema else request.prompt, request.followup)
            window.open(lambda most: shortened(whole, most), self._window // 2 * _CHARACTERS)
            return window.say("", min(request.max_output, self._window // 4), schema)
        if schema is None:
            window.open(lambda most: shortened(request.whole, most), SMALL_PROMPT * _CHARACTERS)
            return window.say("", min(request.max_output, PLAIN))
        window.open(lambda most: gist(request.prompt, most), SMALL_PROMPT * _CHARACTERS)
        form = filled(schema, request.prompt, request.followup, window)
        window.cut = False  # each field was asked for in a length of its own, and unfinished sentences were taken off
        return json.dumps(form, ensure_ascii=False)


# The window: the questions of one call, each below what the model is shown, held within what it can hold.


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
