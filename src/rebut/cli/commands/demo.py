"""`rebut demo`: a scripted debate about a small repository, both shipped with rebut."""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rebut.cli import installed_files
from rebut.cli.options import output
from rebut.core.errors import UsageError
from rebut.core.files import repository
from rebut.core.frozen import frozen
from rebut.record import sessions

if TYPE_CHECKING:
    from rebut.domain.outcome import Outcome

LONG = 70
"""Lines of a terminal on which the whole result of the demo fits."""
LABEL = "scripted: the answers come from files, not from models"


@click.command("demo")
@click.option(
    "--folder", type=click.Path(path_type=Path), metavar="DIR", help="Copy the demo repository to this folder."
)
@click.option("--fast", is_flag=True, help="Without pauses.")
@output
def demo_command(folder: Path | None, fast: bool, as_json: bool, quiet: bool) -> int:
    """Show a complete debate: no model, no key, no network, no git.

    The answers are scripted, and labelled as such. Everything else is real: rebut checks the citations in a small
    repository that it copies for you. If you edit a file there, the results change.
    """
    import os
    from dataclasses import replace

    from rebut.api import Setup
    from rebut.cli.output import say, say_json
    from rebut.cli.runner import CommandRun
    from rebut.core.errors import RebutError
    from rebut.engine.start import start
    from rebut.setup.config import Config
    from rebut.setup.connect import scripted

    shop = unpack(folder, os.environ)
    started_in = str(Path.cwd().resolve())
    seats: dict[str, Any] = dict(demo_seats())

    async def act(setup: Setup) -> Outcome:
        setup = setup.at(shop.folder, Config())  # without the user's limits and lists: the demo calls no model
        plan = setup.plan("duel", TOPIC, context=list(CONTEXT), **seats)
        notes = [NOTE, *([f"edited: {', '.join(shop.edited)}"] if shop.edited else [])]
        return await start(replace(plan, notes=(*plan.notes, *notes), started_in=started_in), setup.environment)

    reach = scripted(shop.folder, pace=0.0 if fast or as_json else 1.5)
    run = CommandRun(as_json, quiet, None, {"scripted": reach}, label=LABEL)
    run.repeats = False  # the demo has its own: `_result_again`
    came = run.play(act)
    if as_json:
        say_json({**run.as_dict(came), "scripted": True, "folder": str(shop.folder), "edited": list(shop.edited)})
        return came.exit_code
    code = run.report(came)
    if not isinstance(came, RebutError):
        say("\n".join(_closing(shop)))
        if sys.stdout.isatty() and os.get_terminal_size(sys.stdout.fileno()).lines < LONG:
            say("\n".join(_result_again(came)), emphasis=True)
    if run.page:
        run.page.stay()
    return code


def _result_again(outcome: Outcome) -> list[str]:
    """The result in short, printed last on a terminal that is too low for all of it."""
    from rebut.cli.output import width
    from rebut.core.text import wrapped

    verdict, ledger = outcome.verdict, outcome.ledger
    if not verdict:
        return []
    absent = [(claim.id, cited) for claim in ledger.claims for cited in claim.evidence if cited.mark == "absent"]
    false = [f"{id} cites {cited.place}, but {cited.note}" for id, cited in absent]
    why = "; ".join([f"{len(ledger.agreed)} of {len(ledger.points)} points were agreed", *false])
    rows = [*wrapped(verdict.recommendation, width(), indent="    "), *wrapped(f"{why}.", width(), indent="    ")]
    return ["", f"  {outcome.heading}  {verdict.winner}", *rows]


def _closing(shop: DemoRepository) -> list[str]:
    from rebut.cli.output import width
    from rebut.reports.terminal import labelled

    how = "the answers came from files; rebut checked their citations and kept track of what was conceded"
    here = f"the demo repository is in {shop.folder}"
    if shop.edited:
        turn = (
            f"you edited {', '.join(shop.edited)}: the answers are the same, but the citations are checked in your file"
        )
    else:
        turn = f"set num_cache_nodes to 2 in its infra/redis.tf, then see which citation changes: {shop.again}"
    rows = [("scripted", how), ("where", here), ("try", turn)]
    return ["", *(line for name, text in rows for line in labelled(name, text, width()))]


TOPIC = "Should the shop keep user sessions in Redis?"
CONTEXT = ("infra", "src")
SEATS = {"proposer": "redis", "challenger": "cookie", "judge": "judge"}
"""Seat → the name in its spec."""
NOTE = "scripted: all answers come from files shipped with rebut; ledger, evidence and record are real"


@frozen
class DemoRepository:
    """The demo repository on disk."""

    folder: Path
    edited: tuple[str, ...] = ()
    """Files that the user has changed."""
    again: str = "rebut demo"
    """The command that runs it again with the same files."""


def unpack(wanted: Path | None, env: Mapping[str, str]) -> DemoRepository:
    """Copy the demo repository to `wanted`, else beside the sessions. An edited file is not replaced."""
    folder = (wanted or sessions.home(env).parent / "demo").expanduser().resolve()
    if (above := repository(folder)) != folder:
        # Citations would be looked up from the root of that repository, and would not be found.
        if wanted:
            raise UsageError(f"{folder} is inside the repository {above}", "Choose a folder outside any repository.")
        wanted = folder = Path(tempfile.mkdtemp(prefix="rebut-demo-")).resolve()
    hint = "Choose another one with --folder." if wanted else sessions.how_to_move(env)
    copied = installed_files.install(installed_files.shipped("demo/shop"), folder, hint)
    edited = tuple(one.path.relative_to(folder).as_posix() for one in copied if one.how == "left alone")
    return DemoRepository(folder, edited, f"rebut demo --folder {shlex.quote(str(folder))}" if wanted else "rebut demo")


def demo_seats() -> dict[str, str]:
    """The specs of the seats: their answers are files of this installation."""
    return {seat: f"{name}=scripted:{installed_files.place('demo') / seat}.json" for seat, name in SEATS.items()}
