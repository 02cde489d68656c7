"""The state of a review: its versions, the recommendations of the judge, and what the next critique will see."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from rebut.domain.earlier_review import CarriedFinding, EarlierReview
from rebut.domain.ledger import Point
from rebut.domain.review_result import Recommended
from rebut.engine.debate import Round
from rebut.protocols.cross import versions as artifact_versions
from rebut.protocols.cross.forms import Judgement
from rebut.protocols.cross.versions import ArtifactVersion
from rebut.workspace.targets.target import Target


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
    overruled: dict[str, list[str]] = field(default_factory=dict)
    """Seat → findings that a check shows and it calls invalid, without a word on what is wrong with the check."""
    contradiction: str = ""
    """How the last choice contradicts the rulings, if it does."""
    unnamed: bool = False
    """The last critique does not agree, and names nothing that is wrong."""
    unread: bool = False
    """A part of the artifact was not reviewed, because its critique failed."""

    earlier: EarlierReview | None = None
    """The review of the same branch on which this one builds."""
    carried: dict[str, CarriedFinding] = field(default_factory=dict)
    """Id → the finding of that review."""
    passing: set[str] = field(default_factory=set)
    """Of these, the ones whose check showed them there and passes now."""

    def overrule(self, seat: str, ruled: Iterable[str], ignored: Iterable[str]) -> None:
        """Keep what a seat calls invalid in spite of its check. Only its last ruling on a finding counts."""
        now = set(ruled)
        self.overruled[seat] = [id for id in self.overruled.get(seat, ()) if id not in now] + [*ignored]

    @property
    def latest(self) -> ArtifactVersion:
        return self.versions[-1]

    def add(self, version: ArtifactVersion, r: Round) -> None:
        self.versions.append(replace(version, round=r.n))
        r.take_up(version.files, version.text, version.modes)
        if version.caveat:
            self.notes.append(f"version {version.n}: {version.caveat}")

    def asks_again(self, id: str) -> bool:
        """Whether the critic can see what became of a finding of the earlier review."""
        one, earlier = self.carried.get(id), self.earlier
        if one is None or earlier is None:
            return False
        changed = one.shown or id in self.passing
        return earlier.whole or (changed and one.ruling != "invalid" and not one.dismissed)

    def is_kept(self, id: str) -> bool:
        """Whether a finding of the earlier review is kept as it is: nothing that it is about has changed."""
        return id in self.carried and not self.asks_again(id)

    def differs(self, point: Point, n: int) -> bool:
        """Whether what is under review in a round is later than what a finding was last raised against."""
        return self.asks_again(point.id) or artifact_versions.differs(point, self.versions, n)

    @property
    def first_rounds(self) -> tuple[int, ...]:
        """The rounds in which the change itself was reviewed, if it may fix findings of an earlier review."""
        rounds = range(1, self.rounds + 1) if self.earlier else ()
        return tuple(n for n in rounds if artifact_versions.reviewed_in(n, self.versions).n == 1)

    def part(self, target: Target) -> Target:
        """What is asked about: all of it, or what has changed since the earlier review."""
        if self.earlier is None or self.earlier.whole:
            return target
        return replace(target, diff=self.earlier.diff, changes=self.earlier.changes)

    @property
    def changed(self) -> bool:
        """Whether the last judged round produced another version. A choice of C may fail to."""
        return bool(self.history) and self.history[-1].round == self.latest.round
