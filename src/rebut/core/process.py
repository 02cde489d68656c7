"""Child processes: each in a group of its own, fed and read within bounds, ended with everything that it started."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Literal, TypeVar, cast

from rebut.core.frozen import frozen
from rebut.core.process_identity import is_zombie, parent_of, started
from rebut.core.types import ignore
from rebut.core.working_time import timeout

Started = TypeVar("Started")
GRACE = 2.0
"""Seconds that a group gets to end after each signal."""
LARGEST_OUTPUT = 4_000_000
"""Bytes of output at which a program is ended."""
LARGEST_STREAM = 16 * LARGEST_OUTPUT
"""The same for output whose lines are passed on: there each piece of an answer is wrapped in many more bytes."""
KEPT_OF_STDERR = 65_536
_LINGERING = 1.0
_POLL = 0.01
MARK = "REBUT_RUN"
"""The environment variable that says for which call a program was started."""
_living: set[int] = set()
"""The groups that this process started and that it has not seen end."""


@frozen
class ProcessResult:
    """How a process ended and what it wrote."""

    code: int | None
    """None when rebut ended it."""
    data: bytes = b""
    """What it wrote to standard output."""
    err: str = ""
    """The end of what it wrote to standard error: tools put the reason there, below their warnings."""
    cut: Literal["", "time", "size"] = ""
    """Why rebut ended it."""

    @property
    def out(self) -> str:
        return self.data.decode("utf-8", "replace")


async def run_program(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    feed: bytes = b"",
    seconds: float,
    cap: int = LARGEST_OUTPUT,
    on_spawn: Callable[[int], None] = ignore,
    on_line: Callable[[bytes], bool] | None = None,
    mark: Path | None = None,
) -> ProcessResult:
    """Run a program until it ends, takes longer than `seconds` or prints more than `cap`. OSError if it cannot start.

    `on_line` gets each line of the output as soon as it is complete, with its line end, and returns whether to keep it.
    The last line may lack an end if the output was cut.

    `mark` is a folder that was made for this call. Its path is in the environment of the program and of all processes
    that the program starts: on Linux rebut recognises them by it, also in a later run (see `end_left`).

    Whatever happens, cancellation included, no process of the group runs when this returns; on Linux, with a `mark`,
    nor does any process that has left the group.
    """
    if mark:
        _adopt_orphans()
        env = {**env, MARK: str(mark)}
    loop = asyncio.get_running_loop()
    watch = _Watch(on_line, cap)
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
        # To abandon the start here would leave a process that is on no list: wait for the process, then end it.
        if made := await _cancelled_start(starting):
            await _end(made[0], watch, mark)
        raise
    try:
        on_spawn(transport.get_pid())
        stdin = cast(asyncio.WriteTransport, transport.get_pipe_transport(0))
        # The transport buffers what the pipe does not accept yet, so a tool that answers before it has read everything,
        # or never reads, cannot block this function. A tool that closes its input early needs no more of it.
        stdin.write(feed)
        stdin.write_eof()
        try:
            async with timeout(seconds):
                while not watch.over.is_set():
                    await watch.news.wait()
                    watch.sort()
        except TimeoutError:
            watch.cut = "time"
        if not watch.cut:
            # A child that outlives its parent may hold the pipes open. Its output is not part of the answer.
            await _within(watch.silent, _LINGERING)
        watch.sort(to_the_end=True)
    finally:
        await _end(transport, watch, mark)
    code = None if watch.cut else transport.get_returncode()
    return ProcessResult(code, bytes(watch.out), watch.err.decode("utf-8", "replace"), watch.cut)


async def _cancelled_start(starting: asyncio.Future[Started]) -> Started | None:
    """The process that was started although the caller was cancelled; None if none was.

    A closing event loop cancels the start as well. asyncio then kills the process, but waits for ever for pipes that
    are never connected, unless the start is cancelled again. If the caller is cancelled again, the start is, too.
    """
    with suppress(asyncio.CancelledError):  # the caller raises its own
        await asyncio.wait({starting}, timeout=GRACE)
    if starting.done():
        return None if starting.cancelled() or starting.exception() else starting.result()
    starting.cancel()
    return None


class _Watch(asyncio.SubprocessProtocol):
    """Collects what a process writes, and reports its end. `Process.wait` would also wait for the pipes to close."""

    def __init__(self, on_line: Callable[[bytes], bool] | None, cap: int) -> None:
        self.out, self.err = bytearray(), bytearray()
        self.on_line = on_line
        self.unsorted = bytearray()
        """Output that `on_line` has not seen yet. `run_program` sorts it, and so gets errors of `on_line`."""
        self.cap = cap
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
        streamed = self.read if self.on_line is not None else 0
        if len(self.out) + len(self.unsorted) + len(data) > self.cap or streamed > LARGEST_STREAM:
            self.cut = self.cut or "size"
            self._ends()
        elif self.on_line is None:
            self.out += data
        else:
            self.unsorted += data
            if b"\n" in data:
                self.news.set()

    def sort(self, *, to_the_end: bool = False) -> None:
        """Pass complete lines to `on_line`, at the end also an incomplete one, and keep the lines that it wants."""
        self.news.clear()
        end = len(self.unsorted) if to_the_end else self.unsorted.rfind(b"\n") + 1
        whole = bytes(self.unsorted[:end])
        del self.unsorted[:end]
        for line in io.BytesIO(whole):  # BytesIO ends lines at a newline only
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


async def _end(transport: asyncio.SubprocessTransport, watch: _Watch, mark: Path | None) -> None:
    """End the group and the processes that have left it, and close the pipes."""
    pid = transport.get_pid()
    try:
        await end_group(pid)
        if mark:
            await _end_marked(mark)
        await _within(watch.exited, GRACE)
        await _within(watch.silent, _LINGERING)
    finally:
        _living.discard(pid)
        if 0 in watch.open:
            # Closing would first wait until the rest of the input is written, which no process reads any more.
            cast(asyncio.WriteTransport, transport.get_pipe_transport(0)).abort()
        transport.close()


async def _within(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass


# A process that answers several questions: its pipes stay open.


async def start_program(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> asyncio.subprocess.Process:
    """Start a program whose standard input and output are pipes. OSError if it cannot start. See `stop`."""
    pipe, none = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *argv, cwd=cwd, env=dict(env), stdin=pipe, stdout=pipe, stderr=none, start_new_session=True, limit=1 << 20
        )
    )
    try:
        process = await asyncio.shield(starting)
    except asyncio.CancelledError:
        if made := await _cancelled_start(starting):
            await stop(made)
        raise
    _living.add(process.pid)
    return process


async def stop(process: asyncio.subprocess.Process) -> None:
    """Kill a process, unless it has ended already, and wait for its end."""
    if process.returncode is None:
        with suppress(ProcessLookupError):  # it may have ended by itself in between
            process.kill()
        await process.wait()
    _living.discard(process.pid)


# Ending groups, those of an earlier run included.


def end_all() -> None:
    """Kill all groups and all adopted orphans at once, from any thread: for a process that has no time to wait."""
    for pid in tuple(_living):
        kill_group(pid)
    _living.clear()  # so that `end_adopted` waits for the leaders, too: only then are their orphans adopted
    end_adopted()


def kill_group(pid: int) -> None:
    _signalled(pid, signal.SIGKILL)


async def end_group(pid: int) -> None:
    """Ask a process group to end, wait, then kill what is left of it, processes that outlived their leader included."""
    with closing(_ending(pid, lambda: not _signalled(pid, 0))) as steps:
        for _ in steps:
            await asyncio.sleep(_POLL)


async def _end_marked(mark: Path) -> None:
    """Kill the processes that have this mark in their environment, also those in sessions of their own."""
    until = time.monotonic() + GRACE
    left = True
    while left and time.monotonic() < until:
        left = await asyncio.to_thread(end_left, mark)
        await asyncio.sleep(_POLL if left else 0)


def end_left(mark: Path, since: str = "") -> bool:
    """Kill this user's processes whose mark is the folder `mark`, or one in it. Returns whether there were any.

    `since` is when the process started that made the folder: older processes are not its children.
    """
    found = False
    values = [f"\0{name}={mark}{end}".encode() for name in (MARK, "TMPDIR") for end in ("\0", "/")]
    for name in _processes():
        folder, pid = Path("/proc", name), int(name)
        with suppress(OSError):  # the process has ended, or belongs to another user
            begun = started(pid)
            environment = b"\0" + (folder / "environ").read_bytes()
            if not any(value in environment for value in values) or folder.stat().st_uid != os.geteuid():
                continue
            if not begun or is_zombie(pid) or (since and int(begun) < int(since)):
                continue
            if started(pid) == begun:  # not a later process that got the same number
                found = True
                _kill(pid)
    return found


def _processes() -> list[str]:
    try:
        return [name for name in os.listdir("/proc") if name.isdecimal() and int(name) != os.getpid()]  # noqa: PTH208
    except OSError:  # not Linux
        return []


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


adopts = False
"""Set by the command line, whose process is rebut's own: it adopts the orphans of its tools, to end them."""
_adopting = False
_spared: set[int] = set()
"""Children not to end: programs of the user, and children that a shell started before it became rebut."""
_user_programs = 0
"""How many programs of the user run now."""


def _adopt_orphans() -> None:
    global _adopting
    if adopts and not _adopting and sys.platform == "linux":
        _adopting = True
        _spared.update(_children())
        _adopt_or_not()


def _adopt_or_not() -> None:
    """Adopt orphans, unless a program of the user runs, whose orphans must live: an editor leaves its windows open."""
    if _adopting:
        import ctypes

        ctypes.CDLL(None).prctl(36, int(not _user_programs), 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


async def run_for_user(argv: Sequence[str], *, stdout: int, env: Mapping[str, str] | None = None) -> int:
    """Run a program that the user works with, such as an editor, and return its exit code.

    Processes that it leaves running belong to the user. On cancellation, it is asked to end, so that it can save its
    work.
    """
    global _user_programs
    _user_programs += 1
    _adopt_or_not()
    try:
        child = await asyncio.create_subprocess_exec(*argv, stdout=stdout, env=env)
        _spared.add(child.pid)
        try:
            return await child.wait()
        except asyncio.CancelledError:
            _user_programs += 1  # the program may run for a while yet: from here on, no orphans are adopted
            if child.returncode is None:
                child.terminate()
            raise
    finally:
        _user_programs -= 1
        _adopt_or_not()


def end_adopted() -> None:
    """Kill the orphans that this process has adopted: a tool started them in sessions of their own."""
    if not _adopting:
        return
    none_left = False
    for _ in range(20):
        left = [pid for pid in _children() if pid not in _living and pid not in _spared and not is_zombie(pid)]
        if not left and none_left:
            return
        # One that ends during a look has its orphans adopted after it: they are seen at the second look.
        none_left = not left
        if none_left:
            continue
        for pid in left:
            _kill(pid)
        time.sleep(_POLL)


def _children() -> list[int]:
    return [pid for name in _processes() if parent_of(pid := int(name)) == os.getpid()]


def end_orphan(pid: int, since: str) -> bool:
    """End the process group led by `pid`, if that process started at `since`. Returns whether it was running."""

    def is_over() -> bool:
        return started(pid) != since or is_zombie(pid)

    if pid <= 1 or not since or started(pid) != since:
        return False
    for _ in _ending(pid, is_over):
        time.sleep(_POLL)
    for _ in _waiting(is_over):
        time.sleep(_POLL)
    return True


def _ending(group: int, is_over: Callable[[], bool]) -> Generator[None, None, None]:
    """Ask a group to end, wait, kill it. Yields when the caller must sleep a moment: one caller awaits, one blocks."""
    if not _signalled(group, signal.SIGTERM):
        return
    try:
        yield from _waiting(is_over)
    finally:
        # Even if the leader is gone: other processes may ignore the first signal, and the group keeps its number as
        # long as one of them lives. And even if the caller is cancelled, which only ends the wait.
        _signalled(group, signal.SIGKILL)


def _waiting(is_over: Callable[[], bool]) -> Iterator[None]:
    until = time.monotonic() + GRACE
    while time.monotonic() < until and not is_over():
        yield


def _signalled(group: int, number: int) -> bool:
    """Send a signal to a group; False when no process is left in it."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):  # the latter on macOS, for a group of zombies
        return False
    return True
