"""`rebut batch` with a database: debates are enqueued (`--on`) and worked on (`work`); `upgrade` makes the tables."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rebut.cli.completion import PATH
from rebut.cli.options import json_flag

if TYPE_CHECKING:
    from rebut.api import Setup
    from rebut.batch.lines import BatchLine
    from rebut.batch.queue import Queue
    from rebut.batch.results import ResultRow

GRACE = 30.0
AT_ONCE = 20
"""Debates at once, unless the user says how many."""


def _address(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    from rebut.record.stores import check_address, is_database

    if value is not None and not is_database(value):
        # The value is not shown: it may have a password in it.
        raise click.UsageError("--on needs the address of a database: postgresql://USER@HOST:5432/NAME", ctx)
    if value is not None:
        check_address(value)
    return value


ON = click.option("--on", metavar="URL", callback=_address, help="A database: postgresql://USER@HOST:5432/NAME.")
_REQUIRED_ON = click.option(
    "--on", metavar="URL", required=True, callback=_address, help="The database: postgresql://USER@HOST:5432/NAME."
)


@click.command("work")
@_REQUIRED_ON
@click.option("--at-once", type=click.IntRange(1, 1000), default=AT_ONCE, metavar="N", help="Debates at once. [20]")
@click.option(
    "--grace",
    type=click.FloatRange(0, 86_400),
    default=GRACE,
    metavar="SECONDS",
    help="How long calls in flight may take after SIGTERM. [30]",
)
@click.option("--until-empty", is_flag=True, help="End when no debate is left, instead of waiting for more.")
@click.option("--status-file", type=PATH, metavar="FILE", help="Keep the state of the worker in this file, as JSON.")
@click.option("--log-json", is_flag=True, help="Log each event as one line of JSON.")
def work_command(
    on: str, at_once: int, grace: float, until_empty: bool, status_file: str | None, log_json: bool
) -> int:
    """Work on the debates of a database, until it is stopped.

    Start it on as many machines as you like. SIGTERM and Ctrl-C stop it: no new calls are made, those in flight finish
    within --grace, and what has not ended goes back to the queue. Exit code 0 if all calls could finish, 3 if some were
    dropped or debates had to be left to other workers, 2 if the database cannot be used.
    """
    import asyncio

    from rebut.batch.queue import need_procrastinate

    need_procrastinate()
    from rebut.batch.queue_worker import QueueWorker

    def make() -> QueueWorker:
        return QueueWorker(
            on,
            at_once=at_once,
            grace=grace,
            until_empty=until_empty,
            status_file=Path(status_file) if status_file else None,
            log=_log_json if log_json else _log,
        )

    return asyncio.run(_work(make))


async def _work(make: Any) -> int:
    import asyncio
    import os
    import signal

    from rebut.core import process, scratch

    process.adopts = True
    loop = asyncio.get_running_loop()
    loop.run_in_executor(None, scratch.remove_remains, os.environ)
    worker = make()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, worker.drain)
    try:
        await worker.run()
    finally:
        process.end_adopted()
    return 3 if worker.cut_off or worker.unfinished else 0


def _log_json(event: str, fields: Mapping[str, Any]) -> None:
    import json
    from datetime import UTC, datetime

    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    print(json.dumps({"at": at, "event": event, **fields}, ensure_ascii=False), file=sys.stderr, flush=True)


def _log(event: str, fields: Mapping[str, Any]) -> None:
    from rebut.cli.output import say

    shown = {name: value for name, value in fields.items() if value not in ("", None)}
    said = ", ".join(str(value) if name == "why" else f"{name} {value}" for name, value in shown.items())
    say(f"  {event.replace('_', ' ')}: {said}" if said else f"  {event.replace('_', ' ')}", sys.stderr)


@click.command("upgrade")
@_REQUIRED_ON
@json_flag
def upgrade_command(on: str, as_json: bool) -> int:
    """Create the tables in a database, or change those of an earlier version. Workers never do this.

    Stop the workers first if the tables exist. All changes are made, or none.
    """
    from rebut.batch import queue
    from rebut.cli.output import say, say_json
    from rebut.core.text import counted
    from rebut.record.stores import shown_address

    queue.need_procrastinate()
    from rebut.record.postgres import migrations
    from rebut.record.postgres.connection import reached

    with reached(on) as connection:
        wanted = queue.as_new(queue.migrations(), migrations.done(connection))
        done = [one for one in migrations.upgrade(connection, wanted) if one.statements]
    if as_json:
        say_json({"database": shown_address(on), "changes": [f"{one.part} {one.name}" for one in done]})
    elif done:
        names = ", ".join(f"{one.part} {one.name}" for one in done)
        say(f"  {shown_address(on)}: {counted(len(done), 'change')}: {names}")
    else:
        say(f"  {shown_address(on)}: the tables are those of this version; nothing was changed")
    return 0


# Enqueueing.


def has_ended(row: ResultRow | None) -> bool:
    """Whether a line that is in the database has ended. A failed one has not: it is enqueued again."""
    return row is not None and not row.failure


def enqueue(
    queue: Queue, setup: Setup, name: str, lines: Sequence[BatchLine], at_once: int, limits: Mapping[str, float]
) -> dict[str, int]:
    """Open sessions for lines that are not in the database yet, and enqueue them; enqueue failed lines again."""
    import asyncio
    from functools import partial

    from rebut.batch.batch import spent_by
    from rebut.record import sessions

    known = queue.known(lines)
    queue.limit(name, limits, lines, partial(spent_by, setup))
    new = [line for line in lines if line.hash not in known]
    opened = 0
    for n in range(0, len(new), CHUNK):
        chunk = new[n : n + CHUNK]
        made = asyncio.run(_open_all(chunk, setup, at_once))
        pairs = zip(chunk, made, strict=True)
        added = queue.add(name, [(line, session, str(setup.workspace)) for line, session in pairs])
        for session in set(made) - added:  # another process enqueued these lines meanwhile
            sessions.delete(setup.environment.root / session)
        opened += len(added)
    again = queue.again([line for line in lines if line.hash in known], str(setup.workspace))
    ended = sum(map(has_ended, known.values()))
    return {"debates": len(lines), "enqueued": opened, "again": again, "ended": ended}


CHUNK = 500
"""Lines that are opened before they are enqueued together."""


async def _open_all(lines: Sequence[BatchLine], setup: Setup, at_once: int) -> list[str]:
    import asyncio
    import shutil

    from rebut.engine.start import open_only
    from rebut.record import inbox

    turns = asyncio.Semaphore(at_once)

    async def one(line: BatchLine) -> str:
        async with turns:
            session = await open_only(await line.plan(setup), setup.environment)
            folder = setup.environment.root / session
            if line.fields.note:  # the worker that resumes it takes the note before the first question
                await asyncio.to_thread(inbox.leave, folder, line.fields.note)
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)  # the database has all of it
            return session

    return await asyncio.gather(*(one(line) for line in lines))


def in_queue(shown: Mapping[str, int], on: str, out: str | None) -> str:
    from rebut.core.text import counted
    from rebut.record.stores import shown_address as address

    parts = [f"{shown['enqueued']} enqueued"]
    parts += [f"{shown['again']} enqueued again"] if shown["again"] else []
    parts += [f"{shown['ended']} ended before"] if shown["ended"] else []
    if rest := shown["debates"] - shown["enqueued"] - shown["again"] - shown["ended"]:
        parts.append(f"{rest} waiting or running")
    rows = [f"  {counted(shown['debates'], 'debate')}: {', '.join(parts)}"]
    if out is None:
        rows += [f"  work      rebut batch work --on {address(on)}", "  results   the same command with --out FILE"]
    return "\n".join(rows)
