"""A debate as one HTML file: the same page, with its style, its script and the debate inside. It loads nothing.

The file is made to be passed on. So it has the answers and the cited lines, but neither prompts nor lines that were
read and not cited, unless the user asks for these too.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import cast

from rebut.core.json_value import Json
from rebut.domain.fixes import lines_of
from rebut.record.record import Record
from rebut.web import assets
from rebut.web.frames import Row
from rebut.web.live_session import LiveSession, Versions
from rebut.web.session_list import compared

NEAR = 3
"""Lines around a hunk in which a citation counts as one of the hunk."""


async def document(folder: Path, versions: Versions, *, prompts: bool = False) -> str:
    """The session in `folder` as one HTML file."""
    followed = LiveSession(folder, versions)
    try:
        followed.update()
        cited = await followed.cited()
    finally:
        await followed.close()
    frames = [frame for frame in followed.frames if len(frame) > 3 or frame["kind"] != "fact"]
    if not prompts:
        frames = [_cited_only(frame, frames) for frame in frames]
    raw: Row = {key: cast(Json, followed.raw(key, prompts=prompts)) for key in followed.record.calls}
    data: Row = {"frames": cast(Json, frames), "raw": raw, "parent": compared(followed.record, folder.parent)}
    return page({**_without_folders(data, followed.record), "cited": cast(Json, cited)})


def _without_folders(data: Row, record: Record) -> Row:
    """The data with the user's folders by name, not by path: readers of the file need not know where they are."""
    folders = {str(folder): Path(folder).name for folder in (record.opened.workspace, record.opened.started_in)}
    folders[str(Path.home())] = "~"
    known = [folder for folder in sorted(folders, key=len, reverse=True) if folder.count("/") and len(folder) > 1]
    pattern = re.compile(rf"(?<![\w/])(?:{'|'.join(map(re.escape, known))})(?![\w.-])") if known else None

    def shown(value: Json) -> Json:
        if isinstance(value, str):
            return pattern.sub(lambda found: folders[found[0]], value) if pattern else value
        if isinstance(value, dict):
            return {name: shown(part) for name, part in value.items()}
        return [shown(part) for part in value] if isinstance(value, list) else value

    return cast(Row, shown(data))


def page(data: Row) -> str:
    """The page with the data in it. Its policy allows this script and this style, by their hashes, and nothing else."""
    script, style = assets.script(), assets.style()
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    html = assets.page()
    html = html.replace(
        '<meta charset="utf-8">',
        f'<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{policy}">',
    )
    html = html.replace('<link rel="stylesheet" href="/style.css">', f"<style>{style}</style>")
    stored = f'<script type="application/json" id="debate">{_embedded(data)}</script>'
    loaded = '<script type="module" src="/app.js"></script>'
    before, _, after = html.partition(loaded)
    return f'{before}{stored}\n<script type="module">{script}</script>{after}'


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


_UNSAFE = re.compile(r"[<>&\u2028\u2029]")


def _embedded(data: Row) -> str:
    """JSON that cannot end the element it is in."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode("utf-8", "replace").decode()


def _cited_only(frame: Row, frames: list[Row]) -> Row:
    """The frame; if it has the target under review, only with the hunks that are cited."""
    target = frame.get("target")
    if not isinstance(target, dict):
        return frame
    places = _places(frames)
    files: list[Json] = []
    for file in cast(list[Row], target.get("files", [])):
        near = places.get(str(file["path"]), []) + places.get(str(file.get("old")), [])
        hunks = [
            hunk if _meets(cast(list[Json], hunk), near) else [*cast(list[Json], hunk)[:2], None]
            for hunk in cast(list[Json], file.get("hunks", []))
        ]
        files.append({**file, "hunks": cast(Json, hunks)})
    rest = {name: value for name, value in target.items() if name not in ("text", "files")}
    return {**frame, "target": {**rest, "files": files}}


def _places(frames: list[Row]) -> dict[str, list[tuple[int, int]]]:
    """The lines of each file that a finding, a claim or an answer cites."""
    out: dict[str, list[tuple[int, int]]] = {}

    def look(value: Json) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("place"), str) and (found := lines_of(str(value["place"]))):
                out.setdefault(found[0].removeprefix("./"), []).append(found[1:])
            for part in value.values():
                look(part)
        elif isinstance(value, list):
            for part in value:
                look(part)

    for frame in frames:
        look({name: value for name, value in frame.items() if name in ("points", "claims", "unmatched")})
    return out


def _meets(hunk: list[Json], near: list[tuple[int, int]]) -> bool:
    old, new, text = cast(int, hunk[0]), cast(int, hunk[1]), str(hunk[2])
    lines = text.count("\n") + 1
    spans = ((start - NEAR, start + lines + NEAR) for start in (old, new))
    return any(first <= b and a <= last for a, b in spans for first, last in near)
