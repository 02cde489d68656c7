"""A model server of our own on the loopback address: all four wires, streamed or not, that do as the test says.

In a thread of the test:        with Loopback(answers={"opening": {"claim": "x"}}, latency=0.2) as server: ...
In a process of its own:        with Loopback(answers=..., process=True) as server: ...
From a shell:                   python tests/loopback.py --port 0 [--answers FILE] [--mode MODE] [--log FILE]

Point a backend at `server.url`; which wire it speaks is told by the path. `server.calls` counts, `server.bodies`,
`server.headers` and `server.paths` keep what was asked, `server.log` (a file) gets one line per call before it is
answered, so that it outlives a kill.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

if __package__:  # as tests.loopback; else run as a script, or found beside the test that imports it
    from tests.dialects import Dialect, Saying, has, question, schema_name, spoken_at
else:
    from dialects import Dialect, Saying, has, question, schema_name, spoken_at

Answer = Callable[[dict[str, Any]], str]

MODES = (
    *(
        "ok",
        "plain",
        "plain-bom",
        "prose",
        "fenced",
        "cut",
        "empty",
        "huge",
        "thinking",
        "parts",
        "crlf",
        "linger",
        "late-end",
    ),
    *("status", "redirect", "html", "plain-error", "error-in-stream", "filter", "refusal", "garbage", "half"),
    *(
        "hang",
        "stall",
        "reset",
        "reset-midstream",
        "no-done",
        "tool-call",
        "frames",
        "deep-status",
        "deep-plain",
        "deep-frame",
    ),
)


DEEP = '{"error": {"message": ' + "[" * 100_000 + "]" * 100_000 + "}}"
"""Valid JSON that no parser with a limit on nesting can read."""


@dataclass
class Script:
    """What the server does. All of it can be changed while it runs, through `control`."""

    mode: str = "ok"
    first: int | None = None
    """The mode holds for this many calls, then "ok" follows; None: for all."""
    status: int = 500
    """For mode "status"."""
    retry_after: str = ""
    message: str = "scripted failure"
    refuse: list[str] | dict[str, str] = field(default_factory=list)
    """Parts of the body that are answered with 400, such as response_format or output_config.effort; with the words."""
    frames: list[Any] = field(default_factory=list)
    """For mode "frames": what is streamed, each as the data of one event."""
    latency: float = 0.0
    pace: float = 0.0
    """Seconds between two chunks."""
    chunks: int = 20
    model: str = "loopback-1"
    usage: bool = True
    cost: float | None = None
    written: int = 0
    """Tokens of the question that go into the cache."""
    answers: dict[str, Any] = field(default_factory=dict)
    keep: bool = True
    """Keep bodies and headers; off for long benchmarks."""


class Loopback:
    """The server as a context manager; see the first lines of this file."""

    def __init__(
        self,
        answers: Mapping[str, Any] | Answer | None = None,
        *,
        process: bool = False,
        port: int = 0,
        log: Path | str | None = None,
        **script: Any,
    ) -> None:
        self._answer: Answer | None = answers if callable(answers) else None
        self.script = Script(answers=dict(answers) if isinstance(answers, Mapping) else {}, **script)
        if self.script.mode not in MODES:
            raise ValueError(f"mode {self.script.mode!r} is none of {', '.join(MODES)}")
        if process and self._answer:
            raise ValueError("a process of its own takes a mapping, not a callable")
        self.port = port
        self.log = Path(log) if log else None
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self._transports: set[asyncio.Transport] = set()
        self.connections = 0
        self._calls = 0
        self._in_process = process
        self._child: subprocess.Popen[str] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def open_connections(self) -> int:
        return len(self._transports)

    @property
    def calls(self) -> int:
        """How many completions were asked for, refused ones included."""
        if self._child is None:
            return self._calls
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/count") as response:
            return int(json.load(response)["calls"])

    def control(self, **changes: Any) -> None:
        """Change the script from the next call on; `first` counts from there."""
        if self._child is None:
            self._change(changes)
            return
        data = json.dumps(changes).encode()
        urllib.request.urlopen(f"http://127.0.0.1:{self.port}/control", data=data).close()

    def __enter__(self) -> Loopback:
        if self._in_process:
            command = [sys.executable, __file__, "--port", str(self.port), "--script", json.dumps(asdict(self.script))]
            command += ["--log", str(self.log)] if self.log else []
            self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            assert self._child.stdout
            self.port = int(self._child.stdout.readline())
            return self
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self.serve(ready.set)), daemon=True)
        self._thread.start()
        if not ready.wait(10):
            raise RuntimeError("the loopback server did not start")
        return self

    def __exit__(self, *_: object) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.communicate()
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._over.set)
            self._thread.join(10)

    async def serve(self, ready: Callable[[], None]) -> None:
        """Run until told to end; `ready` is called when the port is known."""
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        server = await self._loop.create_server(lambda: _Connection(self), "127.0.0.1", self.port)
        self.port = server.sockets[0].getsockname()[1]
        ready()
        await self._over.wait()
        server.close()
        for transport in self._transports:
            transport.abort()
        await asyncio.sleep(0)  # they close their sockets in the next round of the loop

    def _change(self, changes: dict[str, Any]) -> None:
        for name, value in changes.items():
            if name not in Script.__dataclass_fields__:
                raise ValueError(f"no such setting: {name}")
            setattr(self.script, name, value)
        self._calls_at_change = self._calls

    _calls_at_change = 0

    def take(self, body: dict[str, Any], headers: dict[str, str], path: str = "") -> str:
        """Count one call; give the mode that holds for it."""
        self._calls += 1
        if self.log:
            line = json.dumps({"call": self._calls, "schema": schema_name(body), "model": body.get("model")}) + "\n"
            with self.log.open("ab", buffering=0) as file:
                file.write(line.encode())
        if self.script.keep:
            self.bodies.append(body)
            self.headers.append(headers)
            self.paths.append(path)
        first = self.script.first
        return self.script.mode if first is None or self._calls - self._calls_at_change <= first else "ok"

    def text(self, body: dict[str, Any]) -> str | None:
        """The scripted answer; None when there is none for this question."""
        if self._answer:
            return self._answer(body)
        answers = self.script.answers
        if not answers:
            return "All is well, and here is why: nothing in this text says otherwise."
        name = schema_name(body)
        if name not in answers:
            # A schema that travels in the prompt has no name there; a mapping's key may stand in the text.
            prompt = question(body)
            name = next((known for known in answers if known and known in prompt), "")
        value = answers.get(name)
        return value if value is None or isinstance(value, str) else json.dumps(value)


class _Connection(asyncio.Protocol):
    """One connection; requests on it come one after the other."""

    def __init__(self, server: Loopback) -> None:
        self.server = server
        self.buffer = b""
        self.task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.server.connections += 1
        self.server._transports.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.server._transports.discard(self.transport)
        if self.task:
            self.task.cancel()

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, end, rest = self.buffer.partition(b"\r\n\r\n")
        if not end:
            return
        lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        length = int(headers.get("content-length", 0))
        if len(rest) < length:
            return
        self.buffer = rest[length:]
        path = lines[0].split(" ")[1]
        if path == "/count":
            self.json(200, {"calls": self.server._calls})
        elif path == "/control":
            self.server._change(json.loads(rest[:length]))
            self.json(200, {})
        elif path in ("/v1/models", "/models"):
            self.json(200, {"object": "list", "data": [{"id": self.server.script.model, "object": "model"}]})
        elif dialect := spoken_at(path):
            body = json.loads(rest[:length])
            mode = self.server.take(body, headers, path)
            self.task = asyncio.get_running_loop().create_task(self.answer(dialect, body, mode, path))
        else:
            self.json(404, {"error": {"message": f"no such path: {path}"}})

    def json(self, status: int, value: Any, extra: str = "", kind: str = "application/json") -> None:
        body = value.encode() if isinstance(value, str) else json.dumps(value).encode()
        head = f"HTTP/1.1 {status} Scripted\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
        self.transport.write(head.encode() + body)

    async def answer(self, dialect: Dialect, body: dict[str, Any], mode: str, path: str) -> None:
        script = self.server.script
        if script.latency:
            await asyncio.sleep(script.latency)
        for name in script.refuse:
            if has(body, name):
                instead = " Use 'max_completion_tokens' instead." if name == "max_tokens" else ""
                message = f"Unsupported parameter: '{name}' is not supported with this model.{instead}"
                words = script.refuse[name] if isinstance(script.refuse, dict) else message
                return self.json(400, dialect.error(400, words, param=name))
        if mode == "hang":
            return
        if mode == "reset":
            return self.transport.abort()
        if mode == "status":
            extra = f"Retry-After: {script.retry_after}\r\n" if script.retry_after else ""
            extra += "Date: Wed, 01 Jan 2025 00:00:00 GMT\r\n"
            return self.json(script.status, dialect.error(script.status, script.message), extra)
        if mode == "deep-status":
            return self.json(script.status, DEEP)
        if mode == "deep-plain":
            return self.json(200, DEEP)
        if mode == "redirect":
            return self.json(307, {}, f"Location: {self.server.url}/elsewhere\r\n")
        if mode == "html":
            return self.json(200, f"<html>Please log in: {script.message}</html>", kind="text/html")
        if mode == "plain-error":
            return self.json(200, dialect.error(503, script.message, inside=True))
        text = self.server.text(body)
        if text is None:
            return self.json(400, dialect.error(400, f"no scripted answer for {schema_name(body)!r}"))
        said = Saying(
            text=_shaped(text, mode),
            mode=mode,
            model=script.model,
            asked=len(question(body)) // 4 + 1,
            usage=script.usage,
            cost=script.cost,
            written=script.written,
            wants_usage="stream_options" in body,
        )
        if mode == "plain-bom":
            return self.json(200, "\ufeff" + json.dumps(dialect.whole(said)))
        if mode == "plain" or not dialect.streams(body, path):
            return self.json(200, dialect.whole(said))
        await self.stream(dialect, said)

    async def stream(self, dialect: Dialect, said: Saying) -> None:
        script, mode, end = self.server.script, said.mode, b"\r\n\r\n" if said.mode == "crlf" else b"\n\n"
        self.transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
        )

        def send(value: Any) -> None:
            data = value if isinstance(value, bytes) else b"data: " + json.dumps(value).encode() + end
            if dialect.named and isinstance(value, dict):
                data = f"event: {value.get('type')}".encode() + end[: len(end) // 2] + data
            self.transport.write(b"%x\r\n%s\r\n" % (len(data), data))

        for frame in script.frames if mode == "frames" else dialect.opening(said):
            send(frame)
        size = max(1, -(-len(said.text) // script.chunks))
        pieces = [said.text[at : at + size] for at in range(0, len(said.text), size)]
        for number, piece in enumerate(pieces if mode != "frames" else ()):
            if script.pace and number:
                await asyncio.sleep(script.pace)
            if number == len(pieces) // 2:
                if mode == "stall":
                    return
                if mode == "reset-midstream":
                    return self.transport.abort()
                if mode == "error-in-stream":
                    send(dialect.error(script.status, script.message, inside=True))
                    break
                if mode == "deep-frame":
                    send(b"data: " + DEEP.encode() + end)
                if mode == "garbage":
                    send(b"data: {not json" + end)
                if mode == "half":
                    send(b'data: {"choices": [{"delta": {"cont')
                    break
            send(dialect.piece(said, piece))
        if mode not in ("no-done", "error-in-stream", "half", "frames"):
            for frame in dialect.closing(said):
                send(frame)
            if dialect.done:
                send(dialect.done + end)
        if mode == "late-end":
            await asyncio.sleep(0.02)
        if mode != "linger":
            self.transport.write(b"0\r\n\r\n")


def _shaped(text: str, mode: str) -> str:
    if mode in ("empty", "refusal", "tool-call"):
        return ""
    if mode == "prose":
        return "I would rather say this in plain words than in the form that you asked for."
    if mode == "fenced":
        return f"```json\n{text}\n```\n"
    if mode == "cut":
        return text[: max(1, len(text) * 2 // 3)]
    if mode == "huge":
        return "x" * (5 * 1024 * 1024)
    return text


def _end_with_the_test() -> None:
    """The pipe closes when the test ends, however that comes about."""
    sys.stdin.read()
    os._exit(0)


def _main() -> None:
    parser = argparse.ArgumentParser(description="A scripted model server on the loopback address.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--answers", type=Path, help="JSON file: schema name to answer")
    parser.add_argument("--mode", choices=MODES)
    parser.add_argument("--latency", type=float)
    parser.add_argument("--script", help="the whole script as JSON")
    parser.add_argument("--log", type=Path)
    given = parser.parse_args()
    script = json.loads(given.script) if given.script else {}
    answers = script.pop("answers", {})
    if given.answers:
        answers = json.loads(given.answers.read_text(encoding="utf-8"))
    for name in ("mode", "latency"):
        if getattr(given, name) is not None:
            script[name] = getattr(given, name)
    server = Loopback(answers, port=given.port, log=given.log, **script)

    async def run() -> None:
        if given.script:
            threading.Thread(target=_end_with_the_test, daemon=True).start()
        await server.serve(lambda: print(server.port, flush=True))

    asyncio.run(run())


if __name__ == "__main__":
    _main()
