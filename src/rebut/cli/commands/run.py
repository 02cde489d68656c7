"""`rebut run FILE.py|NAME TOPIC`: a protocol of one's own, or of another package."""

from __future__ import annotations

from typing import Any

import click

from rebut.cli.options import Many, common, pairs, shown, topic_of


@click.command("run", cls=Many)
@click.argument("file", metavar="FILE|NAME")
@click.argument("topic")
@click.option("--seat", multiple=True, metavar="ROLE=SPEC", help="Fill a seat; repeat for a role with several.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Change a setting of the protocol.")
@common
def run_command(file: str, topic: str, seat: tuple[str, ...], settings: tuple[str, ...], **named: Any) -> int:
    """Run a protocol from a Python file, or an installed one by its NAME. TOPIC - is read from standard input.

    The file has `seats`, `async def run(debate)` and, if it likes, `Settings`: see docs/writing-a-protocol.md.
    """
    from rebut.cli.launch import launch

    how, seats = shown(named), dict[str, Any]()
    for role, spec in pairs(seat, "--seat", "ROLE=SPEC"):
        _own(role, named)
        seats.setdefault(role, []).append(spec)
    for name, value in pairs(settings, "--set", "NAME=VALUE"):
        _own(name, named)
        seats[name] = value
    named |= seats
    return launch(file, topic_of(topic), named, **how)


def _own(name: str, named: dict[str, Any]) -> None:
    if name in named or name in ("protocol", "topic", "models"):
        raise click.UsageError(f"{name!r} is no seat or setting of a protocol; it has a flag or argument of its own")
