"""`rebut panel`: one position against several challengers at once."""

from __future__ import annotations

from typing import Any

import click

from rebut.cli.options import Many, common, shown, topic_of


@click.command("panel", cls=Many)
@click.argument("topic")
@click.option("--lead", metavar="SPEC", help="The model that takes the position and defends it.")
@click.option("--challenger", metavar="SPEC", multiple=True, help="A model that attacks it; repeat for several.")
@click.option("--judge", metavar="SPEC", help="Who writes the personas and maps assumptions. [the lead's model]")
@click.option("--max-rounds", "rounds", type=int, metavar="1–10", help="The challenge and all rebuttals. [5]")
@click.option("--min-challengers", type=int, metavar="N", help="How many challengers must answer. [1]")
@click.option("--effort", metavar="LEVEL", help="Thinking effort of every seat: low, medium, high, max.")
@common
def panel_command(topic: str, challenger: tuple[str, ...], **named: Any) -> int:
    """One position against expert challengers, all at once, to a consensus or an honest trade-off.

    TOPIC is the question; - reads it from standard input. A call takes 120 s at most unless --timeout says otherwise.
    The files are in ./debates/NNN-topic.
    """
    from rebut.cli.launch import launch

    how = shown(named)
    named["challenger"] = list(challenger)
    return launch("panel", topic_of(topic), named, **how)
