"""What all HTTP wires share: one call, read as a stream, with a class for every failure.

A wire is a subclass that knows how its provider wants a question (`body`) and how it sends an answer
(`PartialReply.take`). Compatible servers support different parts of a wire. A part that a server refuses (schema,
effort, a field) is left out of all later calls, with one note about it.
"""

from __future__ import annotations

import asyncio
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from rebut.backends.families import family_of
from rebut.backends.http.client import Address, HttpClient, HttpFailed, broke_off, error_message, failure, shared
from rebut.backends.http.sse import BOM, Decoder
from rebut.core.json_value import Json
from rebut.core.types import Reply, Request, Usage
from rebut.core.working_time import timeout

if TYPE_CHECKING:
    import aiohttp

LARGEST = 4 * 1024 * 1024
"""Characters of a reply, and bytes of one frame of it, after which reading stops."""

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
"""Word in an error inside a stream → the HTTP status that such an error has outside of a stream."""
_NO_KNOB = "{} does not accept {} here; continued without it"
ROOM_TO_THINK = {"low": 2048, "medium": 8192, "high": 16_384, "max": 32_768}
"""Tokens added to the reply's own limit if an effort is set. All wires count thinking as output: without these, a model
with a high effort would reach the limit before its answer."""
_ROOM = "{} allows shorter replies only; continued without extra tokens for thinking"
_TOO_LONG = re.compile(r"at most|exceed|maximum|larger|greater|less than|too (large|high|many|big|long)|range|supports")
_SHARES = {"low": 1 / 8, "medium": 1 / 4, "high": 1 / 2, "max": 3 / 4}


class Wire(ABC):
    """One model behind one HTTP address."""

    vendor: ClassVar[str]
    """The default provider and family."""
    path: ClassVar[str] = ""
    """The fixed path after the base address."""
    notes: ClassVar[Mapping[str, str]]
    """The parts of a request that a server may refuse, and the note for the user if it does."""
    knobs: ClassVar[Mapping[str, str]] = {"temperature": "temperature", "seed": "seed"}
    """The sampling options of this wire, and their field names."""
    marks_cache: ClassVar[bool] = False
    """Whether the provider is asked to cache the prompt, for which it may charge."""

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
        """The address to post to. Some configs have the whole address already."""
        return base if base.endswith(self.path) else f"{base}{self.path}"

    def headers(self, key: str) -> dict[str, str]:
        """The headers of every call, with the key if there is one."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    @abstractmethod
    def body(self, request: Request, without: set[str]) -> tuple[set[str], dict[str, Json]]:
        """The parts of the request that a server may refuse, and the request. The parts in `without` are left out."""

    @abstractmethod
    def new_reply(self) -> PartialReply:
        """An empty reply, which reads the frames of this wire."""

    @abstractmethod
    def blamed(self, message: str, status: int, sent: set[str]) -> str | None:
        """The part of the request that a server's error is about, if the request works without it; else None."""

    def classed(self, failed: HttpFailed) -> HttpFailed:
        """Correct the kind of a failure if this provider's status does not show it."""
        if failed.status == 400 and _NO_MODEL.search(failed.detail.lower()):
            failed.kind = "missing tool"
            failed.hint = self._address.no_model
        return failed

    def worst_case(self, input_tokens: int, output_tokens: int) -> float | None:
        """The most that a call of this size can cost; None if its price is unknown, as for a server on this machine."""
        if self._address.local:
            return None  # its calls are recorded without a price, so a dollar limit cannot be kept
        from rebut.backends.http.prices import worst_case

        return worst_case(self._model, self._provider, input_tokens, output_tokens, writes=self.marks_cache)

    def sampling_fields(self, request: Request, without: set[str], sent: set[str]) -> dict[str, Json]:
        """The seat's temperature and seed as fields of this wire, if it has them and the server did not refuse them.

        Their names are added to `sent`.
        """
        given = request.sampling.to_json().items()
        fields = {self.knobs[name]: value for name, value in given if name in self.knobs and name not in without}
        sent |= {name for name, _ in given if self.knobs.get(name) in fields}
        return fields

    def _lacking(self, request: Request) -> list[str]:
        """Notes, given once, on sampling options of the seat that this wire does not have."""
        missing = [n for n in request.sampling.to_json() if n not in self.knobs and n not in self._refused]
        self._refused.update(missing)
        return [f"{self.name} does not accept {name} on this wire; continued without it" for name in missing]

    async def complete(self, request: Request) -> Reply:
        if not (self._address.key.isascii() and self._address.key.isprintable()):
            where = self._address.key_env or "its setting"
            raise HttpFailed("auth", f"{self.name}: the key contains characters that no key has", f"Check {where}.")
        partial = self.new_reply()
        notes = self._lacking(request)
        try:
            async with timeout(request.timeout):
                while True:
                    partial = self.new_reply()
                    asked = _shorter(request) if "room" in self._refused else request
                    sent, body = self.body(asked, self._refused)
                    sent |= {"room"} if asked.thinking else set()
                    data = _as_json(body)
                    try:
                        await self._call(request, data, partial)
                    except HttpFailed as failed:
                        part = self._refused_part(self.classed(failed), sent)
                        if part is None or partial.pieces:
                            raise
                        if part not in self._refused:
                            self._refused.add(part)
                            note = {"room": _ROOM, **self.notes}.get(part, _NO_KNOB.format("{}", part))
                            notes.append(note.format(self.name))
                        # Each repetition sends one part less, so the loop ends.
                        continue
                    return self._reply(partial, notes)
        except TimeoutError:
            if partial.finish:
                # The answer is complete; only the end of the stream is missing.
                return self._reply(partial, notes)
            so_far = f"; {partial.size} characters were received" if partial.size else ""
            raise HttpFailed(
                "timeout",
                f"{self.name}: no complete answer within {request.timeout:.0f} s{so_far}",
                "Give it more time, or less to do.",
                usage=partial.usage,
                usd=self._cost(partial) if partial.usage else None,
            ) from None

    def _refused_part(self, failed: HttpFailed, sent: set[str]) -> str | None:
        transient = failed.status == 0 or (failed.status >= 500 and failed.status not in (500, 501))
        no_model = failed.kind == "missing tool" and failed.status == 400
        if transient or no_model or failed.kind in ("auth", "rate limit"):
            return None
        message = failed.detail.lower()
        if (
            "room" in sent
            and re.search(r"tokens|maxoutput|context (length|window)", message)
            and _TOO_LONG.search(message)
        ):
            return "room"
        knob = next((n for n in ("temperature", "seed") if n in sent and re.search(rf"\b{n}\b", message)), None)
        return knob or self.blamed(message, failed.status, sent)

    async def _call(self, request: Request, body: bytes, partial: PartialReply) -> None:
        client = self._client or shared()
        async with client.post(self._address, body, self._headers) as response:
            if response.content_type == "text/event-stream":
                await self._stream(request, response, partial)
            else:
                await self._plain(request, response, partial)
        if not partial.done and not partial.finish:
            raise broke_off(self._address, "it ended without an end marker", retryable=not partial.pieces)

    async def _stream(self, request: Request, response: aiohttp.ClientResponse, partial: PartialReply) -> None:
        import aiohttp

        decoder = Decoder()
        try:
            async for chunk in response.content.iter_any():
                self._take(request, decoder.feed(chunk), partial)
                if partial.size > LARGEST or decoder.waiting > LARGEST:
                    raise self._unusable("reply larger than 4 MB", partial)
                if partial.done:
                    await _drain(response)
                    return
        except aiohttp.ClientError as error:
            raise broke_off(self._address, str(error), retryable=not partial.pieces) from error
        self._take(request, decoder.close(), partial, last=True)

    async def _plain(self, request: Request, response: aiohttp.ClientResponse, partial: PartialReply) -> None:
        """Read a body without the content type of a stream: one JSON object, or a stream after all."""
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > LARGEST:
                raise self._unusable("reply larger than 4 MB", partial)
        if (whole := body.removeprefix(BOM).strip())[:1] == b"{":
            self._take(request, [whole.decode("utf-8", "replace")], partial)
            partial.done = True
        elif body.lstrip(BOM + b"\r\n").startswith((b"data:", b":", b"event:", b"id:")):
            decoder = Decoder()
            self._take(request, decoder.feed(bytes(body)) + decoder.close(), partial)
        else:
            quoted = self._address.quote(body.decode("utf-8", "replace"))
            raise HttpFailed(
                "bad reply",
                f"{self.name}: {self._address.place} answered with {response.content_type}, not a completion: {quoted}",
                "Check base_url: this does not look like the address of a model.",
            )

    def _take(self, request: Request, events: list[str], partial: PartialReply, *, last: bool = False) -> None:
        from pydantic_core import from_json

        for data in events:
            if data == "[DONE]":
                partial.done = True
                return
            if not data:
                continue
            try:
                text = partial.take(_frame(data, from_json))
            except ValueError:
                if last:
                    raise broke_off(self._address, "its last frame is cut", retryable=not partial.pieces) from None
                raise self._unusable(f"sent a frame that is not JSON: {self._address.quote(data)}", partial) from None
            except RecursionError:
                quoted = self._address.quote(data)
                raise self._unusable(f"sent a frame that is nested too deep: {quoted}", partial) from None
            except (AttributeError, TypeError, LookupError):
                quoted = self._address.quote(data)
                raise self._unusable(f"sent a frame that is not a completion: {quoted}", partial) from None
            if partial.error is not None:
                raise self._error(partial)
            if text:
                request.on_text(text)

    def _reply(self, partial: PartialReply, notes: list[str]) -> Reply:
        if partial.blocked:
            raise self._unusable(self._address.quote(partial.blocked), partial)
        text = "".join(partial.pieces)
        if not text or text.isspace():
            why = " (the output limit was reached before the answer began)" if partial.cut else ""
            raise self._unusable(f"empty reply{why}", partial)
        return Reply(
            text=text,
            model=partial.model or self._model,
            family=self._family or family_of(partial.model) or family_of(self._model),
            usage=partial.usage or Usage(),
            usd=self._cost(partial),
            truncated=partial.cut,
            notes=tuple(notes),
        )

    def _cost(self, partial: PartialReply) -> float | None:
        if partial.usd is not None or partial.usage is None or self._address.local:
            # A server on this machine has no price, whatever its model is called.
            return partial.usd
        from rebut.backends.http.prices import price

        names = [name for name in (partial.model, self._model) if name]
        found = (price(name, partial.usage, self._provider, written=partial.written) for name in names)
        return next((usd for usd in found if usd is not None), None)

    def _unusable(self, what: str, partial: PartialReply) -> HttpFailed:
        paid = partial.usage is not None
        usd = self._cost(partial) if paid else None
        hint = "Choose another model, or resume."
        return HttpFailed("bad reply", f"{self.name}: {what}", hint, usage=partial.usage, usd=usd)

    def _error(self, partial: PartialReply) -> HttpFailed:
        """The failure for an error inside a stream that began as a success."""
        error = partial.error
        code = error.get("code") if isinstance(error, dict) else None
        try:
            message = error_message(json.dumps({"error": error}))
        except RecursionError:
            message = "its error message is nested too deep"
        if not isinstance(code, int) or isinstance(code, bool) or not 400 <= code < 600:
            # Some servers send numbers of their own, which are not HTTP statuses.
            code = next((status for sign, status in _CODES.items() if sign in message), 500)
        failed = failure(self._address, code, message)
        failed.usage, failed.usd = partial.usage, self._cost(partial) if partial.usage else None
        # Text that was streamed before is most likely billed: the engine, which knows the costs, decides on a retry.
        failed.retryable = failed.retryable and not partial.pieces
        return failed


def thinking_share(request: Request) -> int:
    """The tokens for thinking at an effort, for models that take a number: a part of the output limit."""
    return request.thinking or int(request.max_output * _SHARES.get(request.participant.spec.effort, 0))


def _shorter(request: Request) -> Request:
    return replace(request, max_output=request.max_output - request.thinking, thinking=0)


def _as_json(body: Mapping[str, Json]) -> bytes:
    """A request as JSON. pydantic is many times faster than `json`, but refuses lone surrogates."""
    import pydantic_core

    try:
        return pydantic_core.to_json(body)
    except pydantic_core.PydanticSerializationError:
        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _frame(data: str, read: Callable[[str], Any]) -> Any:
    """The JSON value of a frame. `read` is pydantic's reader, which takes half of the time."""
    try:
        return read(data)
    except ValueError:  # only `json` reads a lone surrogate, and deeper nesting
        return json.loads(data)


async def _drain(response: aiohttp.ClientResponse) -> None:
    """Read the body to its end, for a second at most, so that the connection can be used again."""
    if response.content.is_eof():
        return
    try:
        async with asyncio.timeout(1.0):
            while await response.content.readany():
                pass
    except TimeoutError:
        # The answer is complete; only the connection is lost.
        return


class PartialReply(ABC):
    """What has been received of one reply. Each wire has a subclass that reads its frames."""

    __slots__ = ("blocked", "cut", "done", "error", "finish", "model", "pieces", "size", "usage", "usd", "written")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.size = 0
        self.model = ""
        self.finish = ""
        """Why the model stopped, in the provider's term; empty until then."""
        self.done = False
        """Whether the reply is complete, even if the stream continues."""
        self.cut = False
        self.blocked = ""
        """Why the reply is not an answer, whatever its text: a refusal, or a filter."""
        self.usage: Usage | None = None
        """Set only to final counts: counts from the middle of a stream would make the price too low."""
        self.written = 0
        """Input tokens that were written to the provider's cache, which may cost more than others."""
        self.usd: float | None = None
        self.error: Json = None

    @abstractmethod
    def take(self, frame: Any) -> str:
        """Read one frame, or a whole reply that was not streamed, and return its text.

        A frame of another shape raises AttributeError, TypeError or LookupError, which the caller handles: checking
        every level by hand would double the cost of code that runs once per token.
        """

    def add(self, text: str) -> str:
        if type(text) is not str:
            raise TypeError("text is not a string")
        if text:
            self.pieces.append(text)
            self.size += len(text)
        return text
