"""`rebut skill`: what coding agents need to use rebut, laid where each looks for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from rebut.cli import installed_files
from rebut.cli.installed_files import InstalledFile
from rebut.cli.options import json_flag
from rebut.core.errors import UsageError

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

    from rebut.cli import installed_files
    from rebut.cli.output import say, say_json
    from rebut.record import sessions

    if what != "install" and (hosts or project):
        raise click.UsageError("--host and --project go with `rebut skill install`")
    plugin = str(installed_files.place("plugin"))
    if what != "install":
        text = plugin if what == "path" else installed_files.place("advice.md").read_text("utf-8").rstrip("\n")
        if as_json:
            say_json({what: text})
        else:
            say(text, verbatim=True)
        return 0
    here = sessions.repository(Path.cwd().resolve()) if project else None
    laid = {host: install(host, os.environ, here) for host in find(hosts, os.environ)}
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


SKILL = "plugin/skills/rebut"


@dataclass(frozen=True, slots=True)
class Host:
    """One coding agent. Folders are below the user's home, and below a repository."""

    name: str
    user: str
    project: str
    sign: str
    """A folder in the home that says that it is in use here."""
    moved_by: str = ""
    """The variable that moves `sign`, and the user's folder with it."""
    also: str = ""
    """What else there is for it."""

    def folder(self, env: Mapping[str, str], project: Path | None) -> Path:
        """Where the skill goes."""
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
"""The last is for all others: `.agents/skills` is where the open format has them, and many look there."""


def find(names: tuple[str, ...], env: Mapping[str, str]) -> list[Host]:
    """The hosts that were named, else those that are in use here."""
    known = {host.name: host for host in HOSTS}
    if names:
        return [known[name] for name in names]
    if here := [host for host in HOSTS if host.is_here(env)]:
        return here
    raise UsageError("no host was found here", f"Name one with --host: {', '.join(known)}.")


def install(host: Host, env: Mapping[str, str], project: Path | None = None) -> list[InstalledFile]:
    """Lay the skill where that host looks. What is not ours stays as it is."""
    return installed_files.lay(installed_files.shipped(SKILL), host.folder(env, project))


def _home(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or Path.home())
