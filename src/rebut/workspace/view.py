"""The two ways to read a workspace: as a snapshot kept it (`View`), or as it is now (`LiveView`)."""

from __future__ import annotations

import asyncio
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from rebut.workspace.git import Entry, Git, GitFailed
from rebut.workspace.snapshot import Redact, Snapshot, clean_name, decode, is_never_sent, link_target, read_plain
from rebut.workspace.tree import NEVER_READ, READ_CAP, Folder, Missing, Read, Text, Unreadable, Workspace, above

MOST_NAMES = 20_000
MOST_LINKS = 16


class View(Workspace):
    """A snapshot, read from its copies and, for what was clean, from its commit."""

    def __init__(self, snapshot: Snapshot, keep: Path, redact: Redact) -> None:
        super().__init__(snapshot.root, redact, snapshot.never)
        self.folder = snapshot.folder
        self.snapshot, self.keep = snapshot, keep
        self._deleted = frozenset(snapshot.deleted)
        self._tree: Mapping[str, Entry] | None = None
        self._folders: frozenset[str] = frozenset()

    def _pinned(self, ref: str) -> str:
        # HEAD moves on while a debate runs; here it stays where it stood.
        head = self.snapshot.head
        return head + ref[4:] if head and re.match(r"HEAD(?![\w./-])", ref) else ref

    async def _repository(self) -> Git | None:
        return await super()._repository() if self.snapshot.kind == "git" else None

    async def _entries(self) -> Mapping[str, Entry] | None:
        """The tree of the commit; None if the repository no longer has it."""
        if self._tree is None:
            entries: Mapping[str, Entry] = {}
            if self.snapshot.head:
                git = await self._repository()
                try:
                    if git is None:
                        return None
                    entries = await git.tree(self.snapshot.head)
                except GitFailed:
                    return None
            snapshot = self.snapshot
            present = {*snapshot.copies, *snapshot.skipped, *snapshot.links, *(entries.keys() - self._deleted)}
            self._tree, self._folders = entries, frozenset(folder for name in present for folder in above(name)) | {"."}
        return self._tree

    async def _list(self) -> Iterable[str]:
        entries = await self._entries() or {}
        clean = {name for name, entry in entries.items() if entry.is_file and name not in self._deleted}
        whole = self.snapshot.kind == "files"  # in git, most of what was skipped is ignored files and folders
        return clean | {*self.snapshot.copies} | ({*self.snapshot.skipped} if whole else set())

    async def _candidates(self, pattern: str) -> Sequence[str]:
        names = await self.names()
        git = await self._repository()
        if git is None or not self.snapshot.head:
            return [name for name in names if name in self.snapshot.copies]
        flags = ("--no-textconv", "-l", "-z", "-I", "-F", "--full-name")
        try:
            found = await git.run("grep", *flags, "-e", pattern, self.snapshot.head, "--", codes=(0, 1))
        except GitFailed:
            return [name for name in names if name in self.snapshot.copies]
        clean = {name.partition(":")[2] for name in found.decode("utf-8", "replace").split("\0")}
        return [name for name in names if name in self.snapshot.copies or name in clean]

    async def _look(self, path: str) -> Read:
        if self.snapshot.kind == "none":
            return Unreadable(path, "no workspace was kept for this debate")
        entries = await self._entries()
        if entries is None:
            return Unreadable(path, f"commit {self.snapshot.head[:10]} can no longer be read")
        place = await self._follow(path, entries)
        if place is None:
            return Missing(path, "a link that leads out of the workspace, not followed")
        if is_never_sent(place, self.never):
            return Unreadable(path, NEVER_READ)
        for name in (place, unicodedata.normalize("NFC", place), unicodedata.normalize("NFD", place)):
            found = await self._at(name, entries)
            if not isinstance(found, Missing):
                return found
        return found

    async def _follow(self, path: str, entries: Mapping[str, Entry]) -> str | None:
        """The path with every link in it resolved inside the workspace; None if one leads out."""
        for _ in range(MOST_LINKS):
            for part in (*above(path), path):
                target = self.snapshot.links.get(part)
                entry = entries.get(part)
                if target is None and entry and entry.is_link and part not in {*self._deleted, *self.snapshot.copies}:
                    body = self._git and await self._git.object(entry.oid, 4096)
                    target = link_target(part, os.fsdecode(body), Path(self.root)) if isinstance(body, bytes) else ""
                if target is not None:
                    if not target:
                        return None
                    path = target + path[len(part) :]
                    break
            else:
                return path
        return None

    async def _at(self, path: str, entries: Mapping[str, Entry]) -> Read:
        snapshot = self.snapshot
        if path in snapshot.copies:
            try:
                body = await asyncio.to_thread((self.keep / snapshot.copies[path]).read_bytes)
            except OSError:
                return Unreadable(path, "its copy is gone from the session's folder")
            return Text.of(path, body.decode("utf-8", "replace"), snapshot.notes.get(path, ""))
        if path in self._deleted:
            return Missing(path, "deleted in the working tree")
        for part in (path, *above(path)):
            if part in snapshot.skipped:
                return Unreadable(path, snapshot.skipped[part])
            if part in entries and entries[part].is_submodule:
                return Unreadable(path, "in a submodule")
        if path in entries and self._git is not None:
            return await self._blob(self._git, path, entries[path].oid)
        if path in self._folders:
            return Folder(path)
        return Missing(path) if snapshot.complete else Unreadable(path, "there were too many files to list them all")

    async def raw(self, path: str) -> str | None:
        snapshot, entries = self.snapshot, await self._entries() or {}
        if path in snapshot.copies:
            copy = await asyncio.to_thread((self.keep / snapshot.copies[path]).read_bytes)
            return copy.decode("utf-8", "replace")
        if path in entries and self._git is not None and path not in {*self._deleted, *snapshot.links}:
            body = await self._git.object(entries[path].oid, READ_CAP)
            read = decode(body) if isinstance(body, bytes) else None
            return self.redact(read[0]) if read else None
        return None

    async def mode(self, path: str) -> str:
        if path in self.snapshot.links:
            return "120000"
        entries = await self._entries() or {}
        return self.snapshot.modes.get(path) or (entries[path].mode if path in entries else "")

    async def stored(self, path: str) -> bytes | None:
        entries = await self._entries() or {}
        if path not in entries or self._git is None:
            return None
        body = await self._git.object(entries[path].oid, READ_CAP)
        return body if isinstance(body, bytes) else None

    async def _blob(self, git: Git, path: str, oid: str) -> Read:
        try:
            body = await git.object(oid, READ_CAP)
        except GitFailed as error:
            return Unreadable(path, error.message)
        if body is None:
            return Unreadable(path, "its content can no longer be read from git")
        return _text(path, body if isinstance(body, bytes) else None, self.redact)


class LiveView(Workspace):
    """A working folder as it is at this moment."""

    def __init__(self, root: Path, redact: Redact, never: Sequence[str] = ()) -> None:
        self._top = root.resolve()
        super().__init__(str(self._top), redact, never)

    @classmethod
    async def open(cls, folder: Path, redact: Redact, never: Sequence[str] = ()) -> LiveView:
        """The workspace that holds `folder`: its repository if there is one, else the folder itself."""
        git = await Git.open(folder)
        return cls(git.top if git else folder, redact, never)

    async def _list(self) -> Iterable[str]:
        git = await self._repository()
        tracked: Sequence[str] | None = None
        if git is not None:
            with suppress(GitFailed):  # a broken index: the folder itself can still be listed
                tracked = await git.names("--cached", "--others", "--exclude-standard")
        return await asyncio.to_thread(self._present, git.top if git else self._top, tracked)

    def _present(self, top: Path, tracked: Sequence[str] | None) -> list[str]:
        if tracked is None or top.resolve() != self._top:
            return self._walk()
        return [clean_name(name) for name in tracked if (top / name).is_file()]

    def _walk(self) -> list[str]:
        names: list[str] = []
        for folder, inner, files in os.walk(self.root):
            inner[:] = sorted(name for name in inner if name != ".git")
            names += [clean_name(str(Path(folder, name).relative_to(self._top))) for name in sorted(files)]
            if len(names) > MOST_NAMES:
                break
        return names[:MOST_NAMES]

    async def _look(self, path: str) -> Read:
        return await asyncio.to_thread(self._open, path)

    def _open(self, path: str) -> Read:
        try:
            place = (self._top / path).resolve()
            if not place.is_relative_to(self._top):
                return Missing(path, "a link that leads out of the workspace, not followed")
            if is_never_sent(clean_name(str(place.relative_to(self._top))), self.never):
                return Unreadable(path, NEVER_READ)
            if place.is_dir():
                return Folder(path)
            body = read_plain(place, READ_CAP)
        except RuntimeError:  # how Python up to 3.12 reports links that lead in a circle
            return Missing(path, "a link that leads to itself")
        except (FileNotFoundError, NotADirectoryError):
            return Missing(path)
        except OSError as error:
            return Unreadable(path, f"cannot be read ({error.strerror or error})")
        return _text(path, body, self.redact)


def _text(path: str, body: bytes | None, redact: Redact) -> Read:
    if body is None:
        return Unreadable(path, f"larger than {READ_CAP // 1_000_000} MB")
    read = decode(body)
    return Unreadable(path, "binary") if read is None else Text.of(path, redact(read[0]), read[1])
