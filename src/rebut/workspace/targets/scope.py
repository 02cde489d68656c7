"""The scope of a change as a person types it: `uncommitted`, `staged`, `commit:SHA`, `base:BRANCH` and others."""

from __future__ import annotations

import re
from typing import Literal

from rebut.core.errors import UsageError
from rebut.core.frozen import frozen
from rebut.workspace.context import printable_name
from rebut.workspace.git import Git
from rebut.workspace.targets.git_change import EMPTY_TREES

FORMS = "Scopes are uncommitted, staged, commit:SHA, base:BRANCH, range:A..B, range:A...B and file:PATH."
REF = re.compile(r"[^\s\x00-\x1f\x7f:?*\[\\-][^\s\x00-\x1f\x7f:?*\[\\]{0,254}")


@frozen
class Scope:
    """Which change is meant. `first` is the commit, branch, path or left end of a range."""

    kind: Literal["uncommitted", "staged", "commit", "base", "range", "file"]
    first: str = ""
    second: str = ""
    from_merge_base: bool = False

    @classmethod
    def parse(cls, text: str) -> Scope:
        kind, colon, rest = text.strip().partition(":")
        match kind, rest:
            case "uncommitted", "" if not colon:
                return cls("uncommitted")
            case "staged", "" if not colon:
                return cls("staged")
            case "commit", rest if rest:
                return cls("commit", _ref(rest, text))
            case "base", rest if rest:
                return cls("base", _ref(rest, text))
            case "range", rest if ".." in rest:
                dots = "..." if "..." in rest else ".."
                first, _, second = rest.partition(dots)
                if first or second:
                    ends = (_ref(first or "HEAD", text), _ref(second or "HEAD", text))
                    return cls("range", *ends, from_merge_base=dots == "...")
            case "file", rest if rest:
                if "\0" not in rest:
                    return cls("file", rest)
        raise UsageError(f"{text!r} is not a scope", FORMS)


def _ref(ref: str, text: str) -> str:
    # Git takes a leading dash as an option. The other refused characters occur only in searches and patterns.
    if not REF.fullmatch(ref) or ".." in ref or "^{/" in ref:
        raise UsageError(f"{ref!r} in the scope {text!r} names no commit", "Give a commit id, a branch or a tag.")
    return ref


# The two commits that a scope compares, or an error that names what is missing.

MOST_SUBMODULES = 50
DEEPEN = "This is a shallow clone: get the rest with `git fetch --unshallow`."


@frozen
class Compared:
    """Two states: commits or the empty tree, "" for the working tree."""

    base: str
    new: str
    looked_at: str
    """The comparison in words, for messages."""
    notes: tuple[str, ...] = ()


async def compared(git: Git, scope: Scope) -> Compared:
    match scope.kind:
        case "staged":
            # Both are trees: files that are not staged, or staged in part, count as git would commit them.
            head = await git.commit("HEAD") or await _empty_tree(git)
            return Compared(head, await git.staged_tree(), "what is staged, compared with HEAD")
        case "commit":
            return await _commit(git, scope.first)
        case "base":
            return await _base(git, scope.first)
        case "range":
            return await _range(git, scope)
        case _:
            head = await git.commit("HEAD")
            notes = tuple(await _changed_submodules(git)) if head else ()
            return Compared(head or await _empty_tree(git), "", "the working tree, compared with HEAD", notes)


async def _changed_submodules(git: Git) -> list[str]:
    """A note for each submodule whose own files have changed. `git commit` ignores such changes, so rebut does too.

    Each submodule is opened as a repository of its own, with unsafe settings off; git itself would obey its settings.
    """
    if not (git.top / ".gitmodules").is_file():
        return []
    links = [name.partition("\t")[2] for name in await git.names("--stage") if name.startswith("160000 ")]
    notes: list[str] = []
    for link in links[:MOST_SUBMODULES]:
        inner = await Git.open(git.top / link) if (git.top / link / ".git").exists() else None
        if inner is None:
            continue
        try:
            head = await inner.commit("HEAD")
            if head and await inner.run("diff-index", "--name-only", "--ignore-submodules=all", head, codes=(0, 1)):
                notes.append(
                    f"the submodule {printable_name(link)} has changes of its own; run rebut in its folder for them"
                )
        finally:
            await inner.close()
    return notes


async def _empty_tree(git: Git) -> str:
    kind = (await git.run("rev-parse", "--show-object-format")).strip()
    return EMPTY_TREES[64 if kind == b"sha256" else 40]


async def _commit(git: Git, ref: str) -> Compared:
    commit = await _commit_id(git, ref)
    parents = await git.parents(commit)
    if not parents:
        return Compared(EMPTY_TREES[len(commit)], commit, f"commit {ref}, the first of its history")
    if not await git.commit(parents[0]):
        raise UsageError(f"commit {ref} is here, but its parent {parents[0][:12]} is not", await _why_missing(git))
    notes = (f"{ref} is a merge; it is compared with its first parent {parents[0][:12]}",) if parents[1:] else ()
    return Compared(parents[0], commit, f"commit {ref}, compared with its parent", notes)


async def _base(git: Git, branch: str) -> Compared:
    head, base = await _head(git), await _commit_id(git, branch)
    ancestor = await _common_ancestor(git, branch, base, "HEAD", head)
    notes: tuple[str, ...] = ()
    if await git.run("diff-index", "--name-only", "--ignore-submodules=all", head, codes=(0, 1)):
        notes = ("uncommitted changes are not part of this; --scope uncommitted selects them",)
    return Compared(ancestor, head, f"HEAD, compared with its merge base with {branch} ({ancestor[:12]})", notes)


async def _range(git: Git, scope: Scope) -> Compared:
    first, second = await _commit_id(git, scope.first), await _commit_id(git, scope.second)
    if scope.from_merge_base:
        ancestor = await _common_ancestor(git, scope.first, first, scope.second, second)
        looked_at = f"{scope.second}, compared with its merge base with {scope.first} ({ancestor[:12]})"
        return Compared(ancestor, second, looked_at)
    notes: tuple[str, ...] = ()
    if await git.merge_base(first, second) != first:
        notes = (
            f"{scope.second} lacks commits that {scope.first} has, so the diff shows their changes undone; "
            f"to leave them out, use range:{scope.first}...{scope.second}",
        )
    return Compared(first, second, f"{scope.second}, compared with {scope.first}", notes)


async def _head(git: Git) -> str:
    head = await git.commit("HEAD")
    if not head:
        raise UsageError("there is no commit yet on this branch", "Look at what is there with --scope uncommitted.")
    return head


async def _commit_id(git: Git, ref: str) -> str:
    commit = await git.commit(ref)
    if commit:
        return commit
    if await git.commit(f"origin/{ref}"):
        raise UsageError(f"there is no commit, branch or tag {ref!r} here", f"Did you mean origin/{ref}?")
    raise UsageError(f"there is no commit, branch or tag {ref!r} in {git.top}", await _why_missing(git))


async def _common_ancestor(git: Git, one: str, one_id: str, other: str, other_id: str) -> str:
    ancestor = await git.merge_base(one_id, other_id)
    if not ancestor:
        raise UsageError(f"{one} and {other} have no commit in common here", await _why_missing(git))
    return ancestor


async def _why_missing(git: Git) -> str:
    return DEEPEN if await git.is_shallow() else "`git log --oneline --all` shows what there is."
