"""The settings of a question."""

from __future__ import annotations

from pydantic import BaseModel, Field


class Settings(BaseModel):
    """The settings of a question."""

    rounds: int = Field(default=1, ge=1, le=5, description="rounds of debate, if the answers differ")
    effort: str = Field(default="", description="thinking effort of every seat")


def calls(settings: Settings) -> dict[str, int]:
    """How many calls each seat makes if the answers differ: an answer, and a challenge and a defense in each round."""
    each = 1 + 2 * settings.rounds
    return {"proposer": each, "challenger": each, "judge": 2}
