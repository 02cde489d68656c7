"""Where dismissals are kept: privately in the user's state, or in the repository, to be committed and shared."""

from __future__ import annotations

import hashlib
from contextlib import AbstractContextManager
from pathlib import Path

from rebut.ci.basis import LARGEST_LIST, SHARED
from rebut.ci.dismissal import Dismissal, parse
from rebut.core import files as whole
from rebut.core.errors import ConfigError, UsageError
from rebut.record import folder_claims as claims, sessions as session


def private_file(sessions: Path, workspace: Path) -> Path:
    """The user's own list for a repository, beside the folder of all sessions."""
    key = hashlib.sha256(str(session.repository(workspace)).encode("utf-8", "replace")).hexdigest()[:16]
    return sessions.parent / "dismissals" / f"{key}.jsonl"


def shared_file(workspace: Path) -> Path:
    """The repository's list as it stands in the working tree. A link would lead a stranger's repository elsewhere."""
    file = session.repository(workspace) / SHARED
    for place in (file.parent, file):
        if place.is_symlink():
            raise UsageError(f"{place} is a symbolic link, which is not followed", "Put a plain file in its place.")
    return file


def load(file: Path) -> tuple[Dismissal, ...]:
    try:
        if not file.is_file():
            return ()
        if file.stat().st_size > LARGEST_LIST:
            raise ConfigError(f"{file} is larger than {LARGEST_LIST:,} bytes", "Take out what has lapsed.")
        return parse(file.read_text(encoding="utf-8-sig", errors="replace"), str(file))
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}", "Check its permissions.") from error


def add(file: Path, one: Dismissal, *, private: bool) -> None:
    """Keep a dismissal; the same one again takes the place of the first."""
    with _alone(file):
        _write(file, [*(d for d in load(file) if d.id != one.id), one], private=private)


def remove(file: Path, id: str, *, private: bool) -> Dismissal | None:
    with _alone(file):
        every = load(file)
        gone = next((d for d in every if d.id == id), None)
        if gone is not None:
            _write(file, [d for d in every if d.id != id], private=private)
    return gone


def _alone(file: Path) -> AbstractContextManager[None]:
    """From reading a list to writing it: of two that do so at once, the later would undo what the first one added."""
    return claims.alone(session.home(), file)


def _write(file: Path, every: list[Dismissal], *, private: bool) -> None:
    """All at once, so that nobody ever reads half a list."""
    text = "".join(one.to_line() for one in every)
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700 if private else 0o777)
        whole.write(file, text.encode("utf-8", "replace"), 0o600 if private else 0o666)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from error
