"""`ask`, `review` and `plan`: short ways to run a protocol, with low limits for a first look."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rebut.cli.options import (
    EFFORT,
    PATH,
    REVIEW_NAMES,
    SPEC,
    Many,
    call_limit,
    common,
    cross_options,
    gating_of,
    review_options,
    shown,
    target_options,
    topic_of,
    wanted_by,
    with_options,
)

if TYPE_CHECKING:
    from rebut.workspace.targets.target import Wanted

F = TypeVar("F", bound=Callable[..., Any])
FIRST_LOOK = {"timeout": 90, "calls": 12, "usd": 1}
"""Limits of these commands, unless others are given."""
A_PLAN = 120
"""Seconds per call for a text: with less, the review would be reported as short of time."""
QUICK = {"timeout": 60, "calls": 10, "usd": 1}
DEEP = {"timeout": 240, "calls": 40, "usd": 5}


def common_options(f: F) -> F:
    """The options of all three."""
    f = with_options(
        f,
        click.option(
            "--with",
            "company",
            type=SPEC,
            metavar="A,B",
            help="The models to use; the roles are shown before the first call.",
        ),
        click.option("--quick", is_flag=True, help="Less time, fewer calls, low effort."),
        click.option("--deep", is_flag=True, help="More rounds and calls; with ask, a panel of experts."),
        click.option("--save", type=PATH, metavar="DIR", help="Also write the debate's files to DIR."),
    )
    return common(f)


@click.command("ask", cls=Many)
@click.argument("question")
@click.option("--proposer", type=SPEC, help="The first model that answers.")
@click.option("--challenger", type=SPEC, help="The second; not the first one's model.")
@click.option("--judge", type=SPEC, help="The model that decides. [a third family, else the proposer's]")
@click.option("--rounds", type=int, metavar="1–5", help="Rounds of debate, if the answers differ. [1]")
@EFFORT
@common_options
def ask_command(question: str, company: str | None, **named: Any) -> int:
    """Two models answer independently. If they agree, that is the result; if not, they debate.

    QUESTION is what to decide; - reads it from standard input.
    """
    question = topic_of(question)
    if not question.strip():
        raise click.UsageError("the question is empty")
    who = _company(company)
    if named["deep"]:
        for name in ("proposer", "challenger", "judge", "rounds"):
            if named.pop(name) is not None:
                raise click.UsageError(f"--deep holds a panel, which has no --{name} here; name the models by --with")
        return _go("panel", question, named, {"lead": who[:1], "challenger": who[1:]})
    roles = dict(zip(("proposer", "challenger", "judge"), who, strict=False))
    return _go("ask", question, named, roles)


@click.command("review", cls=Many)
@click.argument("what", required=False, default="", type=PATH, metavar="[REV|FILE]")
@click.option("--fix", is_flag=True, help="Also write a patch with the fixes: final.patch of the session.")
@click.option("-i", "--interactive", is_flag=True, help="You decide, not the judge.")
@target_options
@cross_options
@review_options
@common_options
def review_command(what: str, fix: bool, interactive: bool, company: str | None, **named: Any) -> int:
    """Review a change: your uncommitted changes, or else this branch against the default branch.

    REV is a commit or a range A..B, FILE a whole file, - a diff or code on standard input.
    """
    from rebut.cli.shorthand import of_review

    named["mode"] = "manual" if interactive else named["mode"]
    named["skip_materialize_opposite"] |= not (fix or named["apply_patch"])
    named["skip_materialize_opposite"] = named["skip_materialize_opposite"] or None
    roles = dict(zip(("critic", "judge"), _company(company), strict=False))
    here = click.get_current_context()
    chosen = [name for name in CHOOSE if here.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE]
    if what and chosen:
        raise click.UsageError(f"{what} and --{chosen[0].replace('_', '-')} both say what to review; give one")
    if chosen:
        return _go("cross", "", named, roles, wanted_by("", named))
    for name in CHOOSE:
        named.pop(name)
    return _go("cross", "", named, roles, of_review(what))


@click.command("plan", cls=Many)
@click.argument("file", type=PATH)
@click.option("--rewrite", is_flag=True, help="Let two authors revise it until they agree.")
@click.option("--synthesizer", type=SPEC, help="With --rewrite: the model that merges both plans.")
@click.option("--baseline", is_flag=True, help="With --rewrite: also merge the first drafts, to compare.")
@click.option("--show-names", is_flag=True, help="With --rewrite: show the authors each other's names.")
@cross_options
@review_options
@common_options
def plan_command(file: str, rewrite: bool, company: str | None, **named: Any) -> int:
    """Review a plan or a proposal in FILE; - reads standard input."""
    from rebut.cli.shorthand import of_plan, to_rewrite

    who = _company(company)
    for name in OF_A_REVIEW if rewrite else OF_A_REWRITE:
        if named.pop(name):
            flag = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{flag} is not for --rewrite" if rewrite else f"{flag} needs --rewrite")
    if rewrite:
        topic, context = to_rewrite(file)
        named["context"] = (*named["context"], *context)
        for name in REVIEW_NAMES:
            named.pop(name)
        named["rewrites"] = file
        named["strategy"] = "debate"  # whatever .kiln/config.json says about stages
        named["everything"] = False  # a revision has no findings to hide
        return _go("revise", topic, named, {"author": _authors(who[:2]), "synthesizer": who[2:3]})
    roles = dict(zip(("critic", "judge"), who, strict=False))
    named["skip_materialize_opposite"] = True
    return _go("cross", "", named, roles, of_plan(file))


def _company(given: str | None) -> list[str]:
    who = [name.strip() for name in given.split(",")] if given else []
    if given is not None and not all(who):
        raise click.UsageError(f"--with takes models joined by commas, got {given!r}")
    return who


def _authors(who: list[str]) -> list[str]:
    """Two models of one provider get names: `revise` needs them for its files, and this command has no flag for it."""
    from rebut.core.types import ModelSpec
    from rebut.setup.seats import told_apart

    out: list[ModelSpec] = []
    for text in who:
        out.append(told_apart(ModelSpec.parse(text), out))
    return [spec.written for spec in out]


CHOOSE = ("target", "scope", "base", "commit", "uncommitted", "artifact_file", "context_file", "from_transcript")
"""The options of `review` that choose what is reviewed."""
OF_A_REVIEW = (
    *("author", "critic", "judge", "intensity", "mode", "backend_timeout_seconds", "skip_materialize_opposite"),
    "state_dir",
)
"""The options of `plan` that a rewrite does not have …"""
OF_A_REWRITE = ("synthesizer", "baseline", "show_names")
"""… and those that only a rewrite has."""


def _go(protocol: str, topic: str, named: dict[str, Any], roles: dict[str, Any], wanted: Wanted | None = None) -> int:
    from rebut.cli.launch import launch
    from rebut.engine.protocol import load

    quick, deep, save = (named.pop(name) for name in ("quick", "deep", "save"))
    if quick and deep:
        raise click.UsageError("give --quick or --deep, not both")
    verb = click.get_current_context().info_name or ""
    named["verb"] = verb
    if "backend_timeout_seconds" in named:
        call_limit(named)
    how = shown(named)
    chosen = named["limits"]
    defaults = QUICK if quick else DEEP if deep else FIRST_LOOK
    if wanted is not None and wanted.target == "proposal" and not quick:
        defaults = {**defaults, "timeout": max(defaults["timeout"], A_PLAN)}
    named["usual_limits"] = defaults
    # Where no limit was given and a price is unknown, tokens are limited instead of dollars.
    named["thrifty"] = "usd" not in chosen and "tokens" not in chosen
    named |= {role: who for role, who in roles.items() if who and not named.get(role)}
    named["effort"] = named.get("effort") or ("low" if quick else None)
    if protocol != "panel" and named.get("rounds") is None and not named.get("intensity"):
        named["rounds"] = 3 if deep else 1
    if named.get("intensity"):  # it sets the time of a call
        named["usual_limits"] = {name: most for name, most in defaults.items() if name != "timeout"}
    made = load(protocol)
    if made.place and not (named.get(made.place) and not save):
        named[made.place] = str(Path(save).expanduser().absolute()) if save else "-"
    elif save:
        raise click.UsageError(f"{protocol} writes no files; `rebut export` writes the session")
    everything = named.pop("everything", False)
    # As with `cross`, dismissed findings are hidden and the repository's threshold counts.
    gating = gating_of(named, how, verb) if made.reviews else None
    return launch(protocol, topic, named, wanted=wanted, everything=everything, gating=gating, **how)
