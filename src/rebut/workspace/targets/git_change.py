"""A change drawn up: from two states of a repository to texts without secrets, and a diff of exactly these texts."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rebut.core.types import Changed
from rebut.evidence.context import shown
from rebut.workspace.diff import Sides, Span, added, quoted, section
from rebut.workspace.git import Git
from rebut.workspace.snapshot import Redact, clean_name, is_never_sent
from rebut.workspace.targets.deltas import LINK, NONE, Delta, Lines, changed_lines, deltas
from rebut.workspace.targets.own import OUTPUT, Own, is_review
from rebut.workspace.targets.redacting import redact_all
from rebut.workspace.targets.sides import Folder, Got, Side, Unread, blobs, new_side, old_side
from rebut.workspace.tree import NEVER_READ

MOST_FILES = 5_000
POINTER = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\n(?:[a-z0-9.-]+ [^\n]{1,200}\n){2,20}\Z")
STANDS_FOR = "a Git LFS pointer; what it stands for is not read"


@dataclass(slots=True)
class Drawn:
    """A change as it may be shown."""

    diff: str = ""
    changes: tuple[Changed, ...] = ()
    left_out: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _File:
    """A changed file on its way to the text that is shown of it."""

    delta: Delta
    path: str
    old: Got = None
    new: Got = None
    lines: Lines | None = None


async def draw(git: Git, base: str, new: str, redact: Redact, never: Sequence[str]) -> Drawn:
    """What changed from the commit or tree `base` to `new`, "" being the working tree, untracked files included."""
    drawn = Drawn()
    untracked: tuple[str, ...] = ()
    if new:
        found = await deltas(git, base, new)
    else:
        found, untracked = await asyncio.gather(deltas(git, base, new), git.names("--others", "--exclude-standard"))
    counting = asyncio.ensure_future(changed_lines(git, base, new, found)) if found else None
    try:
        every = [*found, *(Delta((NONE, ""), "", "", name) for name in untracked)]
        files = await asyncio.to_thread(_chosen, git.top.resolve(), every, never, drawn)
        await _read(git, files, bool(new))
        texts = [side.text for file in files for side in (file.old, file.new) if isinstance(side, Side)]
        clean = await asyncio.to_thread(redact_all, texts, redact)
        if counting is not None:
            counted = dict(zip((id(delta) for delta in found), await counting, strict=True))
            for file in files:
                file.lines = counted.get(id(file.delta))
    finally:
        if counting is not None and not counting.done():
            counting.cancel()
    await _count_again(git, base, new, files)
    marked = not new and any(b"<<<<<<< " in file.new.data for file in files if isinstance(file.new, Side))
    conflicts = {clean_name(name.partition("\t")[2]) for name in (await git.names("-u") if marked else ())}
    await asyncio.to_thread(_write, files, clean, redact, conflicts, drawn)
    return drawn


def _chosen(top: Path, every: Sequence[Delta], never: Sequence[str], drawn: Drawn) -> list[_File]:
    own = Own(top)
    mine: list[str] = []
    files: list[_File] = []
    for delta in sorted(every, key=lambda delta: delta.path):
        path = clean_name(delta.path)
        names = (path, clean_name(delta.old_path)) if delta.old_path else (path,)
        if path in own:
            mine.append(path)
        elif any(is_never_sent(name, never) for name in names):
            drawn.left_out.append(f"{shown(path)}: {NEVER_READ}")
        elif delta.is_submodule:
            drawn.left_out.append(f"{shown(path)}: {_moved(delta)}")
        elif len(files) >= MOST_FILES:
            drawn.left_out.append(f"{shown(path)}: beyond the {MOST_FILES:,} files that are read")
        else:
            files.append(_File(delta, path))
    if mine:
        count = "one file" if len(mine) == 1 else f"{len(mine)} files"
        drawn.left_out.append(f"{shown(mine[0])}: {OUTPUT} ({count})")
    return files


def _moved(delta: Delta) -> str:
    old, new = delta.modes
    if old == NONE:
        return "a submodule, added; what is inside it is not read"
    if new == NONE:
        return "a submodule, removed"
    to = "" if set(delta.new_oid) == {"0"} else f" to {delta.new_oid[:12]}"
    return f"a submodule, moved from commit {delta.old_oid[:12]}{to}; what is inside it is not read"


async def _read(git: Git, files: Sequence[_File], both: bool) -> None:
    found = await blobs(git, [file.delta for file in files], both=both)

    def read() -> None:
        folder = Folder(git.top)
        for file in files:
            file.old = old_side(file.delta, found)
            if both:
                file.new = new_side(file.delta, found)
            elif file.delta.modes[1] != NONE:
                file.new = folder.read(file.delta.path)

    await asyncio.to_thread(read)


async def _count_again(git: Git, base: str, new: str, files: Sequence[_File]) -> None:
    """Ask once more about files that attributes call binary and that are text: a change must not hide like that."""
    hidden = [
        file
        for file in files
        if file.lines is not None
        and file.lines.binary
        and not isinstance(file.old, Unread)
        and not isinstance(file.new, Unread)
    ]
    if 0 < len(hidden) <= 500:
        answers = await changed_lines(git, base, new, [file.delta for file in hidden], only=True)
        for file, lines in zip(hidden, answers, strict=True):
            file.lines = lines


def _write(files: Sequence[_File], clean: dict[str, str], redact: Redact, conflicts: set[str], drawn: Drawn) -> None:
    sections: list[str] = []
    changes: list[Changed] = []
    names = _renamed(files, redact, drawn)
    for file in files:
        path, old_path = (names.get(name, name) for name in (file.path, clean_name(file.delta.old_path)))
        unread = next((side for side in (file.new, file.old) if isinstance(side, Unread)), None)
        if unread is not None:
            drawn.left_out.append(f"{shown(path)}: {unread.why}")
            if unread.why == "binary":
                sections.append(_binary(path, old_path, file))
            continue
        old, new = (side if isinstance(side, Side) else None for side in (file.old, file.new))
        side = new or old
        if side is None:
            continue  # it went away while we looked
        if new is not None and not file.delta.modes[1] and is_review(path, new.text):  # untracked
            drawn.left_out.append(f"{shown(path)}: {OUTPUT} (one file)")
            continue
        before, after = (None if side is None else clean[side.text] for side in (old, new))
        modes = _modes(file, new)
        sides = Sides(before, after)
        spans = _spans(file, old, new, sides)
        if not spans and modes[0] == modes[1] and not old_path and None not in (before, after):
            continue  # only its times changed
        if old is not None and new is not None and old.is_link != new.is_link:
            spans = (Span(0, len(sides.old), 0, len(sides.new)),)
            sections.append(section(path, before, None, Sides(before, None).differences(), modes=modes))
            sections.append(section(path, None, after, Sides(None, after).differences(), modes=modes))
        else:
            sections.append(section(path, before, after, spans, old_path=old_path, modes=modes, sides=sides))
        changes.append(Changed(path, before, after, added(spans), old_path))
        if POINTER.match(side.data):
            drawn.left_out.append(f"{shown(path)}: {STANDS_FOR}")
        if side.note:
            drawn.notes.append(f"{shown(path)}: {side.note}")
        if file.path in conflicts:
            drawn.notes.append(f"{shown(path)}: has unresolved conflicts")
    drawn.diff, drawn.changes = "".join(sections), tuple(changes)


def _renamed(files: Sequence[_File], redact: Redact, drawn: Drawn) -> dict[str, str]:
    """Paths that hold a secret → what is shown instead. Control characters alone are no reason to change a name."""
    plain = {name: shown(name) for file in files for name in (file.path, clean_name(file.delta.old_path)) if name}
    clean = redact_all(plain.values(), redact)
    held = {name: redact(name) for name, told in plain.items() if clean[told] != told}
    drawn.notes += [f"{clean[plain[name]]}: this name is not shown as it is" for name in held]
    return held


def _modes(file: _File, new: Side | None) -> tuple[str, str]:
    old_mode, new_mode = file.delta.modes
    if not new_mode and new is not None:  # untracked
        new_mode = LINK if new.is_link else "100644"
    return old_mode.replace(NONE, ""), new_mode.replace(NONE, "")


def _spans(file: _File, old: Side | None, new: Side | None, sides: Sides) -> tuple[Span, ...]:
    """Git's spans if they are about what was read here and still fit it without the secrets; else our own."""
    lines = file.lines
    if old is None or new is None or lines is None or lines.binary:
        return sides.differences()
    if not lines.spans:
        # Git sees no difference though the bytes may have one: it converts line ends, for instance.
        return () if not lines.new_oid or old.data == new.data else sides.differences()
    # The old side was read by its id. The new one may be a file of the working tree, written to in the meantime.
    same = lines.old_oid in (file.delta.old_oid, "") and (not lines.new_oid or new.has_id(lines.new_oid))
    # Git counts newline bytes. Another encoding, or a redaction that mends line ends, may make more lines of them.
    if same and (old.newlines, new.newlines) == sides.newlines and sides.fits(lines.spans):
        return lines.spans
    return sides.differences()


def _binary(path: str, old_path: str, file: _File) -> str:
    modes = _modes(file, None)
    old, new = quoted(f"a/{old_path or path}"), quoted(f"b/{path}")
    head = section(
        path, None if not modes[0] else "", None if file.new is None else "", (), old_path=old_path, modes=modes
    )
    ends = (old if modes[0] else "/dev/null", new if file.new is not None else "/dev/null")
    return f"{head}Binary files {ends[0]} and {ends[1]} differ\n"
