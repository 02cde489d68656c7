"""`rebut resume` and `rebut fork`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from rebut import api
from rebut.api import Setup
from rebut.ci.apply import final_patch, is_applied
from rebut.cli.gate_flags import Gating
from rebut.cli.launch import applied
from rebut.cli.options import deadline_option, gate_options, given_limits, limits, output, pairs
from rebut.cli.runner import perform
from rebut.core.errors import RebutError
from rebut.domain.gate_policy import Wish
from rebut.domain.outcome import Outcome
from rebut.setup.connect import Custom

if TYPE_CHECKING:
    from rebut.cli.runner import Judged


@click.command("resume")
@click.argument("id")
@click.option("--ask-left", is_flag=True, help="Ask those again who were left behind and are still awaited.")
@gate_options
@limits
@output
def resume_command(
    id: str,
    as_json: bool,
    quiet: bool,
    deadline: float | None,
    ask_left: bool,
    fail_on: str | None,
    on_inconclusive: str | None,
    **named: Any,
) -> int:
    """Go on with a session that was stopped; nothing on record is asked again.

    ID is an id, a unique beginning of one, a slug, or `last`. Limits given here replace those on record. A review ends
    with the gate, the files and the --apply that it was begun with.
    """

    return take_up(
        id,
        limits=given_limits(named),
        ask_left=ask_left,
        fail_on=fail_on,
        on_inconclusive=on_inconclusive,
        as_json=as_json,
        quiet=quiet,
        deadline=deadline,
    )


@click.command("fork")
@click.argument("id")
@click.option("--topic", metavar="TEXT", help="Another question.")
@click.option("--proposer", metavar="SPEC", help="Another proposer.")
@click.option("--challenger", metavar="SPEC", help="Another challenger.")
@click.option("--judge", metavar="SPEC", help="Another judge.")
@click.option("--rounds", type=int, metavar="1–5", help="Another number of rounds.")
@click.option("--seat", multiple=True, metavar="ROLE=SPEC", help="Another model in any seat.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Another value of any setting.")
@click.option("--allow-same-model", is_flag=True, help="Let one model fill two seats: a self-debate.")
@click.option("--again", is_flag=True, help="Reuse nothing: ask the same, or what you changed, all anew.")
@click.option("--dry-run", is_flag=True, help="Only say how much would be reused and asked anew.")
@limits
@output
def fork_command(
    id: str,
    as_json: bool,
    quiet: bool,
    deadline: float | None,
    dry_run: bool,
    again: bool,
    seat: tuple[str, ...],
    settings: tuple[str, ...],
    **named: Any,
) -> int:
    """Branch a session with another seat, setting, question or limit. What still fits is reused at no cost.

    Where a seat failed, a fork that changes nothing asks that seat again.
    """
    from rebut import api
    from rebut.api import Setup
    from rebut.cli.output import say, say_json
    from rebut.cli.runner import perform
    from rebut.core.errors import UsageError

    changes = {"limits": given_limits(named), **named}
    changes |= dict(pairs(seat, "--seat", "ROLE=SPEC")) | dict(pairs(settings, "--set", "NAME=VALUE"))

    if not again and not dry_run and not any(value for name, value in changes.items() if name != "allow_same_model"):
        _must_ask(id)

    async def act(setup: Setup) -> Outcome:
        if again:
            return await api.fork(id, setup=setup, again=True, **changes)
        reused, anew = await api.fork_plan(id, setup=setup, **changes)
        if not quiet and not as_json:
            say(f"  {_counted(reused, anew)}", sys.stderr)
        return await api.fork(id, setup=setup, **changes)

    if dry_run:
        import asyncio

        if again:
            raise UsageError("--again reuses nothing, so there is nothing to count", "Leave out --dry-run.")
        reused, anew = asyncio.run(api.fork_plan(id, setup=Setup(), **changes))
        if as_json:
            say_json({"reused": reused, "anew": anew})
        else:
            say(f"  {_counted(reused, anew)}")
        return 0
    return perform(act, as_json=as_json, quiet=quiet, deadline=deadline, judge=with_parent)


def _must_ask(id: str) -> None:
    """Nothing is changed, so that nobody would be asked but those who failed."""
    from rebut.cli.commands.show import folder_of
    from rebut.core.errors import UsageError
    from rebut.core.types import LEFT
    from rebut.record import sessions

    record = sessions.load(folder_of(id))
    if record.closed is not None and any(c.failed and c.failed.failure != LEFT for c in record.calls.values()):
        return
    if record.closed is None:
        raise UsageError(f"{id} has not ended, and nothing in it is to change", f"Go on with `rebut resume {id}`.")
    raise UsageError(
        f"a fork of {id} that changes nothing would only repeat it: every answer would be reused",
        "Change a seat (--judge SPEC, --seat ROLE=SPEC), --rounds, --topic, a setting (--set NAME=VALUE) or a limit, "
        "or ask everything anew with --again.",
    )


def with_parent(outcome: Outcome) -> Judged:
    """How a fork ended, beside the session that it was taken from."""
    from rebut.cli.commands.show import beside, root
    from rebut.cli.output import width
    from rebut.cli.runner import Judged
    from rebut.record import sessions

    pair = beside(sessions.load(root() / outcome.session), outcome)
    if pair is None:
        return Judged(outcome, outcome.exit_code)
    return Judged(outcome, outcome.exit_code, tuple(pair.rows(width())), pair.to_json())


def _counted(reused: int, anew: int) -> str:
    return f"this fork reuses {reused} answer{'' if reused == 1 else 's'} and asks about {anew} anew"


# Taking up: a session goes on, and ends as the command that began it would have, with its gate and what it applies.


def take_up(
    id: str,
    *,
    as_json: bool,
    quiet: bool,
    deadline: float | None,
    limits: Mapping[str, float] | None = None,
    ask_left: bool = False,
    backends: Mapping[str, Custom] | None = None,
    fail_on: str | None = None,
    on_inconclusive: str | None = None,
) -> int:
    """Go on with a session. What was asked of a review besides its ending is on record; a gate given here is newer."""
    gating, refused = Gating(Wish(fail_on, on_inconclusive)), list[str]()

    async def act(setup: Setup) -> Outcome:
        there, _, record = setup.for_session(id)
        await gating.take_up(there, record, quiet=as_json)
        try:
            outcome = await api.resume(id, setup=setup, limits=limits, ask_left=ask_left)
        except RebutError as error:
            gating.excuse(error)
            raise
        if gating.target is None:
            return outcome
        if gating.apply and outcome.complete and not record.closed:  # what had ended was applied then, or refused
            outcome = await applied(there, outcome, refused)
        gating.applied = await is_applied(final_patch(outcome), record, there.environment.known_secrets)
        return outcome

    code = perform(act, as_json=as_json, quiet=quiet, deadline=deadline, backends=backends, judge=gating.judge)
    return code or (3 if refused else 0)


# `rebut answer`: the caller's reply, put on record, and the debate goes on.


@click.command("answer")
@click.argument("id")
@click.option("--file", "file", required=True, metavar="FILE", help="The answer; - reads it from standard input.")
@click.option("--key", default="", metavar="KEY", help="The question that it answers. [the one that waits]")
@deadline_option
@output
def answer_command(id: str, file: str, key: str, deadline: float | None, as_json: bool, quiet: bool) -> int:
    """Answer the question that a `caller` seat was asked, and go on with the debate.

    The question, the schema of its answer and this command are what rebut printed when it ended with code 4. An answer
    that does not fit is kept on record, and the question comes back with what is wrong. With --key, an answer that was
    already taken is not taken twice.
    """
    from rebut.setup.connect import answering

    text = _read(file)
    wanted = _for(id, key, text)
    return take_up(
        id,
        as_json=as_json,
        quiet=quiet,
        deadline=deadline,
        backends={"caller": answering(text if wanted else "", key)},
    )


def _for(id: str, key: str, text: str) -> bool:
    """Whether the answer is still wanted; one that was taken before its process died need not be taken again."""
    from rebut.api import Setup
    from rebut.core.errors import UsageError
    from rebut.engine.plan import participants
    from rebut.record import sessions
    from rebut.record.record import seat_of

    folder = Setup().find(id)
    record = sessions.load(folder)
    seats = [p.seat for p in participants(record)[0] if p.spec.provider == "caller"]
    if not seats:
        raise UsageError(f"session {folder.name} has no seat of the caller's", "Go on with `rebut resume`.")
    if record.closed:
        raise UsageError(f"session {folder.name} is closed", f"`rebut show {folder.name}` has its outcome.")
    if key and seat_of(key) not in seats:
        raise UsageError(f"{key} is no question to the caller", f"The caller sits as {', '.join(seats)}.")
    call = record.calls.get(key)
    if call is None:
        return True
    last = call.attempts[max(call.attempts)].text.strip() if call.attempts else ""
    return call.answered is None and last != text.strip()


def _read(file: str) -> str:
    import sys
    from pathlib import Path

    from rebut.core.errors import UsageError

    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    text = raw.decode("utf-8-sig", "replace")
    if not text.strip():
        raise UsageError("the answer is empty", "Give it with --file FILE, or on standard input with --file -.")
    return text
