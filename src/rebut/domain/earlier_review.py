"""The earlier review that a review continues: what changed since, and the findings that it carries over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from rebut.core.frozen import frozen
from rebut.core.json_value import Json, as_row, remade
from rebut.core.types import Changed
from rebut.domain.checks import CodeCheck, check_of
from rebut.domain.ledger import Entry, Evidence, Move, MoveKind, Point, Severity
from rebut.domain.review_result import RULINGS

EARLIER = "earlier review"
"""The fact of a session that continues an earlier review."""
MOVE_OF: Mapping[str, MoveKind] = {word: kind for kind, word in RULINGS.items()}
SEVERITIES: Mapping[str, Severity] = {"P1": "P1", "P2": "P2", "P3": "P3"}


@frozen
class CarriedFinding:
    """A finding of the earlier review, at the place where its lines are now."""

    id: str
    """In the earlier review."""
    session: str
    """The session that raised it first."""
    severity: str
    category: str
    text: str
    place: str = ""
    quote: str = ""
    """Empty if the cited lines have changed since."""
    ruling: str = ""
    reason: str = ""
    action: str = ""
    fix: str = ""
    shown: bool = False
    """Its file has changed since, so the critic can see what became of it."""
    by: str = ""
    """Which commit changed what it cites, for the case that it is fixed."""
    dismissed: str = ""
    """Why it was dismissed. The lines that it cites are unchanged, so the dismissal is still valid."""
    check: CodeCheck | None = None
    """Its check, with the mark that it had there."""

    def point(self) -> Point:
        """For the ledger of the new review: raised before its first round.

        A check that showed it by failing keeps its mark, and is run again. Every other check gets a new mark.
        """
        evidence = (Evidence(self.place, self.quote),) if self.place else ()
        severity, check = SEVERITIES.get(self.severity, "P3"), self.check
        if check is not None and not check.shows_by_failing:
            check = replace(check, mark="", note="", command="", output="")
        made = Point(self.text, "critic", 0, severity, self.category, evidence, action=self.action, fix=self.fix)
        return replace(made, check=check)

    def moves(self, id: str) -> list[Entry]:
        """The judge's ruling, on the finding that has this id in the new review."""
        kind = MOVE_OF.get(self.ruling)
        return [Move(id, kind, "judge", 0, self.reason, severity=self.severity)] if kind else []


@frozen
class EarlierReview:
    """A review of the same branch at an earlier commit, on which a new one builds."""

    session: str
    commit: str
    """The commit that was reviewed."""
    diff: str = ""
    """What changed since, in files of the change."""
    changes: tuple[Changed, ...] = ()
    findings: tuple[CarriedFinding, ...] = ()
    whole: bool = False
    """Everything is reviewed again; the earlier findings are only compared with the new ones."""

    def to_json(self) -> dict[str, Json]:
        return cast(dict[str, Json], as_row(self))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> EarlierReview:
        changes = tuple(map(Changed.from_json, data.get("changes", ())))
        findings = tuple(remade(CarriedFinding, row, check=check_of(row)) for row in data.get("findings", ()))
        return remade(cls, data, changes=changes, findings=findings)
