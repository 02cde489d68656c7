"""The state of a revision: the versions of each author's document, the rounds, and the names of the files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rebut.core.errors import UsageError
from rebut.core.frozen import frozen
from rebut.core.text import tokens
from rebut.core.types import Participant
from rebut.domain.ledger import Claim, Entry
from rebut.protocols.revise.forms import Critique, Revision
from rebut.protocols.revise.settings import Settings, Stage
from rebut.protocols.shared import has_missing

LOG = "debate_log.md"


@dataclass
class ReviseState:
    """The state of one run. It is not recorded: a replay builds it again, like any other variable."""

    settings: Settings
    stage: Stage
    files: Files
    phase: int
    authors: Sequence[Participant]
    versions: list[list[DocumentVersion]] = field(default_factory=list)
    rounds: list[RoundSoFar] = field(default_factory=list)
    stale: dict[int, str] = field(default_factory=dict)
    """Author → why its latest version is older than the other's."""
    cut_short: str = ""
    """The failure or limit that ended the rounds."""
    missing: dict[int, str] = field(default_factory=dict)
    """Authors without a first draft, and why."""
    over: bool = False
    result: tuple[Claim, ...] = ()
    """What the synthesis itself cites."""
    result_path: str = ""
    contradiction: str = ""
    """How the verdict contradicts its own findings, if it does."""
    left_out: Sequence[str] = ()
    """The ids of the P1 and P2 on which the synthesizer did not rule."""
    ignored: Sequence[str] = ()
    """The ids of points that the synthesizer overrules although a check shows them, without a fault in the check."""
    settled: bool = False
    """Whether the user ended the rounds."""
    added: int = 0
    """Rounds that the user added to those of the settings."""
    fallbacks: list[str] = field(default_factory=list)
    """A sentence on each fallback that has answered by the time of the synthesis."""

    @property
    def planned(self) -> int:
        return self.settings.rounds + self.added

    @property
    def folder(self) -> Path:
        return self.settings.track(self.phase)

    @property
    def track(self) -> str:
        """The phase's folder, relative to the folder that holds `.kiln`, and so the same on every machine."""
        return "/".join(self.folder.parts[-3:])

    @property
    def complete(self) -> int:
        """The number of complete rounds."""
        return sum(1 for played in self.rounds if played.complete)

    @property
    def converged(self) -> str:
        return next((played.convergence for played in self.rounds if played.convergence), "")

    def latest(self, author: int) -> DocumentVersion:
        return self.versions[author][-1]

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def size(self) -> int:
        """Tokens that the closing call must read."""
        documents = sum(tokens(versions[-1].text) for versions in self.versions if versions)
        return documents + sum(tokens(c.text) for played in self.rounds for c in played.critiques.values())


@frozen
class DocumentVersion:
    """A version of an author's document. Number 1 is the first draft."""

    number: int
    text: str
    path: str = ""
    """The path of its file: beside the intended path, if another file is there."""
    taken_up: bool = False
    claims: tuple[Claim, ...] = ()
    """Its statements that cite a place, with the result of checking it."""


@dataclass
class RoundSoFar:
    """One round, complete or not."""

    n: int
    critiques: dict[int, Critiqued] = field(default_factory=dict)
    revisions: dict[int, Revised] = field(default_factory=dict)
    failed: dict[tuple[str, int], str] = field(default_factory=dict)
    """(step, author) → kind of failure and message."""
    forbidden: set[int] = field(default_factory=set)
    """Authors that were not asked because a limit left no room."""
    convergence: str = ""

    @property
    def complete(self) -> bool:
        return len(self.revisions) == 2

    @property
    def silent(self) -> list[int]:
        """The authors whose critique leaves out the list of weaknesses, which does not mean that there are none."""
        return [by for by, one in self.critiques.items() if has_missing(one.complaints)]


@frozen
class Critiqued:
    """A critique and its points."""

    form: Critique
    weaknesses: Sequence[tuple[str, Entry]]
    """The id of each weakness, and its entry in the ledger."""
    disagreements: Sequence[tuple[str, Entry]]
    text: str
    """The text of its file, without the backslashes that Markdown needs."""
    path: str = ""
    complaints: tuple[str, ...] = ()
    strengths: Sequence[Claim] = ()
    """The strengths that cite something, with their citations checked."""


@frozen
class Revised:
    """A revision, and the version that it produced."""

    form: Revision
    version: DocumentVersion
    complaints: tuple[str, ...] = ()


# the names of the files


@frozen
class Files:
    """The files' names, by author (0 is the first) and version: 1 is the first draft, n+1 comes out of round n."""

    stage: Stage
    names: tuple[str, ...]

    @property
    def result(self) -> str:
        return self.stage.result

    def source(self, author: int) -> str:
        """What a critique calls the document: `codex`, `review_codex`."""
        return self.names[author] if self.stage.name == "plan" else f"review_{self.names[author]}"

    def version(self, author: int, number: int) -> str:
        # The file of a review's first author is named like that of a single review, without the author's name.
        bare = self.stage.name == "review" and author == 0
        head = self.stage.name if bare else f"{self.stage.name}_{self.names[author]}"
        return f"{head}.md" if number == 1 else f"{head}_v{number}.md"

    def critique(self, of: int, round: int) -> str:
        return f"critique_of_{self.source(of)}_r{round}.md"

    def all(self, rounds: int) -> list[str]:
        """Every file of a complete debate with this many rounds."""
        authors = range(len(self.names))
        out = [self.version(a, 1) for a in authors]
        for n in range(1, rounds + 1):
            out += [self.critique(a, n) for a in authors] + [self.version(a, n + 1) for a in authors]
        return [*out, LOG, self.result]


def of_names(stage: Stage, names: Sequence[str], rounds: int) -> Files:
    """The files of these authors. Raises if two files would have the same name, upper and lower case alike."""
    files = Files(stage, tuple(names))
    if len(names) > 1:
        twice = [name for name, count in Counter(n.casefold() for n in names).items() if count > 1]
        if twice:
            raise UsageError(
                f"two authors are called {twice[0]}, so their files would have the same names",
                f"Give each a name: --author first={twice[0]}:… --author second={twice[0]}:….",
            )
        same = [name for name, count in Counter(n.casefold() for n in files.all(rounds)).items() if count > 1]
        if same:
            raise UsageError(
                f"the authors {' and '.join(names)} would share the file {same[0]}",
                "Give one author another name: --author NAME=SPEC.",
            )
    return files
