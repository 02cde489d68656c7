"""Reviews on record: their target, outcome and doubts, and whether one can be reused. Reads events only."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from rebut import __version__
from rebut.core.errors import RebutError, UsageError
from rebut.core.files import repository
from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.core.redaction import by_kind
from rebut.core.text import canonical
from rebut.domain.checks import CHECKS
from rebut.domain.outcome import Outcome
from rebut.domain.review_result import ReviewResult
from rebut.domain.session_status import outcome_of, status
from rebut.engine.plan import Plan, opened
from rebut.record import sessions, turn
from rebut.record.record import Record
from rebut.record.sessions import FoundSession
from rebut.setup.config_files import REPO_FILE
from rebut.workspace.targets.git_change import OUTPUT
from rebut.workspace.targets.target import Target, target_of, text_target
from rebut.workspace.targets.unread import UnreadFiles, not_read, unread_files

OF_TARGET = ("kind", "scope", "text", "diff", "changes", "base", "new", "left_out")
"""The fields of a target that are equal in two reviews of the same target."""


@frozen
class Review:
    """A review for a gate, an export or a dismissal."""

    session: str
    outcome: Outcome
    contract: ReviewResult
    target: Target

    @classmethod
    def of(cls, record: Record) -> Review:
        """The review of a session that has ended."""
        outcome = outcome_of(record)
        if outcome is None:
            raise RebutError(
                f"session {record.opened.id} has not ended: {status(record)}",
                f"Continue it with `rebut resume {record.opened.id}`.",
            )
        return cls.ended(record.opened.id, outcome, reviewed_target(record))

    @classmethod
    def ended(cls, session: str, outcome: Outcome, target: Target) -> Review:
        if outcome.review is None:
            raise UsageError(
                f"session {session} is not a review: it did not end in findings",
                "`rebut list` shows the sessions of this folder.",
            )
        return cls(session, outcome, outcome.review, target)

    def unread(self, accepted: Sequence[str] = ()) -> UnreadFiles:
        """The files of its target that were not read; `accepted` are the paths that today's policy permits."""
        return unread_files(self.outcome.unread or self.target.left_out, accepted)

    def doubts(self, accepted: Sequence[str] = ()) -> tuple[str, ...]:
        """Why it is inconclusive: its outcome, failed seats, unread files, rules that the change itself sets."""
        found: list[str] = []
        if not self.outcome.conclusive and not self.outcome.only_unread:
            stopped = f" ({self.outcome.stopped})" if self.outcome.stopped else ""
            found.append(f"it ended as {self.outcome.heading}{stopped}")
        found += [f"the {seat.seat} failed: {seat.why}" for seat in self.outcome.seats if seat.failed]
        found += not_read(self.unread(accepted).doubtful)
        if _sets_its_own_rules(self.target):
            found.append(f"the change edits [limits] or [egress] of {REPO_FILE}, which applied to its own review")
        return tuple(found)


def reviewed_target(record: Record) -> Target:
    """What a session reviewed: its target, or its topic where it has none."""
    return target_of(record) or text_target(record.opened.topic)


def _sets_its_own_rules(target: Target) -> bool:
    for change in target.changes:
        if REPO_FILE in (change.path, change.old_path):
            try:
                old, new = (tomllib.loads(text or "") for text in (change.before, change.after))
            except (ValueError, RecursionError):
                return True
            if any(old.get(name) != new.get(name) for name in ("limits", "egress")):
                return True
    return False


def is_out_of_reach(root: Path, workspace: Path, env: Mapping[str, str]) -> bool:
    """Whether the change under review cannot have written the records in `root`.

    A gate relies only on such records. A folder inside the workspace may come with the change, and files that a CI
    machine restores from a cache or an artifact may have been stored by a job that runs the change.
    """
    if env.get("CI", "").strip().lower() not in ("", "0", "false") or env.get("GITHUB_ACTIONS"):
        return False
    return not root.resolve().is_relative_to(repository(workspace.resolve()))


def reusable_review(root: Path, plan: Plan) -> Record | None:
    """The newest ended, conclusive review that this plan would only repeat.

    The gate is not part of the comparison: the recorded outcome is judged by today's policy. With --context no review
    is reused, since the contents of those files are not compared; nor for a target without a base commit (a text or
    one file), whose review may cite any file of the workspace.
    """
    if plan.target is None or plan.context or not plan.target.base:
        return None
    if unread_files(plan.target.left_out, plan.unread_ok).doubtful:
        return None  # it would be inconclusive
    wanted, about = asked_for(plan, root), _about(plan.target)
    for found in sessions.of_workspace(root, plan.workspace):
        if is_asked_alike(found, wanted):
            record = sessions.load(found.folder)
            target, alike = target_of(record), (CHECKS in record.facts) == plan.run_checks
            if target is not None and alike and is_whole(record) and _about(target) == about:
                return record
    return None


def is_whole(record: Record) -> bool:
    """Whether a review ended, is conclusive, and had no files as context."""
    outcome = outcome_of(record)
    return outcome is not None and outcome.conclusive and outcome.complete and "context" not in record.facts


def same_under_way(root: Path, plan: Plan) -> Record | None:
    """The debate that this plan would only repeat, if a process runs it now or it waits for its caller.

    A program that lost track of its debate, and starts it again, gets the debate that it has begun.
    """
    if plan.context:
        return None  # the contents of those files are not compared
    wanted, topic = asked_for(plan, root), by_kind(plan.topic.strip())
    for found in sessions.of_workspace(root, plan.workspace):
        if is_asked_alike(found, wanted) and (plan.target or by_kind(found.opened.topic) == topic):
            running = sessions.running(found.folder)
            record = sessions.load(found.folder)
            if (
                record.closed
                or not {"context", CHECKS}.isdisjoint(record.facts)
                or not (running or turn.whose_turn(found.folder, record))
            ):
                continue
            target = target_of(record)
            if target is None or plan.target is None or _about(target) == _about(plan.target):
                return record
    return None


def asked_for(plan: Plan, root: Path) -> str:
    """The seats that a plan asks, and its settings, as a text for comparison."""
    made = opened(plan, root, "")
    return _key(made.protocol, made.protocol_version, __version__, made.settings, made.seats)


def is_asked_alike(found: FoundSession, wanted: str) -> bool:
    """Whether a session asked the same seats in the same way."""
    made = found.opened
    return _key(made.protocol, made.protocol_version, made.rebut, made.settings, made.seats) == wanted


def _key(
    protocol: str, version: str, rebut: str, settings: Mapping[str, Json], seats: Sequence[Mapping[str, Json]]
) -> str:
    rows = [[row.get("seat"), row.get("spec"), row.get("persona", "")] for row in seats]
    return canonical([protocol, version, rebut, dict(settings), rows])


def _about(target: Target) -> str:
    """The target as a text for comparison. A secret counts by its kind, which is all that models see of it."""
    data = target.to_json()
    # Files that earlier reviews wrote are not part of the change.
    data["left_out"] = [line for line in target.left_out if OUTPUT not in line]
    return by_kind(canonical({name: data[name] for name in OF_TARGET}))
