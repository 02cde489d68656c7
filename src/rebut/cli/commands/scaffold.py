"""A protocol to begin from: its file and its test, both working as they are written."""

from __future__ import annotations

import keyword
import re
from pathlib import Path

from rebut.cli.installed_files import shipped
from rebut.core.errors import UsageError


def protocol(name: str, folder: Path) -> tuple[Path, Path]:
    """Write NAME.py and test_NAME.py into a folder."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise UsageError(f"{name!r} is no name for a protocol", "Take small letters, digits and underscores.")
    wanted = folder / f"{name}.py", folder / f"test_{name}.py"
    for path in wanted:
        if path.exists() or path.is_symlink():
            raise UsageError(f"{path} is there already", "Take another name, or another --folder.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, template in zip(wanted, ("protocol.txt", "test.txt"), strict=True):
            text = shipped("new")[template]
            path.write_text(text.replace("NAME", name), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{error.filename} cannot be written: {error.strerror}", "Choose another --folder.") from error
    return wanted
