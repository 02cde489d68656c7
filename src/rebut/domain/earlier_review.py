"""The earlier review that a review continues: what changed since, and the findings that are carried over."""

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
"""The key of the fact that holds the earlier review that a session continues."""
MOVE_OF: Mapping[str, MoveKind] = {word: kind for kind, word in RULINGS.items()}
SEVERITIES: Mapping[str, Severity] = {"P1": "P1", "P2": "P2", "P3": "P3"}


@frozen
class CarriedFinding:
    """A finding of the earlier review, at the place where its lines are now."""

    id: str
    """Its id in the earlier review."""
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
    """Whether its file has changed since, so that the critic can see what became of the finding."""
    by: str = ""
    """The commit that changed what the finding cites. If the finding turns out to be fixed, this commit fixed it."""
    dismissed: str = ""
    """Why it was dismissed; empty if it was not. The cited lines are unchanged, so the dismissal is still valid."""
    check: CodeCheck | None = None
    """Its check, with the mark from the earlier review."""

    def point(self) -> Point:
        """The finding as a point for the ledger of the new review, raised before its first round.

        A check that showed the problem by failing keeps its mark, and is run again. Every other check loses its mark,
        and gets a new one.
        """
        evidence = (Evidence(self.place, self.quote),) if self.place else ()
        severity, check = SEVERITIES.get(self.severity, "P3"), self.check
        if check is not None and not check.shows_by_failing:
            check = replace(check, mark="", note="", command="", output="")
        made = Point(self.text, "critic", 0, severity, self.category, evidence, action=self.action, fix=self.fix)
        return replace(made, check=check)

    def moves(self, id: str) -> list[Entry]:
        """The judge's earlier ruling as a move on the point with this id in the new review; empty without a ruling."""
        kind = MOVE_OF.get(self.ruling)
        return [Move(id, kind, "judge", 0, self.reason, severity=self.severity)] if kind else []


@frozen
class EarlierReview:
    """A review of the same branch at an earlier commit, which a new review continues."""

    session: str
    commit: str
    """The commit that was reviewed."""
    diff: str = ""
    """The diff since that commit, in files of the change."""
    changes: tuple[Changed, ...] = ()
    findings: tuple[CarriedFinding, ...] = ()
    whole: bool = False
    """Whether everything is reviewed again, so that the earlier findings are only compared with the new ones."""

    def to_json(self) -> dict[str, Json]:
        return cast(dict[str, Json], as_row(self))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> EarlierReview:
        changes = tuple(map(Changed.from_json, data.get("changes", ())))
        findings = tuple(remade(CarriedFinding, row, check=check_of(row)) for row in data.get("findings", ()))
        return remade(cls, data, changes=changes, findings=findings)
