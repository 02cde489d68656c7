"""The gate: does a change pass, by its review, a policy and the dismissals? Calls no model."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rebut.ci import dismissals
from rebut.ci.base_policy import Basis, read_basis
from rebut.ci.dismissals import Dismissal, matching
from rebut.ci.recorded_reviews import Review, reviewed_target
from rebut.core.files import repository
from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.domain.gate_policy import Policy, Wish, combined_wish
from rebut.domain.outcome import Outcome
from rebut.domain.review_result import CHANGED, SILENT, UNTOUCHED, ReviewFinding, ReviewResult
from rebut.record import sessions
from rebut.record.record import Record
from rebut.setup.config import Config, load_config
from rebut.workspace.targets.target import Target

PASSED, FOUND, INCONCLUSIVE, PARTIAL = 0, 1, 3, 5
UNCHECKED: Mapping[str, str] = {
    CHANGED: "the final version changes the lines that it cites, but that version was not reviewed",
    SILENT: "not raised again against the final version, but no seat said whether it is fixed there",
    UNTOUCHED: "called fixed, but the final version leaves the file that it cites as it was",
}
"""Why a finding of the applied version is in doubt."""


@frozen
class GateRuling:
    """The result of the gate, and the reasons."""

    code: int
    policy: Policy
    failing: tuple[ReviewFinding, ...] = ()
    """Findings at or above the threshold."""
    doubts: tuple[str, ...] = ()
    """Why the review is inconclusive."""
    dismissed: tuple[str, ...] = ()
    """Findings that would fail the gate, but are dismissed."""
    fixed: tuple[str, ...] = ()
    """Findings that would fail the gate, but were seen to be fixed in the final version, which was applied."""
    accepted: tuple[str, ...] = ()
    """Files that were not read, which the policy accepts."""
    outside: tuple[str, ...] = ()
    """Findings that would fail the gate, but are outside the change."""

    @property
    def passed(self) -> bool:
        return self.code == PASSED

    def to_json(self) -> dict[str, Json]:
        policy = self.policy
        return {
            "passed": self.passed,
            "fail_on": policy.threshold or None,
            "on_inconclusive": policy.on_inconclusive,
            "failing": [f.id for f in self.failing],
            "dismissed": list(self.dismissed),
            "fixed": list(self.fixed),
            "mended": list(self.fixed),  # the former name
            "doubts": list(self.doubts),
            "unread_accepted": list(self.accepted),
            "outside": list(self.outside),
            "notices": list(policy.notices),
        }


def stands(finding: ReviewFinding, *, applied: bool = False) -> bool:
    """Whether a finding counts against the change.

    A finding that a commit has fixed since an earlier review no longer counts. A finding that only the final version
    fixes still counts, unless that version was `applied`: then one that was seen to be fixed there no longer counts,
    and one that was judged valid and not checked again is in doubt.
    """
    if finding.ruling == "invalid" or finding.struck or finding.status == "withdrawn" or finding.fixed_by:
        return False
    return not applied or not (finding.is_fixed or (finding.seen and finding.ruling == "valid"))


def judge(
    made: ReviewResult,
    policy: Policy,
    *,
    dismissed: Mapping[str, Dismissal] | None = None,
    doubts: Sequence[str] = (),
    accepted: Sequence[str] = (),
    complete: bool = True,
    applied: bool = False,
) -> GateRuling:
    """Judge a review. `dismissed` are the dismissals that count; `applied`: the final version was applied."""
    gone = dismissed or {}
    failed = [f for f in made.findings if policy.fails(f.severity) and stands(f)]
    outside = tuple(f.id for f in failed if f.outside and policy.outside == "pass")
    grave = [f for f in failed if f.id not in outside]
    if policy.counts == "shown":
        # A check that gave no result might have shown the finding, which is therefore in doubt. "Refuted" is a result,
        # and so is a finding without a check in a review that ran checks.
        unknown = [f for f in grave if f.id not in gone and stands(f, applied=applied) and _unproven(f, made)]
        grave = [f for f in grave if f.check is not None and f.check.mark == "shown"]
        doubts = (*doubts, *(f"{f.id}: {_unproven(f, made)}" for f in unknown))
    failing = tuple(f for f in grave if f.id not in gone and stands(f, applied=applied))
    gone_or_failing = {*gone, *(f.id for f in failing)}
    fixed = tuple(f.id for f in grave if f.is_fixed and f.id not in gone_or_failing)
    # None of these shows a fix: changed lines may be only an attempt, and with no seat's word nothing was checked.
    for word, why in UNCHECKED.items():
        if ids := [f.id for f in grave if f.seen == word and f.id not in gone_or_failing]:
            doubts = (*doubts, f"{', '.join(ids)}: {why}")
    if not complete:
        code = PARTIAL
    elif failing:
        code = FOUND
    else:
        code = INCONCLUSIVE if doubts and policy.on_inconclusive == "fail" else PASSED
    hidden = tuple(f.id for f in grave if f.id in gone and stands(f, applied=applied))
    return GateRuling(code, policy, failing, tuple(doubts), hidden, fixed, tuple(accepted), outside)


def _unproven(finding: ReviewFinding, made: ReviewResult) -> str:
    """Why it is not known whether a check shows a finding; empty if it is known."""
    check = finding.check
    if check is not None:
        return "" if check.mark in ("shown", "refuted") else f"its check is {check.verdict}"
    return "" if made.checked else "no check was run; review with --run-checks where a sandbox works"


@frozen
class GateGrounds:
    """The policy and dismissals for a review, read before any call."""

    policy: Policy = Policy()
    basis: Basis = Basis()
    private: tuple[Dismissal, ...] = ()
    pending: tuple[Dismissal, ...] = ()
    """Shared dismissals in the working tree: they hide findings, but count only once they are in the base commit."""
    asked_for: bool = False
    """Whether the user or the base commit asks for a gate."""

    @property
    def hiding(self) -> tuple[Dismissal, ...]:
        """All dismissals: each hides a finding from readers, whether it counts for the gate or not."""
        return (*self.basis.dismissals, *self.private, *self.pending)

    @property
    def counting(self) -> tuple[Dismissal, ...]:
        """The dismissals that count for the gate."""
        by_policy = {"all": (*self.basis.dismissals, *self.private), "shared": self.basis.dismissals, "none": ()}
        return by_policy[self.policy.dismissals]


@frozen
class GatedReview:
    """A review with its dismissals and the result of the gate."""

    review: Review
    grounds: GateGrounds
    contract: ReviewResult
    """For readers: without all dismissed findings."""
    counted: ReviewResult
    """For tools: without the findings whose dismissal counts for the gate."""
    ruling: GateRuling
    pending: tuple[str, ...] = ()
    """Findings that fail the gate although they are dismissed, since the dismissal does not count."""

    @property
    def outcome(self) -> Outcome:
        return self.review.outcome.with_review(self.contract)


async def grounds(workspace: Path, root: Path, target: Target, config: Config, flags: Wish) -> GateGrounds:
    """Read policy and dismissals before any call, so that an error in them costs nothing."""
    found = await read_basis(workspace, target.base)
    mine = flags.over(config.gate)
    policy = combined_wish(mine, found.wish, found.source)
    return GateGrounds(
        policy=policy,
        basis=found,
        private=dismissals.load_dismissals(dismissals.private_file(root, workspace), private=True),
        pending=dismissals.load_dismissals(dismissals.shared_file(workspace), private=False),
        asked_for=bool(policy.fail_on) or mine.on_inconclusive is not None,
    )


async def grounds_of(record: Record, flags: Wish | None = None) -> GateGrounds:
    """Read policy and dismissals for the review of a session, whatever the current folder is."""
    workspace = Path(record.opened.workspace)
    config = load_config(workspace=repository(workspace), env=os.environ)
    return await grounds(workspace, sessions.home(), reviewed_target(record), config, flags or Wish())


def stand(review: Review, held: GateGrounds, *, applied: bool = False) -> GatedReview:
    """Judge a review by policy and dismissals. `applied`: its final version was applied."""
    made, target = review.contract, review.target
    counting = matching(made, target, held.counting)
    seen = matching(made, target, held.hiding)
    ruling = judge(
        made,
        held.policy,
        dismissed=counting,
        doubts=review.doubts(held.policy.unread_ok),
        accepted=review.unread(held.policy.unread_ok).accepted,
        complete=review.outcome.complete,
        applied=applied,
    )
    pending = tuple(f.id for f in ruling.failing if f.id in seen)
    shown, counted = (made.dismissing({id: one.reason for id, one in found.items()}) for found in (seen, counting))
    return GatedReview(review, held, shown, counted, ruling, pending)


def with_threshold(held: GateGrounds, usual: str) -> GateGrounds:
    """The grounds with the threshold `usual` if the policy sets none."""
    return held if held.policy.fail_on else replace(held, policy=replace(held.policy, fail_on=usual))
