"""What a panel can be told, and what follows from it."""

from __future__ import annotations

from pydantic import BaseModel, Field

TIMEOUT = 120.0


class Settings(BaseModel):
    """What a panel can be told."""

    rounds: int = Field(default=5, ge=1, le=10, description="rounds at most: the challenge, then one per rebuttal")
    min_challengers: int = Field(default=1, ge=1, le=12, description="how many challengers must answer")
    effort: str = Field(default="", description="thinking effort of every seat")


def limits(settings: Settings) -> dict[str, float]:
    """Seconds a call, where nobody set others."""
    return {"timeout": TIMEOUT}


def calls(settings: Settings) -> dict[str, int]:
    """How many calls each seat makes at most when nobody gives in."""
    return {"lead": settings.rounds + 1, "challenger": settings.rounds + 2, "judge": 2}
