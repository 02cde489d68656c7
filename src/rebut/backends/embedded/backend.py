"""A model file in a seat: `local`, the embedded model, and `gguf:PATH`. Nothing leaves this process."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from rebut.backends.embedded.llama import ChatTurn, Engine, Stopped, TooLong, loaded
from rebut.backends.embedded.quotes import gist, shortened
from rebut.backends.embedded.small_forms import filled
from rebut.backends.families import family_of
from rebut.backends.http.schemas import schema_in_prompt
from rebut.core.errors import ParticipantFailed
from rebut.core.json_value import Json
from rebut.core.types import Reply, Request, Usage

LABEL = "SmolLM2 135M: shows the machinery, not wisdom"
GIST = "it is shown only the role and the quotes of a prompt, and is asked for a form field by field"
SMALL = 1_200_000_000
"""Bytes. A model of less than some 2 billion parameters cannot fill in a form by itself."""
SMALL_WINDOW, WINDOW = 2048, 8192
SMALL_PROMPT = 512
"""Tokens of a prompt that a small model is shown: more does not help it, and it reads about 100 a second on a core."""
PLAIN = 320
"""Tokens of a small model's answer in plain text; beyond that it repeats itself."""
_CHARACTERS = 4
"""Characters per token, roughly; the engine reports it if a text is really too long."""


class Local:
    """The backend of one seat. All seats of the same file share one engine."""

    def __init__(self, path: Path, *, name: str = "", label: str = "", effort: str = "", engine: Engine | None = None):
        self.small = path.stat().st_size < SMALL
        self.family = label or family_of(path.stem) or path.stem
        self._name = name or path.stem
        self._window = SMALL_WINDOW if self.small else WINDOW
        self._engine = engine or loaded(path, self._window)
        self._notes = ["; ".join(part for part in (label, GIST if self.small else "") if part)]
        if effort:
            self._notes.append(f"{self._name} has no levels of effort; {effort} was ignored")

    async def complete(self, request: Request) -> Reply:
        loop, cancelled = asyncio.get_running_loop(), threading.Event()

        def on_piece(piece: str) -> bool:
            if piece and not cancelled.is_set():
                loop.call_soon_threadsafe(request.on_text, piece)
            return cancelled.is_set()

        window = Window(self._engine, request, on_piece)
        try:
            text = await asyncio.to_thread(self._answer, request, window)
        except asyncio.CancelledError:
            cancelled.set()  # the thread stops at its next token
            raise
        except Stopped:
            raise ParticipantFailed("crashed", f"{self._name} was stopped in the middle of its answer") from None
        notes, self._notes = tuple(filter(None, self._notes)), []  # notes that hold for every call are given once
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
        schema = request.loose_schema or request.schema
        if not self.small:
            whole = joined(schema_in_prompt(request) if schema else request.prompt, request.followup)
            window.open(lambda most: shortened(whole, most), self._window // 2 * _CHARACTERS)
            return window.write("", min(request.max_output, self._window // 4), schema)
        if schema is None:
            window.open(lambda most: shortened(request.whole, most), SMALL_PROMPT * _CHARACTERS)
            return window.write("", min(request.max_output, PLAIN))
        window.open(lambda most: gist(request.prompt, most), SMALL_PROMPT * _CHARACTERS)
        form = filled(schema, request.prompt, request.sent_back, window)
        window.cut = False  # each field had a length limit of its own, and unfinished sentences were removed
        return json.dumps(form, ensure_ascii=False)


class Window:
    """Asks the questions of one call, each after the prompt, which is shortened to fit. Used in a worker thread."""

    def __init__(self, engine: Engine, request: Request, on_piece: Callable[[str], bool]) -> None:
        self._on_piece = on_piece
        sampling = request.sampling
        own = "" if sampling.seed is None else f"#{sampling.seed}"
        self._seed = zlib.crc32(f"{request.key}#{request.attempt}{own}".encode())
        self._engine, self._temperature = engine, sampling.temperature
        self._shown = ""
        self._show: Callable[[int], str] = lambda most: ""
        self.unread = ""
        self.input = self.output = 0
        self.cut = False

    def open(self, show: Callable[[int], str], most: int) -> None:
        """Set the prompt: `show` returns it shortened to a number of characters, at first to `most`."""
        self._show, self._shown = show, show(most)
        if len(whole := show(sys.maxsize)) > most:
            self._note(whole)

    def write(self, question: str, most: int, schema: Mapping[str, Json] | None = None) -> str:
        while True:
            text = joined(self._shown, question)
            self._seed += 1
            try:
                made = self._engine.chat(ChatTurn(text, most, self._seed, schema, self._temperature), self._on_piece)
            except TooLong as error:
                self._shorten(error.tokens, error.window, most)
                continue
            if made.cut and made.output < most - 1:  # cut off by the window, not by the limit
                self._shorten(made.prompt, made.prompt + made.output, most)
                continue
            break
        # The prompt is read once and cached; of later questions only their own text is new.
        self.input += made.prompt - made.cached
        self.output += made.output
        self.cut = made.cut
        return made.text

    def choose(self, question: str, schema: Mapping[str, Json], most: int) -> Json:
        try:
            found: Json = json.loads(self.write(question, most, schema))
        except (ValueError, RecursionError):
            raise ParticipantFailed("bad reply", "the model did not finish choosing") from None
        return found

    def _shorten(self, tokens: int, window: int, most: int) -> None:
        target = min(int(len(self._shown) * (window - most) / tokens * 0.9), len(self._shown) - 100)
        if target < 200:
            raise ParticipantFailed("bad reply", f"question and answer do not fit into a window of {window} tokens")
        self._shown = self._show(target)
        self._note(self._show(sys.maxsize))

    def _note(self, whole: str) -> None:
        missing = len(whole) - len(self._shown)
        self.unread = f"too long for this model: {missing:,} of {len(whole):,} characters, in the middle, were left out"


def joined(text: str, more: str) -> str:
    return f"{text}\n\n{more}" if more else text
