"""Model names without a provider: `gpt-5` is `openai:gpt-5`; for others, the error says which providers have it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from rebut.backends.families import family_of
from rebut.core.errors import UsageError
from rebut.core.types import ModelSpec
from rebut.setup.config import BUILT_IN, Config

MOST_NAMED = 4


def resolved(spec: ModelSpec, config: Config, custom: Collection[str], env: Mapping[str, str]) -> ModelSpec:
    """The spec with its provider, if it names only a model; otherwise the same spec.

    The name of a provider, a tool or a built-in participant is never a model. `custom` are providers in Python code.
    """
    name = spec.provider
    if name in custom or name in BUILT_IN or name in config.faults or config.provider(name) or config.tool(name):
        return spec
    model = spec.identity  # `qwen3:8b` looks like a provider with a model
    family = family_of(model)
    if not family:
        return spec  # an unknown provider, which is reported with the nearest known name
    owners = [one.name for one in config.providers if one.family == family]
    if len(owners) == 1:
        return replace(spec, provider=owners[0], model=model)
    raise UsageError(f"{model!r} is a model, and it is not clear who provides it", _who_has(model, config, env))


def _who_has(model: str, config: Config, env: Mapping[str, str]) -> str:
    """Which providers have a model: servers on this machine that list it, and the table of prices."""
    from rebut.setup.discover import look_now

    servers = {one.name for one in config.providers if one.free}
    here = look_now(config, env, lambda name: name in servers) or []
    plain = model.casefold()
    found = [str(spec) for one in here for spec in one.specs if spec.model.casefold().startswith(plain)]
    found += [f"openrouter:{id}" for id in _in_prices("openrouter", plain)] if config.provider("openrouter") else []
    if found:
        return f"Write {' or '.join(found[:MOST_NAMED])}."
    names = " or ".join(f"{name}:{model}" for name in ("ollama", "lmstudio") if config.provider(name))
    return f"Write PROVIDER:MODEL, for example {names or f'PROVIDER:{model}'}; `rebut models` lists the providers."


def _in_prices(provider: str, model: str) -> list[str]:
    from genai_prices.data_snapshot import get_snapshot

    rows = [one for one in get_snapshot().providers if one.id == provider]
    names = [m.id for one in rows for m in one.models if m.id.casefold().rpartition("/")[2].startswith(model)]
    return sorted(names, key=lambda id: (len(id), id))
