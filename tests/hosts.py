"""A host for the tests of `rebut mcp`: the SDK's client, in the server's own process or over its streams."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import crosses
import duels
from mcp import StdioServerParameters
from mcp.client import Client

from rebut.mcp.access import HostWorkspace
from rebut.mcp.server import server
from rebut.record import sessions
from rebut.record.record import Record

MODERN, LEGACY = "2026-07-28", "legacy"
REBUT = str(Path(sys.executable).parent / "rebut")
Row = dict[str, Any]


def inside(folder: Path, era: str = MODERN, **options: Any) -> Client:
    """A client of a server in this process."""
    return Client(server(HostWorkspace.at(folder)), mode=era, **options)


def beside(folder: Path, era: str = MODERN, **options: Any) -> Client:
    """A client of `rebut mcp` in a process of its own."""
    return Client(
        StdioServerParameters(command=REBUT, args=["mcp"], cwd=folder, env=dict(os.environ)), mode=era, **options
    )


def talk(client: Client, act: Callable[[Client], Awaitable[Any]]) -> Any:
    async def connected() -> Any:
        async with client:
            return await act(client)

    return asyncio.run(connected())


async def asked(client: Client, tool: str, **arguments: Any) -> Row:
    """The result of a call that succeeds."""
    found = await client.call_tool(tool, arguments)
    text = found.content[0].text
    assert not found.is_error, text
    assert json.loads(text) == found.structured_content and len(text.encode()) <= 8000
    return dict(found.structured_content)


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """Why a call fails, in the words that the model gets."""
    found = await client.call_tool(tool, arguments)
    assert found.is_error and found.content[0].text.startswith("rebut: "), found
    return str(found.content[0].text)


def call(folder: Path, tool: str, **arguments: Any) -> Row:
    return talk(inside(folder), lambda client: asked(client, tool, **arguments))  # type: ignore[no-any-return]


def refusal(folder: Path, tool: str, **arguments: Any) -> str:
    return talk(inside(folder), lambda client: refused(client, tool, **arguments))  # type: ignore[no-any-return]


def configure(home: Path, seats: Mapping[str, str], more: str = "") -> None:
    """The user's config: who has which seat, and what else is given."""
    rows = [f"{role} = {json.dumps(spec)}" for role, spec in seats.items()]
    place = home / ".config/rebut/config.toml"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("\n".join(["[seats]", *rows, "", more]))


def reviewers(home: Path, said: Row | None = None, more: str = "", **common: Any) -> None:
    """A critic that finds one P1 and a judge that calls it valid; `common` is for every answer, such as a delay."""
    usual = {"r1/critique@critic": crosses.critique(crosses.raised()), "r1/judgement@judge": crosses.judgement()}
    configure(home, crosses.seats(home / "seats", {**usual, **(said or {})}, **common), more)


def duellists(home: Path, said: Row | None = None, seats: Mapping[str, str] | None = None, more: str = "") -> None:
    folder = home / "seats"
    folder.mkdir(exist_ok=True)
    configure(home, {**duels.seats(folder, said), **(seats or {})}, more)


def record(id: str) -> Record:
    return sessions.load(sessions.home() / id)


def until(over: Callable[[], object], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not over():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def kinds(id: str) -> Sequence[str]:
    return [line.event.kind for line in record(id).lines]
