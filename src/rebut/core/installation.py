"""How this rebut is installed: the command that adds one of its extras, such as `lint`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit


def with_extra(extra: str) -> str:
    """The command that installs an extra of rebut. It names the place that rebut itself was installed from."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        written = distribution("rebut").read_text("direct_url.json")
    except PackageNotFoundError:
        written = None
    try:
        return command(extra, json.loads(written) if written else {})
    except (ValueError, AttributeError, TypeError):
        return command(extra, {})


def command(extra: str, origin: dict[str, Any]) -> str:
    """The command for an `origin` as pip records it in direct_url.json; it is empty if rebut comes from a registry."""
    url = str(origin.get("url", ""))
    if "dir_info" in origin:
        folder = unquote(urlsplit(url).path)
        if not Path(folder, "pyproject.toml").is_file():
            return f"pip install '.[{extra}]' in a clone of rebut"
        editable = "-e " if origin["dir_info"].get("editable") else ""
        return f"pip install {editable}{_quoted(f'{folder}[{extra}]')}"
    if url:
        version = origin.get("vcs_info", {})
        place = f"{version['vcs']}+{url}@{version['commit_id']}" if version else url
        return f"pip install {_quoted(f'rebut[{extra}] @ {place}')}"
    return f"pip install 'rebut[{extra}]'"


def here(advice: str) -> str:
    """The advice, with its `pip install` command changed to the one for this installation."""
    for extra in ("lint", "mcp", "postgres", "local"):
        if (usual := f"pip install 'rebut[{extra}]'") in advice:
            return advice.replace(usual, with_extra(extra))
    return advice


def _quoted(text: str) -> str:
    return f"'{text}'" if "'" not in text else shlex.quote(text)
