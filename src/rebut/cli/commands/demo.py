"""`rebut demo`: a shipped debate, replayed at a readable pace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rebut.cli.options import output

if TYPE_CHECKING:
    from rebut.cli.commands.demo_part import Shop

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

    from rebut.api import Desk
    from rebut.cli.commands import demo_part as demo
    from rebut.cli.output import say, say_json
    from rebut.cli.runner import Stage
    from rebut.core.errors import RebutError
    from rebut.domain.outcome import Outcome
    from rebut.engine.start import start
    from rebut.setup.config import Config
    from rebut.setup.connect import scripted

    shop = demo.unpack(folder, os.environ)
    seats: dict[str, Any] = dict(demo.seats())

    async def act(desk: Desk) -> Outcome:
        desk = desk.at(shop.folder, Config())  # nobody's limits or lists: it calls nothing
        plan = desk.plan("duel", demo.TOPIC, context=list(demo.CONTEXT), **seats)
        notes = [demo.NOTE, *([f"edited: {', '.join(shop.edited)}"] if shop.edited else [])]
        return await start(replace(plan, notes=(*plan.notes, *notes)), desk.table)

    reach = scripted(shop.folder, pace=0.0 if fast or as_json else 1.5)
    stage = Stage(as_json, quiet, None, {"scripted": reach}, label=LABEL)
    came = stage.play(act)
    if as_json:
        say_json({**stage.told(came), "scripted": True, "folder": str(shop.folder), "edited": list(shop.edited)})
        return came.exit_code
    code = stage.tell(came)
    if not isinstance(came, RebutError):
        say("\n".join(_closing(shop)))
    return code


def _closing(shop: Shop) -> list[str]:
    from rebut.cli.output import width
    from rebut.reports.terminal import wrapped

    told = "the words came from files; what they cite was looked up, and what they conceded was kept, by rebut"
    here = f"the little repository is in {shop.folder}"
    if shop.edited:
        turn = f"{', '.join(shop.edited)} is as you edited it: the scripted words stay, the marks follow the file"
    else:
        turn = f"in infra/redis.tf there, make num_cache_nodes 2, and see what is found then: {shop.again}"
    rows = [("scripted", told), ("where", here), ("try", turn)]
    return ["", *(line for name, text in rows for line in wrapped(f"  {name:<12}  {text}", width(), 16))]
