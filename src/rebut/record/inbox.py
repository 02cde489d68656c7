"""The inbox of a session: a folder in which another process leaves notes and requests for the one that runs the debate.

The journal belongs to the process that has the lock. Another process writes a file here; the one that runs the debate,
or the next that resumes it, records the note and deletes the file.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from rebut.core import files
from rebut.record import stores

FOLDER = "inbox"
REFUSED = ".refused"
SETTLE = "\x01settle\x01"
"""A note with this text is not for the seats: it is a request to end the rounds now."""
LARGEST = 100_000
"""Bytes of a note that are read."""


def leave(session: Path, text: str) -> Path:
    """Leave a note. The file is there as a whole or not at all; names sort by time."""
    folder = session / FOLDER
    if store := stores.of(session.parent):
        return folder / store.leave_note(session.name, text)
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"{time.time_ns():020d}-{os.getpid()}"
    files.write(path, text.encode(errors="replace"), 0o600)
    return path


def waiting(session: Path) -> list[tuple[Path, str]]:
    """The notes that are not on record yet, the oldest first."""
    if store := stores.of(session.parent):
        return [(session / FOLDER / number, text) for number, text in store.notes(session.name)]
    try:
        names = os.listdir(f"{session}/{FOLDER}")  # noqa: PTH208  called often, and mostly there is no folder
    except OSError:
        return []
    out = []
    for name in sorted(names):
        if not name.startswith(".") and not name.endswith(REFUSED):
            with suppress(OSError):
                path = session / FOLDER / name
                out.append((path, files.read(path, LARGEST).decode(errors="replace")))
    return out


def take(path: Path, refused: str = "") -> None:
    """Remove a note that is now on record, or that was refused: `refused` says why."""
    if store := stores.of(path.parent.parent.parent):
        store.take_note(path.name, refused)
        return
    if refused:
        with suppress(OSError):
            files.write(path.with_name(path.name + REFUSED), refused.encode(errors="replace"), 0o600)
    path.unlink(missing_ok=True)


def withdraw(path: Path) -> None:
    """Delete a note that is not on record yet."""
    if store := stores.of(path.parent.parent.parent):
        store.withdraw_note(path.name)
    else:
        path.unlink(missing_ok=True)


def answer(path: Path) -> str | None:
    """What became of a note: None while it waits, empty if it is on record, else why it was refused."""
    if store := stores.of(path.parent.parent.parent):
        return store.answer(path.name)
    if path.exists():
        return None
    why = path.with_name(path.name + REFUSED)
    try:
        said = files.read(why, LARGEST).decode(errors="replace")
    except OSError:
        return ""
    why.unlink(missing_ok=True)
    return said
