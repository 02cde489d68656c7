"""A model file in a seat: `local`, the embedded model, and `gguf:PATH`. Nothing leaves this process."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path

from rebut.backends.embedded.gist import gist, shortened
from rebut.backends.embedded.llama import Engine, Stopped, loaded
from rebut.backends.embedded.small_forms import filled
from rebut.backends.embedded.window import Window, joined
from rebut.backends.families import family_of
from rebut.backends.http.schemas import schema_in_prompt
from rebut.core.errors import ParticipantFailed
from rebut.core.types import Reply, Request, Usage

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
