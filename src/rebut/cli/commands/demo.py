"""`rebut demo`: a shipped debate, replayed at a readable pace."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from rebut.cli import installed_files
from rebut.cli.options import output
from rebut.core.errors import UsageError
from rebut.record import sessions

LABEL = "scripted: these words come from a file, not from a model"


@click.command("demo")
@click.option("--folder", type=click.Path(path_type=Path), metavar="DIR", help="Unpack the little repository there.")
@click.option("--fast", is_flag=True, help="Without the pauses.")
@output
def demo_command(folder: Path | None, fast: bool, as_json: bool, quiet: bool) -> int:
    """Show a whole debate with nothing but rebut: no model, no key, no network, no git.

    The debaters are scripted and labelled so. Ledger, evidence and record are real: the citations are looked up in a
    little repository that is unpacked for you, so that a change to one of its files changes a mark.
    """
    import os
    from dataclasses import replace

    from rebut.api import Setup
    from rebut.cli.output import say, say_json
    from rebut.cli.runner import CommandRun
    from rebut.core.errors import RebutError
    from rebut.domain.outcome import Outcome
    from rebut.engine.start import start
    from rebut.setup.config import Config
    from rebut.setup.connect import scripted

    shop = unpack(folder, os.environ)
    seats: dict[str, Any] = dict(demo_seats())

    async def act(setup: Setup) -> Outcome:
        setup = setup.at(shop.folder, Config())  # nobody's limits or lists: it calls nothing
        plan = setup.plan("duel", TOPIC, context=list(CONTEXT), **seats)
        notes = [NOTE, *([f"edited: {', '.join(shop.edited)}"] if shop.edited else [])]
        return await start(replace(plan, notes=(*plan.notes, *notes)), setup.environment)

    reach = scripted(shop.folder, pace=0.0 if fast or as_json else 1.5)
    stage = CommandRun(as_json, quiet, None, {"scripted": reach}, label=LABEL)
    came = stage.play(act)
    if as_json:
        say_json({**stage.told(came), "scripted": True, "folder": str(shop.folder), "edited": list(shop.edited)})
        return came.exit_code
    code = stage.tell(came)
    if not isinstance(came, RebutError):
        say("\n".join(_closing(shop)))
    return code


def _closing(shop: DemoRepository) -> list[str]:
    from rebut.cli.output import width
    from rebut.reports.terminal import labelled

    told = "the words came from files; what they cite was looked up, and what they conceded was kept, by rebut"
    here = f"the little repository is in {shop.folder}"
    if shop.edited:
        turn = f"{', '.join(shop.edited)} is as you edited it: the scripted words stay, the marks follow the file"
    else:
        turn = f"in infra/redis.tf there, make num_cache_nodes 2, and see what is found then: {shop.again}"
    rows = [("scripted", told), ("where", here), ("try", turn)]
    return ["", *(line for name, text in rows for line in labelled(name, text, width()))]


TOPIC = "Should the shop keep user sessions in Redis?"
CONTEXT = ("infra", "src")
SEATS = {"proposer": "redis", "challenger": "cookie", "judge": "judge"}
"""Seat → the name it goes by."""
NOTE = "scripted: every word of this debate comes from files that ship with rebut; ledger, evidence and record are real"


@dataclass(frozen=True, slots=True)
class DemoRepository:
    """The mini-repository, unpacked."""

    folder: Path
    edited: tuple[str, ...] = ()
    """Files that are not as they were shipped."""
    again: str = "rebut demo"
    """The command that shows it once more, on the same files."""


def unpack(wanted: Path | None, env: Mapping[str, str]) -> DemoRepository:
    """Lay the shop where it was wanted, else beside the sessions. A file that was edited stays as it is."""
    folder = (wanted or sessions.home(env).parent / "demo").expanduser().resolve()
    if (above := sessions.repository(folder)) != folder:
        # Citations are looked up from the root of a repository, and the shop would not stand there.
        if wanted:
            raise UsageError(f"{folder} lies inside the repository {above}", "Choose a folder outside of one.")
        wanted = folder = Path(tempfile.mkdtemp(prefix="rebut-demo-")).resolve()
    laid = installed_files.lay(installed_files.shipped("demo/shop"), folder)
    edited = tuple(one.path.relative_to(folder).as_posix() for one in laid if one.how == "left alone")
    return DemoRepository(folder, edited, f"rebut demo --folder {shlex.quote(str(folder))}" if wanted else "rebut demo")


def demo_seats() -> dict[str, str]:
    """The specs of the debaters, whose words stay in this installation."""
    return {seat: f"{name}=scripted:{installed_files.place('demo') / seat}.json" for seat, name in SEATS.items()}
