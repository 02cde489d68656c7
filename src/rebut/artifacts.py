"""Files that a debate leaves outside its journal: written whole or not at all, never over somebody else's work."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path

from rebut import session
from rebut.errors import RecordError
from rebut.record import Record


def sha(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def save(path: Path, text: str, record: Record, root: Path) -> Path:
    """Write `text` at `path`, atomically; beside it when a foreign or edited file stands there. Returns where."""
    if path.exists() and not is_ours(path, record, root):
        path = path.with_name(f"{path.stem}.{record.opened.id}{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
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
    return path


def is_ours(path: Path, record: Record, root: Path) -> bool:
    """Whether the file is as this session, or the session that it names, wrote it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    if path.is_symlink():
        return False
    known = record.wrote.get(str(path))
    if known and known.sha == sha(text):
        return True
    try:
        other = session.load(root / str(json.loads(text)["session"]))
    except (ValueError, KeyError, TypeError, RecordError):
        return False
    wrote = other.wrote.get(str(path))
    return wrote is not None and wrote.sha == sha(text)
