"""Context: the files that rebut gives to debaters, who have no tools of their own, always from a snapshot."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rebut.core.citation_syntax import understand
from rebut.core.frozen import frozen
from rebut.core.json_value import Json, as_row, remade
from rebut.workspace.file_reader import is_never_sent, why_never
from rebut.workspace.tree import IsFolder, Missing, Read, Text, Workspace

BUDGET = 200_000
CAP = 40_000
MOST_ITEMS = 8
MOST_LISTED = 400
MOST_HITS = 60
LONGEST_LINE = 2_000
FORMS = "Ask for path:10-40, path, grep:PATTERN or tree:DIR."


@frozen
class Piece:
    """One file as it goes into a prompt, each line with its number."""

    path: str
    bytes: int
    text: str


@frozen
class Gathered:
    """The files that the user gave as context, and those that did not fit or cannot be read."""

    files: tuple[Piece, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()

    @property
    def total(self) -> int:
        return sum(piece.bytes for piece in self.files)

    @property
    def text(self) -> str:
        """All files as text for a prompt. Files left out are named, so that a debater can ask for them."""
        parts = [f"{printable_name(piece.path)}\n{piece.text}" for piece in self.files]
        if self.left_out:
            parts.append("Left out:\n" + "\n".join(f"  {printable_name(path)} ({why})" for path, why in self.left_out))
        return "\n\n".join(parts)

    def to_json(self) -> dict[str, Json]:
        return {**as_row(self), "total": self.total}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Gathered:
        return cls(
            tuple(remade(Piece, row) for row in data.get("files", ())),
            tuple((path, why) for path, why in data.get("left_out", ())),
        )


class FittingFiles:
    """Files that are taken in whole, each line with its number, as long as they fit a budget."""

    def __init__(self, budget_bytes: int) -> None:
        self.files: list[Piece] = []
        self._budget = self._left = budget_bytes

    def add(self, file: Text) -> str:
        """Add a file, and return ""; if it does not fit, return why."""
        text = "\n".join(numbered(file, 1, len(file.lines)))
        size = len(text.encode("utf-8", "replace"))
        if size > self._left:
            return f"{size:,} bytes, more than the {self._left:,} left of {self._budget:,}"
        self.files.append(Piece(file.path, size, text))
        self._left -= size
        return ""


async def gather(
    view: Workspace, paths: Sequence[str], *, budget_bytes: int = BUDGET, never: Sequence[str] = ()
) -> Gathered:
    """Whole files, and all files of folders, with numbered lines, as many as fit; the others with the reason."""
    fitting = FittingFiles(budget_bytes)
    left_out: dict[str, str] = {}
    seen: set[str] = set()
    async for path, read in _files(view, paths):
        if path in seen:
            continue
        seen.add(path)
        if is_never_sent(path, never):
            left_out[path] = why_never(path)
        elif isinstance(read, Text):
            if why := fitting.add(read):
                left_out[path] = why
        elif not isinstance(read, IsFolder):
            left_out[path] = read.why
    # A name, too, may contain a secret.
    named = tuple(replace(piece, path=view.redact(piece.path)) for piece in fitting.files)
    return Gathered(named, tuple((view.redact(path), why) for path, why in left_out.items()))


async def _files(view: Workspace, paths: Sequence[str]) -> AsyncIterator[tuple[str, Read]]:
    for path in paths:
        read = await view.read(path)
        if not isinstance(read, IsFolder):
            yield read.path, read
            continue
        prefix = "" if read.path == "." else f"{read.path}/"
        for name in await view.names():
            if name.startswith(prefix):
                yield name, await view.read(name)


async def serve(
    view: Workspace,
    needs: Sequence[str],
    *,
    cap_bytes: int = CAP,
    max_items: int = MOST_ITEMS,
    never: Sequence[str] = (),
) -> str:
    """Answer what a reply asked for: `path:10-40`, `path`, `grep:PATTERN` (plain text, case matters) and `tree:DIR`.

    The space left is divided evenly among the remaining items, so that one large file cannot crowd out the rest.
    """
    asked = list(dict.fromkeys(need.strip() for need in needs if need.strip()))
    answers: list[str] = []
    left = cap_bytes
    for index, need in enumerate(asked[:max_items]):
        share = left // (min(len(asked), max_items) - index)
        answer = f"{printable_name(view.redact(need))[:200]}\n" + await _answer(view, need, share, never)
        left -= len(answer.encode("utf-8", "replace"))
        answers.append(answer)
    if len(asked) > max_items:
        answers.append(f"Only the first {max_items} of {len(asked)} requests were answered.")
    return "\n\n".join(answers)


async def _answer(view: Workspace, need: str, space: int, never: Sequence[str]) -> str:
    space = max(0, space - 320)  # the request itself and the line that says where an answer was cut
    if need.startswith("grep:"):
        pattern = need[5:].strip()
        hits = [hit for hit in await view.grep(pattern, MOST_HITS + 1) if not is_never_sent(hit.path, never)]
        lines = [
            f"  {printable_name(view.redact(hit.path))}:{hit.line}: {_cut(hit.text.strip())}"
            for hit in hits[:MOST_HITS]
        ]
        more = "More lines hold it; search for something longer." if len(hits) > MOST_HITS else ""
        return _fit(lines, space, more) if lines else "  Nothing in the workspace holds this text, as it is written."
    if need.startswith("tree:"):
        listed = await view.tree(need[5:].strip().strip("/"), MOST_LISTED)
        if isinstance(listed, Missing):
            return f"  There is {listed.why} in the workspace."
        names = [name for name in listed if not is_never_sent(name.partition(" (")[0], never)]
        return _fit([f"  {printable_name(view.redact(name))}" for name in names], space)
    return await _file(view, need.removeprefix("path:"), space, never)


async def _file(view: Workspace, need: str, space: int, never: Sequence[str]) -> str:
    place = understand(need)
    if place.kind not in ("file", "other") or not place.path:
        return f"  This cannot be looked up. {FORMS}"
    read: Read = await view.read(place.path)
    if isinstance(read, IsFolder):
        return f"  This is a folder. Ask for tree:{printable_name(view.redact(read.path))}."
    if is_never_sent(read.path, never):
        return f"  Not served: {why_never(read.path)}."
    if not isinstance(read, Text):
        return f"  Not served: {read.why}."
    count = len(read.lines)
    if not count:
        return "  The file is empty."
    start, end = place.start or 1, min(place.end or count, count)
    if start > count:
        return f"  The file ends at line {count}."
    return _fit(list(numbered(read, start, end)), space, count=True, start=start)


def numbered(text: Text, start: int, end: int) -> Iterator[str]:
    """Lines of a text, each with its number before it."""
    width = max(4, len(str(end)))
    for number in range(max(1, start), end + 1):
        yield f"{number:>{width}}| {_cut(text.lines[number - 1])}"


def without_numbers(context: str, path: str) -> str | None:
    """The text of one of the files in `Gathered.text`, without the numbers of its lines; None if it is not there."""
    found = re.search(rf"(?:^|\n\n){re.escape(printable_name(path))}\n((?: *\d+\| [^\n]*(?:\n|$))+)", context)
    return "".join(f"{line.partition('| ')[2]}\n" for line in found[1].splitlines()) if found else None


def _fit(lines: Sequence[str], space: int, more: str = "", *, count: bool = False, start: int = 1) -> str:
    """As many lines as fit, and how many are missing."""
    kept: list[str] = []
    for line in lines:
        size = len(line.encode("utf-8", "replace")) + 1
        if size > space:
            where = f"; ask again from line {start + len(kept)}" if count else ""
            more = f"Cut here, {len(lines) - len(kept)} more lines{where}."
            break
        space -= size
        kept.append(line)
    return "\n".join([*kept, f"  {more}"] if more else kept)


def _cut(line: str) -> str:
    """A line, cut if it is very long: one line of minified code could use up the whole budget."""
    more = len(line) - LONGEST_LINE
    return line if more <= 0 else f"{line[:LONGEST_LINE]}… ({more:,} more characters)"


def printable_name(path: str) -> str:
    """A name on one line, with control characters escaped."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", lambda m: m[0].encode("unicode_escape").decode(), path)
