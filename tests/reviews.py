"""Reviews for the tests of gates and exports: an ending made by hand, or a change that was really reviewed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import crosses
import duels

from rebut.ci.gate import GatedReview, GateGrounds, stand
from rebut.ci.recorded_reviews import Review
from rebut.core.types import Changed
from rebut.domain.outcome import Outcome
from rebut.domain.review_result import ReviewFinding, ReviewResult
from rebut.record import sessions
from rebut.workspace.targets.target import Target

AFTER = "import os\n\n\ndef pay(order):\n    commit(order)\n    charge(order)\n    return None\n"


def finding(id: str = "F1", severity: str = "P1", **changes: Any) -> ReviewFinding:
    values: dict[str, Any] = {
        "category": "correctness",
        "text": "It commits before it charges.",
        "place": "api/orders.py:5",
        "quote": "commit(order)",
        "mark": "found",
        "ruling": "valid",
        "action": "charge first",
    }
    return ReviewFinding(id, severity, severity, **(values | changes))


def ending(*findings: ReviewFinding, **changes: Any) -> ReviewResult:
    values: dict[str, Any] = {"session": "debate-1", "target": "code", "rounds": 1, "converged": True}
    values |= {"decision": "Keep Original", "artifact": "the change as it was", "findings": findings}
    return ReviewResult(**(values | changes))


def change(path: str = "api/orders.py", after: str | None = AFTER, before: str | None = None) -> Changed:
    return Changed(path, before, after)


def target(*changes: Changed, **more: Any) -> Target:
    return Target("code", "high", "", diff="a diff", changes=changes or (change(),), **more)


def standing(
    *findings: ReviewFinding, of: Target | None = None, held: GateGrounds | None = None, **outcome: Any
) -> GatedReview:
    made = ending(*findings)
    out = Outcome("keep original", "KEEP ORIGINAL", data={"contract": made.to_json()}, **outcome)
    return stand(Review("k7m2q9xd", out, made, of or target()), held or GateGrounds())


def script(folder: Path, *found: dict[str, Any], rulings: dict[str, str] | None = None) -> list[str]:
    """The words that seat a critic who finds these, and a judge."""
    default = {f"F{n}": f"valid {one['severity']}" for n, one in enumerate(found, 1)}
    said = {
        "r1/critique@critic": crosses.critique(*found),
        "r1/judgement@judge": crosses.judgement("E", default if rulings is None else rulings),
    }
    return [word for role, spec in crosses.seats(folder, said).items() for word in (f"--{role}", spec)]


def raised(quote: str, place: str, severity: str = "P1", **changes: Any) -> dict[str, Any]:
    one: dict[str, Any] = crosses.raised(
        f"About {place}.", place, severity=severity, evidence=[duels.cite(place, quote)], **changes
    )
    return one


def last() -> Review:
    return Review.of(sessions.load(sessions.sessions(sessions.home())[0].folder))
