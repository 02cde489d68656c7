"""What the user has settled beforehand: providers, limits, egress and default seats, from TOML.

Two files. The user's own may say anything. A repository's `rebut.toml` may only narrow: fewer providers, lower limits,
more globs; it travels with code from strangers, so it never chooses a command, an address, a header or a key.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import platformdirs

from rebut.backends.cli_tools.tables import Tool, load as load_tools
from rebut.backends.linters.tables import Analyser, load as load_analysers
from rebut.core.errors import ConfigError, UsageError
from rebut.core.files import shipped as shipped_tables
from rebut.core.network import is_loopback
from rebut.core.types import ModelSpec
from rebut.domain.gate_policy import Wish
from rebut.domain.limits import RANGES
from rebut.setup.config_files import (
    REPO_FILE,
    GateTable,
    LimitsTable,
    ProviderTable,
    RepoFile,
    UserFile,
    Wire,
    read,
    refuse_foreign,
    validated,
)

BUILT_IN = ("human", "scripted", "caller", "local", "gguf", "lint", "rules")
"""Kinds that need no table and send nothing anywhere."""


@dataclass(frozen=True, slots=True)
class Provider:
    """An HTTP provider, its address settled."""

    name: str
    wire: Wire
    base_url: str
    api_key_env: str = ""
    model: str = ""
    family: str = ""
    concurrency: int | None = None
    free: bool = False
    """Known to cost nothing by the call, as a server of one's own does."""


@dataclass(frozen=True, slots=True)
class Config:
    """Both files, merged and checked. `notices` is for the caller to show."""

    providers: tuple[Provider, ...] = ()
    tools: Mapping[str, Tool] = field(default_factory=dict)
    """Command-line tools by name."""
    analysers: Mapping[str, Analyser] = field(default_factory=dict)
    """What `lint` runs, by name."""
    limits: Mapping[str, float] = field(default_factory=dict)
    """The user's limits by name, lowered by the repository's. A limit that is not set is not in here."""
    ceilings: Mapping[str, float] = field(default_factory=dict)
    """The repository's limits alone: a default or a flag above them is lowered too; see `capped`."""
    user_allow: tuple[str, ...] | None = None
    """`[egress] allow`; None when no list was given, which is not the same as an empty one."""
    repo_allow: tuple[str, ...] | None = None
    never: tuple[str, ...] = ()
    seats: Mapping[str, tuple[ModelSpec, ...]] = field(default_factory=dict)
    """Who sits where when the command line does not say."""
    gate: Wish = Wish()
    """The user's alone: what the repository says is read from the base of the change under review."""
    notices: tuple[str, ...] = ()
    faults: Mapping[str, ConfigError] = field(default_factory=dict)
    """Providers whose address, taken from the environment, cannot be used. Raised when one of them is wanted, so that
    a variable set for some other program does not stop a debate that never needs it."""

    def provider(self, name: str) -> Provider | None:
        if name in self.faults:
            raise self.faults[name]
        return next((p for p in self.providers if p.name == name), None)

    def need_provider(self, name: str) -> Provider:
        if found := self.provider(name):
            return found
        known = sorted({p.name for p in self.providers} | set(BUILT_IN) | set(self.tools))
        near = difflib.get_close_matches(name, known, n=1)
        guess = f"did you mean {near[0]}? " if near else ""
        raise UsageError(f"unknown provider {name!r}", f"{guess}Known: {', '.join(known)}.")

    def allowed(self, provider: str) -> bool:
        """May a seat that was named by hand use this provider? A list that nobody gave forbids nothing."""
        lists = (self.user_allow, self.repo_allow)
        return provider in BUILT_IN or all(allow is None or provider in allow for allow in lists)

    def listed(self, provider: str) -> bool:
        """May rebut choose this provider by itself with nobody watching? Only if the user has listed it."""
        return provider in BUILT_IN or (self.allowed(provider) and provider in (self.user_allow or ()))

    def capped(self, limit: str, value: float) -> float:
        """A value from a flag or a default, lowered to what the repository permits."""
        return min(value, self.ceilings.get(limit, value))

    def known_secrets(self, env: Mapping[str, str]) -> list[str]:
        """The keys that rebut itself could read, for the redactor."""
        values = (env.get(p.api_key_env, "") for p in self.providers if p.api_key_env)
        return list(dict.fromkeys(v for v in values if v))


def user_path(env: Mapping[str, str]) -> Path:
    """Where the user's own file is, whether it exists or not."""
    if named := env.get("REBUT_CONFIG"):
        return Path(named)
    home = env.get("XDG_CONFIG_HOME", "")
    folder = Path(home) / "rebut" if Path(home).is_absolute() else platformdirs.user_config_path("rebut")
    return folder / "config.toml"


def load(*, workspace: Path, env: Mapping[str, str], user_file: Path | None = None) -> Config:
    """Read both files. A file that was named and is not there is an error; one in its usual place may be missing."""
    mine = user_file or user_path(env)
    named = user_file is not None or bool(env.get("REBUT_CONFIG"))
    user_raw = read(mine, needed=named)
    repo_raw = read(workspace / REPO_FILE, needed=False)
    refuse_foreign(repo_raw)
    user = validated(UserFile, user_raw, mine.name)
    repo = validated(RepoFile, repo_raw, REPO_FILE)
    notices: list[str] = []
    limits = _clamped(user.limits, mine.name, notices)
    ceilings = _clamped(repo.limits, REPO_FILE, notices)
    user_allow, repo_allow = (None if f.egress.allow is None else tuple(f.egress.allow) for f in (user, repo))
    if user_allow is not None and (extra := [name for name in repo_allow or () if name not in user_allow]):
        notices.append(f"{REPO_FILE} allows {', '.join(extra)}, which your own list does not; your list holds.")
    providers, faults = _providers(user.providers, mine.name, env)
    return Config(
        providers=providers,
        tools=_tools(user, mine.name),
        analysers=load_analysers(user.analysers, mine.name),
        limits=_lower(limits, ceilings, notices),
        ceilings=ceilings,
        user_allow=user_allow,
        repo_allow=repo_allow,
        never=tuple(dict.fromkeys([*user.egress.never, *repo.egress.never])),
        seats=_seats(user.seats, mine.name),
        gate=wish(user.gate),
        notices=tuple(notices),
        faults=faults,
    )


def wish(table: GateTable) -> Wish:
    return Wish(table.fail_on, table.on_inconclusive, table.dismissals)


ROLES = ("proposer", "challenger", "judge", "author", "critic", "decider", "synthesizer", "lead")
"""The roles of the shipped protocols, to tell a slip of the pen from a role of the user's own protocol."""

# Limits, seats, providers. --------------------------------------------------------------------------------------------


def _clamped(table: LimitsTable, file: str, notices: list[str]) -> dict[str, float]:
    """The limits that a file sets, within the permitted ranges."""
    values: dict[str, float] = table.model_dump(exclude_none=True)
    for name, value in values.items():
        low, high = RANGES[name]
        if not low <= value <= high:
            # A NaN fails every comparison and becomes the lowest value, which is the safe side.
            values[name] = used = high if value > high else low
            notices.append(f"{file}: limits.{name} = {value:g} is outside {low:g} to {high:g}; {used:g} is used.")
    return values


def _lower(limits: Mapping[str, float], ceilings: Mapping[str, float], notices: list[str]) -> dict[str, float]:
    """The user's limits, lowered to the repository's."""
    for name in [name for name in limits if name in ceilings]:
        mine, theirs = limits[name], ceilings[name]
        if mine != theirs:
            which = f"{REPO_FILE} lowers it" if theirs < mine else "a repository may not raise it"
            notices.append(f"limits.{name}: yours {mine:g}, {REPO_FILE} {theirs:g}; {which}, so {min(mine, theirs):g}.")
    given = [name for name in RANGES if name in limits or name in ceilings]
    return {name: min(limits.get(name, math.inf), ceilings.get(name, math.inf)) for name in given}


def _seats(table: Mapping[str, str | list[str]], file: str) -> dict[str, tuple[ModelSpec, ...]]:
    """Role → specs. Any protocol may have any role, so that only a near miss of a shipped one is refused."""
    out: dict[str, tuple[ModelSpec, ...]] = {}
    for role, value in table.items():
        if role not in ROLES and (near := difflib.get_close_matches(role, ROLES, n=1, cutoff=0.8)):
            raise ConfigError(
                f"{file}: unknown key seats.{role}",
                f"Did you mean {near[0]}? Known here: {', '.join(ROLES)}, and those of your own protocols.",
            )
        try:
            out[role] = tuple(ModelSpec.parse(text) for text in ([value] if isinstance(value, str) else value))
        except UsageError as error:
            raise ConfigError(f"{file}: seats.{role}: {error.message}", error.hint) from error
    return out


def _providers(
    tables: Mapping[str, ProviderTable], file: str, env: Mapping[str, str]
) -> tuple[tuple[Provider, ...], dict[str, ConfigError]]:
    shipped = {name: ProviderTable.model_validate(table) for name, table in shipped_tables("providers.toml").items()}
    found, faults = [], {}
    for name in [*shipped, *(n for n in tables if n not in shipped)]:
        mine, ours = tables.get(name, ProviderTable()), shipped.get(name, ProviderTable())
        _check_name(name, file)
        said = {key: getattr(mine, key) for key in mine.model_fields_set}
        # An address that the user wrote down is not overruled by a variable that only the shipped table names.
        quiet = {"base_url_env": ""} if "base_url" in said else {}
        table = ours.model_copy(update={**quiet, **said})
        if table.wire is None or not (table.base_url or table.base_url_env):
            missing = "wire" if table.wire is None else "base_url"
            raise ConfigError(f"{file}: providers.{name} has no {missing}", _EXAMPLE)
        overruled = env.get(table.base_url_env, "") if table.base_url_env else ""
        url = overruled or table.base_url
        wrong = _wrong_with(url, table.allow_http)
        if wrong and (overruled or not table.base_url):
            faults[name] = ConfigError(f"{table.base_url_env} (address of {name}) {wrong[0]}", wrong[1])
        elif wrong:
            raise ConfigError(f"{file}: providers.{name}.base_url {wrong[0]}", wrong[1])
        rest = (table.api_key_env, table.model, table.family, table.concurrency, table.free)
        found.append(Provider(name, table.wire, url.rstrip("/"), *rest))
    return tuple(found), faults


def _tools(user: UserFile, file: str) -> dict[str, Tool]:
    """The tools, without shipped ones whose name the user has given to a provider of their own."""
    for name in user.tools:
        _check_name(name, file, "tools")
        if name in user.providers:
            raise ConfigError(
                f"{file}: {name} is both in tools and in providers", "Choose another name for one of them."
            )
    return {name: tool for name, tool in load_tools(user.tools, file).items() if name not in user.providers}


_EXAMPLE = 'Write for example: wire = "openai", base_url = "https://host/v1", api_key_env = "HOST_API_KEY".'


def _check_name(name: str, file: str, table: str = "providers") -> None:
    if name in BUILT_IN:
        raise ConfigError(f"{file}: {table}.{name}: that name is built in", "Choose another name.")
    if not re.fullmatch(r"[A-Za-z][\w.-]*", name):
        raise ConfigError(
            f"{file}: {table}.{name!r} is no name for a {table[:-1]}",
            "Begin with a letter; then letters, digits, `_`, `.` and `-`.",
        )


def _wrong_with(url: str, allow_http: bool) -> tuple[str, str] | None:
    """What is wrong with an address and what to do, or None. The address is not repeated: it may hold a password."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "is no valid URL", "Write it as https://host/v1."
    if parts.scheme not in ("http", "https") or not host or re.search(r"\s", url):
        return "is no http or https URL", "Write it as https://host/v1."
    if parts.username is not None or parts.password is not None:
        return "holds a user name or password", "Put the key in an environment variable and name it in api_key_env."
    if parts.query or parts.fragment:
        return "has a query or fragment", "Give the address only up to the path, such as https://host/v1."
    if parts.scheme == "http" and not allow_http and not is_loopback(host):
        return f"is plain http to {host}: keys and texts would travel in clear", (
            "Use https, or set allow_http = true in that provider's table of your own config."
        )
    return None
