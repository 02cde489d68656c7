"""CPU per call of the HTTP clients that were considered, and of the wires on top of the one that was taken.

    PYTHONPATH=src python bench/http_client.py [--calls 2000] [--at-once 50] [--profile]

The server runs in a process of its own (tests/loopback.py) and streams a reply of 20 chunks; what is measured is the
processor time of this process alone, best of three rounds. httpx2 is left out when it is not installed.

Two tables, because chunks that are written at once also arrive at once: a busy client then reads all 20 in one go,
which no real model does. In the second table the server pauses between chunks, long enough for the client to keep up
and wake for each (--profile shows the number of reads), with a quarter of the calls.
The yardstick in both is a bare POST whose reply is not streamed.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import importlib.util
import json
import pstats
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from loopback import Loopback

from rebut.backends.http.anthropic import Anthropic
from rebut.backends.http.google import Google
from rebut.backends.http.openai import OpenAI
from rebut.backends.http.responses import Responses
from rebut.backends.wrappers import Limited, Retrying
from rebut.core.types import ModelSpec, Participant, Request

Call = Callable[[], Awaitable[object]]
PROMPT = "Argue about this plan. " * 200
MESSAGES = [{"role": "user", "content": PROMPT}]
BODY = json.dumps({"model": "m", "stream": True, "stream_options": {}, "messages": MESSAGES}).encode()
WHOLE = json.dumps({"model": "m", "stream": False, "messages": MESSAGES}).encode()
HEADERS = {"Content-Type": "application/json"}


def read_line(line: bytes, pieces: list[str]) -> None:
    """The least that any streaming client has to do per line."""
    if line.startswith(b"data: {"):
        choices = json.loads(line[6:])["choices"]
        if choices:
            pieces.append(choices[0]["delta"].get("content", ""))


@asynccontextmanager
async def aiohttp_calls(url: str, at_once: int) -> AsyncIterator[dict[str, Call]]:
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=at_once)) as session:

        async def whole() -> bytes:
            async with session.post(url, data=WHOLE, headers=HEADERS) as response:
                return await response.read()

        async def bare() -> bytes:
            async with session.post(url, data=BODY, headers=HEADERS) as response:
                return await response.read()

        async def streamed() -> str:
            pieces: list[str] = []
            async with session.post(url, data=BODY, headers=HEADERS) as response:
                async for line in response.content:
                    read_line(line, pieces)
            return "".join(pieces)

        yield {
            "aiohttp, bare, not streamed": whole,
            "aiohttp, bare, stream read": bare,
            "aiohttp, stream by line": streamed,
        }


@asynccontextmanager
async def httpx2_calls(url: str, at_once: int) -> AsyncIterator[dict[str, Call]]:
    import httpx2

    limits = httpx2.Limits(max_connections=at_once, max_keepalive_connections=at_once)
    async with httpx2.AsyncClient(limits=limits, timeout=60) as client:

        async def bare() -> bytes:
            return (await client.post(url, content=BODY, headers=HEADERS)).content

        async def streamed() -> str:
            pieces: list[str] = []
            async with client.stream("POST", url, content=BODY, headers=HEADERS) as response:
                async for line in response.aiter_lines():
                    read_line(line.encode(), pieces)
            return "".join(pieces)

        yield {"httpx2, bare, stream read": bare, "httpx2, stream by line": streamed}


@asynccontextmanager
async def our_calls(url: str, at_once: int) -> AsyncIterator[dict[str, Call]]:
    request = Request("bench", Participant("seat", ModelSpec("openai", "m")), PROMPT)
    base = url.removesuffix("/chat/completions")
    wire, *others = [kind(base_url=base, api_key="", model="m") for kind in (OpenAI, Anthropic, Google, Responses)]
    wrapped = Limited(Retrying(wire), "bench", at_once)
    yield {
        "OpenAI.complete": lambda: wire.complete(request),
        "Limited(Retrying(OpenAI))": lambda: wrapped.complete(request),
        **{f"{type(other).__name__}.complete": partial(other.complete, request) for other in others},
    }


async def spend(call: Call, calls: int, at_once: int) -> float:
    """Milliseconds of processor time per call."""
    left = calls

    async def worker() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            await call()

    started = time.process_time()
    await asyncio.gather(*(worker() for _ in range(at_once)))
    return (time.process_time() - started) / calls * 1000


async def measure(url: str, calls: int, at_once: int, profile: bool) -> None:
    kinds = [aiohttp_calls, our_calls]
    if importlib.util.find_spec("httpx2"):
        kinds.insert(1, httpx2_calls)
    bare = 0.0
    for kind in kinds:
        async with kind(url, at_once) as ways:
            for name, call in ways.items():
                await spend(call, at_once * 2, at_once)
                best = min([await spend(call, calls, at_once) for _ in range(3)])
                bare = bare or best
                print(f"{name:32} {best:7.3f} ms  {best / bare:5.2f} x bare", flush=True)
    if profile:
        async with our_calls(url, at_once) as ways:
            with cProfile.Profile() as profiler:
                await spend(ways["OpenAI.complete"], calls, at_once)
            pstats.Stats(profiler).sort_stats("tottime").print_stats(25)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--at-once", type=int, default=50)
    parser.add_argument("--profile", action="store_true")
    given = parser.parse_args()
    for title, pace in (("chunks written at once", 0.0), ("10 ms between chunks", 0.01)):
        print(f"\n{title}")
        with Loopback(process=True, keep=False, pace=pace) as server:
            calls = given.calls // 4 if pace else given.calls
            asyncio.run(measure(f"{server.url}/chat/completions", calls, given.at_once, given.profile))


if __name__ == "__main__":
    main()
