"""`resume`, `answer`, `fork` and `more`: the commands that continue a session on record."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from rebut.cli.brief_help import Brief
from rebut.cli.changed_protocol import confirm_changed, yes_option
from rebut.cli.completion import PATH, SESSION, SPEC
from rebut.cli.options import deadline_option, gate_options, given_limits, limits, output, pairs
from rebut.cli.pydantic_loader import load_pydantic

if TYPE_CHECKING:
    from rebut.api import Setup
    from rebut.cli.runner import Judged
    from rebut.domain.outcome import Outcome
    from rebut.engine.fork import ForkCount
    from rebut.record.record import Record
    from rebut.setup.connect import Custom


@click.command("resume", cls=Brief)
@click.argument("id", type=SESSION)
@click.option("--ask-left", is_flag=True, help="Retry calls that were skipped by hand.")
@yes_option
@gate_options
@limits
@output
def resume_command(id: str, **named: Any) -> int:
    """Resume a session that was stopped. Recorded answers are not asked again.

    ID is a session id or its first letters, a slug, or `last`. Limits given here replace those on record. A review
    keeps the gate, the files and the --apply it was started with.
    """
    return resume_session(id, limits=given_limits(named), **named)


def resume_session(
    id: str,
    *,
    as_json: bool,
    quiet: bool,
    deadline: float | None,
    limits: Mapping[str, float] | None = None,
    ask_left: bool = False,
    yes: bool = False,
    backends: Mapping[str, Custom] | None = None,
    fail_on: str | None = None,
    on_inconclusive: str | None = None,
) -> int:
    """Resume a session. A review keeps the gate that is on record, unless another is given here."""
    load_pydantic()
    from rebut import api
    from rebut.ci.apply import final_patch, is_applied
    from rebut.cli.commands.show import folder_of
    from rebut.cli.gate_flags import Gating
    from rebut.cli.output import say
    from rebut.cli.runner import perform
    from rebut.core.errors import RebutError
    from rebut.domain.gate_policy import Wish
    from rebut.record import sessions

    before = sessions.load(folder_of(id))
    confirm_changed(before, yes=yes, as_json=as_json)
    if before.closed and not (quiet or as_json):
        say("  this debate had already ended, so nothing is asked; this is its result", sys.stderr)
    gating = Gating(Wish(fail_on, on_inconclusive))

    async def act(setup: Setup) -> Outcome:
        there, _, record = setup.for_session(id)
        await gating.read_recorded(there, record, quiet=as_json)
        try:
            outcome = await api.resume(id, setup=setup, limits=limits, ask_left=ask_left)
        except RebutError as error:
            gating.excuse(error)
            raise
        if gating.target is None:
            return outcome
        if gating.apply and outcome.complete and not record.closed:  # for a closed session, that was done when it ended
            outcome = await gating.patched(there, outcome)
        gating.applied = await is_applied(final_patch(outcome), record, there.environment.known_secrets)
        return outcome

    code = perform(act, as_json=as_json, quiet=quiet, deadline=deadline, backends=backends, judge=gating.judge)
    return code or (3 if gating.refused else 0)


@click.command("answer")
@click.argument("id", type=SESSION)
@click.option("--file", "file", required=True, type=PATH, metavar="FILE", help="The answer; - reads standard input.")
@click.option("--key", default="", metavar="KEY", help="The question that it answers. [the one waiting]")
@yes_option
@deadline_option
@output
def answer_command(id: str, file: str, key: str, yes: bool, deadline: float | None, as_json: bool, quiet: bool) -> int:
    """Answer a question for a `caller` seat, and resume the debate.

    When rebut exits with code 4, it prints the question, the schema of the answer and this command. If the answer does
    not match the schema, it is recorded, and rebut asks again with the problems listed. With --key, the same answer is
    not recorded twice.
    """
    from rebut.setup.connect import answering

    text = _read(file)
    wanted = _is_needed(id, key, text)
    return resume_session(
        id,
        yes=yes,
        as_json=as_json,
        quiet=quiet,
        deadline=deadline,
        backends={"caller": answering(text if wanted else "", key)},
    )


def _is_needed(id: str, key: str, text: str) -> bool:
    """Whether the answer is still needed: it may be on record from a process that was killed."""
    from rebut.api import Setup
    from rebut.core.errors import UsageError
    from rebut.engine.plan import participants
    from rebut.record import sessions
    from rebut.record.record import seat_of

    folder = Setup().find(id)
    record = sessions.load(folder)
    seats = [p.seat for p in participants(record)[0] if p.spec.provider == "caller"]
    if not seats:
        raise UsageError(f"session {folder.name} has no `caller` seat", "Continue with `rebut resume`.")
    if record.closed:
        raise UsageError(f"session {folder.name} is closed", f"See its outcome with `rebut show {folder.name}`.")
    if key and seat_of(key) not in seats:
        raise UsageError(f"{key} is not a question to the caller", f"The seats of the caller: {', '.join(seats)}.")
    call = record.calls.get(key)
    if call is None:
        return True
    last = call.attempts[max(call.attempts)].text.strip() if call.attempts else ""
    return call.answered is None and last != text.strip()


def _read(file: str) -> str:
    from rebut.cli.shorthand import read_stdin
    from rebut.core import files
    from rebut.core.errors import UsageError

    try:
        raw = read_stdin() if file == "-" else files.read(file, pipes=True)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    text = raw.decode("utf-8-sig", "replace")
    if not text.strip():
        raise UsageError("the answer is empty", "Use --file FILE, or --file - for standard input.")
    return text


@click.command("fork", cls=Brief)
@click.argument("id", type=SESSION)
@click.option("--topic", metavar="TEXT", help="Another question.")
@click.option("--proposer", type=SPEC, help="Another proposer.")
@click.option("--challenger", type=SPEC, help="Another challenger.")
@click.option("--judge", type=SPEC, help="Another judge.")
@click.option("--rounds", type=int, metavar="1–5", help="Another number of rounds.")
@click.option("--seat", multiple=True, metavar="ROLE=SPEC", help="Another model for a seat.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Another value for a setting.")
@click.option("--allow-same-model", is_flag=True, help="Allow the same model in two seats (a self-debate).")
@click.option("--again", is_flag=True, help="Do not reuse any answers.")
@click.option("--dry-run", is_flag=True, help="Only show how many answers would be reused.")
@yes_option
@limits
@output
def fork_command(
    id: str,
    yes: bool,
    as_json: bool,
    quiet: bool,
    deadline: float | None,
    dry_run: bool,
    again: bool,
    seat: tuple[str, ...],
    settings: tuple[str, ...],
    **named: Any,
) -> int:
    """Copy a session with another model, setting, question or limit. Answers that still fit are reused for free.

    If a seat failed, a fork without changes asks that seat again.
    """
    from rebut import api
    from rebut.api import Setup
    from rebut.cli.commands.show import folder_of
    from rebut.cli.output import say, say_json
    from rebut.cli.runner import perform
    from rebut.core.errors import UsageError
    from rebut.record import sessions

    changes = {"limits": given_limits(named), **named}
    changes |= dict(pairs(seat, "--seat", "ROLE=SPEC")) | dict(pairs(settings, "--set", "NAME=VALUE"))

    changed = [name for name, value in changes.items() if value not in (None, (), {}) and name != "allow_same_model"]
    if not again and not dry_run and not changed:
        _refuse_mere_repetition(id)
    confirm_changed(sessions.load(folder_of(id)), yes=yes, as_json=as_json)

    async def act(setup: Setup) -> Outcome:
        if again:
            return await api.fork(id, setup=setup, again=True, **changes)
        plan = await api.fork_plan(id, setup=setup, **changes)
        if not quiet and not as_json:
            say(f"  {_counted(plan)}", sys.stderr)
        return await api.fork(id, setup=setup, **changes)

    if dry_run:
        import asyncio

        if again:
            raise UsageError("--again reuses no answers, so there is nothing to show", "Remove --dry-run.")
        plan = asyncio.run(api.fork_plan(id, setup=Setup(rehearsal=True), **changes))
        if as_json:
            say_json({"reused": plan[0], "anew": plan[1], **({} if plan.exact else {"exact": False})})
        else:
            say(f"  {_counted(plan)}")
        return 0
    return perform(act, as_json=as_json, quiet=quiet, deadline=deadline, judge=with_parent)


def _refuse_mere_repetition(id: str) -> None:
    """Refuse a fork without changes, unless a seat failed: only a failed seat would be asked."""
    from rebut.cli.commands.show import folder_of
    from rebut.core.errors import UsageError
    from rebut.core.types import LEFT
    from rebut.record import sessions

    record = sessions.load(folder_of(id))
    if record.closed is not None and any(c.failed and c.failed.failure != LEFT for c in record.calls.values()):
        return
    if record.closed is None:
        raise UsageError(f"{id} has not ended, and the fork changes nothing", f"Continue with `rebut resume {id}`.")
    raise UsageError(
        f"a fork of {id} without changes would only repeat it: every answer would be reused",
        "Change a seat (--judge SPEC, --seat ROLE=SPEC), --rounds, --topic, a setting (--set NAME=VALUE) or a limit, "
        "or use --again to reuse no answers.",
    )


def with_parent(outcome: Outcome) -> Judged:
    """The outcome of a fork, beside its parent's."""
    from dataclasses import replace
    from functools import partial

    from rebut.ci.recorded_reviews import reviewed_target
    from rebut.cli.commands.show import beside
    from rebut.cli.debated_versions import shown_review
    from rebut.cli.output import width
    from rebut.cli.runner import Judged
    from rebut.domain.session_status import asked_by
    from rebut.record import sessions
    from rebut.reports import review

    record = sessions.load(sessions.home() / outcome.session)
    judged, pair = Judged(outcome, outcome.exit_code), beside(record, outcome)
    if outcome.review and asked_by(record):
        target = reviewed_target(record)
        extra = {"heading": review.heading(outcome, target), "decision": review.decided(outcome, target)}
        judged = replace(judged, extra=extra, ending=partial(shown_review, target=target))
    if pair is None:
        return judged
    return replace(judged, rows=tuple(pair.rows(width())), extra={**judged.extra, **pair.to_json()})


def _counted(plan: ForkCount) -> str:
    from rebut.core.text import counted

    reused, new = plan
    least, most = ("", "about") if plan.exact else ("at least ", "at most")
    asks = f"{most} {new}" if new else "none"
    return f"this fork reuses {least}{counted(reused, 'answer')} and asks for {asks} new"


def _nothing_more(record: Record, outcome: Outcome) -> str:
    """Why another round would change nothing, with the heading that `rebut show` begins with."""
    from rebut.domain.session_status import asked_by
    from rebut.reports import review
    from rebut.reports.terminal import PROGRAMS

    if all(row.get("family") == PROGRAMS or row["spec"] == "human" for row in record.opened.seats):
        return "this debate used no model, so another round would change nothing"
    verb = asked_by(record)
    if verb and outcome.review:
        return f"another round would call no model: {verb} ended with: {review.heading_of(record, outcome)}"
    return f"another round would call no model: {verb or record.opened.protocol} ended with {outcome.heading}"


@click.command("more", cls=Brief)
@click.argument("id", type=SESSION, required=False, default="last")
@yes_option
@limits
@output
def more_command(id: str, yes: bool, as_json: bool, quiet: bool, deadline: float | None, **named: Any) -> int:
    """Add a round to a debate. ID is a session id or its first letters, a slug, or `last`."""
    from rebut import api
    from rebut.api import Setup
    from rebut.cli.output import say
    from rebut.cli.runner import perform
    from rebut.core.errors import UsageError
    from rebut.core.text import counted
    from rebut.domain.outcome import Outcome
    from rebut.engine.steering import added, settled
    from rebut.record import sessions

    raised = given_limits(named)
    setup = Setup()
    record = sessions.load(setup.find(id))
    if record.closed is None:
        if not quiet and not as_json:
            say("  this debate has not ended: resuming it", sys.stderr)
        return resume_session(id, limits=raised, yes=yes, as_json=as_json, quiet=quiet, deadline=deadline)
    confirm_changed(record, yes=yes, as_json=as_json)
    rounds = record.opened.settings.get("rounds", record.opened.settings.get("max_rounds"))
    name = "rounds" if "rounds" in record.opened.settings else "max_rounds"
    if not isinstance(rounds, int):
        raise UsageError(f"{record.opened.protocol} has no rounds")

    if settled(record):  # settled early: the next round follows the last that took place
        rounds = max((int(n[1]) for key in record.calls if (n := re.match(r"r(\d+)/", key))), default=0)
    else:
        rounds += added(record)
    outcome = Outcome.from_json(record.closed.outcome)

    async def fork(setup: Setup) -> Outcome:
        changes: dict[str, Any] = {name: rounds + 1, "limits": raised}
        plan = await api.fork_plan(id, setup=setup, **changes)
        reused, new = plan
        if not new:
            raise UsageError(
                _nothing_more(record, outcome),
                f"Try another model or question: rebut fork {record.opened.id[:4]} …",
            )
        if not quiet and not as_json:
            kept = counted(reused, "answer is", "answers are")
            say(f"  round {rounds + 1}: {kept} reused, {'about' if plan.exact else 'at most'} {new} asked", sys.stderr)
        return await api.fork(id, setup=setup, **changes)

    return perform(fork, as_json=as_json, quiet=quiet, deadline=deadline, judge=with_parent)
