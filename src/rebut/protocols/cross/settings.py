"""The settings of a cross review, its seats and limits, and the folder of its files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, model_validator

from rebut.core.files import hide_from_git
from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.engine.plan import Plan
from rebut.engine.protocol import FilesFolder, NewSession, Preparation, Role
from rebut.protocols.shared import chosen_folder
from rebut.workspace.git import belongs
from rebut.workspace.targets.split import split, split_notice
from rebut.workspace.targets.unread import not_read

SHORT_TIMEOUT = 120
SEATS = {
    "author": Role(silent=True),
    "critic": Role(program="lint", stand_in="judge"),
    "judge": Role(program="rules", independent=False),
    "decider": Role(0),
}
DIFF_TOKENS = 40_000
"""A larger change is split by file into critiques that run side by side."""


@frozen
class Profile:
    """The rounds and limits of an intensity."""

    rounds: int
    minutes: float
    timeout: float


PROFILES: Mapping[str, Profile] = {
    "quick": Profile(1, 10, 180),
    "standard": Profile(3, 20, 600),
    "extensive": Profile(5, 40, 900),
}


class Settings(BaseModel):
    """The settings of a cross review."""

    intensity: Literal["quick", "standard", "extensive"] = Field(
        default="standard", description="how many rounds, and how long"
    )
    rounds: int | None = Field(default=None, ge=1, le=5, description="rounds at most; by intensity if not given")
    mode: Literal["auto", "manual"] = Field(default="auto", description="who chooses A to E: the judge, or a person")
    skip_materialize_opposite: bool = Field(default=False, description="on B, do not have the final artifact written")
    effort: str = Field(default="", description="thinking effort of every seat")
    state_dir: str = Field(default="", description="the folder that holds the session's folder")

    @model_validator(mode="after")
    def _by_intensity(self) -> Settings:
        if self.rounds is None:
            self.rounds = PROFILES[self.intensity].rounds
        return self


def limits(settings: Settings) -> dict[str, float]:
    """The limits of the intensity; flags and the user's config override them."""
    profile = PROFILES[settings.intensity]
    return {"minutes": profile.minutes, "timeout": profile.timeout}


def seats_for(settings: Settings) -> dict[str, Role]:
    """In manual mode a person has the seat of the decider; otherwise the judge's choice counts."""
    decider = Role(0, model="human") if settings.mode == "manual" else Role(0)
    return {**SEATS, "decider": decider}


def calls(settings: Settings) -> dict[str, int]:
    """How many calls a review makes if every round ends in a compromise."""
    rounds = settings.rounds or 1
    return {"author": 0, "critic": rounds, "judge": 2 * rounds, "decider": rounds if settings.mode == "manual" else 0}


def check(plan: Plan) -> list[str]:
    """Return notices about the target: the time-out is short for it, it is split, or parts of it are not read."""
    notices: list[str] = []
    target, timeout = plan.target, plan.limits.timeout
    if target is None:
        return notices
    if target.kind != "code" and timeout < SHORT_TIMEOUT:
        advised = f"{SHORT_TIMEOUT} s or more is advisable"
        notices.append(f"{timeout:g} s a call is short for a {target.kind} target; {advised}")
    if large := split_notice(split(target, DIFF_TOKENS)):
        notices.append(large)
    return [*notices, *not_read(target.left_out)]


# Where the session's files go: into git's own folder, whose files are never staged, else the user's state folder.

FOLDER = "review-loop"


def folder(session: NewSession) -> FilesFolder:
    return FilesFolder(alias=claim(session.settings, datetime.now(), os.getpid()))


def claim(settings: Settings, now: datetime, pid: int) -> str:
    """Return the session's second name, `debate-YYYYMMDD-HHMMSS-PID`, and make its folder to claim the name."""
    parent = Path(settings.state_dir)
    if settings.state_dir:
        with suppress(OSError):  # if this fails, the next `mkdir` fails, too
            parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    while True:
        name = f"debate-{now:%Y%m%d-%H%M%S}-{pid}"
        if not settings.state_dir:
            return name
        try:
            (parent / name).mkdir(mode=0o700)
        except FileExistsError:
            now += timedelta(seconds=1)
        except OSError:
            return name  # reported when its files cannot be written
        else:
            if ".git" not in parent.parts:
                with suppress(OSError):
                    hide_from_git(parent / name)
            return name


def prepare(asked: Preparation) -> tuple[dict[str, Json], list[str]]:
    """Choose the folder that holds session folders: the user's choice, else the first default that can be written."""
    chosen = chosen_folder(asked, "state_dir")
    if chosen is not None or asked.dry_run:
        return {"state_dir": chosen or ""}, []
    place, notice = state_dir(asked.env, asked.workspace)
    return {"state_dir": place}, [notice] if notice else []


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
        probe.unlink(missing_ok=True)  # another review may have tried at the same moment
    except OSError as error:
        return str(elsewhere), f"{inside} cannot be written ({error.strerror}); the files go to {elsewhere}"
    return str(inside), ""


def outside(env: Mapping[str, str], workspace: Path) -> Path:
    """The folder for this workspace in the user's state folder."""
    named = Path(env.get("XDG_STATE_HOME") or "")
    home = Path(env.get("HOME") or Path.home())
    key = hashlib.sha256(str(workspace).encode(errors="replace")).hexdigest()[:16]
    return (named if named.is_absolute() else home / ".local" / "state") / "debate" / key


def common_dir(workspace: Path) -> Path | None:
    """The git folder that all worktrees of a repository share; None outside of git. No command is run to find it."""
    for folder in (workspace, *workspace.parents):
        try:
            place = folder / ".git"
            if place.is_file():
                said = place.read_text(encoding="utf-8", errors="replace")[:4096]
                place = (folder / said.removeprefix("gitdir:").strip()).resolve()
            elif not place.is_dir():
                continue
            mine = belongs(place, folder)
            if (place / "commondir").is_file():
                place = (place / (place / "commondir").read_text(errors="replace").strip()[:4096]).resolve()
            # A `.git` file may name any folder; return only the git folder of this repository, as rebut writes to it.
            is_git = (place / "HEAD").is_file() and (place / "objects").is_dir()
            return place if is_git and mine else None
        except (OSError, RuntimeError, ValueError):  # also links that lead in a circle, and invalid file names
            return None
    return None
