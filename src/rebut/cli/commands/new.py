"""`rebut new protocol NAME`: creates a working protocol and its test."""

from __future__ import annotations

import keyword
import re
from pathlib import Path

import click

from rebut.cli.installed_files import shipped
from rebut.cli.options import json_flag
from rebut.core.errors import UsageError
from rebut.core.files import refuse_link


@click.command("new")
@click.argument("what", type=click.Choice(["protocol"]))
@click.argument("name")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=".",
    metavar="DIR",
    help="The folder to write to. [.]",
)
@json_flag
def new_command(what: str, name: str, folder: Path, as_json: bool) -> int:
    """Create NAME.py, a working protocol, and test_NAME.py, which crashes it at every call and resumes it.

    NAME consists of lower-case letters, digits and underscores. Existing files are not replaced.
    """
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


def protocol(name: str, folder: Path) -> tuple[Path, Path]:
    """Write NAME.py and test_NAME.py into a folder."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise UsageError(
            f"{name!r} cannot be the name of a protocol", "Use lower-case letters, digits and underscores."
        )
    wanted = folder / f"{name}.py", folder / f"test_{name}.py"
    for path in wanted:
        if path.exists() or path.is_symlink():
            raise UsageError(f"{path} already exists", "Choose another name or another --folder.")
    refuse_link(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, template in zip(wanted, ("protocol.txt", "test.txt"), strict=True):
            text = shipped("new")[template]
            path.write_text(text.replace("NAME", name), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{error.filename} cannot be written: {error.strerror}", "Choose another --folder.") from error
    return wanted
