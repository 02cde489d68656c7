"""The tables of a config file, checked one by one: `rebut models check`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from rebut.backends.cli_tools.tables import Tool, find_executable
from rebut.core.frozen import frozen
from rebut.setup.config import Provider, load_config
from rebut.setup.config_files import read_tables


@frozen
class CheckedTable:
    """One valid table."""

    table: str
    does: str
    """What rebut does with it, in one line."""
    lacks: tuple[str, ...] = ()
    """What is missing in it, though it is valid without."""


def checked_tables(path: Path, env: Mapping[str, str]) -> list[CheckedTable]:
    """Check each table of a file as if the file were the user's config. Raises `ConfigError` at the first mistake."""
    config = load_config(workspace=Path(os.devnull), env=env, user_file=path)
    raw = read_tables(path, needed=True)
    named = {kind: list(table) for kind, table in raw.items() if isinstance(table, dict)}
    out = [_tool(config.tools[name], env) for name in named.get("tools", ())]
    return out + [_provider(config.need_provider(name), env) for name in named.get("providers", ())]


def _tool(tool: Tool, env: Mapping[str, str]) -> CheckedTable:
    words = [tool.command, *tool.args, *tool.extra_args]
    lacks = []
    if find_executable(tool, env) is None:
        lacks.append(f"there is no {tool.command} on PATH here")
    if not tool.minimum and not tool.probe:
        lacks.append("no minimum and no probe: rebut accepts any version, also one that this table does not describe")
    if not tool.with_model.args and not tool.with_model.env and not tool.with_model.fill:
        lacks.append(f"no with_model: {tool.name}:MODEL would be called without its model")
    if not tool.output.error:
        lacks.append("no output.error: only its exit code and its markers show a failure")
    return CheckedTable(f"tools.{tool.name}", f"runs: {' '.join(words)}", tuple(lacks))


def _provider(provider: Provider, env: Mapping[str, str]) -> CheckedTable:
    lacks = []
    if provider.api_key_env and not env.get(provider.api_key_env):
        lacks.append(f"{provider.api_key_env} is not set here")
    if not provider.model:
        lacks.append(f"no model: each seat must name one, as {provider.name}:MODEL")
    key = f" with the key from {provider.api_key_env}" if provider.api_key_env else ", without a key"
    return CheckedTable(
        f"providers.{provider.name}", f"uses the {provider.wire} wire at {provider.base_url}{key}", tuple(lacks)
    )
