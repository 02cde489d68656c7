"""API keys that `rebut init` saved: a private file beside the user's config, read like the environment.

A variable of the environment comes first. The file is never within a repository, so that no commit can contain it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from rebut.core import files
from rebut.core.errors import ConfigError, UsageError
from rebut.setup.config_files import user_path

NAME = "keys.env"
LARGEST = 100_000
LINE = re.compile(r"([A-Z][A-Z0-9_]{2,60})=([\x21-\x7e]{8,500})")
KINDS = (
    ("sk-ant-", "ANTHROPIC_API_KEY"),
    ("sk-or-", "OPENROUTER_API_KEY"),
    ("AIza", "GEMINI_API_KEY"),
    ("sk-", "OPENAI_API_KEY"),
)
"""The beginning of a key, and the variable for such keys; the longest beginnings first."""


def path(env: Mapping[str, str]) -> Path:
    return user_path(env).parent / NAME


def variable_of(key: str) -> str:
    """The variable for a key, by the key's beginning; empty for an unknown beginning."""
    return next((name for start, name in KINDS if key.startswith(start)), "")


def saved_keys(env: Mapping[str, str]) -> dict[str, str]:
    """The saved keys whose variables are not set. An empty variable counts as set: the user wants no key there."""
    return {name: key for name, key in _all(env).items() if name not in env}


def with_saved(env: Mapping[str, str]) -> dict[str, str]:
    """The environment, with the saved keys that it does not set."""
    return {**env, **saved_keys(env)}


def known_values(env: Mapping[str, str]) -> tuple[str, ...]:
    """Every saved key, for the redactor, also one that the environment overrides. None if the file cannot be read."""
    try:
        return tuple(_all(env).values())
    except ConfigError:
        return ()


def _all(env: Mapping[str, str]) -> dict[str, str]:
    file = path(env)
    try:
        if file.stat().st_mode & 0o077:
            raise ConfigError(f"{file} can be read by other users", f"Run `chmod 600 {file}`.")
        text = files.read(file, LARGEST).decode("utf-8", "replace")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}", "Check its permissions.") from error
    found = (LINE.fullmatch(line.strip()) for line in text.splitlines())
    return {one[1]: one[2] for one in found if one}


def save(env: Mapping[str, str], name: str, key: str) -> Path:
    """Save a key. Refused within a repository: a key must never be committed."""
    file = path(env)
    line = f"{name}={key}"
    if not LINE.fullmatch(line):
        raise UsageError("that is not a key: it is too short, or has characters that no key has")
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if top := files.find_repository(file.parent.resolve()):
        raise UsageError(
            f"the key was not saved: {file.parent} is within the repository {top}",
            f"Set the variable instead: export {name}=KEY",
        )
    old = file.read_text("utf-8").splitlines() if file.exists() else []
    rows = [*(row for row in old if not row.startswith(f"{name}=")), line]
    files.write(file, "".join(f"{row}\n" for row in rows).encode(), 0o600)
    os.chmod(file, 0o600)  # noqa: PTH101
    return file
