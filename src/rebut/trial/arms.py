"""The arms of a trial: ways to review one change, each as a line of a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rebut.core.errors import UsageError
from rebut.core.frozen import frozen
from rebut.trial.kinds import NOTE
from rebut.trial.pairs import Pair
from rebut.trial.twins import DIFF

ONE, VOTE, CROSS, PANEL, LINT = "one", "vote", "cross", "panel", "lint"
ARMS: Mapping[str, str] = {
    ONE: "one call",
    VOTE: "the vote",
    CROSS: "cross",
    PANEL: "the panel",
    LINT: "lint",
}
"""Name of an arm → as a sentence calls it."""
DEBATES = (CROSS, PANEL)
"""The arms that are a debate; the first of a trial is compared with one call, and gives the vote its tokens."""
REVIEW = {"rounds": 1, "skip_materialize_opposite": True, "state_dir": "-"}
"""Settings of a review, as `rebut review` has them."""


@frozen
class Models:
    """Who has which seat: the first model reviews, the others judge and challenge."""

    specs: tuple[str, ...]

    @property
    def reviewer(self) -> str:
        return self.specs[0]

    @property
    def others(self) -> tuple[str, ...]:
        return self.specs[1:] or self.specs[:1]

    @property
    def alone(self) -> bool:
        """One model has every seat."""
        return len(set(self.specs)) == 1


def fields(arm: str, pair: Pair, workspace: Path, models: Models | None, name: str) -> dict[str, Any]:
    """The line of a batch that reviews one side of a pair."""
    line: dict[str, Any] = {"id": name, "workspace": str(workspace), "note": NOTE}
    if arm == LINT:
        return line | _review({"critic": "lint", "judge": "rules"}) | {"note": ""}
    if models is None:
        raise UsageError(f"the arm {arm} needs a model", "Name models with --with.")
    if arm in (ONE, VOTE):
        return line | _review({"critic": models.reviewer, "judge": "rules"})
    if arm == PANEL:
        seats = {"lead": models.reviewer, "challenger": list(models.others), "judge": models.others[0]}
        return line | {
            "protocol": "panel",
            "topic": f"Does the change in {DIFF} plant a defect in {pair.path}, and at which line of the new version?",
            "context": [pair.path, DIFF],
            "seats": seats,
            "settings": {"rounds": 2, "place": "-"},
            "allow_same_model": models.alone,
        }
    return line | _review({"critic": models.reviewer, "judge": models.others[0]}) | {"allow_same_model": models.alone}


def _review(seats: Mapping[str, str]) -> dict[str, Any]:
    target = {"kind": "code", "scope": "uncommitted"}
    return {"protocol": "cross", "target": target, "seats": dict(seats), "settings": REVIEW}


def chosen(text: str) -> tuple[str, ...]:
    """The arms of a list such as `one,cross`, in the order of the table."""
    wanted = [name.strip() for name in text.split(",") if name.strip()]
    if unknown := [name for name in wanted if name not in ARMS]:
        raise UsageError(f"there is no arm {unknown[0]!r}", f"Arms are {', '.join(ARMS)}.")
    if not wanted:
        raise UsageError("no arm is named", f"Arms are {', '.join(ARMS)}.")
    return tuple(name for name in ARMS if name in wanted)


def needs_model(arms: Sequence[str]) -> bool:
    return any(arm != LINT for arm in arms)
