"""The Messages wire of Anthropic.

As documented by the provider: a schema goes into `output_config.format`, an effort into `output_config.effort`, both
without a beta header; higher efforts use adaptive thinking; older models support neither and take a number of thinking
tokens instead. Assumed: what a model does not support is refused with 400 and named in the error's message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from rebut.backends.http.client import HttpFailed
from rebut.backends.http.schemas import closed, schema_blamed, schema_in_prompt
from rebut.backends.http.wire import PartialReply, Wire, thinking_share
from rebut.core.json_value import Json, count
from rebut.core.types import Request, Usage

VERSION = "2023-06-01"
_LEAST_THINKING = 1024
"""Tokens for thinking; with fewer, the provider refuses the request."""
_CUT = ("max_tokens", "model_context_window_exceeded")


class Anthropic(Wire):
    """One model behind `POST {base_url}/v1/messages`."""

    vendor = "anthropic"
    marks_cache = True
    knobs: ClassVar[Mapping[str, str]] = {"temperature": "temperature"}
    notes: ClassVar[Mapping[str, str]] = {
        "cache_control": "{} does not accept a cache marker; continued without it",
        "adaptive": "{} does not think adaptively; continued without thinking",
        "max": "{} has no effort above high; continued with that",
        "effort": "{} has no effort setting; continued with a thinking budget instead",
        "budget": "{} has no thinking budget either; continued without an effort",
        "format": "{} does not accept a schema; the schema is in the prompt",
    }

    def url(self, base: str, model: str) -> str:
        if base.endswith("/messages"):
            return base
        # The provider's own tools use an address without the version, most others one with it.
        return f"{base}/messages" if base.endswith("/v1") else f"{base}/v1/messages"

    def headers(self, key: str) -> dict[str, str]:
        return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}

    def body(self, request: Request, without: set[str]) -> tuple[set[str], dict[str, Json]]:
        sent: set[str] = set()
        body: dict[str, Json] = {"model": self._model, "max_tokens": request.max_output, "stream": True}
        body |= self.sampling_fields(request, without, sent)
        text, config = request.prompt, self._effort(request, without, body, sent)
        if request.schema is not None:
            if "format" in without:
                text = schema_in_prompt(request)
            else:
                config["format"] = {"type": "json_schema", "schema": closed(request.schema)}
                sent.add("format")
        if config:
            body["output_config"] = config
        stable: dict[str, Json] = {"type": "text", "text": text}
        if "cache_control" not in without:
            # The follow-up of a second call comes after the marker, so everything before it is read from the cache.
            stable["cache_control"] = {"type": "ephemeral"}
            sent.add("cache_control")
        more: list[Json] = [{"type": "text", "text": request.followup}] if request.followup else []
        body["messages"] = [{"role": "user", "content": [stable, *more]}]
        return sent, body

    def _effort(self, request: Request, without: set[str], body: dict[str, Json], sent: set[str]) -> dict[str, Json]:
        """Return the effort as `output_config`; put the thinking for it into `body`."""
        effort = request.participant.spec.effort
        if not effort:
            return {}
        if "effort" in without:
            budget = thinking_share(request)
            if "budget" not in without and budget >= _LEAST_THINKING:
                body["thinking"] = {"type": "enabled", "budget_tokens": budget}
                sent.add("budget")
            return {}
        if effort == "max" and "max" in without:
            effort = "high"
        if effort in ("high", "max") and "adaptive" not in without:
            body["thinking"] = {"type": "adaptive"}
            sent.add("adaptive")
        sent |= {"effort", effort} & self.notes.keys()
        return {"effort": effort}

    def new_reply(self) -> PartialReply:
        return _Message()

    def blamed(self, message: str, status: int, sent: set[str]) -> str | None:
        if "cache_control" in sent and "cache_control" in message:
            return "cache_control"
        if "adaptive" in sent and re.search(r"adaptive|thinking", message):
            return "adaptive"
        if "max" in sent and "effort" in message and re.search(r"\bmax\b", message):
            return "max"
        if "effort" in sent and "effort" in message:
            return "effort"
        if "budget" in sent and re.search(r"thinking|budget", message):
            return "budget"
        if "format" in sent and (re.search(r"output_config|output_format", message) or schema_blamed(message, status)):
            return "format"
        return "effort" if "effort" in sent and "output_config" in message else None

    def classed(self, failed: HttpFailed) -> HttpFailed:
        if failed.status == 400 and "credit balance" in failed.detail:
            failed.kind = "rate limit"
            failed.hint = self._address.no_credit
        return super().classed(failed)


class _Message(PartialReply):
    """A reply as events from `message_start` to `message_stop`, or a whole message."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        super().__init__()
        self._counts: dict[str, int] = {}

    def take(self, frame: Any) -> str:
        kind = frame.get("type")
        if kind == "content_block_delta":
            # Thinking and its signature come as deltas of other types.
            return self.add(delta["text"]) if (delta := frame["delta"])["type"] == "text_delta" else ""
        if kind == "content_block_start":
            block = frame["content_block"]
            return self.add(block["text"]) if block["type"] == "text" else ""
        if kind == "message_start":
            self._begun(frame["message"])
        elif kind == "message_delta":
            self._ended(frame["delta"], frame.get("usage"))
        elif kind == "message_stop":
            self.done = True
        elif kind == "message":
            self._begun(frame)
            self._ended(frame, frame["usage"])
            return self.add("".join(part["text"] for part in frame["content"] if part["type"] == "text"))
        elif error := frame.get("error"):
            self.error = error
        return ""

    def _begun(self, message: Any) -> None:
        if isinstance(model := message.get("model"), str):
            self.model = model
        self._count(message.get("usage"))

    def _ended(self, ending: Any, usage: Any) -> None:
        self._count(usage)
        if not (reason := ending.get("stop_reason")):
            return
        self.finish = str(reason)
        self.cut = self.finish in _CUT
        if self.finish == "refusal":
            why = ending.get("stop_details")
            said = why.get("explanation") if isinstance(why, dict) else None
            self.blocked = f"refused to answer: {said}" if said else "refused to answer"
        counts = self._counts
        given, read = counts.get("input_tokens"), counts.get("cache_read_input_tokens", 0)
        self.written = counts.get("cache_creation_input_tokens", 0)
        # This provider does not count cached tokens as input; rebut does.
        whole = None if given is None else given + read + self.written
        self.usage = Usage(whole, counts.get("output_tokens"), read) if counts else None

    def _count(self, usage: Any) -> None:
        """Keep the largest of each count: they are cumulative, and some gateways send the real one only at the end."""
        for name, value in (usage or {}).items():
            number = count(value)
            if number is not None:
                self._counts[name] = max(number, self._counts.get(name, 0))
