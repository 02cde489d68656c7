"""Workers as processes, and the addresses through which they reach the database, which can be cut."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from console import REBUT

from rebut.record import journal
from rebut.record.events import Asked, Attempt


class Worker:
    """`rebut batch work` in a process of its own, with a log of its events."""

    def __init__(self, database: str, folder: Path, name: str, *words: str) -> None:
        self.log, self.status = folder / f"{name}.log", folder / f"{name}.status"
        self.database, self.name = database, name
        command = [REBUT, "batch", "work", "--on", database, "--log-json", "--status-file", str(self.status), *words]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stderr=log, stdout=log, cwd=folder, start_new_session=True)

    def signal(self, number: int) -> None:
        os.kill(self.process.pid, number)

    def events(self, name: str = "") -> list[dict[str, Any]]:
        rows = [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]
        return [row for row in rows if not name or row["event"] == name]

    def until(self, event: str, seconds: float = 60.0) -> dict[str, Any]:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := self.events(event):
                return found[0]
            assert self.process.poll() is None or event == "stopped", self.log.read_text()
            time.sleep(0.05)
        raise AssertionError(f"{self.name} never said {event}: {self.log.read_text()[-3000:]}")

    def end(self) -> None:
        with suppress(ProcessLookupError):
            self.signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait()


@contextmanager
def working(count: int, database: str, folder: Path, *words: str) -> Iterator[list[Worker]]:
    workers = [Worker(database, folder, f"worker{n}", *words) for n in range(count)]
    try:
        yield workers
    finally:
        for worker in workers:
            worker.end()


class Wire:
    """A TCP proxy to the database. `cut` drops its connections and accepts no others until `mend`."""

    def __init__(self, port: int) -> None:
        self._to, self._open = port, set[asyncio.StreamWriter]()
        self._whole = True
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = self._do(asyncio.start_server(self._accept, "127.0.0.1", 0))
        self.port = self._server.sockets[0].getsockname()[1]

    def _do(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    def cut(self) -> None:
        async def act() -> None:
            self._whole = False
            for writer in list(self._open):
                writer.transport.abort()

        self._do(act())

    def repair(self) -> None:
        self._whole = True

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._whole:
            writer.transport.abort()
            return
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._to)
        except OSError:
            writer.transport.abort()
            return
        self._open |= {writer, back}
        with suppress(OSError):
            await asyncio.gather(_copy(reader, back), _copy(there, writer))
        for one in (writer, back):
            self._open.discard(one)
            one.transport.abort()

    def close(self) -> None:
        async def act() -> None:
            self._server.close()
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
            await asyncio.sleep(0.1)

        self.cut()
        self._do(act())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.transport.abort()


def batch(folder: Path, count: int, **more: Any) -> Path:
    """A file of duels with the provider `mine`."""
    seats = {"proposer": "mine:a", "challenger": "mine:b", "judge": "mine:c"}
    rows = [
        {"id": f"q{n}", "protocol": "duel", "topic": f"q{n}: Redis or not?", "seats": seats, **more}
        for n in range(count)
    ]
    path = folder / "in.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


class Recorded:
    """What the journals of a database add up to. Reading them checks every hash."""

    def __init__(self, database: str) -> None:
        lines: dict[str, list[bytes]] = {}
        with psycopg.connect(database) as sql:
            for id, line in sql.execute("select session, line from rebut_event order by session, seq"):
                lines.setdefault(id, []).append(bytes(line))
        self.sessions = {id: journal.parsed(id, b"\n".join(rows) + b"\n").lines for id, rows in lines.items()}

    @property
    def closed(self) -> int:
        return sum(rows[-1].event.kind == "closed" for rows in self.sessions.values())

    def asked(self) -> Counter[tuple[str, str]]:
        """Session and key → how often it was asked."""
        return Counter(
            (id, line.event.key) for id, rows in self.sessions.items() for line in rows if isinstance(line.event, Asked)
        )

    def asked_again_though_answered(self) -> list[tuple[str, str]]:
        found = []
        for id, rows in self.sessions.items():
            answered = set[str]()
            for line in rows:
                event = line.event
                if isinstance(event, Asked) and event.key in answered:
                    found.append((id, event.key))
                if isinstance(event, Attempt) and event.outcome == "ok":
                    answered.add(event.key)
        return found
