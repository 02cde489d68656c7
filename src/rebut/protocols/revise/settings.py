"""What a revision can be told, and what its workspace says about it beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, field_validator

from rebut.core.errors import UsageError
from rebut.core.types import Json
from rebut.protocols.revise import preferences
from rebut.protocols.revise.stages import STAGES

TRACKS = ".kiln/tracks"
OWN = "-"
"""As a place: the session's own folder."""


class Settings(BaseModel):
    """What a debate of this protocol can be told."""

    stage: Literal["plan", "review"] = Field(default="plan", description="what is written and argued out")
    strategy: Literal["debate", "synthesize", "single"] = Field(default="debate", description="whether it is debated")
    rounds: int = Field(default=preferences.DEFAULT_ROUNDS, description="rounds at most, 1 to 3; clamped")
    phase: int = Field(default=0, ge=0, description="the number of the track; 0 for the one that is due")
    baseline: bool = Field(default=False, description="one call more: the synthesis of the first drafts, to compare")
    show_names: bool = Field(default=False, description="tell authors who wrote what")
    effort: str = Field(default="", description="thinking effort of every seat")
    other: str = Field(default="", description="the strategy of the other stage, for the log")
    tracks: str = Field(default="", description="the folder of the tracks")
    place: str = Field(default="", description="the folder that holds `.kiln`; - for the session's own")

    @field_validator("rounds")
    @classmethod
    def _clamp(cls, rounds: int) -> int:
        return preferences.clamped(rounds)

    @property
    def shared(self) -> bool:
        """Whether the tracks are a folder that others use, too, and not the session's own."""
        return Path(self.tracks).is_absolute()

    @property
    def debates(self) -> bool:
        return self.strategy == "debate"


def prepare(given: Mapping[str, Any], workspace: Path) -> tuple[dict[str, Json], list[str]]:
    """Settings as the workspace's preferences want them; what was named wins over these."""
    stage = STAGES.get(str(given.get("stage") or "plan"))
    if stage is None:
        raise UsageError(f"there is no stage {given['stage']!r}", f"Stages are {' and '.join(STAGES)}.")
    base = preferences.home(workspace, _top(workspace))
    file = base / ".kiln/config.json"
    wishes = preferences.read(file)
    strategy = str(given.get("strategy") or (wishes.strategies[stage.name] if wishes.there else "debate"))
    if strategy not in stage.strategies:
        raise UsageError(f"a {stage.name} has no strategy {strategy!r}", f"It has {' and '.join(stage.strategies)}.")
    authors = given.get("author") or ()
    if strategy == "single" and not isinstance(authors, str) and len(authors) > 1:
        why = "" if given.get("strategy") else f", which {file} asks for"
        raise UsageError(
            f"the strategy single has one author{why}; {len(authors)} were named",
            "Name one, or add --strategy debate.",
        )
    other = next(s for s in STAGES.values() if s is not stage)
    found: dict[str, Json] = {
        "strategy": strategy,
        "other": wishes.strategies.get(other.name, other.without),
        "tracks": _tracks(str(given.get("place") or base), workspace),
    }
    told: list[str] = []
    if wishes.there and not given.get("strategy"):
        told.append(f"{stage.name} strategy {strategy}, from {file}")
    rounds, of = given.get("rounds"), "rounds"
    if rounds is None and wishes.rounds is not None:
        rounds, of = wishes.rounds, f"debateRounds of {file}"
    if isinstance(rounds, int):
        found["rounds"] = preferences.clamped(rounds)
        if found["rounds"] != rounds and strategy == "debate":
            told.append(f"{of}: {rounds} was taken as {found['rounds']}; 1 to 3 are possible")
    return found, told


def company(settings: Settings) -> dict[str, int]:
    """Who sits: a single review has one author, and nothing to synthesize."""
    return {"author": 1} if settings.strategy == "single" else {"author": 2, "synthesizer": 1}


def calls(settings: Settings) -> dict[str, int]:
    """How many calls each seat of a role makes when all goes well."""
    if settings.strategy == "single":
        return {"author": 1}
    rounds = settings.rounds if settings.debates else 0
    return {"author": 1 + 2 * rounds, "synthesizer": 1 + (settings.baseline and settings.debates)}


def _tracks(place: str, workspace: Path) -> str:
    """The folder of the tracks. A relative one lies in the session's folder, where nobody else writes."""
    return TRACKS if place == OWN else str(workspace / place / TRACKS)


def _top(workspace: Path) -> Path:
    """The repository that the workspace lies in, else the workspace itself."""
    return next((above for above in (workspace, *workspace.parents) if (above / ".git").exists()), workspace)
