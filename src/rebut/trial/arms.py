"""The arms of a trial: ways to review one change, each as a line of a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rebut.batch.lines import LineFields, TargetFields
from rebut.core.errors import UsageError
from rebut.core.frozen import frozen
from rebut.trial.defect_kinds import NOTE
from rebut.trial.pair_folders import DIFF
from rebut.trial.pairs import DefectPair

ONE, VOTE, CROSS, CHECKS, PANEL, LINT = "one", "vote", "cross", "checks", "panel", "lint"
ARMS: Mapping[str, str] = {
    ONE: "one call",
    VOTE: "the vote",
    CROSS: "cross",
    CHECKS: "cross with checks run",
    PANEL: "the panel",
    LINT: "lint",
}
"""Name of an arm → as a sentence calls it."""
DEBATES = (CROSS, CHECKS, PANEL)
"""The arms that are a debate; the first of a trial is compared with one call, and gives the vote its tokens."""
REVIEW: Mapping[str, int | str] = {"rounds": 1, "skip_materialize_opposite": True, "state_dir": "-"}
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
        """Whether one model has every seat."""
        return len(set(self.specs)) == 1


def line_fields(arm: str, pair: DefectPair, workspace: Path, models: Models | None, name: str) -> LineFields:
    """The line of a batch that reviews one side of a pair."""
    if arm == LINT:
        return _review(name, workspace, {"critic": "lint", "judge": "rules"})
    if models is None:
        raise UsageError(f"the arm {arm} needs a model", "Name models with --with.")
    if arm in (ONE, VOTE):
        return _review(name, workspace, {"critic": models.reviewer, "judge": "rules"})
    if arm in (CROSS, CHECKS):
        seats = {"critic": models.reviewer, "judge": models.others[0]}
        return _review(name, workspace, seats, allow_same_model=models.alone, run_checks=arm == CHECKS)
    return LineFields(
        id=name,
        workspace=str(workspace),
        note=NOTE,
        protocol="panel",
        topic=f"Does the change in {DIFF} plant a defect in {pair.path}, and at which line of the new version?",
        context=[pair.path, DIFF],
        seats={"lead": models.reviewer, "challenger": list(models.others), "judge": models.others[0]},
        settings={"rounds": 2, "place": "-"},
        run_checks=False,
        allow_same_model=models.alone,
    )


def _review(
    name: str,
    workspace: Path,
    seats: Mapping[str, str],
    *,
    allow_same_model: bool = False,
    run_checks: bool = False,
) -> LineFields:
    return LineFields(
        id=name,
        workspace=str(workspace),
        note=NOTE,
        protocol="cross",
        target=TargetFields(kind="code", scope="uncommitted"),
        seats=dict(seats),
        settings=dict(REVIEW),
        run_checks=run_checks,
        allow_same_model=allow_same_model,
    )


def chosen(text: str, *, run_checks: bool) -> tuple[str, ...]:
    """The arms of a list such as `one,cross`, in the order of the table; without a list, all that may run."""
    if not text:
        return tuple(name for name in ARMS if run_checks or name != CHECKS)
    wanted = [name.strip() for name in text.split(",") if name.strip()]
    if unknown := [name for name in wanted if name not in ARMS]:
        raise UsageError(f"there is no arm {unknown[0]!r}", f"Arms are {', '.join(ARMS)}.")
    if not wanted:
        raise UsageError("no arm is named", f"Arms are {', '.join(ARMS)}.")
    if CHECKS in wanted and not run_checks:
        raise UsageError("the arm checks runs code that a model wrote, in a sandbox", "Add --run-checks to allow that.")
    return tuple(name for name in ARMS if name in wanted)


def needs_model(arms: Sequence[str]) -> bool:
    return any(arm != LINT for arm in arms)
