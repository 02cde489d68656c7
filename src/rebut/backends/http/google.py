"""The generateContent wire of Google's Gemini.

As documented by the provider: `streamGenerateContent?alt=sse` sends one partial reply per event and no event
that marks the end; a schema goes into `responseJsonSchema`; models from 3 on take a thinking level, older ones a number
of tokens, and each refuses the other with 400. A wrong key is answered with 400, and the time to wait after 429 is in
the text of the error. Assumed: levels are in lower case, as in the provider's examples.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import quote

from rebut.backends.http.client import HttpFailed
from rebut.backends.http.schemas import bare_references, schema_blamed, schema_in_prompt
from rebut.backends.http.wire import PartialReply, Wire, thinking_share
from rebut.core.json_value import Json, count
from rebut.core.types import Request, Usage

_FINE = ("STOP", "MAX_TOKENS", "FINISH_REASON_UNSPECIFIED")


class Google(Wire):
    """One model behind `POST {base_url}/v1beta/models/{model}:streamGenerateContent`."""

    vendor = "google"
    notes: ClassVar[Mapping[str, str]] = {
        "level": "{} has no thinking level; continued with a thinking budget instead",
        "budget": "{} has no thinking budget either; continued without an effort",
        "schema": "{} does not accept this schema; the schema is in the prompt",
    }

    def url(self, base: str, model: str) -> str:
        if not re.search(r"/v\d\w*$", base):
            base = f"{base}/v1beta"
        return f"{base}/models/{quote(model.removeprefix('models/'), safe='')}:streamGenerateContent?alt=sse"

    def headers(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key} if key else {}

    def body(self, request: Request, without: set[str]) -> tuple[set[str], dict[str, Json]]:
        sent: set[str] = set()
        text, config = request.prompt, dict[str, Json](maxOutputTokens=request.max_output)
        config |= self.sampling_fields(request, without, sent)
        if effort := request.participant.spec.effort:
            if "level" not in without:
                config["thinkingConfig"] = {"thinkingLevel": "high" if effort == "max" else effort}
                sent.add("level")
            elif "budget" not in without:
                config["thinkingConfig"] = {"thinkingBudget": thinking_share(request)}
                sent.add("budget")
        if request.schema is not None:
            if "schema" in without:
                text = schema_in_prompt(request)
            else:
                config |= {
                    "responseMimeType": "application/json",
                    "responseJsonSchema": bare_references(request.schema),
                }
                sent.add("schema")
        # The provider caches equal beginnings by itself, so the stable part comes first.
        parts: list[Json] = [{"text": text}]
        if request.followup:
            parts.append({"text": f"\n\n{request.followup}"})
        return sent, {"contents": [{"role": "user", "parts": parts}], "generationConfig": config}

    def new_reply(self) -> PartialReply:
        return _Content()

    def blamed(self, message: str, status: int, sent: set[str]) -> str | None:
        for part in ("level", "budget"):
            if part in sent and "thinking" in message:
                return part
        # The provider refuses a schema that is too complex with an unspecific "invalid argument".
        odd = re.search(r"mime|invalid argument|constraint", message) or schema_blamed(message, status)
        return "schema" if "schema" in sent and odd else None

    def classed(self, failed: HttpFailed) -> HttpFailed:
        message = failed.detail.lower()
        if failed.status == 400 and re.search(r"api.?key", message):
            failed.kind = "auth"
            failed.hint = self._address.check_key
        wait = re.search(r"retry in ([\d.]+) ?s", message)
        if wait and failed.retryable and failed.retry_after is None:
            failed.retry_after = float(wait[1].strip("."))
        return super().classed(failed)


class _Content(PartialReply):
    """A reply in events of one shape, each with the next parts of `candidates[0]`; a whole reply has the same shape."""

    __slots__ = ("_usage",)

    def __init__(self) -> None:
        super().__init__()
        self._usage: Any = None

    def take(self, frame: Any) -> str:
        if error := frame.get("error"):
            self.error = error
            return ""
        if usage := frame.get("usageMetadata"):
            self._usage = usage
        if not self.model and isinstance(model := frame.get("modelVersion"), str):
            self.model = model
        said = ""
        if candidates := frame.get("candidates"):
            candidate = candidates[0]
            if content := candidate.get("content"):
                parts = content.get("parts") or ()
                said = self.add("".join(part.get("text") or "" for part in parts if not part.get("thought")))
            if reason := candidate.get("finishReason"):
                self._ended(str(reason), candidate.get("finishMessage"))
        elif reason := (frame.get("promptFeedback") or {}).get("blockReason"):
            self.finish = str(reason)
            self.blocked = f"the provider blocked the question ({reason})"
        if self.finish and self._usage:
            self._spent(self._usage)
        return said

    def _ended(self, reason: str, message: Any) -> None:
        self.finish = reason
        self.cut = reason == "MAX_TOKENS"
        if reason not in _FINE:
            self.blocked = f"the provider stopped the reply ({reason})" + (f": {message}" if message else "")

    def _spent(self, usage: Any) -> None:
        # A count of 0 is omitted. Thinking is billed as output, but not part of the candidates' count.
        made = (count(usage.get(name, 0)) or 0 for name in ("candidatesTokenCount", "thoughtsTokenCount"))
        self.usage = Usage(
            count(usage.get("promptTokenCount")), sum(made), count(usage.get("cachedContentTokenCount", 0))
        )
