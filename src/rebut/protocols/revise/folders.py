"""Phases: the numbered folders under `.kiln/tracks`, and which of them a debate uses."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from rebut.core import files
from rebut.core.errors import UsageError
from rebut.core.json_value import Json
from rebut.engine.debate import Debate
from rebut.protocols.revise.settings import STAGES, Settings, Stage, refuse_link
from rebut.protocols.revise.state import LOG

NAME = re.compile(r"phase-([1-9]\d{0,8})")
CRITIQUE = {
    "plan": re.compile(r"critique_of_(?!review_).+_r\d+\.md"),
    "review": re.compile(r"critique_of_review_.+_r\d+\.md"),
}


async def phase_of(debate: Debate) -> int:
    """The phase of this debate, chosen and claimed once. A fork is another debate and gets another phase."""
    value = await debate.once("phase", lambda: _choose_phase(debate), cls="limit")
    assert isinstance(value, dict) and isinstance(value["phase"], int)
    return value["phase"]


def existing(tracks: Path) -> list[int]:
    """The phases that exist, the highest first."""
    try:
        found = [NAME.fullmatch(path.name) for path in tracks.iterdir() if path.is_dir()]
    except FileNotFoundError:
        return []
    return sorted((int(match[1]) for match in found if match), reverse=True)


def debated(place: Path, stage: Stage, strategy: str) -> str:
    """The file which shows that a phase was debated already; empty if there is none."""
    try:
        names = sorted(path.name for path in place.iterdir())
    except FileNotFoundError:
        return ""
    if strategy != "debate":
        result = "review.md" if strategy == "single" else stage.result
        return result if result in names else ""
    if found := next((name for name in names if CRITIQUE[stage.name].fullmatch(name)), ""):
        return found
    try:
        log = files.read(place / LOG).decode("utf-8", "replace")
    except OSError:
        return ""
    return LOG if re.search(rf"^## {stage.title}\s*$", log, re.M) else ""


def _choose_phase(debate: Debate) -> Json:
    settings: Settings = debate.settings
    stage = STAGES[settings.stage]
    if not settings.shared:
        return {"phase": settings.phase or 1}
    named = settings.phase and not debate.is_fork
    try:
        phases = existing(Path(settings.tracks))
        for phase in [settings.phase] if named else _candidates(phases, settings.phase):
            place = settings.track(phase)
            refuse_link(Path(settings.tracks).parents[1], place)
            if done := debated(place, stage, settings.strategy):
                if named:
                    raise _refused(stage, phase, f"{done} exists")
                continue
            holder = _claim(debate, place, stage, new=phase not in phases, named=bool(named))
            if not holder:
                return {"phase": phase}
            if named:
                raise _refused(stage, phase, f"session {holder} holds it; see `rebut show {holder}`")
    except OSError as error:
        raise UsageError(f"{settings.tracks} cannot be used: {error.strerror}", "Nothing was called.") from error
    raise AssertionError("there is always a next phase")


def _candidates(phases: list[int], least: int) -> Iterator[int]:
    """The existing phases, the highest first; then new ones."""
    yield from (phase for phase in phases if phase >= least)
    yield from itertools.count(max([*phases, least - 1, 0]) + 1)


def _claim(debate: Debate, place: Path, stage: Stage, *, new: bool, named: bool) -> str:
    """Claim a phase's folder for a stage. Returns which other session holds it; empty if this one holds it now."""
    strategy = debate.settings.strategy
    other = next(s for s in stage.strategies if s != strategy)
    # A debate may use the drafts of a session that wrote them here without a debate, once that session has ended. A
    # phase that the user named is used in any case.
    takes_up = strategy == "debate" and not debate.is_fork
    purpose = f"{stage.name} {other}"
    if not named and not new:
        holder = debate.claimed(str(place), purpose, shared=[LOG], unfinished=takes_up)
        if holder:
            return holder
    # `debated` has already checked that the log has no debate of this stage.
    return debate.claim(str(place), f"{stage.name} {strategy}", new=new, shared=[LOG])


def _refused(stage: Stage, phase: int, why: str) -> UsageError:
    return UsageError(
        f"phase {phase} already has a {stage.name} debate: {why}",
        "Leave out --phase to take the next one, or name another; existing files are not changed.",
    )
