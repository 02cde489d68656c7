"""The gate of a review that is run from the command line: read before the first call, asked after the last."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

from rebut.api import Setup
from rebut.ci import gate, recorded_reviews
from rebut.ci.gate import GatedReview, GateGrounds, stand
from rebut.ci.output_formats import commands, log
from rebut.ci.recorded_reviews import Review, reviewed_target
from rebut.cli.commands.gate import rows
from rebut.cli.output import say, width
from rebut.cli.runner import Judged
from rebut.core import files
from rebut.core.errors import (
    Aborted,
    ConfigError,
    ParticipantFailed,
    RebutError,
    RecordError,
    TooFewReplies,
    UsageError,
)
from rebut.core.types import Json
from rebut.domain.gate_policy import Wish
from rebut.domain.outcome import Outcome
from rebut.domain.session_status import outcome_of
from rebut.engine.plan import ASKED, Plan
from rebut.engine.protocol import Protocol, load
from rebut.record import sessions
from rebut.record.record import Record
from rebut.workspace.targets.target import Target, text_target

UNDECIDED = (Aborted, ParticipantFailed, TooFewReplies)


@dataclass
class Gating:
    """What the user wants to know of a review besides its ending."""

    flags: Wish = Wish()
    sarif: Path | None = None
    github: bool = False
    again: bool = False
    apply: bool = False
    """The last version is to be put into the working tree."""
    applied: bool = False
    """The last version was applied, so that what it mends no longer stands."""
    held: GateGrounds = field(default_factory=GateGrounds)
    target: Target | None = None
    unread: RebutError | None = None
    """Why nobody knows whether the base commit of a review that was taken up again wants a gate."""
    reused: bool = False
    quiet: bool = False

    @property
    def wanted(self) -> str:
        """The first flag that asks for a gate or for what it writes; empty if none was given."""
        given = {
            "--fail-on": self.flags.fail_on,
            "--on-inconclusive": self.flags.on_inconclusive,
            "--sarif": self.sarif,
            "--github": self.github,
        }
        return next((flag for flag, value in given.items() if value), "")

    @property
    def asked(self) -> dict[str, Json]:
        """What was asked for, as it goes on record: a review that is taken up again has it still."""
        return {
            "fail_on": self.flags.fail_on,
            "on_inconclusive": self.flags.on_inconclusive,
            "sarif": str(self.sarif.absolute()) if self.sarif else None,
            "github": self.github,
            "apply": self.apply,
        }

    async def take_up(self, setup: Setup, record: Record, *, quiet: bool) -> None:
        """Read, while nothing is called yet, by what a review on record is judged. `quiet`: nothing but the result."""
        made = load(record.opened.source or record.opened.protocol)
        self._refuse_without_findings(made, f"session {record.opened.id}")
        if not made.reviews:
            return
        self.target = reviewed_target(record)
        fact = record.facts.get(ASKED)
        asked = fact.value if fact and isinstance(fact.value, dict) else {}
        told = {name: str(asked[name]) if asked.get(name) else None for name in ("fail_on", "on_inconclusive", "sarif")}
        self.flags = self.flags.over(Wish(told["fail_on"], told["on_inconclusive"]))
        self.sarif = Path(told["sarif"]) if told["sarif"] else None
        self.github, self.apply = bool(asked.get("github")) and not quiet, bool(asked.get("apply"))
        where = Path(record.opened.workspace)
        try:
            self.held = await gate.grounds(where, setup.environment.root, self.target, setup.config, self.flags)
        except ConfigError as error:
            mine = self.flags.over(setup.config.gate)
            if mine.fail_on or mine.on_inconclusive or self.sarif:
                raise
            # What was paid for can go on without the repository; that it has no gate is not known then.
            self.unread = RebutError(error.message, error.hint)

    async def prepare(self, setup: Setup, plan: Plan) -> Outcome | None:
        """Read the policy while nothing is called yet. Gives the ending on record, if the same review has one."""
        self._refuse_without_findings(plan.protocol, plan.protocol.name)
        if not plan.protocol.reviews:
            return None
        self.target = plan.target or text_target(plan.topic)
        if self.sarif is not None:
            writable(self.sarif)
        self.held = await gate.grounds(plan.workspace, setup.environment.root, self.target, setup.config, self.flags)
        record = None if self.again else recorded_reviews.find(setup.environment.root, plan)
        if record is None:
            return None
        self.reused = True
        short = sessions.short(setup.environment.root, record.opened.id)
        if not self.quiet:
            say(f"  the same was reviewed before, by the same seats: session {short}; nothing is asked", sys.stderr)
            say("  review it anew with --again", sys.stderr)
        return outcome_of(record)

    def _refuse_without_findings(self, protocol: Protocol, what: str) -> None:
        """A gate needs findings. That there will be none is an error before anything is paid for."""
        if self.wanted and not protocol.reviews:
            raise UsageError(f"{what} does not end in findings that a gate could judge", f"Leave out {self.wanted}.")

    def excuse(self, error: RebutError) -> None:
        """A review that came to no end passes where an inconclusive one may."""
        if isinstance(error, UNDECIDED) and self.held.policy.on_inconclusive == "pass":
            error.exit_code = 0
            error.add_note("The gate lets it pass: inconclusive reviews may.")

    def judge(self, outcome: Outcome) -> Judged:
        """The ending as it stands, and the gate's word on it."""
        if self.target is None or outcome.review is None:  # a deadline may leave nothing of it but its record
            return Judged(outcome, outcome.exit_code)
        if self.unread:
            return Judged(outcome, outcome.exit_code, failed=self.unread)
        found = stand(Review.ended(outcome.session, outcome, self.target), self.held, applied=self.applied)
        failed = self._write(found)
        extra: dict[str, object] = {"reused": self.reused}
        if not self.held.asked_for:
            return Judged(found.outcome, outcome.exit_code, (), extra, failed)
        extra["gate"] = found.ruling.to_json()
        return Judged(found.outcome, found.ruling.code, tuple(rows(found, self.held, width())), extra, failed)

    def _write(self, found: GatedReview) -> RebutError | None:
        """Write what was asked for besides. The review is paid for and over: that it fails must not hide the ending."""
        if self.github and (lines := commands(found)):
            print(lines, flush=True)
        try:
            if self.sarif is not None:
                save(self.sarif, found)
        except RecordError as error:
            return error
        return None


def writable(file: Path) -> None:
    """Refuse, before anything is called, what cannot be written, and to replace what is not a review of ours."""
    try:
        there = file.exists()
    except OSError as error:
        hint = "Nothing was called. Name another file for --sarif."
        raise UsageError(f"{file} cannot be written: {error.strerror}", hint) from error
    if not there:
        if not file.parent.is_dir() or not os.access(file.parent, os.W_OK):
            raise UsageError(
                f"{file} cannot be written: {file.parent} is no folder to write to",
                "Nothing was called. Make that folder, or name another file for --sarif.",
            )
        return
    if not _is_own(file):
        raise UsageError(f"{file} is there already, and is no SARIF of rebut's", "Name another file for --sarif.")


def _is_own(file: Path) -> bool:
    try:
        name: object = json.loads(file.read_text(encoding="utf-8"))["runs"][0]["tool"]["driver"]["name"]
    except (OSError, ValueError, LookupError, TypeError):
        return False
    return name == "rebut"


def save(file: Path, found: GatedReview) -> None:
    """Whole or not at all: half a file, or an earlier review's, would be taken for this one's."""
    text = json.dumps(log(found), ensure_ascii=False, indent=2) + "\n"
    file = file.resolve()
    kept = f"The review itself is kept: `rebut export {found.review.session} --format sarif` writes it anew."
    if file.exists() and not _is_own(file):  # put there since the review began
        raise RecordError(f"{file} is there already, and is no SARIF of rebut's", f"It was left alone. {kept}")
    try:
        files.write(file, text.encode("utf-8", "replace"))
    except OSError as error:
        old = f"What stands in {file} is of an earlier review. " if file.exists() else ""
        raise RecordError(f"{file} could not be written: {error.strerror}", f"{old}{kept}") from error
