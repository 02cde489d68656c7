"""The text that the user gave to be debated, from the first of the places where it may stand."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rebut.core.errors import UsageError
from rebut.record import sessions as session
from rebut.workspace.snapshot import FILE_CAP, decode, is_never_sent
from rebut.workspace.targets.target import Wanted
from rebut.workspace.targets.transcripts import last_said
from rebut.workspace.tree import NEVER_READ


@dataclass(frozen=True, slots=True)
class Message:
    """A text, where it came from in words, the name of its file if it has one, and what was given but not used."""

    text: str
    origin: str
    name: str = ""
    unused: tuple[str, ...] = ()


def find(root: Path, wanted: Wanted, never: Sequence[str]) -> Message | None:
    """The first given of: argument, `--artifact-file`, standard input, `--context-file`, `--from-transcript`."""
    given = [
        ("the argument", bool(wanted.content.strip())),
        (f"--artifact-file {wanted.artifact_file}", bool(wanted.artifact_file)),
        ("standard input", bool(wanted.stdin.strip())),
        (f"--context-file {wanted.context_file}", bool(wanted.context_file)),
        ("--from-transcript", wanted.from_transcript),
    ]
    origins = [origin for origin, is_given in given if is_given]
    if not origins:
        return None
    origin, unused = origins[0], tuple(origins[1:])
    if origin == "the argument":
        return Message(wanted.content, origin, unused=unused)
    if origin == "standard input":
        return Message(wanted.stdin, origin, unused=unused)
    if origin == "--from-transcript":
        said = last_said(root)
        return Message(said.text, f"the last message in {said.file.name}, a transcript of {said.tool}")
    path = wanted.artifact_file if origin.startswith("--artifact") else wanted.context_file
    return Message(_text(root, path, never), origin, path, unused)


def _text(root: Path, path: str, never: Sequence[str]) -> str:
    place = confined(root, path)
    top = session.repository(root.resolve())
    # A glob with a folder in it is held against the path below the top, wherever the user stands.
    below = str(place.relative_to(top)) if place.is_relative_to(top) else place.name
    if is_never_sent(path, never) or is_never_sent(below, never):
        raise UsageError(f"{path} is {NEVER_READ}", "Put what should be debated into another file.")
    text = read(place, path)[0]
    if not text.strip():
        raise UsageError(f"{path} is empty", "Name a file that holds what should be debated.")
    return text


def confined(root: Path, path: str) -> Path:
    """The real place of a file. What stands in the workspace may be a link, but not one that leads out of it."""
    top = session.repository(root.resolve())
    place = Path(os.path.normpath(root.resolve() / Path(path).expanduser()))
    try:
        real = place.resolve()
    except (OSError, RuntimeError) as error:
        raise UsageError(f"{path} is a link that leads nowhere", "Name the file itself.") from error
    if place.is_relative_to(top) and not real.is_relative_to(top):
        raise UsageError(f"{path} is a link that leads out of the workspace", f"If you mean {real}, name that.")
    return real


def read(place: Path, path: str) -> tuple[str, str]:
    """A file's text and a note on how it was read, or an error that names it as the user did."""
    try:
        if place.is_dir():
            raise UsageError(f"{path} is a folder", "Name a file in it.")
        if not place.is_file():
            raise UsageError(f"there is no file {path}", "Paths are taken from the current folder.")
        with place.open("rb") as file:
            data = file.read(FILE_CAP + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "Nothing was called.") from error
    if len(data) > FILE_CAP:
        raise UsageError(f"{path} is larger than 1 MB", "Cut it down to what should be debated.")
    found = decode(data)
    if found is None:
        raise UsageError(f"{path} is binary", "Only text can be debated.")
    return found
