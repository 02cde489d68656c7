"""The config files on disk: reading them, and refusing what a repository's file must not set."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from rebut.core import files
from rebut.core.errors import ConfigError
from rebut.domain.gate_policy import Wish

REPO_FILE = "rebut.toml"
LARGEST_FILE = 1_000_000
WHERE_TO = "Move it to your own config (`rebut config path`)."
Tables = Mapping[str, Any]
"""The keys that a file sets, checked against `config_tables.py`. A key that is not set is not in here."""
Wire = Literal["openai", "responses", "anthropic", "google"]


def user_path(env: Mapping[str, str]) -> Path:
    """The path of the user's own file, whether it exists or not."""
    if named := env.get("REBUT_CONFIG"):
        return Path(named)
    if Path(home := env.get("XDG_CONFIG_HOME", "")).is_absolute():
        return Path(home) / "rebut" / "config.toml"
    if sys.platform == "linux":
        return Path("~/.config/rebut/config.toml").expanduser()
    import platformdirs

    return platformdirs.user_config_path("rebut") / "config.toml"


def never_sent(*, workspace: Path, env: Mapping[str, str]) -> tuple[str, ...]:
    """The globs of files that are never sent. A command without models needs nothing else from the config."""
    return never_in(*both_files(workspace, env)[1:])


def both_files(workspace: Path, env: Mapping[str, str], named: Path | None = None) -> tuple[Path, Tables, Tables]:
    """The path of the user's file, and what both files set."""
    path = named or user_path(env)
    repo_path = workspace / REPO_FILE
    if repo_path.is_symlink() and not files.real(repo_path).is_relative_to(files.real(files.repository(workspace))):
        raise ConfigError(f"{repo_path} is a link that leads out of the repository", "Put the file itself there.")
    repo = repository_file(read_tables(repo_path, needed=False))
    return path, user_file(path, needed=named is not None or bool(env.get("REBUT_CONFIG"))), repo


def gate_wish(tables: Tables) -> Wish:
    """What a file sets for a gate."""
    table = dict(tables.get("gate", {}))
    return Wish(**{**table, "unread_ok": tuple(table.get("unread_ok", ()))})


def never_in(user: Tables, repo: Tables) -> tuple[str, ...]:
    """The globs of files that are never sent, from both config files."""
    return tuple(dict.fromkeys(glob for f in (user, repo) for glob in f.get("egress", {}).get("never", ())))


def user_file(path: Path, *, needed: bool) -> Tables:
    """The keys that the user's own file sets, checked. If it is not `needed`, it may be missing."""
    raw = read_tables(path, needed=needed)
    if not raw:
        return {}
    from rebut.setup.config_tables import UserFile, checked

    return checked(UserFile, raw, path.name)


def repository_file(raw: Mapping[str, object], where: str = REPO_FILE) -> Tables:
    """The keys that a repository's file sets, checked. It may only narrow what the user permits."""
    if not raw:
        return {}
    _refuse_choices(raw)
    from rebut.setup.config_tables import RepoFile, checked

    return checked(RepoFile, raw, where)


def read_tables(path: Path, *, needed: bool) -> dict[str, object]:
    """The tables of a TOML file; none if it is missing and not `needed`."""
    try:
        if not needed and not path.exists() and not path.is_symlink():
            return {}
        raw = files.read(path, LARGEST_FILE + 1)
        if len(raw) > LARGEST_FILE:
            raise ConfigError(f"{path.name} is larger than {LARGEST_FILE} bytes", f"Look at {path}.")
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}", "Check the path and its permissions.") from error
    return parse(raw, str(path))


def parse(raw: bytes, where: str) -> dict[str, object]:
    """The tables of a file. Raises `ConfigError` with the line of the first mistake."""
    import re
    import tomllib

    try:
        return tomllib.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigError(f"{where}, line {line}: not UTF-8", "Save the file as UTF-8.") from error
    except tomllib.TOMLDecodeError as error:
        at = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", str(error))
        line = int(at[1]) if at and at[1] else raw.count(b"\n") + 1
        what = str(error)[: at.start()] if at else str(error)
        raise ConfigError(f"{where}, line {line}: {what}", "The file must be valid TOML.") from error
    except RecursionError as error:
        raise ConfigError(f"{where} is nested too deeply", "Use fewer brackets inside each other.") from error
    except ValueError as error:  # a number with thousands of digits
        raise ConfigError(f"{where}: {error}", "Use smaller numbers.") from error


def _refuse_choices(raw: Mapping[str, object]) -> None:
    """Refuse a repository's file that chooses models, commands or addresses, before anything else is checked."""
    if "seats" in raw:
        raise ConfigError(f"{REPO_FILE} sets seats; a repository may not choose models", WHERE_TO)
    if "checks" in raw:
        raise ConfigError(f"{REPO_FILE} sets checks; a repository may not have code run", WHERE_TO)
    for table in ("tools", "analysers", "runners"):
        if table in raw:
            raise ConfigError(f"{REPO_FILE} sets {table}; a repository may not choose commands", WHERE_TO)
    if "providers" not in raw:
        return
    key, what = "providers", "providers"
    providers = raw["providers"]
    if isinstance(providers, dict) and providers:
        name, values = next(iter(providers.items()))
        key = f"providers.{name}"
        if isinstance(values, dict) and values:
            worst = next((k for k in CHOICES if k in values), next(iter(values)))
            key, what = f"{key}.{worst}", CHOICES.get(worst, "providers")
    raise ConfigError(f"{REPO_FILE} sets {key}; a repository may not choose {what}", WHERE_TO)


CHOICES = {
    **{"command": "commands", "args": "commands", "headers": "headers", "api_key": "keys", "api_key_env": "key names"},
    **dict.fromkeys(("base_url", "base_url_env", "allow_http"), "addresses"),
}
"""Keys of a provider's table, and what they choose; the most harmful first."""
