"""Analysers as data: which files each reads, how it is called, how its report is understood. One TOML table each.

The shipped tables are in `analysers.toml`; `[analysers.NAME]` in the user's own config adds one or changes one.
"""

from __future__ import annotations

import re
import shutil
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from rebut.backends.cli_tools.tables import EXACT, Files, Regex, merged, private_folder
from rebut.core import process
from rebut.core.errors import ConfigError
from rebut.core.files import shipped as shipped_tables

Severity = Literal["P1", "P2", "P3"]
Category = Literal["correctness", "security", "reliability", "performance", "maintainability", "tests", "other"]
Where = Mapping[str, str | int | bool]
VERSION_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Edits:
    """Where a finding's fix stands, as changes of the text from one place to another."""

    __pydantic_config__: ClassVar[ConfigDict] = EXACT
    each: str
    line: str
    column: str
    end_line: str
    end_column: str
    text: str
    where: Where = field(default_factory=dict)
    """What must hold of the finding, such as that its fix is called safe."""


@dataclass(frozen=True, slots=True)
class Report:
    """How a report in JSON is understood. Values are dotted paths: `*` is every member, a number one of a list."""

    __pydantic_config__: ClassVar[ConfigDict] = EXACT
    items: str
    rule: str
    path: str
    line: str
    message: str
    end: str = ""
    end_column: str = ""
    level: str = ""
    help: str = ""
    within: str = ""
    """Where in a finding its place stands, when it may have several: the first that fits `where`."""
    where: Where = field(default_factory=dict)
    first: Literal[0, 1] = 1
    """What the tool calls the first line and the first column."""
    rule_prefix: str = ""
    unread: str = ""
    """Files that the tool says it could not read."""
    edits: Edits | None = None


@dataclass(frozen=True, slots=True)
class Grade:
    """What some of a tool's rules weigh. The first grade that fits a finding counts."""

    __pydantic_config__: ClassVar[ConfigDict] = EXACT
    rules: tuple[str, ...]
    severity: Severity
    category: Category
    level: str = "*"
    action: str = ""


@dataclass(frozen=True, slots=True)
class Analyser:
    """One static analyser."""

    __pydantic_config__: ClassVar[ConfigDict] = EXACT
    name: str
    command: str
    files: tuple[str, ...]
    """Globs of the paths, or of the last part of a path, that it reads."""
    output: Report
    grades: Annotated[tuple[Grade, ...], Field(min_length=1)]
    shebang: Regex = ""
    """How the first line begins of files without a suffix that it reads too."""
    keep: tuple[str, ...] = ()
    """Names of files that mean something to it. All others are laid before it under a name of ours."""
    args: tuple[str, ...] = ()
    """Before the files. `${folder}` holds what is in `lay`."""
    lay: Files = field(default_factory=dict)
    one_by_one: bool = False
    """A process for each file, for a tool that gives up on all when one is broken."""
    exits: tuple[int, ...] = (0, 1)
    """Exit codes with which there is a report."""
    unread_rules: tuple[str, ...] = ()
    """Findings which say that the rest of the file was not looked at."""
    masks: Regex = ""
    """Comments by which the text under review could silence it, where it has no flag against that."""
    silenced: Regex = ""
    """What such a comment looks like: a finding on its line is told, and weighs little."""
    timeout: Annotated[float, Field(gt=0, le=3600)] = 120.0
    install: str = ""
    version_args: tuple[str, ...] = ("--version",)

    def reads(self, path: str, text: str) -> bool:
        """Is this a file for it?"""
        name = path.rpartition("/")[2]
        if any(fnmatchcase(path, glob) or fnmatchcase(name, glob) for glob in self.files):
            return True
        return bool(self.shebang) and "." not in name and re.match(self.shebang, text) is not None


def load(user_tables: Mapping[str, object], file: str = "config.toml") -> dict[str, Analyser]:
    """All analysers by name: the shipped ones, changed and added to by the user's."""
    shipped = shipped_tables("analysers.toml")
    found = {}
    for name in [*shipped, *(n for n in user_tables if n not in shipped)]:
        mine = user_tables.get(name, {})
        if not isinstance(mine, Mapping) or not re.fullmatch(r"[A-Za-z][\w.-]*", name):
            raise ConfigError(f"{file}: analysers.{name} must be a table with a plain name", SEE)
        table = merged({"command": name, **shipped.get(name, {})}, mine)
        try:
            found[name] = _adapter().validate_python({**table, "name": name})
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            key = ".".join(["analysers", name, *map(str, first["loc"])])
            raise ConfigError(f"{file}: {key}: {first['msg'].lower()}", SEE) from None
    return found


SEE = "docs/analysers.md has every key, and an example."


@lru_cache(maxsize=1)
def _adapter() -> TypeAdapter[Analyser]:
    return TypeAdapter(Analyser)


def find_executable(analyser: Analyser, env: Mapping[str, str]) -> Path | None:
    """Where it is: beside the Python that runs rebut, as the extra `lint` brings it, or on the PATH given.

    A relative entry of PATH is passed over: a repository could plant a program there.
    """
    if "/" in analyser.command:
        path = Path(analyser.command).expanduser()
        return path if path.is_absolute() and shutil.which(path) else None
    places = [sysconfig.get_path("scripts"), *env.get("PATH", "").split(":")]
    found = shutil.which(analyser.command, path=":".join(place for place in places if place.startswith("/")))
    return Path(found) if found else None


def environment(home: Path) -> dict[str, str]:
    """All that an analyser gets to see: nothing of the user's, so that no variable and no file of theirs changes it."""
    own = {"HOME": str(home), "TMPDIR": str(home), "XDG_CONFIG_HOME": str(home), "XDG_CACHE_HOME": str(home)}
    plain = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "TERM": "dumb"}
    return {**own, **plain, "PYTHONSAFEPATH": "1", "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"}


async def version(
    analyser: Analyser, executable: Path, env: Mapping[str, str], seconds: float = VERSION_SECONDS
) -> str:
    """The version that it gives itself; empty when it does not say. Asked once of each file that is run."""
    known = (str(executable), _changed_at(executable))
    if known not in _versions:
        _versions[known] = await _version(analyser, executable, env, min(seconds, VERSION_SECONDS))
    return _versions[known]


_versions: dict[tuple[str, int], str] = {}


def _changed_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


async def _version(analyser: Analyser, executable: Path, env: Mapping[str, str], seconds: float) -> str:
    folder = private_folder(env)
    argv = [str(executable), *analyser.version_args]
    try:
        said = await process.run(argv, cwd=folder, env=environment(folder), seconds=seconds)
    except OSError:
        return ""
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    number = re.search(r"\d+(?:\.\d+)+", said.out)
    return number[0] if number and said.code == 0 else ""
