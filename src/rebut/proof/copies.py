"""Copies of the sides of a change, as folders that a check can read: only the redacted text that may be sent.

A copy has no file that is never sent, no binary file, no `.git`, and no configuration of tools and packages.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from rebut.core import event_loop
from rebut.core.files import shipped
from rebut.core.frozen import frozen
from rebut.workspace.snapshot import HIDDEN
from rebut.workspace.tree import Text, Workspace

MOST_BYTES = 100_000_000
MOST_FILES = 20_000
WRITTEN = 1_600_000_000
"""The modification time of every file in a copy: the same on both sides, so that no check can tell them apart."""


@frozen
class Copied:
    """A copy, and what it lacks."""

    folder: Path
    files: int
    beyond: int = 0
    """How many files were left out because the copy would be too large."""


def configuration_globs() -> tuple[str, ...]:
    """Names of files that configure tools and packages: a change could forge the result of a check with one."""
    return tuple(shipped("runners.toml")["configuration"])


async def lay(
    side: Workspace, folder: Path, *, without: Sequence[str] | None = None, like: Path | None = None
) -> Copied:
    """Write the files of one side into an empty folder.

    `without` are globs of names that are left out, by default those of configuration. A file that is the same in
    `like`, an earlier copy, becomes a hard link to it, which is safe as long as nothing writes into either copy.
    """
    globs = configuration_globs() if without is None else without
    wanted = [name for name in await side.names() if HIDDEN not in name and not is_configuration(name, globs)]
    written = total = 0
    for name in wanted:
        if written >= MOST_FILES or total >= MOST_BYTES:
            break
        text = await side.raw(name)
        if text is None:
            read = await side.read(name)
            if not isinstance(read, Text):
                continue  # binary, too large, a link that leads out
            text = "".join(f"{line}\n" for line in read.lines)
        body = text.encode("utf-8", "replace")
        mode = 0o755 if await side.mode(name) == "100755" else 0o644
        await event_loop.in_thread(_write, folder / name, body, mode, like / name if like else None)
        written, total = written + 1, total + len(body)
    is_full = written >= MOST_FILES or total >= MOST_BYTES
    return Copied(folder, written, len(wanted) - written if is_full else 0)


def is_configuration(name: str, globs: Iterable[str]) -> bool:
    """Whether the name of a file, or of a folder above it, matches one of the globs."""
    return any(fnmatchcase(part, glob) for part in name.casefold().split("/") for glob in globs)


def _write(path: Path, body: bytes, mode: int, same: Path | None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if same is not None and _is_same(same, body, mode):
        os.link(same, path)
        return
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(body)
    os.utime(path, (WRITTEN, WRITTEN))


def _is_same(path: Path, body: bytes, mode: int) -> bool:
    try:
        found = path.stat()
        return found.st_size == len(body) and found.st_mode & 0o777 == mode and path.read_bytes() == body
    except OSError:
        return False
