"""Analysers as data: which files each reads, how it is called, how its report is read. One TOML table each.

The shipped tables are in `analysers.toml`; `[analysers.NAME]` in the user's config adds one or changes one.
"""

from __future__ import annotations

import re
import shutil
import sysconfig
from collections.abc import Mapping
from dataclasses import field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

from rebut.core import process
from rebut.core.files import on_path, shipped
from rebut.core.frozen import frozen
from rebut.core.scratch import scratch_folder
from rebut.core.tables import EXACT, Files, Regex, TableName, load_tables

Severity = Literal["P1", "P2", "P3"]
Category = Literal["correctness", "security", "reliability", "performance", "maintainability", "tests", "other"]
Where = Mapping[str, str | int | bool]
VERSION_SECONDS = 20.0


@frozen
class Edits:
    """Where the fix of a finding is in the report: replacements of text between two positions."""

    __pydantic_config__: ClassVar[ConfigDict] = EXACT
    each: str
    line: str
    column: str
    end_line: str
    end_column: str
    text: str
    where: Where = field(default_factory=dict)
    """Conditions on the finding, such as that its fix is marked as safe."""


@frozen
class Report:
    """How a report in JSON is read. Values are dotted paths: `*` means every member, a number one member of a list."""

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
    """The path of a finding's locations, if it may have several: the first that matches `where` counts."""
    where: Where = field(default_factory=dict)
    first: Literal[0, 1] = 1
    """The tool's number of the first line and the first column."""
    rule_prefix: str = ""
    unread: str = ""
    """The path of the files that the tool reports as unreadable."""
    edits: Edits | None = None


@frozen
class Grade:
    """The severity and category of some of a tool's rules. The first grade that matches a finding counts."""

    __pydantic_config__: ClassVar[ConfigDict] = EXACT
    rules: tuple[str, ...]
    severity: Severity
    category: Category
    level: str = "*"
    action: str = ""


@frozen
class Analyser:
    """One static analyser."""

    __pydantic_config__: ClassVar[ConfigDict] = EXACT
    name: TableName
    command: str
    files: tuple[str, ...]
    """Globs of the paths, or of the last part of a path, that it reads."""
    output: Report
    grades: Annotated[tuple[Grade, ...], Field(min_length=1)]
    shebang: Regex = ""
    """A pattern for the first line of files without a suffix that the analyser also reads."""
    keep: tuple[str, ...] = ()
    """File names that have a meaning for the analyser. All other files are given to it under a neutral name."""
    args: tuple[str, ...] = ()
    """Arguments before the files. `${folder}` is the folder with the files of `lay`."""
    lay: Files = field(default_factory=dict)
    one_by_one: bool = False
    """One process per file, for a tool that fails on all files if one is broken."""
    exits: tuple[int, ...] = (0, 1)
    """Exit codes after which there is a report."""
    begins: Regex = ""
    """A pattern for the first line of a statement, for a tool that does not report where a finding ends: the finding is
    about all lines before the next such line."""
    unread_rules: tuple[str, ...] = ()
    """Rules whose findings mean that the rest of the file was not read."""
    masks: Regex = ""
    """A pattern for comments that could silence an analyser without a flag against them: they become unreadable."""
    silenced: Regex = ""
    """A pattern for comments that silence a rule. One that is older than the change lowers a finding to P3."""
    timeout: Annotated[float, Field(gt=0, le=3600)] = 120.0
    install: str = ""
    version_args: tuple[str, ...] = ("--version",)

    def reads(self, path: str, text: str) -> bool:
        """Whether the analyser reads this file."""
        name = path.rpartition("/")[2]
        if any(fnmatchcase(path, glob) or fnmatchcase(name, glob) for glob in self.files):
            return True
        return bool(self.shebang) and "." not in name and re.match(self.shebang, text) is not None


def load_analysers(user_tables: Mapping[str, object], file: str = "config.toml") -> dict[str, Analyser]:
    """All analysers by name: the shipped ones with the user's changes, and the user's own."""
    tables = shipped("analysers.toml")
    whole = {name: {"command": name, **tables.get(name, {})} for name in {**tables, **user_tables}}
    return load_tables("analysers", Analyser, whole, user_tables, file=file, see=SEE)


SEE = "docs/analysers.md has every key, and an example."


def find_executable(analyser: Analyser, env: Mapping[str, str]) -> Path | None:
    """The path of the program: beside the Python that runs rebut, where the extra `lint` installs it, or on PATH."""
    places = f"{sysconfig.get_path('scripts')}:{env.get('PATH', '')}"
    return on_path(analyser.command, {"PATH": places})


def environment(home: Path) -> dict[str, str]:
    """The whole environment of an analyser: no variable and no file of the user can change its behaviour."""
    own = {"HOME": str(home), "TMPDIR": str(home), "XDG_CONFIG_HOME": str(home), "XDG_CACHE_HOME": str(home)}
    plain = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "TERM": "dumb"}
    return {**own, **plain, "PYTHONSAFEPATH": "1", "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"}


async def version(
    analyser: Analyser, executable: Path, env: Mapping[str, str], seconds: float = VERSION_SECONDS
) -> str:
    """The version that the analyser reports; empty if none. Each executable is asked once."""
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
    folder = scratch_folder(env)
    argv = [str(executable), *analyser.version_args]
    try:
        ended = await process.run_program(argv, cwd=folder, env=environment(folder), seconds=seconds, mark=folder)
    except OSError:
        return ""
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    number = re.search(r"\d+(?:\.\d+)+", ended.out)
    return number[0] if number and ended.code == 0 else ""
