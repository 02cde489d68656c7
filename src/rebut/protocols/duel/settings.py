"""The settings of a duel, and the folder of its state file."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, Field

from rebut.core.files import hide_from_git, link_below
from rebut.core.json_value import Json
from rebut.engine.protocol import FilesFolder, NewSession, Preparation
from rebut.protocols.shared import chosen_folder

STATE_FOLDER = "debate"


class Settings(BaseModel):
    """The settings of a duel."""

    rounds: int = Field(default=2, ge=1, le=5, description="rounds of back and forth")
    all_rounds: bool = Field(default=False, description="hold every round, even if no point is open any more")
    judges: int = Field(default=1, ge=1, le=9, description="judges, who decide by majority")
    both_orders: bool = Field(default=False, description="ask each judge in both orders of the sides")
    effort: str = Field(default="", description="thinking effort of every seat")
    state_dir: str = Field(default="", description="where debate/last-debate.json is written")


def calls(settings: Settings) -> dict[str, int]:
    """How many calls each seat makes in a complete duel."""
    rounds = settings.rounds
    return {"proposer": rounds, "challenger": rounds, "judge": verdicts(settings) + max(0, rounds - 2)}


class Judging(Protocol):
    """The settings of a protocol with judges."""

    judges: int
    both_orders: bool


def closings(settings: Judging) -> int:
    """How often each judge is asked for its verdict."""
    return 2 if settings.both_orders else 1


def verdicts(settings: Judging) -> int:
    """How many calls the verdicts of all judges take."""
    return settings.judges * closings(settings)


def seats_for(settings: Judging) -> dict[str, int]:
    return {"proposer": 1, "challenger": 1, "judge": settings.judges}


def folder(session: NewSession) -> FilesFolder:
    """Make the folder of the state file. A new folder is hidden from git; an existing one is left as it is."""
    place = Path(session.settings.state_dir, STATE_FOLDER)
    if session.settings.state_dir and not link_below(session.workspace, place):
        with suppress(OSError):  # reported when the file cannot be written
            place.mkdir(mode=0o700, parents=True)
            hide_from_git(place)
    return FilesFolder()


def prepare(asked: Preparation) -> tuple[dict[str, Json], list[str]]:
    """Choose the place of the state file: the user's choice, else the state folder of the coding agent around rebut."""
    chosen = chosen_folder(asked, "state_dir")
    return {"state_dir": asked.host_state if chosen is None else chosen}, []
