"""Folders for temporary files that only the user can access. In the user's cache, those of killed runs are removed."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from rebut.core.process_identity import is_zombie, started

STALE = 86_400.0
"""Seconds after which a folder is removed if it is unknown whether the process that made it still runs."""
_cleaned: set[Path] = set()


def scratch_folder(env: Mapping[str, str]) -> Path:
    """A new folder in the user's own cache, for the caller to remove.

    It is not in the system's temporary folder: tools search all parent folders for context files and even for a
    `.env`, and every user of the machine can create files there.
    """
    if place := _place(env):
        with suppress(OSError):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            remove_remains(env)
            own = f"run-{processes_of()}-{os.getpid()}-{_since(os.getpid())}-"
            return Path(tempfile.mkdtemp(prefix=own, dir=place))
    return Path(tempfile.mkdtemp(prefix="rebut-"))


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A scratch folder that is removed at the end of the `with` block."""
    folder = scratch_folder(os.environ)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@cache
def processes_of() -> str:
    """A name for this machine or container, whose processes this one can see: several may share the user's home."""
    import zlib

    parts = [os.uname().nodename]
    with suppress(OSError):  # not Linux
        parts += [Path("/proc/sys/kernel/random/boot_id").read_text(), os.readlink("/proc/self/ns/pid")]  # noqa: PTH115
    return f"{zlib.crc32(''.join(parts).encode()):08x}"


def _since(pid: int) -> str:
    return re.sub(r"\W", "", started(pid))


def _place(env: Mapping[str, str]) -> Path | None:
    home = env.get("HOME", "")
    cache = env.get("XDG_CACHE_HOME", "") or (f"{home}/.cache" if home else "")
    return Path(cache) / "rebut" if cache.startswith("/") else None


def remove_remains(env: Mapping[str, str]) -> None:
    """Remove the folders of killed runs, whose process no longer exists. Does this once in a process.

    Tools that such a run left running are ended first, also those in sessions of their own: they have the folder's path
    as a mark. Processes of another machine or container cannot be seen here: their folders are removed after a day.
    """
    place = _place(env)
    if place is None or place in _cleaned:
        return
    _cleaned.add(place)
    for old in place.glob("run-*"):
        with suppress(OSError):
            named = re.fullmatch(rf"run-{processes_of()}-(\d+)-(\w*)-\w+", old.name)
            is_over = time.time() - old.stat().st_mtime > STALE
            if named:
                is_over = _since(int(named[1])) != named[2] or is_zombie(int(named[1]))
            if is_over and not old.is_symlink():
                if named and sys.platform == "linux":
                    from rebut.core.process import end_left

                    end_left(old, named[2])
                shutil.rmtree(old, ignore_errors=True)
