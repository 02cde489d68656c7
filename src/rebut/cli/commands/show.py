"""`rebut show` and `rebut replay`: they read, and never write a journal."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rebut.cli.options import json_flag

if TYPE_CHECKING:
    from rebut.core.types import Json
    from rebut.domain.outcome import Outcome
    from rebut.record.record import Record
    from rebut.reports.compare import Pair


def root() -> Path:
    from rebut.record import sessions as session

    return session.home()


def folder_of(id: str) -> Path:
    from rebut.record import sessions as session

    return session.find(root(), id, Path.cwd().resolve())


@click.command("show")
@click.argument("id")
@click.option("--prompts", is_flag=True, help="Also every question, as it was asked.")
@click.option("--failures", is_flag=True, help="Only what failed, and why.")
@click.option("--all", "everything", is_flag=True, help="Also hidden findings, and each reply as it came.")
@click.option("--no-pager", is_flag=True, help="Print it, however long it is. [PAGER]")
@json_flag
def show_command(id: str, prompts: bool, failures: bool, everything: bool, no_pager: bool, as_json: bool) -> int:
    """Show a session: how it ended, every point with its fate and evidence, then who said what, turn by turn."""
    from rebut.cli.output import say, say_json, width
    from rebut.cli.paging import page
    from rebut.domain import session_status as reading
    from rebut.record import sessions as session
    from rebut.reports import terminal as report, transcript

    folder = folder_of(id)
    record = session.load(folder)
    if as_json:
        say_json(_for_machines(record))
        return 0
    if failures:
        say("\n".join(["", *report.header(record, width=width()), "", *transcript.failures(record)]))
        say("" if transcript.failures(record) else "  nothing failed")
        return 0
    ledger = reading.ledger_of(record)
    title, *header = report.header(record, width=width())
    rows = ["", title, "", *_how_it_ended(record, folder, everything, width()), "", *header, ""]
    if everything or not reading.is_review(record):  # a review's ending has told them
        listed = transcript.points(ledger, width())
        rows += ["  POINTS AND CLAIMS", "", *listed] if listed else []
    rows += transcript.turns(record, ledger, width(), prompts=prompts, raw=everything)
    page("\n".join(rows).rstrip("\n"), allowed=not no_pager)
    return 0


def _how_it_ended(record: Record, folder: Path, everything: bool, width: int) -> list[str]:
    from rebut.domain import session_status as reading
    from rebut.record import sessions as session
    from rebut.reports import terminal as report

    if outcome := reading.outcome_of(record):
        outcome = _dismissed(record, outcome)  # the header has the notes
        shown = report.ending(outcome, width=width, told=record.notes, everything=everything, points=False)
        pair = beside(record)
        return [shown, *(["", *pair.rows(width)] if pair else [])]
    running = session.running(folder)
    rows = [f"  {reading.status(record, running)}."]
    return rows if running else [*rows, f"  Go on with   rebut resume {session.short(root(), record.opened.id)}"]


def beside(record: Record, outcome: Outcome | None = None) -> Pair | None:
    """A fork beside the session that it was taken from."""
    from rebut.core.errors import RecordError
    from rebut.record import sessions as session
    from rebut.reports.compare import paired

    def load(id: str) -> Record | None:
        try:
            return session.load(root() / id)
        except RecordError:
            return None

    return paired(record, load, outcome)


def _for_machines(record: Record) -> dict[str, Json]:
    from rebut.reports import export

    pair = beside(record)
    return {**export.as_json(record), **(pair.to_json() if pair else {})}


def _dismissed(record: Record, outcome: Outcome) -> Outcome:
    """A review's outcome without what was dismissed since. To look at it, the repository need not be there."""
    if "contract" not in outcome.data:
        return outcome
    from rebut.ci.recorded_reviews import Review
    from rebut.ci.standing import stand
    from rebut.cli.commands.gate import grounds_of
    from rebut.core.errors import UsageError
    from rebut.domain.gate_policy import Wish

    try:
        return stand(Review.of(record), grounds_of(record, Wish())).outcome
    except UsageError:
        return outcome


@click.command("replay")
@click.argument("id")
@json_flag
def replay_command(id: str, as_json: bool) -> int:
    """Run a session again from its record: offline, free, nothing written. Says whether it comes to the same end."""
    from rebut import api
    from rebut.cli.json_result import brief
    from rebut.cli.output import say, say_json, width
    from rebut.cli.screen.screen import Screen
    from rebut.domain import session_status as reading
    from rebut.record import sessions as session
    from rebut.reports import terminal as report

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
