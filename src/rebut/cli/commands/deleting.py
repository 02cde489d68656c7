"""`rebut delete`: takes a session away for good."""

from __future__ import annotations

import sys

import click

from rebut.cli.commands.show import folder_of
from rebut.cli.options import json_flag


@click.command("delete")
@click.argument("ids", nargs=-1, required=True, metavar="ID…")
@click.option("--yes", "-y", is_flag=True, help="Do not ask first.")
@json_flag
def delete_command(ids: tuple[str, ...], yes: bool, as_json: bool) -> int:
    """Delete sessions for good: their records, the copies of files in them, and all that was said.

    ID is an id, a unique beginning of one, a slug, or `last`. Files that a session wrote elsewhere stay where they
    are. A session that is running is left alone.
    """
    from rebut.cli.output import say, say_json
    from rebut.core.errors import UsageError
    from rebut.core.text import cut
    from rebut.record import sessions as session

    folders = list(dict.fromkeys(folder_of(id) for id in ids))
    if not yes:
        if as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise UsageError("delete asks first, and there is nobody to ask", "Give --yes to delete without asking.")
        for folder in folders:
            found = session.first_event(folder)
            say(f"  {folder.name}  {cut(found.opened.topic, 60) if found else ''}", sys.stderr)
        these = "this session" if len(folders) == 1 else f"these {len(folders)} sessions"
        if not click.confirm(f"Delete {these} for good?", err=True):
            say("  nothing was deleted", sys.stderr)
            return 0
    for folder in folders:
        session.delete(folder)
    if as_json:
        say_json({"deleted": [folder.name for folder in folders]})
    else:
        say(f"  deleted {', '.join(folder.name for folder in folders)}")
    return 0
