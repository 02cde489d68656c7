"""The names of all files that a revision leaves in its phase's folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rebut.core.errors import UsageError
from rebut.protocols.revise.stages import Stage

LOG = "debate_log.md"


@dataclass(frozen=True, slots=True)
class Files:
    """Names by author (0 is the first) and number. Version 1 is the first draft, version n+1 comes out of round n."""

    stage: Stage
    names: tuple[str, ...]

    @property
    def result(self) -> str:
        return self.stage.result

    def source(self, author: int) -> str:
        """What a critique calls the document: `codex`, `review_codex`."""
        return self.names[author] if self.stage.name == "plan" else f"review_{self.names[author]}"

    def version(self, author: int, number: int) -> str:
        # A review's first author has the bare name: it is the one who also reviews alone.
        bare = self.stage.name == "review" and author == 0
        head = self.stage.name if bare else f"{self.stage.name}_{self.names[author]}"
        return f"{head}.md" if number == 1 else f"{head}_v{number}.md"

    def critique(self, of: int, round: int) -> str:
        return f"critique_of_{self.source(of)}_r{round}.md"

    def all(self, rounds: int) -> list[str]:
        """Every file of a whole debate of so many rounds."""
        authors = range(len(self.names))
        out = [self.version(a, 1) for a in authors]
        for n in range(1, rounds + 1):
            out += [self.critique(a, n) for a in authors] + [self.version(a, n + 1) for a in authors]
        return [*out, LOG, self.result]


def of_names(stage: Stage, names: Sequence[str], rounds: int) -> Files:
    """The files of these authors; refused where two of them would have one name, in either case of letters."""
    files = Files(stage, tuple(names))
    if len(names) > 1:
        twice = [name for name, count in Counter(n.casefold() for n in names).items() if count > 1]
        if twice:
            raise UsageError(
                f"two authors are called {twice[0]}, and their files would be, too",
                f"Give each a name: --author first={twice[0]}:… --author second={twice[0]}:….",
            )
        same = [name for name, count in Counter(n.casefold() for n in files.all(rounds)).items() if count > 1]
        if same:
            raise UsageError(
                f"the authors {' and '.join(names)} would share the file {same[0]}", "Give one another NAME=SPEC."
            )
    return files
