"""The sandbox: runs a command on a copy of the project, without network, home or environment, and within bounds.

It is bubblewrap, on Linux only. Inside, `/w` is the copy, `/usr` and the mounts given are there to read, and `/tmp` and
new files in `/w` are in memory. Nothing is left when the command ends, its child processes included.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path
from typing import Literal

from rebut.core import process
from rebut.core.files import on_path
from rebut.core.frozen import frozen

WORK = "/w"
"""Where the copy is inside the sandbox."""
MB = 1_000_000
LOOK = 0.05
"""Seconds between two counts of the processes in the sandbox."""
INSTALL = "Install bubblewrap 0.8 or newer, such as with `apt-get install bubblewrap`."


@frozen
class Bounds:
    """What a command may use."""

    seconds: float = 20.0
    memory: int = 1_000 * MB
    """Bytes of memory that one process may have."""
    address_space: int = 0
    """Bytes of address space that one process may have; 0 for as many as `memory`. Node reserves far more than that."""
    processes: int = 64
    """Processes and threads in all."""
    written: int = 64 * MB
    """Bytes that it may write into each of its folders."""
    output: int = 200_000
    """Bytes that it may print."""

    @property
    def kernel(self) -> list[str]:
        """The limits that the kernel enforces, as flags of `prlimit`."""
        limits = {
            "as": self.address_space or self.memory,
            "data": self.memory,
            "cpu": max(1, int(self.seconds)),
            "fsize": self.written,
            "nofile": 256,
            "nproc": self.processes,
            "core": 0,
        }
        return [f"--{name}={value}" for name, value in limits.items()]


@frozen
class Mount:
    """A file or folder of this machine that the command may read, and where it is inside the sandbox."""

    source: Path
    place: str


@frozen
class Inside:
    """What a command finds in the sandbox besides the copy: mounts, links, environment variables."""

    mounts: tuple[Mount, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    """Place of a symbolic link → its target."""
    env: Mapping[str, str] = field(default_factory=dict)

    def __add__(self, other: Inside) -> Inside:
        return Inside((*self.mounts, *other.mounts), {**self.links, **other.links}, {**self.env, **other.env})


@frozen
class Ran:
    """How a command in the sandbox ended, and what it printed."""

    code: int | None
    """None when the sandbox ended it."""
    out: str = ""
    err: str = ""
    """The end of its standard error."""
    cut: Literal["", "time", "size", "processes"] = ""
    """The limit that ended it."""
    failed: str = ""
    """Why the sandbox itself could not start the command; empty if it did."""
    seconds: float = 0.0


@frozen
class Sandbox:
    """Runs commands in bubblewrap. Get it from `find_sandbox`."""

    bwrap: Path
    prlimit: Path

    async def run(
        self,
        argv: Sequence[str],
        folder: Path,
        inside: Inside | None = None,
        *,
        bounds: Bounds | None = None,
        feed: bytes = b"",
    ) -> Ran:
        """Run a command with `folder` as `/w`, its working folder.

        The files of `folder` are read-only, and new files in its top folder are in memory, so that many commands can
        share one copy.
        """
        inside, bounds = inside or Inside(), bounds or Bounds()
        began = time.monotonic()
        flags, kernel = self.flags(folder, inside, bounds.written), bounds.kernel
        watched: list[asyncio.Task[None]] = []
        crowded = asyncio.Event()

        def watch(pid: int) -> None:
            watched.append(asyncio.ensure_future(_bounded(pid, bounds.processes, crowded)))

        try:
            with tempfile.NamedTemporaryFile(prefix="rebut-sandbox-") as listed:
                # Every process in the sandbox can read the command line of the first one, and the flags name folders
                # of this machine. So bubblewrap reads the flags from a file.
                listed.write("\0".join(flags).encode())
                listed.flush()
                opened = ["/bin/sh", "-c", 'exec 3<"$0" && exec "$@"', listed.name]
                command = [*opened, str(self.bwrap), "--args", "3", "--", str(self.prlimit), *kernel, "--", *argv]
                got = await process.run_program(
                    command,
                    cwd=Path("/"),
                    env={"PATH": "/usr/bin:/bin"},
                    feed=feed,
                    seconds=bounds.seconds,
                    cap=bounds.output,
                    on_spawn=watch,
                )
        except OSError as error:
            return Ran(None, failed=f"{self.bwrap} cannot be started: {error.strerror or error}")
        finally:
            for task in watched:
                task.cancel()
        seconds = time.monotonic() - began
        if crowded.is_set():
            return Ran(None, got.out, got.err, "processes", seconds=seconds)
        # If bubblewrap fails, it prints such a line and ends with 1. A check that imitates it counts as not run.
        failed = got.err.strip() if got.code == 1 and got.err.startswith("bwrap: ") else ""
        return Ran(got.code, got.out, got.err, got.cut, failed, seconds)

    def flags(self, folder: Path, inside: Inside, written: int) -> list[str]:
        """The flags of bubblewrap: what is mounted, and what is hidden."""
        size = ("--size", str(written), "--tmpfs")
        flags = ["--unshare-all", "--unshare-user", "--disable-userns", "--uid", "1000", "--gid", "1000"]
        flags += ["--cap-drop", "ALL", "--die-with-parent", "--new-session", "--hostname", "sandbox", "--clearenv"]
        flags += [*_system(), "--proc", "/proc", "--dev", "/dev", *size, "/dev/shm", *size, "/tmp"]
        flags += [*size, WORK]
        for entry in sorted(folder.iterdir()):
            # The target of a link must not be mounted: the sandbox gets the link itself.
            link = ("--symlink", str(entry.readlink())) if entry.is_symlink() else ("--ro-bind", str(entry))
            flags += [*link, f"{WORK}/{entry.name}"]
        for mount in inside.mounts:
            flags += ["--ro-bind", str(mount.source), mount.place]
        for place, target in inside.links.items():
            flags += ["--symlink", target, place]
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8", "TZ": "UTC", **inside.env}
        for name, value in env.items():
            flags += ["--setenv", name, value]
        # /proc too: if root starts rebut, a check could otherwise change the settings of the kernel there.
        read_only = [part for place in ("/proc", "/dev", "/") for part in ("--remount-ro", place)]
        return [*flags, *read_only, "--chdir", WORK]


async def find_sandbox(env: Mapping[str, str]) -> Sandbox | str:
    """The sandbox of this machine; a sentence on what is missing if there is none. It is tried with one command."""
    if sys.platform != "linux":
        return "checks run on Linux only, in bubblewrap: use a container or a virtual machine here"
    found = {name: on_path(name, env) for name in ("bwrap", "prlimit")}
    if found["bwrap"] is None:
        return f"bubblewrap (`bwrap`) is not installed. {INSTALL}"
    if found["prlimit"] is None:
        return "`prlimit` is not installed. It is a part of util-linux."
    known = (found["bwrap"], found["prlimit"])
    if known not in _tried:
        _tried[known] = await _try(Sandbox(*known))
    return _tried[known]


_tried: dict[tuple[Path, Path], Sandbox | str] = {}


async def _try(sandbox: Sandbox) -> Sandbox | str:
    from rebut.core.scratch import temporary_folder

    with temporary_folder() as folder:
        ran = await sandbox.run(["true"], folder, bounds=replace(Bounds(), seconds=10.0))
    if ran.code == 0:
        return sandbox
    said = ran.failed or ran.err.strip().partition("\n")[0] or ran.cut or f"exit code {ran.code}"
    hint = INSTALL if "nknown option" in said else "Unprivileged user namespaces may be switched off on this machine."
    return f"bubblewrap cannot start a sandbox here ({said.removeprefix('bwrap: ')}). {hint}"


def _system() -> list[str]:
    """The programs and libraries of the system, without any configuration but that of the linker."""
    flags = ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        place = Path("/", name)
        if place.is_symlink():
            flags += ["--symlink", str(place.readlink()), str(place)]
        elif place.is_dir():
            flags += ["--ro-bind", str(place), str(place)]
    for name in ("/etc/alternatives", "/etc/ld.so.cache"):
        flags += ["--ro-bind-try", name, name]
    return flags


async def _bounded(pid: int, most: int, crowded: asyncio.Event) -> None:
    """End the sandbox when it has too many processes. The kernel's own limit does not apply to root."""
    while True:
        await asyncio.sleep(LOOK)
        if _processes(pid) > most + 3:  # bubblewrap's own are not counted
            crowded.set()
            process.kill_group(pid)
            return


def _processes(pid: int) -> int:
    """How many processes the sandbox has, by its own `/proc`; 0 if that cannot be read (any more)."""
    with suppress(OSError, IndexError):
        first = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0]
        root = Path("/proc", first, "root")
        if root.samefile("/"):  # it is still being set up, and sees the processes of the machine
            return 0
        return sum(name.isdecimal() for name in os.listdir(root / "proc"))  # noqa: PTH208
    return 0
