"""A change between two states of a repository: the redacted texts of both sides, and a diff of exactly these texts."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rebut.core import files
from rebut.core.frozen import frozen
from rebut.core.text import counted
from rebut.core.types import Changed
from rebut.record import sessions
from rebut.workspace.context import printable_name
from rebut.workspace.diff import (
    BothTexts,
    Span,
    added,
    binary_section,
    first_line,
    hunk_ranges,
    is_binary,
    object_ids,
    section,
    sections,
)
from rebut.workspace.file_reader import (
    FILE_CAP,
    LINK,
    FileBytes,
    Unread,
    WorkingTree,
    blob_id,
    clean_name,
    decode,
    is_never_sent,
    too_large,
    too_much,
    why_never,
)
from rebut.workspace.git import Git, GitFailed
from rebut.workspace.snapshot import Redact

MOST_FILES = 5_000
METADATA = 1_000_000
POINTER = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\n(?:[a-z0-9.-]+ [^\n]{1,200}\n){2,20}\Z")
STANDS_FOR = "a Git LFS pointer; what it stands for is not read"


@dataclass(slots=True)
class Drawn:
    """A change as it may be shown: redacted, and without the files that are never sent."""

    diff: str = ""
    changes: tuple[Changed, ...] = ()
    left_out: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _File:
    """A changed file while its text is being prepared."""

    delta: Delta
    path: str
    old: Side = None
    new: Side = None
    lines: Lines | None = None


async def draw(git: Git, base: str, new: str, redact: Redact, never: Sequence[str]) -> Drawn:
    """The change from the commit or tree `base` to `new`, or to the working tree and untracked files if that is ""."""
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
        texts = [side.text for file in files for side in (file.old, file.new) if isinstance(side, FileSide)]
        clean = await asyncio.to_thread(redact_all, texts, redact)
        if counting is not None:
            counted = dict(zip((id(delta) for delta in found), await counting, strict=True))
            for file in files:
                file.lines = counted.get(id(file.delta))
    finally:
        if counting is not None and not counting.done():
            counting.cancel()
    await _count_again(git, base, new, files)
    marked = not new and any(b"<<<<<<< " in file.new.data for file in files if isinstance(file.new, FileSide))
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
            drawn.left_out.append(f"{printable_name(path)}: {why_never(*names)}")
        elif delta.is_submodule:
            drawn.left_out.append(f"{printable_name(path)}: {_submodule_change(delta)}")
        elif len(files) >= MOST_FILES:
            drawn.left_out.append(f"{printable_name(path)}: beyond the {MOST_FILES:,} files that are read")
        else:
            files.append(_File(delta, path))
    if mine:
        drawn.left_out.append(f"{printable_name(mine[0])}: {OUTPUT} ({counted(len(mine), 'file')})")
    return files


def _submodule_change(delta: Delta) -> str:
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
        folder = WorkingTree(git.top, total=CHANGE_CAP)
        for file in files:
            file.old = old_side(file.delta, found)
            if both:
                file.new = new_side(file.delta, found)
            elif file.delta.modes[1] != NONE:
                file.new = disk_side(folder.read(file.delta.path))

    await asyncio.to_thread(read)


async def _count_again(git: Git, base: str, new: str, files: Sequence[_File]) -> None:
    """Ask git again about text files that attributes declare binary: an attribute must not hide a change."""
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
    texts: list[str] = []
    changes: list[Changed] = []
    names = _renamed(files, redact, drawn)
    for file in files:
        path, old_path = (names.get(name, name) for name in (file.path, clean_name(file.delta.old_path)))
        unread = next((side for side in (file.new, file.old) if isinstance(side, Unread)), None)
        if unread is not None:
            drawn.left_out.append(f"{printable_name(path)}: {unread.why}")
            if unread.why == "binary":
                modes = _modes(file, None)
                both = {"existed": bool(modes[0]), "exists": file.new is not None}
                texts.append(binary_section(path, old_path, modes, **both))
            continue
        old, new = (side if isinstance(side, FileSide) else None for side in (file.old, file.new))
        side = new or old
        if side is None:
            continue  # it was deleted meanwhile
        if new is not None and not file.delta.modes[1] and is_review(path, new.text):  # untracked
            drawn.left_out.append(f"{printable_name(path)}: {OUTPUT} (1 file)")
            continue
        before, after = (None if side is None else clean[side.text] for side in (old, new))
        modes = _modes(file, new)
        sides = BothTexts(before, after)
        spans = _spans(file, old, new, sides)
        if not spans and modes[0] == modes[1] and not old_path and None not in (before, after):
            continue  # only its times changed
        if old is not None and new is not None and old.is_link != new.is_link:
            spans = (Span(0, len(sides.old), 0, len(sides.new)),)
            texts.append(section(path, before, None, BothTexts(before, None).differences(), modes=modes))
            texts.append(section(path, None, after, BothTexts(None, after).differences(), modes=modes))
        else:
            texts.append(section(path, before, after, spans, old_path=old_path, modes=modes, sides=sides))
        changes.append(Changed(path, before, after, added(spans), old_path))
        if POINTER.match(side.data):
            drawn.left_out.append(f"{printable_name(path)}: {STANDS_FOR}")
        if side.note:
            drawn.notes.append(f"{printable_name(path)}: {side.note}")
        if file.path in conflicts:
            drawn.notes.append(f"{printable_name(path)}: has unresolved conflicts")
    drawn.diff, drawn.changes = "".join(texts), tuple(changes)


def _renamed(files: Sequence[_File], redact: Redact, drawn: Drawn) -> dict[str, str]:
    """Paths that contain a secret → what is shown instead. Control characters alone do not change a name."""
    plain = {
        name: printable_name(name) for file in files for name in (file.path, clean_name(file.delta.old_path)) if name
    }
    clean = redact_all(plain.values(), redact)
    renamed = {name: redact(name) for name, printable in plain.items() if clean[printable] != printable}
    drawn.notes += [f"{clean[plain[name]]}: a secret in this path was replaced" for name in renamed]
    return renamed


def _modes(file: _File, new: FileSide | None) -> tuple[str, str]:
    old_mode, new_mode = file.delta.modes
    if not new_mode and new is not None:  # untracked
        new_mode = LINK if new.is_link else "100644"
    return old_mode.replace(NONE, ""), new_mode.replace(NONE, "")


def _spans(file: _File, old: FileSide | None, new: FileSide | None, sides: BothTexts) -> tuple[Span, ...]:
    """Git's spans if git compared the bytes that were read here and the spans fit the redacted text; else our own."""
    lines = file.lines
    if old is None or new is None or lines is None or lines.binary:
        return sides.differences()
    if not lines.spans:
        # Git reports no difference, although the bytes may differ: it converts line ends, for instance.
        return () if not lines.new_oid or old.data == new.data else sides.differences()
    # The old side was read by its id. The new one may be a file of the working tree, written to in the meantime.
    same = lines.old_oid in (file.delta.old_oid, "") and (not lines.new_oid or new.has_id(lines.new_oid))
    # Git counts newline bytes. In another encoding, or with other line ends, the text may have more lines.
    if same and (old.newlines, new.newlines) == sides.newlines and sides.fits(lines.spans):
        return lines.spans
    return sides.differences()


# What changed between two trees, or up to the working tree, by git: which files, and which of their lines.

EMPTY_TREES = {
    40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
FLAGS = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty", "-M", "-l1000")
SUBMODULE, NONE = "160000", "000000"


@frozen
class Delta:
    """One file that changed. Names are as the file system has them; a mode of zeros means that it did not exist."""

    modes: tuple[str, str]
    old_oid: str
    new_oid: str
    """Zeros, or not reliable, where the new side is the working tree."""
    path: str
    old_path: str = ""

    @property
    def is_submodule(self) -> bool:
        return SUBMODULE in self.modes

    @property
    def changes_type(self) -> bool:
        old, new = self.modes
        return NONE not in self.modes and old[:2] != new[:2]


@frozen
class Lines:
    """Which lines of a file changed, as git counted them on the file's bytes."""

    spans: tuple[Span, ...]
    old_oid: str = ""
    new_oid: str = ""
    binary: bool = False


UNCHANGED = Lines(())


def _compared(base: str, new: str) -> tuple[str, ...]:
    # These plumbing commands obey far fewer settings of a repository than `git diff` does.
    return ("diff-tree", "-r", *FLAGS, base, new) if new else ("diff-index", *FLAGS, base)


async def deltas(git: Git, base: str, new: str) -> list[Delta]:
    """The files that changed from the tree `base` to the tree `new`, or to the working tree."""
    command, *rest = _compared(base, new)
    fields = (await git.run(command, "--raw", "-z", *rest)).split(b"\0")
    found: list[Delta] = []
    at = 0
    while at + 1 < len(fields):
        old_mode, new_mode, old_oid, new_oid, status = fields[at].decode().lstrip(":").split(" ")
        renamed = status[0] in "RC"
        names = [os.fsdecode(name) for name in fields[at + 1 : at + 2 + renamed]]
        found.append(Delta((old_mode, new_mode), old_oid, new_oid, names[-1], names[0] if renamed else ""))
        at += 2 + renamed
    return found


async def changed_lines(
    git: Git, base: str, new: str, files: Sequence[Delta], *, only: bool = False
) -> list[Lines | None]:
    """The changed lines of each delta; None where git's answer cannot be matched to it, and texts must be compared.

    With `only`, git is asked about these files alone, and reads files that attributes declare binary as text.
    """
    command, *rest = _compared(base, new)
    options: tuple[str, ...] = ()
    if only:
        names = {name for file in files for name in (file.path, file.old_path) if name}
        options, rest = ("--text",), [*rest, "--", *(f":(top,literal){name}" for name in sorted(names))]
    # Only the first lines of hunks are used: without context lines, their numbers are exactly the changed lines.
    try:
        said = await git.run(command, "-p", "-U0", "--inter-hunk-context=0", "--full-index", *options, *rest)
    except GitFailed:
        return [None] * len(files)  # one file that git cannot read, or does not have, makes it fail for all
    # Lines of a file begin with a sign, and names are quoted, so only a section can begin with `diff --git`.
    found = sections(os.fsdecode(said))
    answers: list[Lines | None] = []
    at = 0
    for file in files:
        if at == len(found) or not found[at].startswith(f"{first_line(file.path, file.old_path)}\n"):
            answers.append(UNCHANGED)  # only its times changed, so that git prints nothing for it
            continue
        answers.append(None if file.changes_type else _changed_lines(found[at]))
        at += 2 if file.changes_type else 1
    # Further sections are of files that changed between the two commands.
    return answers if at == len(found) else [None] * len(files)


def _changed_lines(text: str) -> Lines:
    head = text.partition("\n@@ ")[0]
    if is_binary(head):
        return Lines((), *object_ids(head), binary=True)
    return Lines(tuple(found.span for found in hunk_ranges(text)), *object_ids(head))


# Both sides of changed files as bytes: blobs of git, and files of the working tree, read without following a link.

CHANGE_CAP = 20_000_000
"""The most bytes that are read of all blobs together, and of all files of the working tree together."""


@frozen
class FileSide:
    """One side of a file that could be read."""

    data: bytes
    text: str
    note: str = ""
    is_link: bool = False

    def has_id(self, oid: str) -> bool:
        """Whether git gives these bytes this id, apart from line ends, which it may convert."""
        plain = self.data.replace(b"\r\n", b"\n")
        return any(blob_id(io.BytesIO(data), len(oid)) == oid for data in dict.fromkeys((self.data, plain)))

    @property
    def newlines(self) -> int:
        return self.data.count(b"\n")


Side = FileSide | Unread | None
"""None where the file does not exist on this side."""


def side_of(data: bytes | int | None, *, is_link: bool = False) -> FileSide | Unread:
    if data is None:
        return Unread("git does not have its content; rebut does not let a partial clone fetch it")
    if isinstance(data, int):
        return Unread(too_large(FILE_CAP) if data > FILE_CAP else too_much(CHANGE_CAP))
    if is_link:
        return FileSide(data, data.decode("utf-8", "replace"), is_link=True)
    read = decode(data)
    return Unread("binary") if read is None else FileSide(data, *read)


async def blobs(git: Git, files: Sequence[Delta], *, both: bool) -> Mapping[str, bytes | int]:
    """The blobs of the old sides and, with `both`, of the new ones."""
    wanted = [file.old_oid for file in files if file.modes[0] != NONE]
    if both:
        wanted += [file.new_oid for file in files if file.modes[1] != NONE]
    return await git.objects(list(dict.fromkeys(wanted)), FILE_CAP, CHANGE_CAP)


def disk_side(found: FileBytes | Unread | None) -> Side:
    """A file of the working tree as one side of a change."""
    return side_of(found.data, is_link=found.is_link) if isinstance(found, FileBytes) else found


def old_side(file: Delta, found: Mapping[str, bytes | int]) -> Side:
    return None if file.modes[0] == NONE else side_of(found.get(file.old_oid), is_link=file.modes[0] == LINK)


def new_side(file: Delta, found: Mapping[str, bytes | int]) -> Side:
    return None if file.modes[1] == NONE else side_of(found.get(file.new_oid), is_link=file.modes[1] == LINK)


# Rebut's own output in a workspace: not part of a change.

# The pattern is narrow on purpose, endings included: a project may have a folder `debates` with code of its own.
OWN = re.compile(
    r"(?:^|/)(?:review-loop/debate-\d{8}-\d{6}-\d+/.*|\.kiln/tracks/.*|debates/\d{3,}-[^/]+/.*|debate/last-debate[^/]*)"
    r"\.(?:md|json|jsonl|patch|diff|txt|sarif)$",
    re.S,
)

# With `--state-dir`, the folder of a review may be anywhere. Its name proves little, so its metadata is checked too.
REVIEWED = re.compile(
    r"(?P<folder>(?:.*/)?debate-\d{8}-\d{6}-\d+)/"
    r"(?:artifact(?:-v\d+(?:-text)?)?|metadata|decision|summary|round-\d+-(?:input|critique|rebuttal)|final(?:-text)?)"
    r"\.(?:md|json|patch)",
    re.S,
)

OUTPUT = "rebut's own output"
DISMISSALS = ".rebut/dismissals.jsonl"
"""The shared list of dismissals, which `rebut dismiss` writes."""


def is_own(line: str) -> bool:
    """Whether a line in `left_out` names rebut's own output; a file's name may contain the same words."""
    return re.search(rf": {OUTPUT} \([^)]*\)$", line) is not None


def is_review(path: str, text: str) -> bool:
    """Whether a file was written by `--sarif`: else it would be reviewed with the change the next time."""
    return path.endswith((".sarif", ".json")) and '"rebut"' in text and is_sarif(text)


def is_sarif(text: str | bytes) -> bool:
    """Whether a text is SARIF that rebut wrote."""
    try:
        return bool(json.loads(text)["runs"][0]["tool"]["driver"]["name"] == "rebut")
    except (ValueError, LookupError, TypeError, RecursionError):
        return False


class Own:
    """Recognises rebut's own files in a project."""

    def __init__(self, top: Path) -> None:
        home = sessions.home()
        inside = home.is_relative_to(top) and home != top
        self.sessions = f"{home.relative_to(top).as_posix()}/" if inside else ""
        self._top, self._folders = top, dict[str, bool]()

    def __contains__(self, path: str) -> bool:
        if path == DISMISSALS or (self.sessions and path.startswith(self.sessions)) or OWN.search(path):
            return True
        found = REVIEWED.fullmatch(path)
        return found is not None and self._is_reviews(found["folder"])

    def _is_reviews(self, folder: str) -> bool:
        """Whether a folder holds the files of a review: rebut wrote the folder's own name into its metadata."""
        if folder not in self._folders:
            try:
                data = json.loads(files.read(self._top / folder / "metadata.json", METADATA))
            except (OSError, ValueError, RecursionError):
                data = None
            named = isinstance(data, dict) and data.get("session") == folder.rpartition("/")[2]
            self._folders[folder] = named and "rebut_session" in data
        return self._folders[folder]


# Many texts redacted in few calls.

TOGETHER = 300_000
MARK = "\ue0f7\ue0f8"
BETWEEN = f"\n{MARK}\n"


def redact_all(texts: Iterable[str], redact: Redact) -> dict[str, str]:
    """Each text → the redacted text.

    Every call of `redact` costs time, so texts are joined by a line that no rule matches. If that line does not come
    back unchanged, or a text may contain a key of several lines, each text is redacted alone: one file must not affect
    another.
    """
    done: dict[str, str] = {}
    for group in _groups(dict.fromkeys(texts)):
        parts = redact(BETWEEN.join(group)).split(BETWEEN) if len(group) > 1 else []
        if len(parts) != len(group):
            parts = [redact(text) for text in group]
        done.update(zip(group, parts, strict=True))
    return done


def _groups(texts: Iterable[str]) -> Iterator[list[str]]:
    group: list[str] = []
    size = 0
    for text in texts:
        if "----" in text or MARK in text or len(text) > TOGETHER:
            yield [text]
            continue
        if group and size + len(text) > TOGETHER:
            yield group
            group, size = [], 0
        group.append(text)
        size += len(text)
    if group:
        yield group
