"""`rebut init`: finds the models that are here, or sets up a key, and ends with a first debate."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rebut.api import Setup
    from rebut.setup.discover import FoundModel

QUESTION = "Should a team of five keep its services in one repository, or each in its own?"


@click.command("init")
def init_command() -> int:
    """Find the models that you can use, or set up a key; then have a first debate.

    It asks nothing that it can find out. A key is saved in your own config folder, never in a repository.
    """
    from rebut.api import Setup
    from rebut.cli.output import can_ask, say

    attended = can_ask()
    say("  looking for tools, keys and servers …", sys.stderr)
    setup = Setup()
    found = _show(setup)
    if not found and attended and (name := _ask_for_key(setup)):
        setup = Setup()
        found = [one for one in _show(setup) if one.about == name]
    if not found:
        return _without_models(attended)
    return _first_debate(attended, setup, found)


def _show(setup: Setup) -> list[FoundModel]:
    """Print what is here; returns the models that can debate."""
    from rebut.cli.output import folded, say
    from rebut.setup.discover import look_now

    every = look_now(setup.config, setup.env, setup.config.allowed) or []
    usable = [one for one in every if one.usable and not one.only_named]
    for one in usable:
        say(folded(f"  found         {one.name:<12} {one.why}", sys.stdout, 29))
    for one in every:
        if one.fails:
            say(folded(f"  not usable    {one.name:<12} {one.problem}. {one.advice}".rstrip(), sys.stdout, 29))
    return usable


def _ask_for_key(setup: Setup) -> str:
    """Ask for a key, once, and save it. Returns its variable; empty if the user gives none."""
    from rebut.cli.output import folded, say
    from rebut.setup import saved_keys

    said = "\n  No model was found. With an API key of OpenAI, Anthropic, Google or OpenRouter, rebut can use theirs."
    said += f"\n  It is saved in {saved_keys.path(setup.env)}, readable for you only."
    say(folded(said, sys.stdout, 2))
    key = click.prompt("  Paste a key, or press Enter to go without", default="", hide_input=True, show_default=False)
    key = key.strip()
    if not key:
        return ""
    name = saved_keys.variable_of(key)
    if not name:
        known = [one.api_key_env for one in setup.config.providers if one.api_key_env]
        name = click.prompt("  Whose key is it?", type=click.Choice(known))
    file = saved_keys.save(setup.env, name, key)
    os.environ[name] = key
    say(f"  saved as {name} in {file}")
    return name


def _without_models(attended: bool) -> int:
    from rebut.cli.app import enter
    from rebut.cli.output import folded, say
    from rebut.setup.discover import GET_ONE

    say(folded(f"\n  No model can debate yet. {GET_ONE.replace('`rebut init` helps, ', '')}", sys.stdout, 2))
    if not attended:
        return 3
    say("\n  A debate that is scripted, to see how it goes:")
    enter(["demo", "--fast"])
    return 3


def _first_debate(attended: bool, setup: Setup, found: Sequence[FoundModel]) -> int:
    from rebut.cli.app import enter
    from rebut.cli.output import folded, say
    from rebut.cli.screen.hotkeys import one_key
    from rebut.setup.discover import two_of

    command = f'rebut ask "{QUESTION}" --quick'
    if not attended:
        if not any(setup.config.listed(one.name) for one in found):  # only what the user names or lists is used then
            named = two_of(found) or [found[0].specs[0].written] * 2
            command += f" --with {','.join(named)}" + (" --allow-same-model" if named[0] == named[1] else "")
        say(f"  a first debate: {command}")
        return 0
    say(folded(f"\n  A first debate, with 10 calls and one dollar at most: “{QUESTION}”", sys.stdout, 2))
    say("  Enter starts it; any other key leaves.")
    if one_key() not in ("\r", "\n"):
        say(f"  later: {command}")
        return 0
    return enter(["ask", QUESTION, "--quick"])
