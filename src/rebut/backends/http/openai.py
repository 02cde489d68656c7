"""The chat-completions wire of OpenAI, which many other servers use too."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from rebut.backends.http.schemas import NOT_KNOWN, closed, schema_blamed, schema_in_prompt, schema_label
from rebut.backends.http.wire import PartialReply, Wire
from rebut.core.json_value import Json, amount, count
from rebut.core.types import Request, Usage

_EFFORT = {"low": "low", "medium": "medium", "high": "high", "max": "high"}


class OpenAI(Wire):
    """One model behind `POST {base_url}/chat/completions`."""

    vendor, path = "openai", "/chat/completions"
    notes: ClassVar[Mapping[str, str]] = {
        "max_tokens": "{} needs max_completion_tokens instead of max_tokens; continued with that",
        "stream_options": "{} does not report usage in a stream; continued without it",
        "reasoning_effort": "{} has no effort setting; continued without it",
        "response_format": "{} does not accept a schema; the schema is in the prompt",
    }

    def body(self, request: Request, without: set[str]) -> tuple[set[str], dict[str, Json]]:
        sent = {"max_tokens", "stream_options"} - without
        text = request.prompt
        body: dict[str, Json] = {"model": self._model, "stream": True}
        if "stream_options" in sent:
            body["stream_options"] = {"include_usage": True}
        body["max_tokens" if "max_tokens" in sent else "max_completion_tokens"] = request.max_output
        body |= self.sampling_fields(request, without, sent)
        if (effort := request.participant.spec.effort) and "reasoning_effort" not in without:
            body["reasoning_effort"] = _EFFORT.get(effort, effort)
            sent.add("reasoning_effort")
        if request.schema is not None:
            if "response_format" in without:
                text = schema_in_prompt(request)
            else:
                # A server without strict mode ignores it; the engine validates in any case.
                schema: dict[str, Json] = {"name": schema_label(request), "schema": closed(request.schema)}
                body["response_format"] = {"type": "json_schema", "json_schema": {**schema, "strict": True}}
                sent.add("response_format")
        if request.followup:
            # One message, not two: several chat templates refuse two user messages in a row.
            text = f"{text}\n\n{request.followup}"
        body["messages"] = [{"role": "user", "content": text}]
        return sent, body

    def new_reply(self) -> PartialReply:
        return _Completion()

    def blamed(self, message: str, status: int, sent: set[str]) -> str | None:
        if "max_tokens" in sent and "max_tokens" in message and NOT_KNOWN.search(message):
            return "max_tokens"
        if "stream_options" in sent and "stream_options" in message:
            return "stream_options"
        if "reasoning_effort" in sent and re.search(r"reasoning[._ ]?effort|think", message):
            return "reasoning_effort"
        return "response_format" if "response_format" in sent and schema_blamed(message, status) else None


class _Completion(PartialReply):
    """A reply in chunks of `choices[0].delta`, or whole in `choices[0].message`."""

    __slots__ = ()

    def take(self, frame: Any) -> str:
        if frame.get("error"):
            self.error = frame["error"]
            return ""
        if usage := frame.get("usage"):
            self._spent(usage)
        if not self.model and isinstance(model := frame.get("model"), str):
            self.model = model
        choices = frame.get("choices")
        if not choices:
            return ""
        choice = choices[0]
        if finish := choice.get("finish_reason"):
            self._finished(str(finish), choice)
        part = choice.get("delta") or choice.get("message")
        if not part:
            return ""
        if refusal := part.get("refusal"):
            self.blocked = (self.blocked or "refused to answer: ") + str(refusal)
        text = part.get("content")
        if not text:
            return ""
        if not isinstance(text, str):
            # Some servers send a list of parts. Parts that are not text, such as thinking, do not belong to the answer.
            text = "".join(str(piece["text"]) for piece in text if piece["type"] == "text")
        return self.add(text)

    def _finished(self, finish: str, choice: Any) -> None:
        self.finish = finish
        self.cut = finish == "length"
        if finish == "content_filter":
            self.blocked = "the provider's content filter stopped the reply"
        elif finish == "error":
            self.error = choice.get("error") or "the provider stopped in the middle"

    def _spent(self, usage: Json) -> None:
        if not isinstance(usage, dict):
            raise TypeError("usage is not an object")
        details = usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else None
        self.usage = Usage(count(usage.get("prompt_tokens")), count(usage.get("completion_tokens")), count(cached))
        if (cost := amount(usage.get("cost"))) is not None:
            self.usd = cost
