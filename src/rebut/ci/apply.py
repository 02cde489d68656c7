"""Applying a final patch to the working tree: only where it stands as it was reviewed, and with its secrets back.

Git itself puts it in place, as it would by hand, so that both give the same bytes. All of it, or nothing.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from rebut.core.errors import RebutError
from rebut.core.redaction import Redactor
from rebut.domain.outcome import Outcome
from rebut.engine.plan import Environment
from rebut.engine.run import redactor_of, view_of
from rebut.record import sessions
from rebut.record.record import Record
from rebut.workspace import exact_patch
from rebut.workspace.diff import touched
from rebut.workspace.exact_patch import FileOnDisk, NotExact, rewritten
from rebut.workspace.git import Git, GitFailed, off
from rebut.workspace.patch import NO_GIT, exact, try_patch
from rebut.workspace.targets.target import target_of
from rebut.workspace.tree import DebatedVersions, Overlay, Text

NO_ATTRIBUTES = "core.attributesFile=/dev/null"
BY_HAND = "Bring the tree back to that state, or apply final.patch by hand."


class NotApplied(RebutError):
    """The working tree was left alone, and why."""


def final_patch(outcome: Outcome) -> str:
    """The patch that a review decided for, as it was debated; empty if there is none."""
    if outcome.review is None or outcome.review.decision not in ("Compromise", "Accept Opposite"):
        return ""
    versions = outcome.data.get("versions")  # where sessions of 0.1 have it
    last = versions[-1] if isinstance(versions, list) and versions else None
    return outcome.review.patch or (str(last.get("patch", "")) if isinstance(last, dict) else "")


async def is_applied(patch: str, record: Record, known: Sequence[str]) -> bool:
    """Whether the working tree has what a final patch makes, whoever put it there: the patch could be taken back."""
    top = sessions.repository(Path(record.opened.workspace))
    redactor = redactor_of(record, known)
    try:
        now = await _standing(patch, top, redactor) if patch else {}
    except NotApplied:
        return False
    return bool(now) and not (await try_patch(_seen(now, redactor, top), patch, reverse=True)).complaint


async def apply(patch: str, record: Record, folder: Path, environment: Environment) -> tuple[str, ...]:
    """Write what a patch changes into the working tree; says which files. All of it is written, or nothing."""
    top = sessions.repository(Path(record.opened.workspace))
    redactor = redactor_of(record, environment.known_secrets)
    sides = DebatedVersions.of(
        view_of(record, folder, environment), target_of(record), redactor.door, str(top), environment.never
    )
    if sides.opened is None:
        raise NotApplied("nothing was kept of the workspace, so nothing can be compared with it")
    now = await _standing(patch, top, redactor)
    try:
        for name, file in now.items():
            read = await sides.opened.read(name)
            reviewed = await exact(sides.opened, name, read) if isinstance(read, Text) else None
            if (file.seen if file else None) != reviewed:
                raise NotApplied(f"{name} is not as it was reviewed, so the patch was not applied", BY_HAND)
    finally:
        await sides.close()
    done = await try_patch(_seen(now, redactor, top), patch)
    if done.complaint:
        raise NotApplied(f"the patch does not apply: {done.complaint}")
    known = {m: s for file in now.values() if file for m, s in redactor.taken_out(file.real).items()}
    try:
        made = rewritten(patch, now, done.files, known)
    except NotExact as error:
        raise NotApplied(f"{error.message}, so the patch was not applied") from error
    await _put(top, made, [*now])
    return tuple(now)


async def _standing(patch: str, top: Path, redactor: Redactor) -> dict[str, FileOnDisk | None]:
    try:
        names = touched(patch)
        return {name: await asyncio.to_thread(exact_patch.read_file, top, name, redactor.redact) for name in names}
    except NotExact as error:
        raise NotApplied(f"{error.message}, so the patch was not applied") from error


def _seen(files: Mapping[str, FileOnDisk | None], redactor: Redactor, top: Path) -> Overlay:
    links = {name: "120000" for name, file in files.items() if file and file.is_link}
    texts = {name: file.seen if file else None for name, file in files.items()}
    return Overlay(None, texts, redactor.redact, root=str(top), modes=links)


async def _put(top: Path, patch: bytes, names: Iterable[str]) -> None:
    """Have git apply it. What could still fail, a full disk for instance, is taken back from links to the old files."""
    git = await Git.open(top)
    exe = shutil.which("git")
    if git is None:
        if exe is None:
            raise NotApplied(NO_GIT)
        git = Git(top, exe, off())
    # The user's own attributes count by hand, too, and what they could start is off.
    at = git.options.index(NO_ATTRIBUTES)
    git.options = (*git.options[: at - 1], *git.options[at + 1 :], "-c", "apply.whitespace=nowarn")
    kept = _Kept(top)
    try:
        await git.run("apply", "--check", "-", feed=patch)
        for name in names:
            kept.keep(name)
        await git.run("apply", "-", feed=patch)
    except asyncio.CancelledError:  # a deadline, or a second Ctrl-C: git is ended by now, wherever it was
        kept.take_back()
        raise
    except (GitFailed, OSError) as error:
        left = kept.take_back()
        said = error.said if isinstance(error, GitFailed) else error.strerror or str(error)
        why = " ".join(line.removeprefix("error: ").strip() for line in said.splitlines()) or str(error)
        raise NotApplied(
            f"the patch was not applied: {why}",
            f"Look at {', '.join(left)}, which could not be put back."
            if left
            else "No file was changed. Mend that, or apply final.patch by hand.",
        ) from error
    kept.drop()


class _Kept:
    """The files as they were, for as long as they may have to come back."""

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
            os.link(place, copy, follow_symlinks=False)  # git makes a new file in its place, so that this one stays
        except OSError:
            shutil.copy2(place, copy, follow_symlinks=False)
        self.old[place] = copy, place.lstat().st_mode

    def take_back(self) -> list[str]:
        """Put back what was there; says what could not be."""
        left = []
        for place, old in self.old.items():
            try:
                if old is None:
                    place.unlink(missing_ok=True)
                else:
                    old[0].replace(place)
                    old[0].unlink(missing_ok=True)  # a link to a file that git had not come to is not moved over it
            except OSError:
                left.append(str(place))
        for folder in self.made:
            with suppress(OSError):
                folder.rmdir()
        return left

    def drop(self) -> None:
        """Let go of them. A file that nobody else could read stays so, whatever git makes of a new one."""
        for place, old in self.old.items():
            if old is not None:
                old[0].unlink(missing_ok=True)
                if place.is_file() and not place.is_symlink():
                    runs = place.stat().st_mode & 0o100
                    place.chmod(old[1] & 0o666 | (old[1] & 0o444) >> 2 if runs else old[1] & 0o666)
