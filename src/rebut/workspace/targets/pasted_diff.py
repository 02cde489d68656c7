"""A diff that was given as text: both sides of its files, rebuilt where it applies here or is already applied."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from rebut.core.files import repository
from rebut.core.frozen import frozen
from rebut.core.scratch import temporary_folder
from rebut.core.types import Changed
from rebut.workspace.context import printable_name
from rebut.workspace.diff import (
    BothTexts,
    FileSection,
    added,
    changes_link,
    find_sections,
    is_binary,
    section,
    without_prefix,
)
from rebut.workspace.file_reader import FileBytes, WorkingTree, clean_name, confine, decode, is_never_sent, why_never
from rebut.workspace.git import Git, GitFailed, installed
from rebut.workspace.patch import scratch, write_files
from rebut.workspace.snapshot import Redact
from rebut.workspace.targets.git_change import CHANGE_CAP, redact_all

MOST_TRIES = 200
"""Enough to find a few files that do not fit among hundreds. If nothing in a diff fits, not every file is tried."""


@dataclass(slots=True)
class Rebuilt:
    """A diff sorted into files that could be rebuilt, sections that fit no file, and files that are not read."""

    diff: str = ""
    changes: tuple[Changed, ...] = ()
    loose: str = ""
    """The sections that fit no file here, as they were written, redacted."""
    strays: tuple[str, ...] = ()
    """The files that `loose` changes."""
    left_out: list[str] = field(default_factory=list)


@frozen
class _Way:
    """How to read the names of a diff: how many leading folders to drop, and which folder they are relative to."""

    strip: int
    below: str

    def path(self, name: str) -> str:
        """The path below the top of the workspace; empty if it leads elsewhere."""
        parts = PurePosixPath(name).parts[self.strip :]
        inside = str(PurePosixPath(self.below, *parts)) if parts else ""
        return inside if inside and confine(inside, "/") not in (None, ".") else ""


async def rebuild(root: Path, text: str, redact: Redact, never: Sequence[str]) -> Rebuilt:
    """Find the diffs in a text, and rebuild the files that they change. A section that fits no file here stays text."""
    done = Rebuilt()
    top, ways = await asyncio.to_thread(_ways, root)
    wanted = list(_readable(text, ways, never, done))
    fitted = await _fitted(wanted, top, ways)
    folder = WorkingTree(top, total=CHANGE_CAP)
    pairs = dict[str, tuple[str, str | None, str | None]]()
    for n, (way, other, is_in) in sorted(fitted.items()):
        old, new = way.path(wanted[n].old), way.path(wanted[n].new)
        on_disk, made = _read(folder, new if is_in else old), other.get(old if is_in else new)
        # A log of several commits may contain a file more than once.
        pairs.setdefault(new or old, (old, *((made, on_disk) if is_in else (on_disk, made))))
    texts = [text for _, *both in pairs.values() for text in both if text is not None]
    clean = await asyncio.to_thread(redact_all, texts, redact)
    sections, changes = list[str](), list[Changed]()
    for new, (old, was, now) in pairs.items():
        before, after = (None if text is None else clean[text] for text in (was, now))
        path, moved = redact(clean_name(new)), redact(clean_name(old)) if old and old != new else ""
        sides = BothTexts(before, after)
        spans = sides.differences()
        sections.append(section(path, before, after, spans, old_path=moved, sides=sides))
        changes.append(Changed(path, before, after, added(spans), moved))
    strays = [one for n, one in enumerate(wanted) if n not in fitted]
    done.diff, done.changes = "".join(sections), tuple(changes)
    done.loose = redact("".join(one.text for one in strays))
    done.strays = tuple(dict.fromkeys(map(_shown, strays)))
    return done


def _readable(text: str, ways: Sequence[_Way], never: Sequence[str], done: Rebuilt) -> Iterator[FileSection]:
    for one in find_sections(text):
        # A glob with a folder in it is matched against the path below the top, so both forms of a name are tried.
        named = {
            meant for n in (one.old, one.new) if n for meant in (without_prefix(n), *(way.path(n) for way in ways))
        }
        if any(is_never_sent(name, never) for name in named):
            done.left_out.append(f"{_shown(one)}: {why_never(*named)}")
        elif is_binary(one.text):
            done.left_out.append(f"{_shown(one)}: binary")
        elif changes_link(one.text):
            done.left_out.append(f"{_shown(one)}: a link or a submodule")
        elif one.changes_text:
            yield one


def _ways(root: Path) -> tuple[Path, list[_Way]]:
    """The top of the workspace, and how names may be meant: relative to it, or to the current folder."""
    real = root.resolve()
    top = repository(real)
    here = real.relative_to(top).as_posix() if real.is_relative_to(top) else "."
    return top, [_Way(strip, below) for below in dict.fromkeys((".", here)) for strip in (1, 0)]


Fit = tuple[_Way, Mapping[str, str | None], bool]
"""How a section's names are read, the other side of its files by path, and whether it is already applied."""


async def _fitted(wanted: Sequence[FileSection], top: Path, ways: Sequence[_Way]) -> dict[int, Fit]:
    """The sections that fit the files here, with the first way to read their names by which they do."""
    exe, fitted = installed(), dict[int, Fit]()
    for way in ways if exe else ():
        assert exe is not None
        rest = {n: one for n, one in enumerate(wanted) if n not in fitted}
        fitted |= await _tried(rest, way, top, exe)
    return fitted


def _shown(one: FileSection) -> str:
    return printable_name(clean_name(one.name))


async def _tried(sections: Mapping[int, FileSection], way: _Way, top: Path, exe: str) -> dict[int, Fit]:
    """Undo or apply the sections on a copy of the files that they name; return those that fit."""
    named = {n: [way.path(name) for name in (one.old, one.new) if name] for n, one in sections.items()}
    able = {n: one for n, one in sections.items() if all(named[n])}
    paths = {path for n in able for path in named[n]}
    folder = WorkingTree(top, total=CHANGE_CAP)
    here = await asyncio.to_thread(lambda: {path: _bytes(folder, path) for path in sorted(paths)})
    # A file that is neither created nor deleted must exist here, under its old or its new name.
    able = {n: s for n, s in able.items() if not (s.old and s.new) or any(here[p] is not None for p in named[n])}
    if not able:
        return {}
    with temporary_folder() as made:
        tree, file = made / "tree", made / "patch"
        await asyncio.to_thread(write_files, tree, here)
        git = scratch(tree, exe)
        await git.run("init", "-q", "--template=", ".")
        groups, done = [list(able)], dict[int, bool]()
        for _ in range(MOST_TRIES):
            if not groups:
                break
            group = groups.pop()
            patch = "".join(able[n].text for n in group)
            await asyncio.to_thread(file.write_bytes, patch.encode("utf-8", "surrogateescape"))
            for reverse in (True, False):  # undoing is tried first: a diff of uncommitted changes is already applied
                if await _applied(git, file, way, reverse):
                    done |= dict.fromkeys(group, reverse)
                    break
            else:  # try each half, to find those that do not fit
                half = len(group) // 2
                groups += [group[half:], group[:half]] if half else []
        texts = {path: _text(tree / path) for n in done for path in named[n]}
    return {n: (way, texts, is_in) for n, is_in in done.items()}


async def _applied(git: Git, file: Path, way: _Way, reverse: bool) -> bool:
    flags = (f"-p{way.strip}", *(("-R",) if reverse else ()))
    flags += (f"--directory={way.below}",) if way.below != "." else ()
    try:
        await git.run("apply", *flags, str(file))  # all of it or nothing
    except GitFailed:
        return False
    return True


def _bytes(folder: WorkingTree, path: str) -> bytes | None:
    found = folder.read(path) if path else None
    # A link, a folder or an unreadable file counts as missing: the diff will then not fit.
    return found.data if isinstance(found, FileBytes) and not found.is_link else None


def _read(folder: WorkingTree, path: str) -> str | None:
    data = _bytes(folder, path)
    found = decode(data) if data is not None else None
    return found[0] if found else None


def _text(place: Path) -> str | None:
    if place.is_symlink() or not place.is_file():
        return None
    found = decode(place.read_bytes())
    return found[0] if found else None
