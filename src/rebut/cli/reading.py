"""`rebut show` and `rebut replay`: they read, and never write a journal."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rebut.cli.options import json_flag

if TYPE_CHECKING:
    from rebut.outcome import Outcome
    from rebut.record import Record


def root() -> Path:
    from rebut import session

    return session.home()


def folder_of(id: str) -> Path:
    from rebut import session

    return session.find(root(), id, Path.cwd().resolve())


@click.command("show")
@click.argument("id")
@click.option("--prompts", is_flag=True, help="Also every question, as it was asked.")
@click.option("--failures", is_flag=True, help="Only what failed, and why.")
@click.option("--all", "everything", is_flag=True, help="Every finding of a review, also those hidden by default.")
@json_flag
def show_command(id: str, prompts: bool, failures: bool, everything: bool, as_json: bool) -> int:
    """Show a session: who said what, every claim and point with its evidence, the outcome."""
    from rebut import export, reading, report, session, transcript
    from rebut.cli.saying import say, say_json, width

    folder = folder_of(id)
    record = session.load(folder)
    if as_json:
        say_json(export.as_json(record))
        return 0
    say("\n".join(["", *report.header(record, width=width()), ""]))
    if failures:
        say("\n".join(transcript.failures(record)) or "  nothing failed")
        return 0
    for call in record.calls.values():
        if prompts:
            say("\n".join(transcript.questions(call)))
        say("\n".join(transcript.said(call, width())))
    say("\n".join(transcript.points(reading.ledger_of(record), width())))
    outcome = reading.outcome_of(record)
    if outcome:
        say(report.ending(_dismissed(record, outcome), width=width(), everything=everything))
        return 0
    running = session.running(folder)
    go_on = "" if running else f"\n  Go on with   rebut resume {session.short(root(), record.opened.id)}"
    say(f"  {reading.status(record, running)}.{go_on}")
    return 0


def _dismissed(record: Record, outcome: Outcome) -> Outcome:
    """A review's outcome without what was dismissed since. To look at it, the repository need not be there."""
    if "contract" not in outcome.data:
        return outcome
    from rebut.cli.gate import grounds_of
    from rebut.errors import UsageError
    from rebut.policy import Wish
    from rebut.reviewed import Review
    from rebut.standing import stand

    try:
        return stand(Review.of(record), grounds_of(record, Wish())).outcome
    except UsageError:
        return outcome


@click.command("replay")
@click.argument("id")
@json_flag
def replay_command(id: str, as_json: bool) -> int:
    """Run a session again from its record: offline, free, nothing written. Says whether it comes to the same end."""
    from rebut import api, reading, report, session
    from rebut.cli.brief import brief
    from rebut.cli.saying import say, say_json, width
    from rebut.cli.screen import Screen

    record = session.load(folder_of(id))
    screen = Screen(quiet=as_json)
    screen.ready(record)
    screen.close()
    outcome = asyncio.run(api.replay(record.opened.id))
    was = reading.outcome_of(record)
    same = was is not None and (was.heading, was.decision, was.final) == (
        outcome.heading,
        outcome.decision,
        outcome.final,
    )
    if as_json:
        say_json({**brief(outcome), "same": same})
    else:
        say(report.ending(outcome, width=width()))
        say("\n  the same end as on record" if same else "\n  NOT the end that is on record")
    return 0 if same else 3
