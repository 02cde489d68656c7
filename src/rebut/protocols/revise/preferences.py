"""The preferences in a workspace's `.kiln/config.json`: which stages debate, and for how many rounds at most."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rebut.core.errors import ConfigError
from rebut.protocols.revise.stages import STAGES, Stage

ROUNDS = (1, 3)
DEFAULT_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Preferences:
    """What the file says. Without a file, a stage debates."""

    there: bool = False
    strategies: Mapping[str, str] = field(default_factory=dict)
    """Stage → strategy, the default filled in."""
    rounds: int | None = None


def clamped(rounds: int) -> int:
    return max(ROUNDS[0], min(ROUNDS[1], rounds))


def home(workspace: Path, top: Path) -> Path:
    """The folder that holds `.kiln`: the nearest one above the workspace that does, else the repository's own."""
    for folder in (workspace, *workspace.parents):
        if (folder / ".kiln").is_dir():
            return folder
        if folder == top:
            break
    return top


def read(file: Path) -> Preferences:
    try:
        text = file.read_bytes().decode("utf-8-sig")
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
        raise ConfigError(f"{file}, line {error.lineno}: {error.msg}", "Mend the file; nothing was started.") from error
    except RecursionError as error:
        raise ConfigError(f"{file} is nested too deeply", "Mend the file; nothing was started.") from error
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
    """Where a key stands; its last place counts, as it does for JSON."""
    places = [match.start() for match in re.finditer(rf'"{key}"\s*:', text)]
    return text.count("\n", 0, places[-1]) + 1 if places else 1


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"
