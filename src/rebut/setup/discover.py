"""Which models are available here: tools on PATH, keys in the environment, local servers, the embedded model.

No model is called: a tool reports its version, a server on this machine lists its models.
"""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from rebut.backends.embedded import weights
from rebut.core import event_loop
from rebut.core.errors import UsageError
from rebut.core.files import on_path, shipped
from rebut.core.frozen import frozen
from rebut.core.network import is_local
from rebut.core.text import last_line, printable
from rebut.core.types import ModelSpec
from rebut.setup.config import Config, LazyTables, Provider

if TYPE_CHECKING:
    from rebut.backends.cli_tools.tables import Tool
    from rebut.backends.linters.tables import Analyser
    from rebut.core.process import ProcessResult

Kind = Literal["tool", "key", "server", "embedded", "analyser", "program"]
EMBEDDED = "local"
TOOL_SECONDS = 30.0
"""For all questions to a tool about itself; some tools take ten seconds at their first start."""
SERVER_SECONDS = 0.5
RECOMMENDED = weights.RECOMMENDED
GET_ONE = (
    "Set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY, log in to claude, codex, gemini, "
    f"qwen, opencode or copilot, start Ollama, or run `rebut models get {RECOMMENDED}` (1.1 GB, no key); "
    "`rebut init` helps, `rebut models` lists all ways. "
    "Without a model: `rebut demo`, `rebut check FILE`, `rebut review --with lint,rules`."
)
LOGGED_OUT = "no login was found; no call was made to check"
PERHAPS_OUT = "probably not logged in: rebut can only guess where this tool stores its login on this system"
_LARGEST_LIST = 1_000_000
_NO_DEBATERS = ("embed", "rerank", "whisper", "tts", "moderation")
"""Parts of the names of models that cannot argue."""


@frozen
class FoundModel:
    """A provider as it is found here: its models, or why it cannot be used and what to do about that."""

    name: str
    kind: Kind
    here: bool = False
    """The tool is installed, the key is set, or the server answers."""
    about: str = ""
    """A version, a variable, an address."""
    specs: tuple[ModelSpec, ...] = ()
    """Its models, best first; empty if it cannot be used."""
    problem: str = ""
    advice: str = ""
    out: bool = False
    """A tool without a visible login. rebut does not choose it; the user may name it."""
    unsure: bool = False
    """Whether there is a login is a guess."""
    only_named: bool = False
    """It works, but rebut does not choose it: the user may name it."""
    any_family: bool = False
    """A tool that uses the model that it is set to: its family is unknown before its first answer."""
    family: str = ""
    """Known once it is considered for a seat."""
    has_key: bool = False
    """A server that does not list its models, although the user has set a key for it."""

    @property
    def usable(self) -> bool:
        return bool(self.specs)

    @property
    def fails(self) -> bool:
        """Whether it is installed or has a key, but cannot be used; `problem` says why."""
        return not self.usable and bool(self.problem) and (self.here or self.has_key)

    @property
    def why(self) -> str:
        """Why it is available, in a few words."""
        login = " and probably logged in" if self.unsure else ""
        reasons = {"tool": f"{self.name} {self.about} is installed{login}", "key": f"{self.about} is set"}
        return reasons.get(self.kind) or f"{self.about} is on this machine"

    @property
    def described(self) -> str:
        """The family and why it is available; only the family if that names both."""
        return self.family if self.about and self.family.startswith(self.about) else f"{self.family}: {self.why}"


async def look(
    config: Config, env: Mapping[str, str], wanted: Callable[[str], bool] = lambda name: True
) -> list[FoundModel]:
    """Every provider that `wanted` admits, best first: tools, then keys, then servers here, then the embedded model."""
    local = [p for p in config.providers if wanted(p.name) and is_local(p.base_url)]
    keyed = [p for p in config.providers if wanted(p.name) and p.api_key_env and p not in local]
    if (absent := _all_absent(config, env)) is not None:
        installed = [one for one in absent if wanted(one.name)]
    else:
        installed = await event_loop.gather(*(_tool(tool, env) for name, tool in config.tools.items() if wanted(name)))
    servers = await event_loop.gather(*(_server(p, env) for p in local))
    keys = [_key(config, p, env) for p in keyed]
    return [*installed, *keys, *servers, *([_embedded(env)] if wanted(EMBEDDED) else [])]


def look_now(
    config: Config,
    env: Mapping[str, str],
    wanted: Callable[[str], bool] = lambda name: True,
    *,
    until: float | None = None,
) -> list[FoundModel] | None:
    """`look` for code that is not async, even while a loop is running: in a thread, with its own loop.

    None if it is not done by `until`, on the monotonic clock; the tools that it started are ended then.
    """
    import asyncio

    out: list[FoundModel] = []

    async def main() -> None:
        task = asyncio.ensure_future(look(config, env, wanted))
        await asyncio.wait((task,), timeout=None if until is None else max(0.0, until - time.monotonic()))
        if task.done():
            out.extend(task.result())
        else:
            from rebut.engine.steering import end

            await end(task)

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    thread.join()
    return out if until is None or time.monotonic() < until else None


def _all_absent(config: Config, env: Mapping[str, str]) -> list[FoundModel] | None:
    """The shipped tools, if none of them is installed and the user has no tables; None otherwise.

    It saves loading the whole tables, and pydantic, if no tool is installed.
    """
    if not isinstance(config.tools, LazyTables):
        return None
    taken = {provider.name for provider in config.providers}
    tables = {name: table for name, table in shipped("tools.toml")["tools"].items() if name not in taken}
    if any(on_path(table.get("command", name), env) for name, table in tables.items()):
        return None
    return [_not_installed(name, table.get("install", "")) for name, table in tables.items()]


def _not_installed(name: str, install: str) -> FoundModel:
    return FoundModel(name, "tool", problem="not installed", advice=f"Install it: {install}" if install else "")


async def _tool(tool: Tool, env: Mapping[str, str]) -> FoundModel:
    from rebut.backends.cli_tools import tables as tools

    if tools.find_executable(tool, env) is None:
        return _not_installed(tool.name, tool.install)
    import asyncio

    from rebut.core.process import ProcessResult

    await event_loop.started()
    version, asked = "", ProcessResult(None)
    try:
        async with asyncio.timeout(TOOL_SECONDS):
            asked = await tools.ask(tool, env, tool.version_args)
            version = tools.version_in(asked)
            if version and not tools.too_old(version, tool.minimum):
                return await _able(tool, env, version)
    except TimeoutError:
        late = f"it does not report its {'login and flags' if version else 'version'} within {TOOL_SECONDS:g} s"
        return FoundModel(tool.name, "tool", True, version or "?", (), late, "Run it by hand.")
    update = _update(tool)
    if not version:
        return FoundModel(tool.name, "tool", True, "?", (), *_broken(tool, asked))
    old = f"older than {tool.minimum}, the first version with which its lockdown is known to work"
    return FoundModel(tool.name, "tool", True, version, (), old, update)


async def _able(tool: Tool, env: Mapping[str, str], version: str) -> FoundModel:
    """A tool that is new enough. It must also have the flags that lock it down, and be logged in."""
    from rebut.backends.cli_tools import tables as tools

    if missing := await tools.missing_flags(tool, env):
        wants = f"this version does not have {', '.join(missing)}, which its lockdown needs"
        return FoundModel(tool.name, "tool", True, version, (), wants, _update(tool))
    login = await tools.login(tool, env)
    if not login.shown:
        problem, advice = LOGGED_OUT if login.sure else PERHAPS_OUT, tool.login or "Log in."
        return FoundModel(tool.name, "tool", True, version, (), problem, advice, out=True, unsure=not login.sure)
    vague = not tool.family and not tool.model
    return FoundModel(
        tool.name, "tool", True, version, (ModelSpec(tool.name),), unsure=not login.sure, any_family=vague
    )


def _broken(tool: Tool, ended: ProcessResult) -> tuple[str, str]:
    """What is wrong with a tool that does not report its version, and what to do about it."""
    command = f"`{tool.command} {' '.join(tool.version_args)}`"
    if ended.code == 0:
        return f"{command} reports no version", _update(tool)
    words = last_line(f"{ended.out}\n{ended.err}")
    hint = next((m.hint for m in tool.markers if m.hint and ended.code in m.exits and re.search(m.match, words)), "")
    words = printable(words, 120)
    return f"{command} ends with code {ended.code}" + (f": {words}" if words else ""), hint or _update(tool)


def _update(tool: Tool) -> str:
    return f"Update it: {tool.install}" if tool.install else "Update it."


def _key(config: Config, provider: Provider, env: Mapping[str, str]) -> FoundModel:
    name, variable = provider.name, provider.api_key_env
    if provider.lacks_key(env):
        return _without_key(provider, "key")
    if fault := config.faults.get(name):
        return FoundModel(name, "key", True, variable, (), fault.message, fault.hint)
    if not provider.model:
        advice = f"Set model in [providers.{name}] of your config, or name a seat {name}:MODEL."
        return FoundModel(name, "key", True, variable, (), "no model is set", advice)
    return FoundModel(name, "key", True, variable, (ModelSpec(name, provider.model),))


def _without_key(provider: Provider, kind: Kind) -> FoundModel:
    variable = provider.api_key_env
    return FoundModel(provider.name, kind, problem=f"{variable} is not set", advice=f"export {variable}=KEY")


async def _server(provider: Provider, env: Mapping[str, str]) -> FoundModel:
    """A server on this machine, with the models that it lists."""
    if provider.lacks_key(env):
        return _without_key(provider, "server")
    place = urlsplit(provider.base_url).netloc
    key = env.get(provider.api_key_env, "").strip() if provider.api_key_env else ""
    if not (key.isascii() and key.isprintable()):
        odd, advice = "the key contains characters that no key has", f"Check {provider.api_key_env}."
        return FoundModel(provider.name, "server", True, place, (), odd, advice)
    listed = await _listed(provider, key)
    if listed is None:
        silent = f"nothing answers at {place}"
        return FoundModel(provider.name, "server", problem=silent, advice="Start it.", has_key=bool(key))
    if isinstance(listed, int):
        # Another program may use the port, so the server does not count as here, but the user sees what answered.
        said = f"{place} answered {listed} when asked for its models"
        refused = _refusal_hint(provider, listed)
        return FoundModel(provider.name, "server", problem=said, advice=refused, has_key=bool(key))
    able = [m for m in listed if not any(word in m.lower() for word in _NO_DEBATERS)]
    chosen = [provider.model] if provider.model else able
    specs = tuple(spec for spec in (ModelSpec(provider.name, m) for m in chosen) if _can_be_written(spec))
    if not specs:
        return FoundModel(provider.name, "server", True, place, (), "it has no model", "Load one into it.")
    return FoundModel(provider.name, "server", True, f"{provider.name} at {place}", specs)


def _refusal_hint(provider: Provider, status: int) -> str:
    name, variable = provider.name, provider.api_key_env
    if status not in (401, 403):
        return "If it is a model server, check base_url: most need /v1 at its end."
    return f"Check the key in {variable}." if variable else f"Set api_key_env in [providers.{name}] of your config."


async def _listed(provider: Provider, key: str) -> list[str] | int | None:
    """The names of a server's models, the status if it refuses to list them, or None if there is no such server.

    Proxies are not used, and redirects are not followed.
    """
    if not await event_loop.in_thread(_listens, provider.base_url):
        return None
    await event_loop.started()
    import asyncio

    import aiohttp  # imported only if something listens there

    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        async with (
            asyncio.timeout(SERVER_SECONDS),
            aiohttp.ClientSession(trust_env=False) as session,
            session.get(f"{provider.base_url}/models", headers=headers, allow_redirects=False) as response,
        ):
            if response.status != 200:
                return response.status
            body = json.loads(await response.content.read(_LARGEST_LIST))
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError, RecursionError):
        return None
    rows = body.get("data") if isinstance(body, dict) else None
    if not isinstance(rows, list):  # another program uses that port
        return None
    return [row["id"] for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str) and row["id"]]


def _listens(url: str) -> bool:
    """Whether anything accepts connections there."""
    place = urlsplit(url)
    port = place.port or (443 if place.scheme == "https" else 80)
    try:
        with socket.create_connection((place.hostname, port), SERVER_SECONDS):
            return True
    except OSError:
        return False


def _can_be_written(spec: ModelSpec) -> bool:
    """A seat is recorded as text, so the text of the spec must be read back as the same spec."""
    try:
        return str(spec).isprintable() and ModelSpec.parse(str(spec)) == spec
    except UsageError:
        return False


def _embedded(env: Mapping[str, str]) -> FoundModel:
    """The models that run inside rebut. The smallest only shows how rebut works, so it is never chosen by itself."""
    if not weights.has_runner():
        return FoundModel(EMBEDDED, "embedded", problem="xllamacpp is not installed", advice="pip install xllamacpp")
    if larger := weights.larger_here(env):
        names, specs = larger[0].name, tuple(ModelSpec(EMBEDDED, one.id) for one in larger)
        return FoundModel(EMBEDDED, "embedded", True, names, specs)
    get = f"Run `rebut models get {RECOMMENDED}` (1.1 GB)."
    if not weights.is_here(env=env):
        return FoundModel(EMBEDDED, "embedded", problem="no model file is downloaded", advice=get)
    small = weights.SMOLLM2.name
    return FoundModel(EMBEDDED, "embedded", True, small, (ModelSpec(EMBEDDED),), advice=get, only_named=True)


async def look_at_analysers(config: Config, env: Mapping[str, str]) -> list[FoundModel]:
    """What `lint` can run here, in the order of the tables."""
    from rebut.backends.linters import tables as analysers

    tables = config.analysers or analysers.load_analysers({})
    return list(await event_loop.gather(*(_analyser(one, env) for one in tables.values())))


async def _analyser(analyser: Analyser, env: Mapping[str, str]) -> FoundModel:
    from rebut.backends.linters import tables as analysers
    from rebut.core.installation import here

    path = analysers.find_executable(analyser, env)
    if path is None:
        return FoundModel(analyser.name, "analyser", problem="not installed", advice=here(analyser.install))
    version = await analysers.version(analyser, path, env)
    return FoundModel(analyser.name, "analyser", True, version or "?")


def programs(found: Sequence[FoundModel]) -> list[FoundModel]:
    """Participants that only the user chooses: analysers, the judge by rules, any model file."""
    from rebut.core.installation import with_extra

    here = ", ".join(f"{one.name} {one.about}" for one in found if one.here)
    return [
        FoundModel("lint", "program", True, here)
        if here
        else FoundModel("lint", "program", problem="no analyser is installed", advice=with_extra("lint")),
        FoundModel("rules", "program", True, "a judge of code by fixed rules"),
        FoundModel("gguf", "program", True, "any model file, as gguf:PATH")
        if weights.has_runner()
        else FoundModel("gguf", "program", problem="xllamacpp is not installed", advice="pip install xllamacpp"),
    ]


def usable(found: Sequence[FoundModel]) -> list[tuple[ModelSpec, FoundModel]]:
    """Every model that rebut may choose, in order."""
    return [(spec, one) for one in found if not one.only_named for spec in one.specs]


def two_of(found: Sequence[FoundModel]) -> list[str]:
    """Two models that the user could name, of two providers if possible; none if there are no two."""
    specs = [spec for spec, _ in usable(found)]
    if len(specs) < 2:
        return []
    other = next((spec for spec in specs if spec.provider != specs[0].provider), specs[1])
    return [specs[0].written, other.written]
