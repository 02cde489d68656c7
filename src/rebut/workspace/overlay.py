"""A workspace with some of its files replaced: the sides of a change, and each later version of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rebut.workspace.git import Git
from rebut.workspace.snapshot import Redact
from rebut.workspace.tree import Folder, Missing, Read, Text, Unreadable, Workspace


class Overlay(Workspace):
    """Reads the given files as they are given, and everything else from the workspace under them."""

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
            return Folder(path)
        return Missing(path) if self.under is not None else Unreadable(path, "only what is debated was kept")

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
