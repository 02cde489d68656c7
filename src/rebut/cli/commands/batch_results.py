"""`rebut batch status` and `rebut batch report`: what the results of a batch say, while it runs and afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rebut.cli.commands.batch_queue import ON
from rebut.cli.completion import PATH
from rebut.cli.options import json_flag

if TYPE_CHECKING:
    from rebut.batch.queue import QueuedBatch
    from rebut.batch.report import ArmReport, BatchReport
    from rebut.batch.results import BatchState


@click.command("status")
@click.argument("results", type=PATH, required=False, default="")
@ON
@json_flag
def status_command(results: str, on: str | None, as_json: bool) -> int:
    """How far a batch is. RESULTS is the file that --out named; with --on, the batches of a database.

    Works while the batch runs, and changes nothing.
    """
    from pathlib import Path

    from rebut.batch.results import state_of, total_usd
    from rebut.cli.output import say, say_json
    from rebut.core.errors import UsageError

    if bool(results) == bool(on):
        raise UsageError("`rebut batch status` needs RESULTS or --on URL", "Give the file that --out named.")
    if on:
        return _status_on(on, as_json)
    state = state_of(Path(results))
    failed = sum(bool(row.failure) for row in state.rows)
    shown: dict[str, Any] = {
        "source": state.source or None,
        "debates": state.lines or None,
        "ended": len(state.rows) - failed,
        "failed": failed,
        "stopped_by_limit": sum(bool(row.limit) for row in state.rows),
        "begun": len(state.open),
        "waiting": max(0, state.lines - len(state.rows) - len(state.open)) if state.lines else None,
        "running": state.running,
        "usd": total_usd(row.usd for row in state.rows),
        "calls": sum(row.calls for row in state.rows),
    }
    if as_json:
        say_json(shown)
        return 0
    for row in _status_rows(state, shown, results):
        say(row)
    return 0


def _status_on(on: str, as_json: bool) -> int:
    """Print the state of each batch in a database."""
    from rebut.batch.queue import Queue
    from rebut.cli.output import say, say_json
    from rebut.core.json_value import as_row

    found = Queue(on).batches()
    if as_json:
        say_json([as_row(one) for one in found])
        return 0
    for one in found:
        for row in _queued_rows(one):
            say(row)
    if not found:
        say("  no batch was enqueued yet")
    return 0


def _queued_rows(one: QueuedBatch) -> list[str]:
    from rebut.core.text import counted
    from rebut.domain.amounts import money
    from rebut.domain.limits import flag, shown_limit

    parts = [f"{one.ended} of {one.debates} ended"]
    for name in ("failed", "running", "waiting"):
        parts += [f"{count} {name}"] if (count := getattr(one, name)) else []
    rows = [f"  {one.name or 'lines that are no longer in a file'}"]
    rows.append(f"    {', '.join(parts)}; {counted(one.calls, 'call')}, {money(one.usd)}")
    for name, (has, most) in one.limits.items():
        rows.append(f"    {flag(name)}: {shown_limit(name, has)} of {shown_limit(name, most)} spent or reserved")
    if one.reached:
        rows.append(f"    stopped: the next call could exceed {flag(one.reached)}; raise it to continue")
    rows += [f"    {counted(one.stopped, 'debate')} stopped by it"] if one.stopped else []
    return rows


def _status_rows(state: BatchState, shown: dict[str, Any], results: str) -> list[str]:
    from rebut.core.text import counted
    from rebut.domain.amounts import money
    from rebut.domain.limits import flag

    total = f"of {state.lines} " if state.lines else ""
    left = [f"{shown[name]} {name}" for name in ("failed", "begun", "waiting") if shown[name]]
    parts = [f"{shown['ended']} {total}ended", *left]
    rows = [f"  {', '.join(parts)}; {counted(shown['calls'], 'call')}, {money(shown['usd'])}"]
    rows.append("  running now" if state.running else "  not running")
    if stopped := [row.limit for row in state.rows if row.limit]:
        rows.append(f"  {counted(len(stopped), 'debate')} stopped by {flag(stopped[-1])} of the whole batch")
    if left and not state.running:
        rows.append("  The same `rebut batch` command again continues: debates that ended are not run again.")
    rows.append(f"  report   rebut batch report {results}")
    return rows


@click.command("report")
@click.argument("results", type=PATH)
@json_flag
def report_command(results: str, as_json: bool) -> int:
    """What the debates of a batch came to. RESULTS is the file that --out named.

    The table has a row for each arm: the `arm` of a line, else its protocol.
    """
    from pathlib import Path

    from rebut.batch.report import report
    from rebut.batch.results import state_of
    from rebut.cli.output import say, say_json

    state = state_of(Path(results))
    made = report(state.rows)
    if as_json:
        say_json({"debates": len(state.rows), **made.to_json()})
        return 0
    for row in _report_rows(made, len(state.rows)):
        say(row)
    return 0


def _report_rows(made: BatchReport, debates: int) -> list[str]:
    from rebut.core.text import counted

    failed, arms = sum(made.failures.values()), made.arms
    conclusive = sum(arm.conclusive for arm in arms)
    first = f"  {counted(debates, 'debate')}: {conclusive} conclusive, {debates - conclusive - failed} not"
    rows = [first + (f", {failed} failed" if failed else ""), ""]
    head = ("arm", "debates", "conclusive", "not", "failed", "calls", "tokens", "median time", "cost", "a debate")
    rows += _table([head, *(_cells(arm) for arm in arms)])
    for arm in arms:
        rows += ["", f"  {arm.arm}"]
        rows += [f"    {count:>5}   {name}" for name, count in arm.outcomes.items()]
        rows += [f"    {count:>5}   won by {name}" for name, count in arm.winners.items()]
    if made.agreements:
        rows += ["", "  the same question in two arms"]
        rows += [
            f"    {one.first} and {one.second}: the same in {one.same} of {one.questions}" for one in made.agreements
        ]
    if made.failures:
        rows += ["", "  failures", *(f"    {count:>5}   {name}" for name, count in made.failures.items())]
    return rows


def _cells(arm: ArmReport) -> tuple[str, ...]:
    from rebut.domain.amounts import duration, money, size

    each = arm.usd / arm.debates if arm.usd is not None and arm.debates else None
    counts = (arm.debates, arm.conclusive, arm.inconclusive, arm.failed, arm.calls)
    return (arm.arm, *map(str, counts), size(arm.tokens), duration(arm.seconds), money(arm.usd), money(each))


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    out = []
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        out.append(f"  {'  '.join(cells)}".rstrip())
    return out
