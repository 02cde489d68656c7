"""A debate in a process of its own: `start_debate` begins it and returns its session, `main` runs in that process.

The process belongs to no host: it has a session group and a parent of its own, so that it continues when a host cancels
the call, ends the server or dies. Everything that is known later about the debate is read from its journal.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rebut.core.errors import RebutError, UsageError

if TYPE_CHECKING:
    from rebut.api import Setup
    from rebut.domain.outcome import Outcome
    from rebut.engine.steering import Control
    from rebut.record.record import Record
    from rebut.setup.verbs import FirstLook, Verb
    from rebut.workspace.targets.target import Wanted

START = "from rebut.mcp.debate_process import main; main()"
LOG = "process.log"
"""The file in the session's folder with what its last process printed: nothing unless that process failed."""
PATIENCE = 50.0
"""Seconds to wait until the debate has its session: hosts give up on a call after 60."""
PACE = ("rounds", "both_orders")
"""Settings that `--deep` chooses besides limits; a call through MCP leaves them to the protocol and the config."""
DRAIN = 10.0
"""Seconds that calls in flight get after SIGTERM."""


LONGEST = 64_000_000
"""Bytes of the first line. An error may repeat what the host's model wrote, which may be of any length."""


async def start_debate(request: Mapping[str, Any], folder: Path) -> str:
    """Start the requested debate and return its session. Raises an error if it failed before it had one."""
    with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as printed:
        asked.write(json.dumps(request).encode())
        asked.seek(0)
        reading, writing = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-c", START),
                stdin=asked,
                stdout=writing,
                stderr=printed,
                cwd=folder,
                start_new_session=True,
            )
        finally:
            os.close(writing)
        raw = await _first_line(reading)
        await process.wait()  # it ends at once: a child of its own runs the debate
        printed.seek(0)
        said = printed.read().decode(errors="replace").strip().splitlines()
    if not raw:
        raise RebutError(f"the process of the debate failed: {said[-1] if said else 'it printed nothing'}")
    answer = json.loads(raw)
    if "error" in answer:
        raise UsageError(answer["error"], answer["hint"])
    return str(answer["session"])


async def _first_line(handle: int) -> bytes:
    reader = asyncio.StreamReader(limit=LONGEST)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(handle, "rb")
    )
    try:
        return await asyncio.wait_for(reader.readline(), PATIENCE)
    except TimeoutError:
        raise RebutError(
            f"the debate is still being prepared after {PATIENCE:.0f} s, and will begin",
            'Call result with session "last" in a minute. Do not start it again.',
        ) from None
    finally:
        transport.close()


# in the process of the debate


def main() -> None:
    request = json.load(sys.stdin)
    if os.fork():
        os._exit(0)  # without a parent, a host that ends the server's children does not find the debate
    report = os.dup(1)
    os.dup2(2, 1)  # what other code prints must not be taken for the report
    asyncio.run(_run(request, StartReport(report)))


class StartReport:
    """Tells the server once which session the debate has, or why it did not begin."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def tell(self, **message: Any) -> None:
        if self._handle < 0:
            return
        try:
            os.write(self._handle, json.dumps(message).encode() + b"\n")
        except OSError:
            pass  # the server is gone; the debate continues
        os.close(self._handle)
        self._handle = -1

    def began(self, record: Record, folder: Path) -> None:
        log = os.open(folder / LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        for stream in (1, 2):
            os.dup2(log, stream)
        os.close(log)
        self.tell(session=record.opened.id)


async def _run(request: Mapping[str, Any], report: StartReport) -> None:
    from rebut.api import Setup
    from rebut.core import process
    from rebut.engine.steering import Control
    from rebut.setup.connect import answering

    control = Control()
    backends = {"caller": answering(request.get("answer", ""), request.get("key", ""))}
    try:
        setup = Setup(control=control, on_ready=report.began, backends=backends)
        process.adopts = True
        debate = asyncio.ensure_future(_resumed(setup, request) if "session" in request else _begun(setup, request))
        _obey_signals(debate, control)
        ended = await debate
        report.tell(session=ended if isinstance(ended, str) else ended.session)
    except RebutError as error:  # not told once the debate has begun: its record shows the error
        report.tell(error=error.message, hint=error.hint)
    except asyncio.CancelledError:
        report.tell(error="the debate was stopped before it began", hint="")
    finally:
        process.end_adopted()


def _obey_signals(debate: asyncio.Future[Any], control: Control) -> None:
    """On the first signal, let calls in flight finish and start no others; on the second, drop them."""
    loop, signals = asyncio.get_running_loop(), list[int]()

    def stop(number: int) -> None:
        signals.append(number)
        if len(signals) > 1 or not control.flying:
            debate.cancel()
            return
        control.drain()
        if number == signal.SIGTERM:
            loop.call_later(DRAIN, debate.cancel)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


async def _resumed(setup: Setup, request: Mapping[str, Any]) -> Outcome:
    from rebut import api
    from rebut.mcp.access import check_record

    there, _, record = setup.for_session(request["session"])
    check_record(record, there.config)
    return await api.resume(request["session"], setup=setup)


async def _begun(setup: Setup, request: Mapping[str, Any]) -> Outcome | str:
    """Run a new debate; if the same one is under way or on record, return its session instead."""
    from dataclasses import replace

    from rebut.ci import recorded_reviews
    from rebut.core.errors import PriceUnknown
    from rebut.engine.start import start as begin
    from rebut.mcp.access import check_models
    from rebut.setup import verbs

    check_models(request["models"], setup.config)
    verb, wanted = await _meant(setup, request)
    named: dict[str, Any] = {"context": request.get("context", ()), "run_checks": False}  # whatever the config says
    if wanted is not None:
        named["target"], named["redaction"] = await setup.resolve(wanted)
        named["skip_materialize_opposite"] = True  # nothing is applied, so no patch is written
    look, named["limits"] = _bounded(setup, verb, wanted, request.get("max_usd"))
    try:
        plan = verbs.planned(
            setup,
            verb.protocol,
            request.get("topic", ""),
            first_look=look,
            naming='models: ["{}", "{}"]',
            **named,
        )
    except PriceUnknown as error:
        raise UsageError(error.message, "Leave max_usd out: tokens are limited then.") from error
    if plan.protocol.reviews:
        plan = replace(plan, asked={"verb": verb.name})
    same = recorded_reviews.same_under_way(setup.environment.root, plan)
    if same is None and plan.protocol.reviews:
        same = recorded_reviews.reusable_review(setup.environment.root, plan)
    return same.opened.id if same else await begin(plan, setup.environment)


async def _meant(setup: Setup, request: Mapping[str, Any]) -> tuple[Verb, Wanted | None]:
    """The verb that a call stands for, and its target; None for a question, which has only a topic."""
    from rebut.setup import verbs
    from rebut.workspace.targets.target import Wanted

    models, text = request["models"], request.get("text", "")
    if "change" in request:
        what = request["change"]
        wanted = Wanted(target="code", content=what) if "\n" in what else await verbs.change(what, setup.workspace)
        return verbs.review(models), wanted
    if "path" in request or text:
        wanted = Wanted(target="proposal", content=text) if text else verbs.text_file(request["path"], setup.workspace)
        return verbs.plan(models), wanted
    return verbs.debate(request["protocol"], models), None


def _bounded(
    setup: Setup, verb: Verb, wanted: Wanted | None, max_usd: float | None
) -> tuple[FirstLook, dict[str, float]]:
    """The limits: those of the user's config, else small ones; the call can only lower them."""
    from dataclasses import replace

    from rebut.domain.limits import Limits
    from rebut.engine.protocol import load
    from rebut.setup.defaults import defaults
    from rebut.setup.verbs import FIRST_LOOK

    made = load(verb.protocol)
    look = verb.first_look({}, wanted, deep=wanted is None)
    usual = {**look.limits, "usd": FIRST_LOOK["usd"]}
    config = setup.config
    chosen = {
        name: config.limits[name] for name in config.user_limits
    }  # a limit that only the repository sets raises nothing
    chosen |= defaults(config, made).limits
    limits = {name: value for name, value in chosen.items() if name in Limits.__dataclass_fields__}
    if max_usd is not None and max_usd < limits.get("usd", usual["usd"]):
        limits["usd"] = max_usd
    usual = {name: value for name, value in usual.items() if name not in limits}
    # For a question, the protocol or the config chooses rounds and orders; a review has those of a first look.
    values = look.values if wanted else {name: value for name, value in look.values.items() if name not in PACE}
    thrifty = "usd" not in limits and "tokens" not in limits
    return replace(look, values=values, limits=usual, thrifty=thrifty), limits
