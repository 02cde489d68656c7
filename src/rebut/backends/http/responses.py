"""The Responses wire of OpenAI.

As documented by the provider: a schema goes into `text.format`, an effort into `reasoning.effort`; the last event holds
the whole response with its usage, and there is no `[DONE]`. `store` is false, because otherwise the provider keeps the
conversation. Assumed: `xhigh` is the highest effort of most models; a model without it is called with `high`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from rebut.backends.http.schemas import closed, schema_blamed, schema_in_prompt, schema_label
from rebut.backends.http.wire import PartialReply, Wire
from rebut.core.json_value import Json, count
from rebut.core.types import Request, Usage


class Responses(Wire):
    """One model behind `POST {base_url}/responses`."""

    vendor, path = "openai", "/responses"
    knobs: ClassVar[Mapping[str, str]] = {"temperature": "temperature"}
    notes: ClassVar[Mapping[str, str]] = {
        "store": "{} does not accept store=false; it may keep what was sent",
        "xhigh": "{} has no effort above high; continued with that",
        "reasoning": "{} has no effort setting; continued without it",
        "text": "{} does not accept a schema; the schema is in the prompt",
    }

    def body(self, request: Request, without: set[str]) -> tuple[set[str], dict[str, Json]]:
        sent = {"store"} - without
        text = request.prompt
        body: dict[str, Json] = {"model": self._model, "stream": True, "max_output_tokens": request.max_output}
        if "store" in sent:
            body["store"] = False
        body |= self.sampling_fields(request, without, sent)
        if (effort := request.participant.spec.effort) and "reasoning" not in without:
            level = "xhigh" if effort == "max" else effort
            level = "high" if level in without else level
            body["reasoning"] = {"effort": level}
            sent |= {"reasoning", level} & self.notes.keys()
        if request.schema is not None:
            if "text" in without:
                text = schema_in_prompt(request)
            else:
                schema: dict[str, Json] = {"name": schema_label(request), "schema": closed(request.schema)}
                body["text"] = {"format": {"type": "json_schema", **schema, "strict": True}}
                sent.add("text")
        content: list[Json] = [{"type": "input_text", "text": text}]
        if request.followup:
            content.append({"type": "input_text", "text": request.followup})
        body["input"] = [{"role": "user", "content": content}]
        return sent, body

    def new_reply(self) -> PartialReply:
        return _Response()

    def blamed(self, message: str, status: int, sent: set[str]) -> str | None:
        if "store" in sent and re.search(r"\bstore\b", message):
            return "store"
        if "xhigh" in sent and "xhigh" in message:
            return "xhigh"
        if "reasoning" in sent and re.search(r"reasoning|effort", message):
            return "reasoning"
        odd = re.search(r"text\.format|\btext\b", message) or schema_blamed(message, status)
        return "text" if "text" in sent and odd else None


class _Response(PartialReply):
    """A reply as typed events, the last of which has the whole response; or the whole response alone."""

    __slots__ = ()

    def take(self, frame: Any) -> str:
        kind = frame.get("type")
        if kind == "response.output_text.delta":
            return self.add(frame["delta"])
        if kind == "response.refusal.delta":
            self._refused(frame["delta"])
        elif kind in ("response.completed", "response.incomplete", "response.failed"):
            return self._ended(frame["response"])
        elif kind == "response.created":
            self._named(frame["response"])
        elif kind == "error" or (kind is None and frame.get("error")):
            self.error = frame.get("error") or frame
        elif kind is None and "output" in frame:
            return self._ended(frame)
        return ""

    def _ended(self, response: Any) -> str:
        self._named(response)
        if usage := response.get("usage"):
            cached = (usage.get("input_tokens_details") or {}).get("cached_tokens")
            self.usage = Usage(count(usage.get("input_tokens")), count(usage.get("output_tokens")), count(cached))
        self.finish, self.done = str(response.get("status") or "completed"), True
        if response.get("error") or self.finish in ("failed", "cancelled"):
            self.error = response.get("error") or f"the response was {self.finish}"
            return ""
        if self.finish == "incomplete":
            reason = (response.get("incomplete_details") or {}).get("reason")
            self.cut = reason == "max_output_tokens"
            if not self.cut:
                self.blocked = f"the provider stopped the reply ({reason})"
        # After deltas the text is known already; without deltas, or without a stream, only `output` has it.
        return "" if self.pieces else self._whole(response.get("output") or ())

    def _whole(self, output: Any) -> str:
        parts = [part for item in output if item["type"] == "message" for part in item["content"]]
        for part in parts:
            if part["type"] == "refusal" and not self.blocked:
                self._refused(part["refusal"])
        return self.add("".join(part["text"] for part in parts if part["type"] == "output_text"))

    def _named(self, response: Any) -> None:
        if isinstance(model := response.get("model"), str):
            self.model = model

    def _refused(self, why: Any) -> None:
        self.blocked = (self.blocked or "refused to answer: ") + str(why)
