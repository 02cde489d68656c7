"""`rebut show` and `rebut replay`. They only read records."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rebut.cli.changed_protocol import confirm_changed, yes_option
from rebut.cli.completion import SESSION
from rebut.cli.options import json_flag

if TYPE_CHECKING:
    from rebut.core.json_value import Json
    from rebut.domain.outcome import Outcome
    from rebut.record.record import Record
    from rebut.reports.compare import Pair


def folder_of(id: str) -> Path:
    """The folder of a session that the user names."""
    from rebut.record import sessions

    return sessions.find(sessions.home(), id, Path.cwd().resolve())


def review_folder(id: str, *, quiet: bool = False) -> Path:
    """The folder of a review that the user names. `last` is the last review: a line names it if a debate came later.

    A review that has not ended counts, since an older one must not be shown in its place.
    """
    if id != "last":
        return folder_of(id)
    from rebut.core.errors import UnknownSession
    from rebut.domain.session_status import is_review
    from rebut.record import sessions

    here, later = Path.cwd().resolve(), False
    for found in sessions.of_workspace(sessions.home(), here):
        record = sessions.load(found.folder)
        if is_review(record) or (record.closed is None and "target" in record.facts):
            if later and not quiet:
                _say_which(record)
            return found.folder
        later = True
    raise UnknownSession(
        f"no review was started in {here}", "`rebut review` starts one, `rebut list` shows what is there."
    )


def _say_which(record: Record) -> None:
    from rebut.cli.output import folded, say
    from rebut.core.text import cut
    from rebut.record import sessions

    short = sessions.short(sessions.home(), record.opened.id)
    say(folded(f"  the last review is {short}: {cut(record.opened.topic, 60)}", sys.stderr), sys.stderr)


@click.command("show")
@click.argument("id", type=SESSION)
@click.option("--prompts", is_flag=True, help="Also show every prompt.")
@click.option("--failures", is_flag=True, help="Show only failed calls, and why they failed.")
@click.option("--all", "everything", is_flag=True, help="Also show hidden findings and raw replies.")
@click.option("--no-pager", is_flag=True, help="Print without a pager. [PAGER]")
@json_flag
def show_command(id: str, prompts: bool, failures: bool, everything: bool, no_pager: bool, as_json: bool) -> int:
    """Show a session: its outcome, every point with its status and evidence, then every answer."""
    from rebut.cli.output import print_paged, say, say_json, width
    from rebut.domain import session_status
    from rebut.record import sessions
    from rebut.reports import terminal, transcript

    folder = folder_of(id)
    record = sessions.load(folder)
    if as_json:
        say_json(_as_json(record))
        return 0
    if failures:
        say("\n".join(["", *terminal.header(record, width=width()), "", *transcript.failures(record)]))
        say("" if transcript.failures(record) else "  no call failed")
        return 0
    ledger = session_status.ledger_of(record)
    title, *header = terminal.header(record, width=width())
    rows = ["", title, "", *_outcome_rows(record, folder, everything, width()), "", *header, ""]
    if everything or not session_status.is_review(record):  # the outcome of a review lists them
        listed = transcript.point_rows(session_status.counted_ledger(record), width())
        rows += ["  POINTS AND CLAIMS", "", *listed] if listed else []
    rows += transcript.turns(record, ledger, width(), prompts=prompts, raw=everything)
    print_paged("\n".join(rows).rstrip("\n"), allowed=not no_pager)
    return 0


def _outcome_rows(record: Record, folder: Path, everything: bool, width: int) -> list[str]:
    from rebut.domain import session_status
    from rebut.record import sessions

    if outcome := session_status.outcome_of(record):
        outcome = _dismissed(record, outcome)
        # The header shows the notes, so they are not shown again here.
        shown = _ending(record, outcome, width, told=record.notes, everything=everything, points=False)
        pair = beside(record)
        return [shown, *(["", *pair.rows(width)] if pair else [])]
    running = sessions.running(folder)
    rows = [f"  {session_status.status(record, running)}."]
    if not running:
        rows.append(f"  Continue with   rebut resume {sessions.short(sessions.home(), record.opened.id)}")
    return rows


def _ending(
    record: Record, outcome: Outcome, width: int, *, told: Sequence[str], everything: bool = False, points: bool = True
) -> str:
    """The outcome of a session, in the words of the command that it was started with."""
    from rebut.ci.recorded_reviews import reviewed_target
    from rebut.domain.session_status import asked_by
    from rebut.reports import terminal

    if outcome.review and asked_by(record):
        from rebut.cli.debated_versions import shown_review

        return shown_review(outcome, target=reviewed_target(record), width=width, told=told, everything=everything)
    return terminal.ending(outcome, width=width, told=told, everything=everything, points=points)


def beside(record: Record, outcome: Outcome | None = None) -> Pair | None:
    """A fork compared with its parent; None if the session is not a fork."""
    from rebut.record import sessions
    from rebut.reports.compare import paired

    return paired(record, sessions.loader(sessions.home()), outcome)


def _as_json(record: Record) -> dict[str, Json]:
    from rebut.reports import export

    pair = beside(record)
    return {**export.as_json(record), **(pair.to_json() if pair else {})}


def _dismissed(record: Record, outcome: Outcome) -> Outcome:
    """A review's outcome without the findings dismissed since; unchanged if the repository is gone."""
    if outcome.review is None:
        return outcome
    import asyncio

    from rebut.ci.gate import grounds_of, stand
    from rebut.ci.recorded_reviews import Review
    from rebut.core.errors import UsageError

    try:
        return stand(Review.of(record), asyncio.run(grounds_of(record))).outcome
    except UsageError:
        return outcome


@click.command("replay")
@click.argument("id", type=SESSION)
@yes_option
@json_flag
def replay_command(id: str, yes: bool, as_json: bool) -> int:
    """Repeat a session from its record, offline and free, and report whether the outcome is the same."""
    from rebut import api
    from rebut.cli.json_result import brief
    from rebut.cli.output import say, say_json, width
    from rebut.cli.screen.screen import Screen
    from rebut.domain import session_status
    from rebut.record import sessions

    record = sessions.load(folder_of(id))
    confirm_changed(record, yes=yes, as_json=as_json)
    screen = Screen(quiet=as_json)
    screen.ready(record)
    screen.close()
    import asyncio

    outcome = asyncio.run(api.replay(record.opened.id))
    was = session_status.outcome_of(record)
    same = was is not None and (was.heading, was.decision, was.final) == (
        outcome.heading,
        outcome.decision,
        outcome.final,
    )
    if as_json:
        say_json({**brief(outcome), "same": same})
    else:
        say(_ending(record, outcome, width(), told=screen.notes))
        say("\n  the same outcome as on record" if same else "\n  NOT the outcome on record")
    return 0 if same else 3
