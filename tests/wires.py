"""Asking a wire in a test: one request, the four kinds, and a client that leads every address to the test's server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import aiohttp
import pytest
from loopback import Loopback

from rebut.backends.http.anthropic import Anthropic
from rebut.backends.http.client import Address, HttpClient, HttpFailed
from rebut.backends.http.google import Google
from rebut.backends.http.openai import OpenAI
from rebut.backends.http.responses import Responses
from rebut.backends.http.wire import Wire
from rebut.core.types import ModelSpec, Participant, Reply, Request

KEY = "sk-very-secret-key"
KINDS: dict[str, type[Wire]] = {"openai": OpenAI, "anthropic": Anthropic, "google": Google, "responses": Responses}
SCHEMA: dict[str, Any] = {"type": "object", "title": "opening", "properties": {"claim": {"type": "string"}}}
ANSWERS = {"opening": {"claim": "ship it"}, "": "plain words"}


def wire(kind: str, server: Loopback, **more: Any) -> Wire:
    given = {"base_url": server.url, "api_key": KEY, "model": "m-1", "key_env": "SOME_KEY", "provider": "they"}
    return KINDS[kind](**{**given, **more})


def request(**more: Any) -> Request:
    spec = ModelSpec("they", "m-1", more.pop("effort", ""))
    return Request(**{"key": "k", "participant": Participant("seat", spec), "prompt": "Why?", "timeout": 10.0, **more})


def with_schema(**more: Any) -> Request:
    return request(**{"schema": SCHEMA, "schema_name": "opening", **more})


def ask(kind: str, server: Loopback, asked: Request | None = None, **more: Any) -> Reply:
    return asyncio.run(wire(kind, server, **more).complete(asked or request()))


def ask_twice(kind: str, server: Loopback, asked: Request, **more: Any) -> list[Reply]:
    """Two questions to the same backend, which may have learnt from the first."""

    async def both() -> list[Reply]:
        model = wire(kind, server, **more)
        return [await model.complete(asked) for _ in range(2)]

    return asyncio.run(both())


def failing(kind: str, server: Loopback, asked: Request | None = None, **more: Any) -> HttpFailed:
    with pytest.raises(HttpFailed) as caught:
        ask(kind, server, asked, **more)
    assert KEY not in str(caught.value) + caught.value.detail
    return caught.value


class Elsewhere(HttpClient):
    """Sends what is meant for any address to the server, so that a provider's real address can be used in a test."""

    def __init__(self, server: Loopback) -> None:
        super().__init__()
        self._server = server
        self.meant: list[str] = []

    @asynccontextmanager
    async def post(
        self, address: Address, body: bytes, headers: Mapping[str, str]
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        self.meant.append(address.url)
        path = "/v1/" + address.url.split("/v1beta/" if "/v1beta/" in address.url else "/v1/")[1]
        here = replace(address, url=f"http://127.0.0.1:{self._server.port}{path}", local=True)
        async with super().post(here, body, headers) as response:
            yield response
