"""The settings of a question."""

from __future__ import annotations

from pydantic import BaseModel, Field

from rebut.protocols.duel.settings import closings as closings, seats_for as seats_for, verdicts


class Settings(BaseModel):
    """The settings of a question."""

    rounds: int = Field(default=1, ge=1, le=5, description="rounds of debate, if the answers differ")
    judges: int = Field(default=1, ge=1, le=9, description="judges, who decide by majority")
    both_orders: bool = Field(default=False, description="ask each judge in both orders of the answers")
    effort: str = Field(default="", description="thinking effort of every seat")


def calls(settings: Settings) -> dict[str, int]:
    """How many calls each seat makes if the answers differ: an answer, and a challenge and a defense in each round."""
    each = 1 + 2 * settings.rounds
    return {"proposer": each, "challenger": each, "judge": settings.judges + verdicts(settings)}
