"""`rebut new protocol NAME`: a protocol and its test, both working, to begin from."""

from __future__ import annotations

from pathlib import Path

import click

from rebut.cli.options import json_flag


@click.command("new")
@click.argument("what", type=click.Choice(["protocol"]))
@click.argument("name")
@click.option(
    "--folder", type=click.Path(file_okay=False, path_type=Path), default=".", metavar="DIR", help="Where. [.]"
)
@json_flag
def new_command(what: str, name: str, folder: Path, as_json: bool) -> int:
    """Write NAME.py, a protocol that runs as it stands, and test_NAME.py, which crashes it at every call.

    NAME is a word of small letters, digits and underscores. Nothing that exists is written over.
    """
    from rebut.cli.commands.scaffold import protocol
    from rebut.cli.output import say, say_json

    written = protocol(name, folder)
    if as_json:
        say_json({"written": [str(path) for path in written]})
        return 0
    for path in written:
        say(f"  written   {path}")
    say(f"  try it    pytest {written[1]}")
    say(f'  run it    rebut run {written[0]} "TOPIC" --seat speaker=SPEC --seat critic=SPEC')
    return 0
