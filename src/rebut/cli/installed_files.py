"""Copies shipped files to a folder of the user. A file that is not rebut's, or was edited since, is never replaced."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from rebut.core.errors import UsageError
from rebut.core.files import PACKAGE, write
from rebut.core.frozen import frozen

LIST = ".rebut-laid.json"
"""The file beside the copies with the hash of each one as written, by which rebut recognises its own files."""


@frozen
class InstalledFile:
    """One file, and what was done with it."""

    path: Path
    how: Literal["new", "same", "updated", "left alone"]


def place(name: str) -> Path:
    """The path of a shipped folder in this installation."""
    return PACKAGE / "shipped" / name


def shipped(name: str) -> dict[str, str]:
    """The files of a shipped folder: path below it → text."""
    folder = place(name)
    files = {one.relative_to(folder).as_posix(): one for one in folder.rglob("*") if one.is_file()}
    return {path: file.read_text("utf-8") for path, file in sorted(files.items())}


def install(
    texts: Mapping[str, str], folder: Path, hint: str = "Choose a folder that you can write to."
) -> list[InstalledFile]:
    """Write the files to `folder`. Files that rebut wrote are updated; edited files and others are left alone.

    `hint` says what to do if the folder cannot be written.
    """
    ours = _ours(folder)
    out = []
    try:
        for name, text in texts.items():
            path = folder / name
            how = _how(path, text, ours.get(name, ""))
            if how in ("new", "updated"):
                path.parent.mkdir(parents=True, exist_ok=True)
                write(path, text.encode())
            if how != "left alone":
                ours[name] = _sha(text.encode())
            out.append(InstalledFile(path, how))
        if any(one.how in ("new", "updated") for one in out):
            write(folder / LIST, f"{json.dumps(ours, indent=1)}\n".encode())
    except OSError as error:
        raise UsageError(f"{error.filename or folder} cannot be written: {error.strerror}", hint) from error
    return out


def _how(path: Path, text: str, written: str) -> Literal["new", "same", "updated", "left alone"]:
    if not path.exists() and not path.is_symlink():
        return "new"
    now = _sha(path.read_bytes()) if path.is_file() else ""
    if now == _sha(text.encode()):
        return "same"
    return "updated" if written and now == written and not path.is_symlink() else "left alone"


def _ours(folder: Path) -> dict[str, str]:
    try:
        found = json.loads((folder / LIST).read_bytes())
    except (OSError, ValueError):
        return {}
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
