"""The settings of a duel."""

from __future__ import annotations

from pydantic import BaseModel, Field

from rebut.core.json_value import Json
from rebut.engine.protocol import Preparation
from rebut.protocols.shared import chosen_folder


class Settings(BaseModel):
    """The settings of a duel."""

    rounds: int = Field(default=2, ge=1, le=5, description="rounds of back and forth")
    all_rounds: bool = Field(default=False, description="hold every round, even if no point is open any more")
    effort: str = Field(default="", description="thinking effort of every seat")
    state_dir: str = Field(default="", description="where debate/last-debate.json is written")


def calls(settings: Settings) -> dict[str, int]:
    """How many calls each seat makes in a complete duel."""
    rounds = settings.rounds
    return {"proposer": rounds, "challenger": rounds, "judge": 1 + max(0, rounds - 2)}


def prepare(asked: Preparation) -> tuple[dict[str, Json], list[str]]:
    """The state file goes where the user says, else where the coding agent that rebut runs under looks for it."""
    chosen = chosen_folder(asked, "state_dir")
    return {"state_dir": asked.host_state if chosen is None else chosen}, []
