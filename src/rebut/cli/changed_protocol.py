"""Asks before a session runs a protocol file that changed since the session was recorded."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rebut.record.record import Record

yes_option = click.option("--yes", "-y", is_flag=True, help="Run a protocol file that changed, without asking.")


def confirm_changed(record: Record, *, yes: bool, as_json: bool = False) -> None:
    """If the protocol file of a session changed, ask whether to run it; raises `UsageError` if the user says no.

    The file is not loaded before the user agrees, since loading it runs it.
    """
    from rebut.cli.output import can_ask, say
    from rebut.core.errors import UsageError
    from rebut.engine.protocol import changed_file

    if not (file := changed_file(record)):
        return
    said = f"the protocol file {file} changed since session {record.opened.id} was recorded"
    if yes:
        say(f"  {said}", sys.stderr)
        return
    if as_json or not can_ask():
        raise UsageError(said, "Read the change. Use --yes to run the file as it is now, or restore it.")
    say(f"  {said}", sys.stderr)
    if not click.confirm("Run the file as it is now?", err=True):
        raise UsageError("nothing was run", "Restore the file, or answer yes.")
