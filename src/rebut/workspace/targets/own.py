"""Rebut's own output in a workspace: no debate is about what debates left behind."""

from __future__ import annotations

import json
import re
from pathlib import Path

from rebut.record import sessions as session

# Tight on purpose, down to the endings: a project may well have a folder `debates` with code of its own.
OWN = re.compile(
    r"(?:^|/)(?:review-loop/debate-\d{8}-\d{6}-\d+/.*|\.kiln/tracks/.*|debates/\d{3,}-[^/]+/.*|debate/last-debate[^/]*)"
    r"\.(?:md|json|jsonl|patch|diff|txt|sarif)$",
    re.S,
)

OUTPUT = "rebut's own output"


def is_own(line: str) -> bool:
    """Whether a line on what was left out says this of it; the name of a file may hold the same words."""
    return re.search(rf": {OUTPUT} \([^)]*\)$", line) is not None


def is_review(path: str, text: str) -> bool:
    """Whether a file is what `--sarif` wrote: beside a change it would be reviewed with it the next time."""
    if not path.endswith((".sarif", ".json")) or '"rebut"' not in text:
        return False
    try:
        return bool(json.loads(text)["runs"][0]["tool"]["driver"]["name"] == "rebut")
    except (ValueError, LookupError, TypeError, RecursionError):
        return False


class Own:
    """Tells rebut's own files from those of a project."""

    def __init__(self, top: Path) -> None:
        kept = session.home()
        inside = kept.is_relative_to(top) and kept != top
        self.sessions = f"{kept.relative_to(top).as_posix()}/" if inside else ""

    def __contains__(self, path: str) -> bool:
        return bool(self.sessions and path.startswith(self.sessions)) or OWN.search(path) is not None
