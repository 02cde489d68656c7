"""The tables that a config file may have, and the check of a file against them. Loaded only if there is such a file."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rebut.core.errors import ConfigError
from rebut.engine.protocol import BUILT_IN
from rebut.setup.config_files import Wire


class StrictTable(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ProviderTable(StrictTable):
    wire: Wire | None = None
    base_url: str = ""
    base_url_env: str = Field(default="", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$|^$")
    api_key_env: str = Field(default="", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$|^$")
    model: str = ""
    family: str = ""
    at_once: int | None = Field(default=None, ge=1, le=1000)
    concurrency: int | None = Field(default=None, ge=1, le=1000)
    """The name of `at_once` in 0.1, kept for one release."""
    rpm: int | None = Field(default=None, ge=1)
    tpm: int | None = Field(default=None, ge=1)
    free: bool = False
    allow_http: bool = False


class LimitsTable(StrictTable):
    rounds: int | None = None
    minutes: float | None = None
    tokens: int | None = None
    usd: float | None = None
    calls: int | None = None
    timeout: float | None = None


class EgressTable(StrictTable):
    allow: list[str] | None = None
    never: list[str] = []


class GateTable(StrictTable):
    fail_on: Literal["P1", "P2", "P3", "P1:shown", "P2:shown", "P3:shown"] | None = None
    on_inconclusive: Literal["fail", "pass"] | None = None
    dismissals: Literal["all", "shared", "none"] | None = None
    outside: Literal["pass", "fail"] | None = None
    unread_ok: list[str] = []


class ChecksTable(StrictTable):
    run: bool = False


class RepoFile(StrictTable):
    limits: LimitsTable = LimitsTable()
    egress: EgressTable = EgressTable()
    gate: GateTable = GateTable()
    """Of a repository's file, only the version in the base commit of a reviewed change counts."""


class UserFile(RepoFile):
    providers: dict[str, ProviderTable] = {}
    tools: dict[str, dict[str, object]] = {}
    """Command-line tools; `backends/cli_tools/tables.py` checks their keys."""
    analysers: dict[str, dict[str, object]] = {}
    """What `lint` runs; `backends/linters/tables.py` checks their keys."""
    checks: ChecksTable = ChecksTable()
    runners: dict[str, dict[str, object]] = {}
    """How checks are run; `proof/runners.py` checks their keys."""
    seats: dict[str, str | list[str]] = {}
    """Role → spec, or a list of specs for a role with several seats. Any protocol's roles, also of the user's own."""
    protocols: dict[str, dict[str, str | int | float | bool | list[str]]] = {}
    """Protocol → its seats, settings and limits. `setup/defaults.py` checks the keys when the protocol is used."""


TABLES: dict[str, type[StrictTable]] = {
    "providers": ProviderTable,
    "limits": LimitsTable,
    "egress": EgressTable,
    "gate": GateTable,
    "checks": ChecksTable,
}


def checked(model: type[StrictTable], raw: Mapping[str, object], file: str) -> Mapping[str, object]:
    """The keys that a file sets, with values of the right types. Raises `ConfigError` at the first mistake."""
    try:
        return model.model_validate(raw).model_dump(exclude_unset=True)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
    path = [str(part) for part in first["loc"]]
    key = ".".join(path)
    if first["type"] != "extra_forbidden":
        # The value is not repeated: it may be a key, written where the name of a variable belongs.
        raise ConfigError(f"{file}: {key}: {first['msg'][:1].lower()}{first['msg'][1:]}", "Change that value.")
    known = list((TABLES[path[0]] if len(path) > 1 else model).model_fields)
    near = difflib.get_close_matches(path[-1], known, n=1)
    if len(path) == 1 and "protocols" in known and path[0] in BUILT_IN:
        near = [f"[protocols.{path[0]}]"]
    guess = f"Did you mean {near[0]}? " if near else ""
    raise ConfigError(f"{file}: unknown key {key}", f"{guess}Known here: {', '.join(known)}.")
