"""Both sides of changed files as bytes: blobs of git, and files of the working tree, read without following a link."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rebut.workspace.git import Git
from rebut.workspace.snapshot import FILE_CAP, decode, read_plain
from rebut.workspace.targets.deltas import LINK, NONE, Delta

TOTAL_CAP = 20_000_000
TOO_LARGE = "larger than 1 MB"
TOO_MUCH = f"beyond the {TOTAL_CAP // 1_000_000} MB that are read in all"


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a file that could be read."""

    data: bytes
    text: str
    note: str = ""
    is_link: bool = False

    def has_id(self, oid: str) -> bool:
        """Whether git gives these bytes this id, line ends aside, which it may convert."""
        if _blob_id(self.data, len(oid)) == oid:
            return True
        return b"\r\n" in self.data and _blob_id(self.data.replace(b"\r\n", b"\n"), len(oid)) == oid

    @property
    def newlines(self) -> int:
        return self.data.count(b"\n")


def _blob_id(data: bytes, length: int) -> str:
    digest = hashlib.sha1(usedforsecurity=False) if length == 40 else hashlib.sha256()
    digest.update(b"blob %d\0" % len(data))
    digest.update(data)
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Unread:
    """One side of a file that could not be read, and why."""

    why: str


Got = Side | Unread | None
"""None where the file does not exist on this side."""


def side_of(data: bytes | int | None, *, is_link: bool = False) -> Side | Unread:
    if data is None:
        return Unread("git has not got its content; a partial clone fetches none while rebut reads")
    if isinstance(data, int):
        return Unread(TOO_LARGE if data > FILE_CAP else TOO_MUCH)
    if is_link:
        return Side(data, data.decode("utf-8", "replace"), is_link=True)
    read = decode(data)
    return Unread("binary") if read is None else Side(data, *read)


async def blobs(git: Git, files: Sequence[Delta], *, both: bool) -> Mapping[str, bytes | int]:
    """The blobs of the old sides and, with `both`, of the new ones."""
    wanted = [file.old_oid for file in files if file.modes[0] != NONE]
    if both:
        wanted += [file.new_oid for file in files if file.modes[1] != NONE]
    return await git.objects(list(dict.fromkeys(wanted)), FILE_CAP, TOTAL_CAP)


class Folder:
    """The working tree, from which no more than a cap is read in all."""

    def __init__(self, top: Path) -> None:
        self.top = top.resolve()
        self.left = TOTAL_CAP
        self._straight: dict[Path, bool] = {}

    def read(self, name: str) -> Got:
        place = self.top / name
        parent = place.parent
        if parent not in self._straight:
            self._straight[parent] = parent.resolve() == parent
        if not self._straight[parent]:
            return None  # a folder above it has become a link: what lies behind is not this file
        try:
            mode = place.lstat().st_mode
            if stat.S_ISLNK(mode):
                return side_of(os.fsencode(place.readlink()), is_link=True)
            if stat.S_ISDIR(mode):
                return Unread("a repository of its own") if name.endswith("/") else None
            if not stat.S_ISREG(mode):
                return Unread("not a regular file")
            data = read_plain(place, FILE_CAP)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            return Unread(f"cannot be read ({error.strerror or error})")
        if data is None:
            return Unread(TOO_LARGE)
        self.left -= len(data)
        return Unread(TOO_MUCH) if self.left < 0 else side_of(data)


def old_side(file: Delta, found: Mapping[str, bytes | int]) -> Got:
    return None if file.modes[0] == NONE else side_of(found.get(file.old_oid), is_link=file.modes[0] == LINK)


def new_side(file: Delta, found: Mapping[str, bytes | int]) -> Got:
    return None if file.modes[1] == NONE else side_of(found.get(file.new_oid), is_link=file.modes[1] == LINK)
