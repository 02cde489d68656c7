"""Other users and programs of the same machine: theirs are refused, and nothing of it is on the terminal."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import aiohttp
import pytest
from recorded import FOLDERS
from test_server import base, copied, got, run

from rebut.core.network import user_behind
from rebut.web import server
from rebut.web.server import Viewer

SESSION = next(folder for folder in FOLDERS if "steelman-finished/" in str(folder))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    copied(SESSION, tmp_path / "rebut")
    return tmp_path / "rebut"


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_the_user_behind_a_connection_is_known(family: socket.AddressFamily) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket(family) as client:
        port = listening.getsockname()[1]
        client.connect(("127.0.0.1" if family == socket.AF_INET else "::ffff:127.0.0.1", port))
        accepted, peer = listening.accept()
        with accepted:
            known = os.geteuid() if Path("/proc/net/tcp").exists() else None
            assert user_behind(peer, port) == known
            assert user_behind((peer[0], 1), port) is None


@pytest.mark.parametrize(("user", "code"), [(4711, 403), (-1, 403), (os.geteuid(), 200), (0, 200), (None, 200)])
def test_another_user_is_refused_even_with_the_cookie_or_the_token(
    home: Path, monkeypatch: pytest.MonkeyPatch, user: int | None, code: int
) -> None:
    async def act(viewer: Viewer, client: aiohttp.ClientSession) -> None:
        monkeypatch.setattr(server, "user_behind", lambda *_: user)
        assert (await got(client, f"{base(viewer)}/s/{SESSION.name}"))[0] == code
        assert (await got(client, viewer.address()))[0] == (303 if code == 200 else code)

    run(home, act, session=SESSION.name)


@pytest.mark.parametrize(
    "sent",
    [b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01\r\n\r\n"],
)
def test_a_request_that_is_none_prints_nothing(home: Path, caplog: pytest.LogCaptureFixture, sent: bytes) -> None:
    async def act(viewer: Viewer, client: aiohttp.ClientSession) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(base(viewer).rpartition(":")[2]))
        writer.write(sent)
        assert (await reader.readline()).split()[1] == b"400"
        writer.close()

    run(home, act, session=SESSION.name)
    assert caplog.records == []
