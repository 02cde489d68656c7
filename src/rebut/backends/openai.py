"""The chat-completions wire, as OpenAI speaks it and many servers after it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rebut.backends.http import Address, HttpClient, HttpFailed, broke_off, failure, shared, told
from rebut.backends.sse import Decoder
from rebut.types import Json, Reply, Request, Usage

if TYPE_CHECKING:
    import aiohttp

LARGEST = 4 * 1024 * 1024
"""Characters of a reply, and bytes of one frame of it, beyond which we stop reading."""

_EFFORT = {"low": "low", "medium": "medium", "high": "high", "max": "high"}
_NOT_KNOWN = re.compile(
    r"max_completion_tokens|un(supported|known|recogni[sz]ed|expected)|not (supported|permitted)|extra"
)
_CODES = {"rate_limit": 429, "overloaded": 529, "server_error": 500, "authentication": 401, "invalid_api_key": 401}


class OpenAI:
    """One model behind `POST {base_url}/chat/completions`.

    Compatible servers know different parts of the wire. What one refuses (the name of the output limit, a schema, an
    effort, usage in the stream) is left out from then on, and said once in the notes.
    """

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        model: str,
        provider: str = "openai",
        family: str = "openai",
        client: HttpClient | None = None,
        key_env: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.name = f"{provider}:{model}"
        self._model, self._provider, self._family = model, provider, family
        self._client = client
        url = base_url.rstrip("/")
        url = url if url.endswith("/chat/completions") else f"{url}/chat/completions"
        self._address = Address.of(self.name, url, api_key, key_env)
        self._headers = {"Content-Type": "application/json", **(headers or {})}
        if self._address.key:
            self._headers["Authorization"] = f"Bearer {self._address.key}"
        self._refused: set[str] = set()

    async def complete(self, request: Request) -> Reply:
        if not (self._address.key.isascii() and self._address.key.isprintable()):
            where = self._address.key_env or "its setting"
            raise HttpFailed("auth", f"{self.name}: the key holds characters that no key has", f"Check {where}.")
        heard = _Heard()
        notes: list[str] = []
        try:
            async with asyncio.timeout(request.timeout):
                while True:
                    heard = _Heard()
                    sent, body = self._body(request)
                    try:
                        await self._call(request, body, heard)
                    except HttpFailed as failed:
                        part = _refused_part(failed, sent)
                        if part is None or heard.pieces:
                            raise
                        if part not in self._refused:
                            self._refused.add(part)
                            notes.append(_NOTES[part].format(self.name))
                        # Each turn sends one part less, so this ends.
                        continue
                    return self._reply(heard, notes)
        except TimeoutError:
            so_far = f"; {heard.size} characters of it had come" if heard.size else ""
            raise HttpFailed(
                "timeout",
                f"{self.name}: no whole answer within {request.timeout:.0f} s{so_far}",
                "Give it more time, or less to do.",
                usage=heard.usage,
                usd=self._cost(heard) if heard.usage else None,
            ) from None

    def _body(self, request: Request) -> tuple[set[str], bytes]:
        """The request as sent, and which of the parts that a server may refuse are in it."""
        without = self._refused
        sent = {"max_tokens", "stream_options"} - without
        text = request.prompt
        body: dict[str, Json] = {"model": self._model, "stream": True}
        if "stream_options" in sent:
            body["stream_options"] = {"include_usage": True}
        body["max_tokens" if "max_tokens" in sent else "max_completion_tokens"] = request.max_output
        if (effort := request.participant.spec.effort) and "reasoning_effort" not in without:
            body["reasoning_effort"] = _EFFORT.get(effort, effort)
            sent.add("reasoning_effort")
        if request.schema is not None:
            if "response_format" in without:
                text += SCHEMA_IN_PROMPT.format(json.dumps(request.schema, ensure_ascii=False))
            else:
                # Strict mode knows only part of JSON schema; the engine validates in any case.
                schema: dict[str, Json] = {"name": request.schema_name or "reply", "schema": dict(request.schema)}
                body["response_format"] = {"type": "json_schema", "json_schema": {**schema, "strict": False}}
                sent.add("response_format")
        if request.followup:
            # One message, not two: several chat templates refuse a user who speaks twice in a row.
            text = f"{text}\n\n{request.followup}"
        body["messages"] = [{"role": "user", "content": text}]
        return sent, json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")

    async def _call(self, request: Request, body: bytes, heard: _Heard) -> None:
        client = self._client or shared()
        async with client.post(self._address, body, self._headers) as response:
            if response.content_type == "text/event-stream":
                await self._stream(request, response, heard)
            else:
                await self._plain(request, response, heard)
        if not heard.done and not heard.finish:
            raise broke_off(self._address, "it ended without an ending", retryable=not heard.pieces)

    async def _stream(self, request: Request, response: aiohttp.ClientResponse, heard: _Heard) -> None:
        import aiohttp

        decoder = Decoder()
        try:
            async for chunk in response.content.iter_any():
                self._take(request, decoder.feed(chunk), heard)
                if heard.size > LARGEST or decoder.waiting > LARGEST:
                    raise self._unusable("reply larger than 4 MB", heard)
                if heard.done:
                    await _drain(response)
                    return
        except aiohttp.ClientError as error:
            raise broke_off(self._address, str(error), retryable=not heard.pieces) from error
        self._take(request, decoder.close(), heard, last=True)

    async def _plain(self, request: Request, response: aiohttp.ClientResponse, heard: _Heard) -> None:
        """A body that is not marked as a stream: one JSON object, or a stream under another name."""
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > LARGEST:
                raise self._unusable("reply larger than 4 MB", heard)
        if body.lstrip()[:1] == b"{":
            self._take(request, [body.decode("utf-8", "replace")], heard)
            heard.done = True
        elif body.lstrip(b"\xef\xbb\xbf\r\n").startswith((b"data:", b":", b"event:", b"id:")):
            decoder = Decoder()
            self._take(request, decoder.feed(bytes(body)) + decoder.close(), heard)
        else:
            words = self._address.quote(body.decode("utf-8", "replace"))
            raise HttpFailed(
                "bad reply",
                f"{self.name}: {self._address.place} answered with {response.content_type}, no completion: {words}",
                "Check base_url: this does not look like a model's address.",
            )

    def _take(self, request: Request, events: list[str], heard: _Heard, *, last: bool = False) -> None:
        for data in events:
            if data == "[DONE]":
                heard.done = True
                return
            if not data:
                continue
            try:
                text = heard.take(json.loads(data))
            except ValueError:
                if last:
                    raise broke_off(self._address, "its last frame is cut", retryable=not heard.pieces) from None
                raise self._unusable(f"sent a frame that is no JSON: {self._address.quote(data)}", heard) from None
            except (AttributeError, TypeError, LookupError):
                words = self._address.quote(data)
                raise self._unusable(f"sent a frame that is no completion: {words}", heard) from None
            if heard.error is not None:
                raise self._error(heard)
            if text:
                request.on_text(text)

    def _reply(self, heard: _Heard, notes: list[str]) -> Reply:
        if heard.finish == "content_filter":
            raise self._unusable("the provider's content filter stopped the reply", heard)
        if heard.refusal:
            raise self._unusable(f"refused to answer: {self._address.quote(''.join(heard.refusal))}", heard)
        text = "".join(heard.pieces)
        if not text or text.isspace():
            why = " (the output limit was used up before it came to an answer)" if heard.finish == "length" else ""
            raise self._unusable(f"empty reply{why}", heard)
        return Reply(
            text=text,
            model=heard.model or self._model,
            family=self._family,
            usage=heard.usage or Usage(),
            usd=self._cost(heard),
            truncated=heard.finish == "length",
            notes=tuple(notes),
        )

    def _cost(self, heard: _Heard) -> float | None:
        if heard.usd is not None or heard.usage is None or self._address.local:
            # A server on this machine has no price of its own, whatever it calls its model.
            return heard.usd
        from rebut.backends.prices import price

        found = price(heard.model, heard.usage, self._provider) if heard.model else None
        return found if found is not None else price(self._model, heard.usage, self._provider)

    def _unusable(self, what: str, heard: _Heard) -> HttpFailed:
        paid = heard.usage is not None
        usd = self._cost(heard) if paid else None
        hint = "Seat another model, or resume."
        return HttpFailed("bad reply", f"{self.name}: {what}", hint, usage=heard.usage, usd=usd)

    def _error(self, heard: _Heard) -> HttpFailed:
        """An error told inside a stream that began as a success."""
        error = heard.error
        code = error.get("code") if isinstance(error, dict) else None
        words = told(json.dumps({"error": error}))
        if not isinstance(code, int) or isinstance(code, bool):
            code = next((status for sign, status in _CODES.items() if sign in words), 500)
        failed = failure(self._address, code, words)
        failed.usage, failed.usd = heard.usage, self._cost(heard) if heard.usage else None
        # What was streamed before has most likely been billed: asking again is then for whoever keeps the accounts.
        failed.retryable = failed.retryable and not heard.pieces
        return failed


class _Heard:
    """What has come in of one reply."""

    __slots__ = ("done", "error", "finish", "model", "pieces", "refusal", "size", "usage", "usd")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.refusal: list[str] = []
        self.size = 0
        self.model = ""
        self.finish = ""
        self.usage: Usage | None = None
        self.usd: float | None = None
        self.error: Json = None
        self.done = False

    def take(self, frame: Any) -> str:
        """Read one frame (or a whole reply that was not streamed); give its text.

        A frame of another shape raises AttributeError, TypeError or LookupError, which the caller knows: checking
        every level by hand would double the cost of the part that runs once per token.
        """
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
            self.finish = str(finish)
            if self.finish == "error":
                self.error = choice.get("error") or "the provider broke off"
        part = choice.get("delta") or choice.get("message")
        if not part:
            return ""
        if refusal := part.get("refusal"):
            self.refusal.append(str(refusal))
        text = part.get("content")
        if not text:
            return ""
        if not isinstance(text, str):
            # Some send a list of parts; those that are not text (thinking, say) are no part of the answer.
            text = "".join(str(piece["text"]) for piece in text if piece["type"] == "text")
        self.pieces.append(text)
        self.size += len(text)
        return text

    def _spent(self, usage: Json) -> None:
        if not isinstance(usage, dict):
            raise TypeError("usage is no object")
        details = usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else None
        self.usage = Usage(_count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens")), _count(cached))
        cost = usage.get("cost")
        if isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < float("inf"):
            self.usd = float(cost)


def _count(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _refused_part(failed: HttpFailed, sent: set[str]) -> str | None:
    """Which part of the request a server's error is about, if it is one that we can do without."""
    if failed.status in (0, 401, 402, 403, 429) or (failed.status >= 500 and failed.status not in (500, 501)):
        return None
    words = failed.detail.lower()
    if "max_tokens" in sent and "max_tokens" in words and _NOT_KNOWN.search(words):
        return "max_tokens"
    if "stream_options" in sent and "stream_options" in words:
        return "stream_options"
    if "reasoning_effort" in sent and re.search(r"reasoning[._ ]?effort|think", words):
        return "reasoning_effort"
    if "response_format" not in sent:
        return None
    if re.search(r"response_format|json_schema|schema|structured|grammar|requested parameters", words):
        return "response_format"
    if failed.status == 501 or (failed.status in (400, 422) and _NOT_KNOWN.search(words)):
        return "response_format"
    return None


async def _drain(response: aiohttp.ClientResponse) -> None:
    """Read on to the end of the body, so that the connection can be used again; not for long."""
    if response.content.is_eof():
        return
    try:
        async with asyncio.timeout(1.0):
            while await response.content.readany():
                pass
    except TimeoutError:
        # The answer is whole; only the connection is lost, as it closes with bytes still to come.
        return


_NOTES = {
    "max_tokens": "{} wants max_completion_tokens instead of max_tokens; went on with that",
    "stream_options": "{} does not tell usage in a stream; went on without it",
    "reasoning_effort": "{} has no effort setting; went on without it",
    "response_format": "{} takes no schema; put the schema into the prompt",
}

SCHEMA_IN_PROMPT = """

Write your whole answer as a single JSON object, with no words and no code fence around it. It has to be valid against
this JSON schema:

{}"""
