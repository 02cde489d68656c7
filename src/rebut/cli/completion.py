"""Completion in a shell: click's script for it, which `rebut config completion` prints, and what Tab then offers."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class, shell_complete

from rebut.cli import COMPLETE


def script(shell: str) -> str:
    """The completion script for a shell; pressing Tab then calls `complete`."""
    made = get_completion_class(shell)
    assert made is not None
    return made(click.Command("rebut"), {}, "rebut", COMPLETE).source()


def complete(instruction: str) -> int:
    """Print what may follow the words that a completion script passes in environment variables."""
    from rebut.cli.app import app

    return shell_complete(app, {}, "rebut", COMPLETE, instruction)
