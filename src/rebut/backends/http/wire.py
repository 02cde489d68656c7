"""What all HTTP wires share: one call, read as a stream, with every way to fail told in a class.

A wire is a subclass that knows how its provider wants a question written (`body`) and how it writes an answer
(`PartialReply.take`). Compatible servers know different parts of a wire. What one refuses (schema, effort, a field) is
left out from then on, and said once in the notes.
"""

from __future__ import annotations

import asyncio
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from rebut.backends.families import family_of
from rebut.backends.http.client import Address, HttpClient, HttpFailed, broke_off, failure, shared, told
from rebut.backends.http.sse import BOM, Decoder
from rebut.core.types import Json, Reply, Request, Usage

if TYPE_CHECKING:
    import aiohttp

LARGEST = 4 * 1024 * 1024
"""Characters of a reply, and bytes of one frame of it, beyond which we stop reading."""

_NO_MODEL = re.compile(r"model_not_found|not a valid model|(no such|unknown|invalid) model|model .{0,80}does not exist")
_CODES = {
    "rate_limit": 429,
    "overloaded": 529,
    "server_error": 500,
    "authentication": 401,
    "invalid_api_key": 401,
    "permission_error": 403,
    "not_found": 404,
    "billing_error": 402,
    "invalid_request": 400,
}
"""Words in an error that came inside a stream, and the status that it would have had as an answer."""
_NO_KNOB = "{} takes no {} here; went on without it"
ROOM_TO_THINK = {"low": 2048, "medium": 8192, "high": 16_384, "max": 32_768}
"""Tokens on top of the reply's own when an effort is set. All wires count thinking as output: without these a model
that thinks hard would use up the limit before it comes to its answer."""
_ROOM = "{} gives shorter replies only; went on without the extra room to think"
_TOO_LONG = re.compile(r"at most|exceed|maximum|larger|greater|less than|too (large|high|many|big|long)|range|supports")
_SHARES = {"low": 1 / 8, "medium": 1 / 4, "high": 1 / 2, "max": 3 / 4}
_read_frame = json.JSONDecoder().raw_decode


class Wire(ABC):
    """One model behind one HTTP address."""

    vendor: ClassVar[str]
    """Provider and family when nobody names them."""
    path: ClassVar[str] = ""
    """What follows the base of an address, where that is all."""
    notes: ClassVar[Mapping[str, str]]
    """The parts of a request that a server may refuse, and what to tell the user when it does."""
    knobs: ClassVar[Mapping[str, str]] = {"temperature": "temperature", "seed": "seed"}
    """What of a seat's sampling the wire has, and under which name."""
    marks_cache: ClassVar[bool] = False
    """Asks the provider to cache the prompt, at whatever it charges for that."""

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        model: str,
        provider: str = "",
        family: str | None = None,
        client: HttpClient | None = None,
        key_env: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._model, self._provider = model, provider or self.vendor
        self.name = f"{self._provider}:{model}"
        self._family = self.vendor if family is None else family
        self._client = client
        self._address = Address.of(self.name, self.url(base_url.rstrip("/"), model), api_key, key_env)
        self._headers = {"Content-Type": "application/json", **self.headers(self._address.key), **(headers or {})}
        self._refused: set[str] = set()

    def url(self, base: str, model: str) -> str:
        """The address to post to. Some configs already name the whole of it."""
        return base if base.endswith(self.path) else f"{base}{self.path}"

    def headers(self, key: str) -> dict[str, str]:
        """What goes along with every call; the key only if there is one."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    @abstractmethod
    def body(self, request: Request, without: set[str]) -> tuple[set[str], dict[str, Json]]:
        """The question, and which of the parts that a server may refuse (`notes`) are in it."""

    @abstractmethod
    def listen(self) -> PartialReply:
        """An empty record of one reply."""

    @abstractmethod
    def blamed(self, words: str, status: int, sent: set[str]) -> str | None:
        """Which part of the request a server's error is about, if it is one that we can do without."""

    def classed(self, failed: HttpFailed) -> HttpFailed:
        """Correct the class of a failure where this provider's status does not tell it."""
        if failed.status == 400 and _NO_MODEL.search(failed.detail.lower()):
            failed.kind = "missing tool"
            failed.hint = "No such model there: check the model's name."
        return failed

    def worst_case(self, input_tokens: int, output_tokens: int) -> float | None:
        """The most that a call of this size can cost."""
        from rebut.backends.http.prices import worst_case

        return worst_case(self._model, self._provider, input_tokens, output_tokens, writes=self.marks_cache)

    def drawn(self, request: Request, without: set[str], sent: set[str]) -> dict[str, Json]:
        """The seat's temperature and seed as fields of this wire, those that it has and was not refused."""
        given = request.sampling.to_json().items()
        fields = {self.knobs[name]: value for name, value in given if name in self.knobs and name not in without}
        sent |= {name for name, _ in given if self.knobs.get(name) in fields}
        return fields

    def _lacking(self, request: Request) -> list[str]:
        """Say once which knobs that the seat has set are none of this wire's."""
        missing = [n for n in request.sampling.to_json() if n not in self.knobs and n not in self._refused]
        self._refused.update(missing)
        return [f"{self.name} takes no {name} on this wire; went on without it" for name in missing]

    async def complete(self, request: Request) -> Reply:
        if not (self._address.key.isascii() and self._address.key.isprintable()):
            where = self._address.key_env or "its setting"
            raise HttpFailed("auth", f"{self.name}: the key holds characters that no key has", f"Check {where}.")
        heard = self.listen()
        notes = self._lacking(request)
        try:
            async with asyncio.timeout(request.timeout):
                while True:
                    heard = self.listen()
                    asked = _shorter(request) if "room" in self._refused else request
                    sent, body = self.body(asked, self._refused)
                    sent |= {"room"} if asked.thinking else set()
                    data = _written(body)
                    try:
                        await self._call(request, data, heard)
                    except HttpFailed as failed:
                        part = self._refused_part(self.classed(failed), sent)
                        if part is None or heard.pieces:
                            raise
                        if part not in self._refused:
                            self._refused.add(part)
                            told = {"room": _ROOM, **self.notes}.get(part, _NO_KNOB.format("{}", part))
                            notes.append(told.format(self.name))
                        # Each turn sends one part less, so this ends.
                        continue
                    return self._reply(heard, notes)
        except TimeoutError:
            if heard.finish:
                # The answer was whole and only the end of the stream was wanting.
                return self._reply(heard, notes)
            so_far = f"; {heard.size} characters of it had come" if heard.size else ""
            raise HttpFailed(
                "timeout",
                f"{self.name}: no whole answer within {request.timeout:.0f} s{so_far}",
                "Give it more time, or less to do.",
                usage=heard.usage,
                usd=self._cost(heard) if heard.usage else None,
            ) from None

    def _refused_part(self, failed: HttpFailed, sent: set[str]) -> str | None:
        passing = failed.status == 0 or (failed.status >= 500 and failed.status not in (500, 501))
        no_model = failed.kind == "missing tool" and failed.status == 400
        if passing or no_model or failed.kind in ("auth", "rate limit"):
            return None
        words = failed.detail.lower()
        if "room" in sent and re.search(r"tokens|maxoutput|context (length|window)", words) and _TOO_LONG.search(words):
            return "room"
        knob = next((n for n in ("temperature", "seed") if n in sent and re.search(rf"\b{n}\b", words)), None)
        return knob or self.blamed(words, failed.status, sent)

    async def _call(self, request: Request, body: bytes, heard: PartialReply) -> None:
        client = self._client or shared()
        async with client.post(self._address, body, self._headers) as response:
            if response.content_type == "text/event-stream":
                await self._stream(request, response, heard)
            else:
                await self._plain(request, response, heard)
        if not heard.done and not heard.finish:
            raise broke_off(self._address, "it ended without an ending", retryable=not heard.pieces)

    async def _stream(self, request: Request, response: aiohttp.ClientResponse, heard: PartialReply) -> None:
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

    async def _plain(self, request: Request, response: aiohttp.ClientResponse, heard: PartialReply) -> None:
        """A body that is not marked as a stream: one JSON object, or a stream under another name."""
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > LARGEST:
                raise self._unusable("reply larger than 4 MB", heard)
        if (whole := body.removeprefix(BOM).strip())[:1] == b"{":
            self._take(request, [whole.decode("utf-8", "replace")], heard)
            heard.done = True
        elif body.lstrip(BOM + b"\r\n").startswith((b"data:", b":", b"event:", b"id:")):
            decoder = Decoder()
            self._take(request, decoder.feed(bytes(body)) + decoder.close(), heard)
        else:
            words = self._address.quote(body.decode("utf-8", "replace"))
            raise HttpFailed(
                "bad reply",
                f"{self.name}: {self._address.place} answered with {response.content_type}, no completion: {words}",
                "Check base_url: this does not look like a model's address.",
            )

    def _take(self, request: Request, events: list[str], heard: PartialReply, *, last: bool = False) -> None:
        for data in events:
            if data == "[DONE]":
                heard.done = True
                return
            if not data:
                continue
            try:
                text = heard.take(_frame(data))
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

    def _reply(self, heard: PartialReply, notes: list[str]) -> Reply:
        if heard.blocked:
            raise self._unusable(self._address.quote(heard.blocked), heard)
        text = "".join(heard.pieces)
        if not text or text.isspace():
            why = " (the output limit was used up before it came to an answer)" if heard.cut else ""
            raise self._unusable(f"empty reply{why}", heard)
        return Reply(
            text=text,
            model=heard.model or self._model,
            family=self._family or family_of(heard.model) or family_of(self._model),
            usage=heard.usage or Usage(),
            usd=self._cost(heard),
            truncated=heard.cut,
            notes=tuple(notes),
        )

    def _cost(self, heard: PartialReply) -> float | None:
        if heard.usd is not None or heard.usage is None or self._address.local:
            # A server on this machine has no price of its own, whatever it calls its model.
            return heard.usd
        from rebut.backends.http.prices import price

        names = [name for name in (heard.model, self._model) if name]
        found = (price(name, heard.usage, self._provider, written=heard.written) for name in names)
        return next((usd for usd in found if usd is not None), None)

    def _unusable(self, what: str, heard: PartialReply) -> HttpFailed:
        paid = heard.usage is not None
        usd = self._cost(heard) if paid else None
        hint = "Seat another model, or resume."
        return HttpFailed("bad reply", f"{self.name}: {what}", hint, usage=heard.usage, usd=usd)

    def _error(self, heard: PartialReply) -> HttpFailed:
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


def thinking_share(request: Request) -> int:
    """The tokens that an effort may think with, for models that are told a number: part of the output limit."""
    return request.thinking or int(request.max_output * _SHARES.get(request.participant.spec.effort, 0))


def _shorter(request: Request) -> Request:
    return replace(request, max_output=request.max_output - request.thinking, thinking=0)


def _written(body: Mapping[str, Json]) -> bytes:
    """A request as JSON. pydantic writes it many times faster than `json`, but no lone surrogates."""
    from pydantic_core import PydanticSerializationError, to_json

    try:
        return to_json(body)
    except PydanticSerializationError:
        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _frame(data: str) -> Any:
    """`json.loads`, whose checks take longer than reading a frame does, and a long reply has hundreds of them."""
    if data[0] == "{":
        frame, end = _read_frame(data)
        if end == len(data):
            return frame
    return json.loads(data)


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


# What has come in of one reply; each wire has its own way to read on.


class PartialReply(ABC):
    """What has come in of one reply."""

    __slots__ = ("blocked", "cut", "done", "error", "finish", "model", "pieces", "size", "usage", "usd", "written")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.size = 0
        self.model = ""
        self.finish = ""
        """Why the model stopped, in the provider's word; empty while it has not."""
        self.done = False
        """Nothing of interest follows, even if the stream goes on."""
        self.cut = False
        self.blocked = ""
        """Why this is no answer whatever its text: a refusal, a filter."""
        self.usage: Usage | None = None
        """Only once it is final: a count from the middle of a stream would be too low a price."""
        self.written = 0
        """Input tokens that were put into the provider's cache, which may cost more than others."""
        self.usd: float | None = None
        self.error: Json = None

    @abstractmethod
    def take(self, frame: Any) -> str:
        """Read one frame (or a whole reply that was not streamed); give its text.

        A frame of another shape raises AttributeError, TypeError or LookupError, which the caller knows: checking
        every level by hand would double the cost of the part that runs once per token.
        """

    def say(self, text: str) -> str:
        if type(text) is not str:
            raise TypeError("text is no text")
        if text:
            self.pieces.append(text)
            self.size += len(text)
        return text


def count(value: Json) -> int | None:
    """A number of tokens, None when it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
