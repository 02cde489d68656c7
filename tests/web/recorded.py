"""The recorded sessions, as the room of the page reads them: their folders, journals and frames."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from rebut.core.json_value import Json
from rebut.record.journal import Tail
from rebut.record.record import Record
from rebut.web.frames import Frames

DATA = Path(__file__).parent.parent / "data/sessions"
FOLDERS = sorted(path.parent for path in DATA.glob("*/sessions/*/journal.jsonl"))
NAMES = [f"{folder.parent.parent.name}-{folder.name}" for folder in FOLDERS]


@cache
def taken(folder: Path) -> tuple[Frames, list[dict[str, Any]]]:
    """All frames of a session, and what made them."""
    made = Frames()
    return made, [made.take(line) for line in Tail(folder).take()]


def copied(folder: Path, home: Path) -> Path:
    """A session with the names that git does not track, in a home of its own."""
    for path in folder.rglob("*"):
        if path.is_file():
            to = home / "sessions" / folder.name / path.relative_to(folder).as_posix().replace("dot-git", ".git")
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, to)
    return home / "sessions" / folder.name


def written(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def secrets_of(record: Record) -> list[str]:
    """The keys of a session."""
    return [str(value) for value in _strings(record.facts["keys"].value) if len(str(value)) >= 8]


def prompts_of(record: Record) -> list[str]:
    """What was asked, without the ends, which another text may share."""
    asked = [one for call in record.calls.values() for one in call.asked.values()]
    return [text[20:-20] for one in asked for text in (one.prompt, one.followup) if len(text) > 200]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)
    elif isinstance(value, str):
        yield value


def folded(frames: list[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The points and claims that a page has after these frames, by its own rules: see `page/debate.js`."""
    points: dict[str, Any] = {}
    claims: dict[str, Any] = {}
    for frame in frames:
        for id in frame.get("gone", ()):
            points.pop(id, None) or claims.pop(id, None)
        for row in frame.get("points", ()):
            kept = {name: points[row["id"]][name][:count] + row[name] for name, count in row.get("kept", {}).items()}
            points[row["id"]] = {**row, **kept}
        claims |= {row["id"]: row for row in frame.get("claims", ())}
    return points, claims
