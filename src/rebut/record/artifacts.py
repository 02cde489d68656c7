"""Files that a debate writes outside its journal: atomically, and never over a file that is not its own."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from rebut.core import files
from rebut.core.errors import RecordError
from rebut.core.frozen import frozen
from rebut.core.text import file_bytes
from rebut.record import sessions
from rebut.record.events import Wrote
from rebut.record.record import Record


@frozen
class Artifact:
    """A file that a protocol writes. A relative path is in the session's folder."""

    path: str
    text: str
    """Lone surrogates represent bytes that are not UTF-8, as in Python's `surrogateescape`."""
    merge: Callable[[str], str] | None = None
    """For a file that sessions share: makes the new text from the text that another session wrote."""


def sha(text: str) -> str:
    return hashlib.sha256(file_bytes(text)).hexdigest()


def place(path: Path, record: Record, root: Path, kin: Sequence[str] = ()) -> Path:
    """Where to write: at `path`, or next to it if there is a file that rebut did not write or the user edited."""
    return beside(path, record) if os.path.lexists(path) and not is_ours(path, record, root, kin) else path


def beside(path: Path, record: Record) -> Path:
    return path.with_name(f"{path.stem}.{record.opened.id}{path.suffix}")


def text_at(path: Path) -> str | None:
    """The text of the file; None if there is none that can be read."""
    try:
        return files.read(path).decode("utf-8", "surrogateescape")
    except OSError:
        return None


def save(path: Path, text: str, fresh: bool = False) -> bool:
    """Write `text` to `path`, atomically. With `fresh`, False if a file has appeared there meanwhile: it stays."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return files.write(path, file_bytes(text), 0o600, replace=not fresh)
    except OSError as error:
        raise RecordError(f"{path} could not be written: {error.strerror}", "The debate itself is kept.") from error


def is_ours(path: Path, record: Record, root: Path, kin: Sequence[str] = ()) -> bool:
    """Whether the file has not changed since this session, one of `kin` or the session that it names wrote it."""
    text = text_at(path)
    if text is None or path.is_symlink():
        return False
    if _wrote(record, path, text):
        return True
    return any(_another_wrote(root, name, path, text) for name in (*kin, *_named(text)))


def _named(text: str) -> list[str]:
    """The session that a file names; none if it names a path, which could lead to a record that rebut did not write."""
    try:
        name = str(json.loads(text)["session"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return []
    return [name] if name.isalnum() else []


def _another_wrote(root: Path, name: str, path: Path, text: str) -> bool:
    try:
        return _wrote(sessions.load(root / name), path, text)
    except (ValueError, RecordError):
        return False


def _wrote(record: Record, path: Path, text: str) -> bool:
    """Whether a session ever announced this text for this file, whatever it announced later.

    It may have died before it wrote the later text.
    """
    ours = Wrote(path=str(path), sha=sha(text))
    return any(line.event == ours for line in record.lines)
