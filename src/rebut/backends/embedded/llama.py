"""A model file that xllamacpp runs in this process: loaded once for all seats, one call at a time."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from rebut.core.errors import ParticipantFailed
from rebut.core.frozen import frozen
from rebut.core.json_value import Json

_BATCH = 128
"""Tokens of the prompt between two checks for a cancelled call: about a second on one slow core."""
_MOST_THREADS = 8
OnPiece = Callable[[str], bool]
"""Receives each piece of an answer; True stops the model."""


def ignored(piece: str) -> bool:
    return False


@frozen
class ChatTurn:
    """One question to the model."""

    text: str
    most: int
    """The most tokens that the answer may have."""
    seed: int
    schema: Mapping[str, Json] | None = None
    temperature: float | None = None


@frozen
class Generated:
    """What the model wrote in one call."""

    text: str
    prompt: int
    output: int
    cached: int = 0
    """Tokens of the prompt that were still in memory from the call before."""
    cut: bool = False
    """The output limit or the end of the window was reached."""


class TooLong(Exception):
    """The conversation does not fit the window; nothing was computed."""

    def __init__(self, tokens: int, window: int) -> None:
        super().__init__(f"{tokens} tokens in a window of {window}")
        self.tokens = tokens
        self.window = window


class Stopped(Exception):
    """The call was cancelled."""


class Engine(Protocol):
    """What a seat needs of a loaded model: one blocking call."""

    def chat(self, turn: ChatTurn, on_piece: OnPiece = ignored) -> Generated:
        """Answer. `on_piece` receives each piece, and empty ones while the prompt is read."""
        ...


class Llama:
    """One file, loaded at its first call. Calls queue on a lock, so that any thread of any loop may use it."""

    def __init__(self, path: Path, window: int) -> None:
        self._path = path
        self._window = window
        self._server: Any = None
        self._turn = threading.Lock()

    def chat(self, turn: ChatTurn, on_piece: OnPiece = ignored) -> Generated:
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
        stream = _Stream(on_piece)
        with self._turn:
            if on_piece(""):
                raise Stopped
            self._load()
            try:
                self._server.handle_chat_completions(asked, stream)
            except (ValueError, RuntimeError) as error:
                raise ParticipantFailed("crashed", f"{self._path.name}: {error}") from error
        return stream.result(self._path.name)

    def _load(self) -> None:
        if self._server is not None:
            return
        # Loaded by name: most installations do not have xllamacpp, and mypy cannot see its types.
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
        # The server also listens on a loopback port, which no setting prevents: a random key keeps other programs out.
        params.api_keys = [secrets.token_hex(32)]
        params.endpoint_slots = False
        params.ui = False
        # Threads wait for each other by spinning. With one per core, any other busy process makes each token wait for
        # the scheduler: 3 tokens a second were measured instead of 40. One core is left free.
        threads = max(1, min(_MOST_THREADS, (os.cpu_count() or 2) - 1))
        for cpu in (params.cpuparams, params.cpuparams_batch):
            cpu.n_threads, cpu.poll = threads, 0
        try:
            self._server = llama.Server(params)
        except RuntimeError as error:
            raise ParticipantFailed(
                "crashed",
                f"{self._path.name} could not be loaded: it is damaged, not a GGUF model, or too large for memory",
                "For the embedded model, `rebut models get` checks the file and downloads it again.",
            ) from error


class _Stream:
    """Collects a streamed answer. It never raises: xllamacpp, which calls it, ignores exceptions."""

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

    def result(self, name: str) -> Generated:
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
    """The only engine of this file in this process. The first call decides how large its window is."""
    with _loading:
        return _loaded.setdefault(path.resolve(), Llama(path, window))


_SAMPLING = {"temperature": 0.3, "top_p": 0.9, "repeat_penalty": 1.1}
"""A low temperature, and a penalty on repetition, to which small models tend."""
