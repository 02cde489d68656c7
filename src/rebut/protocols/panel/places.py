"""Where a panel's files go: `debates/NNN-slug` in the workspace, the number claimed for it alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rebut.core.errors import UsageError
from rebut.protocols.panel.settings import OWN, Settings

PARENT = "debates"
_NUMBERED = re.compile(r"(\d{3,9})(?:-.*)?", re.S)


def folder(settings: Settings, workspace: Path, own: Path, slug: str) -> Path:
    """Claim the next free number. Two panels that start at once get two."""
    parent = (own if settings.place == OWN else workspace / settings.place) / PARENT
    try:
        if parent.is_symlink():
            raise UsageError(f"{parent} is a link, which may lead anywhere", "Make it a folder, or start elsewhere.")
        parent.mkdir(parents=True, exist_ok=True)
        return _claimed(parent, slug)
    except OSError as error:
        raise UsageError(
            f"the panel's files cannot be kept in {parent}: {error.strerror}",
            "Nothing was called. Start in a folder that can be written.",
        ) from error


def _claimed(parent: Path, slug: str) -> Path:
    number = max(_taken(parent), default=0) + 1
    while True:
        # Only the number is fought for: under its final name, another panel on another topic could have the same one.
        held = parent / f".{number:03}"
        try:
            held.mkdir(mode=0o700)
        except FileExistsError:
            number += 1
            continue
        if number in _taken(parent):
            held.rmdir()
            number += 1
            continue
        (held / ".gitignore").write_text("*\n", encoding="utf-8")
        return held.rename(parent / f"{number:03}-{slug}")


def _taken(parent: Path) -> Iterator[int]:
    return (int(found[1]) for entry in parent.iterdir() if (found := _NUMBERED.fullmatch(entry.name)))
