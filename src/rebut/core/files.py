"""Files that rebut itself writes and ships: an atomic write, and the TOML tables of the package."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parents[1]


def read(path: Path, most: int | None = None, *, pipes: bool = False) -> bytes:
    """The content of a regular file, or its first bytes. OSError for anything else, and it never waits.

    A named pipe without a writer would be opened for ever, and a device has no end. With `pipes` a pipe is read too, as
    a shell makes them for `<(…)`; one that nobody writes to is empty.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        if not stat.S_ISREG(mode) and not (pipes and stat.S_ISFIFO(mode)):
            raise OSError(errno.EINVAL, "it is not a regular file")
        os.set_blocking(handle, True)
        return file.read(-1 if most is None else most)


def real(path: Path) -> Path:
    """The path without links. Unlike `Path.resolve` it leaves a link that leads to itself as it is."""
    return Path(os.path.realpath(path))


def write(path: Path, data: bytes, mode: int = 0o666, *, replace: bool = True) -> bool:
    """Write `data` to `path`, all of it or nothing: to a file beside it first, which then takes its place.

    The file has `mode`, less the user's umask, from the start. Without `replace` a file that is already there stays,
    and the result is False.
    """
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if not replace:
            try:
                os.link(fresh, path)
                return True
            except FileExistsError:
                return False
            except OSError:
                pass  # a file system without links: the caller has looked, and that must be enough
        fresh.replace(path)
        return True
    finally:
        with suppress(OSError):  # an error of the write matters, not one of this clean-up
            fresh.unlink(missing_ok=True)


@cache
def shipped(file: str) -> Mapping[str, Any]:
    """One of the TOML tables in the package, read once in a process. It is shared: change a copy.

    Parsing takes longer than opening a debate, and a program may open hundreds.
    """
    return tomllib.loads((PACKAGE / file).read_text("utf-8"))


def repository(folder: Path) -> Path:
    """The root of the repository that `folder` is in, else the folder itself; found without running git."""
    return next((above for above in (folder, *folder.parents) if _is_repository(above)), folder)


def _is_repository(folder: Path) -> bool:
    try:
        return (folder / ".git").exists()
    except OSError:  # a folder above that cannot be read
        return False
