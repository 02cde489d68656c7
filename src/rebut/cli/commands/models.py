"""`rebut providers`: who could fill a seat, and what of it is here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rebut.cli.options import json_flag

if TYPE_CHECKING:
    from rebut.setup.discover import Found

ALWAYS = {
    "human": "a person at this terminal",
    "caller": "the program that runs rebut, which answers with `rebut answer`",
    "scripted": "answers from a file, as scripted:FILE",
}


@click.command("providers")
@click.argument("what", type=click.Choice(["list", "check"]), default="list")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@json_flag
def providers_command(what: str, file: Path | None, as_json: bool) -> int:
    """List every provider that rebut knows, shipped or from your config, and what of it is here. Calls no model.

    `check FILE` says instead whether a TOML file with [tools.NAME] or [providers.NAME] tables is right, and what rebut
    would do with it; without FILE it looks at your own config.
    """
    if what == "check":
        return _check(file, as_json)
    if file is not None:
        raise click.UsageError("FILE goes with `rebut providers check`")
    return _list(as_json)


def _list(as_json: bool) -> int:
    import asyncio
    import sys

    from rebut.api import Desk
    from rebut.cli.output import folded, say, say_json
    from rebut.setup.discover import look, look_at_analysers, programs

    desk = Desk()
    if sys.stderr.isatty() and not as_json:  # some tools take ten seconds to tell their version
        say("  looking what is here; nobody is called …", sys.stderr)

    async def see() -> tuple[list[Found], list[Found]]:
        return await look(desk.config, desk.env), await look_at_analysers(desk.config, desk.env)

    models, installed = asyncio.run(see())
    found = [*models, *programs(installed)]
    if as_json:
        rows = [
            {
                "provider": one.name,
                "kind": one.kind,
                "here": one.here,
                "usable": one.usable,
                "about": one.about or None,
                "specs": [str(spec) for spec in one.specs],
                "problem": one.problem or None,
                "login_is_a_guess": one.unsure,
                "advice": one.advice or None,
                "allowed": desk.config.allowed(one.name),
            }
            for one in found
        ]
        tools = [
            {"analyser": one.name, "here": one.here, "version": one.about or None, "advice": one.advice or None}
            for one in installed
        ]
        say_json({"providers": rows, "analysers": tools, "always": list(ALWAYS)})
        return 0
    kinds = {"tool": "command-line tools", "key": "by API key", "server": "servers here", "embedded": "embedded"}
    kinds |= {"program": "by name only"}
    heading = ""
    for one in found:
        if kinds[one.kind] != heading:
            heading = kinds[one.kind]
            say(f"  {heading}")
        about = f"{one.about} set" if one.kind == "key" and one.here else one.about
        guess = "probably logged in" if one.unsure and not one.out else ""
        state = ", ".join(word for word in (about, guess, one.problem) if word)
        barred = "" if desk.config.allowed(one.name) else "  (not in [egress] allow)"
        advice = f"  → {one.advice}" if one.problem and one.advice else ""
        say(folded(f"    {one.name:<13} {state}{barred}{advice}", sys.stdout, 18))
    say("  always")
    for name, about in ALWAYS.items():
        say(folded(f"    {name:<13} {about}", sys.stdout, 18))
    return 0


def _check(file: Path | None, as_json: bool) -> int:
    import os

    from rebut.cli.output import say, say_json
    from rebut.setup import checking, config

    path = file or config.user_path(os.environ)
    found = checking.check(path, os.environ)
    if as_json:
        rows = [{"table": one.table, "does": one.does, "lacks": list(one.lacks)} for one in found]
        say_json({"file": str(path), "tables": rows})
        return 0
    for one in found:
        say(f"  {one.table}   right")
        say(f"    {one.does}")
        for lack in one.lacks:
            say(f"    note: {lack}")
    if not found:
        say(f"  {path} is right, and has no table of a tool or a provider")
    return 0
