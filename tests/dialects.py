"""The four wires as a server speaks them: how each frames the same words, endings, counts and errors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

Frame = dict[str, Any]

OUTPUT, CACHED = 42, 1


@dataclass(frozen=True, slots=True)
class Saying:
    """One reply to be framed."""

    text: str
    mode: str
    model: str
    asked: int
    """Tokens of the question."""
    usage: bool = True
    cost: float | None = None
    written: int = 0
    wants_usage: bool = True


class Chat:
    """Chat completions."""

    named = False
    done: bytes | None = b"data: [DONE]"

    def path(self, path: str) -> bool:
        return path == "/v1/chat/completions"

    def streams(self, body: Frame, path: str) -> bool:
        return bool(body.get("stream"))

    def error(self, status: int, message: str, *, inside: bool = False, param: str = "") -> Frame:
        error: Frame = {"message": message, **({"code": status} if inside else {})}
        return {"error": {**error, "param": param, "code": "unsupported_parameter"} if param else error}

    def opening(self, said: Saying) -> list[Frame]:
        thought = {"reasoning_content": "let me think it over"}
        return [self._frame(said, delta=thought)] if said.mode == "thinking" else []

    def piece(self, said: Saying, text: str) -> Frame:
        parts = [{"type": "thinking", "text": "hm"}, {"type": "text", "text": text}]
        return self._frame(said, delta={"content": parts if said.mode == "parts" else text})

    def closing(self, said: Saying) -> list[Frame]:
        first = []
        if said.mode == "refusal":
            first = [self._frame(said, delta={"refusal": "I will not argue about this."})]
        if said.mode == "tool-call":
            call = {"index": 0, "id": "t-1", "function": {"name": "shell", "arguments": '{"command": "id"}'}}
            first = [self._frame(said, delta={"tool_calls": [call]})]
        frames = [*first, self._frame(said, delta={}, finish=self._finish(said))]
        if said.usage and said.wants_usage:
            frames.append({**self._frame(said), "usage": self._usage(said)})
        return frames

    def whole(self, said: Saying) -> Frame:
        message = {"message": {"content": said.text}, "finish_reason": self._finish(said), "index": 0}
        spent = {"usage": self._usage(said)} if said.usage else {}
        return {**self._frame(said), "choices": [message], **spent}

    def _frame(self, said: Saying, *, delta: Frame | None = None, finish: str | None = None) -> Frame:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
        return {"id": "c-1", "object": "chat.completion.chunk", "model": said.model, "choices": choices}

    def _finish(self, said: Saying) -> str:
        return {"cut": "length", "filter": "content_filter", "tool-call": "tool_calls"}.get(said.mode, "stop")

    def _usage(self, said: Saying) -> Frame:
        spent: Frame = {"prompt_tokens": said.asked, "completion_tokens": OUTPUT}
        spent["prompt_tokens_details"] = {"cached_tokens": CACHED}
        return spent if said.cost is None else {**spent, "cost": said.cost}


class Messages:
    """Anthropic's messages."""

    named = True
    done: bytes | None = None
    types: ClassVar = {
        400: "invalid_request_error",
        401: "authentication_error",
        403: "permission_error",
        404: "not_found_error",
        429: "rate_limit_error",
        529: "overloaded_error",
    }

    def path(self, path: str) -> bool:
        return path == "/v1/messages"

    def streams(self, body: Frame, path: str) -> bool:
        return bool(body.get("stream"))

    def error(self, status: int, message: str, *, inside: bool = False, param: str = "") -> Frame:
        return {"type": "error", "error": {"type": self.types.get(status, "api_error"), "message": message}}

    def opening(self, said: Saying) -> list[Frame]:
        start = {**self._message(said), "content": [], "stop_reason": None}
        if said.usage:
            start["usage"] = {**self._usage(said), "output_tokens": 1}
        thought = {"type": "thinking_delta", "thinking": "let me think it over"}
        thinking = [
            {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
            {"type": "content_block_delta", "index": 0, "delta": thought},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}},
            {"type": "content_block_stop", "index": 0},
        ]
        return [
            {"type": "message_start", "message": start},
            *(thinking if said.mode in ("thinking", "parts") else []),
            {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
            {"type": "ping"},
        ]

    def piece(self, said: Saying, text: str) -> Frame:
        return {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": text}}

    def closing(self, said: Saying) -> list[Frame]:
        delta = {"type": "message_delta", "delta": self._stop(said)}
        if said.usage:
            delta["usage"] = {"output_tokens": OUTPUT}
        tool = {"type": "tool_use", "id": "t-1", "name": "shell", "input": {}}
        ask = {"type": "input_json_delta", "partial_json": '{"command": "id"}'}
        call = [
            {"type": "content_block_start", "index": 2, "content_block": tool},
            {"type": "content_block_delta", "index": 2, "delta": ask},
        ]
        stop = {"type": "content_block_stop", "index": 1}
        return [*(call if said.mode == "tool-call" else []), stop, delta, {"type": "message_stop"}]

    def whole(self, said: Saying) -> Frame:
        spent = {**self._usage(said), "output_tokens": OUTPUT} if said.usage else {}
        content = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": said.text}]
        return {**self._message(said), "content": content, **self._stop(said), "usage": spent}

    def _message(self, said: Saying) -> Frame:
        return {"id": "m-1", "type": "message", "role": "assistant", "model": said.model}

    def _stop(self, said: Saying) -> Frame:
        reasons = {"cut": "max_tokens", "filter": "refusal", "refusal": "refusal", "tool-call": "tool_use"}
        stop: Frame = {"stop_reason": reasons.get(said.mode, "end_turn"), "stop_sequence": None}
        if said.mode == "refusal":
            stop["stop_details"] = {"type": "refusal", "explanation": "I will not argue about this."}
        return stop

    def _usage(self, said: Saying) -> Frame:
        new = said.asked - CACHED - said.written
        cache = {"cache_read_input_tokens": CACHED, "cache_creation_input_tokens": said.written}
        return {"input_tokens": new, **cache, "cache_creation": {"ephemeral_5m_input_tokens": said.written}}


class Gemini:
    """Google's generateContent."""

    named = False
    done: bytes | None = None
    statuses: ClassVar = {
        400: "INVALID_ARGUMENT",
        403: "PERMISSION_DENIED",
        404: "NOT_FOUND",
        429: "RESOURCE_EXHAUSTED",
    }

    def path(self, path: str) -> bool:
        return bool(re.fullmatch(r"/v1(beta)?/models/[^/?]+:(generateContent|streamGenerateContent\?alt=sse)", path))

    def streams(self, body: Frame, path: str) -> bool:
        return "streamGenerateContent" in path

    def error(self, status: int, message: str, *, inside: bool = False, param: str = "") -> Frame:
        return {"error": {"code": status, "message": message, "status": self.statuses.get(status, "INTERNAL")}}

    def opening(self, said: Saying) -> list[Frame]:
        if said.mode == "refusal":
            return []
        return [self._frame(said, [{"text": "let me think", "thought": True}])] if said.mode == "thinking" else []

    def piece(self, said: Saying, text: str) -> Frame:
        half = len(text) // 2
        parts = [{"text": "hm", "thought": True}, {"text": text[:half]}, {"text": text[half:]}]
        return self._frame(said, parts if said.mode == "parts" else [{"text": text}])

    def closing(self, said: Saying) -> list[Frame]:
        if said.mode == "refusal":
            feedback = {"blockReason": "PROHIBITED_CONTENT"}
            return [{"promptFeedback": feedback, **self._rest(said, OUTPUT)}]
        call = {"functionCall": {"name": "shell", "args": {"command": "id"}}}
        last = self._frame(said, [call] if said.mode == "tool-call" else [{"text": ""}], OUTPUT)
        last["candidates"][0]["finishReason"] = self._finish(said)
        return [last]

    def whole(self, said: Saying) -> Frame:
        frame = self._frame(said, [{"text": "hm", "thought": True}, {"text": said.text}], OUTPUT)
        frame["candidates"][0]["finishReason"] = self._finish(said)
        return frame

    def _finish(self, said: Saying) -> str:
        return {"cut": "MAX_TOKENS", "filter": "SAFETY"}.get(said.mode, "STOP")

    def _frame(self, said: Saying, parts: list[Frame], made: int = 3) -> Frame:
        candidate: Frame = {"content": {"role": "model", "parts": parts}, "index": 0}
        return {"candidates": [candidate], **self._rest(said, made)}

    def _rest(self, said: Saying, made: int) -> Frame:
        counts: Frame = {"promptTokenCount": said.asked, "cachedContentTokenCount": CACHED}
        counts |= {"candidatesTokenCount": made - 2, "thoughtsTokenCount": 2, "totalTokenCount": said.asked + made}
        return {**({"usageMetadata": counts} if said.usage else {}), "modelVersion": said.model, "responseId": "r-1"}


class Responses:
    """OpenAI's responses."""

    named = True
    done: bytes | None = None
    codes: ClassVar = {429: "rate_limit_exceeded", 400: "invalid_request_error", 401: "invalid_api_key"}

    def path(self, path: str) -> bool:
        return path == "/v1/responses"

    def streams(self, body: Frame, path: str) -> bool:
        return bool(body.get("stream"))

    def error(self, status: int, message: str, *, inside: bool = False, param: str = "") -> Frame:
        error = {"message": message, "param": param or None, "code": self.codes.get(status, "server_error")}
        return {"type": "error", **error} if inside else {"error": error}

    def opening(self, said: Saying) -> list[Frame]:
        start = {**self._response(said), "status": "in_progress", "output": []}
        frames = [{"type": "response.created", "response": start}, {"type": "response.in_progress", "response": start}]
        if said.mode in ("thinking", "parts"):
            frames.append({"type": "response.reasoning_summary_text.delta", "delta": "let me think it over"})
        item = {"type": "message", "id": "i-1", "role": "assistant", "content": []}
        return [*frames, {"type": "response.output_item.added", "output_index": 0, "item": item}]

    def piece(self, said: Saying, text: str) -> Frame:
        return {"type": "response.output_text.delta", "item_id": "i-1", "content_index": 0, "delta": text}

    def closing(self, said: Saying) -> list[Frame]:
        frames: list[Frame] = [{"type": "response.output_text.done", "item_id": "i-1", "text": said.text}]
        if said.mode == "refusal":
            frames = [{"type": "response.refusal.delta", "delta": "I will not argue about this."}]
        end = self.whole(said)
        return [*frames, {"type": f"response.{end['status']}", "response": end}]

    def whole(self, said: Saying) -> Frame:
        part = {"type": "output_text", "text": said.text, "annotations": []}
        if said.mode == "refusal":
            part = {"type": "refusal", "refusal": "I will not argue about this."}
        output: list[Frame] = [{"type": "reasoning", "summary": []}, {"type": "message", "content": [part]}]
        if said.mode == "tool-call":
            output[1] = {"type": "function_call", "name": "shell", "arguments": '{"command": "id"}'}
        reason = {"cut": "max_output_tokens", "filter": "content_filter"}.get(said.mode)
        spent = {"input_tokens": said.asked, "output_tokens": OUTPUT, "input_tokens_details": {"cached_tokens": CACHED}}
        return {
            **self._response(said),
            "status": "incomplete" if reason else "completed",
            "incomplete_details": {"reason": reason} if reason else None,
            "output": output,
            "usage": spent if said.usage else None,
        }

    def _response(self, said: Saying) -> Frame:
        return {"id": "r-1", "object": "response", "model": said.model, "error": None}


Dialect = Chat | Messages | Gemini | Responses
DIALECTS: tuple[Dialect, ...] = (Chat(), Messages(), Gemini(), Responses())


def spoken_at(path: str) -> Dialect | None:
    return next((dialect for dialect in DIALECTS if dialect.path(path)), None)


def schema_name(body: Frame) -> str:
    """The name under which a reply is asked for; two of the wires send only the schema, which may have a title."""
    chat = (body.get("response_format") or {}).get("json_schema") or {}
    responses = (body.get("text") or {}).get("format") or {}
    messages = ((body.get("output_config") or {}).get("format") or {}).get("schema") or {}
    gemini = (body.get("generationConfig") or {}).get("responseJsonSchema") or {}
    name = chat.get("name") or responses.get("name") or messages.get("title") or gemini.get("title")
    return str(name or "")


def question(body: Frame) -> str:
    """All words of the last thing that was asked."""
    last = (body.get("messages") or body.get("contents") or body.get("input"))[-1]
    content = last.get("content") or last.get("parts")
    return content if isinstance(content, str) else "\n\n".join(part["text"] for part in content)


def has(body: Frame, name: str) -> bool:
    """Whether a body has a field, named by its path: `output_config.effort`."""
    value: Any = body
    for part in name.split("."):
        if not isinstance(value, dict) or part not in value:
            return False
        value = value[part]
    return True
