"""`rebut rerun` runs the checks of a session again, in the sandbox."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rebut.cli.commands.show import folder_of
from rebut.cli.completion import SESSION
from rebut.cli.options import json_flag

if TYPE_CHECKING:
    from rebut.domain.checks import CodeCheck
    from rebut.record.record import Record


@click.command("rerun")
@click.argument("id", type=SESSION, default="last")
@click.argument("point", required=False, default="")
@click.option("--here", is_flag=True, help="Run them on the files as they are now: does each pass?")
@json_flag
def rerun_command(id: str, point: str, here: bool, as_json: bool) -> int:
    """Run the checks of session ID again, or only those of POINT (such as F2), in the sandbox. Calls no model.

    They run on the files that were debated. Exit code 0 if every mark is the same as on record, 1 if one differs, 3 if
    a check could not be run. With --here, they run on the files as they are now: 0 if all pass, 1 if one fails. A check
    that is meant to print something passes if it prints it.
    """
    from rebut.cli.output import say, say_json, width
    from rebut.core.errors import UsageError
    from rebut.core.json_value import as_row
    from rebut.domain.session_status import counted_ledger
    from rebut.record import sessions
    from rebut.reports.terminal import hanging

    folder = folder_of(id)
    record = sessions.load(folder)
    found = [
        (point_id, check) for point_id, check in counted_ledger(record).checks if not point or point_id == point.upper()
    ]
    if not found:
        about = f" for {point.upper()}" if point else ""
        raise UsageError(f"session {record.opened.id} has no check{about}", "Checks come with --run-checks.")
    if not Path(record.opened.workspace).is_dir():
        raise UsageError(f"the folder of this session is gone: {record.opened.workspace}")
    again = asyncio.run(_again(folder, record, [check for _, check in found], here))
    rows = [(point_id, was, now) for (point_id, was), now in zip(found, again, strict=True)]
    code = max(_code(was, now, here) for _, was, now in rows)
    if as_json:
        listed = [{"id": point_id, "was": was.mark, "now": as_row(now)} for point_id, was, now in rows]
        say_json({"session": record.opened.id, "here": here, "checks": listed, "exit": code})
        return code
    for point_id, was, now in rows:
        changed = "" if here or was.mark == now.mark else f" (was {was.mark})"
        head = f"  {point_id:<4} {now.runner:<7} {now.mark}{changed}"
        say("\n".join(hanging(f"{head}: {now.note}" if now.note else head, width(), 15)))
    return code


def _code(was: CodeCheck, now: CodeCheck, here: bool) -> int:
    if now.mark == "not run":
        return 3
    return int(now.mark != "passes") if here else int(was.mark != now.mark)


async def _again(folder: Path, record: Record, checks: list[CodeCheck], here: bool) -> list[CodeCheck]:
    from dataclasses import replace

    from rebut.api import Setup
    from rebut.cli.debated_versions import debated_versions
    from rebut.core.files import repository
    from rebut.engine.runtime import redactor_of
    from rebut.proof.checks import CheckedSides
    from rebut.workspace.targets.target import target_of
    from rebut.workspace.tree import LiveView

    workspace = Path(record.opened.workspace)
    setup = Setup(workspace=workspace)
    assert setup.environment.check_runner is not None
    redact = redactor_of(record, setup.environment.known_secrets).door
    runner = setup.environment.check_runner(repository(workspace), redact)
    sides, target = debated_versions(record, folder), target_of(record)
    now = await LiveView.open(workspace, redact, setup.environment.never) if here else None
    try:
        if now is not None:
            ran = [await runner.side(check, CheckedSides(now)) for check in checks]
            return [
                replace(check, mark=side or "not run", note=note)
                for check, (side, note) in zip(checks, ran, strict=True)
            ]
        about_code = target is not None and target.kind != "proposal"
        both = CheckedSides(None, of_project=about_code)
        if sides is not None:
            both = CheckedSides(sides.new, sides.old, "", sides.changed, about_code)
        return [await runner.run(check, both) for check in checks]
    finally:
        await runner.close()
        for one in (sides, now):
            if one is not None:
                await one.close()
