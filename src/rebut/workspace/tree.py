"""What evidence and context read from: the files and commits of one workspace, confined, capped and redacted."""

from __future__ import annotations

import asyncio
import os
import posixpath
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rebut.workspace.git import Git, GitFailed
from rebut.workspace.snapshot import Redact, is_never_sent

READ_CAP = 8_000_000
DIFF_CAP = 2_000_000
MOST_SEARCHED = 5_000
NEVER_READ = "never read: files of this name may hold secrets"
REF = re.compile(r"[A-Za-z0-9][\w./~^-]{0,199}")


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Folder:
    """The path names a folder."""

    path: str


@dataclass(frozen=True, slots=True)
class Missing:
    """There is no such file in the workspace."""

    path: str
    why: str = "no such file"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """It may well be there, but it cannot or must not be read."""

    path: str
    why: str


Read = Text | Folder | Missing | Unreadable
History = Literal["whole", "shallow", "none"]


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that holds what was searched."""

    path: str
    line: int
    text: str


class Workspace(ABC):
    """What evidence and context read from."""

    def __init__(self, root: str, redact: Redact, never: Sequence[str] = ()) -> None:
        self.root, self.redact, self.never = root, redact, tuple(never)
        self.folder = ""
        """Where the reader stands, as a path from `root`."""
        self._cache: dict[str, Read] = {}
        self._git: Git | None = None
        self._opened = False
        self._opening = asyncio.Lock()
        self._names: tuple[str, ...] | None = None

    @abstractmethod
    async def _look(self, path: str) -> Read: ...

    @abstractmethod
    async def _list(self) -> Iterable[str]: ...

    async def _repository(self) -> Git | None:
        async with self._opening:  # the first of many readers opens it, the others wait
            if not self._opened:
                self._git, self._opened = await Git.open(Path(self.root)), True
        return self._git

    async def _candidates(self, pattern: str) -> Sequence[str]:
        return await self.names()

    async def read(self, path: str) -> Read:
        """One file by its path, relative to the root or absolute inside it. What leads out of the root is missing."""
        relative = confine(path, self.root)
        if relative is None:
            return Missing(path, "not a path inside the workspace")
        if is_never_sent(relative, self.never):
            return Unreadable(relative, NEVER_READ)
        if relative not in self._cache:
            found = await self._look(relative)
            if isinstance(found, Unreadable):
                return found  # not cached: git may have been slow just this once
            self._cache[relative] = found
        return self._cache[relative]

    async def raw(self, path: str) -> str | None:
        """A file's text with its own line ends, for those that write; None where only its lines are known."""
        return None

    async def mode(self, path: str) -> str:
        """A file's mode as git writes it; empty where it is not known."""
        return ""

    async def stored(self, path: str) -> bytes | None:
        """The bytes of a file that a commit holds; None where no commit is read."""
        return None

    async def names(self) -> tuple[str, ...]:
        """The path of every file that may be shown, sorted."""
        if self._names is None:
            self._names = tuple(sorted({n for n in await self._list() if not is_never_sent(n, self.never)}))
        return self._names

    async def tree(self, folder: str = "", limit: int = 200) -> tuple[str, ...] | Missing:
        """All files below a folder if at most `limit`, else what stands directly in it, folders with a count."""
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
        """Lines that hold `pattern` letter for letter. No regular expression: a model could write an endless one."""
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
        """Whether commits can be looked up: a shallow clone lacks old ones, so that a missing one says nothing."""
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
        git = await self._repository()
        if git is None or not REF.fullmatch(ref):
            return None
        try:
            body = await git.object(self._pinned(ref) + "^{commit}", READ_CAP)
        except GitFailed:
            return None
        return body.decode("utf-8", "replace") if isinstance(body, bytes) else None

    def _pinned(self, ref: str) -> str:
        return ref

    async def commit_texts(self, ref: str) -> tuple[str, ...] | None:
        """A commit's message and both sides of its change, redacted; None if that is too much to look into."""
        git, body = await self._repository(), await self._commit(ref)
        if git is None or body is None:
            return None
        flags = ("-p", "-m", "--root", "--no-commit-id", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames")
        try:
            diff = await git.run("diff-tree", *flags, "--ignore-submodules=all", self._pinned(ref), cap=DIFF_CAP)
        except GitFailed:
            return None
        lines = diff.decode("utf-8", "replace").split("\n")
        old = "\n".join(line[1:] for line in lines if line.startswith((" ", "-")))
        new = "\n".join(line[1:] for line in lines if line.startswith((" ", "+")))
        return self.redact(body.partition("\n\n")[2]), self.redact(old), self.redact(new)

    async def close(self) -> None:
        if self._git is not None:
            await self._git.close()


def confine(path: str, root: str) -> str | None:
    """A path as it stands below `root`; None if it leads out of it or is no path."""
    if not path.strip() or "\0" in path or path.startswith("~"):
        return None
    if path.startswith("/"):
        for top in (root, os.path.realpath(root)):
            if path == top or path.startswith(top.rstrip("/") + "/"):
                path = path[len(top.rstrip("/")) :].lstrip("/") or "."
                break
        else:
            return None
    plain = posixpath.normpath(path)
    return None if plain == ".." or plain.startswith("../") or plain.startswith("/") else plain


def above(path: str) -> list[str]:
    """The folders that a path stands in, outermost first."""
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]
