"""`rebut completion SHELL`: prints a generated script. Loads nothing, since shells ask for it when they start."""

from __future__ import annotations

import click

from rebut.cli.options import json_flag

SHELLS = ("bash", "zsh", "fish")


def script(shell: str) -> str:
    """The script as `make docs` wrote it."""
    with open(__file__.replace("commands/completion.py", f"completion.{shell}"), encoding="utf-8") as file:  # noqa: PTH123
        return file.read()


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@json_flag
def completion_command(shell: str, as_json: bool) -> int:
    """Print the completion script of SHELL, to be put where that shell looks for it.

    It knows the commands, their options, the shipped providers and your sessions, and starts no Python to complete.
    """
    from rebut.cli.output import say_json

    if as_json:
        say_json({"shell": shell, "script": script(shell)})
    else:
        click.echo(script(shell), nl=False)
    return 0
