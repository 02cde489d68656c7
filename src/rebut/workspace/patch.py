"""Patches, tried on a copy of the files that they change, in a temporary folder: no working tree is touched."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from types import MappingProxyType

from rebut.core.frozen import frozen
from rebut.core.scratch import temporary_folder
from rebut.workspace.diff import created, new_modes, outside, touched, without_wrapping, writes_other_than_text
from rebut.workspace.file_reader import LINK
from rebut.workspace.git import Git, GitFailed, installed, off
from rebut.workspace.tree import Missing, Text, Workspace

NOT_TEXT = "it changes a binary file, a link or a submodule; change text files only"
NO_GIT = "git is not installed, so a patch cannot be tried"
PLAIN = ("core.autocrlf=false", "core.safecrlf=false", "core.symlinks=false", "apply.whitespace=nowarn")


@frozen
class Patched:
    """The result of a patch: the files after it, or why it does not apply."""

    files: Mapping[str, str | None] = field(default_factory=dict)
    """Path → its text, None where the patch deletes the file."""
    modes: Mapping[str, str] = field(default_factory=dict)
    """Path → its mode, where the patch states one."""
    complaint: str = ""


async def try_patch(view: Workspace | None, patch: str, *, reverse: bool = False) -> Patched:
    """Apply a patch, or with `reverse` undo it, on a copy of the files that it names, as `view` shows them."""
    if view is None:
        return Patched(complaint="no workspace was kept, so there are no files to change")
    patch = without_wrapping(patch)
    names = touched(patch)
    if not patch.strip() or not names:
        return Patched(complaint="there is no unified diff in it: begin with --- a/PATH and +++ b/PATH")
    if odd := outside(patch):
        return Patched(complaint=f"{odd[0]} is not a path in the workspace")
    if writes_other_than_text(patch):
        return Patched(complaint=NOT_TEXT)
    before: dict[str, str | None] = {}
    modes = {name: await view.mode(name) for name in names}
    made_new = created(patch)
    for name in names:
        read = await view.read(name)
        if isinstance(read, Text):
            before[name] = await exact(view, name, read)
        elif not isinstance(read, Missing) and name not in made_new:
            return Patched(complaint=f"{name} cannot be changed: {getattr(read, 'why', 'it is a folder')}")
    exe = installed()
    if exe is None:
        return Patched(complaint=NO_GIT)
    with temporary_folder() as folder:
        top = folder / "tree"
        await asyncio.to_thread(write_files, top, before, modes)
        file = folder / "patch"
        await asyncio.to_thread(file.write_bytes, patch.encode("utf-8", "replace"))
        git = scratch(top, exe)
        await git.run("init", "-q", "--template=", ".")
        complaint = ""
        # The most frequent mistake of models is a hunk with right lines and wrong counts: `--recount` ignores these.
        direction = ("--reverse",) if reverse else ()
        for more in (direction, (*direction, "--recount")):
            try:
                await git.run("apply", *more, str(file))  # all of it or nothing
            except GitFailed as error:
                complaint = complaint or _complaint(error.said or error.message, str(folder))
                continue
            after = new_modes(patch, modes)
            if LINK in after.values():  # the patch renames a link
                return Patched(complaint=NOT_TEXT)
            return Patched(await asyncio.to_thread(_read, top, names), after)
        return Patched(complaint=complaint)


async def difference(
    view: Workspace | None, files: Mapping[str, str | None], modes: Mapping[str, str] | None = None
) -> str:
    """The unified diff from what `view` shows to the given files; empty if they are the same."""
    exe = installed() if view else None
    before, old_modes = dict[str, str | None](), dict[str, str]()
    for name in files if view else ():
        assert view is not None
        read = await view.read(name)
        before[name] = await exact(view, name, read) if isinstance(read, Text) else None
        old_modes[name] = await view.mode(name)
    new_modes = {**old_modes, **(modes or {})}
    if exe is None or (before == dict(files) and new_modes == old_modes):
        return ""
    with temporary_folder() as folder:
        for side, texts, side_modes in (("a", before, old_modes), ("b", files, new_modes)):
            await asyncio.to_thread(write_files, folder / side, texts, side_modes)
        flags = ("--no-index", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--no-prefix", "--text")
        said = await scratch(folder, exe).run("diff", *flags, "a", "b", codes=(0, 1))
    return said.decode("utf-8", "replace")


async def exact(view: Workspace, name: str, read: Text) -> str:
    """A file's text with its own line ends, which `Text` does not keep."""
    text = await view.raw(name)
    return "\n".join([*read.lines, ""]) if text is None else text


def scratch(top: Path, exe: str) -> Git:
    """Git in a temporary folder, without any conversion."""
    return Git(top, exe, off(*PLAIN))


def write_files(
    top: Path,
    files: Mapping[str, str | None] | Mapping[str, bytes | None],
    modes: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write files below a folder. A file whose text is None does not exist and is not written."""
    top.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        if text is not None:
            place = top / name
            place.parent.mkdir(parents=True, exist_ok=True)
            body = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
            if modes.get(name) == LINK:
                place.symlink_to(os.fsdecode(body))
                continue
            place.write_bytes(body)
            place.chmod(0o755 if modes.get(name) == "100755" else 0o644)


def _read(top: Path, names: Iterable[str]) -> dict[str, str | None]:
    out: dict[str, str | None] = {}
    for name in names:
        place = top / name
        plain = place.is_file() and not place.is_symlink()
        out[name] = place.read_bytes().decode("utf-8", "replace") if plain else None
    return out


def _complaint(said: str, folder: str) -> str:
    return said.replace(folder + os.sep, "").strip()[:1500] or "git apply refuses it"
