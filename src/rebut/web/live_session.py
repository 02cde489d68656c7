"""A session that is followed while it runs: the frames of what its journal has, and of each line that is added."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path

from rebut.core.json_value import Json
from rebut.record import sessions
from rebut.record.events import Line
from rebut.record.journal import Tail
from rebut.record.record import Record
from rebut.web.cited_lines import CitedLines
from rebut.web.frames import Frames, PageCitation, Row
from rebut.workspace.tree import DebatedVersions

Versions = Callable[[Record, Path], DebatedVersions | None]
"""Opens what the citations of a debate were looked up in."""


class LiveSession:
    """One session. `update` reads the lines that its journal has gained since the last call."""

    def __init__(self, folder: Path, versions: Versions) -> None:
        self.folder = folder
        self.frames: list[Row] = []
        self._made = Frames()
        self._tail = Tail(folder)
        self._read: deque[Line] = deque()
        """Lines of the journal that have no frame yet."""
        self._versions = versions
        self._lines: CitedLines | None = None

    @property
    def record(self) -> Record:
        return self._made.record

    @property
    def citations(self) -> Mapping[str, PageCitation]:
        """Every citation that a frame has, by its id."""
        return self._made.cited

    def update(self, most: int | None = None) -> None:
        """Make frames of the journal's new lines, at most `most` of them; `behind` says whether more are left."""
        lines = self._tail.take()
        # The journal was cut and then continued: the frames made so far are no longer in it.
        if lines and lines[0].seq <= len(self.frames) + len(self._read):
            self.frames, self._made, self._lines = [], Frames(), None
            self._read.clear()
        self._read.extend(lines)
        for _ in range(len(self._read) if most is None else min(most, len(self._read))):
            with sessions.understood(self.folder.name):
                self.frames.append(self._made.take(self._read.popleft()))

    @property
    def behind(self) -> bool:
        return bool(self._read)

    def replaced(self, seq: int, at: str) -> bool:
        """Whether the frame `seq`, of the time `at`, is not in this journal: then the page's frames are out of date."""
        if seq > len(self.frames):
            return True
        return bool(seq and at and self.frames[seq - 1]["at"] != at)

    @property
    def running(self) -> bool:
        return bool(sessions.running(self.folder))

    async def lines(self, id: str) -> dict[str, Json]:
        """The lines of a citation."""
        if self._lines is None:
            self._lines = CitedLines(self._made, self._versions(self.record, self.folder))
        return await self._lines.of(id)

    async def cited(self) -> dict[str, Json]:
        """The lines of every citation, by its id."""
        return {id: await self.lines(id) for id in self.citations}

    def raw(self, key: str, *, prompts: bool = True) -> list[Json]:
        """What was asked under a key and what came back, attempt by attempt, word for word."""
        call = self.record.calls.get(key)
        if call is None:
            return []
        out: list[Json] = []
        for n in sorted({*call.asked, *call.attempts}):
            asked, attempt = call.asked.get(n), call.attempts.get(n)
            row: Row = {"attempt": n, "why": asked.why if asked else "", "reply": attempt.text if attempt else ""}
            if prompts and asked:
                row["prompt"] = asked.prompt or asked.followup
            out.append(row)
        return out

    async def close(self) -> None:
        if self._lines is not None:
            await self._lines.close()
