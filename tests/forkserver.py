"""Processes of rebut that start at once: forked from an interpreter that has loaded rebut and held one debate.

    done = forkserver.run([REBUT, "show", "last"], capture_output=True, text=True)
    child = forkserver.Popen([sys.executable, "-m", "rebut", "duel", …], cwd=folder, env=env, stdout=PIPE)

Each is a process of its own, with the arguments, environment, working folder and streams that it was given; it can be
signalled, killed and waited for like any other. Only the second that Python takes to load everything is spent once, in
one server per set of the variables that an interpreter reads when it starts (hash seed, locale, time zone).
A command whose variables of that kind are not those of the tests is started as usual. A test of the start itself
(closed streams, import budgets, installed scripts) uses `subprocess`.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import inspect
import io
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import crashing

REBUT = str(Path(sys.executable).parent / "rebut")
AT_START = (b"PYTHON", b"LC_", b"LANG", b"TZ")
"""How the names of variables begin that an interpreter reads only when it starts."""
LATER = (b"PYTHONPATH", b"PYTHONDONTWRITEBYTECODE")
"""Two of them that a fork takes over."""
AROUND = {name: os.environb[name] for name in (b"PATH", b"PYTHONDONTWRITEBYTECODE") if name in os.environb}
"""What a server has of the environment, as it was before any test changed it."""
LAZY = ("aiohttp", "genai_prices", "rich.live", "rich.markdown", "rich.table", "rich.text")
"""What rebut imports inside of functions."""
ATTACH = "import fcntl,os,sys,termios; fcntl.ioctl(0,termios.TIOCSCTTY,0); os.execv(sys.argv[1],sys.argv[1:])"
"""Makes the standard input the terminal from which Ctrl-C comes."""
NUMBER = 8
"""Bytes of a number on the line between a test and its process."""


class Popen(subprocess.Popen[Any]):
    """`subprocess.Popen` for `rebut …`, `python -m rebut …` and `python crashing.py DAYS`.

    With `terminal` the standard input becomes the terminal from which Ctrl-C comes.
    """

    def __init__(self, args: Sequence[str], *, terminal: bool = False, **options: Any) -> None:
        self._terminal = terminal
        self._line: socket.socket | None = None
        super().__init__(args, **options)

    def _execute_child(self, *values: Any) -> None:
        given = inspect.signature(subprocess.Popen._execute_child).bind(self, *values).arguments
        assert not any(given[name] for name in ("executable", "preexec_fn", "pass_fds", "shell")), "use subprocess"
        env = {os.fsencode(k): os.fsencode(v) for k, v in (given["env"] or os.environ).items()}
        words = [os.fsencode(word) for word in given["args"]]
        crash = words[1:2] == [os.fsencode(crashing.__file__)]
        if not crash and _fixed(env) not in ({}, _fixed(os.environb)):
            if self._terminal:
                given |= {"args": [sys.executable, "-c", ATTACH, *given["args"]], "start_new_session": True}
            given.pop("self")
            super()._execute_child(*given.values())
            return
        request = {
            "words": [word.hex() for word in words],
            "folder": os.fsencode(given["cwd"] or Path.cwd()).hex(),
            "env": {name.hex(): value.hex() for name, value in env.items()},
            "session": given["start_new_session"] or self._terminal,
            "terminal": self._terminal,
        }
        streams = [given[end] for end in ("p2cread", "c2pwrite", "errwrite")]
        streams = [own if stream < 0 else stream for own, stream in enumerate(streams)]
        self._line = _server(_fixed(env), int(words[2]) if crash else 0).begin(request, streams)
        self.pid = _number(self._line)
        self._child_created = True
        self._close_pipe_fds(*(given[e] for e in ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")))

    def poll(self) -> int | None:
        return super().poll() if self._line is None else self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        if self._line is None:
            return super().wait(timeout)
        if (code := self._ended(timeout)) is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return code

    def _ended(self, timeout: float | None) -> int | None:
        assert self._line
        left = None if timeout is None else max(0.0, timeout)
        if self.returncode is None and select.select([self._line], [], [], left)[0]:
            self.returncode = os.waitstatus_to_exitcode(_number(self._line))
            self._line.close()
        return self.returncode


def run(
    args: Sequence[str],
    *,
    input: Any = None,
    capture_output: bool = False,
    timeout: float | None = None,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:
    """`subprocess.run` for the same commands."""
    if input is not None:
        options["stdin"] = subprocess.PIPE
    if capture_output:
        options["stdout"] = options["stderr"] = subprocess.PIPE
    with Popen(args, **options) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(args, process.returncode, out, err)


class Server:
    """An interpreter that forks. It ends when the process that started it does."""

    def __init__(self, env: Mapping[bytes, bytes], days: int) -> None:
        self._control, far = socket.socketpair()
        self._one = threading.Lock()
        with far:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(far.fileno()), str(days)],
                stdin=subprocess.DEVNULL,
                env=env,
                cwd="/",
                pass_fds=[far.fileno()],
                start_new_session=True,
            )
        atexit.register(self.close)

    def begin(self, request: Mapping[str, Any], streams: Sequence[int]) -> socket.socket:
        """Start a process. Its number comes over the line that is returned, and at its end its status."""
        line, far = socket.socketpair()
        with far, self._one:
            socket.send_fds(self._control, [b"."], [far.fileno(), *streams])
        body = json.dumps(request).encode()
        line.sendall(len(body).to_bytes(NUMBER) + body)
        return line

    def close(self) -> None:
        self._control.close()
        self._process.wait()


_servers: dict[tuple[frozenset[tuple[bytes, bytes]], int], Server] = {}
_starting = threading.Lock()


def _fixed(env: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    return {name: value for name, value in env.items() if name.startswith(AT_START) and name not in LATER}


def _server(fixed: Mapping[bytes, bytes], days: int) -> Server:
    key = (frozenset(fixed.items()), days)
    with _starting:
        if key not in _servers:
            _servers[key] = Server({**AROUND, **fixed}, days)
        return _servers[key]


def _number(line: socket.socket) -> int:
    return int.from_bytes(_read(line, NUMBER))


def _read(line: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = line.recv(size - len(data))
        assert piece, "the server of forks is gone"
        data += piece
    return data


# The server. ----------------------------------------------------------------------------------------------------------


def _main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    atexit.register(_end)  # registered first, so it comes last
    if days := int(sys.argv[2]):
        crashing.another_day(days)
    _load()
    words = _forked(control)
    if words[1:2] == [crashing.__file__]:
        act = crashing.act
    else:
        from rebut.cli import main as act
    sys.argv = words
    try:
        act()
    except SystemExit as end:
        _code.append(end.code or 0)
        raise
    _code.append(0)


_code: list[Any] = []


def _end() -> None:
    """Python would go on to take all modules apart, page by page."""
    if _code and isinstance(_code[0], int):
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
        os._exit(_code[0])


def _load() -> None:
    import rebut

    for module in pkgutil.walk_packages(rebut.__path__, "rebut."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    for name in LAZY:
        import_module(name)
    with tempfile.TemporaryDirectory() as folder:  # what is made on first use: schemas of forms, expressions, tables
        crashing.warm_up(Path(folder))
    assert threading.active_count() == 1, "a fork has none of the other threads"
    gc.collect()
    gc.freeze()


def _forked(control: socket.socket) -> list[str]:
    """Serve. It returns in forks alone, with the words of a command."""
    while True:
        _reap()
        data, fds, _, _ = socket.recv_fds(control, 1, 4)
        if not data:
            _reap()
            sys.exit()
        if os.fork() == 0:
            break
        for fd in fds:
            os.close(fd)
    control.close()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in a shell's background
    line, *streams = fds
    with socket.socket(fileno=line) as told:
        request = json.loads(_read(told, _number(told)))
        if child := os.fork():
            _watch(told, child, streams)
    return _become(request, streams)


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _watch(line: socket.socket, child: int, streams: Sequence[int]) -> NoReturn:
    for stream in (*streams, 0, 1, 2):
        os.close(stream)
    line.sendall(child.to_bytes(NUMBER))
    _, status = os.waitpid(child, 0)
    with suppress(OSError):  # a test need not wait for it
        line.sendall(status.to_bytes(NUMBER))
    os._exit(0)


def _become(request: Mapping[str, Any], streams: Sequence[int]) -> list[str]:
    """Take over what a new process has from the system and from the start of Python."""
    if request["session"]:
        os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    if request["terminal"]:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    folder = bytes.fromhex(request["folder"])
    os.chdir(folder)
    os.environ.clear()
    tempfile.tempdir = None  # was kept from the server's environment
    os.environb.update({bytes.fromhex(name): bytes.fromhex(value) for name, value in request["env"].items()})
    sys.stdin = sys.__stdin__ = _stream(sys.stdin, 0)
    sys.stdout = sys.__stdout__ = _stream(sys.stdout, 1)
    sys.stderr = sys.__stderr__ = _stream(sys.stderr, 2)
    words = [os.fsdecode(bytes.fromhex(word)) for word in request["words"]]
    if words[1:3] == ["-m", "rebut"]:
        words = words[2:]
        sys.path[0] = os.fsdecode(folder)
    elif words[0] == REBUT:
        sys.path[0] = str(Path(REBUT).parent)
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    sys.path[1:1] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return words


def _stream(old: io.TextIOWrapper, number: int) -> io.TextIOWrapper:
    """A standard stream as Python makes it, for what is now open under its number."""
    mode, unbuffered = ("wb", old.write_through) if number else ("rb", False)
    raw = open(number, mode, buffering=0 if unbuffered else -1, closefd=False)  # noqa: SIM115
    return io.TextIOWrapper(
        raw,
        encoding=old.encoding,
        errors=old.errors,
        newline="\n" if number else None,
        line_buffering=number == 2 or (number == 1 and os.isatty(1)),
        write_through=old.write_through,
    )


if __name__ == "__main__":
    _main()
