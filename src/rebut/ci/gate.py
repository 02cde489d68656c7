"""The gate: may a change go in, judged by a review's ending and a policy? Pure, and without a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rebut.ci.dismissal import Dismissal
from rebut.core.types import Json
from rebut.domain.gate_policy import Policy
from rebut.domain.review_result import Contract, Held

PASSED, FOUND, INCONCLUSIVE, PARTIAL = 0, 1, 3, 5


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the gate says, and why."""

    code: int
    policy: Policy
    failing: tuple[Held, ...] = ()
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


def stands(finding: Held, *, applied: bool = False) -> bool:
    """Whether a finding holds against the change.

    What only a later version mends still stands in the change, unless that version is what is there now. Then a
    finding is over that was not raised again against it; and one that the judge holds valid and whose cited lines
    it changes. All others stand, whatever was said of them.
    """
    if finding.ruling == "invalid" or finding.struck or finding.status == "withdrawn":
        return False
    return not applied or not (finding.status == "resolved" or finding.mended)


def judge(
    made: Contract,
    policy: Policy,
    *,
    dismissed: Mapping[str, Dismissal] | None = None,
    doubts: Sequence[str] = (),
    complete: bool = True,
    applied: bool = False,
) -> Ruling:
    """Judge an ending. `dismissed` are those dismissals that count here; `applied`: its last version was applied."""
    gone = dismissed or {}
    grave = [f for f in made.findings if policy.fails(f.severity) and stands(f)]
    mended = tuple(f.id for f in grave if not stands(f, applied=applied))
    failing = tuple(f for f in grave if f.id not in gone and f.id not in mended)
    # That its lines are not what they were shows that somebody tried, not that it worked.
    if unseen := [f.id for f in grave if f.id in mended and f.id not in gone and f.status != "resolved"]:
        cited = f"that {', '.join(unseen)} cite{'s' * (len(unseen) == 1)}"
        doubts = (*doubts, f"the final version changes the lines {cited}, and nobody has reviewed it since")
    if not complete:
        code = PARTIAL
    elif failing:
        code = FOUND
    else:
        code = INCONCLUSIVE if doubts and policy.on_inconclusive == "fail" else PASSED
    hidden = tuple(f.id for f in grave if f.id in gone and f.id not in mended)
    return Ruling(code, policy, failing, tuple(doubts), hidden, mended)
