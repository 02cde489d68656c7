"""A model file loaded into this process by xllamacpp: once, whoever asks, one call at a time."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from rebut.core.errors import ParticipantFailed
from rebut.core.types import Json

_BATCH = 128
"""Tokens of the prompt between two looks at whether anybody still waits: about a second on one slow core."""
_MOST_THREADS = 8


OnPiece = Callable[[str], bool]


def unheard(piece: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model is to answer, and how."""

    text: str
    most: int
    """Tokens of the answer."""
    seed: int
    schema: Mapping[str, Json] | None = None
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class Generated:
    """What the model wrote in one call."""

    text: str
    prompt: int
    output: int
    cached: int = 0
    """Of the prompt, what still stood in memory from the call before."""
    cut: bool = False
    """It came to the output limit, or to the end of its window."""


class TooLong(Exception):
    """The conversation does not fit the window; nothing was computed."""

    def __init__(self, tokens: int, window: int) -> None:
        super().__init__(f"{tokens} tokens in a window of {window}")
        self.tokens = tokens
        self.window = window


class Stopped(Exception):
    """Nobody waits for the answer any more."""


class Engine(Protocol):
    """What a seat needs of a loaded model: one blocking call."""

    def chat(self, turn: Turn, on_piece: OnPiece = unheard) -> Generated:
        """Answer. `on_piece` hears each piece (empty while the prompt is read) and stops by True."""
        ...


class Llama:
    """One file, loaded at its first call. Calls queue on a lock, so that any thread of any loop may use it."""

    def __init__(self, path: Path, window: int) -> None:
        self._path = path
        self._window = window
        self._server: Any = None
        self._turn = threading.Lock()

    def chat(self, turn: Turn, on_piece: OnPiece = unheard) -> Generated:
        asked: dict[str, Any] = {
            "messages": [{"role": "user", "content": turn.text}],
            "max_tokens": turn.most,
            "seed": turn.seed,
            **_SAMPLING,
            **({} if turn.temperature is None else {"temperature": turn.temperature}),
            "stream": True,
            "stream_options": {"include_usage": True},
            "return_progress": True,
        }
        if turn.schema is not None:
            asked["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "schema": turn.schema}}
        heard = _Heard(on_piece)
        with self._turn:
            if on_piece(""):
                raise Stopped
            self._load()
            try:
                self._server.handle_chat_completions(asked, heard)
            except (ValueError, RuntimeError) as error:
                raise ParticipantFailed("crashed", f"{self._path.name}: {error}") from error
        return heard.said(self._path.name)

    def _load(self) -> None:
        if self._server is not None:
            return
        # mypy cannot see into it, and most installs do not have it.
        llama: Any = import_module("xllamacpp")
        params = llama.CommonParams()
        params.model.path = str(self._path)
        params.n_ctx = self._window
        params.n_parallel = 1
        params.n_batch = params.n_ubatch = _BATCH
        params.verbosity = -1
        params.warmup = False
        params.cache_ram_mib = 0
        params.enable_reasoning = 0
        # It listens on a loopback port too, and has no setting against that: nobody else may ask it there.
        params.api_keys = [secrets.token_hex(32)]
        params.endpoint_slots = False
        params.ui = False
        # Threads wait for each other by spinning. With as many as there are cores, any other busy process makes each
        # token wait for the scheduler: 3 tokens a second were seen in place of 40. One core is left free.
        threads = max(1, min(_MOST_THREADS, (os.cpu_count() or 2) - 1))
        for cpu in (params.cpuparams, params.cpuparams_batch):
            cpu.n_threads, cpu.poll = threads, 0
        try:
            self._server = llama.Server(params)
        except RuntimeError as error:
            raise ParticipantFailed(
                "crashed",
                f"{self._path.name} could not be loaded: it is damaged, no GGUF model, or too large for memory",
                "For the embedded model, `rebut models get` checks the file and gets it anew.",
            ) from error


class _Heard:
    """Gathers the stream. Called by the runner, which swallows what a listener raises: so it never raises."""

    def __init__(self, on_piece: Callable[[str], bool]) -> None:
        self._on_piece = on_piece
        self._pieces: list[str] = []
        self._usage: Mapping[str, Any] = {}
        self._error: Mapping[str, Any] = {}
        self._finish = ""
        self._stopped = False

    def __call__(self, chunk: Mapping[str, Any]) -> bool:
        self._error = chunk.get("error") or self._error
        self._usage = chunk.get("usage") or self._usage
        piece = ""
        for choice in chunk.get("choices") or ():
            piece += (choice.get("delta") or {}).get("content") or ""
            self._finish = choice.get("finish_reason") or self._finish
        self._pieces.append(piece)
        self._stopped = self._stopped or self._on_piece(piece)
        return self._stopped

    def said(self, name: str) -> Generated:
        if self._error:
            if self._error.get("type") == "exceed_context_size_error":
                raise TooLong(int(self._error["n_prompt_tokens"]), int(self._error["n_ctx"]))
            raise ParticipantFailed("crashed", f"{name}: {self._error.get('message', 'no reason given')}")
        if self._stopped:
            raise Stopped
        if not self._finish:
            raise ParticipantFailed("crashed", f"{name} broke off in the middle of its answer")
        prompt, output = (int(self._usage.get(key, 0)) for key in ("prompt_tokens", "completion_tokens"))
        cached = int((self._usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0))
        return Generated("".join(self._pieces), prompt, output, cached, self._finish == "length")


_loaded: dict[Path, Llama] = {}
_loading = threading.Lock()


def loaded(path: Path, window: int) -> Llama:
    """The one engine of this file in this process. The first to ask decides how large its window is."""
    with _loading:
        return _loaded.setdefault(path.resolve(), Llama(path, window))


_SAMPLING = {"temperature": 0.3, "top_p": 0.9, "repeat_penalty": 1.1}
"""A little warm and with a fine on repetition, to which small models are given."""
