"""What git says has changed between two trees, or up to the working tree: which files, and which of their lines."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from rebut.workspace.diff import Span, quoted
from rebut.workspace.git import Git, GitFailed

EMPTY_TREES = {
    40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
FLAGS = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty", "-M", "-l1000")
HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.M)
INDEX = re.compile(rb"^index ([0-9a-f]+)\.\.([0-9a-f]+)", re.M)
LINK, SUBMODULE, NONE = "120000", "160000", "000000"


@dataclass(frozen=True, slots=True)
class Delta:
    """One file that changed. Names are as the file system has them; a mode of zeros means that it was not there."""

    modes: tuple[str, str]
    old_oid: str
    new_oid: str
    """Zeros, or not to be relied on, where the new side is the working tree."""
    path: str
    old_path: str = ""

    @property
    def is_submodule(self) -> bool:
        return SUBMODULE in self.modes

    @property
    def changes_type(self) -> bool:
        old, new = self.modes
        return NONE not in self.modes and old[:2] != new[:2]


@dataclass(frozen=True, slots=True)
class Lines:
    """Which lines of a file changed, as git counted them on the file's bytes."""

    spans: tuple[Span, ...]
    old_oid: str = ""
    new_oid: str = ""
    binary: bool = False


UNCHANGED = Lines(())


def _compared(base: str, new: str) -> tuple[str, ...]:
    # The plumbing, not `git diff`: it obeys far fewer settings of a repository.
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
    """For each delta its lines; None where git's answer cannot be matched to it, so that they must be found otherwise.

    With `only` the deltas are a part of all, and files that attributes call binary are read as text too.
    """
    command, *rest = _compared(base, new)
    options: tuple[str, ...] = ()
    if only:
        names = {name for file in files for name in (file.path, file.old_path) if name}
        options, rest = ("--text",), [*rest, "--", *(f":(top,literal){name}" for name in sorted(names))]
    # Only the heads of hunks are used. Without context lines they say it all.
    try:
        said = await git.run(command, "-p", "-U0", "--inter-hunk-context=0", "--full-index", *options, *rest)
    except GitFailed:
        return [None] * len(files)  # one file that git cannot read, or has not got, keeps it from all others
    # Lines of a file begin with a sign, and names are quoted: nothing else can begin like this.
    sections = re.split(rb"^diff --git ", said, flags=re.M)[1:]
    answers: list[Lines | None] = []
    at = 0
    for file in files:
        if at == len(sections) or not sections[at].startswith(_head(file)):
            answers.append(UNCHANGED)  # only its times are new, so that git has nothing to say about it
            continue
        answers.append(None if file.changes_type else _read(sections[at]))
        at += 2 if file.changes_type else 1
    # What is left over belongs to files that changed between two questions.
    return answers if at == len(sections) else [None] * len(files)


def _head(file: Delta) -> bytes:
    return os.fsencode(f"{quoted(f'a/{file.old_path or file.path}')} {quoted(f'b/{file.path}')}\n")


def _read(section: bytes) -> Lines:
    head = section.partition(b"\n@@ ")[0]
    index = INDEX.search(head)
    oids = (index[1].decode(), index[2].decode()) if index else ("", "")
    if re.search(rb"^Binary files .* differ$", head, re.M | re.S):
        return Lines((), *oids, binary=True)
    return Lines(tuple(map(_span, HUNK.findall(section))), *oids)


def _span(found: tuple[bytes, bytes, bytes, bytes]) -> Span:
    old, old_count, new, new_count = (int(part) if part else 1 for part in found)
    # An empty range is named by the line before it.
    old, new = old - (old_count > 0), new - (new_count > 0)
    return Span(old, old + old_count, new, new + new_count)
