"""Where the session's files go: into git's own folder, which nothing is ever staged from, else the user's state."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

from rebut.protocols.cross.settings import Settings

FOLDER = "review-loop"


def claim(settings: Settings, now: datetime, pid: int) -> str:
    """The session's second name, `debate-YYYYMMDD-HHMMSS-PID`; its folder is made, so that no other takes it."""
    while True:
        name = f"debate-{now:%Y%m%d-%H%M%S}-{pid}"
        if not settings.state_dir:
            return name
        try:
            Path(settings.state_dir).mkdir(mode=0o700, parents=True, exist_ok=True)
            Path(settings.state_dir, name).mkdir(mode=0o700)
        except FileExistsError:
            now += timedelta(seconds=1)
            continue
        except OSError:
            return name  # told when its files cannot be written
        return name


def state_dir(env: Mapping[str, str], workspace: Path) -> tuple[str, str]:
    """The folder that holds session folders, and a notice if it is not the first choice."""
    common = common_dir(workspace)
    elsewhere = outside(env, workspace) / FOLDER
    if common is None:
        return str(elsewhere), ""
    inside = common / FOLDER
    try:
        inside.mkdir(mode=0o700, exist_ok=True)
        probe = inside / ".writable"
        probe.touch(mode=0o600)
        probe.unlink()
    except OSError as error:
        return str(elsewhere), f"{inside} cannot be written ({error.strerror}); the files go to {elsewhere}"
    return str(inside), ""


def outside(env: Mapping[str, str], workspace: Path) -> Path:
    """The workspace's own folder in the user's state."""
    named = Path(env.get("XDG_STATE_HOME") or "")
    home = Path(env.get("HOME") or Path.home())
    key = hashlib.sha256(str(workspace).encode(errors="replace")).hexdigest()[:16]
    return (named if named.is_absolute() else home / ".local" / "state") / "debate" / key


def common_dir(workspace: Path) -> Path | None:
    """The git folder that all worktrees of a repository share; None outside of git. Nothing is run to find it."""
    for folder in (workspace, *workspace.parents):
        try:
            place = folder / ".git"
            if place.is_file():
                said = place.read_text(encoding="utf-8", errors="replace")[:4096]
                place = (folder / said.removeprefix("gitdir:").strip()).resolve()
            elif not place.is_dir():
                continue
            if (place / "commondir").is_file():
                place = (place / (place / "commondir").read_text(errors="replace").strip()[:4096]).resolve()
            # A `.git` file may name any folder there is: only one that looks like git's own is written to.
            return place if (place / "HEAD").is_file() and (place / "objects").is_dir() else None
        except OSError:
            return None
    return None
