"""The lines that a citation points at, as they stood when it was looked up, with the quoted words marked."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rebut.core.citation_syntax import Citation
from rebut.core.errors import RebutError
from rebut.core.json_value import Json
from rebut.evidence.lookup import part_of
from rebut.web.frames import Frames, PageCitation
from rebut.workspace.tree import DebatedVersions, Missing, Overlay, Text, UnreadableFile, Workspace

AROUND = 3
"""Lines before and after those that are cited."""
MOST = 40
LONGEST = 2_000
"""Characters of a line that are sent."""
OLD_SIDE = "on the old side"
"""How the note of a mark begins if only the old side of a change has the words."""


class CitedLines:
    """Finds the lines of every citation of one debate."""

    def __init__(self, frames: Frames, sides: DebatedVersions | None) -> None:
        self._frames, self._sides = frames, sides

    async def of(self, id: str) -> dict[str, Json]:
        """The lines of a citation; only a note if there are none."""
        cited = self._frames.cited.get(id)
        if cited is None:
            return {"note": "this citation is not on record"}
        try:
            return await self._found(cited)
        except (RebutError, OSError) as error:
            return {"note": f"the file cannot be read any more: {error}"}

    async def close(self) -> None:
        if self._sides is not None:
            await self._sides.close()

    async def _found(self, cited: PageCitation) -> dict[str, Json]:
        evidence = cited.evidence
        place = Citation(evidence.place, evidence.quote).parsed
        if place.kind in ("url", "commit"):
            return {"note": "a URL is not opened" if place.kind == "url" else "a commit has no lines"}
        if place.path and (view := self._view(cited)):
            read = await view.read(place.path.removeprefix("./"))
            if isinstance(read, Text):
                return _excerpt(read.path, read.lines, place.start, place.end, evidence.quote)
            if isinstance(read, Missing | UnreadableFile) and place.kind == "file":
                return {"note": f"{read.path}: {read.why}"}
        elif place.kind == "file":  # no other text has the lines of a file
            return {"note": evidence.note or "no copy of the file was kept"}
        for title, text in self._texts(cited):
            lines = Text.of(title, text).lines
            if place.start:
                return _excerpt(title, lines, place.start, place.end, evidence.quote)
            if part := part_of(place.name or evidence.place, lines):
                return _excerpt(title, lines, part[0], min(part[1], part[0] + 11), evidence.quote)
        return {"note": evidence.note or "there is no place to show"}

    def _view(self, cited: PageCitation) -> Workspace | None:
        """The version that the citation was looked up in."""
        sides = self._sides
        if sides is None:
            return None
        if cited.evidence.note.startswith(OLD_SIDE):
            return sides.old
        if not cited.version or sides.opened is None:
            return sides.new
        _, files = self._frames.versions[cited.version - 1]
        return Overlay(sides.opened, dict(files), sides.opened.redact)

    def _texts(self, cited: PageCitation) -> list[tuple[str, str]]:
        """The texts whose sections the citation may name: the text under debate, then documents.

        The latest of those that existed then comes first; later documents come last.
        """
        out = [("the text under debate", self._sides.artifact)] if self._sides and self._sides.artifact else []
        written, known = self._frames.documents, cited.documents
        for seat, text in (*reversed(written[:known]), *written[known:]):
            if not cited.about or cited.about == seat:
                out.append((f"the document of {seat}", text))
        return out


def _excerpt(path: str, lines: Sequence[str], start: int, end: int, quote: str) -> dict[str, Json]:
    """Some lines of a text with their numbers; `hits` are the quoted words: line, first column, last column."""
    hits = quoted_in(lines, quote)
    if not start:
        start = hits[0][0] if hits else 1
        end = hits[-1][0] if hits else min(len(lines), 12)
    first, last = max(1, start - AROUND), min(len(lines), max(end, start) + AROUND, start + MOST)
    note = f"the file has {len(lines)} lines" if start > len(lines) else ""
    if start > len(lines):
        first, last = max(1, len(lines) - AROUND), len(lines)
    shown: list[Json] = [line[:LONGEST] for line in lines[first - 1 : last]]
    inside: list[Json] = [[n, a, b] for n, a, b in hits if first <= n <= last]
    row: dict[str, Json] = {"path": path, "first": first, "lines": shown, "from": start, "to": max(start, end)}
    return row | {"hits": inside, "note": note}


def quoted_in(lines: Sequence[str], quote: str) -> list[tuple[int, int, int]]:
    """Where the quoted words are, apart from white space: for each line its number, the first column and the last.

    Searched as plain text: a pattern of many words takes minutes in a file that repeats them.
    """
    wanted = " ".join(quote.split())
    if not wanted or len(quote) >= LONGEST:
        return []
    squeezed = [" ".join(line.split()) for line in lines]
    filled = [number for number, line in enumerate(squeezed) if line]
    start = " ".join(squeezed[number] for number in filled).find(wanted)
    if start < 0:
        return []
    out, at, end = list[tuple[int, int, int]](), 0, start + len(wanted)
    for number in filled:
        length = len(squeezed[number])
        a, b = max(start - at, 0), min(end - at, length)
        if a < b:
            columns, line = _columns(lines[number]), lines[number]
            out.append(
                (number + 1, 0 if at > start else columns[a], len(line) if at + length < end else columns[b - 1] + 1)
            )
        at += length + 1
        if at > end:
            break
    return out


def _columns(line: str) -> list[int]:
    """For each character of the line without superfluous white space: its column in the line."""
    out = list[int]()
    for word in re.finditer(r"\S+", line):
        out += [*([word.start() - 1] if out else []), *range(word.start(), word.end())]
    return out
