"""`rebut config`: the config file, the settings in effect, and the completion script of a shell."""

from __future__ import annotations

import os
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rebut.cli.options import json_flag
from rebut.core.files import repository

if TYPE_CHECKING:
    from rebut.setup.config import Config


@click.command("config")
@click.argument("what", type=click.Choice(["path", "show", "completion"]), default="show")
@click.argument("shell", required=False, type=click.Choice(["bash", "zsh", "fish"]))
@json_flag
def config_command(what: str, shell: str | None, as_json: bool) -> int:
    """Show the path of your config file (`path`), or the settings from it and the repository's rebut.toml (`show`).

    `completion SHELL` prints a completion script for bash, zsh or fish, to be saved where that shell looks for it: Tab
    then completes commands, options, model specs, sessions and files.
    """
    if what == "completion":
        return _completion(shell, as_json)
    if shell is not None:
        raise click.UsageError("only `rebut config completion` takes a shell")
    from rebut.cli.output import folded, say, say_json
    from rebut.setup import config
    from rebut.setup.config_files import user_path

    path = user_path(os.environ)
    if what == "path":
        if as_json:
            say_json({"path": str(path), "exists": path.exists()})
        else:
            say(str(path), verbatim=True)
        return 0
    found = config.load_config(workspace=repository(Path.cwd().resolve()), env=os.environ)
    shown: dict[str, Any] = {
        "path": str(path),
        "providers": {
            p.name: {"wire": p.wire, "base_url": p.base_url, "api_key_env": p.api_key_env} for p in found.providers
        },
        "seats": {role: ", ".join(map(str, specs)) for role, specs in found.seats.items()},
        "limits": dict(found.limits),
        "allow": _allowed(found),
        "never": list(found.never),
        "gate": _set_values(found.gate),
        "protocols": {name: dict(table) for name, table in found.protocols.items()},
        "notices": list(found.notices),
    }
    if as_json:
        say_json(shown)
        return 0
    say(folded(f"{path}{'' if path.exists() else '  (does not exist yet)'}", sys.stdout))
    for p in found.providers:
        key = (
            f"key from {p.api_key_env}" + ("" if os.environ.get(p.api_key_env) else ", not set")
            if p.api_key_env
            else "no key"
        )
        say(folded(f"  {p.name:<12} {p.wire:<9} {p.base_url}  ({key})", sys.stdout, 15))
    tables = {name: shown[name] for name in ("seats", "limits", "gate")} | shown["protocols"]
    for name, values in tables.items():
        if values:
            said = ", ".join(f"{key} {value}" for key, value in values.items())
            say(folded(f"  {name:<12} {said}", sys.stdout, 15))
    for name in ("allow", "never"):
        if shown[name] is not None and (shown[name] or name == "allow"):
            say(folded(f"  {name:<12} {', '.join(shown[name]) or 'none'}", sys.stdout, 15))
    for notice in found.notices:
        say(folded(f"  note: {notice}", sys.stdout, 8))
    return 0


def _completion(shell: str | None, as_json: bool) -> int:
    from rebut.cli.completion import script
    from rebut.cli.output import say_json

    if shell is None:
        raise click.UsageError("`rebut config completion` needs bash, zsh or fish")
    say_json({"shell": shell, "script": script(shell)}) if as_json else click.echo(script(shell), nl=False)
    return 0


def _set_values(table: Any) -> dict[str, Any]:
    """The values that are set in a table of the config."""
    return {f.name: value for f in fields(table) if (value := getattr(table, f.name)) not in (None, ())}


def _allowed(found: Config) -> list[str] | None:
    """The providers that your list and the repository's allow; None if there is no list."""
    lists = [names for names in (found.user_allow, found.repo_allow) if names is not None]
    return [name for name in lists[0] if all(name in names for names in lists)] if lists else None
