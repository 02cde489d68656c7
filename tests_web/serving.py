"""The server of the page for the tests: in a thread of this process, or in the process of a debate (`--view`)."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rebut.cli.debated_versions import debated_versions
from rebut.web.server import Viewer


def in_thread(act: Callable[[], Any]) -> Any:
    """Run something that has an event loop of its own: playwright has one in this thread."""
    came: list[Any] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            came.append(act())
        except BaseException as error:  # noqa: BLE001  raised again below
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return came[0]


@contextmanager
def served(root: Path, workspace: Path, session: str = "") -> Iterator[Callable[[], str]]:
    """A running server; what it gives makes a new address each time."""
    loop = asyncio.new_event_loop()
    ready, over, viewers = threading.Event(), asyncio.Event(), list[Viewer]()

    async def serve() -> None:
        viewer = Viewer(root, workspace, debated_versions, session=session)
        await viewer.start()
        viewers.append(viewer)
        ready.set()
        await over.wait()
        await viewer.stop()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    assert ready.wait(20)
    try:
        yield viewers[0].address
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(20)
        loop.close()


class Debate:
    """A debate that shows its page: `rebut … --view --no-open` in a process of its own."""

    def __init__(self, words: list[str], cwd: Path, env: Mapping[str, str] | None = None) -> None:
        command = [sys.executable, "-m", "rebut", *words, "--view", "--no-open"]
        around = {**os.environ, **(env or {})}
        self._said: list[str] = []
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env=around,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._found = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._found.wait(30)
        found = re.search(r"page\s+(http://\S+)", "".join(self._said))
        if found is None:
            self.end()
            raise AssertionError(self.said)
        self.address = found[1]

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._said.append(line)
            if "http://127.0.0.1" in line:
                self._found.set()
        self._found.set()

    @property
    def said(self) -> str:
        return "".join(self._said)

    @property
    def session(self) -> str:
        return self.address.split("/s/")[1].split("?")[0]

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.end()

    def wait(self, seconds: float = 30) -> int:
        code = self.process.wait(seconds)
        self._reader.join(10)
        return code

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(20)
        self._reader.join(10)
        if self.process.stdout:
            self.process.stdout.close()


@contextmanager
def debating(words: list[str], cwd: Path, env: Mapping[str, str] | None = None) -> Iterator[Debate]:
    debate = Debate(words, cwd, env)
    try:
        yield debate
    finally:
        debate.end()
