"""`rebut skill`: what coding agents need to use rebut, laid where each looks for it."""

from __future__ import annotations

import click

from rebut.cli.options import json_flag

HOST_NAMES = ("claude", "codex", "gemini", "qwen", "opencode", "copilot", "agents")


@click.command("skill")
@click.argument("what", type=click.Choice(["install", "advice", "path"]))
@click.option("--host", "hosts", multiple=True, type=click.Choice(HOST_NAMES), help="For this host. [those found here]")
@click.option(
    "--project", is_flag=True, help="Into this repository, for everybody who works on it, not into your home."
)
@json_flag
def skill_command(what: str, hosts: tuple[str, ...], project: bool, as_json: bool) -> int:
    """Let a coding agent use rebut: `install` lays the Agent Skill where it looks, and says where.

    A file that is not rebut's own, or that you have edited, is left alone; the code is then 3. `advice` prints lines
    for the AGENTS.md of your repository. `path` prints where the Claude Code plugin is, with its /rebut:… commands.
    """
    import os
    from pathlib import Path

    from rebut.cli import installed_files as laying
    from rebut.cli.commands import hosts as known
    from rebut.cli.output import say, say_json
    from rebut.record import sessions as session

    if what != "install" and (hosts or project):
        raise click.UsageError("--host and --project go with `rebut skill install`")
    plugin = str(laying.place("plugin"))
    if what != "install":
        text = plugin if what == "path" else laying.place("advice.md").read_text("utf-8").rstrip("\n")
        if as_json:
            say_json({what: text})
        else:
            say(text, verbatim=True)
        return 0
    here = session.repository(Path.cwd().resolve()) if project else None
    laid = {host: known.install(host, os.environ, here) for host in known.find(hosts, os.environ)}
    code = 3 if any(one.how == "left alone" for rows in laid.values() for one in rows) else 0
    if as_json:
        rows = [{"host": h.name, "path": str(one.path), "how": one.how} for h, found in laid.items() for one in found]
        say_json({"laid": rows, "plugin": plugin, "exit": code})
        return code
    for host, found in laid.items():
        for one in found:
            theirs = "  (not rebut's own, or edited)" if one.how == "left alone" else ""
            say(f"  {host.name:<9} {one.how:<11} {one.path}{theirs}")
        if host.also:
            say(f"  {'':<9} {host.also.format(plugin)}")
    if code == 3:
        say("  → Move what was left alone out of the way, and run this again.")
    say("  for the AGENTS.md of a repository   rebut skill advice")
    return code
