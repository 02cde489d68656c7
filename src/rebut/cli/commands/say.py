"""`rebut say`: a note to a running debate, from another terminal or process."""

from __future__ import annotations

import time
from pathlib import Path

import click

from rebut.cli.completion import SESSION
from rebut.cli.options import json_flag

PATIENCE = 5.0
"""Seconds to wait until the process that runs the debate has recorded the note."""


@click.command("say")
@click.argument("id", type=SESSION)
@click.argument("text", metavar="NOTE")
@json_flag
def say_command(id: str, text: str, as_json: bool) -> int:
    """Add a note to a running debate. Every seat gets it, quoted, from the next round on.

    ID is a session id or its first letters, a slug, or `last`. NOTE is the text; - reads standard input. The note is on
    record, redacted like everything else. A debate that is not running gets it when it is resumed.
    """
    from rebut.api import Setup
    from rebut.cli.options import topic_of
    from rebut.cli.output import say, say_json
    from rebut.core.errors import UsageError
    from rebut.domain import user_notes
    from rebut.engine.runtime import redactor_of
    from rebut.record import inbox, sessions

    setup, folder, record = Setup().for_session(id)
    short = sessions.short(folder.parent, record.opened.id)
    closed = UsageError(
        f"session {short} is closed: no seat would get the note",
        f"Start a new debate with `rebut more {short}` or `rebut fork {short}`, and add the note while it runs.",
    )
    if record.closed:
        raise closed
    note = redactor_of(record, setup.environment.known_secrets).door(topic_of(text)).strip()
    if refused := user_notes.refused(note, len(user_notes.notes_of(record))):
        raise UsageError(refused)
    path = inbox.leave(folder, note)
    became = _became(path, folder)
    if became:
        raise UsageError(became)
    record = sessions.load(folder)
    if became is None and record.closed:
        inbox.withdraw(path)
        raise closed
    late = record.closed is not None and any(one.text == note for one in user_notes.unheard(record))
    if late:
        message = "on record, but the debate ended first: no seat got it"
    elif became is not None:
        message = "on record; every seat gets it from the next round on"
    elif sessions.running(folder):
        message = "left for the debate, which is busy; it is recorded as soon as possible"
    else:
        message = f"left for the debate, which is not running; it gets the note with   rebut resume {short}"
    if as_json:
        say_json({"session": record.opened.id, "note": note, "recorded": became is not None, "heard": not late})
    else:
        say(f"  {message}")
    return 3 if late else 0


def _became(path: Path, folder: Path) -> str | None:
    """Wait until a running debate has recorded a note: empty if so, why it was refused, or None if neither is known."""
    from rebut.record import inbox, sessions

    until = time.monotonic() + PATIENCE
    while (answer := inbox.answer(path)) is None and time.monotonic() < until and sessions.running(folder):
        time.sleep(0.05)
    return answer
