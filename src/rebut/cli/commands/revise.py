"""`rebut revise`: two authors critique, revise and converge on one plan or one review."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rebut.cli.options import SCOPES, Many, common, given_scope, scope_options, shown, topic_of

if TYPE_CHECKING:
    from rebut.workspace.targets import Wanted


@click.command("revise", cls=Many)
@click.argument("stage", metavar="plan|review", type=click.Choice(["plan", "review"]))
@click.argument("topic", required=False, default="")
@click.option("--author", metavar="SPEC", multiple=True, help="A model that writes; give two. NAME=SPEC names files.")
@click.option("--synthesizer", metavar="SPEC", help="The model that makes one of both. [the first author's, anew]")
@click.option("--scope", metavar="SCOPE", default="", help=f"What is reviewed: {SCOPES}. [uncommitted]")
@scope_options
@click.option("--rounds", type=int, metavar="1–3", help="Rounds of critique and revision at most. [2]")
@click.option("--phase", type=click.IntRange(min=1), metavar="N", help="Write to .kiln/tracks/phase-N. [the one due]")
@click.option("--strategy", metavar="NAME", help="debate; or synthesize (a plan), single (a review). [debate]")
@click.option("--baseline", is_flag=True, help="Also synthesize the first drafts alone, to compare: one call more.")
@click.option("--show-names", is_flag=True, help="Tell authors who wrote what; by default they are not told.")
@click.option("--effort", metavar="LEVEL", help="Thinking effort of every seat: low, medium, high, max.")
@common
def revise_command(stage: str, topic: str, **named: Any) -> int:
    """Two authors write, critique each other, revise and converge; one plan or one review is made of both.

    TOPIC is the task of a plan, and for a review what to look at; - reads it from standard input. Where
    .kiln/config.json exists, it says whether a stage is debated.
    """
    from rebut.cli.launch import launch

    scope = given_scope(named)
    wanted: Wanted | None = None
    if stage == "review":
        from rebut.workspace.targets import Wanted

        wanted = Wanted("code", scope or "uncommitted", instead=f"Name another with --scope: {SCOPES}")
    elif scope:
        raise click.UsageError(f"a plan has no scope, got {scope}; --context gives it files")
    elif not topic:
        raise click.UsageError("missing argument 'TOPIC': say what to plan")
    named["author"] = list(named["author"])
    named["stage"] = stage
    how = shown(named)
    return launch("revise", topic_of(topic), named, **how, wanted=wanted)
