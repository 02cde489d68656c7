"""Files: an atomic write, the TOML tables of the package, and where a repository or a program is."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parents[1]


def read(path: Path | str, most: int | None = None, *, pipes: bool = False) -> bytes:
    """The content of a regular file, or its first `most` bytes. OSError for anything else; opening never blocks.

    Opening a named pipe without a writer would block for ever, and a device has no end. With `pipes`, named pipes are
    read too, such as a shell makes for `<(…)`; a pipe without a writer is empty.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode) and not (pipes and stat.S_ISFIFO(mode)):
            raise OSError(errno.EINVAL, "it is not a regular file")
        os.set_blocking(handle, True)
        file = os.fdopen(handle, "rb")
    except OSError:
        os.close(handle)  # `fdopen` does not close what it refuses, such as a folder
        raise
    with file:
        return file.read(-1 if most is None else most)


def real(path: Path) -> Path:
    """The path without links. Unlike `Path.resolve` it leaves a link that leads to itself as it is."""
    return Path(os.path.realpath(path))


def not_writable(folder: Path) -> str:
    """Why a folder cannot hold new files, whether or not it exists yet; empty if it can. Nothing is created."""
    for place in (folder, *folder.parents):
        if os.path.lexists(place):
            if not place.is_dir():
                return f"{place} is not a folder"
            return "" if os.access(place, os.W_OK | os.X_OK) else f"{place} is not writable"
    return ""


def write(path: Path, data: bytes, mode: int = 0o666, *, replace: bool = True) -> bool:
    """Write `data` to `path`, all of it or nothing: to a new file beside it, which is then renamed to `path`.

    The file has `mode`, less the user's umask, from the start. Without `replace`, an existing file stays as it is
    and the result is False.
    """
    import secrets

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
                pass  # a file system without hard links: rely on the caller, who found no file there
        fresh.replace(path)
        return True
    finally:
        with suppress(OSError):  # an error of the write matters, not one of this clean-up
            fresh.unlink(missing_ok=True)


def private_folder(folder: Path) -> None:
    """Create a folder, and those above it, for this user alone."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


@cache
def shipped(file: str) -> Mapping[str, Any]:
    """One of the TOML tables in the package, read once in a process. It is shared: change a copy.

    Parsing takes longer than opening a debate, and a program may open hundreds.
    """
    import tomllib

    return tomllib.loads((PACKAGE / file).read_text("utf-8"))


def repository(folder: Path) -> Path:
    """The root of the repository that `folder` is in, else the folder itself; found without running git."""
    return find_repository(folder) or folder


def find_repository(folder: Path) -> Path | None:
    """The nearest folder, from this one upwards, that contains `.git`."""
    return next((above for above in (folder, *folder.parents) if _is_repository(above)), None)


def _is_repository(folder: Path) -> bool:
    return os.path.exists(os.path.join(folder, ".git"))  # noqa: PTH110, PTH118  pathlib takes three times as long


def hide_from_git(folder: Path) -> None:
    """Make git ignore a folder of rebut's own in a repository: `git status` does not show it, and it is not staged."""
    if find_repository(folder):
        write(folder / ".gitignore", b"*\n", 0o600)


def link_below(top: Path, path: Path) -> Path | None:
    """The first link among the folders and files on the way from `top` down to `path`; None if there is none.

    A link in a repository was made by another person and may lead to any folder of the user. Links above `top`, such
    as a linked home, are the user's own.
    """
    if not path.is_relative_to(top):
        return None
    place = top
    for part in path.relative_to(top).parts:
        place /= part
        if place.is_symlink():
            return place
    return None


def refuse_link(path: Path) -> None:
    """UsageError if writing to `path` would follow a link: `path` itself, or a folder between repository and `path`."""
    from rebut.core.errors import UsageError

    here = Path.cwd()
    if link := path if path.is_symlink() else link_below(repository(here), here / path):
        raise UsageError(
            f"{link} is a symbolic link, and rebut does not write through links", f"Write to {real(path)} instead."
        )


def on_path(command: str, env: Mapping[str, str]) -> Path | None:
    """Where a command is, by PATH in `env`. Relative entries are skipped: a repository could plant a program there."""
    import shutil

    if "/" in command:
        path = Path(command).expanduser()
        return path if path.is_absolute() and shutil.which(path) else None
    places = absolute_path(env)
    found = shutil.which(command, path=places) if places else None
    return Path(found) if found else None


def absolute_path(env: Mapping[str, str]) -> str:
    """PATH without relative entries."""
    return ":".join(place for place in env.get("PATH", "").split(":") if place.startswith("/"))
