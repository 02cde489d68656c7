"""`rebut batch`: many debates from a file, one result line each; run again, it does what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rebut.cli.brief_help import Brief
from rebut.cli.changed_protocol import yes_option
from rebut.cli.commands.batch_queue import AT_ONCE, ON, upgrade_command, work_command
from rebut.cli.commands.batch_results import report_command, status_command
from rebut.cli.completion import PATH, SPEC
from rebut.cli.options import json_flag

if TYPE_CHECKING:
    from pathlib import Path

    from rebut.api import Setup
    from rebut.batch.batch import Batch, Worker
    from rebut.batch.budget import BatchBudget
    from rebut.batch.lines import BadLine, BatchLine

EACH = "--each"
"""The name that messages have instead of FILE if a command printed the lines."""
MOST_SHOWN = 20
"""Bad lines that an error names."""


PARTS = {
    "work": work_command,
    "upgrade": upgrade_command,
    "status": status_command,
    "report": report_command,
}
"""First word → the subcommand of `rebut batch`. A FILE with such a name must be written as a path: ./work."""


class BatchCommand(Brief):
    """`rebut batch FILE`, or one of its subcommands."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args and args[0] in PARTS:
            return PARTS[args[0]].make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command("batch", cls=BatchCommand)
@click.argument("file", type=PATH, required=False, default="")
@click.option("--each", metavar="COMMAND", help="One debate for each line that COMMAND prints.")
@click.option("--with", "company", type=SPEC, metavar="A,B", help="With --each: the critic and the judge.")
@click.option("--out", type=PATH, metavar="FILE", help="Where the results go, one line per debate.")
@ON
@click.option("--at-once", type=click.IntRange(1, 10_000), default=AT_ONCE, metavar="N", help="Debates at once. [20]")
@click.option("--processes", type=click.IntRange(1, 64), default=1, metavar="K", help="Processes that share them. [1]")
@click.option("--skip-bad", is_flag=True, help="Run the other lines if some cannot be run.")
@click.option("--max-usd", "usd", type=float, metavar="USD", help="Dollars for the whole batch.")
@click.option("--max-tokens", "tokens", type=int, metavar="N", help="Tokens for the whole batch, input and output.")
@click.option("--max-calls", "calls", type=int, metavar="N", help="Calls for the whole batch.")
@click.option("--quiet", "-q", is_flag=True, help="Print only the result, no progress.")
@yes_option
@json_flag
def batch_command(
    file: str,
    each: str | None,
    company: str | None,
    out: str | None,
    on: str | None,
    at_once: int,
    processes: int,
    skip_bad: bool,
    quiet: bool,
    yes: bool,
    as_json: bool,
    **limits: Any,
) -> int:
    """Run many debates. FILE has one debate per line, as JSON, or is a .csv table with these names as columns:

    \b
    {"id": "q1", "protocol": "duel", "topic": "Redis or Memcached?",
     "seats": {"proposer": "claude", "challenger": "codex"},
     "settings": {"rounds": 1}}

    --each 'git log --format=%h v1.0..' reviews each commit that this command prints. With a FILE of one line, that
    debate is run for each line that the command prints: {} stands for the first word of that line.

    Every line is checked before a model is called. The same command again does only what is missing: debates that were
    interrupted or failed are resumed, and recorded answers are not asked again.

    With --on, the debates are enqueued in a database, and workers on any number of machines run them: `rebut batch
    work --on URL`. With --out, the command then waits and writes the results. `rebut batch upgrade --on URL` creates
    the tables.
    """
    import asyncio
    import os
    import sys
    from pathlib import Path

    from rebut.api import Setup
    from rebut.batch.batch import Batch, ThisProcess
    from rebut.batch.budget import BatchBudget
    from rebut.batch.lines import in_workspace, read_lines, refused
    from rebut.batch.processes import Processes
    from rebut.batch.results import Results, ended
    from rebut.cli.options import within
    from rebut.cli.output import folded, say, say_json
    from rebut.core.errors import UsageError
    from rebut.domain.limits import Limits

    given = {name: value for name, value in limits.items() if value is not None}
    for name, value in given.items():
        within(name, value, whole_batch=True)
    if on:
        from rebut.batch.queue import Queue, QueueWorkers
        from rebut.cli.commands.batch_queue import enqueue, has_ended, in_queue
        from rebut.setup import saved_keys

        if processes > 1:
            raise UsageError("--processes is for a batch on one machine", "Start several `rebut batch work`.")
        setup = Setup(env={**saved_keys.with_saved(os.environ), "REBUT_HOME": on})
    elif not out:
        raise UsageError("`rebut batch` needs --out FILE", "Say where the results go, or enqueue with --on URL.")
    else:
        setup = Setup()
    if not file and each is None:
        raise UsageError("`rebut batch` needs a FILE with one debate per line", "Or give a command with --each.")
    if company and (file or each is None):
        raise UsageError("--with is for --each without a FILE", "Name the models in the lines of FILE, under `seats`.")
    lines, bad = read_lines(Path(file)) if each is None else _lines_of(each, file, company)
    if not file:
        file = EACH
    if on:
        lines = in_workspace(lines, setup.workspace)  # a database has lines from many folders, so each names its own
    known_hashes = ended(Path(out)) if out else set()  # ended lines are not checked: their files may be gone by now
    in_force = given
    if on:
        queue, name = Queue(on), str(Path(file).resolve()) if each is None else f"{setup.workspace}: --each {each}"
        known, in_force = queue.known(lines), {**queue.limits(name), **given}
        known_hashes |= {*known}
        if "usd" in in_force:
            waiting = [line for line in lines if line.hash in known and not has_ended(known[line.hash])]
            _need_prices(file, waiting, setup, in_force)
    if out and not on:
        _confirm_protocols(lines, Path(out), setup, yes=yes, as_json=as_json)
    bad += asyncio.run(refused([line for line in lines if line.hash not in known_hashes], setup, in_force))
    if (bad and not skip_bad) or not lines:
        raise UsageError(*_named(file, bad))
    wrong = {one.number for one in bad}
    if bad and not quiet:
        say(folded(f"  {_named(file, bad)[0]}", sys.stderr), sys.stderr)
    lines = [line for line in lines if line.number not in wrong]
    if on:
        added = enqueue(queue, setup, name, lines, at_once, given)
        if out is None or not as_json:
            say_json(added) if as_json else say(in_queue(added, on, out))
        if out is None:
            return 0
        at_once = len(lines)
    assert out is not None
    results = Results(Path(out))
    try:
        results.note_lines(file if each is None else f"--each {each}", len(lines))
        batch = Batch(lines, results, at_once)
        budget = BatchBudget(Limits(**given)) if given and not on else None  # the budget of a queue is in the database
        if budget:
            batch.count_earlier(budget, setup)
        worker: Worker
        if on:
            worker, batch.state = QueueWorkers(queue), "waiting or running"
        else:
            worker = ThisProcess(setup, results, budget) if processes == 1 else Processes(processes, results, budget)
        stopped = asyncio.run(run_batch(batch, worker, budget, quiet or as_json))
    finally:
        results.close()
    rows = batch.rows()
    code = max([0, *(row.exit for row in rows)])
    reached = budget.reached if budget else next((row.limit for row in rows if row.limit), "")
    code = 130 if stopped else 3 if reached else code
    shown = _summed(batch, out, code)
    if reached:
        shown["limit"] = reached
    if as_json:
        say_json(shown)
        return code
    for row in _rows(shown, file):
        say(folded(row, sys.stdout))
    return code


def _confirm_protocols(lines: list[BatchLine], out: Path, setup: Setup, *, yes: bool, as_json: bool) -> None:
    """Ask before debates that have begun are continued with a protocol file that changed; once for each file."""
    from rebut.batch.results import begun
    from rebut.cli.changed_protocol import confirm_changed
    from rebut.core.errors import RebutError
    from rebut.engine.protocol import changed_file
    from rebut.record import sessions

    open_sessions = begun(out)
    asked: set[Path] = set()
    for line in lines:
        if line.hash not in open_sessions or not line.fields.protocol.endswith(".py"):
            continue
        try:
            record = sessions.load(setup.find(open_sessions[line.hash]))
        except RebutError:  # deleted, or damaged: running it says so
            continue
        if (file := changed_file(record)) and file not in asked:
            asked.add(file)
            confirm_changed(record, yes=yes, as_json=as_json)


def _need_prices(file: str, waiting: list[BatchLine], setup: Setup, limits: dict[str, float]) -> None:
    """Refuse a dollar limit if debates in the queue have an unknown price: they cannot be skipped any more."""
    import asyncio

    from rebut.batch.lines import refused
    from rebut.core.errors import UsageError

    if bad := asyncio.run(refused(waiting, setup, limits)):
        hint = "They are in the queue already, so --skip-bad cannot leave them out. Give --max-tokens, too."
        raise UsageError(_named(file, bad)[0], hint)


def _lines_of(command: str, file: str, company: str | None) -> tuple[list[BatchLine], list[BadLine]]:
    """The debates of `--each`: a review of each commit that the command names, or what FILE makes of each line."""
    import json
    import subprocess
    from pathlib import Path

    from rebut.batch.lines import each
    from rebut.cli.options import models_of
    from rebut.core import files
    from rebut.core.errors import UsageError
    from rebut.setup import verbs

    template: dict[str, Any] = {"protocol": "cross", "target": {"kind": "code", "scope": "commit:{}"}}
    template["settings"] = {"rounds": 1, "skip_materialize_opposite": True}
    if company:
        template["seats"] = dict(verbs.review(models_of(company)).roles)
    if file:
        try:
            template = json.loads(files.read(Path(file), 1_000_000).decode())
        except (OSError, ValueError, RecursionError) as error:
            raise UsageError(f"{file}: {error}", "With --each, FILE has one debate as JSON, with {} in it.") from None
        if not isinstance(template, dict):
            raise UsageError(f"{file} is not a JSON object", "With --each, FILE has one debate as JSON.")
    ran = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    if ran.returncode:
        raise UsageError(f"--each: `{command}` ended with exit code {ran.returncode}", "No model was called.")
    return each(ran.stdout.decode("utf-8", "replace"), template)


def _named(file: str, bad: list[BadLine]) -> tuple[str, str]:
    if not bad:
        if file == EACH:
            return "the command of --each printed no line, so there is nothing to run", "No model was called."
        return f"{file} has no line to run", "Write one debate per line, as JSON."
    from rebut.core.text import counted

    bad = sorted(bad, key=lambda one: one.number)
    rows = [f"line {one.number}: {one.why}" for one in bad[:MOST_SHOWN]]
    rows += [f"… {len(bad) - MOST_SHOWN} more"] if len(bad) > MOST_SHOWN else []
    said = f"{file}: {counted(len(bad), 'line')} cannot be run\n  " + "\n  ".join(rows)
    source = "the command" if file == EACH else "the file"
    return said, f"No model was called. Correct {source}, or run the other lines with --skip-bad."


async def run_batch(
    batch: Batch, worker: Worker, budget: BatchBudget | None, quiet: bool, signals: list[int] | None = None
) -> bool:
    """Run a batch; True if a signal stopped it. `signals` has those of an earlier batch of this command."""
    import asyncio
    import os
    import signal

    from rebut.cli.deadline import began
    from rebut.cli.runner import DRAIN
    from rebut.cli.screen.batch_progress import BatchProgress
    from rebut.core import process, scratch

    process.adopts = began() is not None
    loop = asyncio.get_running_loop()
    loop.run_in_executor(None, scratch.remove_remains, os.environ)
    progress = BatchProgress(batch, quiet)
    task = asyncio.ensure_future(batch.run(worker))
    signals = [] if signals is None else signals

    def on_signal(number: int) -> None:
        signals.append(number)
        if len(signals) > 1:
            task.cancel()
            return
        batch.drain()
        progress.note(worker.stopping)
        if number != signal.SIGINT:
            loop.call_later(DRAIN, task.cancel)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, on_signal, number)
    if budget:
        budget.on_reached = batch.drain
    batch.draining = bool(signals)
    showing = asyncio.ensure_future(progress.show())
    try:
        await task
    except asyncio.CancelledError:
        pass
    finally:
        showing.cancel()
        progress.close()
        process.end_adopted()
    return bool(signals)


def _summed(batch: Batch, out: str, code: int) -> dict[str, Any]:
    from collections import Counter

    from rebut.batch.results import total_usd

    rows = batch.rows()
    failed = [row for row in rows if row.failure]
    ends = Counter(f"failed: {row.failure}" if row.failure else row.ending for row in rows)
    return {
        "debates": len(batch.lines),
        "ended": len(rows) - len(failed),
        "failed": len(failed),
        "missing": len(batch.lines) - len(rows),
        "ended_now": batch.ended,
        "ended_before": batch.there,
        "ends": dict(ends.most_common()),
        "usd": total_usd(row.usd for row in rows),
        "out": out,
        "exit": code,
    }


def _rows(shown: dict[str, Any], file: str) -> list[str]:
    from rebut.core.text import counted
    from rebut.domain.amounts import money
    from rebut.domain.limits import flag

    parts = [f"{shown['ended']} ended"]
    parts += [f"{shown[name]} {name}" for name in ("failed", "missing") if shown[name]]
    rows = [f"  {counted(shown['debates'], 'debate')}: {', '.join(parts)}; {money(shown['usd'])}"]
    if shown["ended_before"]:
        rows.append(f"  run now: {shown['ended_now']}; there already, and not run again: {shown['ended_before']}")
    rows += [f"    {count:>5}   {name}" for name, count in shown["ends"].items()]
    if "limit" in shown:
        rows.append(f"  stopped: the next call could exceed {flag(shown['limit'])}; raise it to continue")
    rows.append(f"  results   {shown['out']}")
    if shown["missing"] or shown["failed"]:
        rows.append("  The same command again continues: debates that ended are not run again.")
    return rows
