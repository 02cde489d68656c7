"""`rebut resume` and `rebut fork`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from rebut.cli.options import gate_options, given_limits, limits, output, pairs

if TYPE_CHECKING:
    from rebut.cli.runner import Judged
    from rebut.domain.outcome import Outcome


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
    from rebut.cli.commands.taking_up import take_up

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
    from rebut.api import Desk
    from rebut.cli.output import say, say_json
    from rebut.cli.runner import perform
    from rebut.core.errors import UsageError

    changes = {"limits": given_limits(named), **named}
    changes |= dict(pairs(seat, "--seat", "ROLE=SPEC")) | dict(pairs(settings, "--set", "NAME=VALUE"))

    if not again and not dry_run and not any(value for name, value in changes.items() if name != "allow_same_model"):
        _must_ask(id)

    async def act(desk: Desk) -> Outcome:
        if again:
            return await api.fork(id, desk=desk, again=True, **changes)
        reused, anew = await api.fork_plan(id, desk=desk, **changes)
        if not quiet and not as_json:
            say(f"  {_counted(reused, anew)}", sys.stderr)
        return await api.fork(id, desk=desk, **changes)

    if dry_run:
        import asyncio

        if again:
            raise UsageError("--again reuses nothing, so there is nothing to count", "Leave out --dry-run.")
        reused, anew = asyncio.run(api.fork_plan(id, desk=Desk(), **changes))
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
    from rebut.record import sessions as session

    record = session.load(folder_of(id))
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
    from rebut.record import sessions as session

    pair = beside(session.load(root() / outcome.session), outcome)
    if pair is None:
        return Judged(outcome, outcome.exit_code)
    return Judged(outcome, outcome.exit_code, tuple(pair.rows(width())), pair.to_json())


def _counted(reused: int, anew: int) -> str:
    return f"this fork reuses {reused} answer{'' if reused == 1 else 's'} and asks about {anew} anew"
