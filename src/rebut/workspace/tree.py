"""The files and commits of a workspace, as evidence and context read them: confined, capped and redacted."""

from __future__ import annotations

import os
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rebut.core import event_loop
from rebut.core.files import repository
from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.core.text import fingerprint
from rebut.workspace.file_reader import (
    LINK,
    FileBytes,
    Unread,
    WorkingTree,
    clean_name,
    confine,
    decode,
    is_never_sent,
    link_target,
    sendable,
    too_large,
    why_never,
)
from rebut.workspace.git import Git, GitFailed, TreeEntry, lock
from rebut.workspace.snapshot import HIDDEN, Redact, Snapshot, hidden_name

if TYPE_CHECKING:
    import asyncio

    from rebut.workspace.targets.target import Target

READ_CAP = 8_000_000
DIFF_CAP = 2_000_000
MOST_SEARCHED = 5_000
REF = re.compile(r"[A-Za-z0-9][\w./~^-]{0,199}")


@frozen
class Text:
    """A file that could be read, redacted. Lines count from 1 and end at newlines only, as git counts them."""

    path: str
    lines: tuple[str, ...]
    note: str = ""

    def line(self, number: int) -> str | None:
        return self.lines[number - 1] if 1 <= number <= len(self.lines) else None

    @classmethod
    def of(cls, path: str, text: str, note: str = "") -> Text:
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        return cls(path, tuple(line.removesuffix("\r") for line in lines), note)


@frozen
class IsFolder:
    """The path names a folder."""

    path: str


@frozen
class Missing:
    """There is no such file in the workspace."""

    path: str
    why: str = "no such file"


@frozen
class UnreadableFile:
    """The file may exist, but it cannot or must not be read."""

    path: str
    why: str


Read = Text | IsFolder | Missing | UnreadableFile
History = Literal["whole", "shallow", "none"]


@frozen
class Hit:
    """A line that contains the searched text."""

    path: str
    line: int
    text: str


class Workspace(ABC):
    """One version of a workspace, to read from."""

    def __init__(self, root: str, redact: Redact, never: Sequence[str] = ()) -> None:
        self.root, self.redact, self.never = root, redact, tuple(never)
        self.folder = ""
        """The folder of the reader, relative to `root`."""
        self._cache: dict[str, Read] = {}
        self._git: Git | None = None
        self._opened = False
        self._opening: asyncio.Lock | None = None
        self._names: tuple[str, ...] | None = None
        self._commits: dict[str, str | None] = {}
        """Commits by name, None for those that do not exist: a text may mention the same one a thousand times."""

    @abstractmethod
    async def _look(self, path: str) -> Read: ...

    @abstractmethod
    async def _list(self) -> Iterable[str]: ...

    async def _repository(self) -> Git | None:
        if not self._opened:
            if self._opening is None and event_loop.is_running():
                self._opening = lock()
            async with self._opening or nullcontext():  # the first of many readers opens it, the others wait
                if not self._opened:
                    self._git, self._opened = await Git.open(Path(self.root)), True
        return self._git

    async def _candidates(self, pattern: str) -> Sequence[str]:
        return await self.names()

    async def read(self, path: str) -> Read:
        """One file by its path, relative to the root or absolute. A path that leads out of the root is `Missing`."""
        relative = confine(path, self.root)
        if relative is None:
            return Missing(path, "not a path inside the workspace")
        if is_never_sent(relative, self.never):
            return UnreadableFile(relative, why_never(relative))
        if relative not in self._cache:
            found = await self._look(relative)
            if isinstance(found, UnreadableFile):
                return found  # not cached: git may have been slow just this once
            self._cache[relative] = found
        return self._cache[relative]

    async def raw(self, path: str) -> str | None:
        """A file's text with its own line ends, for writing it; None where only its lines are known."""
        return None

    async def mode(self, path: str) -> str:
        """A file's mode as git writes it; empty where it is not known."""
        return ""

    async def stored(self, path: str) -> bytes | None:
        """The bytes of a file in the commit; None where no commit is read."""
        return None

    async def names(self) -> tuple[str, ...]:
        """The path of every file that may be shown, sorted."""
        if self._names is None:
            listed = await self._list()
            self._names = await event_loop.in_thread(lambda: tuple(sorted(set(sendable(listed, self.never)))))
        return self._names

    async def tree(self, folder: str = "", limit: int = 200) -> tuple[str, ...] | Missing:
        """All files below a folder if at most `limit`, else its direct entries, folders with the number of files."""
        relative = confine(folder or ".", self.root)
        prefix = "" if relative == "." else f"{relative}/"
        below = [name for name in await self.names() if name.startswith(prefix)] if relative is not None else []
        if not below:
            return Missing(folder, "no such folder")
        if len(below) <= limit:
            return tuple(below)
        counts: dict[str, int] = {}
        for name in below:
            head, slash, _ = name.removeprefix(prefix).partition("/")
            counts[prefix + head + slash] = counts.get(prefix + head + slash, 0) + 1
        return tuple(f"{n} ({c} files)" if n.endswith("/") else n for n, c in counts.items())[:limit]

    async def grep(self, pattern: str, limit: int = 50) -> tuple[Hit, ...]:
        """Lines that contain `pattern` literally. No regular expressions: a model could write one that never ends."""
        hits: list[Hit] = []
        if not pattern.strip() or "\n" in pattern or "\0" in pattern:
            return ()
        for name in (await self._candidates(pattern))[:MOST_SEARCHED]:
            found = await self.read(name)
            if isinstance(found, Text):
                hits += [Hit(name, n, line) for n, line in enumerate(found.lines, 1) if pattern in line]
            if len(hits) >= limit:
                break
        return tuple(hits[:limit])

    async def history(self) -> History:
        """Whether commits can be looked up. In a shallow clone, a commit that is not found may still exist."""
        git = await self._repository()
        if git is None:
            return "none"
        try:
            return "shallow" if await git.is_shallow() else "whole"
        except GitFailed:
            return "none"

    async def commit_exists(self, ref: str) -> bool:
        return await self._commit(ref) is not None

    async def _commit(self, ref: str) -> str | None:
        name = self._pinned(ref)
        if name not in self._commits:
            git = await self._repository()
            if git is None or not REF.fullmatch(ref):
                return None
            try:
                body = await git.object(name + "^{commit}", READ_CAP)
            except GitFailed:
                return None
            self._commits[name] = body.decode("utf-8", "replace") if isinstance(body, bytes) else None
        return self._commits[name]

    def _pinned(self, ref: str) -> str:
        return ref

    async def commit_texts(self, ref: str) -> tuple[str, ...] | None:
        """A commit's message and both sides of its change, redacted; None if it is too large or cannot be read."""
        git, body = await self._repository(), await self._commit(ref)
        if git is None or body is None:
            return None
        flags = ("-p", "-m", "--root", "--no-commit-id", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames")
        try:
            diff = await git.run("diff-tree", *flags, "--ignore-submodules=all", self._pinned(ref), cap=DIFF_CAP)
        except GitFailed:
            return None
        from rebut.workspace.diff import both_sides

        old, new = both_sides(diff.decode("utf-8", "replace"))
        return self.redact(body.partition("\n\n")[2]), self.redact(old), self.redact(new)

    async def close(self) -> None:
        if self._git is not None:
            await self._git.close()


def above(path: str) -> list[str]:
    """The folders above a path, outermost first."""
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]


# Two ways to read a workspace: from a snapshot (`View`), or as it is now (`LiveView`).

MOST_NAMES = 20_000
MOST_LINKS = 16


class View(Workspace):
    """A snapshot, read from its copies and, for unchanged files, from its commit."""

    def __init__(self, snapshot: Snapshot, keep: Path, redact: Redact) -> None:
        super().__init__(snapshot.root, redact, snapshot.never)
        self.folder = snapshot.folder
        self.snapshot, self.keep = snapshot, keep
        self._deleted = frozenset(snapshot.deleted)
        self._tree: Mapping[str, TreeEntry] | None = None
        self._folders: frozenset[str] = frozenset()
        self._is_renamed = False

    def _pinned(self, ref: str) -> str:
        # HEAD may move while a debate runs; here it stays the commit of the snapshot.
        head = self.snapshot.head
        return head + ref[4:] if head and re.match(r"HEAD(?![\w./-])", ref) else ref

    async def _repository(self) -> Git | None:
        return await super()._repository() if self.snapshot.kind == "git" else None

    async def _entries(self) -> Mapping[str, TreeEntry] | None:
        """The tree of the commit; None if the repository no longer has it."""
        if self._tree is None:
            entries: Mapping[str, TreeEntry] = {}
            if self.snapshot.head:
                git = await self._repository()
                try:
                    if git is None:
                        return None
                    entries = await git.tree(self.snapshot.head)
                except GitFailed:
                    return None
            if self.snapshot.has_hidden_names():
                entries = await event_loop.in_thread(self._renamed, entries)
            self._folders = await event_loop.in_thread(self._folders_of, entries)
            self._tree = entries
        return self._tree

    def _renamed(self, entries: Mapping[str, TreeEntry]) -> Mapping[str, TreeEntry]:
        """The entries by the names that debaters see."""
        self._is_renamed = True
        seen = self.redact("\n".join(entries)).split("\n")
        # All names are redacted in one call. The few that have a secret are then redacted one by one.
        odd = {name for name, shown in zip(entries, seen, strict=False) if HIDDEN in shown}
        return {hidden_name(name, self.redact) if name in odd else name: entry for name, entry in entries.items()}

    def _folders_of(self, entries: Mapping[str, TreeEntry]) -> frozenset[str]:
        snapshot, found = self.snapshot, {"."}
        for name in {*snapshot.copies, *snapshot.skipped, *snapshot.links, *(entries.keys() - self._deleted)}:
            folder = name.rpartition("/")[0]
            while folder and folder not in found:
                found.add(folder)
                folder = folder.rpartition("/")[0]
        return frozenset(found)

    async def _list(self) -> Iterable[str]:
        entries = await self._entries() or {}
        clean = {name for name, entry in entries.items() if entry.is_file and name not in self._deleted}
        whole = self.snapshot.kind == "files"  # with git, most skipped paths are those that git ignores
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
            return UnreadableFile(path, "no workspace was kept for this debate")
        entries = await self._entries()
        if entries is None:
            return UnreadableFile(path, f"commit {self.snapshot.head[:10]} can no longer be read")
        place = await self._follow(path, entries)
        if place is None:
            return Missing(path, "a link that leads out of the workspace, not followed")
        if is_never_sent(place, self.never):
            return UnreadableFile(path, why_never(place))
        for name in (place, unicodedata.normalize("NFC", place), unicodedata.normalize("NFD", place)):
            found = await self._at(name, entries)
            if not isinstance(found, Missing):
                return found
        if HIDDEN in place and not self._is_renamed:  # it may name an unchanged file
            self._tree = await event_loop.in_thread(self._renamed, entries)
            return await self._at(place, self._tree)
        return await self._at(hidden_name(place, self.redact), entries) if self._is_renamed else found

    async def _follow(self, path: str, entries: Mapping[str, TreeEntry]) -> str | None:
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

    async def _at(self, path: str, entries: Mapping[str, TreeEntry]) -> Read:
        snapshot = self.snapshot
        if path in snapshot.copies:
            try:
                body = await event_loop.in_thread((self.keep / snapshot.copies[path]).read_bytes)
            except OSError:
                return UnreadableFile(path, "its copy is gone from the session's folder")
            return Text.of(path, body.decode("utf-8", "replace"), snapshot.notes.get(path, ""))
        if path in self._deleted:
            return Missing(path, "deleted in the working tree")
        for part in (path, *above(path)):
            if part in snapshot.skipped:
                return UnreadableFile(path, snapshot.skipped[part])
            if part in entries and entries[part].is_submodule:
                return UnreadableFile(path, "in a submodule")
        if path in entries and self._git is not None:
            return await self._blob(self._git, path, entries[path].oid)
        if path in self._folders:
            return IsFolder(path)
        return (
            Missing(path) if snapshot.complete else UnreadableFile(path, "there were too many files to list them all")
        )

    async def raw(self, path: str) -> str | None:
        snapshot, entries = self.snapshot, await self._entries() or {}
        if path in snapshot.copies:
            copy = await event_loop.in_thread((self.keep / snapshot.copies[path]).read_bytes)
            return copy.decode("utf-8", "replace")
        if path in entries and self._git is not None and path not in {*self._deleted, *snapshot.links}:
            body = await self._git.object(entries[path].oid, READ_CAP)
            read = decode(body) if isinstance(body, bytes) else None
            return self.redact(read[0]) if read else None
        return None

    async def mode(self, path: str) -> str:
        if path in self.snapshot.links:
            return LINK
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
            return UnreadableFile(path, error.message)
        if body is None:
            return UnreadableFile(path, "its content can no longer be read from git")
        return _text(path, body if isinstance(body, bytes) else None, self.redact)


class LiveView(Workspace):
    """A working folder as it is at this moment."""

    def __init__(self, root: Path, redact: Redact, never: Sequence[str] = ()) -> None:
        self._top = root.resolve()
        self._files = WorkingTree(self._top, cap=READ_CAP)
        super().__init__(str(self._top), redact, never)

    @classmethod
    async def open(cls, folder: Path, redact: Redact, never: Sequence[str] = ()) -> LiveView:
        """The workspace that holds `folder`: its repository if there is one, else the folder itself."""
        return cls(await event_loop.in_thread(_top, folder), redact, never)

    async def _list(self) -> Iterable[str]:
        git = await self._repository()
        tracked: Sequence[str] | None = None
        if git is not None:
            with suppress(GitFailed):  # a broken index: the folder itself can still be listed
                tracked = await git.names("--cached", "--others", "--exclude-standard")
        return await event_loop.in_thread(self._present, git.top if git else self._top, tracked)

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
        return await event_loop.in_thread(self._open, path)

    def _open(self, path: str) -> Read:
        try:
            place = (self._top / path).resolve()
            if not place.is_relative_to(self._top):
                return Missing(path, "a link that leads out of the workspace, not followed")
            name = str(place.relative_to(self._top))
            if is_never_sent(clean_name(name), self.never):
                return UnreadableFile(path, why_never(clean_name(name)))
            if place.is_dir():
                return IsFolder(path)
        except RuntimeError:  # how Python up to 3.12 reports links that lead in a circle
            return Missing(path, "a link that leads to itself")
        except OSError as error:
            return UnreadableFile(path, f"cannot be read ({error.strerror or error})")
        found = self._files.read(name)
        if isinstance(found, FileBytes) and not found.is_link:
            return _text(path, found.data, self.redact)
        return UnreadableFile(path, found.why) if isinstance(found, Unread) else Missing(path)


def _top(folder: Path) -> Path:
    return repository(folder.resolve())


def _text(path: str, body: bytes | None, redact: Redact) -> Read:
    if body is None:
        return UnreadableFile(path, too_large(READ_CAP))
    read = decode(body)
    return UnreadableFile(path, "binary") if read is None else Text.of(path, redact(read[0]), read[1])


# A workspace with some files replaced: the two sides of a change, and each later version of it.


class Overlay(Workspace):
    """The given files, and all others from the workspace `under`."""

    def __init__(
        self,
        under: Workspace | None,
        files: Mapping[str, str | None],
        redact: Redact,
        *,
        root: str = "",
        never: Sequence[str] = (),
        modes: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(under.root if under else root, redact, under.never if under else never)
        self.under, self.files, self.modes = under, dict(files), dict(modes or {})

    async def _look(self, path: str) -> Read:
        if path in self.files:
            text = self.files[path]
            return Missing(path, "not there in this version") if text is None else Text.of(path, text)
        if self.under is not None:
            read = await self.under.read(path)
            if not isinstance(read, Missing):
                return read
        if any(name.startswith(f"{path}/") for name, text in self.files.items() if text is not None):
            return IsFolder(path)
        return Missing(path) if self.under is not None else UnreadableFile(path, "only what is debated was kept")

    async def raw(self, path: str) -> str | None:
        if path in self.files:
            return self.files[path]
        return await self.under.raw(path) if self.under else None

    async def mode(self, path: str) -> str:
        return self.modes.get(path) or (await self.under.mode(path) if self.under else "")

    async def stored(self, path: str) -> bytes | None:
        return await self.under.stored(path) if self.under else None

    async def _list(self) -> Iterable[str]:
        below = set(await self.under.names()) if self.under else set[str]()
        return (below - self.files.keys()) | {name for name, text in self.files.items() if text is not None}

    async def _candidates(self, pattern: str) -> Sequence[str]:
        below = set(await self.under._candidates(pattern)) if self.under else set[str]()
        mine = {name for name, text in self.files.items() if text is not None and pattern in text}
        return sorted((below - self.files.keys()) | mine)

    async def _repository(self) -> Git | None:
        return await self.under._repository() if self.under else None

    def _pinned(self, ref: str) -> str:
        return self.under._pinned(ref) if self.under else ref

    async def close(self) -> None:
        if self.under is not None:
            await self.under.close()


# The two sides of what is debated, as evidence reads them: how it is now, and how it was before.


@dataclass
class DebatedVersions:
    """The versions in which citations are looked up; a debate may continue with a later version of its artifact."""

    new: Workspace | None = None
    old: Workspace | None = None
    artifact: str | None = None
    """The text under discussion, whose sections can be cited."""
    version: str = ""
    """A fingerprint of the version that is discussed; empty for the one that the debate opened with."""
    files_version: str = ""
    """A fingerprint of the files of that version alone."""
    opened: Workspace | None = field(default=None, repr=False)
    """The new side as it was at first: later versions are overlays on it."""
    changed: tuple[str, ...] = ()
    """The files of the change under discussion."""

    @classmethod
    def of(
        cls, view: View | None, target: Target | None, redact: Redact, root: str, never: Sequence[str]
    ) -> DebatedVersions:
        if target is None:
            return cls(view, opened=view)
        after = {c.path: c.after for c in target.changes}
        after |= {c.old_path: None for c in target.changes if c.old_path and c.old_path not in after}
        before = {c.old_path or c.path: c.before for c in target.changes}
        new = Overlay(_at(view, target.new), after, redact, root=root, never=never)
        old = Overlay(_at(view, target.base) if target.base else None, before, redact, root=root, never=never)
        changed = tuple(c.path for c in target.changes if c.after is not None)
        return cls(new, old if target.changes else None, target.text or None, opened=new, changed=changed)

    def take_up(self, files: dict[str, str | None], text: str, modes: Mapping[str, str] | None = None) -> None:
        """Continue with a later version: the files that it changes, and its text."""
        self.version = fingerprint([dict(files), text])
        self.files_version = fingerprint([dict(files), dict(modes or {})]) if files or modes else ""
        self.artifact = text or None
        if self.opened is not None:
            self.new = Overlay(self.opened, files, self.opened.redact, modes=modes)

    def of_version(self, value: Json) -> Json:
        """The value with the version that it depends on: a mark made on one version is not valid for another."""
        return [value, self.version] if self.version else value

    async def close(self) -> None:
        for side in (self.opened, self.old):
            if side is not None:
                await side.close()


def _at(view: View | None, commit: str) -> View | None:
    """The snapshot as it was taken, or, with `commit`, the same repository at that commit."""
    return View(view.snapshot.at(commit), view.keep, view.redact) if view and commit else view
