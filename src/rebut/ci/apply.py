"""Applies the final patch of a review to the working tree, if the files have not changed since, with secrets restored.

Git applies it, so the result is the same as by hand. Either all files are changed or none.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shlex
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from rebut.core.errors import RebutError
from rebut.core.files import repository
from rebut.core.redaction import Redactor
from rebut.domain.outcome import Outcome
from rebut.domain.session_status import outcome_of
from rebut.engine.plan import Environment
from rebut.engine.runtime import redactor_of, view_of
from rebut.record.record import Record
from rebut.workspace import exact_patch
from rebut.workspace.diff import touched
from rebut.workspace.exact_patch import FileOnDisk, NotExact, rewritten
from rebut.workspace.git import Git, GitFailed, installed, off
from rebut.workspace.patch import NO_GIT, exact, try_patch
from rebut.workspace.targets.target import Target, target_of
from rebut.workspace.tree import DebatedVersions, Overlay, Text

NO_ATTRIBUTES = "core.attributesFile=/dev/null"


class NotApplied(RebutError):
    """The patch was not applied; the message says why. No file has changed, unless the hint names some."""


class AlreadyApplied(NotApplied):
    """The working tree has the changes of the patch already, so there is nothing to do."""

    def __init__(self, files: tuple[str, ...]) -> None:
        super().__init__(f"already applied to {', '.join(files)}; nothing to do")
        self.files = files


def final_patch(outcome: Outcome) -> str:
    """The patch that a review ended with, as it was debated; empty if there is none."""
    if outcome.review is None or outcome.review.decision not in ("Compromise", "Accept Opposite"):
        return ""
    versions = outcome.data.get("versions")  # where sessions of 0.1 have it
    last = versions[-1] if isinstance(versions, list) and versions else None
    return outcome.review.patch or (str(last.get("patch", "")) if isinstance(last, dict) else "")


PROTECTED = (
    *("rebut.toml", "jenkinsfile", "jenkinsfile.*", "azure-pipelines*", "bitbucket-pipelines.yml", "appveyor.yml"),
    *("lefthook*.yml", "cloudbuild.y*ml"),
)
"""Besides hidden files and folders, these decide what is checked, what is run and what is secret, in any folder."""


def is_protected(name: str) -> bool:
    """Whether a patch may change a file only if the user named it: `.env`, `.github/`, `.rebut/` and the like."""
    parts = name.casefold().split("/")
    return any(part.startswith(".") for part in parts) or any(fnmatchcase(parts[-1], glob) for glob in PROTECTED)


def patch_file(patch: str, record: Record, folder: Path) -> str:
    """Where the review's final patch is on disk; empty if `patch` is another one, such as the fix of one finding."""
    outcome = outcome_of(record)
    if outcome is None or outcome.review is None or final_patch(outcome) != patch:
        return ""
    named = outcome.review.folder
    place = (Path(named) if named else folder / "review-loop") / "final.patch"
    return str(place) if place.is_file() else ""


def refuse_others(names: Iterable[str], target: Target | None, named: Collection[str], file: str = "") -> None:
    """Raise NotApplied if a patch changes a file that was not reviewed or is protected, unless it is in `named`."""
    changes = target.changes if target else ()
    reviewed = {path for c in changes for path in (c.path, c.old_path) if path}
    if target and target.scope.startswith("file:"):
        named = {*named, target.scope.removeprefix("file:")}
    for name in names:
        advice = f"Look at {file or 'the patch'}. If you want that: --apply-also {shlex.quote(name)}."
        if name in named:
            continue
        if name not in reviewed:
            raise NotApplied(f"the patch changes {name}, which is not part of the reviewed change", advice)
        if is_protected(name):
            raise NotApplied(f"the patch changes {name}, which decides what is checked or run", advice)


async def is_applied(patch: str, record: Record, known: Sequence[str]) -> bool:
    """Whether the working tree has the changes of the final patch: it can be reversed."""
    top = repository(Path(record.opened.workspace))
    redactor = redactor_of(record, known)
    try:
        now = await _current_files(patch, top, redactor) if patch else {}
    except NotApplied:
        return False
    return bool(now) and not (await try_patch(_seen(now, redactor, top), patch, reverse=True)).complaint


async def apply(
    patch: str,
    record: Record,
    folder: Path,
    environment: Environment,
    also: Collection[str] = (),
    *,
    check: bool = False,
) -> tuple[str, ...]:
    """Apply a patch to the working tree, all of it or nothing; returns the changed files.

    It may change the reviewed files, except for protected ones, and those in `also`. With `check`, nothing is changed.
    """
    top = repository(Path(record.opened.workspace))
    redactor = redactor_of(record, environment.known_secrets)
    target = target_of(record)
    file = patch_file(patch, record, folder)
    refuse_others(touched(patch), target, also, file)
    view = view_of(record, folder, environment.known_secrets)
    sides = DebatedVersions.of(view, target, redactor.door, str(top), environment.never)
    if sides.opened is None:
        raise NotApplied("no copy of the reviewed files was kept, so the patch cannot be checked against them")
    now = await _current_files(patch, top, redactor)
    try:
        for name, there in now.items():
            read = await sides.opened.read(name)
            reviewed = await exact(sides.opened, name, read) if isinstance(read, Text) else None
            if (there.seen if there else None) != reviewed:
                if not (await try_patch(_seen(now, redactor, top), patch, reverse=True)).complaint:
                    raise AlreadyApplied(tuple(now))
                raise NotApplied(
                    f"{name} has changed since the review, so the patch was not applied",
                    f"Restore the reviewed version of that file{f', or apply {file} by hand' if file else ''}.",
                )
    finally:
        await sides.close()
    done = await try_patch(_seen(now, redactor, top), patch)
    if done.complaint:
        raise NotApplied(f"the patch does not apply: {done.complaint}")
    known = redactor.taken_out(*(file.plain for file in now.values() if file))
    try:
        made = rewritten(patch, now, done.files, known)
    except NotExact as error:
        raise NotApplied(f"{error.message}, so the patch was not applied") from error
    await _put(top, made, [*now], check=check, file=file)
    return tuple(now)


async def _current_files(patch: str, top: Path, redactor: Redactor) -> dict[str, FileOnDisk | None]:
    try:
        names = touched(patch)
        return {name: await asyncio.to_thread(exact_patch.read_file, top, name, redactor.redact) for name in names}
    except NotExact as error:
        raise NotApplied(f"{error.message}, so the patch was not applied") from error


def _seen(files: Mapping[str, FileOnDisk | None], redactor: Redactor, top: Path) -> Overlay:
    links = {name: "120000" for name, file in files.items() if file and file.is_link}
    texts = {name: file.seen if file else None for name, file in files.items()}
    return Overlay(None, texts, redactor.redact, root=str(top), modes=links)


async def _put(top: Path, patch: bytes, names: Iterable[str], *, check: bool = False, file: str = "") -> None:
    """Let git apply the patch. If that fails half-way, such as on a full disk, the old files are restored."""
    git = await Git.open(top)
    exe = installed()
    if git is None:
        if exe is None:
            raise NotApplied(NO_GIT)
        git = Git(top, exe, off())
    # The user's own attributes apply, as when git is called by hand; the programs that they could start stay disabled.
    at = git.options.index(NO_ATTRIBUTES)
    git.options = (*git.options[: at - 1], *git.options[at + 1 :], "-c", "apply.whitespace=nowarn")
    old_files = _OldFiles(top)
    try:
        await git.run("apply", "--check", "-", feed=patch)
        if check:
            return
        for name in names:
            old_files.keep(name)
        await git.run("apply", "-", feed=patch)
    except asyncio.CancelledError:  # a deadline, or a second Ctrl-C: git has been stopped half-way
        old_files.restore()
        raise
    except (GitFailed, OSError) as error:
        left = old_files.restore()
        said = error.said if isinstance(error, GitFailed) else error.strerror or str(error)
        why = " ".join(line.removeprefix("error: ").strip() for line in said.splitlines()) or str(error)
        raise NotApplied(
            f"the patch was not applied: {why}",
            f"These files could not be restored: {', '.join(left)}."
            if left
            else f"No file was changed. Fix the cause{f', or apply {file} by hand' if file else ''}.",
        ) from error
    old_files.drop()


class _OldFiles:
    """Copies of the old files, until the patch is applied."""

    def __init__(self, top: Path) -> None:
        self.top, self.old = top, dict[Path, tuple[Path, int] | None]()
        self.made: list[Path] = []

    def keep(self, name: str) -> None:
        place = self.top / name
        folder = place.parent
        while not folder.exists():
            self.made.append(folder)
            folder = folder.parent
        if not os.path.lexists(place):
            self.old[place] = None
            return
        copy = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
        try:
            os.link(place, copy, follow_symlinks=False)  # git writes a new file, so the link keeps the old one
        except OSError:
            shutil.copy2(place, copy, follow_symlinks=False)
        self.old[place] = copy, place.lstat().st_mode

    def restore(self) -> list[str]:
        """Restore the old files; returns those that could not be restored."""
        left = []
        for place, old in self.old.items():
            try:
                if old is None:
                    place.unlink(missing_ok=True)
                else:
                    old[0].replace(place)
                    old[0].unlink(missing_ok=True)  # replace() does nothing if both are links to the same file
            except OSError:
                left.append(str(place))
        for folder in self.made:
            with suppress(OSError):
                folder.rmdir()
        return left

    def drop(self) -> None:
        """Delete the copies. A private file stays private, whatever mode git gave the new one."""
        for place, old in self.old.items():
            if old is not None:
                old[0].unlink(missing_ok=True)
                if place.is_file() and not place.is_symlink():
                    runs = place.stat().st_mode & 0o100
                    place.chmod(old[1] & 0o666 | (old[1] & 0o444) >> 2 if runs else old[1] & 0o666)
