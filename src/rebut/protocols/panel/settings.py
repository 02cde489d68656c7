"""The settings of a panel, its limits, and the folder of its files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, Field

from rebut.core.errors import UsageError
from rebut.core.files import hide_from_git, link_below
from rebut.engine.plan import Plan
from rebut.engine.protocol import FilesFolder, NewSession
from rebut.protocols.panel.personas import lenses
from rebut.protocols.shared import OWN

TIMEOUT = 120.0


class Settings(BaseModel):
    """The settings of a panel."""

    rounds: int = Field(default=5, ge=1, le=10, description="rounds at most: the challenge, then one per rebuttal")
    min_challengers: int = Field(default=1, ge=1, le=12, description="how many challengers must answer")
    effort: str = Field(default="", description="thinking effort of every seat")
    place: str = Field(default="", description="the folder of the debates; - for the session's own; else the workspace")


def limits(settings: Settings) -> dict[str, float]:
    """Seconds for a call, unless the user sets another limit."""
    return {"timeout": TIMEOUT}


def calls(settings: Settings) -> dict[str, int]:
    """How many calls each seat makes at most, if the dissent never ends."""
    return {"lead": settings.rounds + 1, "challenger": settings.rounds + 2, "judge": 2}


def check(plan: Plan) -> list[str]:
    """Refuse more challengers than there are lenses, and a minimum of answers above the number of challengers."""
    count, least = sum(1 for p in plan.seats if p.seat.startswith("challenger.")), plan.settings.min_challengers
    if count > len(lenses()):
        raise UsageError(f"a panel has at most {len(lenses())} challengers, got {count}", "Name fewer.")
    if least > count:
        seated = f"{count} {'is' if count == 1 else 'are'} seated"
        raise UsageError(f"at least {least} challengers must answer, and {seated}", "Seat more, or ask for fewer.")
    return []


# Where a panel's files go: `debates/NNN-slug` in the workspace, with a number that no other panel has.

PARENT = "debates"
_NUMBERED = re.compile(r"(\d{3,9})(?:-.*)?", re.S)


def folder(session: NewSession) -> FilesFolder:
    """Claim a folder with the next free number. Two panels that start at the same time get different numbers."""
    place = session.settings.place
    parent = (session.session_folder if place == OWN else session.workspace / place) / PARENT
    try:
        if link := link_below(session.workspace, parent):
            raise UsageError(f"{link} is a link, which may lead anywhere", "Make it a folder, or start elsewhere.")
        parent.mkdir(parents=True, exist_ok=True)
        return FilesFolder(str(_claimed(parent, session.slug)))
    except OSError as error:
        raise UsageError(
            f"the panel's files cannot be kept in {parent}: {error.strerror}",
            "Nothing was called. Start in a folder that can be written.",
        ) from error


def _claimed(parent: Path, slug: str) -> Path:
    number = max(_taken(parent), default=0) + 1
    while True:
        # The number alone is claimed first: with the slug in the name, a panel on another topic could claim it, too.
        claimed = parent / f".{number:03}"
        try:
            claimed.mkdir(mode=0o700)
        except FileExistsError:
            number += 1
            continue
        if number in _taken(parent):
            claimed.rmdir()
            number += 1
            continue
        hide_from_git(claimed)
        return claimed.rename(parent / f"{number:03}-{slug}")


def _taken(parent: Path) -> Iterator[int]:
    return (int(found[1]) for entry in parent.iterdir() if (found := _NUMBERED.fullmatch(entry.name)))
