"""Processes of rebut that start at once: forked from an interpreter that has loaded rebut and held one debate.

    done = forkserver.run([REBUT, "show", "last"], capture_output=True, text=True)
    child = forkserver.Popen([sys.executable, "-m", "rebut", "duel", …], cwd=folder, env=env, stdout=PIPE)

Each is a process of its own, with the arguments, environment, working folder and streams that it was given; it can be
signalled, killed and waited for like any other. Only the second that Python takes to load everything is spent once, in
one server per run and set of the variables that an interpreter reads when it starts (hash seed, locale, time zone).
A command whose variables of that kind are not those of the tests is started as usual. A test of the start itself
(closed streams, import budgets, installed scripts) uses `subprocess`.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import hashlib
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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

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
PATIENCE = 60.0
"""Seconds for which a server without a line waits for its first."""


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
    """The line to an interpreter that forks. All workers of a run share it; it ends with the last of their lines."""

    def __init__(self, env: Mapping[bytes, bytes], days: int) -> None:
        self._control = socket.socket(socket.AF_UNIX)
        atexit.register(self._control.close)
        self._one = threading.Lock()
        name = hashlib.sha256(repr((sorted(env.items()), days)).encode()).hexdigest()[:16]
        with _locked_place():
            try:
                self._control.connect(str(PLACE / name))
            except OSError:
                self._start(name, env, days)
                self._control.connect(str(PLACE / name))

    def _start(self, name: str, env: Mapping[bytes, bytes], days: int) -> None:
        with socket.socket(socket.AF_UNIX) as listener:
            (PLACE / name).unlink(missing_ok=True)
            listener.bind(str(PLACE / name))
            listener.listen()
            subprocess.run(
                [sys.executable, __file__, str(listener.fileno()), str(days)],
                stdin=subprocess.DEVNULL,
                env=env,
                cwd="/",
                pass_fds=[listener.fileno()],
                start_new_session=True,
                check=True,
            )

    def begin(self, request: Mapping[str, Any], streams: Sequence[int]) -> socket.socket:
        """Start a process. Its number comes over the line that is returned, and at its end its status."""
        line, far = socket.socketpair()
        with far, self._one:
            socket.send_fds(self._control, [b"."], [far.fileno(), *streams])
        body = json.dumps(request).encode()
        line.sendall(len(body).to_bytes(NUMBER) + body)
        return line


PLACE = Path(tempfile.gettempdir()) / f"rebut-forks-{os.environ.get('PYTEST_XDIST_TESTRUNUID') or os.getpid()}"
"""The folder with the sockets of the servers of this run. It is gone with the last of them."""
_servers: dict[tuple[frozenset[tuple[bytes, bytes]], int], Server] = {}
_starting = threading.Lock()


@contextmanager
def _locked_place() -> Iterator[None]:
    while True:
        PLACE.mkdir(mode=0o700, exist_ok=True)
        with suppress(FileNotFoundError), _locked(PLACE) as folder:
            if os.path.samestat(os.fstat(folder), PLACE.stat()):
                yield
                return


@contextmanager
def _locked(folder: Path) -> Iterator[int]:
    file = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file
    finally:
        os.close(file)


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
    if os.fork():
        os._exit(0)  # whoever started the server need not wait for its end
    listener = socket.socket(fileno=int(sys.argv[1]))
    atexit.register(_end)  # registered first, so it comes last
    if days := int(sys.argv[2]):
        crashing.another_day(days)
    _load()
    words = _forked(listener)
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
    rebut.trial.pairs.bundled()
    _search_for_secrets()
    assert threading.active_count() == 1, "a fork has none of the other threads"
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)


def _search_for_secrets() -> None:
    """Compile the patterns for secrets, of which each text needs some others: in short texts and in one with all."""
    from rebut.core.redaction import Redactor

    sys.path.append(root := str(Path(__file__).parent.parent))
    from fuzz.slowest import EVERYTHING

    sys.path.remove(root)
    redactor = Redactor(b"k" * 32)
    lines = EVERYTHING.splitlines()
    for text in (*("\n".join(lines[n : n + 6]) for n in range(0, len(lines), 6)), f"{EVERYTHING}\\n%20"):
        redactor.redact(text)


def _forked(listener: socket.socket) -> list[str]:
    """Serve. It returns in forks alone, with the words of a command."""
    controls: list[socket.socket] = []
    children: dict[int, socket.socket] = {}
    ended, wake = socket.socketpair()  # a byte comes whenever a child has ended
    for end in (ended, wake):
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    while True:
        ready = select.select([listener, ended, *controls], [], [], None if controls else PATIENCE)[0]
        if ended in ready:
            ended.recv(4096)
            _reap(children)
            continue
        if listener in ready:
            controls.append(listener.accept()[0])
            continue
        if not ready:
            _leave(listener)
        for control in ready:
            data, fds, _, _ = socket.recv_fds(control, 1, 4)
            if not data:
                controls.remove(control)
                control.close()
                if not controls:
                    _leave(listener)
                continue
            if (child := os.fork()) == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for other in (listener, ended, wake, *controls, *children.values()):
                    other.close()
                return _begun(fds)
            children[child] = socket.socket(fileno=fds[0])
            for fd in fds[1:]:
                os.close(fd)


def _leave(listener: socket.socket) -> None:
    """End, unless another worker is just coming."""
    place = Path(listener.getsockname())
    with _locked(place.parent):
        if not select.select([listener], [], [], 0)[0]:
            place.unlink()
            with suppress(OSError):  # other servers are there
                place.parent.rmdir()
            os._exit(0)


def _begun(fds: Sequence[int]) -> list[str]:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in a shell's background
    line, *streams = fds
    with socket.socket(fileno=line) as told:
        request = json.loads(_read(told, _number(told)))
        told.sendall(os.getpid().to_bytes(NUMBER))
    return _become(request, streams)


def _reap(children: dict[int, socket.socket]) -> None:
    """Tell the test of each child that has ended how it ended."""
    while children:
        child, status = os.waitpid(-1, os.WNOHANG)
        if not child:
            return
        with children.pop(child) as line, suppress(OSError):  # a test need not wait for it
            line.sendall(status.to_bytes(NUMBER))


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
