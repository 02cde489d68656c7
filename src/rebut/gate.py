"""The gate: may a change go in, judged by a review's ending and a policy? Pure, and without a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rebut.contract import Contract, Held
from rebut.dismissal import Dismissal
from rebut.policy import Policy
from rebut.types import Json

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
            "doubts": list(self.doubts),
            "notices": list(policy.notices),
        }


def stands(finding: Held, *, mended: bool = False) -> bool:
    """Whether a finding holds against the change as it was reviewed.

    What only a later version has mended still stands in the change, unless that version is what is there now.
    """
    if finding.ruling == "invalid" or finding.struck or finding.status == "withdrawn":
        return False
    return finding.status != "resolved" or not mended


def judge(
    made: Contract,
    policy: Policy,
    *,
    dismissed: Mapping[str, Dismissal] | None = None,
    doubts: Sequence[str] = (),
    complete: bool = True,
    mended: bool = False,
) -> Ruling:
    """Judge an ending. `dismissed` are those dismissals that count here; `mended`: its last version was applied."""
    gone = dismissed or {}
    grave = [f for f in made.findings if policy.fails(f.severity) and stands(f, mended=mended)]
    failing = tuple(f for f in grave if f.id not in gone)
    if not complete:
        code = PARTIAL
    elif failing:
        code = FOUND
    else:
        code = INCONCLUSIVE if doubts and policy.on_inconclusive == "fail" else PASSED
    return Ruling(code, policy, failing, tuple(doubts), tuple(f.id for f in grave if f.id in gone))
