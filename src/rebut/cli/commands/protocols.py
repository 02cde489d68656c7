"""`rebut duel`: proposer against challenger."""

from __future__ import annotations

from typing import Any

import click

from rebut.cli.options import Many, common, shown, topic_of


@click.command("duel", cls=Many)
@click.argument("topic")
@click.option("--proposer", metavar="SPEC", help="The model that takes a position.")
@click.option("--challenger", metavar="SPEC", help="The model that attacks it; another one than the proposer.")
@click.option("--judge", metavar="SPEC", help="The model that decides. [a fresh call of the proposer's model]")
@click.option("--rounds", type=int, metavar="1–5", help="Rounds of back and forth. [2]")
@click.option("--effort", metavar="LEVEL", help="Thinking effort of every seat: low, medium, high, max.")
@click.option("--model-proposer", metavar="MODEL", help="The proposer's model, apart from its provider.")
@click.option("--model-challenger", metavar="MODEL", help="The challenger's model, apart from its provider.")
@click.option("--state-dir", metavar="DIR", help="Write debate/last-debate.json there.")
@common
def duel_command(topic: str, model_proposer: str | None, model_challenger: str | None, **named: Any) -> int:
    """Proposer against challenger, every claim cited, until a judge picks a side.

    TOPIC is the question; - reads it from standard input.
    """
    from rebut.cli.launch import launch

    how = shown(named)
    named["models"] = {"proposer": model_proposer or "", "challenger": model_challenger or ""}
    return launch("duel", topic_of(topic), named, **how)
