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
    """The state of one run. It is not recorded: a replay builds it again, like any other variable."""

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
    """Why the version of the last choice could not be written; empty if it was written, or none was chosen."""
    trusting: bool = False
    """The session began under earlier rules: a finding that is not raised again is fixed, no choice is questioned."""
    overruled: dict[str, list[str]] = field(default_factory=dict)
    """Seat → the findings that it calls invalid although a check shows them, without a fault found in the check."""
    contradiction: str = ""
    """How the last choice contradicts the rulings, if it does."""
    unnamed: bool = False
    """Whether the last critique does not agree, yet names nothing that is wrong."""
    unread: bool = False
    """Whether a part of the artifact was not reviewed, because its critique failed or leaves out its findings."""

    earlier: EarlierReview | None = None
    """The earlier review of the same branch that this review continues."""
    carried: dict[str, CarriedFinding] = field(default_factory=dict)
    """Id in this review → the finding of the earlier review."""
    passing: set[str] = field(default_factory=set)
    """The ids of carried findings whose check failed in the earlier review and passes now."""

    def overrule(self, seat: str, ruled: Iterable[str], ignored: Iterable[str]) -> None:
        """Record findings that a seat calls invalid in spite of their checks. Its last ruling on a finding counts."""
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
        """Whether the critic is asked again about a finding of the earlier review: it may be fixed now."""
        one, earlier = self.carried.get(id), self.earlier
        if one is None or earlier is None:
            return False
        changed = one.shown or id in self.passing
        return earlier.whole or (changed and one.ruling != "invalid" and not one.dismissed)

    def is_kept(self, id: str) -> bool:
        """Whether a finding of the earlier review stays as it is, and the critic is not asked about it again."""
        return id in self.carried and not self.asks_again(id)

    def differs(self, point: Point, n: int) -> bool:
        """Whether round `n` reviews something later than the version that a finding was last raised against."""
        return self.asks_again(point.id) or artifact_versions.differs(point, self.versions, n)

    @property
    def first_rounds(self) -> tuple[int, ...]:
        """The rounds that reviewed version 1, if there is an earlier review, whose findings it may fix."""
        rounds = range(1, self.rounds + 1) if self.earlier else ()
        return tuple(n for n in rounds if artifact_versions.reviewed_in(n, self.versions).n == 1)

    def part(self, target: Target) -> Target:
        """The part of the target that is asked about: all of it, or what has changed since the earlier review."""
        if self.earlier is None or self.earlier.whole:
            return target
        return replace(target, diff=self.earlier.diff, changes=self.earlier.changes)

    @property
    def changed(self) -> bool:
        """Whether the last judged round produced another version, which a choice of C may fail to do."""
        return bool(self.history) and self.history[-1].round == self.latest.round
