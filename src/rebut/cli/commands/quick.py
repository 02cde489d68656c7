"""`ask`, `review` and `plan`: short ways to run a protocol, with low limits for a first look."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from rebut.cli.options import (
    PATH,
    SPEC,
    Many,
    common,
    gate_options,
    shown,
    topic_of,
)

F = TypeVar("F", bound=Callable[..., Any])
FIRST_LOOK = {"timeout": 90, "calls": 12, "usd": 1}
"""What a verb may take unless told otherwise."""
A_PLAN = 120
"""Seconds a call for a text: with less, a review of one says that its time is short, which nobody here asked for."""
QUICK = {"timeout": 60, "calls": 6, "usd": 1}
DEEP = {"timeout": 240, "calls": 40, "usd": 5}


def verb(f: F) -> F:
    """What all verbs understand."""
    for option in reversed(
        [
            click.option("--with", "company", type=SPEC, metavar="A,B", help="The models to use, in order of roles."),
            click.option("--quick", is_flag=True, help="Less time, fewer calls, low effort."),
            click.option("--deep", is_flag=True, help="More rounds and calls; with ask, a panel of experts."),
            click.option("--save", type=PATH, metavar="DIR", help="Also write the debate's files to DIR."),
        ]
    ):
        f = option(f)
    return common(f)


@click.command("ask", cls=Many)
@click.argument("question")
@verb
def ask_command(question: str, company: str | None, quick: bool, deep: bool, save: str | None, **named: Any) -> int:
    """Two models answer blind. If they choose the same, that is said; if not, they debate.

    QUESTION is what to decide; - reads it from standard input.
    """
    question = topic_of(question)
    if not question.strip():
        raise click.UsageError("the question is empty")
    who = _company(company)
    if deep:
        seats = {"lead": who[:1], "challenger": who[1:]} if who else {}
        return _go("panel", question, named, seats, quick, deep, save)
    roles = dict(zip(("proposer", "challenger", "judge"), who, strict=False))
    return _go("ask", question, named, roles, quick, deep, save)


@click.command("review", cls=Many)
@click.argument("what", required=False, default="", type=PATH, metavar="[REV|FILE]")
@click.option("--fix", is_flag=True, help="Also have a patch written: final.patch of the session.")
@click.option("-i", "--interactive", is_flag=True, help="You choose from A to E, not the judge.")
@click.option("--all", "everything", is_flag=True, help="Show every finding, also P3, struck and invalid ones.")
@gate_options
@click.option("--again", is_flag=True, help="Review it anew, even if the same review is on record.")
@verb
def review_command(
    what: str,
    fix: bool,
    interactive: bool,
    everything: bool,
    fail_on: str | None,
    on_inconclusive: str | None,
    again: bool,
    company: str | None,
    quick: bool,
    deep: bool,
    save: str | None,
    **named: Any,
) -> int:
    """Have a change reviewed: the changed tree, else this branch against the default branch.

    REV is a commit or a range A..B; FILE a file as it stands; - a diff or code on standard input.
    """
    from rebut.cli.shorthand import of_review

    named |= {"mode": "manual" if interactive else None, "skip_materialize_opposite": None if fix else True}
    roles = dict(zip(("critic", "judge"), _company(company), strict=False))
    gate = (fail_on, on_inconclusive, again)
    return _go("cross", "", named, roles, quick, deep, save, of_review(what), everything, gate)


@click.command("plan", cls=Many)
@click.argument("file", type=PATH)
@click.option("--rewrite", is_flag=True, help="Have two authors revise it until they converge.")
@click.option("--all", "everything", is_flag=True, help="Show every finding, also P3, struck and invalid ones.")
@verb
def plan_command(
    file: str,
    rewrite: bool,
    everything: bool,
    company: str | None,
    quick: bool,
    deep: bool,
    save: str | None,
    **named: Any,
) -> int:
    """Have a plan or a proposal reviewed. FILE holds it; - reads standard input."""
    from rebut.cli.shorthand import of_plan, to_rewrite

    who = _company(company)
    if rewrite:
        topic, context = to_rewrite(file)
        named["context"] = (*named["context"], *context)
        named["strategy"] = "debate"  # whatever a workspace wants of its own stages
        return _go("revise", topic, named, {"author": _authors(who[:2]), "synthesizer": who[2:]}, quick, deep, save)
    roles = dict(zip(("critic", "judge"), who, strict=False))
    named["skip_materialize_opposite"] = True
    return _go("cross", "", named, roles, quick, deep, save, of_plan(file), everything)


def _company(given: str | None) -> list[str]:
    who = [name.strip() for name in given.split(",")] if given else []
    if given is not None and not all(who):
        raise click.UsageError(f"--with takes models joined by commas, got {given!r}")
    return who


def _authors(who: list[str]) -> list[str]:
    """Two of one provider get names, which `revise` wants for its files and this verb has no flag for."""
    from rebut.core.types import ModelSpec
    from rebut.setup.seats import told_apart

    out: list[ModelSpec] = []
    for text in who:
        out.append(told_apart(ModelSpec.parse(text), out))
    return [spec.written for spec in out]


def _go(
    protocol: str,
    topic: str,
    named: dict[str, Any],
    roles: dict[str, Any],
    quick: bool,
    deep: bool,
    save: str | None,
    wanted: Any = None,
    everything: bool = False,
    gate: tuple[str | None, str | None, bool] = (None, None, True),
) -> int:
    from rebut.cli.gate_flags import Gating
    from rebut.cli.launch import launch
    from rebut.domain.gate_policy import Wish
    from rebut.engine.protocol import load

    if quick and deep:
        raise click.UsageError("--quick and --deep are two wishes; give one")
    named["verb"] = click.get_current_context().info_name
    how = shown(named)
    chosen = named["limits"]
    of_verb = QUICK if quick else DEEP if deep else FIRST_LOOK
    if wanted is not None and wanted.target == "proposal" and not quick:
        of_verb = {**of_verb, "timeout": max(of_verb["timeout"], A_PLAN)}
    named["usual_limits"] = of_verb
    # Dollars that nobody asked for give way to tokens where a price is not known.
    named["thrifty"] = "usd" not in chosen and "tokens" not in chosen
    named |= {role: who for role, who in roles.items() if who}
    named |= {"effort": "low"} if quick else {}
    if protocol != "panel":
        named["rounds"] = 3 if deep else 1
    made = load(protocol)
    if made.place:
        named[made.place] = str(Path(save).expanduser().absolute()) if save else "-"
    elif save:
        raise click.UsageError(f"{protocol} writes no files; `rebut export` writes the session")
    # A verb hides what was dismissed, and obeys the repository's threshold, as the protocol under it does.
    quiet = how["quiet"] or how["as_json"]
    gating = Gating(Wish(*gate[:2]), again=gate[2], quiet=quiet) if made.reviews else None
    return launch(protocol, topic, named, wanted=wanted, everything=everything, gating=gating, **how)
