"""Exact patches: a patch of the texts that a debate reads, rewritten for the bytes of the real files.

A debate reads text: line ends, byte order marks and bytes that are not UTF-8 are normalised, and secrets are replaced
by placeholders. A patch of such texts does not fit the files. This module replaces its lines by those of the files.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path

from rebut.core.errors import RebutError
from rebut.core.frozen import frozen
from rebut.core.redaction import PLACEHOLDER
from rebut.core.text import clean
from rebut.workspace.diff import BothTexts, Span, parts, section, touched
from rebut.workspace.file_reader import LINK, Unread, WorkingTree, decode
from rebut.workspace.patch import exact
from rebut.workspace.snapshot import Redact
from rebut.workspace.tree import Text, Workspace

HELD_BACK = "contains placeholders of secrets, so that git cannot apply it; --apply puts the values back"
BOM = "\ufeff"
ENDS = re.compile("(\r\n|\n|\r)")


class NotExact(RebutError):
    """A patch cannot be rewritten for the real files; the message says why."""


@frozen
class FileOnDisk:
    """A file as it is, and as a debate sees it. In `real`, bytes that are not UTF-8 are lone surrogates."""

    real: str
    seen: str
    is_link: bool = False

    @property
    def plain(self) -> str:
        """What is real, with the line ends that the debate saw: some secrets are told by the end of their line."""
        return ENDS.sub("\n", self.real.removeprefix(BOM))


def file_of(data: bytes, redact: Redact, *, is_link: bool = False) -> FileOnDisk | None:
    """The file with these bytes; None if it is not text, or encoded in UTF-16."""
    read = decode(data)
    if read is None or data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return None
    return FileOnDisk(data.decode("utf-8", "surrogateescape"), redact(clean(read[0])), is_link)


def read_file(top: Path, name: str, redact: Redact) -> FileOnDisk | None:
    """A file of the working tree; None if there is none. A link is not followed."""
    tree = WorkingTree(top)
    if tree.is_behind_link(name):
        raise NotExact(f"a folder above {name} is a link")
    read = tree.read(name)
    if read is None:
        return None
    if isinstance(read, Unread):
        raise NotExact(f"{name}: {read.why}")
    found = file_of(read.data, redact, is_link=read.is_link)
    if found is None:
        raise NotExact(f"{name} cannot be read as text")
    return found


def rewritten(
    patch: str,
    files: Mapping[str, FileOnDisk | None],
    after: Mapping[str, str | None],
    known: Mapping[str, str] | None = None,
) -> bytes:
    """The patch, rewritten for the real files. `after`: the texts that it makes, as the debate sees them.

    With `known`, placeholders become the values that they replaced; without, lines with a secret keep the placeholder.
    """
    made = []
    for part in parts(patch):
        file, text = files.get(part.path), after.get(part.path)
        if file is not None and file.is_link and text is not None:
            raise NotExact(f"{part.path} is a link")
        if file is not None and known is None:
            file = _with_placeholders(file)
        real = None if file is None else file.real
        new = None if text is None else restored(file, text, part.spans, known)
        sides = BothTexts(real, new)
        # Where a lone carriage return ends a line, or a byte order mark moves to another line, git counts differently.
        plain = real is None or not (re.search("\r(?!\n)", real) or real.startswith(BOM))
        spans = part.spans if plain and sides.fits(part.spans) else sides.differences()
        modes = (LINK if file is not None and file.is_link else part.modes[0], part.modes[1])
        made.append(section(part.path, real, new, spans, modes=modes, sides=sides))
    return "".join(made).encode("utf-8", "surrogateescape")


def restored(file: FileOnDisk | None, text: str, spans: tuple[Span, ...], known: Mapping[str, str] | None) -> str:
    """The new text with real values and line ends: unchanged lines are copied from the real file."""
    mark = BOM if file and file.real.startswith(BOM) else ""
    split = ENDS.split(file.real.removeprefix(BOM)) if file else [""]
    lines, ends = split[::2], [*split[1::2], ""]
    if file and len(lines) != file.seen.count("\n") + 1:
        raise NotExact("a file has not as many lines as the debate saw")
    rows, out, done = text.split("\n"), list[str](), 0
    for span in spans:
        out += (line + end for line, end in zip(lines[done : span.old], ends[done : span.old], strict=True))
        for n in range(span.new, span.new_end):
            # A new line ends like the one that it replaces, or the one above it: a file may mix line ends.
            end = _end(ends, min(span.old + n - span.new, max(span.old_end - 1, span.old - 1)))
            out.append(_with_values(rows[n], known) + (end if n < len(rows) - 1 else ""))
        done = span.old_end
    out += (line + end for line, end in zip(lines[done:], ends[done:], strict=True))
    return mark + "".join(out)


def _end(ends: list[str], n: int) -> str:
    """How the nth line ends; for a last line without an end, how the line before it ends."""
    n = max(n, 0)
    return ends[n] or (ends[n - 1] if n else "") or "\n"


def _with_values(line: str, known: Mapping[str, str] | None) -> str:
    for mark in PLACEHOLDER.findall(line) if known is not None else ():
        assert known is not None
        if mark not in known or len(known[mark].splitlines()) > 1:
            raise NotExact(f"the value of {mark} is not known here")
        line = line.replace(mark, known[mark])
    return line


def _with_placeholders(file: FileOnDisk) -> FileOnDisk:
    """The file, with each line that contains a secret as the debate sees it."""
    split = ENDS.split(file.real.removeprefix(BOM))
    seen = file.seen.split("\n")
    if len(split[::2]) != len(seen):
        raise NotExact("a file has not as many lines as the debate saw")
    for n, line in enumerate(split[::2]):
        read = line.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        split[2 * n] = line if clean(read) == seen[n] else seen[n]
    return FileOnDisk(BOM * file.real.startswith(BOM) + "".join(split), file.seen, file.is_link)


async def as_it_stands(
    patch: str, after: Mapping[str, str | None], view: Workspace | None, top: Path, redact: Redact
) -> tuple[bytes, str]:
    """A debate's patch in the form that `git apply` needs, without secrets; and why git cannot apply it, or ""."""
    plain = patch.encode("utf-8", "replace")
    if view is None or not patch:
        return plain, ""
    try:
        files = {name: await _reviewed(view, top, name, redact) for name in touched(patch)}
        both = [(file.real, file.seen) for file in files.values() if file]
        if all(real == seen for real, seen in both):
            return plain, ""
        made = rewritten(patch, files, after)
    except NotExact as error:
        return plain, f"the patch fits the text that was read, not the files: {error.message}"
    marks = {mark for real, seen in both for mark in PLACEHOLDER.findall(seen) if mark not in real}
    if marks.intersection(PLACEHOLDER.findall(made.decode("utf-8", "replace"))):
        return made, f"the patch {HELD_BACK}"
    return made, ""


async def _reviewed(view: Workspace, top: Path, name: str, redact: Redact) -> FileOnDisk | None:
    """The file that was reviewed: the one in the working tree if it is unchanged, else the commit's.

    If both differ from the reviewed text, that text: a debate must end the same way if it is resumed after the working
    tree has changed.
    """
    read = await view.read(name)
    reviewed = await exact(view, name, read) if isinstance(read, Text) else None
    unread: NotExact | None = None
    try:
        found = await asyncio.to_thread(read_file, top, name, redact)
        if (found.seen if found else None) == reviewed:
            return found
    except NotExact as error:
        unread = error
    data = await view.stored(name)
    found = file_of(data, redact) if data is not None else None
    if found is not None and found.seen == reviewed:
        return found
    if unread is not None:
        raise unread
    return None if reviewed is None else FileOnDisk(reviewed, reviewed)
