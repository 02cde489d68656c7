"""A child process: started in a group of its own, fed and read within bounds, and ended with everything it started."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, cast

from rebut.core.types import ignore

GRACE = 2.0
"""Seconds between asking a group to end and ending it."""
LARGEST_OUTPUT = 4_000_000
"""Bytes that are kept of what it writes."""
LARGEST_STREAM = 16 * LARGEST_OUTPUT
"""Bytes that are read when somebody takes lines out as they come: a piece of an answer is wrapped in many more."""
KEPT_OF_STDERR = 65_536
_LINGERING = 1.0
_living: set[int] = set()
"""The groups that were started here and not seen to end."""


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """What a process left behind."""

    code: int | None
    """None when it was ended by us."""
    out: str = ""
    err: str = ""
    """The last of it: tools put their reason at the end, below their warnings."""
    cut: Literal["", "time", "size"] = ""
    """Why we ended it."""


async def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    feed: bytes = b"",
    seconds: float,
    on_spawn: Callable[[int], None] = ignore,
    on_line: Callable[[bytes], bool] | None = None,
) -> ProcessResult:
    """Run a program to its end, or to ours. Raises OSError when it cannot be started.

    `on_line` is shown each line of its output as soon as that is whole, with its end, and says whether it is kept. The
    last may lack an end: it was broken off.

    Whatever happens, cancellation included, no process of its group is left when this returns.
    """
    loop = asyncio.get_running_loop()
    watch = _Watch(on_line)
    starting = asyncio.ensure_future(
        loop.subprocess_exec(
            lambda: watch,
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=cwd,
            env=dict(env),
            start_new_session=True,
        )
    )
    try:
        transport, _ = await asyncio.shield(starting)
        _living.add(transport.get_pid())
    except asyncio.CancelledError:
        # A start that is broken off halfway would leave a process that nobody knows of: see it through, then end it.
        transport, _ = await starting
        await _end(transport, watch)
        raise
    try:
        on_spawn(transport.get_pid())
        stdin = cast(asyncio.WriteTransport, transport.get_pipe_transport(0))
        # The transport keeps what the pipe does not take yet, so that a tool which answers before it has read, or
        # never reads, cannot block us; one that closes its end early has had what it wanted.
        stdin.write(feed)
        stdin.write_eof()
        try:
            async with asyncio.timeout(seconds):
                while not watch.over.is_set():
                    await watch.news.wait()
                    watch.sort()
        except TimeoutError:
            watch.cut = "time"
        if not watch.cut:
            # A child that outlives its parent may hold the pipes open. What it has to say is not the answer.
            await _within(watch.silent, _LINGERING)
        watch.sort(to_the_end=True)
    finally:
        await _end(transport, watch)
    text = watch.out.decode("utf-8", "replace"), watch.err.decode("utf-8", "replace")
    return ProcessResult(None if watch.cut else transport.get_returncode(), *text, watch.cut)


class _Watch(asyncio.SubprocessProtocol):
    """Gathers what a process writes, and tells when it is over. `Process.wait` will not do: it waits for the pipes."""

    def __init__(self, on_line: Callable[[bytes], bool] | None) -> None:
        self.out, self.err = bytearray(), bytearray()
        self.on_line = on_line
        self.unsorted = bytearray()
        """What nobody has looked at yet. That is done by whoever waits, so that an error in it is theirs."""
        self.read = 0
        self.news = asyncio.Event()
        self.cut: Literal["", "time", "size"] = ""
        self.over, self.exited, self.silent = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.open = {0, 1, 2}

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self.err += data
            del self.err[:-KEPT_OF_STDERR]
            return
        self.read += len(data)
        if len(self.out) + len(self.unsorted) + len(data) > LARGEST_OUTPUT or self.read > LARGEST_STREAM:
            self.cut = self.cut or "size"
            self._ends()
        elif self.on_line is None:
            self.out += data
        else:
            self.unsorted += data
            if b"\n" in data:
                self.news.set()

    def sort(self, *, to_the_end: bool = False) -> None:
        """Show every whole line, and at the end the last one however it stands; keep those that are to be kept."""
        self.news.clear()
        end = len(self.unsorted) if to_the_end else self.unsorted.rfind(b"\n") + 1
        whole = bytes(self.unsorted[:end])
        del self.unsorted[:end]
        for line in io.BytesIO(whole):  # which ends them at a newline alone
            if self.on_line is not None and self.on_line(line):
                self.out += line

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self.open.discard(fd)
        if not self.open & {1, 2}:
            self.silent.set()

    def process_exited(self) -> None:
        self.exited.set()
        self._ends()

    def _ends(self) -> None:
        self.over.set()
        self.news.set()


async def _end(transport: asyncio.SubprocessTransport, watch: _Watch) -> None:
    """End the group, and let go of its pipes."""
    pid = transport.get_pid()
    try:
        await end_group(pid)
        await _within(watch.exited, GRACE)
        await _within(watch.silent, _LINGERING)
    finally:
        _living.discard(pid)
        if 0 in watch.open:
            # Closing would first wait until the rest is written, which nobody reads any more.
            cast(asyncio.WriteTransport, transport.get_pipe_transport(0)).abort()
        transport.close()


def end_all() -> None:
    """End every group at once, from any thread: for a process that has no time left to see to it."""
    for pid in tuple(_living):
        _signalled(pid, signal.SIGKILL)


async def end_group(pid: int) -> None:
    """Ask a process group to end, wait a little, then end it. Those that outlived their leader are in it too."""
    if not _signalled(pid, signal.SIGTERM):
        return
    loop = asyncio.get_running_loop()
    until = loop.time() + GRACE
    try:
        while loop.time() < until and _signalled(pid, 0):  # noqa: ASYNC110 - the system tells of a group's end to nobody
            await asyncio.sleep(0.01)
    finally:
        # Also when we are cancelled a second time: then there is no more waiting.
        _signalled(pid, signal.SIGKILL)


def _signalled(group: int, number: int) -> bool:
    """Send a signal to a group; False when nobody is left in it."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):  # the latter on macOS, for a group of zombies
        return False
    return True


async def _within(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass


# Processes that a backend started: telling one from another that got its number later, and ending a whole group.

PATIENCE = 2.0
"""Seconds that a process group gets to end after each signal."""


def started(pid: int) -> str:
    """When a process started, as the system tells it; empty when there is no such process.

    With the number alone, a resume an hour later might end somebody else's process.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        return stat.rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        pass
    if Path("/proc/self").exists():
        return ""
    with suppress(OSError, subprocess.SubprocessError):  # macOS
        shown = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, timeout=5)
        return shown.stdout.strip()
    return ""


@lru_cache(maxsize=1)
def own_start(pid: int) -> str:
    """When this process started. By its number, since a fork has another."""
    return started(pid)


def end_orphan(pid: int, since: str) -> bool:
    """End the process group led by `pid`, if it is still the one that started at `since`. True if it was running."""
    if pid <= 1 or not since or started(pid) != since:
        return False
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGTERM)
        _wait(pid, since)
        # Even if the leader is gone: others of its group may be deaf. The number stays theirs while one of them lives.
        os.killpg(pid, signal.SIGKILL)
        _wait(pid, since)
    return True


def _wait(pid: int, since: str) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and started(pid) == since and not is_zombie(pid):
        time.sleep(0.02)


def is_zombie(pid: int) -> bool:
    with suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] == "Z"
    return False
