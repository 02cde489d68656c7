"""`rebut answer`: the caller's reply, put on record, and the debate goes on."""

from __future__ import annotations

import click

from rebut.cli.options import deadline_option, output


@click.command("answer")
@click.argument("id")
@click.option("--file", "file", required=True, metavar="FILE", help="The answer; - reads it from standard input.")
@click.option("--key", default="", metavar="KEY", help="The question that it answers. [the one that waits]")
@deadline_option
@output
def answer_command(id: str, file: str, key: str, deadline: float | None, as_json: bool, quiet: bool) -> int:
    """Answer the question that a `caller` seat was asked, and go on with the debate.

    The question, the schema of its answer and this command are what rebut printed when it ended with code 4. An answer
    that does not fit is kept on record, and the question comes back with what is wrong. With --key, an answer that was
    already taken is not taken twice.
    """
    from rebut.cli.commands.taking_up import take_up
    from rebut.setup.connect import answering

    text = _read(file)
    wanted = _for(id, key, text)
    return take_up(
        id,
        as_json=as_json,
        quiet=quiet,
        deadline=deadline,
        backends={"caller": answering(text if wanted else "", key)},
    )


def _for(id: str, key: str, text: str) -> bool:
    """Whether the answer is still wanted; one that was taken before its process died need not be taken again."""
    from rebut.api import Desk
    from rebut.core.errors import UsageError
    from rebut.engine.plan import participants
    from rebut.record import sessions as session
    from rebut.record.record import seat_of

    folder = Desk().find(id)
    record = session.load(folder)
    seats = [p.seat for p in participants(record)[0] if p.spec.provider == "caller"]
    if not seats:
        raise UsageError(f"session {folder.name} has no seat of the caller's", "Go on with `rebut resume`.")
    if record.closed:
        raise UsageError(f"session {folder.name} is closed", f"`rebut show {folder.name}` has its outcome.")
    if key and seat_of(key) not in seats:
        raise UsageError(f"{key} is no question to the caller", f"The caller sits as {', '.join(seats)}.")
    call = record.calls.get(key)
    if call is None:
        return True
    last = call.attempts[max(call.attempts)].text.strip() if call.attempts else ""
    return call.answered is None and last != text.strip()


def _read(file: str) -> str:
    import sys
    from pathlib import Path

    from rebut.core.errors import UsageError

    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    text = raw.decode("utf-8-sig", "replace")
    if not text.strip():
        raise UsageError("the answer is empty", "Give it with --file FILE, or on standard input with --file -.")
    return text
