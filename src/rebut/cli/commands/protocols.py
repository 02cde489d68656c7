"""The commands that run a protocol: `duel`, `cross`, `revise`, `panel`, and `run` for any other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rebut.cli.completion import PATH, PROTOCOL, SPEC
from rebut.cli.options import (
    EFFORT,
    SCOPES,
    Many,
    call_limit,
    collect_limits,
    common,
    cross_options,
    gate_options,
    gating_of,
    given_scope,
    inconclusive_option,
    judge_options,
    pairs,
    review_options,
    scope_options,
    several_judges,
    target_options,
    topic_of,
    wanted_by,
)
from rebut.cli.pydantic_loader import load_pydantic

if TYPE_CHECKING:
    from rebut.workspace.targets.target import Wanted


@click.command("duel", cls=Many)
@click.argument("topic")
@click.option("--proposer", type=SPEC, help="The model that takes a position.")
@click.option("--challenger", type=SPEC, help="The model that attacks it; not the proposer's model.")
@judge_options
@click.option("--rounds", type=int, metavar="1–5", help="Rounds of challenge and defense. [2]")
@click.option("--all-rounds", is_flag=True, help="Hold every round, even if no point is open any more.")
@EFFORT
@click.option("--model-proposer", metavar="MODEL", help="Replace the model in the proposer's spec.")
@click.option("--model-challenger", metavar="MODEL", help="Replace the model in the challenger's spec.")
@click.option("--state-dir", type=PATH, metavar="DIR", help="Write debate/last-debate.json to this folder.")
@common
def duel_command(topic: str, model_proposer: str | None, model_challenger: str | None, **named: Any) -> int:
    """A proposer takes a position, a challenger attacks it, and a judge picks a side.

    TOPIC is the question; - reads it from standard input.
    """
    load_pydantic()
    from rebut.cli.launch import launch
    from rebut.cli.shorthand import question_of

    how = collect_limits(named)
    several_judges(named)
    named["all_rounds"] = named["all_rounds"] or None
    named["models"] = {"proposer": model_proposer or "", "challenger": model_challenger or ""}
    return launch("duel", question_of(topic), named, **how)


@click.command("cross", cls=Many)
@click.argument("content", required=False, default="")
@target_options
@cross_options
@review_options
@common
def cross_command(content: str, everything: bool, **named: Any) -> int:
    """A critic reviews a change or a proposal, a judge rules on its findings, and you (or the judge) decide.

    CONTENT is the text to review; - reads it from standard input. Without CONTENT, rebut reviews --artifact-file,
    standard input, --context-file, --from-transcript, or the uncommitted changes.
    """
    load_pydantic()
    from rebut.cli.launch import launch
    from rebut.cli.shorthand import refuse_name

    if content != "-":
        refuse_name(content)
    wanted = wanted_by(content, named)
    call_limit(named)
    how = collect_limits(named)
    named["skip_materialize_opposite"] = named["skip_materialize_opposite"] or None
    gating = gating_of(named, how)
    return launch("cross", "", named, **how, wanted=wanted, everything=everything, gating=gating)


@click.command("revise", cls=Many)
@click.argument("stage", metavar="plan|review", type=click.Choice(["plan", "review"]))
@click.argument("topic", required=False, default="")
@click.option("--author", type=SPEC, multiple=True, help="A model that writes; give two. NAME=SPEC sets its file name.")
@click.option("--synthesizer", type=SPEC, help="The model that merges both. [a third family, else the first author's]")
@click.option("--scope", metavar="SCOPE", default="", help=f"What to review: {SCOPES}. [uncommitted]")
@scope_options
@click.option("--rounds", type=int, metavar="1–3", help="Maximum rounds of critique and revision. [2]")
@click.option(
    "--phase", type=click.IntRange(min=1), metavar="N", help="Write to .kiln/tracks/phase-N. [the current phase]"
)
@click.option("--strategy", metavar="NAME", help="debate; or synthesize (plans), single (reviews). [debate]")
@click.option("--baseline", is_flag=True, help="Also merge the first drafts, to compare (one more call).")
@inconclusive_option
@click.option("--show-names", is_flag=True, help="Show the authors each other's names. [hidden]")
@EFFORT
@common
def revise_command(stage: str, topic: str, on_inconclusive: str | None, **named: Any) -> int:
    """Two authors write, critique each other and revise; then both texts are merged into one plan or one review.

    TOPIC is what to plan, or what a review should look at; - reads it from standard input. If .kiln/config.json
    exists, it decides whether a stage is debated.
    """
    from rebut.cli.gate_flags import Gating

    load_pydantic()
    from rebut.cli.launch import launch
    from rebut.cli.shorthand import question_of
    from rebut.domain.gate_policy import Wish

    scope = given_scope(named)
    wanted: Wanted | None = None
    if stage == "review":
        from rebut.workspace.targets.target import Wanted

        wanted = Wanted("code", scope or "uncommitted", instead=f"Name another with --scope: {SCOPES}")
    elif scope:
        raise click.UsageError(f"a plan has no scope, got {scope}; give it files with --context")
    elif not topic:
        raise click.UsageError("missing argument 'TOPIC': what to plan")
    named["author"] = list(named["author"])
    named["stage"] = stage
    how = collect_limits(named)
    gating = Gating(Wish(on_inconclusive=on_inconclusive), again=True)
    # What a review should look at may be a file.
    topic = question_of(topic) if stage == "plan" else topic_of(topic)
    return launch("revise", topic, named, **how, wanted=wanted, gating=gating)


@click.command("panel", cls=Many)
@click.argument("topic")
@click.option("--lead", type=SPEC, help="The model that takes a position and defends it.")
@click.option("--challenger", type=SPEC, multiple=True, help="A model that attacks it; repeat for more.")
@click.option(
    "--judge",
    type=SPEC,
    help="The model that writes the personas, and compares what the parties assume. [a third family, else the lead's]",
)
@click.option(
    "--max-rounds", "rounds", type=int, metavar="1–10", help="Maximum rounds, the first challenge included. [5]"
)
@click.option("--min-challengers", type=int, metavar="N", help="Challengers that must answer. [1]")
@EFFORT
@common
def panel_command(topic: str, challenger: tuple[str, ...], **named: Any) -> int:
    """One position against several expert challengers at once: ends in a consensus or a trade-off.

    TOPIC is the question; - reads it from standard input. A call may take 120 s, unless --timeout is given. The files
    are written to ./debates/NNN-topic.
    """
    load_pydantic()
    from rebut.cli.launch import launch
    from rebut.cli.shorthand import question_of

    how = collect_limits(named)
    named["challenger"] = list(challenger)
    return launch("panel", question_of(topic), named, **how)


@click.command("run", cls=Many)
@click.argument("file", type=PROTOCOL, metavar="FILE|NAME")
@click.argument("topic")
@click.option("--seat", multiple=True, metavar="ROLE=SPEC", help="The model for a seat; repeat for more.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Set a setting of the protocol.")
@click.option("--scope", metavar="SCOPE", default="", help=f"A change to debate: {SCOPES}.")
@click.option("--artifact-file", metavar="FILE", default="", help="A file to debate.")
@gate_options
@common
def run_command(
    file: str,
    topic: str,
    seat: tuple[str, ...],
    settings: tuple[str, ...],
    scope: str,
    artifact_file: str,
    fail_on: str | None,
    on_inconclusive: str | None,
    **named: Any,
) -> int:
    """Run a protocol from a Python FILE, or an installed one by NAME. TOPIC is the question; - reads standard input.

    The file defines `seats`, `async def run(debate)` and optionally `Settings`: see docs/writing-a-protocol.md.
    """
    from rebut.cli.gate_flags import Gating

    load_pydantic()
    from rebut.cli.launch import launch
    from rebut.domain.gate_policy import Wish
    from rebut.workspace.targets.target import Wanted

    how, seats = collect_limits(named), dict[str, Any]()
    for role, spec in pairs(seat, "--seat", "ROLE=SPEC"):
        _refuse_other_options(role, named)
        seats.setdefault(role, []).append(spec)
    for name, value in pairs(settings, "--set", "NAME=VALUE"):
        _refuse_other_options(name, named)
        seats[name] = value
    named |= seats
    wanted = Wanted("auto", scope, artifact_file=artifact_file) if scope or artifact_file else None
    gating = Gating(Wish(fail_on, on_inconclusive), again=True)
    return launch(file, topic_of(topic), named, wanted=wanted, gating=gating, **how)


def _refuse_other_options(name: str, named: dict[str, Any]) -> None:
    if name in named or name in ("protocol", "topic", "models"):
        raise click.UsageError(f"{name!r} is not a seat or setting of the protocol; it has its own flag or argument")
