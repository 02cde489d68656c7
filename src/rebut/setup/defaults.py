"""The defaults that the user's config sets for one protocol, in `[protocols.NAME]`: seats, settings and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from rebut.core.errors import ConfigError, UsageError
from rebut.core.frozen import frozen
from rebut.core.types import ModelSpec
from rebut.domain.limits import RANGES, Limits, clamped
from rebut.engine.protocol import BUILT_IN, MANY, Protocol
from rebut.setup.config import Config, nearest


@frozen
class ProtocolDefaults:
    """The values that a protocol has where the command line gives none."""

    seats: Mapping[str, tuple[ModelSpec, ...]] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    limits: Mapping[str, float] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    """About values that were out of range."""


def defaults(config: Config, protocol: Protocol) -> ProtocolDefaults:
    """The defaults for a protocol. A misspelt name or key is an error with the nearest known one."""
    for name in config.protocols:
        if name not in BUILT_IN and name != protocol.name and (near := nearest(name, BUILT_IN, 0.7)):
            raise ConfigError(f"your config: unknown table protocols.{name}", f"Did you mean protocols.{near}?")
    table = config.protocols.get(protocol.name, {})
    fields, limits = protocol.settings.model_fields, tuple(Limits.__dataclass_fields__)
    seats: dict[str, tuple[ModelSpec, ...]] = {}
    settings: dict[str, Any] = {}
    capped: dict[str, float] = {}
    notices: list[str] = []
    for key, value in table.items():
        where = f"protocols.{protocol.name}.{key}"
        if key in protocol.seats:
            seats[key] = _specs(where, value, protocol.seats[key])
        elif key in fields:
            settings[key] = within(protocol, key, value, where, notices)
        elif key in limits:
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ConfigError(f"your config: {where} must be a number", "Change that value.")
            capped[key] = clamped(where, value, *RANGES[key], notices)
        else:
            known = (*protocol.seats, *fields, *limits)
            near = nearest(key, known)
            guess = f"Did you mean {near}? " if near else ""
            raise ConfigError(f"your config: unknown key {where}", f"{guess}Known here: {', '.join(known)}.")
    return ProtocolDefaults(seats, settings, capped, tuple(notices))


def within(protocol: Protocol, name: str, value: Any, source: str, notices: list[str]) -> Any:
    """A value of the config, moved into the range of a protocol's setting; a notice says so if it changes."""
    bounds = bounds_of(protocol, name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not bounds:
        return value
    used = clamped(source, value, bounds.get("ge", value), bounds.get("le", value), notices)
    return int(used) if float(used).is_integer() else used


def bounds_of(protocol: Protocol, name: str) -> dict[str, float]:
    """The least (`ge`) and the largest (`le`) value of a setting, if it has such bounds."""
    field = protocol.settings.model_fields.get(name)
    return {k: getattr(m, k) for m in (field.metadata if field else ()) for k in ("ge", "le") if hasattr(m, k)}


def _specs(where: str, value: Any, count: int) -> tuple[ModelSpec, ...]:
    texts: Sequence[Any] = value if isinstance(value, list) else [value]
    if not all(isinstance(text, str) for text in texts) or (len(texts) != max(1, count) and count != MANY):
        many = "a list of model specs" if count == MANY else f"{count} model specs" if count > 1 else "one model spec"
        raise ConfigError(f"your config: {where} must be {many}", "Write PROVIDER or PROVIDER:MODEL for each.")
    try:
        return tuple(ModelSpec.parse(text) for text in texts)
    except UsageError as error:
        raise ConfigError(f"your config: {where}: {error.message}", error.hint) from error
