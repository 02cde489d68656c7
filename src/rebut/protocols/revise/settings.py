"""The settings of a revision, and the preferences in the workspace's `.kiln/config.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from rebut.core import files
from rebut.core.errors import ConfigError, UsageError
from rebut.core.files import link_below, repository
from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.domain.limits import clamped
from rebut.engine.protocol import Preparation
from rebut.protocols.shared import OWN

TRACKS = ".kiln/tracks"
DEFAULT_ROUNDS = 2


class Settings(BaseModel):
    """The settings of a revision."""

    stage: Literal["plan", "review"] = Field(default="plan", description="what is written and debated")
    strategy: Literal["debate", "synthesize", "single"] = Field(default="debate", description="whether it is debated")
    rounds: int = Field(default=DEFAULT_ROUNDS, ge=1, le=3, description="rounds at most")
    phase: int = Field(default=0, ge=0, description="the number of the phase; 0 to choose it automatically")
    baseline: bool = Field(
        default=False, description="also synthesize the first drafts alone, to compare (one more call)"
    )
    show_names: bool = Field(default=False, description="tell authors who wrote what")
    effort: str = Field(default="", description="thinking effort of every seat")
    rewrites: str = Field(default="", description="the context file with the plan that is rewritten; - for the topic")
    other: str = Field(default="", description="the strategy of the other stage, for the log")
    tracks: str = Field(default="", description="the folder of the tracks")
    place: str = Field(default="", description="the folder that holds `.kiln`; - for the session's own")

    @property
    def shared(self) -> bool:
        """Whether the tracks are in a folder that other sessions use, too."""
        return Path(self.tracks).is_absolute()

    def track(self, phase: int) -> Path:
        """The folder of a phase."""
        return Path(self.tracks) / f"phase-{phase}"

    @property
    def debates(self) -> bool:
        return self.strategy == "debate"


def prepare(asked: Preparation) -> tuple[dict[str, Json], list[str]]:
    """Take settings from the workspace's preferences, where the user named no others. Returns settings and notices."""
    given, workspace = asked.named, asked.workspace
    stage = STAGES.get(str(given.get("stage") or "plan"))
    if stage is None:
        raise UsageError(f"there is no stage {given['stage']!r}", f"Stages are {' and '.join(STAGES)}.")
    base = home(workspace, repository(workspace))
    file = base / ".kiln/config.json"
    refuse_link(base, file)
    wishes = read_preferences(file)
    strategy = str(given.get("strategy") or (wishes.strategies[stage.name] if wishes.there else "debate"))
    if strategy not in stage.strategies:
        raise UsageError(f"a {stage.name} has no strategy {strategy!r}", f"It has {' and '.join(stage.strategies)}.")
    authors = given.get("author") or ()
    if strategy == "single" and not isinstance(authors, str) and len(authors) > 1:
        why = "" if given.get("strategy") else f", which {file} asks for"
        raise UsageError(
            f"the strategy single has one author{why}; {len(authors)} were named", "Name one, or add --strategy debate."
        )
    other = next(s for s in STAGES.values() if s is not stage)
    found: dict[str, Json] = {
        "strategy": strategy,
        "other": wishes.strategies[other.name] if wishes.there else "debate",
        "tracks": _tracks(str(given.get("place") or base), workspace),
    }
    notices: list[str] = []
    if wishes.there and not given.get("strategy"):
        notices.append(f"{stage.name} strategy {strategy}, from {file}")
    rounds = wishes.rounds if given.get("rounds") is None else None
    if rounds is not None:
        clamp_notices = notices if strategy == "debate" else []
        found["rounds"] = int(clamped(f"debateRounds of {file}", rounds, *ROUNDS, clamp_notices))
    return found, notices


def refuse_link(top: Path, path: Path) -> None:
    """Raise UsageError if a link is on the way from `top` to a path: it may lead to any folder of the user."""
    if link := link_below(top, path):
        raise UsageError(f"{link} is a link, which may lead anywhere", "Put a folder there instead.")


def seats_for(settings: Settings) -> dict[str, int]:
    """The seats. A single review has one author, and no synthesizer."""
    return {"author": 1} if settings.strategy == "single" else {"author": 2, "synthesizer": 1}


def calls(settings: Settings) -> dict[str, int]:
    """How many calls each seat of a role makes if no call fails."""
    if settings.strategy == "single":
        return {"author": 1}
    rounds = settings.rounds if settings.debates else 0
    return {"author": 1 + 2 * rounds, "synthesizer": 1 + (settings.baseline and settings.debates)}


def _tracks(place: str, workspace: Path) -> str:
    """The folder of the tracks. A relative one is in the session's own folder."""
    return TRACKS if place == OWN else str(workspace / place / TRACKS)


# the preferences in `.kiln/config.json`: which stages debate, and the maximum number of rounds

ROUNDS = (1, 3)


@frozen
class Preferences:
    """The preferences in the file. Without a file, a stage debates."""

    there: bool = False
    strategies: Mapping[str, str] = field(default_factory=dict)
    """Stage → its strategy, or the default if the file names none."""
    rounds: int | None = None


def home(workspace: Path, top: Path) -> Path:
    """The folder that contains `.kiln`: the nearest one at or above the workspace, else the top of the repository."""
    for folder in (workspace, *workspace.parents):
        if (folder / ".kiln").is_dir():
            return folder
        if folder == top:
            break
    return top


def read_preferences(file: Path) -> Preferences:
    try:
        text = files.read(file).decode("utf-8-sig")
    except FileNotFoundError:
        return Preferences()
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(error, UnicodeDecodeError):
            line = error.object.count(b"\n", 0, error.start) + 1
            raise ConfigError(f"{file}, line {line}: not UTF-8", "Save it as UTF-8; nothing was started.") from error
        raise ConfigError(f"{file} cannot be read: {error.strerror}", "Nothing was started.") from error
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigError(f"{file}, line {error.lineno}: {error.msg}", "Fix the file; nothing was started.") from error
    except RecursionError as error:
        raise ConfigError(f"{file} is nested too deeply", "Fix the file; nothing was started.") from error
    except ValueError as error:  # a number with thousands of digits
        raise ConfigError(f"{file}: {error}", "Fix the file; nothing was started.") from error
    table = data.get("preferences", {}) if isinstance(data, dict) else None
    if not isinstance(table, dict):
        where = _line(text, "preferences") if isinstance(data, dict) else 1
        raise ConfigError(f"{file}, line {where}: an object is expected", 'Write {"preferences": {…}}.')
    found = {stage.name: _strategy(file, text, table, stage) for stage in STAGES.values()}
    return Preferences(True, found, _rounds(file, text, table))


def _strategy(file: Path, text: str, table: Mapping[str, object], stage: Stage) -> str:
    value = table.get(stage.preference, stage.without)
    if value not in stage.strategies:
        raise ConfigError(
            f"{file}, line {_line(text, stage.preference)}: {stage.preference} is {_shown(value)}",
            f"It may be {' or '.join(stage.strategies)}; nothing was started.",
        )
    return str(value)


def _rounds(file: Path, text: str, table: Mapping[str, object]) -> int | None:
    value = table.get("debateRounds")
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool):
        raise ConfigError(
            f"{file}, line {_line(text, 'debateRounds')}: debateRounds is {_shown(value)}",
            f"It is a whole number, {ROUNDS[0]} to {ROUNDS[1]}; nothing was started.",
        )
    return value


def _line(text: str, key: str) -> int:
    """The line of a key. If the key is repeated, the line of the last one, whose value counts in JSON."""
    places = [match.start() for match in re.finditer(rf'"{key}"\s*:', text)]
    return text.count("\n", 0, places[-1]) + 1 if places else 1


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"


# the two stages, plan and review: only what differs between them


@frozen
class Stage:
    """The names of a stage, of its strategies and of its result."""

    name: str
    without: str
    """The strategy without a debate, and the default if the workspace has preferences."""
    preference: str
    """Its key in the workspace's preferences."""
    result: str
    title: str

    @property
    def strategies(self) -> tuple[str, str]:
        return (self.without, "debate")


PLAN = Stage("plan", "synthesize", "planStrategy", "PLAN.md", "Plan Debate")
REVIEW = Stage("review", "single", "reviewStrategy", "review_verdict.md", "Review Debate")
STAGES = {stage.name: stage for stage in (PLAN, REVIEW)}
