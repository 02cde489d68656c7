"""What a cross review can be told, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, Field, model_validator

from rebut.core.types import Json
from rebut.workspace.targets import Target, split, told as told_of

SHORT_TIMEOUT = 120
DIFF_TOKENS = 40_000
"""A larger change is split by file into critiques that run side by side."""


@dataclass(frozen=True, slots=True)
class Profile:
    """How much of everything an intensity stands for."""

    rounds: int
    minutes: float
    timeout: float


PROFILES: Mapping[str, Profile] = {
    "quick": Profile(1, 10, 180),
    "standard": Profile(3, 20, 600),
    "extensive": Profile(5, 40, 900),
}


class Settings(BaseModel):
    """What a cross review can be told."""

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


def implied(settings: Settings) -> dict[str, str]:
    """Manual mode is a seat: a person decides where else the judge's word would be taken."""
    return {"decider": "human"} if settings.mode == "manual" else {}


def calls(settings: Settings) -> dict[str, int]:
    """How many calls a review makes if every round ends in a compromise."""
    rounds = settings.rounds or 1
    return {"author": 0, "critic": rounds, "judge": 2 * rounds, "decider": rounds if settings.mode == "manual" else 0}


def notices(settings: Settings, limits: Mapping[str, Json], target: Target | None) -> list[str]:
    told: list[str] = []
    timeout = limits.get("timeout")
    if target is None:
        return told
    if target.kind != "code" and isinstance(timeout, int | float) and timeout < SHORT_TIMEOUT:
        told.append(f"{timeout:g} s a call is short for a {target.kind} target; {SHORT_TIMEOUT} s or more is advisable")
    if large := told_of(split(target, DIFF_TOKENS)):
        told.append(large)
    told += [f"not read: {line}" for line in target.left_out]
    return told
