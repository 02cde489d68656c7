"""`rebut skill`: installs the rebut skill for coding agents, in the folder where each looks for skills."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from rebut.cli import installed_files
from rebut.cli.installed_files import InstalledFile
from rebut.cli.options import json_flag
from rebut.core.errors import UsageError
from rebut.core.files import refuse_link, repository
from rebut.core.frozen import frozen

HOST_NAMES = ("claude", "codex", "gemini", "qwen", "opencode", "copilot", "agents")


@click.command("skill")
@click.argument("what", type=click.Choice(["install", "advice", "path"]))
@click.option(
    "--host", "hosts", multiple=True, type=click.Choice(HOST_NAMES), help="The coding agent. [those found here]"
)
@click.option(
    "--project", is_flag=True, help="Install it in this repository, for everyone who works on it. [your home]"
)
@json_flag
def skill_command(what: str, hosts: tuple[str, ...], project: bool, as_json: bool) -> int:
    """Let a coding agent use rebut: `install` copies the rebut skill to the agent's skill folder.

    A file that is not rebut's, or that you edited, is not replaced; the exit code is then 3. `advice` prints lines for
    your repository's AGENTS.md. `path` prints the folder of the Claude Code plugin, which has /rebut:… commands.
    """
    import os

    from rebut.cli.output import say, say_json

    if what != "install" and (hosts or project):
        raise click.UsageError("--host and --project are only for `rebut skill install`")
    plugin = str(installed_files.place("plugin"))
    if what != "install":
        text = plugin if what == "path" else installed_files.place("advice.md").read_text("utf-8").rstrip("\n")
        if as_json:
            say_json({what: text})
        else:
            say(text, verbatim=True)
        return 0
    here = repository(Path.cwd().resolve()) if project else None
    installed = {host: install(host, os.environ, here) for host in agents_in_use(hosts, os.environ)}
    code = 3 if any(one.how == "left alone" for rows in installed.values() for one in rows) else 0
    if as_json:
        rows = [
            {"host": h.name, "path": str(one.path), "how": one.how} for h, found in installed.items() for one in found
        ]
        say_json({"laid": rows, "plugin": plugin, "exit": code})
        return code
    for host, found in installed.items():
        for one in found:
            theirs = "  (not written by rebut, or edited)" if one.how == "left alone" else ""
            say(f"  {host.name:<9} {one.how:<11} {one.path}{theirs}")
        if host.also:
            say(f"  {'':<9} {host.also.format(plugin)}")
    if code == 3:
        say("  → Move the files that were left alone, and run this again.")
    say("  lines for your repository's AGENTS.md   rebut skill advice")
    return code


SKILL = "plugin/skills/rebut"


@frozen
class Host:
    """A coding agent. `user` is a folder below the home folder, `project` one below a repository."""

    name: str
    user: str
    project: str
    sign: str
    """A folder below the home folder that exists if the agent is used here."""
    moved_by: str = ""
    """The environment variable that replaces `sign`, also in `user`."""
    also: str = ""
    """A line about what else the agent can use."""

    def folder(self, env: Mapping[str, str], project: Path | None) -> Path:
        """The folder for the skill."""
        if project:
            return project / self.project / "rebut"
        moved = env.get(self.moved_by, "") if self.moved_by else ""
        if moved:
            return Path(moved).expanduser() / Path(self.user).relative_to(self.sign) / "rebut"
        return _home(env) / self.user / "rebut"

    def is_here(self, env: Mapping[str, str]) -> bool:
        moved = env.get(self.moved_by, "") if self.moved_by else ""
        return Path(moved).expanduser().is_dir() if moved else (_home(env) / self.sign).is_dir()


PLUGIN = "for /rebut:duel and other commands: claude --plugin-dir {}"
HOSTS = (
    Host("claude", ".claude/skills", ".claude/skills", ".claude", "CLAUDE_CONFIG_DIR", PLUGIN),
    Host("codex", ".agents/skills", ".agents/skills", ".codex"),
    Host("gemini", ".gemini/skills", ".gemini/skills", ".gemini"),
    Host("qwen", ".qwen/skills", ".qwen/skills", ".qwen"),
    Host("opencode", ".config/opencode/skills", ".opencode/skills", ".config/opencode"),
    Host("copilot", ".copilot/skills", ".github/skills", ".copilot"),
    Host("agents", ".agents/skills", ".agents/skills", ".agents"),
)
"""The last entry is for all other agents: `.agents/skills` is the folder of the open format."""


def agents_in_use(names: tuple[str, ...], env: Mapping[str, str]) -> list[Host]:
    """The agents that were named, else those in use here."""
    known = {host.name: host for host in HOSTS}
    if names:
        return [known[name] for name in names]
    if here := [host for host in HOSTS if host.is_here(env)]:
        return here
    raise UsageError("no coding agent was found", f"Name one with --host: {', '.join(known)}.")


def install(host: Host, env: Mapping[str, str], project: Path | None = None) -> list[InstalledFile]:
    """Copy the skill to the folder of that agent."""
    folder = host.folder(env, project)
    if project:
        refuse_link(folder)
    return installed_files.install(installed_files.shipped(SKILL), folder)


def _home(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or Path.home())
