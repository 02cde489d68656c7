"""`rebut config`: where the user's settings are."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from rebut.cli.options import json_flag


@click.command("config")
@click.argument("what", type=click.Choice(["path", "show"]), default="show")
@json_flag
def config_command(what: str, as_json: bool) -> int:
    """Tell where your config file is (`path`), or what it and the repository's file come to (`show`)."""
    from rebut import config, session
    from rebut.cli.saying import folded, say, say_json

    path = config.user_path(os.environ)
    if what == "path":
        if as_json:
            say_json({"path": str(path), "exists": path.exists()})
        else:
            say(str(path), verbatim=True)
        return 0
    found = config.load(workspace=session.repository(Path.cwd().resolve()), env=os.environ)
    shown = {
        "path": str(path),
        "providers": {
            p.name: {"wire": p.wire, "base_url": p.base_url, "api_key_env": p.api_key_env} for p in found.providers
        },
        "allow": list(found.user_allow) if found.user_allow is not None else None,
        "never": list(found.never),
        "notices": list(found.notices),
    }
    if as_json:
        say_json(shown)
        return 0
    say(folded(f"{path}{'' if path.exists() else '  (not there yet)'}", sys.stdout))
    for p in found.providers:
        key = (
            f"key from {p.api_key_env}" + ("" if os.environ.get(p.api_key_env) else ", not set")
            if p.api_key_env
            else "no key"
        )
        say(folded(f"  {p.name:<12} {p.wire:<9} {p.base_url}  ({key})", sys.stdout, 15))
    for notice in found.notices:
        say(folded(f"  note: {notice}", sys.stdout, 8))
    return 0
