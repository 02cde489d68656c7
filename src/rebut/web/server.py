"""The server of the page: 127.0.0.1 only, one browser with the right address, journal lines as they arrive.

A debate holds private code, and every user of a machine can reach its ports. So the address that is opened has a token,
valid once, which becomes a cookie; without that cookie nothing is served. The cookie's value does not change when the
server is started again, so that a page which was left open over a crash continues by itself.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import os
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import cast

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from rebut.core import files
from rebut.core.errors import RebutError, RecordError, UsageError
from rebut.core.json_value import Json
from rebut.core.network import user_behind
from rebut.record import sessions
from rebut.web import assets
from rebut.web.controls import Controls
from rebut.web.live_session import LiveSession, Versions
from rebut.web.session_list import MOST, compared, session_rows

HOST = "127.0.0.1"
KEY = "view.key"
PERIOD = 0.08
"""Seconds between two looks at a journal."""
LAST_LOOKS = 12
"""How many periods the server waits for its open pages before it ends."""
QUIET = 15.0
"""Seconds without an event after which a comment is sent, so that a broken connection is noticed."""
BATCH = 400
"""Frames in one message."""
LARGEST = 1_000_000
"""Bytes that a request may have."""
PORTS = range(20_000, 40_000)
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Viewer:
    """Serves the sessions of one folder, or one session. With `controls` it is part of a running debate's process."""

    def __init__(
        self,
        root: Path,
        workspace: Path,
        versions: Versions,
        *,
        session: str = "",
        controls: Controls | None = None,
    ) -> None:
        self.session = session
        self.controls = controls
        self.pages = 0
        """Connections of open pages."""
        self.seen = False
        """Whether a page has been connected at all."""
        self._root, self._workspace, self._versions = root, workspace, versions
        self._followed: dict[str, LiveSession] = {}
        self._known: set[str] = set()
        """The sessions of this folder when it was last looked at: with thousands a look takes seconds."""
        self._tokens: set[str] = set()
        self._runner: web.AppRunner | None = None
        self._port = 0
        self._key = _key(root.parent)
        self._stopping = asyncio.Event()

    # starting and stopping

    async def start(self) -> None:
        app = web.Application(middlewares=[self._guard], client_max_size=LARGEST)
        app.router.add_get("/", self._page)
        app.router.add_get("/s/{id}", self._page)
        app.router.add_get("/app.js", self._asset)
        app.router.add_get("/style.css", self._asset)
        app.router.add_get("/api/sessions", self._sessions)
        app.router.add_get("/api/s/{id}/frames", self._frames)
        app.router.add_get("/api/s/{id}/lines", self._lines)
        app.router.add_get("/api/s/{id}/raw", self._raw)
        app.router.add_get("/api/s/{id}/parent", self._parent)
        app.router.add_post("/api/s/{id}/{what:steer|answer}", self._steer)
        self._runner = web.AppRunner(app, access_log=None, logger=_logger(), handle_signals=False, shutdown_timeout=1.0)
        await self._runner.setup()
        for port in (*self._preferred(), 0):
            site = web.TCPSite(self._runner, HOST, port)
            try:
                await site.start()
            except OSError:
                continue
            self._port = port or cast("tuple[str, int]", self._runner.addresses[-1])[1]
            return
        raise UsageError("no port of this machine could be opened for the page")

    def _preferred(self) -> list[int]:
        """The same few ports for the same session or folder, so that an open page finds its server again."""
        name = self.session or str(self._workspace)
        first = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") % len(PORTS)
        return [PORTS[(first + n) % len(PORTS)] for n in range(5)]

    def address(self) -> str:
        """The address to open, with a new token that is valid once."""
        token = secrets.token_urlsafe(18)
        self._tokens.add(token)
        where = f"s/{self.session}" if self.session else ""
        return f"http://{HOST}:{self._port}/{where}?t={token}"

    async def stop(self) -> None:
        self._stopping.set()
        for _ in range(LAST_LOOKS):  # open pages get what came last
            if not self.pages:
                break
            await asyncio.sleep(PERIOD)
        for one in self._followed.values():
            await one.close()
        if self._runner:
            await self._runner.cleanup()

    # who may ask

    @property
    def _cookie(self) -> tuple[str, str]:
        return f"rebut_{self._port}", hmac.new(self._key, str(self._port).encode(), "sha256").hexdigest()

    @web.middleware
    async def _guard(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Refuse other hosts (DNS rebinding), other origins, and requests without the cookie."""
        own = {f"{name}:{self._port}" for name in (HOST, "localhost")}
        if request.headers.get("Host", "") not in own:  # `request.host` would ask the network for a name
            return _refused(421, "This server answers only to its own address.")
        if self._of_other_user(request):
            return _refused(403, "This page is of another user.")
        name, value = self._cookie
        known = hmac.compare_digest(request.cookies.get(name, "").encode(errors="replace"), value.encode())
        token = request.query.get("t", "")
        if request.method == "GET" and token:
            # Redirect only to a page of this server: a path that begins with two slashes leads to another site.
            response = web.Response(status=303, headers={**HEADERS, "Location": _page_of(request.path)})
            if token in self._tokens:
                self._tokens.discard(token)
                response.set_cookie(name, value, httponly=True, samesite="Strict", path="/")
                return response
            if not known:
                return _refused(403, "This address was used already. Run `rebut view` for a new one.")
            return response
        if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
            return _refused(403, "Another site asked for this page.")
        origin = request.headers.get("Origin", "")
        if (request.method != "GET" and not origin) or (origin and origin not in {f"http://{host}" for host in own}):
            return _refused(403, "Another site asked for this page.")
        if not known:
            return _refused(403, "This page needs the address that rebut printed. Run `rebut view` for a new one.")
        try:
            response_or_stream = await handler(request)
        except web.HTTPException as error:
            return _refused(error.status, error.reason or "")
        except RebutError as error:
            return _refused(404, str(error))
        if not response_or_stream.prepared:
            response_or_stream.headers.update(HEADERS)
        return response_or_stream

    def _of_other_user(self, request: web.Request) -> bool:
        """Whether another user of this machine asks.

        The address is in the arguments of the browser's process, and a cookie reaches every port of this machine: other
        users can learn both. Root is let in: it relays connections into containers, and could read everything anyway.
        """
        if request.transport is None:
            return False
        client = cast("tuple[str, int]", request.transport.get_extra_info("peername"))
        return user_behind(client, self._port) not in (None, 0, os.geteuid())

    def _found(self, request: web.Request) -> LiveSession:
        """The session that is asked for, up to date."""
        followed = self._known_session(request.match_info["id"])
        followed.update()
        return followed

    def _known_session(self, id: str) -> LiveSession:
        """A session that this server may show: the one that it serves, that one's parent, or one of this folder."""
        if id not in self._followed:
            self._check(id)
            self._followed[id] = LiveSession(self._root / id, self._versions)
        return self._followed[id]

    def _check(self, id: str) -> None:
        if self.session:
            allowed = {self.session}
            if id != self.session:
                allowed.add(sessions.load(self._root / self.session).opened.forked_from)
        elif id not in (allowed := self._known):
            self._listed()
            allowed = self._known
        if id not in allowed:
            raise UsageError("there is no such session in this folder")

    def _listed(self) -> list[sessions.FoundSession]:
        found = list(sessions.of_workspace(self._root, self._workspace))
        self._known = {one.id for one in found}
        return found

    # what is served

    async def _page(self, request: web.Request) -> web.Response:
        if self.session and request.path == "/":  # this server has no list
            return web.Response(status=303, headers={"Location": f"/s/{self.session}"})
        return web.Response(text=assets.page(), content_type="text/html")

    async def _asset(self, request: web.Request) -> web.Response:
        script = request.path == "/app.js"
        return web.Response(
            text=assets.script() if script else assets.style(),
            content_type="text/javascript" if script else "text/css",
        )

    async def _sessions(self, request: web.Request) -> web.Response:
        if self.session:
            raise UsageError("this page shows one session")
        found = await asyncio.to_thread(self._listed)
        shown: dict[str, Json] = {
            "folder": self._workspace.name,
            "sessions": await asyncio.to_thread(session_rows, found),
        }
        return _json(shown | {"older": max(0, len(found) - MOST)})

    async def _lines(self, request: web.Request) -> web.Response:
        return _json(await self._found(request).lines(request.query.get("cite", "")))

    async def _raw(self, request: web.Request) -> web.Response:
        return _json(self._found(request).raw(request.query.get("key", "")))

    async def _parent(self, request: web.Request) -> web.Response:
        return _json(compared(self._found(request).record, self._root))

    async def _steer(self, request: web.Request) -> web.Response:
        if self.controls is None or request.match_info["id"] != self.session:
            return _json({"refused": "This debate runs in another process. Its own page has the controls."})
        try:
            asked = await request.json()
        except (ValueError, RecursionError):
            return _refused(400, "The request is not JSON.")
        if not isinstance(asked, dict):
            return _refused(400, "The request is not an object.")
        act = self.controls.steer if request.match_info["what"] == "steer" else self.controls.answer
        return _json({"refused": act(cast(Mapping[str, Json], asked))})

    async def _frames(self, request: web.Request) -> web.StreamResponse:
        """Every frame after the last one that the page has, then each new one as it comes."""
        id = request.match_info["id"]
        followed = self._known_session(id)
        last = request.headers.get("Last-Event-ID") or request.query.get("after") or "0"
        sent = int(last[:12]) if last.isdecimal() else 0
        before = request.query.get("at", "")
        response = web.StreamResponse(headers={**HEADERS, "Content-Type": "text/event-stream"})
        await response.prepare(request)
        self.pages, self.seen = self.pages + 1, True
        live = self.controls.watch() if self.controls and id == self.session else None
        spoke, running, first = time.monotonic(), None, True
        try:
            while request.transport is not None:  # without a write, nothing else notices a closed page
                last_look = self._stopping.is_set()
                try:
                    # In parts, so that the page and a debate in this process continue while a long journal is read.
                    followed.update(max(0, sent - len(followed.frames)) + BATCH)
                except RecordError as error:
                    await response.write(_event("broken", {"message": str(error)}))
                    break
                if followed.replaced(sent, before):
                    await response.write(_event("restart", {}))
                    sent, before = 0, ""
                while sent < len(followed.frames):
                    part = followed.frames[sent : sent + BATCH]
                    sent, before = sent + len(part), str(part[-1]["at"])
                    await response.write(_event("frames", cast(Json, part), sent))
                    spoke = time.monotonic()
                if followed.behind:
                    await asyncio.sleep(0)
                    continue
                now = followed.running
                if now != running or first:
                    said: dict[str, Json] = {"running": now, "controls": live is not None, "seq": sent}
                    said |= {"turns": self.controls.asked} if self.controls and live else {}
                    await response.write(_event("status", said))
                    running, first = now, False
                for name, value in live.taken() if live else ():
                    await response.write(_event(name, value))
                    spoke = time.monotonic()
                if time.monotonic() - spoke > QUIET:
                    await response.write(b": still here\n\n")
                    spoke = time.monotonic()
                if last_look:
                    break
                await asyncio.sleep(PERIOD)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self.pages -= 1
            if live is not None:
                live.close()
        return response


def _logger() -> logging.Logger:
    """A logger without malformed requests: any program of this machine could fill the debate's terminal with them."""
    logger = logging.getLogger("rebut.page")
    logger.addFilter(_is_ours)
    return logger


def _is_ours(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


def _event(name: str, value: Json, id: int | None = None) -> bytes:
    head = f"event: {name}\n" + (f"id: {id}\n" if id is not None else "")
    return f"{head}data: {_dumped(value)}\n\n".encode("utf-8", "replace")


def _dumped(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _json(value: Json) -> web.Response:
    return web.Response(body=_dumped(value).encode("utf-8", "replace"), content_type="application/json")


def _refused(status: int, why: str) -> web.Response:
    return web.Response(status=status, text=f"rebut: {why}\n", headers=HEADERS)


def _page_of(path: str) -> str:
    """The page that a path names; the first one if it names none."""
    found = re.fullmatch(r"/s/\w+", path, re.ASCII)
    return found[0] if found else "/"


def _key(folder: Path) -> bytes:
    """The user's own key for cookies; made at first use, readable by the user alone."""
    path = folder / KEY
    with suppress(OSError):
        found = files.read(path, 200)
        if len(found) >= 32 and path.stat().st_mode & 0o077 == 0 and path.stat().st_uid == os.geteuid():
            return found
    made = secrets.token_bytes(32)
    with suppress(OSError):  # a folder that cannot be written: the next server has another key
        files.write(path, made, 0o600)
    return made
