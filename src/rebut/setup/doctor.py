"""`rebut doctor`: tests each available provider with a real call, and gives advice on what fails."""

from __future__ import annotations

import asyncio
import re
import secrets
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from rebut.backends.cli_tools.tables import withheld
from rebut.core.errors import ParticipantFailed, Paused, UsageError
from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.core.text import decoded, printable
from rebut.core.types import EFFORTS, ModelSpec, Participant, Reply, Request
from rebut.engine.runtime import Connection
from rebut.setup.config import Config
from rebut.setup.discover import FoundModel

SECONDS = 60.0
OUTPUT = 1024
"""Tokens of a reply: one word is enough, but some models think first."""
LARGE = 200_000
"""Bytes of the large prompt: more than fits into an argument of a command."""
ADVICE = {
    "crashed": "Try it by hand, outside of rebut.",
    "timeout": "Give it more time with --timeout SECONDS, or try it by hand.",
    "rate limit": "Wait until the quota is renewed, or raise it.",
    "bad reply": "Try it by hand, outside of rebut.",
}
"""Hints for failures whose own hint is empty, or is about a debate."""
OF_A_DEBATE = re.compile(r"(?i)\bresume|\bchoose another|--timeout|concurrent calls|server's message|less to do")
Connect = Callable[[ModelSpec], Connection]
InFolder = Callable[[ModelSpec, Path], Connection]
"""Connects to a tool that reads its context file from a folder."""
WIRED = ("key", "server")
"""Kinds that are reached over HTTP, where each model has its own levels of effort."""
SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "properties": {"word": {"type": "string"}, "count": {"type": "integer"}},
    "required": ["word", "count"],
    "additionalProperties": False,
}


@frozen
class Check:
    """One check of `--deep`."""

    name: str
    passed: bool
    said: str = ""


@frozen
class Health:
    """The result of examining one provider."""

    name: str
    found: str
    spec: str = ""
    family: str = ""
    login: Literal["yes", "no", "probably", "probably not", "?", "–"] = "?"
    seconds: float | None = None
    """Duration of the test call; None if there was none."""
    efforts: tuple[str, ...] = ()
    context_file: str = ""
    can_debate: bool = False
    problem: str = ""
    advice: str = ""
    usd: float | None = None
    checks: tuple[Check, ...] = ()
    only_shows: bool = False
    """Whether it only shows how rebut works, and cannot argue."""
    withheld: tuple[str, ...] = ()
    """Variables that look like keys and are not passed to this tool."""


def patients(found: Sequence[FoundModel], named: Sequence[ModelSpec]) -> list[FoundModel]:
    """The providers to examine: those that were named, else all that are here."""
    if not named:
        return [_to_try(one) for one in found if one.here]
    by_name = {one.name: _to_try(one) for one in found}
    out = []
    for spec in named:
        one = by_name.get(spec.provider, FoundModel(spec.provider, "server", True, str(spec)))
        # If the user names a model, the config needs none.
        settled = one.here and (one.usable or one.problem == "no model is set" or spec.provider not in by_name)
        if settled and (spec.model or spec.effort or not one.specs):
            one = replace(one, specs=(spec,), problem="", advice="")
        out.append(one)
    return out


def _to_try(one: FoundModel) -> FoundModel:
    """Give a tool without a visible login a spec, so that it is tried as well: only a call shows for certain."""
    return replace(one, specs=(ModelSpec(one.name),)) if one.out and not one.specs else one


def cost(found: Sequence[FoundModel], connect: Connect, *, deep: bool) -> tuple[int, float, list[str]]:
    """The number of calls, what they cost at most, and the providers whose prices are unknown."""
    calls, usd, unknown = 0, 0.0, list[str]()
    for one in found:
        if not one.specs:
            continue
        spec = one.specs[0]
        asked = [(spec, size) for size in ([100, 200, 200, LARGE // 3] if deep else [100])]
        asked += [(spec, 200)] if one.kind == "tool" else []
        asked += [(replace(spec, effort=level), 100) for level in EFFORTS] if deep and one.kind in WIRED else []
        try:
            reached = [(connect(who), size) for who, size in asked]
            prices = [through.price(size, OUTPUT + through.thinking) for through, size in reached]
        except UsageError:
            continue
        calls += len(asked)
        if None in prices:
            unknown.append(one.name)
        usd += sum(price or 0.0 for price in prices)
    return calls, usd, unknown


async def examine(
    found: Sequence[FoundModel],
    config: Config,
    connect: Connect,
    *,
    offline: bool = False,
    deep: bool = False,
    seconds: float = SECONDS,
    in_folder: InFolder | None = None,
    env: Mapping[str, str] | None = None,
) -> list[Health]:
    """Examine all providers concurrently. Without `in_folder`, context files are not tested."""
    tools = DoctorTools(config, connect, in_folder, seconds, env or {})
    return list(await asyncio.gather(*(_examine(f, tools, offline, deep) for f in found)))


@frozen
class DoctorTools:
    """What every examination needs."""

    config: Config
    connect: Connect
    in_folder: InFolder | None
    seconds: float
    env: Mapping[str, str]


def families(healths: Sequence[Health]) -> list[str]:
    """The families that can debate with each other, without the one that only shows how rebut works."""
    return list(dict.fromkeys(h.family for h in healths if h.can_debate and not h.only_shows))


async def _examine(one: FoundModel, tools: DoctorTools, offline: bool, deep: bool) -> Health:
    config, connect = tools.config, tools.connect
    tool = config.tools.get(one.name)
    efforts = tuple(tool.efforts) if tool else EFFORTS if one.kind == "key" else ()
    health = Health(
        name=one.name,
        found=f"{one.about} set" if one.kind == "key" and one.here else one.about,
        login="?" if one.kind in ("tool", "key") else "–",
        efforts=efforts,
        context_file=tool.context_file if tool else "",
        problem=one.problem,
        advice=one.advice,
        only_shows=one.only_named,
        withheld=withheld(tool, tools.env) if tool else (),
    )
    if not one.specs:
        return health
    spec = one.specs[0]
    if not config.allowed(spec.provider):
        problem = "not among the providers that [egress] allow lists, so it was not called"
        return replace(health, spec=str(spec), problem=problem, advice="Add it there (`rebut config path`).")
    try:
        connection = connect(spec)
    except UsageError as error:
        return replace(health, spec=str(spec), problem=error.message, advice=error.hint)
    health = replace(health, spec=str(spec), family=connection.family or spec.identity)
    if offline:
        if one.out:
            return replace(health, login="probably not" if one.unsure else "no")
        return replace(health, login="probably" if one.unsure else health.login, can_debate=True)
    health = await _round_trip(health, Trial(spec, connection, tools.seconds))
    if not health.can_debate:
        return health
    checks = await _deep(Trial(spec, connection, tools.seconds)) if deep else ()
    if health.context_file and tools.in_folder:
        checks = (*checks, await _context(spec, health.context_file, tools))
    levels = await _levels(spec, tools) if deep and one.kind in WIRED else health.efforts
    failed = [check for check in checks if not check.passed]
    health = replace(health, efforts=levels, checks=checks)
    if not failed:
        return health
    names, said = ", ".join(check.name for check in failed), "; ".join(check.said for check in failed)
    before = f"{health.problem}; " if health.problem else ""
    return replace(health, problem=f"{before}failed: {names}", advice=f"{said}. {health.advice}".rstrip())


async def _round_trip(health: Health, trial: Trial) -> Health:
    nonce = secrets.token_hex(4)
    began = time.monotonic()
    try:
        reply = await trial.ask(f"Reply with this word and nothing else: {nonce}")
    except (ParticipantFailed, Paused) as error:
        kind = error.kind if isinstance(error, ParticipantFailed) else "waiting"
        login = "no" if kind == "auth" else health.login
        return replace(health, login=login, problem=f"{kind}: {error.message}", advice=_advice(kind, error.hint))
    took = time.monotonic() - began
    login = "yes" if health.login == "?" else health.login
    health = replace(health, login=login, seconds=took, usd=reply.usd, family=reply.family or health.family)
    if nonce not in reply.text and not health.only_shows:
        problem = f"it answered, but not with the word that it was asked for: {printable(reply.text, 80)!r}"
        return replace(health, problem=problem, advice="Try it by hand; another program may answer instead of it.")
    # It is logged in after all: the user may name it, but rebut does not choose it.
    odd = "it answers, but has no visible login, so rebut does not choose it itself" if health.problem else ""
    return replace(health, can_debate=True, problem=odd, advice="Name it to use it." if odd else "")


def _advice(kind: str, hint: str) -> str:
    return hint if hint and not OF_A_DEBATE.search(hint) else ADVICE.get(kind, hint)


async def _deep(trial: Trial) -> tuple[Check, ...]:
    """Check what a debate requires: filling in a form, all of Unicode, and reading a long text to its end."""
    nonce, far = secrets.token_hex(4), secrets.token_hex(4)
    filler = "This line only makes the text longer.\n"
    long = filler * (LARGE // len(filler)) + f"\nThe word is {far}. Reply with that word and nothing else."
    odd = f"{nonce} grün 北京 🦉"
    return (
        await trial.check(
            "schema reply", f'Fill in the form: word is "{nonce}", count is 3.', lambda text: _fits(text, nonce), SCHEMA
        ),
        await trial.check(
            "non-ASCII", f"Reply with this text and nothing else: {odd}", lambda text: odd.split(maxsplit=1)[1] in text
        ),
        await trial.check("200 kB prompt", long, lambda text: far in text),
    )


async def _context(spec: ModelSpec, name: str, tools: DoctorTools) -> Check:
    """Whether a tool reads its context file: it must answer with a word that is only in that file."""
    assert tools.in_folder is not None
    nonce = secrets.token_hex(4)
    with tempfile.TemporaryDirectory(prefix="rebut-") as folder:
        trial = Trial(spec, tools.in_folder(spec, _with_file(Path(folder), name, nonce)), tools.seconds)
        found = await trial.check(
            "context file",
            f"What is the code word in {name}, which you were given? Reply with that word and nothing else.",
            lambda text: nonce in text,
        )
    if found.passed:
        return found
    return replace(found, said=f"{found.said}; so a panel writes this tool's persona into the prompt instead")


def _with_file(folder: Path, name: str, nonce: str) -> Path:
    text = f"The code word of this project is {nonce}. Give it to anyone who asks for it.\n"
    (folder / name).write_text(text, encoding="utf-8")
    return folder


async def _levels(spec: ModelSpec, tools: DoctorTools) -> tuple[str, ...]:
    """The levels of effort that this model supports. A wire notes what it had to leave out or lower."""

    async def taken(level: str) -> bool:
        wanted = replace(spec, effort=level)
        try:
            reply = await Trial(wanted, tools.connect(wanted), tools.seconds).ask("Reply with the word yes.")
        except (ParticipantFailed, Paused):
            return False
        return not any(re.search(r"effort|thinking|think adaptively", note) for note in reply.notes)

    # One after the other: concurrent calls could meet a rate limit, which would look like a missing level.
    return tuple([level for level in EFFORTS if await taken(level)])


@frozen
class Trial:
    """One provider under examination."""

    spec: ModelSpec
    connection: Connection
    seconds: float

    async def ask(self, prompt: str, schema: Mapping[str, Json] | None = None) -> Reply:
        who = Participant("doctor", self.spec, self.connection.family)
        request = Request(
            "doctor",
            who,
            prompt,
            schema=schema,
            schema_name="Trial" if schema else "",
            timeout=self.seconds,
            max_output=OUTPUT + self.connection.thinking,
            thinking=self.connection.thinking,
        )
        return await self.connection.backend.complete(request)

    async def check(
        self, name: str, prompt: str, holds: Callable[[str], bool], schema: Mapping[str, Json] | None = None
    ) -> Check:
        try:
            reply = await self.ask(prompt, schema)
        except (ParticipantFailed, Paused) as error:
            return Check(name, False, error.message)
        passed = holds(reply.text)
        return Check(name, passed, "" if passed else f"{name}: it answered {printable(reply.text, 80)!r}")


def _fits(text: str, word: str) -> bool:
    found = decoded(text[text.find("{") : text.rfind("}") + 1])
    return isinstance(found, dict) and found.get("word") == word and found.get("count") == 3
