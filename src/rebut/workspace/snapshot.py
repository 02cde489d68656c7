"""A snapshot of the workspace when a debate opens: taken once, redacted, described in plain JSON."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

from rebut.core import event_loop
from rebut.core.errors import RecordError, UsageError
from rebut.core.files import real
from rebut.core.frozen import frozen
from rebut.core.json_value import Json, as_row, remade
from rebut.workspace.file_reader import FileBytes, Unread, WorkingTree, clean_name, decode, is_never_sent, link_target
from rebut.workspace.git import Changes, Git

Redact = Callable[[str], str]
Kind = Literal["git", "files", "none"]
KINDS: tuple[Kind, ...] = get_args(Kind)

HIDDEN = "[secret:"
"""In a name, this begins a placeholder for a part that is a secret."""
TOTAL_CAP = 50_000_000
MOST_FILES = 5_000
BEYOND = f"beyond the {MOST_FILES:,} files that are kept"
MOST_NAMES = 2_000


@frozen
class Snapshot:
    """A workspace as it was when the debate opened. Paths are relative to `root`, with forward slashes."""

    kind: Kind
    root: str
    head: str = ""
    copies: Mapping[str, str] = field(default_factory=dict)
    """Path → name of its redacted copy in the keep folder."""
    deleted: tuple[str, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Path of a file or folder that existed but was not copied → why."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Symbolic link of the working tree → the path inside `root` that it leads to, "" if it leads out."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """Path → a note on how its copy was read."""
    never: tuple[str, ...] = ()
    included: tuple[str, ...] = ()
    """What the user named as context, relative to `root`."""
    complete: bool = True
    """False when there were more files than are listed: then a path that is not listed may exist."""
    folder: str = ""
    """Where the debate was started, relative to `root`: users name files from there."""
    modes: Mapping[str, str] = field(default_factory=dict)
    """Path of a changed or executable file of the working tree → its mode, as git writes it."""

    def to_json(self) -> dict[str, Json]:
        return cast(dict[str, Json], as_row(self))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Snapshot:
        """Read back what `to_json` gave."""
        if (kind := data.get("kind")) not in KINDS:
            hint = "Open it with the version of rebut that made it."
            raise RecordError(f"a snapshot of kind {kind!r} is on record", hint)
        return remade(cls, data)

    def redacted(self, redact: Redact) -> Snapshot:
        """The same snapshot with the names that debaters see: names, too, may contain secrets."""

        def shown(name: str) -> str:
            return hidden_name(name, redact)

        def keys(names: Mapping[str, str]) -> dict[str, str]:
            return {shown(name): value for name, value in names.items()}

        return replace(
            self,
            copies=keys(self.copies),
            deleted=tuple(map(shown, self.deleted)),
            skipped=keys(self.skipped),
            links={shown(link): shown(target) for link, target in self.links.items()},
            notes=keys(self.notes),
            included=tuple(map(shown, self.included)),
            folder=shown(self.folder),
            modes=keys(self.modes),
        )

    def has_hidden_names(self) -> bool:
        every = (*self.copies, *self.deleted, *self.skipped, *self.links, *self.modes, *self.included, self.folder)
        return any(HIDDEN in name for name in every)

    def at(self, commit: str) -> Snapshot:
        """The same repository at a commit, without the working tree: the old side of a diff."""
        return replace(
            self, head=commit, copies={}, deleted=(), skipped={}, links={}, notes={}, modes={}, complete=True
        )


async def take(
    root: Path, keep: Path, redact: Redact, *, include: Sequence[str] = (), never: Sequence[str] = ()
) -> Snapshot:
    """Take a snapshot of the workspace that contains `root`, with copies in the folder `keep`.

    `include` are files or folders in the workspace, relative to `root` or absolute.
    """
    git = await Git.open(root)
    top, named = await event_loop.in_thread(_inside, git.top if git else root, root, include)
    builder = _SnapshotBuilder(top, keep, redact, tuple(never), tuple(clean_name(name) for name in named))
    builder.folder = await event_loop.in_thread(_below, top, root)
    if git is None:
        await event_loop.in_thread(builder.folders, named)
        return await event_loop.in_thread(builder.snapshot, "files" if named else "none", "")
    changes = await git.changes()
    await event_loop.in_thread(builder.changes, changes, named)
    return await event_loop.in_thread(builder.snapshot, "git", changes.head)


def _inside(top: Path, root: Path, include: Sequence[str]) -> tuple[Path, list[str]]:
    """The real top of a workspace, and the included paths relative to it. Links are followed: the user named them."""
    top = top.resolve()
    return top, [_relative(top, root, path) for path in include]


def _below(top: Path, root: Path) -> str:
    place = root.resolve()
    return clean_name(str(place.relative_to(top))) if top in place.parents else ""


def _relative(top: Path, root: Path, path: str) -> str:
    place = real(root / path)
    if not place.exists():
        raise UsageError(f"there is no file or folder {path!r} to use as context", "Name one in the workspace.")
    if not place.is_relative_to(top):
        raise UsageError(
            f"{path!r} is outside the workspace {top}", "Only files inside it can be context; copy it there."
        )
    return str(place.relative_to(top))


class _SnapshotBuilder:
    """Takes a snapshot file by file, with caps on the number and the size of all copies."""

    def __init__(
        self, top: Path, keep: Path, redact: Redact, never: tuple[str, ...], included: tuple[str, ...]
    ) -> None:
        self.top, self.keep, self.redact, self.never = top, keep.resolve(), redact, never
        self.tree = WorkingTree(top)
        self.copies: dict[str, str] = {}
        self.deleted: list[str] = []
        self.skipped: dict[str, str] = {}
        self.links: dict[str, str] = {}
        self.notes: dict[str, str] = {}
        self.modes: dict[str, str] = {}
        self.included = included
        self.complete = True
        self.folder = ""
        self.total = 0

    def snapshot(self, kind: Kind, head: str) -> Snapshot:
        deleted = tuple(sorted(self.deleted))
        more = (self.skipped, self.links, self.notes, self.never, self.included, self.complete, self.folder)
        taken = Snapshot(kind, str(self.top), head, self.copies, deleted, *more, modes=self.modes)
        names = "\n".join((*self.copies, *deleted, *self.skipped, *self.links, *self.included, self.folder))
        # All names are redacted in one call first: hardly any workspace has a name with a secret in it.
        return taken.redacted(self.redact) if self.redact(names).count(HIDDEN) > names.count(HIDDEN) else taken

    def changes(self, changes: Changes, named: Sequence[str]) -> None:
        ignored = {name.rstrip("/") for name in changes.ignored}
        for name in sorted(ignored):
            self.skip(name, "ignored by git")
        for name, oid in sorted(changes.changed.items()):
            self.add(name, oid)
        for name in sorted(changes.untracked):
            if len(self.copies) >= MOST_FILES:  # a hundred thousand more are neither read nor listed
                self.skip(name, BEYOND)
                if not self.complete:
                    break
            else:
                self.add(name)
        for path in named:
            folders = {path, *map(str, Path(path).parents)}
            if folders & ignored:
                for name in self.walk(path):
                    self.skipped.pop(clean_name(name), None)
                    self.add(name)

    def folders(self, named: Sequence[str]) -> None:
        """Without git: copy the files that were named, and list the names of the others."""
        for path in named:
            for name in self.walk(path):
                self.add(name)
        if not named:
            return
        for count, name in enumerate(self.walk(".")):
            if count >= MOST_NAMES:
                self.complete = False
                break
            path = clean_name(name)
            if path not in self.copies and path not in self.links:
                self.skip(path, "not among the files that were kept")

    def walk(self, path: str) -> Iterator[str]:
        """The files below a folder, or the file itself, in a fixed order; links are listed, not followed."""
        place = self.top / path
        if not place.is_dir() or place.is_symlink():
            yield path
            return
        for folder, inner, files in os.walk(place):
            links = {name for name in inner if Path(folder, name).is_symlink()}
            inner[:] = sorted({*inner} - links - {".git"})
            for name in sorted({*files} | links):
                yield str(Path(folder, name).relative_to(self.top))

    def skip(self, path: str, why: str) -> None:
        if len(self.skipped) < MOST_FILES:
            self.skipped.setdefault(clean_name(path), why)
        else:
            self.complete = False

    def add(self, name: str, oid: str = "") -> None:
        """Keep one file of the working tree, unless it is the same as HEAD's blob `oid`."""
        key = clean_name(name)
        if is_never_sent(key, self.never) or (self.top / name).is_relative_to(self.keep) or key in self.copies:
            return
        found = self.tree.read(name)
        if found is None:
            self.deleted.append(key)
            return
        if isinstance(found, FileBytes) and found.is_link:
            self.links[key] = link_target(key, os.fsdecode(found.data), self.top)
            return
        if found.mode and (oid or found.mode == "100755"):
            self.modes[key] = found.mode
        if oid and self.tree.has_id(name, oid):
            return  # only its times or its mode changed, so HEAD's blob is read instead
        if isinstance(found, Unread):
            self.skip(name.rstrip("/"), found.why)
        else:
            self.copy(name, key, found.data)

    def copy(self, name: str, key: str, data: bytes) -> None:
        if self.total + len(data) > TOTAL_CAP:
            self.skip(name, "beyond the 50 MB that are kept in all")
        elif len(self.copies) >= MOST_FILES:
            self.skip(name, BEYOND)
        elif (read := decode(data)) is None:
            self.skip(name, "binary")
        else:
            text, note = read
            self.total += len(data)
            self.copies[key] = self.write(key, self.redact(text))
            if note:
                self.notes[key] = note

    def write(self, key: str, text: str) -> str:
        # Named by content, so that taking the snapshot again after a crash writes the same files.
        body = text.encode("utf-8", "replace")
        import hashlib

        stored = hashlib.sha256(key.encode() + b"\0" + body).hexdigest()[:32]
        self.keep.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(self.keep / stored, flags, 0o600), "wb") as file:
            file.write(body)
        return stored


def hidden_name(name: str, redact: Redact) -> str:
    """A name without the secrets in it; the name itself if there is none."""
    shown = redact(name)
    return shown if HIDDEN in shown else name
