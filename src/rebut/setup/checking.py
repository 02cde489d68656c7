"""Checking the table of a tool or a provider: is it right, and what would be done with it?"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rebut.backends.cli_tools.tables import Tool, find_executable
from rebut.setup.config import Provider, load
from rebut.setup.config_files import read


@dataclass(frozen=True, slots=True)
class Checked:
    """One table that is right."""

    table: str
    does: str
    """What rebut does with it, in a line."""
    lacks: tuple[str, ...] = ()
    """What is not wrong and yet worth knowing."""


def check(path: Path, env: Mapping[str, str]) -> list[Checked]:
    """Look at each table of a file as if it were the user's config. Raises `ConfigError` at the first that is wrong."""
    config = load(workspace=Path(os.devnull), env=env, user_file=path)
    raw = read(path, needed=True)
    named = {kind: list(table) for kind, table in raw.items() if isinstance(table, dict)}
    out = [_tool(config.tools[name], env) for name in named.get("tools", ())]
    return out + [_provider(config.need_provider(name), env) for name in named.get("providers", ())]


def _tool(tool: Tool, env: Mapping[str, str]) -> Checked:
    words = [tool.command, *tool.args, *tool.extra_args]
    lacks = []
    if find_executable(tool, env) is None:
        lacks.append(f"there is no {tool.command} on PATH here")
    if not tool.minimum and not tool.probe:
        lacks.append("no minimum and no probe: any version of it is taken, whether the table fits it or not")
    if not tool.with_model.args and not tool.with_model.env and not tool.with_model.fill:
        lacks.append(f"no with_model: {tool.name}:MODEL would be called without its model")
    if not tool.output.error:
        lacks.append("no output.error: only its exit code and its markers tell a failure")
    return Checked(f"tools.{tool.name}", f"runs: {' '.join(words)}", tuple(lacks))


def _provider(provider: Provider, env: Mapping[str, str]) -> Checked:
    lacks = []
    if provider.api_key_env and not env.get(provider.api_key_env):
        lacks.append(f"{provider.api_key_env} is not set here")
    if not provider.model:
        lacks.append(f"no model: each seat has to name one, as {provider.name}:MODEL")
    key = f" with the key from {provider.api_key_env}" if provider.api_key_env else ", without a key"
    return Checked(f"providers.{provider.name}", f"speaks {provider.wire} to {provider.base_url}{key}", tuple(lacks))
