"""How each kind of model is reached: the only module that creates backends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from rebut.backends.wrappers import AT_ONCE, Capped, Limited, Retrying, Timed
from rebut.core.caps import Caps
from rebut.core.errors import NotAvailable, UsageError
from rebut.core.types import Backend, ModelSpec
from rebut.engine.runtime import Connection
from rebut.setup.config import Config, Provider

if TYPE_CHECKING:
    from rebut.backends.cli_tools.tables import Tool
    from rebut.backends.http.wire import Wire


Custom = Backend | Connection | Callable[[ModelSpec], Connection]
"""A provider in Python code: a backend, a connection, or a function from specs to connections."""


def free(input_tokens: int, output_tokens: int) -> float | None:
    return 0.0


def connector(
    config: Config,
    env: Mapping[str, str],
    workspace: Path,
    custom: Mapping[str, Custom] | None = None,
    *,
    rehearsal: bool = False,
) -> Callable[[ModelSpec], Connection]:
    """A function from specs to connections. Raises `UsageError` for a wrong spec before anything is called."""
    custom = custom or {}
    known: dict[ModelSpec, Connection] = {}

    def connect(spec: ModelSpec) -> Connection:
        if spec.provider in custom:
            given = custom[spec.provider]
            if isinstance(given, Connection):
                return given
            if callable(given):
                return given(spec)
            # The price of a custom backend is unknown, which a dollar limit must not take for 0.
            return Connection(Timed(given), family=spec.provider)
        match spec.provider:
            case "scripted":
                return scripted(workspace)(spec)
            case "human":
                return _human()
            case "caller":
                return answering()
            case "local":
                return _local(spec)
            case "gguf":
                return _gguf(spec, workspace)
            case "lint":
                return _lint(spec, config, env)
            case "rules":
                return _rules(spec)
        if tool := config.tool(spec.provider):
            return _tool(spec, tool, env, needed=not rehearsal)
        if spec not in known:  # the same spec is connected for the plan and for its calls
            known[spec] = connect_provider(spec)
        return known[spec]

    def connect_provider(spec: ModelSpec) -> Connection:
        provider = config.need_provider(spec.provider)
        if rehearsal and provider.api_key_env:  # a dry run calls nothing, so it needs no key
            return _http(spec, provider, {provider.api_key_env: "none", **env})
        return _http(spec, provider, env)

    return connect


def scripted(workspace: Path, *, pace: float = 1.0) -> Callable[[ModelSpec], Connection]:
    """How scripted seats are reached. `pace` scales the pauses in their files; 0 skips them."""

    def reach(spec: ModelSpec) -> Connection:
        from rebut.backends.scripted import Scripted

        if not spec.model:
            raise UsageError("scripted needs a file", "Write scripted:FILE.json.")
        backend = Scripted(workspace / Path(spec.model).expanduser(), pace)
        return Connection(Timed(backend), free, family=backend.family)

    return reach


def _human() -> Connection:
    from rebut.backends.human.form import Human

    return Connection(Human(), free, patient=True, family="human")


def _local(spec: ModelSpec) -> Connection:
    from rebut.backends.embedded import weights

    model = weights.by_id(spec.model)
    if model is None:
        known = ", ".join(one.id for one in weights.LARGER)
        raise UsageError(f"local has no model {spec.model!r}", f"Write local:NAME with {known}, or gguf:PATH.")
    if not weights.is_here(model):
        first = "" if weights.has_runner() else "Run `pip install xllamacpp`, then "
        get = f"rebut models get {model.id}" if model.place else "rebut models get"
        raise NotAvailable(
            f"{spec.identity} has no model file yet",
            f"{first or 'Run '}`{get}`, which downloads its {model.size // 1_000_000:,} MB, once.",
        )
    return _model_file(weights.path(model), spec)


def _gguf(spec: ModelSpec, workspace: Path) -> Connection:
    path = workspace / Path(spec.model).expanduser()
    if not spec.model or not path.is_file():
        raise UsageError(
            f"gguf needs a model file, and there is no {path}" if spec.model else "gguf needs a file",
            "Write gguf:PATH, a file that ends in .gguf.",
        )
    return _model_file(path, spec)


def _model_file(path: Path, spec: ModelSpec) -> Connection:
    from rebut.backends.embedded import weights
    from rebut.backends.embedded.backend import LABEL, Local

    if not weights.has_runner():
        raise NotAvailable(f"{spec.provider} needs xllamacpp, which is not installed", "Run `pip install xllamacpp`.")
    known = next((one for one in (weights.SMOLLM2, *weights.LARGER) if path.resolve().name == one.file), None)
    label = LABEL if known is weights.SMOLLM2 else ""
    backend = Local(path, name=known.name if known else "", label=label, effort=spec.effort)
    place = f"model file {path.resolve()}"  # whatever its spec, one file answers one call at a time
    return Connection(Limited(Timed(backend), place, 1, called=spec.identity), free, family=backend.family)


def _lint(spec: ModelSpec, config: Config, env: Mapping[str, str]) -> Connection:
    from rebut.backends.linters import tables as analysers
    from rebut.backends.linters.backend import FAMILY, Lint

    tables = config.analysers or analysers.load_analysers({})  # a config made by hand in Python has none
    lint = Lint(tables, env, only=spec.model, effort=spec.effort)
    return Connection(Timed(lint), free, family=FAMILY, whole_files=True)


def _rules(spec: ModelSpec) -> Connection:
    from rebut.backends.rules import FAMILY, Rules

    if spec.model:
        raise UsageError("there is one set of rules", "Write rules, without a model.")
    return Connection(Timed(Rules()), free, family=FAMILY)


def answering(text: str = "", key: str = "") -> Connection:
    """The caller's seat, with an answer to the question `key` (empty: the first question), or without an answer."""
    from rebut.backends.caller import Caller

    return Connection(Caller(text, key), free, patient=True, family="caller")


def in_folder(config: Config, env: Mapping[str, str], spec: ModelSpec, folder: Path) -> Connection:
    """A command-line tool with the context file from `folder`, and no other file from there."""
    return _tool(spec, config.tools[spec.provider], env, needed=True, workdir=folder)


def _tool(
    spec: ModelSpec, tool: Tool, env: Mapping[str, str], *, needed: bool, workdir: Path | None = None
) -> Connection:
    from rebut.backends.cli_tools.backend import Command
    from rebut.backends.cli_tools.tables import find_executable

    if needed and find_executable(tool, env) is None:
        raise NotAvailable(
            f"{tool.name} is not installed: there is no {tool.command} on PATH",
            f"{tool.install}, then log in; or choose another model."
            if tool.install
            else "Install it, or choose another.",
        )
    command = Command(tool, model=spec.model, effort=spec.effort, env=env, workdir=workdir)
    limited = Limited(Timed(command, own_time=True), tool.name, tool.at_once)
    return Connection(limited, family=command.family, context_file=tool.context_file, far=True)


def _http(spec: ModelSpec, provider: Provider, env: Mapping[str, str]) -> Connection:
    from rebut.backends.families import family_of
    from rebut.backends.http.wire import ROOM_TO_THINK

    model = spec.model or provider.model
    if not model:
        raise UsageError(
            f"{provider.name} needs a model",
            f"Write {provider.name}:MODEL, or set model in [providers.{provider.name}].",
        )
    if provider.lacks_key(env):
        raise NotAvailable(
            f"{provider.name} needs a key: {provider.api_key_env} is not set",
            f"Run `export {provider.api_key_env}=KEY`, or name another model: `rebut models` lists what is here.",
        )
    wire: type[Wire] = getattr(import_module(f"rebut.backends.http.{provider.wire}"), WIRES[provider.wire])
    made = wire(
        base_url=provider.base_url,
        api_key=env.get(provider.api_key_env, "") if provider.api_key_env else "",
        model=model,
        provider=provider.name,
        family=provider.family,
        key_env=provider.api_key_env,
    )
    caps = Caps(provider.rpm, provider.tpm, provider.at_once)
    return Connection(
        Limited(
            Timed(Retrying(Capped(made, provider.name, caps), name=provider.name), own_time=True),
            provider.name,
            provider.at_once or AT_ONCE,
        ),
        free if provider.free else made.worst_case,
        family=provider.family or family_of(model),
        thinking=ROOM_TO_THINK.get(spec.effort, 0),
        far=True,
    )


PROGRAMS = {"lint": "reads code changes", "rules": "weighs the findings of a code review"}
"""Participants that are programs, not models, and what they do."""
WIRES = {"openai": "OpenAI", "responses": "Responses", "anthropic": "Anthropic", "google": "Google"}
"""Wire → its class, in the module of the same name, which is loaded at its first use."""


def environment_of_tool(name: str, env: Mapping[str, str]) -> dict[str, str]:
    """The part of the environment that a shipped tool gets, in a seat and elsewhere."""
    from rebut.backends.cli_tools.tables import environment, load_tools

    return environment(load_tools({})[name], env)
