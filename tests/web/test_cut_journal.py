"""A journal whose end was cut off after a crash, and continued with other lines: no page keeps what was cut off."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from recorded import FOLDERS
from test_server import base, events, run, seen, status

from rebut.record.journal import Tail, digest
from rebut.web.server import Viewer

SESSION = next(folder for folder in FOLDERS if "steelman-finished/" in str(folder))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "rebut/sessions" / SESSION.name
    folder.mkdir(parents=True)
    (folder / "journal.jsonl").write_bytes((SESSION / "journal.jsonl").read_bytes())
    return tmp_path / "rebut"


def journal(home: Path) -> Path:
    return home / "sessions" / SESSION.name / "journal.jsonl"


def continued(lines: list[bytes], *, count: int, size: int = 0) -> bytes:
    """Other lines in place of those that were cut off: each a fact with a text of this size."""
    out = list(lines)
    for n in range(count):
        value = {"seq": len(out) + 1, "prev": digest(out[-1]), "at": f"2031-01-01T00:00:{n:02}.000+00:00"}
        out.append(json.dumps({**value, "kind": "fact", "key": f"other{n}", "value": "x" * size}).encode())
    return b"\n".join([*out, b""])


@pytest.mark.parametrize("size", [0, 50_000])
def test_all_lines_are_taken_again(home: Path, size: int) -> None:
    path = journal(home)
    lines = path.read_bytes().splitlines()
    tail = Tail(path.parent)
    assert len(tail.take()) == len(lines) and tail.take() == []
    path.write_bytes(continued(lines[:5], count=3, size=size))
    assert [line.seq for line in tail.take()] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert tail.take() == []


def test_a_torn_line_is_waited_for_and_nothing_is_taken_twice(home: Path) -> None:
    path = journal(home)
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([*lines[:5], b""]))
    tail = Tail(path.parent)
    assert len(tail.take()) == 5
    path.write_bytes(b"\n".join([*lines[:5], b"\0" * 90_000, b""]))
    assert tail.take() == tail.take() == []
    path.write_bytes(b"\n".join([*lines[:7], b""]))
    assert [line.seq for line in tail.take()] == [6, 7]


def other(name: str, value: Any) -> bool:
    return name == "frames" and bool(value[-1]["at"].startswith("2031"))


@pytest.mark.parametrize("count", [2, 60])
def test_an_open_page_begins_again(home: Path, count: int) -> None:
    lines = journal(home).read_bytes().splitlines()

    async def act(viewer: Viewer, client: aiohttp.ClientSession) -> None:
        page = asyncio.create_task(events(client, f"{base(viewer)}/api/s/{SESSION.name}/frames", other))
        await seen(lambda: viewer.pages == 1)
        await asyncio.sleep(0.2)
        journal(home).write_bytes(continued(lines[:5], count=count))
        found = await page
        names = [name for name, _, _ in found]
        again = [
            frame["seq"] for name, _, value in found[names.index("restart") :] if name == "frames" for frame in value
        ]
        assert again == list(range(1, 5 + count + 1))

    run(home, act, session=SESSION.name)


@pytest.mark.parametrize(
    ("query", "restarted"),
    [
        (lambda frame: {"after": "7", "at": frame["at"]}, False),
        (lambda frame: {"after": "7", "at": "2031-01-01T00:00:00.000+00:00"}, True),
        (lambda frame: {"after": "700", "at": frame["at"]}, True),
        (lambda frame: {"after": "0", "at": ""}, False),
    ],
)
def test_a_page_that_comes_back_is_told_whether_its_frames_are_on_record(
    home: Path, query: Callable[[Any], dict[str, str]], restarted: bool
) -> None:
    seventh = json.loads(journal(home).read_bytes().splitlines()[6])

    async def act(viewer: Viewer, client: aiohttp.ClientSession) -> None:
        address = f"{base(viewer)}/api/s/{SESSION.name}/frames"
        found = await events(client, address, status, params=query(seventh))
        assert (found[0][0] == "restart") is restarted

    run(home, act, session=SESSION.name)
