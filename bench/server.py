"""A model server that costs almost nothing: its replies are rendered once, so that the client is what is measured.

    python -m bench.server ANSWERS_FILE LATENCY [--paced]

Prints its port. Streams twenty chunks and a usage frame, as tests/loopback.py does, but renders nothing per call: with
200 calls at once on two cores the other one would be the bottleneck. After LATENCY seconds the reply is there, all at
once; paced, it comes chunk by chunk in the second half of that time. Ends when its standard input closes.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHUNKS = 20
FORM = re.compile(rb'"json_schema":\s*\{"name":\s*"(\w+)"')
LENGTH = re.compile(rb"content-length:\s*(\d+)", re.I)


@dataclass(frozen=True, slots=True)
class Server:
    """Where the running server is, and what it can tell."""

    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def told(self) -> dict[str, Any]:
        """`cpu` seconds so far, `calls`, and the last request `bodies` by form, as text."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/told") as response:
            found: dict[str, Any] = json.load(response)
        return found


@contextmanager
def serving(answers: Mapping[str, Any], latency: float, *, paced: bool = False) -> Iterator[Server]:
    """The server, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.json"
        path.write_text(json.dumps(dict(answers)), encoding="utf-8")
        command = [sys.executable, "-m", "bench.server", str(path), str(latency), *(["--paced"] if paced else [])]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            assert child.stdout
            yield Server(int(child.stdout.readline()))
        finally:
            child.kill()
            child.communicate()


def rendered(answer: Any) -> list[bytes]:
    """A streamed reply as it goes over the wire: its head with the first chunk, then chunk by chunk."""
    text = json.dumps(answer)
    size = -(-len(text) // CHUNKS)
    frames = [_frame({"content": text[at : at + size]}, None) for at in range(0, len(text), size)]
    usage = {"model": "m", "choices": [], "usage": {"prompt_tokens": 900, "completion_tokens": 500}}
    frames += [_frame({}, "stop"), json.dumps(usage), "[DONE]"]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
    data = [f"data: {frame}\n\n".encode() for frame in frames]
    first, *others = [b"%x\r\n%s\r\n" % (len(d), d) for d in data]
    return [head + first, *others, b"0\r\n\r\n"]


def _frame(delta: dict[str, str], finish: str | None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return json.dumps({"id": "c-1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]})


class _Shared:
    """What all connections have in common."""

    def __init__(self, answers: Mapping[str, Any], latency: float, paced: bool) -> None:
        self.replies: dict[bytes, list[tuple[float, bytes]]] = {}
        for name, answer in answers.items():
            parts = rendered(answer)
            step = latency / 2 / (len(parts) - 1)
            timed = [(latency / 2 + n * step, part) for n, part in enumerate(parts)]
            self.replies[name.encode()] = timed if paced else [(latency, b"".join(parts))]
        self.calls = 0
        self.bodies: dict[bytes, bytes] = {}


class _Connection(asyncio.Protocol):
    """One connection; requests on it come one after the other."""

    def __init__(self, shared: _Shared) -> None:
        self.shared = shared
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.later = asyncio.get_running_loop().call_later

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        if self.buffer.startswith(b"GET"):
            self.buffer = b""
            self.tell()
            return
        length = LENGTH.search(self.buffer, 0, end)
        if length is None or len(self.buffer) < end + 4 + int(length[1]):
            return
        body, self.buffer = self.buffer[end + 4 :], b""
        form = FORM.search(body)
        assert form is not None
        self.shared.calls += 1
        self.shared.bodies[form[1]] = body
        for delay, part in self.shared.replies[form[1]]:
            self.later(delay, self.transport.write, part)

    def tell(self) -> None:
        bodies = {name.decode(): body.decode() for name, body in self.shared.bodies.items()}
        told = json.dumps({"cpu": time.process_time(), "calls": self.shared.calls, "bodies": bodies}).encode()
        self.transport.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(told) + told)
        self.transport.close()


async def _serve(answers: Mapping[str, Any], latency: float, paced: bool) -> None:
    shared, loop = _Shared(answers, latency, paced), asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(shared), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    over = asyncio.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), loop.call_soon_threadsafe(over.set)), daemon=True).start()
    await over.wait()


if __name__ == "__main__":
    said = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    asyncio.run(_serve(said, float(sys.argv[2]), "--paced" in sys.argv))
