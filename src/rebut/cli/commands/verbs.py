"""`ask`, `review` and `plan`: short ways to run a protocol, with low limits for a first look."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rebut.cli.completion import PATH, SPEC
from rebut.cli.options import (
    EFFORT,
    REVIEW_NAMES,
    Many,
    call_limit,
    collect_limits,
    common,
    cross_options,
    gating_of,
    judge_options,
    models_of,
    review_options,
    several_judges,
    target_options,
    wanted_by,
    with_options,
)
from rebut.cli.pydantic_loader import load_pydantic
from rebut.setup import verbs

if TYPE_CHECKING:
    from rebut.setup.verbs import Verb
    from rebut.workspace.targets.target import Wanted

F = TypeVar("F", bound=Callable[..., Any])


def common_options(f: F) -> F:
    """Add the options that `ask`, `review` and `plan` share."""
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
        click.option("--deep", is_flag=True, help="More rounds, time and calls; with ask, each judge in both orders."),
        click.option("--save", type=PATH, metavar="DIR", help="Also write the debate's files to DIR."),
    )
    return common(f)


@click.command("ask", cls=Many)
@click.argument("question")
@click.option("--proposer", type=SPEC, help="The first model that answers.")
@click.option("--challenger", type=SPEC, help="The second; not the first one's model.")
@judge_options
@click.option("--rounds", type=int, metavar="1–5", help="Rounds of debate, if the answers differ. [1]")
@EFFORT
@common_options
def ask_command(question: str, company: str | None, **named: Any) -> int:
    """Two models answer independently. If they agree, that is the result; if not, they debate.

    QUESTION is what to decide; - reads it from standard input.
    """
    from rebut.cli.shorthand import question_of

    question = question_of(question)
    if not question.strip():
        raise click.UsageError("the question is empty")
    who = models_of(company)
    several_judges(named)
    return _go(verbs.ask(who), question, named)


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
    verb = verbs.review(models_of(company))
    if _chosen(what):
        return _go(verb, "", named, wanted_by("", named))
    for name in CHOOSE:
        named.pop(name)
    return _go(verb, "", named, of_review(what))


AUTHORS = click.option(
    "--author",
    type=SPEC,
    multiple=True,
    help="The model that wrote it, which is not called; with --rewrite, a model that writes: give two.",
)


@click.command("plan", cls=Many)
@click.argument("file", type=PATH, required=False, default="")
@click.option("--rewrite", is_flag=True, help="Let two authors revise it until they agree.")
@click.option("--synthesizer", type=SPEC, help="With --rewrite: the model that merges both plans.")
@click.option("--baseline", is_flag=True, help="With --rewrite: also merge the first drafts, to compare.")
@click.option("--show-names", is_flag=True, help="With --rewrite: show the authors each other's names.")
@click.option("--strategy", metavar="NAME", help="With --rewrite: debate or synthesize. [debate]")
@click.option(
    "--phase", type=click.IntRange(min=1), metavar="N", help="With --rewrite: write to .kiln/tracks/phase-N, too."
)
@target_options
@partial(cross_options, author=AUTHORS)
@review_options
@common_options
def plan_command(file: str, rewrite: bool, company: str | None, **named: Any) -> int:
    """Review a plan or a proposal in FILE; - reads standard input."""
    from rebut.cli.shorthand import of_plan, to_rewrite

    who = models_of(company)
    chosen = _chosen(file)
    if not file and not chosen:
        raise click.UsageError("missing argument 'FILE': the plan to review")
    for name in OF_A_REVIEW if rewrite else OF_A_REWRITE:
        if named.pop(name):
            flag = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{flag} is not for --rewrite" if rewrite else f"{flag} needs --rewrite")
    if rewrite:
        if other := [name for name in chosen if name != "artifact_file"]:
            raise click.UsageError(f"--{other[0].replace('_', '-')} is not for --rewrite; name a FILE")
        file = file or named["artifact_file"]
        topic, context = to_rewrite(file)
        named["context"] = (*named["context"], *context)
        for name in (*REVIEW_NAMES, *CHOOSE):
            named.pop(name)
        named["author"] = list(named["author"])
        named["rewrites"] = file
        named["strategy"] = named["strategy"] or "debate"  # whatever .kiln/config.json says about stages
        named["everything"] = False  # a revision has no findings to hide
        return _go(verbs.rewrite(who, in_place=named["phase"] is not None), topic, named)
    if len(named["author"]) > 1:
        raise click.UsageError(f"a review has one author, got {len(named['author'])}; two write with --rewrite")
    named["author"] = named["author"][0] if named["author"] else None
    named["skip_materialize_opposite"] = True
    if chosen:
        if "target" not in chosen and not {*chosen} & {"scope", "base", "commit", "uncommitted", "staged"}:
            named["target"] = "proposal"
        return _go(verbs.plan(who), "", named, wanted_by("", named))
    for name in CHOOSE:
        named.pop(name)
    return _go(verbs.plan(who), "", named, of_plan(file))


def _chosen(what: str) -> list[str]:
    """The options given that say what is reviewed. UsageError if the argument `what` says it, too."""
    here = click.get_current_context()
    chosen = [name for name in CHOOSE if here.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE]
    if what and chosen:
        raise click.UsageError(f"give {what} or --{chosen[0].replace('_', '-')}, not both: each says what to review")
    return chosen


CHOOSE = (
    "target",
    "scope",
    "base",
    "commit",
    "uncommitted",
    "staged",
    "artifact_file",
    "context_file",
    "from_transcript",
)
"""The options that choose what is reviewed."""
OF_A_REVIEW = (
    *("critic", "judge", "intensity", "mode", "backend_timeout_seconds", "skip_materialize_opposite"),
    "state_dir",
)
"""The options of `plan` that are refused with --rewrite."""
OF_A_REWRITE = ("synthesizer", "baseline", "show_names", "strategy", "phase")
"""The options of `plan` that need --rewrite."""


def _go(verb: Verb, topic: str, named: dict[str, Any], wanted: Wanted | None = None) -> int:
    load_pydantic()
    from rebut.cli.launch import launch
    from rebut.core import files
    from rebut.core.errors import UsageError
    from rebut.engine.protocol import load

    quick, deep, save = (named.pop(name) for name in ("quick", "deep", "save"))
    if quick and deep:
        raise click.UsageError("give --quick or --deep, not both")
    if "backend_timeout_seconds" in named:
        call_limit(named)
    how = collect_limits(named)
    made = load(verb.protocol)
    if save and not made.place:
        raise click.UsageError(f"{verb.protocol} writes no files; `rebut export` writes the session")
    if save:
        folder = Path(save).expanduser().absolute()
        if why := files.not_writable(folder):
            raise UsageError(f"--save {save} cannot be used: {why}", "Name a folder.")
        named[made.place] = save = str(folder)
    named["first_look"] = verb.first_look(named, wanted, quick=quick, deep=deep)
    everything = named.pop("everything", False)
    # As with `cross`, dismissed findings are hidden and the repository's threshold counts.
    gating = gating_of(named, how, verb.name) if made.reviews else None
    return launch(verb.protocol, topic, named, wanted=wanted, everything=everything, gating=gating, save=save, **how)
