"""Claims: which session may write into a folder that other sessions may want. They are stored next to the sessions."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from rebut.core.errors import RecordError
from rebut.record import sessions


def claim(root: Path, folder: Path, purpose: str, id: str, shared: Collection[str] = ()) -> str:
    """Claim `folder` for a purpose. Returns the session that holds it now: `id` itself, or the session that was first.

    The claim's file appears with its content or not at all: a process that dies in between leaves no empty claim.
    Call this inside `alone`, since it replaces a void claim.
    """
    place = _place(root, folder)
    own = place / f".{id}.{secrets.token_hex(4)}"
    wanted = place / purpose.replace("/", "-")
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        own.write_text(id, encoding="utf-8")
        try:
            if not holder(root, folder, purpose, shared):
                wanted.unlink(missing_ok=True)
            os.link(own, wanted)
        except FileExistsError:
            return wanted.read_text(encoding="utf-8")
        finally:
            own.unlink(missing_ok=True)
    except OSError as error:
        raise RecordError(f"{folder} could not be claimed: {error.strerror}", f"Look at {place}.") from error
    return id


def holder(root: Path, folder: Path, purpose: str, shared: Collection[str] = (), *, unfinished: bool = False) -> str:
    """The session that holds a folder for a purpose; empty if none does.

    A claim is void if its session was deleted, or has ended and none of its files in the folder exists any more. Files
    named in `shared`, which other sessions write too, do not count. With `unfinished`, an ended session has no claim.
    """
    try:
        id = (_place(root, folder) / purpose.replace("/", "-")).read_text(encoding="utf-8")
    except OSError:
        return ""
    return "" if _void(root, folder, id, shared, unfinished) else id


def _void(root: Path, folder: Path, id: str, shared: Collection[str], unfinished: bool) -> bool:
    if not ((root / id).is_dir() or sessions.exists(root / id)):
        return True
    try:
        record = sessions.load(root / id)
    except RecordError:
        return False  # the session is being opened, or cannot be read: it may not have ended
    wrote = [path for path in map(Path, record.wrote) if path.parent == folder and path.name not in shared]
    return record.closed is not None and (unfinished or not any(path.is_symlink() or path.exists() for path in wrote))


def holders(root: Path, folder: Path) -> list[str]:
    """The sessions that hold a folder, for any purpose."""
    try:
        found = [path for path in sorted(_place(root, folder).iterdir()) if not path.name.startswith(".")]
        return [path.read_text(encoding="utf-8") for path in found]
    except OSError:
        return []


def forget(root: Path, folder: Path) -> None:
    """Remove the claims on a folder that no longer exists."""
    for path in _place(root, folder).glob("[!.]*"):
        path.unlink(missing_ok=True)


@contextmanager
def alone(root: Path, folder: Path) -> Iterator[None]:
    """Hold a lock while changing a file that several sessions share."""
    import fcntl

    place = _place(root, folder)
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(place / ".lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise RecordError(f"{folder} could not be locked: {error.strerror}", f"Look at {place}.") from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _place(root: Path, folder: Path) -> Path:
    name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:24]
    return root.parent / "claims" / name
