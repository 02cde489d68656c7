"""Runners as data: how a check is run, and how its result is read. One TOML table each.

The shipped tables are in `runners.toml`; `[runners.NAME]` in the user's config adds one or changes one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

from rebut.core.files import shipped
from rebut.core.frozen import frozen
from rebut.core.tables import EXACT, Regex, TableName, load_tables
from rebut.proof.sandbox import Bounds, Ran

if TYPE_CHECKING:
    from rebut.proof.environments import Interpreter

Side = Literal["passes", "fails", "cannot run"]
"""What a check does on one side."""


@frozen
class SideResult:
    """What a check does on one side and, if it cannot run, why."""

    side: Side
    why: str = ""
    out: str = ""
    """What it printed to standard output."""
    shown: str = ""
    """All that it printed."""


@frozen
class Runner:
    """One way to run a check."""

    __pydantic_config__: ClassVar[ConfigDict] = EXACT
    name: TableName
    about: str
    """What the code of a check is, for the prompt."""
    languages: tuple[str, ...]
    """The names of fenced blocks in Markdown that hold such code."""
    needs: Literal["python", "node", "go", "system"]
    """The interpreter that is mounted, with the project's packages for it."""
    file: str
    """Where the code is put, relative to the copy."""
    command: tuple[str, ...]
    try_: Annotated[tuple[str, ...], Field(validation_alias="try")]
    """A command that ends with 0 if the runner works here."""
    fails: Literal["any"] | tuple[int, ...] = (1,)
    """The exit codes that mean that the check ran and failed; `any` for all but those of `cannot`."""
    cannot: tuple[int, ...] = ()
    cannot_output: Regex = ""
    """Output that means that the check did not run to its end."""
    needs_output: Regex = ""
    """Output that every check prints that runs to its end."""
    files: tuple[str, ...] = ()
    """Globs: a project with one of these files has a use for the runner. Empty for any project."""
    signed: bool = False
    """The launcher ends its report with a word that the check does not know."""
    reads: Regex = ""
    """Code that reads files or starts programs: the judge is told, as such a check may look at the text of a change."""
    seconds: Annotated[float, Field(gt=0, le=600)] = 20.0
    memory: int = 1_000_000_000
    address_space: int = 0
    written: int = 64_000_000

    @property
    def bounds(self) -> Bounds:
        return Bounds(self.seconds, self.memory, self.address_space, written=self.written)

    def argv(self, found: Interpreter, command: tuple[str, ...]) -> list[str]:
        return [re.sub(r"\$\{(\w+)\}", lambda m: found.names.get(m[1], m[0]), word) for word in command]

    def fits(self, names: Sequence[str]) -> bool:
        """Whether a project with these files has a use for it. Without any files, every runner may be of use."""
        return not self.files or not names or any(fnmatchcase(name, glob) for name in names for glob in self.files)

    def reads_files(self, code: str) -> bool:
        return bool(self.reads) and re.search(self.reads, code) is not None

    def result(self, ran: Ran, word: str) -> SideResult:
        """The result that a run means. `word` is the word that the launcher was given."""
        err, signed = ran.err, ""
        if self.signed and (found := re.search(rf"\n{word} ([a-z ]+)\n", err)):
            signed, err = found[1], err[: found.start()] + "\n" + err[found.end() :]
        shown = "\n".join(part.strip("\n") for part in (ran.out, err) if part.strip())
        both = f"{ran.out}\n{err}"
        if ran.cut:
            return SideResult("cannot run", CUT[ran.cut].format(self), ran.out, shown)
        if self.signed:
            if not signed:
                return SideResult("cannot run", "it exited before the check was finished", ran.out, shown)
            if signed in ("passes", "fails"):
                return SideResult("passes" if signed == "passes" else "fails", "", ran.out, shown)
            return SideResult("cannot run", UNSIGNED.get(signed, signed), ran.out, shown)
        if self.cannot_output and re.search(self.cannot_output, both):
            return SideResult("cannot run", "it did not load, or exited before the check was finished", ran.out, shown)
        if self.needs_output and not re.search(self.needs_output, both):
            return SideResult("cannot run", "no test ran", ran.out, shown)
        if ran.code == 0:
            return SideResult("passes", "", ran.out, shown)
        if ran.code is not None and ran.code not in self.cannot and (self.fails == "any" or ran.code in self.fails):
            return SideResult("fails", "", ran.out, shown)
        return SideResult("cannot run", f"exit code {ran.code}", ran.out, shown)


CUT = {
    "time": "it took longer than {0.seconds:g} s",
    "size": "it printed too much",
    "processes": "it started too many processes",
}
UNSIGNED = {
    "cannot run": "it does not fit the project: a name, an import or its syntax is wrong",
    "no test": "it has no test",
}


def load_runners(
    user_tables: Mapping[str, object] = MappingProxyType({}), file: str = "config.toml"
) -> dict[str, Runner]:
    """All runners by name: the shipped ones with the user's changes, and the user's own."""
    tables = shipped("runners.toml")["runners"]
    return load_tables("runners", Runner, tables, user_tables, file=file, see=SEE)


SEE = "docs/checks.md has every key, and an example."
