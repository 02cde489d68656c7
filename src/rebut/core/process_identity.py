"""The identity of a process: its number and when it started. Apart from `process`, since readers need no asyncio."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from pathlib import Path


def started(pid: int) -> str:
    """When a process started, as the system reports it; empty when there is no such process.

    The number alone is not enough: a resume an hour later might end another program that has got the number.
    """
    if stat := _stat(pid):
        return stat[19]
    if Path("/proc/self").exists():
        return ""
    import os
    import subprocess

    same = {**os.environ, "LC_ALL": "C", "TZ": "UTC"}  # `ps` writes dates by language and time zone
    with suppress(OSError, subprocess.SubprocessError):  # macOS
        command = ["ps", "-o", "lstart=", "-p", str(pid)]
        shown = subprocess.run(command, env=same, capture_output=True, text=True, timeout=5)
        return shown.stdout.strip()
    return ""


@lru_cache(maxsize=1)
def own_start(pid: int) -> str:
    """When this process started; `pid` is its number, so that a fork does not get the cached value of its parent."""
    return started(pid)


def runs(pid: str, since: str) -> bool:
    """Whether the process `pid`, which started at `since`, still runs."""
    # A zombie has ended, but its parent has not noticed yet.
    return pid.isdigit() and bool(since) and started(int(pid)) == since and not is_zombie(int(pid))


def is_zombie(pid: int) -> bool:
    return _stat(pid)[:1] == ["Z"]


def parent_of(pid: int) -> int:
    """The parent of a process; 0 if there is no such process, or it cannot be seen."""
    stat = _stat(pid)
    return int(stat[1]) if stat else 0


def _stat(pid: int) -> list[str]:
    """The fields of `/proc/PID/stat` from the state on; empty if there is no such process, or not on Linux."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []
