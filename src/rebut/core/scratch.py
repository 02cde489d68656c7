"""Folders for temporary files that only the user can access. Those of runs that were killed are removed later."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from rebut.core.process_identity import started

STALE = 86_400.0
"""Seconds after which a folder is removed whose name does not say which process made it."""
_cleaned: set[Path] = set()


def scratch_folder(env: Mapping[str, str]) -> Path:
    """A new folder in the user's own cache, for the caller to remove.

    It is not in the system's temporary folder: tools search all parent folders for context files and even for a
    `.env`, and every user of the machine can create files there.
    """
    home = env.get("HOME", "")
    cache = env.get("XDG_CACHE_HOME", "") or (f"{home}/.cache" if home else "")
    if cache.startswith("/"):
        place = Path(cache) / "rebut"
        with suppress(OSError):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            _remove_remains(place)
            return Path(tempfile.mkdtemp(prefix=f"run-{os.getpid()}-{_since(os.getpid())}-", dir=place))
    return Path(tempfile.mkdtemp(prefix="rebut-"))


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Such a folder for as long as it is needed."""
    folder = scratch_folder(os.environ)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _since(pid: int) -> str:
    return re.sub(r"\W", "", started(pid))


def _remove_remains(place: Path) -> None:
    """Remove the folders of runs that were killed: once in a process, those whose process no longer exists."""
    if place in _cleaned:
        return
    _cleaned.add(place)
    for old in place.glob("run-*"):
        with suppress(OSError):
            named = re.fullmatch(r"run-(\d+)-(\w*)-\w+", old.name)
            is_over = _since(int(named[1])) != named[2] if named else time.time() - old.stat().st_mtime > STALE
            if is_over and not old.is_symlink():
                shutil.rmtree(old, ignore_errors=True)
