"""The gate: may a change go in, judged by a review's ending and a policy? Pure, and without a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rebut.ci import dismissals
from rebut.ci.dismissals import Basis, Dismissal, matching
from rebut.ci.recorded_reviews import Review
from rebut.core.text import plural
from rebut.core.types import Json
from rebut.domain.gate_policy import Policy, Wish, settled
from rebut.domain.outcome import Outcome
from rebut.domain.review_result import ReviewFinding, ReviewResult
from rebut.setup.config import Config
from rebut.workspace.targets.target import Target

PASSED, FOUND, INCONCLUSIVE, PARTIAL = 0, 1, 3, 5


@dataclass(frozen=True, slots=True)
class GateRuling:
    """What the gate says, and why."""

    code: int
    policy: Policy
    failing: tuple[ReviewFinding, ...] = ()
    """Findings at or above the threshold."""
    doubts: tuple[str, ...] = ()
    """Why the review is inconclusive."""
    dismissed: tuple[str, ...] = ()
    """Findings that would fail it, were they not dismissed."""
    mended: tuple[str, ...] = ()
    """Findings that would fail it, had the final version not been applied."""

    @property
    def passed(self) -> bool:
        return self.code == PASSED

    def to_json(self) -> dict[str, Json]:
        policy = self.policy
        return {
            "passed": self.passed,
            "fail_on": policy.fail_on or None,
            "on_inconclusive": policy.on_inconclusive,
            "failing": [f.id for f in self.failing],
            "dismissed": list(self.dismissed),
            "mended": list(self.mended),
            "doubts": list(self.doubts),
            "notices": list(policy.notices),
        }


def stands(finding: ReviewFinding, *, applied: bool = False) -> bool:
    """Whether a finding holds against the change.

    What only a later version mends still stands in the change, unless that version is what is there now. Then a
    finding is over that was not raised again against it; and one that the judge holds valid and whose cited lines
    it changes. All others stand, whatever was said of them.
    """
    if finding.ruling == "invalid" or finding.struck or finding.status == "withdrawn":
        return False
    return not applied or not (finding.status == "resolved" or finding.mended)


def judge(
    made: ReviewResult,
    policy: Policy,
    *,
    dismissed: Mapping[str, Dismissal] | None = None,
    doubts: Sequence[str] = (),
    complete: bool = True,
    applied: bool = False,
) -> GateRuling:
    """Judge an ending. `dismissed` are those dismissals that count here; `applied`: its last version was applied."""
    gone = dismissed or {}
    grave = [f for f in made.findings if policy.fails(f.severity) and stands(f)]
    mended = tuple(f.id for f in grave if not stands(f, applied=applied))
    failing = tuple(f for f in grave if f.id not in gone and f.id not in mended)
    # That its lines are not what they were shows that somebody tried, not that it worked.
    if unseen := [f.id for f in grave if f.id in mended and f.id not in gone and f.status != "resolved"]:
        cited = f"that {', '.join(unseen)} {plural(len(unseen), 'cites', 'cite')}"
        doubts = (*doubts, f"the final version changes the lines {cited}, and nobody has reviewed it since")
    if not complete:
        code = PARTIAL
    elif failing:
        code = FOUND
    else:
        code = INCONCLUSIVE if doubts and policy.on_inconclusive == "fail" else PASSED
    hidden = tuple(f.id for f in grave if f.id in gone and f.id not in mended)
    return GateRuling(code, policy, failing, tuple(doubts), hidden, mended)


@dataclass(frozen=True, slots=True)
class GateGrounds:
    """What a review is held against, read before anything is asked."""

    policy: Policy = Policy()
    basis: Basis = Basis()
    private: tuple[Dismissal, ...] = ()
    pending: tuple[Dismissal, ...] = ()
    """Shared ones that stand in the working tree: they hide, but count for no gate until they are committed."""
    asked_for: bool = False
    """Somebody wants a gate: the user, or the base commit."""

    @property
    def counting(self) -> tuple[Dismissal, ...]:
        """The dismissals that count for the gate."""
        kept = {"all": (*self.basis.dismissals, *self.private), "shared": self.basis.dismissals, "none": ()}
        return kept[self.policy.dismissals]


@dataclass(frozen=True, slots=True)
class GatedReview:
    """A review as its readers see it."""

    review: Review
    contract: ReviewResult
    """For people: without all that was dismissed."""
    counted: ReviewResult
    """For machines: without what was dismissed for the gate, too."""
    ruling: GateRuling
    pending: tuple[str, ...] = ()
    """Findings that fail the gate though they are dismissed, since that dismissal does not count here."""

    @property
    def outcome(self) -> Outcome:
        return self.review.outcome.with_review(self.contract)


async def grounds(workspace: Path, sessions: Path, target: Target, config: Config, flags: Wish) -> GateGrounds:
    """Read policy and dismissals. Whatever is wrong with them is an error now, and not after the calls."""
    found = await dismissals.read_basis(workspace, target.base)
    mine = flags.over(config.gate)
    policy = settled(mine, found.wish, found.source)
    return GateGrounds(
        policy=policy,
        basis=found,
        private=dismissals.load(dismissals.private_file(sessions, workspace)),
        pending=dismissals.load(dismissals.shared_file(workspace)),
        asked_for=bool(policy.fail_on) or mine.on_inconclusive is not None,
    )


def stand(review: Review, held: GateGrounds, *, applied: bool = False) -> GatedReview:
    """Hold a review against its grounds. `applied`: its last version has been put in place."""
    made, target = review.contract, review.target
    counting = matching(made, target, held.counting)
    seen = matching(made, target, (*held.basis.dismissals, *held.private, *held.pending))
    ruling = judge(
        made,
        held.policy,
        dismissed=counting,
        doubts=review.doubts,
        complete=review.outcome.complete,
        applied=applied,
    )
    pending = tuple(f.id for f in ruling.failing if f.id in seen)
    shown, counted = (made.dismissing({id: one.reason for id, one in found.items()}) for found in (seen, counting))
    return GatedReview(review, shown, counted, ruling, pending)


def with_threshold(held: GateGrounds, usual: str) -> GateGrounds:
    """The same with a threshold, where nobody has set one."""
    return held if held.policy.fail_on else replace(held, policy=replace(held.policy, fail_on=usual))
