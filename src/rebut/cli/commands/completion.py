"""`rebut completion SHELL`: prints click's completion script; pressing Tab then calls `complete`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class, shell_complete

from rebut.cli import COMPLETE
from rebut.cli.options import json_flag


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@json_flag
def completion_command(shell: str, as_json: bool) -> int:
    """Print a completion script for SHELL, to be saved where that shell looks for it.

    Tab then completes commands, options, model specs, sessions and files.
    """
    from rebut.cli.output import say_json

    made = get_completion_class(shell)
    assert made is not None
    script = made(click.Command("rebut"), {}, "rebut", COMPLETE).source()
    if as_json:
        say_json({"shell": shell, "script": script})
    else:
        click.echo(script, nl=False)
    return 0


def complete(instruction: str) -> int:
    """Print what may follow the words that a completion script passes in environment variables."""
    from rebut.cli.app import app

    return shell_complete(app, {}, "rebut", COMPLETE, instruction)
