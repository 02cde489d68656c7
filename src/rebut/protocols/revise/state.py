"""The course of a revision: who writes, what stands after each round, and why it ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rebut.core.text import tokens
from rebut.core.types import Participant
from rebut.domain.ledger import Claim, Entry
from rebut.protocols.revise.files import Files
from rebut.protocols.revise.forms import Critique, Revision
from rebut.protocols.revise.settings import Settings
from rebut.protocols.revise.stages import Stage


@dataclass(frozen=True, slots=True)
class Version:
    """A document of one author. Number 1 is the first draft."""

    number: int
    text: str
    path: str = ""
    """Where it really is: beside its own place, if somebody else's file stands there."""
    taken_up: bool = False
    claims: tuple[Claim, ...] = ()
    """What it says with a place beside it, and what looking that up showed."""


@dataclass(frozen=True, slots=True)
class Critiqued:
    """A critique and its points."""

    by: int
    form: Critique
    weaknesses: Sequence[tuple[str, Entry]]
    """Each with the id under which it stands."""
    disagreements: Sequence[tuple[str, Entry]]
    text: str
    """As it stands in its file."""
    path: str = ""
    complaints: tuple[str, ...] = ()
    strengths: Sequence[Claim] = ()
    """Those that cite something, looked up."""

    @property
    def of(self) -> int:
        return 1 - self.by


@dataclass(frozen=True, slots=True)
class Revised:
    """A revision and the version that it made."""

    by: int
    form: Revision
    version: Version
    complaints: tuple[str, ...] = ()


@dataclass
class Played:
    """One round, as far as it came."""

    n: int
    critiques: dict[int, Critiqued] = field(default_factory=dict)
    revisions: dict[int, Revised] = field(default_factory=dict)
    failed: dict[tuple[str, int], str] = field(default_factory=dict)
    """(step, author) → class and message."""
    forbidden: set[int] = field(default_factory=set)
    """Authors who were not asked, because a limit left no room for it: that is no fault of theirs."""
    convergence: str = ""

    @property
    def complete(self) -> bool:
        return len(self.revisions) == 2


@dataclass
class Course:
    """What a run knows."""

    settings: Settings
    stage: Stage
    files: Files
    phase: int
    authors: Sequence[Participant]
    versions: list[list[Version]] = field(default_factory=list)
    rounds: list[Played] = field(default_factory=list)
    stale: dict[int, str] = field(default_factory=dict)
    """Author → why its latest version is an earlier one than the other's."""
    cut_short: str = ""
    """The failure or limit that ended the rounds."""
    missing: dict[int, str] = field(default_factory=dict)
    """Authors without a first draft, and why."""
    over: bool = False
    result: tuple[Claim, ...] = ()
    """What the synthesis itself cites."""
    result_path: str = ""
    settled: bool = False
    """The rounds were ended by hand."""
    added: int = 0
    """Rounds beyond the settings', added by hand."""

    @property
    def planned(self) -> int:
        return self.settings.rounds + self.added

    @property
    def folder(self) -> Path:
        return Path(self.settings.tracks) / f"phase-{self.phase}"

    @property
    def complete(self) -> int:
        """Rounds that were completed."""
        return sum(1 for played in self.rounds if played.complete)

    @property
    def converged(self) -> str:
        return next((played.convergence for played in self.rounds if played.convergence), "")

    def latest(self, author: int) -> Version:
        return self.versions[author][-1]

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def size(self) -> int:
        """Tokens that the closing call will have to read."""
        documents = sum(tokens(versions[-1].text) for versions in self.versions if versions)
        return documents + sum(tokens(c.text) for played in self.rounds for c in played.critiques.values())
