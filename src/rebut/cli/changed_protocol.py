"""Asks before a session runs a protocol file that changed since the session was recorded."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rebut.record.record import Record

yes_option = click.option("--yes", "-y", is_flag=True, help="Run a protocol file that changed, without asking.")


def confirm_changed(record: Record, *, yes: bool, as_json: bool = False) -> None:
    """Say that the protocol file of a session changed, and ask whether to run it. Raises `UsageError` if not.

    The file is not loaded before that: loading it runs it.
    """
    from rebut.cli.output import say
    from rebut.core.errors import UsageError

    if not (file := changed(record)):
        return
    said = f"the protocol file {file} changed since session {record.opened.id} was recorded"
    if yes:
        say(f"  {said}", sys.stderr)
        return
    if as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(said, "Read the change. Use --yes to run the file as it is now, or restore it.")
    say(f"  {said}", sys.stderr)
    if not click.confirm("Run the file as it is now?", err=True):
        raise UsageError("nothing was run", "Restore the file, or answer yes.")


def changed(record: Record) -> Path | None:
    """The session's own protocol file, if it is another one than when the session was last run."""
    from rebut.core import files
    from rebut.engine.protocol import file_digest
    from rebut.record.events import Resumed

    if not record.lines or not record.opened.source.endswith(".py"):
        return None
    file = Path(record.opened.source)
    resumed = [line.event.protocol_version for line in record.lines if isinstance(line.event, Resumed)]
    _, plus, known = (resumed or [record.opened.protocol_version])[-1].rpartition("+")
    try:
        now = file_digest(files.read(file))
    except OSError:
        return None  # loading it says what is wrong
    return file if plus and now != known else None
