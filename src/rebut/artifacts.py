"""Files that a debate leaves outside its journal: written whole or not at all, never over somebody else's work."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path

from rebut import session
from rebut.errors import RecordError
from rebut.events import Wrote
from rebut.record import Record


def sha(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def place(path: Path, record: Record, root: Path) -> Path:
    """Where to write: at `path`, or beside it when a foreign or edited file stands there."""
    if path.exists() and not is_ours(path, record, root):
        return path.with_name(f"{path.stem}.{record.opened.id}{path.suffix}")
    return path


def save(path: Path, text: str) -> None:
    """Write `text` at `path`, atomically."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(fd, "w", encoding="utf-8", errors="replace") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise RecordError(f"{path} could not be written: {error.strerror}", "The debate itself is kept.") from error


def is_ours(path: Path, record: Record, root: Path) -> bool:
    """Whether the file is as this session, or the session that it names, wrote it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    if path.is_symlink():
        return False
    if _wrote(record, path, text):
        return True
    try:
        other = session.load(root / str(json.loads(text)["session"]))
    except (ValueError, KeyError, TypeError, RecordError):
        return False
    return _wrote(other, path, text)


def _wrote(record: Record, path: Path, text: str) -> bool:
    """Whether a session ever meant to write this. Any time counts: its process may have died before a later version."""
    ours = Wrote(path=str(path), sha=sha(text))
    return any(line.event == ours for line in record.lines)
