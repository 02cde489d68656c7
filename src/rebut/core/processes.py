"""Processes that a backend started: telling one from another that got its number later, and ending a whole group."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

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


def end_group(pid: int, since: str) -> bool:
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
