"""`rebut list` and `rebut delete`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rebut.cli.commands.show import folder_of
from rebut.cli.completion import SESSION
from rebut.cli.options import json_flag

if TYPE_CHECKING:
    from rebut.record.record import Record

LISTED = 30
"""Sessions that are listed unless the user asks for more."""


@click.command("list")
@click.option("--all", "everywhere", is_flag=True, help="List the sessions of all folders.")
@click.option(
    "--number", "-n", type=click.IntRange(min=1), metavar="N", help=f"List so many at most. [{LISTED}; with --json all]"
)
@json_flag
def list_command(everywhere: bool, number: int | None, as_json: bool) -> int:
    """List the sessions of this folder, newest first."""
    from rebut.cli.output import folded, say, say_json, width
    from rebut.core.errors import RecordError
    from rebut.core.text import counted, cut
    from rebut.domain import session_status
    from rebut.record import sessions

    root = sessions.home()
    found = sessions.sessions(root) if everywhere else list(sessions.of_workspace(root, Path.cwd().resolve()))
    most = number or (len(found) if as_json else LISTED)
    rows = []
    for one in found[:most]:
        try:
            record = sessions.load(one.folder)
            with sessions.understood(one.id):
                verb, status = session_status.asked_by(record), _status(record, sessions.running(one.folder))
        except RecordError as error:
            verb, status = "", f"unreadable: {error.message}"
        row = {"id": one.id, "at": one.at, "protocol": one.opened.protocol, "topic": one.opened.topic, "status": status}
        rows.append({**row, "verb": verb, "workspace": one.opened.workspace, "forked_from": one.opened.forked_from})
    if as_json:
        say_json(rows)
        return 0
    if not rows:
        say(
            "no sessions yet"
            if everywhere
            else "no sessions in this folder; `rebut list --all` shows the sessions of all folders"
        )
    for row in rows:
        fork = f", fork of {row['forked_from'][:4]}" if row["forked_from"] else ""
        topic = " ".join(row["topic"].split())
        line = f"{row['id']}  {row['at'][:16].replace('T', ' ')}  {row['verb'] or row['protocol']:<8} "
        rest = f"  ({row['status']}{fork})" + (f"  {row['workspace']}" if everywhere else "")
        space = max(20, width() - len(line) - len(rest))
        # A long line continues below, under the date.
        say(folded(line + (cut(topic, space) if sys.stdout.isatty() else topic) + rest, sys.stdout, 10))
    if older := found[most:]:
        which = f"{counted(len(older), 'older session is', 'older sessions are')} not listed"
        say(folded(f"{which}; --number {len(found)} lists them all", sys.stdout, 10))
    return 0


def _status(record: Record, running: str) -> str:
    """The status in a few words; for a review that has ended, its headline."""
    from rebut.domain import session_status

    outcome = session_status.outcome_of(record)
    if not (outcome and outcome.review and session_status.asked_by(record)):
        return session_status.status(record, running)
    from rebut.ci.recorded_reviews import reviewed_target  # here: most sessions need none of these modules
    from rebut.reports.review import headline

    said = headline(outcome, reviewed_target(record))
    return said if outcome.conclusive and outcome.complete else f"not decided: {said}"


@click.command("delete")
@click.argument("ids", type=SESSION, nargs=-1, required=True, metavar="ID…")
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
@json_flag
def delete_command(ids: tuple[str, ...], yes: bool, as_json: bool) -> int:
    """Delete sessions permanently: their records, with all answers and copies of files.

    ID is a session id or its first letters, a slug, or `last`. Files that a session wrote elsewhere are kept. A
    running session is not deleted.
    """
    from rebut.cli.output import can_ask, say, say_json
    from rebut.core.errors import UsageError
    from rebut.core.text import cut, plural
    from rebut.record import sessions

    folders = list(dict.fromkeys(folder_of(id) for id in ids))
    if not yes:
        if as_json or not can_ask():
            raise UsageError(
                "`rebut delete` asks for confirmation, which needs a terminal",
                "Use --yes to delete without confirmation.",
            )
        for folder in folders:
            found = sessions.first_event(folder)
            say(f"  {folder.name}  {cut(found.opened.topic, 60) if found else ''}", sys.stderr)
        these = plural(len(folders), "this session", f"these {len(folders)} sessions")
        if not click.confirm(f"Delete {these} permanently?", err=True):
            say("  nothing was deleted", sys.stderr)
            return 0
    for folder in folders:
        sessions.delete(folder)
    if as_json:
        say_json({"deleted": [folder.name for folder in folders]})
    else:
        say(f"  deleted {', '.join(folder.name for folder in folders)}")
    return 0
