"""`rebut list`: the sessions, newest first."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rebut.cli.commands.show import root
from rebut.cli.options import json_flag


@click.command("list")
@click.option("--all", "everywhere", is_flag=True, help="Sessions of every folder, not only this one.")
@json_flag
def list_command(everywhere: bool, as_json: bool) -> int:
    """List the sessions of this folder, newest first."""
    from rebut.cli.output import folded, say, say_json, width
    from rebut.core.errors import RecordError
    from rebut.core.text import cut
    from rebut.domain import session_status as reading
    from rebut.record import sessions as session

    here = Path.cwd().resolve()
    rows = []
    for one in session.sessions(root()):
        if not everywhere and not session.is_here(one, here):
            continue
        try:
            status = reading.status(session.load(one.folder), session.running(one.folder))
        except RecordError as error:
            status = f"unreadable: {error.message}"
        row = {"id": one.id, "at": one.at, "protocol": one.opened.protocol, "topic": one.opened.topic, "status": status}
        rows.append({**row, "workspace": one.opened.workspace, "forked_from": one.opened.forked_from})
    if as_json:
        say_json(rows)
        return 0
    if not rows:
        say(
            "no sessions yet" if everywhere else "no sessions here yet; `rebut list --all` shows those of other folders"
        )
    for row in rows:
        fork = f", fork of {row['forked_from'][:4]}" if row["forked_from"] else ""
        topic = " ".join(row["topic"].split())
        line = f"{row['id']}  {row['at'][:16].replace('T', ' ')}  {row['protocol']:<8} "
        rest = f"  ({row['status']}{fork})" + (f"  {row['workspace']}" if everywhere else "")
        room = max(20, width() - len(line) - len(rest))
        # What does not fit stands below it, from where the date begins.
        say(folded(line + (cut(topic, room) if sys.stdout.isatty() else topic) + rest, sys.stdout, 10))
    return 0
