"""A review on record: its target, its ending, and what leaves it in doubt. Needs events only."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass

from rebut.core.errors import RebutError, UsageError
from rebut.domain.endings import target_of
from rebut.domain.outcome import Outcome
from rebut.domain.review_result import Contract
from rebut.domain.session_status import outcome_of, status
from rebut.record.record import Record
from rebut.setup.config_files import REPO_FILE
from rebut.workspace.targets import Target, is_own
from rebut.workspace.targets.git_change import STANDS_FOR

MEDIA = re.compile(
    r"\.(?:avif?|bmp|eot|gif|ico|jpe?g|mov|mp[34]|ogg|otf|pdf|png|psd|tiff?|ttf|wav|webm|webp|woff2?)$", re.I
)
"""Files that nobody reads as code: that they are binary casts no doubt on a review."""


@dataclass(frozen=True, slots=True)
class Review:
    """What a gate, an export or a dismissal is about."""

    session: str
    outcome: Outcome
    contract: Contract
    target: Target

    @classmethod
    def of(cls, record: Record) -> Review:
        """The review that a session holds, once it has ended."""
        target = target_of(record)
        if target is None:
            raise UsageError(
                f"session {record.opened.id} is a {record.opened.protocol}, and no review of a change or a proposal",
                "`rebut list` shows the sessions of this folder.",
            )
        outcome = outcome_of(record)
        if outcome is None:
            raise RebutError(
                f"the review {record.opened.id} has not come to its end: {status(record)}",
                f"Go on with `rebut resume {record.opened.id}`.",
            )
        return cls.ended(record.opened.id, outcome, target)

    @classmethod
    def ended(cls, session: str, outcome: Outcome, target: Target) -> Review:
        made = outcome.data.get("contract")
        if not isinstance(made, dict):
            raise UsageError(f"session {session} ended without a review's contract", "It was made by other code.")
        return cls(session, outcome, Contract.from_json(made), target)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why it is inconclusive: how it ended, what nobody read, and rules that the change itself has set."""
        found: list[str] = []
        if not self.outcome.conclusive:
            stopped = f" ({self.outcome.stopped})" if self.outcome.stopped else ""
            found.append(f"it ended as {self.outcome.heading}{stopped}")
        found += [f"the {seat.seat} failed: {seat.why}" for seat in self.outcome.seats if seat.failed]
        found += [f"not read: {line}" for line in self.target.left_out if _is_unread(line)]
        if _sets_its_own_rules(self.target):
            found.append(f"the change edits [limits] or [egress] of {REPO_FILE}, which held for its own review")
        return tuple(found)


def _is_unread(line: str) -> bool:
    for why in (": binary", f": {STANDS_FOR}"):
        if line.endswith(why):
            return not MEDIA.search(line.removesuffix(why))
    return not (line.endswith(": a submodule, removed") or is_own(line))


def _sets_its_own_rules(target: Target) -> bool:
    for change in target.changes:
        if REPO_FILE in (change.path, change.old_path):
            try:
                old, new = (tomllib.loads(text or "") for text in (change.before, change.after))
            except tomllib.TOMLDecodeError:
                return True
            if any(old.get(name) != new.get(name) for name in ("limits", "egress")):
                return True
    return False
