"""The state of a review: its versions, the recommendations of the judge, and what the next critique will see."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rebut.domain.review_result import Recommended
from rebut.engine.debate import Round
from rebut.protocols.cross.forms import Judgement
from rebut.protocols.cross.versions import ArtifactVersion


@dataclass
class CrossState:
    """Local to one run, and rebuilt by replay like any other variable."""

    versions: list[ArtifactVersion]
    history: list[Recommended] = field(default_factory=list)
    last: Judgement | None = None
    rebuttal: str = ""
    """Shown to the critic in the next round."""
    pages: dict[str, str] = field(default_factory=dict)
    """Files such as `round-N-critique.md`, by name."""
    notes: list[str] = field(default_factory=list)
    rounds: int = 0
    compromised: bool = False
    accepted: bool = False
    judge_failed: str = ""
    """In which round the judge gave no answer, and why."""
    unwritten: str = ""
    """Why the version that was chosen last could not be written; empty if it was, or if the last choice needs none."""
    trusting: bool = False
    """The session began under earlier rules: what is not raised again is fixed, and a choice is never questioned."""
    contradiction: str = ""
    """How the last choice contradicts the rulings, if it does."""
    unread: bool = False
    """A part of the artifact was not reviewed, because its critique failed."""

    @property
    def latest(self) -> ArtifactVersion:
        return self.versions[-1]

    def add(self, version: ArtifactVersion, r: Round) -> None:
        self.versions.append(replace(version, round=r.n))
        r.take_up(version.files, version.text, version.modes)
        if version.caveat:
            self.notes.append(f"version {version.n}: {version.caveat}")

    @property
    def changed(self) -> bool:
        """Whether the last judged round produced another version. A choice of C may fail to."""
        return bool(self.history) and self.history[-1].round == self.latest.round
