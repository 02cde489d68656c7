"""What a panel can be told, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field

from rebut.core.errors import UsageError
from rebut.core.types import Participant
from rebut.protocols.panel.personas import LENSES

TIMEOUT = 120.0
OWN = "-"
"""As a place: the session's own folder."""


class Settings(BaseModel):
    """What a panel can be told."""

    rounds: int = Field(default=5, ge=1, le=10, description="rounds at most: the challenge, then one per rebuttal")
    min_challengers: int = Field(default=1, ge=1, le=12, description="how many challengers must answer")
    effort: str = Field(default="", description="thinking effort of every seat")
    place: str = Field(default="", description="the folder of the debates; - for the session's own; else the workspace")


def limits(settings: Settings) -> dict[str, float]:
    """Seconds a call, where nobody set others."""
    return {"timeout": TIMEOUT}


def calls(settings: Settings) -> dict[str, int]:
    """How many calls each seat makes at most when nobody gives in."""
    return {"lead": settings.rounds + 1, "challenger": settings.rounds + 2, "judge": 2}


def fits(settings: Settings, seats: Sequence[Participant]) -> None:
    """As many challengers as there are lenses, and no more needed than are seated."""
    count, least = sum(1 for p in seats if p.seat.startswith("challenger.")), settings.min_challengers
    if count > len(LENSES):
        raise UsageError(f"a panel has at most {len(LENSES)} challengers, got {count}", "Name fewer.")
    if least > count:
        seated = f"{count} {'is' if count == 1 else 'are'} seated"
        raise UsageError(f"at least {least} challengers must answer, and {seated}", "Seat more, or ask for fewer.")
