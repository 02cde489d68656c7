"""The gate of a review on the command line: its policy is read before the first call, and applied at the end."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from rebut.api import Setup
from rebut.ci import gate, incremental_review, recorded_reviews
from rebut.ci.gate import GatedReview, GateGrounds, stand
from rebut.ci.output_formats import commands, log
from rebut.ci.recorded_reviews import Review, is_out_of_reach, reviewed_target
from rebut.cli.commands.gate import rows
from rebut.cli.debated_versions import shown_review
from rebut.cli.output import say, width
from rebut.cli.runner import Judged
from rebut.core import files
from rebut.core.errors import (
    Aborted,
    ConfigError,
    NothingRead,
    ParticipantFailed,
    RebutError,
    RecordError,
    TooFewReplies,
    UsageError,
)
from rebut.core.json_value import Json
from rebut.core.text import counted
from rebut.domain.gate_policy import Wish, combined_wish
from rebut.domain.outcome import Outcome
from rebut.domain.session_status import ASKED, outcome_of
from rebut.engine.plan import Plan
from rebut.engine.protocol import Protocol, load
from rebut.record import sessions
from rebut.record.record import Record
from rebut.reports import export, review, terminal
from rebut.reports.terminal import labelled
from rebut.workspace.diff import line_counts
from rebut.workspace.targets.git_change import is_sarif
from rebut.workspace.targets.target import Target, text_target
from rebut.workspace.targets.unread import unread_files

UNDECIDED = (Aborted, NothingRead, ParticipantFailed, TooFewReplies)


@dataclass
class Gating:
    """What a command wants from a review besides its outcome: a gate, SARIF, annotations, the patch applied."""

    flags: Wish = Wish()
    sarif: Path | None = None
    github: bool = False
    again: bool = False
    apply: bool = False
    """Apply the final version to the working tree."""
    force: bool = False
    """Apply it even if the review is inconclusive."""
    also: tuple[str, ...] = ()
    """Files that the patch may change besides those of the reviewed change."""
    applied: bool = False
    """The final version was applied, so the findings that it fixes no longer count."""
    refused: bool = False
    """The final version was to be applied, and was not."""
    held: GateGrounds = field(default_factory=GateGrounds)
    target: Target | None = None
    unread: RebutError | None = None
    """Why the gate policy of the base commit could not be read when the review was resumed."""
    reused: bool = False
    quiet: bool = False
    form: str = ""
    """The format that takes the place of the usual result on standard output: sarif, github or md."""
    verb: str = ""
    """The command if it is `review` or `plan`, which show their findings as a linter does; else empty."""

    @property
    def wanted(self) -> str:
        """The first flag given that needs findings; empty if there is none."""
        given = {
            "--fail-on": self.flags.fail_on,
            "--sarif": self.sarif,
            "--github": self.github,
            f"--format {self.form}": self.form in ("sarif", "github"),
        }
        return next((flag for flag, value in given.items() if value), "")

    @property
    def judging(self) -> str:
        """The first flag given that judges one review; empty if there is none."""
        return self.wanted or ("--on-inconclusive" if self.flags.on_inconclusive else "")

    @property
    def asked(self) -> dict[str, Json]:
        """The flags as they are recorded, so that a resumed review still has them."""
        return {
            "fail_on": self.flags.fail_on,
            "on_inconclusive": self.flags.on_inconclusive,
            "sarif": str(self.sarif.absolute()) if self.sarif else None,
            "github": self.github,
            "apply": self.apply,
            "force": self.force,
            "also": list(self.also),
            "verb": self.verb or None,
        }

    async def read_recorded(self, setup: Setup, record: Record, *, quiet: bool) -> None:
        """Read the policy and flags of a recorded review, before any call. With `quiet`, only the result is printed."""
        made = load(record.opened.source or record.opened.protocol)
        self._refuse_without_findings(made, f"session {record.opened.id}")
        fact = record.facts.get(ASKED)
        asked = fact.value if fact and isinstance(fact.value, dict) else {}
        recorded = {
            name: str(asked[name]) if asked.get(name) else None for name in ("fail_on", "on_inconclusive", "sarif")
        }
        self.flags = self.flags.over(Wish(recorded["fail_on"], recorded["on_inconclusive"]))
        if not made.reviews:
            self.held = self._without_findings(setup, "target" in record.facts)
            return
        self.target, self.verb = reviewed_target(record), str(asked.get("verb") or "")
        self.sarif = Path(recorded["sarif"]) if recorded["sarif"] else None
        self.github, self.apply = bool(asked.get("github")) and not quiet, bool(asked.get("apply"))
        also = asked.get("also")
        self.force, self.also = bool(asked.get("force")), tuple(map(str, also if isinstance(also, list) else ()))
        where = Path(record.opened.workspace)
        try:
            self.held = await gate.grounds(where, setup.environment.root, self.target, setup.config, self.flags)
        except ConfigError as error:
            mine = self.flags.over(setup.config.gate)
            if mine.fail_on or mine.on_inconclusive or self.sarif:
                raise
            # The review can continue without the repository; whether it has a gate is then unknown.
            self.unread = RebutError(error.message, error.hint)

    async def prepare(self, setup: Setup, plan: Plan) -> tuple[Plan, Outcome | None]:
        """Read the policy before any call. Also returns the recorded outcome if the same review was made before."""
        self._refuse_without_findings(plan.protocol, plan.protocol.name)
        target = plan.target or text_target(plan.topic)
        if self.sarif is not None:
            writable(self.sarif)
        if plan.protocol.reviews or plan.target:
            self.held = await gate.grounds(plan.workspace, setup.environment.root, target, setup.config, self.flags)
        else:
            self.held = self._without_findings(setup, False)
        plan = replace(plan, unread_ok=self.held.policy.unread_ok, asked=self.asked if any(self.asked.values()) else {})
        if not plan.protocol.reviews:
            return plan, None
        self.target = target
        root = setup.environment.root
        # A gate must not rely on a record that the change itself could have written.
        usable = not self.held.asked_for or is_out_of_reach(root, plan.workspace, setup.env)
        if self.again or not usable:
            return plan, None
        record = recorded_reviews.reusable_review(root, plan)
        if record is None:
            return await self._building_on_earlier(setup, plan), None
        self.reused = True
        short = sessions.short(root, record.opened.id)
        if not self.quiet:
            say(f"  the same change was reviewed by the same seats in session {short}; showing that result", sys.stderr)
            say("  to review it again, use --again", sys.stderr)
        return plan, outcome_of(record)

    async def _building_on_earlier(self, setup: Setup, plan: Plan) -> Plan:
        """The plan, with the earlier review of the same branch that it builds on, if there is one."""
        earlier = await incremental_review.earlier_review(plan, setup.environment, self.held.hiding)
        if earlier is None:
            return plan
        short, commit = sessions.short(setup.environment.root, earlier.session), earlier.commit[:12]
        rows = [f"this branch was reviewed at {commit} in session {short}"]
        if earlier.whole:
            rows[0] += "; all of it is analysed again and compared with that"
        else:
            added, removed = line_counts(earlier.diff)
            files = counted(len(earlier.changes), "file")
            rows[0] += f"; asking only about what changed since: {files}, +{added} -{removed}"
            rows.append("to review all of it, use --again")
        for row in rows if not self.quiet else ():
            say(f"  {row}", sys.stderr)
        return replace(plan, earlier=earlier)

    def _without_findings(self, setup: Setup, has_target: bool) -> GateGrounds:
        """The grounds for a protocol without findings: only `on_inconclusive` of the policy counts."""
        wish = self.flags.over(setup.config.gate) if has_target else self.flags
        return GateGrounds(combined_wish(wish, Wish(), ""))

    def _refuse_without_findings(self, protocol: Protocol, what: str) -> None:
        """Refuse flags that need findings for a protocol that has none, before anything is paid for."""
        if self.wanted and not protocol.reviews:
            raise UsageError(f"{what} does not end in findings that a gate could judge", f"Remove {self.wanted}.")

    async def nothing_read(self, setup: Setup, error: NothingRead) -> NothingRead:
        """The error for a change of which nothing was read; it has exit code 0 if the gate's policy allows that."""
        about = replace(text_target(""), base=error.base)
        self.held = await gate.grounds(setup.workspace, setup.environment.root, about, setup.config, self.flags)
        unread = unread_files(error.unread, self.held.policy.unread_ok)
        if unread.accepted and not unread.doubtful:
            count = counted(len(unread.accepted), "file of the change is", "files of the change are")
            what = f"there is nothing to review: [gate] unread_ok accepts that {count} not read"
            return NothingRead(what, error.hint, exit_code=0)
        self.excuse(error)
        return error

    def excuse(self, error: RebutError) -> None:
        """Give a review that did not end exit code 0 if the policy lets inconclusive reviews pass."""
        passes = "pass" in (self.held.policy.on_inconclusive, self.flags.on_inconclusive)
        if isinstance(error, UNDECIDED) and error.exit_code and passes:
            error.exit_code = 0
            error.add_note("The gate passes: its policy lets inconclusive reviews pass.")

    async def patched(self, setup: Setup, outcome: Outcome) -> Outcome:
        """Apply the final patch; returns the outcome with a note on whether that worked."""
        from rebut.ci.apply import AlreadyApplied, NotApplied, apply, final_patch

        patch = final_patch(outcome)
        if not patch:
            return outcome.filled(notes=(*outcome.notes, "there is no final patch, so nothing was applied"))
        why = "not applied: the review is inconclusive. --force applies its patch nevertheless"
        if outcome.conclusive or self.force:
            folder = setup.find(outcome.session)
            try:
                changed = await apply(patch, sessions.load(folder), folder, setup.environment, self.also)
            except AlreadyApplied as done:
                self.applied = True
                return outcome.filled(notes=(*outcome.notes, done.message))
            except NotApplied as error:
                why = f"not applied: {error.message}. {error.hint}".strip()
            else:
                self.applied = True
                said = f"applied to the working tree: {', '.join(changed)}"
                return outcome.filled(notes=(*outcome.notes, said))
        self.refused = True
        return outcome.filled(notes=(*outcome.notes, why))

    def judge(self, outcome: Outcome) -> Judged:
        """The outcome without dismissed findings, and the result of the gate."""
        if self.target is None or outcome.review is None:  # after a deadline there may be nothing but the record
            lenient = outcome.exit_code == 3 and self.held.policy.on_inconclusive == "pass"
            note = labelled("note", "inconclusive, which --on-inconclusive or your config lets pass", width())
            return Judged(outcome, 0, tuple(note)) if lenient else Judged(outcome, outcome.exit_code)
        if self.unread:
            return Judged(outcome, outcome.exit_code, failed=self.unread)
        found = stand(Review.ended(outcome.session, outcome, self.target), self.held, applied=self.applied)
        failed = self._write(found)
        extra: dict[str, object] = {"reused": self.reused}
        if self.verb:
            extra["heading"] = review.heading(found.outcome, self.target)
            extra["decision"] = review.decided(found.outcome, self.target)
        ending = partial(shown_review, target=self.target, brief=self.quiet) if self.verb else terminal.ending
        if self.form:
            code = found.ruling.code if self.held.asked_for else outcome.exit_code
            return Judged(found.outcome, code, failed=failed, instead=self._as_text(found))
        if not self.held.asked_for:
            return Judged(found.outcome, outcome.exit_code, (), extra, failed, ending)
        extra["gate"] = found.ruling.to_json()
        shown = tuple(rows(found, width()))
        return Judged(found.outcome, found.ruling.code, shown, extra, failed, ending)

    def _as_text(self, found: GatedReview) -> str:
        """The review in the format that --format names."""
        if self.form == "github":
            return commands(found)
        if self.form == "sarif":
            return json.dumps(log(found), ensure_ascii=False, indent=2)
        return export.markdown(sessions.load(sessions.home() / found.review.session))

    def _write(self, found: GatedReview) -> RebutError | None:
        """Write annotations and SARIF. An error is returned, since it must not hide the outcome of a paid review."""
        if self.github and (lines := commands(found)):
            print(lines, flush=True)
        try:
            if self.sarif is not None:
                save(self.sarif, found)
        except RecordError as error:
            return error
        return None


def writable(file: Path) -> None:
    """Refuse, before any call, a file that cannot be written or that is not a SARIF file of rebut."""
    files.refuse_link(file)
    try:
        there = file.exists()
    except OSError as error:
        hint = "No model was called. Choose another file for --sarif."
        raise UsageError(f"{file} cannot be written: {error.strerror}", hint) from error
    if not there:
        if not file.parent.is_dir() or not os.access(file.parent, os.W_OK):
            raise UsageError(
                f"{file} cannot be written: {file.parent} is not a writable folder",
                "No model was called. Create that folder, or choose another file for --sarif.",
            )
        return
    if not _is_own(file):
        raise UsageError(f"{file} already exists and is not a SARIF file of rebut", "Choose another file for --sarif.")


def _is_own(file: Path) -> bool:
    try:
        return is_sarif(files.read(file))
    except OSError:
        return False


def save(file: Path, found: GatedReview) -> None:
    """Write the SARIF file atomically: half a file could be taken for a result."""
    text = json.dumps(log(found), ensure_ascii=False, indent=2) + "\n"
    kept = f"The review is on record: `rebut export {found.review.session} --format sarif` writes it again."
    if file.exists() and not _is_own(file):  # created since the review began
        raise RecordError(f"{file} already exists and is not a SARIF file of rebut", f"It was not replaced. {kept}")
    try:
        files.write(file, text.encode("utf-8", "replace"))
    except OSError as error:
        old = f"{file} still has the findings of an earlier review. " if file.exists() else ""
        raise RecordError(f"{file} could not be written: {error.strerror}", f"{old}{kept}") from error
