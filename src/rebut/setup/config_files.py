"""The config files as they stand on disk: read, checked against their tables, and a repository's held to narrowing."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rebut.core.errors import ConfigError

REPO_FILE = "rebut.toml"
Wire = Literal["openai", "responses", "anthropic", "google"]


class StrictTable(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ProviderTable(StrictTable):
    wire: Wire | None = None
    base_url: str = ""
    base_url_env: str = Field(default="", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$|^$")
    api_key_env: str = Field(default="", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$|^$")
    model: str = ""
    family: str = ""
    concurrency: int | None = Field(default=None, ge=1, le=64)
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
    fail_on: Literal["P1", "P2", "P3"] | None = None
    on_inconclusive: Literal["fail", "pass"] | None = None
    dismissals: Literal["all", "shared", "none"] | None = None


class RepoFile(StrictTable):
    limits: LimitsTable = LimitsTable()
    egress: EgressTable = EgressTable()
    gate: GateTable = GateTable()
    """In a repository's file it counts only as the base commit of a reviewed change has it."""


class UserFile(RepoFile):
    providers: dict[str, ProviderTable] = {}
    tools: dict[str, dict[str, object]] = {}
    """Command-line tools; `rebut.tools` knows what may stand in there."""
    analysers: dict[str, dict[str, object]] = {}
    """What `lint` runs; `rebut.analysers` knows what may stand in there."""
    seats: dict[str, str | list[str]] = {}
    """Role → spec, or a list of specs for a role with several seats. Any protocol's roles, also of your own."""


TABLES: dict[str, type[StrictTable]] = {
    "providers": ProviderTable,
    "limits": LimitsTable,
    "egress": EgressTable,
    "gate": GateTable,
}
LARGEST_FILE = 1_000_000
WHERE_TO = "Move it to your own config (`rebut config path`)."


def read(path: Path, *, needed: bool) -> dict[str, object]:
    try:
        if not needed and not path.is_file():
            return {}
        with path.open("rb") as file:
            raw = file.read(LARGEST_FILE + 1)
        if len(raw) > LARGEST_FILE:
            raise ConfigError(f"{path.name} is larger than {LARGEST_FILE} bytes", f"Look at {path}.")
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}", "Check the path and its permissions.") from error
    return parse(raw, str(path))


def parse(raw: bytes, where: str) -> dict[str, object]:
    """The tables of a file, or where in it the first mistake is."""
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


def refuse_foreign(raw: Mapping[str, object]) -> None:
    """A repository's file that reaches beyond narrowing is refused by name, before anything else is looked at."""
    choices = {
        "command": "commands",
        "args": "commands",
        "headers": "headers",
        "api_key": "keys",
        "api_key_env": "key names",
    }
    choices |= dict.fromkeys(("base_url", "base_url_env", "allow_http"), "addresses")
    if "seats" in raw:
        raise ConfigError(f"{REPO_FILE} sets seats; a repository may not choose who sits where", WHERE_TO)
    for table in ("tools", "analysers"):
        if table in raw:
            raise ConfigError(f"{REPO_FILE} sets {table}; a repository may not choose commands", WHERE_TO)
    if "providers" not in raw:
        return
    key, what = "providers", "providers"
    providers = raw["providers"]
    if isinstance(providers, dict) and providers:
        name, table = next(iter(providers.items()))
        key = f"providers.{name}"
        if isinstance(table, dict) and table:
            worst = next((k for k in choices if k in table), next(iter(table)))
            key, what = f"{key}.{worst}", choices.get(worst, "providers")
    raise ConfigError(f"{REPO_FILE} sets {key}; a repository may not choose {what}", WHERE_TO)


T = TypeVar("T", bound=StrictTable)


def validated(model: type[T], raw: Mapping[str, object], file: str) -> T:
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
    path = [str(part) for part in first["loc"]]
    key = ".".join(path)
    if first["type"] != "extra_forbidden":
        # The value is not repeated: somebody may have put a key where the name of one belongs.
        raise ConfigError(f"{file}: {key}: {first['msg'][:1].lower()}{first['msg'][1:]}", "Change that value.")
    known = list((TABLES[path[0]] if len(path) > 1 else model).model_fields)
    near = difflib.get_close_matches(path[-1], known, n=1)
    guess = f"Did you mean {near[0]}? " if near else ""
    raise ConfigError(f"{file}: unknown key {key}", f"{guess}Known here: {', '.join(known)}.")
