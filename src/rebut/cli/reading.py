"""`rebut list`, `show`, `replay`, `export` and `verify`: they read, and never write a journal."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import click

from rebut.cli.options import json_flag


def _root() -> Path:
    from rebut import session

    return session.home()


def _folder(id: str) -> Path:
    from rebut import session

    return session.find(_root(), id, Path.cwd().resolve())


@click.command("list")
@click.option("--all", "everywhere", is_flag=True, help="Sessions of every folder, not only this one.")
@json_flag
def list_command(everywhere: bool, as_json: bool) -> int:
    """List the sessions of this folder, newest first."""
    from rebut import report, session
    from rebut.cli.screen import say, width
    from rebut.errors import RecordError
    from rebut.text import cut

    here = Path.cwd().resolve()
    found = [f for f in session.sessions(_root()) if everywhere or session.is_here(f, here)]
    rows = []
    for one in found:
        try:
            status = report.status(session.load(one.folder))
        except RecordError as error:
            status = f"unreadable: {error.message}"
        rows.append(
            {"id": one.id, "at": one.at, "protocol": one.opened.protocol, "topic": one.opened.topic, "status": status}
        )
    if as_json:
        say(report.dumps(rows))  # type: ignore[arg-type]
    elif not rows:
        say("no sessions here yet" if not everywhere else "no sessions yet")
    for row in [] if as_json else rows:
        when = str(row["at"])[:16].replace("T", " ")
        topic = cut(str(row["topic"]), max(12, width() - 60))
        say(f"{row['id']}  {when}  {row['protocol']:<8} {topic}  ({row['status']})")
    return 0


@click.command("show")
@click.argument("id")
@click.option("--prompts", is_flag=True, help="Also every question, as it was asked.")
@click.option("--failures", is_flag=True, help="Only what failed, and why.")
@json_flag
def show_command(id: str, prompts: bool, failures: bool, as_json: bool) -> int:
    """Show a session: who said what, the points at issue, the outcome."""
    from rebut import report, session
    from rebut.cli.screen import say, width

    record = session.load(_folder(id))
    if as_json:
        say(report.dumps(report.as_json(record)))
        return 0
    say("\n".join(["", *report.header(record, width=width()), ""]))
    if failures:
        say("\n".join(report.failures(record)) or "  nothing failed")
        return 0
    for call in record.calls.values():
        if prompts:
            say("\n".join(report.questions(call)))
        say("\n".join(report.said(call)))
    outcome = report.outcome_of(record)
    if outcome is None:
        rows = report.ledger_rows(report.ledger_of(record), width())
        say(
            "\n".join(
                [
                    *rows,
                    "",
                    f"  {report.status(record)}. Go on with   rebut resume {session.short(_root(), record.opened.id)}",
                ]
            )
        )
        return 0
    say(report.ending(outcome, width=width()))
    return 0


@click.command("replay")
@click.argument("id")
@json_flag
def replay_command(id: str, as_json: bool) -> int:
    """Run a session again from its record: offline, free, nothing written. Says whether it comes to the same end."""
    from rebut import api, report, session
    from rebut.cli.screen import Screen, say, width
    from rebut.cli.stage import brief

    record = session.load(_folder(id))
    screen = Screen(quiet=as_json)
    screen.ready(record)
    screen.close()
    outcome = asyncio.run(api.replay(record.opened.id))
    was = report.outcome_of(record)
    same = was is not None and (was.heading, was.decision, was.final) == (
        outcome.heading,
        outcome.decision,
        outcome.final,
    )
    if as_json:
        say(report.dumps({**brief(outcome), "same": same}))  # type: ignore[dict-item]
    else:
        say(report.ending(outcome, width=width()))
        say("\n  the same end as on record" if same else "\n  NOT the end that is on record")
    return 0 if same else 3


@click.command("export")
@click.argument("id")
@click.option("--format", "form", type=click.Choice(["md", "json"]), default="md", show_default=True)
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="A file instead of the screen.")
@click.option("--force", is_flag=True, help="Replace that file if it exists.")
@json_flag
def export_command(id: str, form: str, output: Path | None, force: bool, as_json: bool) -> int:
    """Write a session as Markdown or JSON."""
    from rebut import report, session
    from rebut.cli.screen import say
    from rebut.errors import UsageError

    record = session.load(_folder(id))
    text = report.dumps(report.as_json(record)) + "\n" if as_json or form == "json" else report.markdown(record)
    if output is None:
        say(text.rstrip("\n"))
        return 0
    if output.exists() and not force:
        raise UsageError(f"{output} is there already", "Give --force to replace it.")
    try:
        output.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror}") from error
    return 0


@click.command("verify")
@click.argument("id")
@json_flag
def verify_command(id: str, as_json: bool) -> int:
    """Check that a session's record is whole and unaltered, and that the files it wrote are still as written."""
    from rebut import journal, report
    from rebut.cli.screen import say
    from rebut.record import Record

    folder = _folder(id)
    found = journal.read(folder)
    record = Record(found.lines)
    changed = []
    for path, wrote in record.wrote.items():
        try:
            same = hashlib.sha256(Path(path).read_bytes()).hexdigest() == wrote.sha
        except OSError:
            same = False
        if not same:
            changed.append(path)
    shown = {
        "id": folder.name,
        "events": len(found.lines),
        "last_hash": found.last_hash,
        "torn_bytes": len(found.torn),
        "status": report.status(record) if found.lines else "empty",
        "changed_files": changed,
    }
    if as_json:
        say(report.dumps(shown))  # type: ignore[arg-type]
        return 0
    count, last = len(found.lines), found.last_hash[:16]
    say(f"  {folder.name}: {count} events, each carries the hash of the one before; the last is {last}")
    if found.torn:
        say(f"  {len(found.torn)} bytes of an unfinished last line; resume sets them aside")
    for path in changed:
        say(f"  changed or gone since it was written: {path}")
    return 0
