"""How a review stands: its findings without those that were dismissed, and what the gate says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from rebut.ci import basis, dismissals, gate
from rebut.ci.basis import Basis
from rebut.ci.dismissal import Dismissal, matching
from rebut.ci.gate import Ruling
from rebut.ci.recorded_reviews import Review
from rebut.domain.gate_policy import Policy, Wish, settled
from rebut.domain.outcome import Outcome
from rebut.domain.review_result import Contract
from rebut.setup.config import Config
from rebut.workspace.targets import Target


@dataclass(frozen=True, slots=True)
class Grounds:
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
class Standing:
    """A review as its readers see it."""

    review: Review
    contract: Contract
    """For people: without all that was dismissed."""
    counted: Contract
    """For machines: without what was dismissed for the gate, too."""
    ruling: Ruling
    pending: tuple[str, ...] = ()
    """Findings that fail the gate though they are dismissed, since that dismissal does not count here."""

    @property
    def outcome(self) -> Outcome:
        data = {**self.review.outcome.data, "contract": self.contract.to_json()}
        return self.review.outcome.filled(data=data)


async def grounds(workspace: Path, sessions: Path, target: Target, config: Config, flags: Wish) -> Grounds:
    """Read policy and dismissals. Whatever is wrong with them is an error now, and not after the calls."""
    found = await basis.read(workspace, target.base)
    mine = flags.over(config.gate)
    policy = settled(mine, found.wish, found.source)
    return Grounds(
        policy=policy,
        basis=found,
        private=dismissals.load(dismissals.private_file(sessions, workspace)),
        pending=dismissals.load(dismissals.shared_file(workspace)),
        asked_for=bool(policy.fail_on) or mine.on_inconclusive is not None,
    )


def stand(review: Review, held: Grounds, *, applied: bool = False) -> Standing:
    """Hold a review against its grounds. `applied`: its last version has been put in place."""
    made, target = review.contract, review.target
    counting = matching(made, target, held.counting)
    seen = matching(made, target, (*held.basis.dismissals, *held.private, *held.pending))
    ruling = gate.judge(
        made,
        held.policy,
        dismissed=counting,
        doubts=review.doubts,
        complete=review.outcome.complete,
        applied=applied,
    )
    pending = tuple(f.id for f in ruling.failing if f.id in seen)
    shown, counted = (made.dismissing({id: one.reason for id, one in found.items()}) for found in (seen, counting))
    return Standing(review, shown, counted, ruling, pending)


def with_threshold(held: Grounds, usual: str) -> Grounds:
    """The same with a threshold, where nobody has set one."""
    return held if held.policy.fail_on else replace(held, policy=replace(held.policy, fail_on=usual))
