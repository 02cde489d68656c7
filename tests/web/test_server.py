"""The server over a real socket: who is served, what is served, and that nothing else is."""

from __future__ import annotations

import asyncio
import io
import json
import shutil
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import duels
import pytest
from recorded import FOLDERS, copied, taken
from repositories import commit, new
from test_controls import Steering
from yarl import URL

from rebut.cli.debated_versions import debated_versions
from rebut.record import sessions
from rebut.web import server
from rebut.web.controls import Controls
from rebut.web.server import HEADERS, KEY, Viewer

Act = Callable[[Viewer, aiohttp.ClientSession], Awaitable[None]]
DUEL = next(folder for folder in FOLDERS if "duel-finished/" in str(folder))
OTHER = next(folder for folder in FOLDERS if "panel-finished/" in str(folder))


@asynccontextmanager
async def serving(
    home: Path, *, session: str = "", workspace: Path | None = None, **more: Any
) -> AsyncIterator[Viewer]:
    viewer = Viewer(home / "sessions", workspace or home, debated_versions, session=session, **more)
    await viewer.start()
    try:
        yield viewer
    finally:
        await viewer.stop()


def base(viewer: Viewer) -> str:
    return viewer.address().split("?")[0].split("/s/")[0].rstrip("/")


@asynccontextmanager
async def browser(viewer: Viewer, *, opened: bool = True, **headers: str) -> AsyncIterator[aiohttp.ClientSession]:
    jar = aiohttp.CookieJar(unsafe=True)  # an address of numbers has cookies, too
    async with aiohttp.ClientSession(cookie_jar=jar, headers=headers) as client:
        if opened:
            async with client.get(viewer.address()) as answer:
                assert answer.status == 200
        yield client


def run(home: Path, act: Act, *, opened: bool = True, **more: Any) -> None:
    async def all_of() -> None:
        async with serving(home, **more) as viewer, browser(viewer, opened=opened) as client:
            await act(viewer, client)

    asyncio.run(all_of())


async def got(client: aiohttp.ClientSession, address: str, method: str = "GET", **more: Any) -> tuple[int, str]:
    async with client.request(method, address, allow_redirects=False, **more) as answer:
        for name in ("X-Content-Type-Options", "Content-Security-Policy", "Referrer-Policy", "Cache-Control"):
            assert answer.headers.get(name) == HEADERS[name], (address, answer.status)
        return answer.status, await answer.text()


async def events(
    client: aiohttp.ClientSession, address: str, until: Callable[[str, Any], bool], **more: Any
) -> list[Any]:
    """The events of a stream, up to one that is waited for."""
    out: list[Any] = []
    name, id = "", ""
    async with asyncio.timeout(20), client.get(address, **more) as answer:
        assert answer.status == 200 and answer.content_type == "text/event-stream"
        async for raw in answer.content:
            line = raw.decode().rstrip("\n")
            if line.startswith("event: "):
                name, id = line[7:], ""
            elif line.startswith("id: "):
                id = line[4:]
            elif line.startswith("data: "):
                value = json.loads(line[6:])
                out.append((name, id, value))
                if until(name, value):
                    return out
    return out


async def seen(condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110  the server has no event for it
            await asyncio.sleep(0.01)


def status(name: str, value: Any) -> bool:
    return name == "status"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with one session, whose page is served."""
    copied(DUEL, tmp_path / "rebut")
    return tmp_path / "rebut"


@pytest.fixture
def id() -> str:
    return DUEL.name


# who is served


def test_without_the_cookie_nothing_is_served(home: Path, id: str) -> None:
    async def act(viewer: Viewer, client: aiohttp.ClientSession) -> None:
        for path in ("/", f"/s/{id}", "/app.js", "/style.css", "/api/sessions", f"/api/s/{id}/frames", "/nowhere"):
            code, text = await got(client, base(viewer) + path)
            assert (code, "needs the address that rebut printed" in text) == (403, True), path
        name = f"rebut_{viewer._port}"
        for value in ("", "0" * 64, "ü", '"', "a; b"):
            code, _ = await got(client, base(viewer), headers={"Cookie": f"{name}={value}"})
            assert code == 403

    run(home, act, opened=False, session=id)


def test_a_token_is_valid_once_and_only_its_own(home: Path, id: str) -> None:
    async def act(viewer: Viewer, client: aiohttp.ClientSession) -> None:
        address = viewer.address()
        async with client.get(address, allow_redirects=False) as answer:
            assert (answer.status, answer.headers["Location"]) == (303, f"/s/{id}")
            cookie = answer.headers["Set-Cookie"]
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Path=/" in cookie
        assert address.split("t=")[1] not in cookie
        async with browser(viewer, opened=False) as stranger:
            for again in (address, f"{base(viewer)}/s/{id}?t=guess", f"{base(viewer)}/s/{id}?t="):
                assert (await got(stranger, again))[0] == 403
        assert (await got(client, address))[0] == 303, "in the browser that has the cookie, a reload still works"
        assert (await got(client, f"{base(viewer)}/s/{id}"))[0] == 200

    run(home, act, opened=False, session=id)


def test_a_redirect_never_leads_to_another_site(home: Path, id: str) -> None:
    async def act(viewer: Viewer, client: aiohttp.ClientSession) -> None:
        for path in ("//example.org/", "/\\example.org", "/%2F%2Fexample.org", "/%0d%0aX-Header:1", "/%5Cexample.org"):
            for token in ("x", viewer.address().split("t=")[1]):
                where = URL(f"{base(viewer)}{path}?t={token}", encoded=True)
                async with client.get(where, allow_redirects=False) as answer:
                    place = answer.headers.get("Location", "/")
                    assert place == "/" or place.startswith("/s/"), (path, place)
                    assert "X-Header" not in answer.headers and answer.status < 500

    run(home, act, session=id)


@pytest.mark.parametrize(
    "host", ["example.org", "127.0.0.1", "127.0.0.1:1", "localhost.example.org:{port}", "[::1]:{port}", ""]
)
def test_another_host_is_refused(home: Path, id: str, host: str) -> None:
    async def act(viewer: Viewer, client: aiohttp.ClientSession) -> None:
        named = host.format(port=viewer._port)
        for path in ("/", f"/s/{id}", "/api/sessions", viewer.address().partition(base(viewer))[2]):
            code, _ = await got(client, base(viewer) + path, headers={"Host": named})
            assert code == 421

    run(home, act, session=id)


def test_localhost_is_this_host(home: Path, id: str) -> None:
    async def act(viewer: Viewer, client: aiohttp.ClientSession) -> None:
        code, _ = await got(client, f"{base(viewer)}/s/{id}", headers={"Host": f"localhost:{viewer._port}"})
        assert code == 200

    run(home, act, session=id)


@pytest.mark.parametrize("headers", [
    {"Origin": "http://example.org"},
    {"Origin": "null"},
    {"Origin": "https://127.0.0.1:{port}"},
    {"Origin": "http://127.0.0.1:1"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "anything"},
])  # fmt: skip
def test_another_site_is_refused_even_with_the_cookie(home: Path, id: str, headers: dict[str, str]) -> None:
    async def act(viewer: Viewer, client: aiohttp.ClientSession) -> None:
        sent = {name: value.format(port=viewer._port) for name, value in headers.items()}
        for method, path in (("GET", f"/s/{id}"), ("GET", f"/api/s/{id}/frames"), ("POST", f"/api/s/{id}/steer")):
            own = {"Origin": base(viewer)} if method == "POST" else {}
            code, text = await got(client, base(viewer) + path, method, headers={**own, **sent}, data=b"{}")
            assert (code, "Another site" in text) == (403, True)

    run(home, act, session=id, controls=Controls(Steering()))


def test_posting_needs_an_origin(home: Path, id: str) -> None:
    steering = Steering()

    async def act(viewer: Viewer, client: aiohttp.ClientSession) -> None:
        address, body = f"{base(viewer)}/api/s/{id}/steer", json.dumps({"do": "settle"}).encode()
        assert (await got(client, address, "POST", data=body))[0] == 403
        assert steering.done == []
        code, text = await got(client, address, "POST", data=body, headers={"Origin": base(viewer)})
        assert (code, json.loads(text), steering.done) == (200, {"refused": ""}, ["settle"])

    run(home, act, session=id, controls=Controls(steering))


def test_another_method_does_nothing(home: Path, id: str) -> None:
    steering = Steering()

    async def act(viewer: Viewer, client: aiohttp.ClientSession) -> None:
        for method in ("GET", "PUT", "DELETE", "OPTIONS", "HEAD"):
            code, _ = await got(client, f"{base(viewer)}/api/s/{id}/steer", method, headers={"Origin": base(viewer)})
            assert code in (404, 405)
        assert steering.done == []

    run(home, act, session=id, controls=Controls(steering))


# which sessions


def test_the_page_of_one_session_serves_no_other(home: Path, id: str) -> None:
    copied(OTHER, home)

    async def act(viewer: Viewer, client: aiohttp.ClientSession) -> None:
        assert (await got(client, f"{base(viewer)}/api/s/{id}/parent"))[0] == 200
        assert (await got(client, f"{base(viewer)}/api/sessions"))[0] == 404
        for other in (OTHER.name, "..", "%2e%2e", f"{id}%2f..%2f{OTHER.name}", "%00", "x" * 3000):
            for what in ("frames", "lines", "raw", "parent"):
                code, text = await got(client, URL(f"{base(viewer)}/api/s/{other}/{what}", encoded=True))  # type: ignore[arg-type]
                assert code in (400, 404) and "otxnk" not in text, (other, what, text)

    run(home, act, session=id)


def test_a_fork_serves_its_parent(tmp_path: Path) -> None:
    [fork] = [folder for folder in FOLDERS if "duel-fork/" in str(folder) and taken(folder)[1][0].get("forked_from")]
    parent = taken(fork)[1][0]["forked_from"]
    for folder in fork.parent.iterdir():
        copied(folder, tmp_path)

    async def act(viewer: Viewer, client: aiohttp.ClientSession) -> None:
        code, text = await got(client, f"{base(viewer)}/api/s/{fork.name}/parent")
        assert code == 200 and json.loads(text)["parent"] == parent
        found = await events(client, f"{base(viewer)}/api/s/{parent}/frames", status)
        assert found[0][2][0]["id"] == parent

    run(tmp_path, act, session=fork.name)


def test_the_list_has_the_sessions_of_this_folder_only(tmp_path: Path) -> None:
    homes = sessions.home().parent
    here, there = (new(tmp_path / name, {"src/session.py": "import redis\n" * 40}) for name in ("here", "there"))
    ids = {}
    for folder in (here, there):
        commit(folder)
        ids[folder.name] = duels.duel(tmp_path, workspace=folder).session

    async def act(viewer: Viewer, client: aiohttp.ClientSession) -> None:
        code, text = await got(client, f"{base(viewer)}/api/sessions")
        found = json.loads(text)
        assert (code, found["folder"], [row["id"] for row in found["sessions"]]) == (200, "here", [ids["here"]])
        assert found["sessions"][0]["topic"] == duels.TOPIC
        assert (await got(client, f"{base(viewer)}/api/s/{ids['there']}/parent"))[0] == 404
        for what, asked in (("raw", "?key=r1/opening@proposer"), ("parent", ""), ("lines", "?cite=x")):
            code, text = await got(client, f"{base(viewer)}/api/s/{ids['here']}/{what}{asked}")
            assert code == 200 and (what != "raw" or json.loads(text)[0]["prompt"]), (
                "also before its frames were asked for"
            )

    run(homes, act, workspace=here)


def test_a_session_that_cannot_be_read_is_in_the_list_and_says_why(tmp_path: Path) -> None:
    home = sessions.home().parent
    work = new(tmp_path / "here", {"src/session.py": "import redis\n" * 40})
    commit(work)
    first, second = (duels.duel(tmp_path, workspace=work).session for _ in range(2))
    path = home / "sessions" / first / "journal.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"kind":"asked"', b'"kind":"nonsense"', 1))

    async def act(viewer: Viewer, client: aiohttp.ClientSession) -> None:
        _, text = await got(client, f"{base(viewer)}/api/sessions")
        states = {row["id"]: row["state"] for row in json.loads(text)["sessions"]}
        assert states[first] == "unreadable" and states[second] in ("decided", "undecided")
        found = await events(client, f"{base(viewer)}/api/s/{first}/frames", lambda name, value: name == "broken")
        assert "line" in found[-1][2]["message"]

    run(home, act, workspace=work)


# frames


def test_frames_come_in_order_and_continue_after_the_last_one(home: Path, id: str) -> None:
    frames = taken(DUEL)[1]

    async def act(viewer: Viewer, client: aiohttp.ClientSession) -> None:
        address = f"{base(viewer)}/api/s/{id}/frames"
        found = await events(client, address, status)
        assert found[0] == ("frames", str(len(frames)), frames)
        for query, header, first in (("", "7", 8), ("?after=7", "", 8), ("?after=3", "7", 8), ("", "0", 1)):
            sent = {"Last-Event-ID": header} if header else {}
            found = await events(client, address + query, status, headers=sent)
            assert found[0][2][0]["seq"] == first
        last = {"Last-Event-ID": str(len(frames))}
        assert [name for name, _, _ in await events(client, address, status, headers=last)] == ["status"]

    run(home, act, session=id)


@pytest.mark.parametrize("last", ["-1", "x", "²", "1e3", "9" * 5000, "٣"])
def test_a_number_that_is_none_is_answered_all_the_same(home: Path, id: str, last: str) -> None:
    async def act(viewer: Viewer, client: aiohttp.ClientSession) -> None:
        found = await events(client, f"{base(viewer)}/api/s/{id}/frames", status, params={"after": last})
        assert found[-1][0] == "status"

    run(home, act, session=id)


def test_a_line_that_is_added_reaches_every_open_page(home: Path, id: str) -> None:
    path = home / "sessions" / id / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:4]))

    async def act(viewer: Viewer, client: aiohttp.ClientSession) -> None:
        address = f"{base(viewer)}/api/s/{id}/frames"

        def ended(name: str, value: Any) -> bool:
            return name == "frames" and value[-1]["seq"] == len(lines)

        pages = [asyncio.create_task(events(client, address, ended)) for _ in range(3)]
        await seen(lambda: viewer.pages == 3)
        for at in range(4, len(lines), 5):
            with path.open("ab") as file:
                file.write(b"".join(lines[at : at + 5]))
            await asyncio.sleep(0.02)
        for page in pages:
            numbers = [frame["seq"] for name, _, value in await page if name == "frames" for frame in value]
            assert numbers == list(range(1, len(lines) + 1))
        await seen(lambda: viewer.pages == 0)

    run(home, act, session=id)


def test_a_page_gets_the_last_frames_of_a_server_that_stops(home: Path, id: str) -> None:
    path = home / "sessions" / id / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))

    async def act(viewer: Viewer, client: aiohttp.ClientSession) -> None:
        page = asyncio.create_task(events(client, f"{base(viewer)}/api/s/{id}/frames", lambda name, value: False))
        await seen(lambda: viewer.pages == 1)
        with path.open("ab") as file:
            file.write(lines[-1])
        await viewer.stop()
        found = [frame["seq"] for name, _, value in await page if name == "frames" for frame in value]
        assert found[-1] == len(lines)

    run(home, act, session=id)


# steering and answers


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"not json", 400),
        (b"[]", 400),
        (b"\xff", 400),
        (b"[" * 200_000, 400),
        (b"{}" + b" " * 1_100_000, 413),
        (b"{}", 200),
    ],
    ids=["words", "list", "bytes", "deep", "large", "empty"],
)
def test_a_request_that_is_none_is_refused_in_words(home: Path, id: str, body: bytes, code: int) -> None:
    steering = Steering()

    async def act(viewer: Viewer, client: aiohttp.ClientSession) -> None:
        for what in ("steer", "answer"):
            sent = {"headers": {"Origin": base(viewer)}, "data": io.BytesIO(body)}
            found, text = await got(client, f"{base(viewer)}/api/s/{id}/{what}", "POST", **sent)
            assert found == code and text.strip()
        assert steering.done == []

    run(home, act, session=id, controls=Controls(steering))


def test_a_page_without_controls_says_where_they_are(home: Path, id: str) -> None:
    async def act(viewer: Viewer, client: aiohttp.ClientSession) -> None:
        sent = {"headers": {"Origin": base(viewer)}, "data": b'{"do": "settle"}'}
        _, text = await got(client, f"{base(viewer)}/api/s/{id}/steer", "POST", **sent)
        assert "runs in another process" in json.loads(text)["refused"]
        found = await events(client, f"{base(viewer)}/api/s/{id}/frames", status)
        assert found[-1][2] == {"running": False, "controls": False, "seq": len(taken(DUEL)[1])}

    run(home, act, session=id)


# the key, and the same address after a restart


def test_the_key_is_the_users_alone_and_stays(home: Path, id: str) -> None:
    async def cookies() -> str:
        async with serving(home, session=id) as viewer, browser(viewer) as client:
            return f"{viewer._port} {[(c.key, c.value) for c in client.cookie_jar]}"

    first = asyncio.run(cookies())
    path = home / KEY
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and len(path.read_bytes()) >= 32
    assert asyncio.run(cookies()) == first, "an open page continues with the next process"


@pytest.mark.parametrize("spoil", ["open", "short", "empty"])
def test_a_key_that_others_could_know_is_replaced(home: Path, id: str, spoil: str) -> None:
    path = home / KEY
    path.write_bytes({"open": b"k" * 32, "short": b"k" * 8, "empty": b""}[spoil])
    path.chmod(0o644 if spoil == "open" else 0o600)
    before = path.read_bytes()

    async def act(viewer: Viewer, client: aiohttp.ClientSession) -> None:
        assert path.read_bytes() != before and stat.S_IMODE(path.stat().st_mode) == 0o600
        assert (await got(client, f"{base(viewer)}/s/{id}"))[0] == 200

    run(home, act, session=id)


def test_the_port_is_the_same_for_a_session_and_another_one_if_it_is_taken(home: Path, id: str) -> None:
    async def ports() -> tuple[int, int]:
        async with serving(home, session=id) as one, serving(home, session=id) as two:
            return one._port, two._port

    first, second = asyncio.run(ports())
    assert first != second and asyncio.run(ports())[0] == first


def test_only_this_machine_is_served(home: Path, id: str) -> None:
    async def act(viewer: Viewer, client: aiohttp.ClientSession) -> None:
        assert viewer._runner
        assert {address[0] for address in viewer._runner.addresses} == {server.HOST} == {"127.0.0.1"}

    run(home, act, session=id)


def test_a_session_that_is_deleted_while_its_page_is_open_says_so(home: Path, id: str) -> None:
    async def act(viewer: Viewer, client: aiohttp.ClientSession) -> None:
        page = asyncio.create_task(
            events(client, f"{base(viewer)}/api/s/{id}/frames", lambda name, value: name == "broken")
        )
        await seen(lambda: viewer.pages == 1)
        shutil.rmtree(home / "sessions" / id)
        assert "cannot be read" in (await page)[-1][2]["message"]

    run(home, act, session=id)
