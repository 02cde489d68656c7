"""Applying a final patch to the working tree: only where it stands as it was reviewed, and with its secrets back."""

from __future__ import annotations

import base64
import difflib
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rebut import session
from rebut.errors import RebutError
from rebut.opening import keys_of, sides_of, target_of, view_of
from rebut.overlay import Overlay
from rebut.patching import exact, touched, try_patch
from rebut.plan import Table
from rebut.record import Record
from rebut.redaction import PLACEHOLDER, Redactor
from rebut.text import clean
from rebut.workspace import Text

BOM = "\ufeff"


class NotApplied(RebutError):
    """The working tree was left alone, and why."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A file of the working tree as it is, and as the debate sees it."""

    real: str
    seen: str


async def apply(patch: str, record: Record, folder: Path, table: Table) -> tuple[str, ...]:
    """Write what a patch changes into the working tree; says which files. All of it is written, or nothing."""
    top = session.repository(Path(record.opened.workspace))
    redactor = Redactor(base64.b64decode(keys_of(record)["redaction"]), table.known_secrets)
    sides = sides_of(view_of(record, folder, table), target_of(record), redactor.redact, str(top), table)
    if sides is None or sides.opened is None:
        raise NotApplied("nothing was kept of the workspace, so nothing can be compared with it")
    now: dict[str, Standing | None] = {}
    try:
        for name in touched(patch):
            read = await sides.opened.read(name)
            reviewed = await exact(sides.opened, name, read) if isinstance(read, Text) else None
            now[name] = file = _standing(top, name, redactor)
            if (file.seen if file else None) != reviewed:
                raise NotApplied(
                    f"{name} is not as it was reviewed, so the patch was not applied",
                    "Bring the tree back to that state, or apply final.patch by hand.",
                )
    finally:
        await sides.close()
    seen: dict[str, str | None] = {name: file.seen if file else None for name, file in now.items()}
    done = await try_patch(Overlay(None, seen, redactor.redact, root=str(top)), patch)
    if done.complaint:
        raise NotApplied(f"the patch does not apply: {done.complaint}")
    known = {m: s for file in now.values() if file for m, s in redactor.taken_out(file.real).items()}
    made = {name: None if text is None else restored(now.get(name), text, known) for name, text in done.files.items()}
    _write_all(top, made)
    return tuple(made)


def _standing(top: Path, name: str, redactor: Redactor) -> Standing | None:
    place = top / name
    if place.is_symlink() or not place.parent.resolve().is_relative_to(top.resolve()):
        raise NotApplied(f"{name} is a link or lies behind one, so the patch was not applied")
    if not place.exists():
        return None
    try:
        real = place.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise NotApplied(f"{name} cannot be read as text, so the patch was not applied") from error
    # A debate sees no byte order mark; its first line keeps it here.
    return Standing(real, redactor.redact(clean(real.removeprefix(BOM))))


def restored(file: Standing | None, text: str, known: Mapping[str, str]) -> str:
    """The new text with its real values and line ends: lines that stay are taken as they are in the real file."""
    real = file.real.split("\n") if file else []
    seen = file.seen.split("\n") if file else []
    if len(real) != len(seen):
        raise NotApplied("a file has line ends of several kinds, so the patch was not applied")
    ending = "\r" if file and "\r\n" in file.real else ""
    new = text.split("\n")
    least, head, tail = min(len(seen), len(new)), 0, 0
    while head < least and seen[head] == new[head]:
        head += 1
    while tail < least - head and seen[-1 - tail] == new[-1 - tail]:
        tail += 1
    # Only what lies between is compared line by line, which takes long for long files.
    between = difflib.SequenceMatcher(None, seen[head : len(seen) - tail], new[head : len(new) - tail], autojunk=False)
    out = real[:head]
    for kind, a1, a2, b1, b2 in between.get_opcodes():
        if kind == "equal":
            out += real[head + a1 : head + a2]
        elif kind != "delete":
            last = len(new) - 1
            out += [_with_values(new[n], known) + (ending if n < last else "") for n in range(head + b1, head + b2)]
    out += real[len(real) - tail :]
    mark = BOM if file and file.real.startswith(BOM) else ""
    return mark + "\n".join(out).removeprefix(BOM)


def _with_values(line: str, known: Mapping[str, str]) -> str:
    for mark in PLACEHOLDER.findall(line):
        if mark not in known or "\n" in known[mark]:
            raise NotApplied(f"what {mark} stands for is not known here, so the patch was not applied")
        line = line.replace(mark, known[mark])
    return line


def _write_all(top: Path, made: Mapping[str, str | None]) -> None:
    """Lay every new text beside its place first; what could still fail then is a rename, and that is taken back."""
    laid: dict[Path, Path | None] = {}
    old: dict[Path, bytes | None] = {}
    name = ""
    try:
        for name, text in made.items():
            laid[top / name] = None if text is None else _laid(top / name, text)
        for place, fresh in laid.items():
            name = str(place.relative_to(top))
            old[place] = place.read_bytes() if place.exists() else None
            if fresh is None:
                place.unlink(missing_ok=True)
            else:
                fresh.replace(place)
    except OSError as error:
        for place, data in old.items():
            with suppress(OSError):
                place.unlink(missing_ok=True) if data is None else place.write_bytes(data)
        for fresh in filter(None, laid.values()):
            fresh.unlink(missing_ok=True)
        raise NotApplied(
            f"{name} cannot be written ({error.strerror}), so the patch was not applied",
            "No file was changed. Mend that, or apply final.patch by hand.",
        ) from error


def _laid(place: Path, text: str) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    mode = place.stat().st_mode & 0o777 if place.exists() else 0o666 & ~_umask()
    fd, name = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(text.encode("utf-8"))
        Path(name).chmod(mode)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
    return Path(name)


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
