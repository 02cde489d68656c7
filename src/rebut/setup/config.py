"""The config: providers, limits, egress and default seats, from two TOML files.

The user's own file may set anything. A repository's `rebut.toml` may only narrow: fewer providers, lower limits, more
globs of files that are never sent. It comes with code of strangers, so it never chooses a model, a command, an
address, a header or a key.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlsplit

from rebut.core.errors import ConfigError, UsageError
from rebut.core.files import shipped as shipped_tables
from rebut.core.frozen import frozen
from rebut.core.network import is_local, is_loopback
from rebut.core.types import ModelSpec
from rebut.domain.gate_policy import Wish
from rebut.domain.limits import RANGES, clamped, plain_number
from rebut.setup.config_files import REPO_FILE, Tables, Wire, both_files, gate_wish, never_in

if TYPE_CHECKING:
    from rebut.backends.cli_tools.tables import Tool
    from rebut.backends.linters.tables import Analyser
    from rebut.proof.runners import Runner

T = TypeVar("T")
BUILT_IN = ("human", "scripted", "caller", "local", "gguf", "lint", "rules")
"""Kinds of participants that need no table and send nothing anywhere."""
ROLES = ("proposer", "challenger", "judge", "author", "critic", "decider", "synthesizer", "lead")
"""The roles of the shipped protocols, to tell a misspelt role from one of the user's own protocol."""


@frozen
class Provider:
    """An HTTP provider with its address."""

    name: str
    wire: Wire
    base_url: str
    api_key_env: str = ""
    key_optional: bool = False
    """Whether it may be called without its key on this machine: a shipped server, which can be started without one."""
    model: str = ""
    family: str = ""
    at_once: int | None = None
    rpm: int | None = None
    tpm: int | None = None
    free: bool = False
    """Whether its calls are known to cost nothing, as with a server of the user's own."""

    def lacks_key(self, env: Mapping[str, str]) -> bool:
        """Whether it cannot be called because its key is not set."""
        if not self.api_key_env or env.get(self.api_key_env, "").strip():
            return False
        return not (self.key_optional and is_local(self.base_url))


class LazyTables(Mapping[str, T]):
    """Tables by name that are loaded at their first use: most commands need none of them."""

    def __init__(self, load: Callable[[], Mapping[str, T]]) -> None:
        self._load = load

    @cached_property
    def _tables(self) -> Mapping[str, T]:
        return self._load()

    def __getitem__(self, name: str) -> T:
        return self._tables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


@frozen
class Config:
    """Both files, merged and checked. `notices` is for the caller to show."""

    providers: tuple[Provider, ...] = ()
    tools: Mapping[str, Tool] = field(default_factory=dict)
    """Command-line tools by name."""
    analysers: Mapping[str, Analyser] = field(default_factory=dict)
    """What `lint` runs, by name."""
    runners: Mapping[str, Runner] = field(default_factory=dict)
    """How checks are run, by name."""
    run_checks: bool = False
    """Whether checks are run in debates that a person starts in a terminal. Never a repository's choice."""
    limits: Mapping[str, float] = field(default_factory=dict)
    """The user's limits by name, lowered by the repository's. A limit that is not set is not in here."""
    user_limits: tuple[str, ...] = ()
    """The names of the limits that the user's own file sets."""
    ceilings: Mapping[str, float] = field(default_factory=dict)
    """The repository's limits alone: a default or a flag above them is lowered too; see `capped`."""
    user_allow: tuple[str, ...] | None = None
    """`[egress] allow`; None if there is no list, which is not the same as an empty list."""
    repo_allow: tuple[str, ...] | None = None
    never: tuple[str, ...] = ()
    """Globs of files that are never sent."""
    seats: Mapping[str, tuple[ModelSpec, ...]] = field(default_factory=dict)
    """Role → the models that have its seats unless the command line names others."""
    protocols: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Protocol → seats, settings and limits that it has unless the command line names others."""
    gate: Wish = Wish()
    """The user's settings alone: the repository's are read from the base of the change under review."""
    notices: tuple[str, ...] = ()
    faults: Mapping[str, ConfigError] = field(default_factory=dict)
    """Providers with an unusable address in the environment. The error is raised when such a provider is used, so that
    a variable that is set for another program does not stop a debate that does not need it."""

    def tool(self, name: str) -> Tool | None:
        """The command-line tool of that name. To save time, a provider's name does not load the shipped tables."""
        if isinstance(self.tools, LazyTables) and any(p.name == name for p in self.providers):
            return None
        return self.tools.get(name)

    def provider(self, name: str) -> Provider | None:
        if name in self.faults:
            raise self.faults[name]
        return next((p for p in self.providers if p.name == name), None)

    def need_provider(self, name: str) -> Provider:
        """The provider of that name. Raises `UsageError` with the nearest known name."""
        if found := self.provider(name):
            return found
        known = sorted({p.name for p in self.providers} | set(BUILT_IN) | set(self.tools))
        near = nearest(name, known)
        guess = f"did you mean {near}? " if near else ""
        raise UsageError(f"unknown provider {name!r}", f"{guess}Known: {', '.join(known)}.")

    def allowed(self, provider: str) -> bool:
        """Whether a seat that the user named may use this provider. Without a list, every provider is allowed."""
        lists = (self.user_allow, self.repo_allow)
        return provider in BUILT_IN or all(allow is None or provider in allow for allow in lists)

    def listed(self, provider: str) -> bool:
        """Whether rebut may choose this provider without the user present: only if the user has listed it."""
        return provider in BUILT_IN or (self.allowed(provider) and provider in (self.user_allow or ()))

    def capped(self, limit: str, value: float) -> float:
        """A value from a flag or a default, lowered to what the repository permits."""
        return min(value, self.ceilings.get(limit, value))

    def known_secrets(self, env: Mapping[str, str]) -> list[str]:
        """The keys that rebut itself can read, for the redactor: of the environment and of `rebut init`."""
        from rebut.setup import saved_keys

        values = [env.get(p.api_key_env, "") for p in self.providers if p.api_key_env]
        values += [*saved_keys.known_values(env), _password(env.get("REBUT_HOME", ""))]
        return list(dict.fromkeys(value for value in values if value))


def _password(home: str) -> str:
    """The password in the address of a database; empty if there is none."""
    return unquote(urlsplit(home).password or "") if "://" in home else ""


def nearest(name: str, known: Sequence[str], cutoff: float = 0.6) -> str:
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, known, n=1, cutoff=cutoff)), "")


def load_config(*, workspace: Path, env: Mapping[str, str], user_file: Path | None = None) -> Config:
    """Read both files. A file that was named must exist; a file in its usual place may be missing."""
    path, user, repo = both_files(workspace, env, user_file)
    notices: list[str] = []
    limits = _clamped(user.get("limits", {}), path.name, notices)
    ceilings = _clamped(repo.get("limits", {}), REPO_FILE, notices)
    user_allow, repo_allow = (f.get("egress", {}).get("allow") for f in (user, repo))
    if user_allow is not None and (extra := [name for name in repo_allow or () if name not in user_allow]):
        notices.append(f"{REPO_FILE} allows {', '.join(extra)}, which your own list does not; your list counts.")
    providers, faults = _providers(user.get("providers", {}), path.name, env)
    return Config(
        providers=providers,
        tools=_tools(user, path.name),
        analysers=_analysers(user.get("analysers", {}), path.name),
        runners=_runners(user.get("runners", {}), path.name),
        run_checks=user.get("checks", {}).get("run", False),
        limits=_lower(limits, ceilings, notices),
        user_limits=tuple(limits),
        ceilings=ceilings,
        user_allow=None if user_allow is None else tuple(user_allow),
        repo_allow=None if repo_allow is None else tuple(repo_allow),
        never=never_in(user, repo),
        seats=_seats(user.get("seats", {}), path.name),
        protocols=user.get("protocols", {}),
        gate=gate_wish(user),
        notices=tuple(notices),
        faults=faults,
    )


def _clamped(limits: Mapping[str, float], file: str, notices: list[str]) -> dict[str, float]:
    """The limits that a file sets, within the permitted ranges."""
    return {name: clamped(f"{file}: limits.{name}", value, *RANGES[name], notices) for name, value in limits.items()}


def _lower(limits: Mapping[str, float], ceilings: Mapping[str, float], notices: list[str]) -> dict[str, float]:
    """The user's limits, lowered to the repository's."""
    for name in [name for name in limits if name in ceilings]:
        mine, theirs = limits[name], ceilings[name]
        if mine != theirs:
            which = f"{REPO_FILE} lowers it" if theirs < mine else "a repository may not raise it"
            mine_said, theirs_said, used = map(plain_number, (mine, theirs, min(mine, theirs)))
            notices.append(f"limits.{name}: yours {mine_said}, {REPO_FILE} {theirs_said}; {which}, so {used}.")
    given = [name for name in RANGES if name in limits or name in ceilings]
    return {name: min(limits.get(name, math.inf), ceilings.get(name, math.inf)) for name in given}


def _seats(table: Mapping[str, str | list[str]], file: str) -> dict[str, tuple[ModelSpec, ...]]:
    """Role → specs. A protocol may have any role, so only a near miss of a shipped role is refused."""
    out: dict[str, tuple[ModelSpec, ...]] = {}
    for role, value in table.items():
        if role not in ROLES and (near := nearest(role, ROLES, 0.8)):
            raise ConfigError(
                f"{file}: unknown key seats.{role}",
                f"Did you mean {near}? Known here: {', '.join(ROLES)}, and those of your own protocols.",
            )
        try:
            out[role] = tuple(ModelSpec.parse(text) for text in ([value] if isinstance(value, str) else value))
        except UsageError as error:
            raise ConfigError(f"{file}: seats.{role}: {error.message}", error.hint) from error
    return out


def _providers(
    tables: Mapping[str, Mapping[str, Any]], file: str, env: Mapping[str, str]
) -> tuple[tuple[Provider, ...], dict[str, ConfigError]]:
    """The shipped providers with the user's changes, the user's own, and the errors of unusable addresses."""
    shipped = shipped_tables("providers.toml")
    found, faults = [], {}
    for name in [*shipped, *(n for n in tables if n not in shipped)]:
        _check_name(name, file)
        mine = tables.get(name, {})
        # An address in the user's file is not overruled by a variable that only the shipped table names.
        no_variable = {"base_url_env": ""} if "base_url" in mine else {}
        table = {**shipped.get(name, {}), **no_variable, **mine}
        wire, address, variable = (table.get(key, "") for key in ("wire", "base_url", "base_url_env"))
        if not wire or not (address or variable):
            raise ConfigError(f"{file}: providers.{name} has no {'base_url' if wire else 'wire'}", _EXAMPLE)
        overruled = env.get(variable, "") if variable else ""
        url = overruled or address
        wrong = _wrong_with(url, table.get("allow_http", False))
        if wrong and (overruled or not address):
            faults[name] = ConfigError(f"{variable} (address of {name}) {wrong[0]}", wrong[1])
        elif wrong:
            raise ConfigError(f"{file}: providers.{name}.base_url {wrong[0]}", wrong[1])
        known = ("api_key_env", "model", "family", "at_once", "rpm", "tpm", "free")
        more = {key: table[key] for key in known if key in table}
        if "concurrency" in mine:
            more["at_once"] = mine.get("at_once", mine["concurrency"])
        found.append(Provider(name, wire, url.rstrip("/"), key_optional="api_key_env" not in mine, **more))
    return tuple(found), faults


def _tools(user: Tables, file: str) -> Mapping[str, Tool]:
    """The tools, without shipped ones whose name the user has given to a provider."""
    mine, providers = user.get("tools", {}), user.get("providers", {})
    for name in mine:
        _check_name(name, file, "tools")
        if name in providers:
            raise ConfigError(
                f"{file}: {name} is both in tools and in providers", "Choose another name for one of them."
            )

    def tools() -> dict[str, Tool]:
        from rebut.backends.cli_tools.tables import load_tools

        return {name: tool for name, tool in load_tools(mine, file).items() if name not in providers}

    return tools() if mine else LazyTables(tools)  # mistakes in the user's tables are reported at once


def _analysers(mine: Mapping[str, Any], file: str) -> Mapping[str, Analyser]:
    def analysers() -> dict[str, Analyser]:
        from rebut.backends.linters.tables import load_analysers

        return load_analysers(mine, file)

    return analysers() if mine else LazyTables(analysers)


def _runners(mine: Mapping[str, Any], file: str) -> Mapping[str, Runner]:
    def runners() -> dict[str, Runner]:
        from rebut.proof.runners import load_runners

        return load_runners(mine, file)

    return runners() if mine else LazyTables(runners)


_EXAMPLE = 'Write for example: wire = "openai", base_url = "https://host/v1", api_key_env = "HOST_API_KEY".'


def _check_name(name: str, file: str, table: str = "providers") -> None:
    if name in BUILT_IN:
        raise ConfigError(f"{file}: {table}.{name}: that name is built in", "Choose another name.")
    if not re.fullmatch(r"[A-Za-z][\w.-]*", name):
        raise ConfigError(
            f"{file}: {table}.{name!r} is not a valid name for a {table[:-1]}",
            "Begin with a letter; then letters, digits, `_`, `.` and `-`.",
        )


def _wrong_with(url: str, allow_http: bool) -> tuple[str, str] | None:
    """What is wrong with an address and what to do, or None. The address is not repeated: it may hold a password."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "is not a valid URL", "Write it as https://host/v1."
    if parts.scheme not in ("http", "https") or not host or re.search(r"\s", url):
        return "is not an http or https URL", "Write it as https://host/v1."
    if parts.username is not None or parts.password is not None:
        return "contains a user name or password", "Put the key in an environment variable and name it in api_key_env."
    if parts.query or parts.fragment:
        return "has a query or fragment", "Give the address only up to the path, such as https://host/v1."
    if parts.scheme == "http" and not allow_http and not is_loopback(host):
        return f"is plain http to {host}: keys and texts would travel unencrypted", (
            "Use https, or set allow_http = true in that provider's table of your own config."
        )
    return None
