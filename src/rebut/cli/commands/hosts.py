"""Hosts: the coding agents that read an Agent Skill, and the folders where each looks for one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rebut.cli import installed_files as laying
from rebut.cli.installed_files import Laid
from rebut.core.errors import UsageError

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


def install(host: Host, env: Mapping[str, str], project: Path | None = None) -> list[Laid]:
    """Lay the skill where that host looks. What is not ours stays as it is."""
    return laying.lay(laying.shipped(SKILL), host.folder(env, project))


def _home(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or Path.home())
