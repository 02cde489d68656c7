"""The stage: runs a debate under signals, shows it, and turns its ending into output and an exit code."""

from __future__ import annotations

import asyncio
import json
import shlex
import signal
import sys
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rebut import report, session
from rebut.api import Desk
from rebut.cli.saying import say, say_json, width
from rebut.cli.screen import Screen
from rebut.contract import Contract
from rebut.endings import progress
from rebut.errors import Interrupted, Paused, ProtocolError, RebutError, WaitingForCaller
from rebut.events import Asked, Attempt, Line
from rebut.outcome import Outcome
from rebut.record import Record
from rebut.room import Connection, Control

LONGEST = 86_400
"""Seconds of the longest --deadline: a day, as long as the longest debate."""


def perform(
    act: Callable[[Desk], Awaitable[Outcome]],
    *,
    as_json: bool = False,
    quiet: bool = False,
    deadline: float | None = None,
    backends: Mapping[str, Connection] | None = None,
    everything: bool = False,
    judge: Callable[[Outcome], Judged] | None = None,
) -> int:
    """Run one debate to its end, its pause or its failure. `everything`: findings that are hidden by default, too."""
    stage = Stage(as_json, quiet, deadline, backends)
    stage.everything = everything
    stage.judge = judge
    try:
        outcome = asyncio.run(stage.run(act))
    except RebutError as error:
        return stage.failed(error)
    except Exception as error:
        # The last resort: a protocol of one's own may break in any way, and its debate is still on record.
        if stage.record is None or not stage.record.opened.source:
            raise
        return stage.failed(_broken(error, stage.record.opened.source))
    return stage.ended(outcome)


@dataclass(frozen=True, slots=True)
class Judged:
    """An outcome as it is shown, and what else there is to say about it."""

    outcome: Outcome
    code: int
    rows: tuple[str, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)


def _broken(error: Exception, source: str) -> ProtocolError:
    """A bug in somebody's protocol, told by its own last line and not by ours."""
    at = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == source]
    where = f"{Path(source).name}, line {at[-1]}" if at else Path(source).name
    return ProtocolError(f"{where}: {type(error).__name__}: {error}", "Mend the file, then resume.")


class Stage:
    """One command's run of one debate."""

    def __init__(
        self,
        as_json: bool,
        quiet: bool,
        deadline: float | None,
        backends: Mapping[str, Connection] | None = None,
    ) -> None:
        if deadline is not None and not 0 < deadline <= LONGEST:
            from rebut.errors import UsageError

            raise UsageError(f"--deadline must be above 0 and at most {LONGEST:,} s, got {deadline:g}")
        self.as_json = as_json
        self.backends = backends
        self.screen = Screen(quiet or as_json)
        self.control = Control(deadline=deadline, on_text=self.screen.text, on_wait=self.screen.waits)
        self.record: Record | None = None
        self.root: Path | None = None
        self.everything = False
        self.judge: Callable[[Outcome], Judged] | None = None
        self._signals = 0
        self._in_flight: set[str] = set()

    async def run(self, act: Callable[[Desk], Awaitable[Outcome]]) -> Outcome:
        desk = Desk(
            control=self.control,
            listener=self._event,
            on_ready=self._ready,
            on_look=self.screen.looking,
            backends=self.backends,
        )
        self.root = desk.table.root
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(act(desk))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._signal, task)
        try:
            return await task
        except asyncio.CancelledError:
            raise Interrupted("dropped on request") from None
        finally:
            self.screen.close()

    def _ready(self, record: Record, folder: Path) -> None:
        self.record = record
        self.screen.ready(record)

    def _event(self, line: Line) -> None:
        if isinstance(line.event, Asked):
            self._in_flight.add(line.event.key)
        elif isinstance(line.event, Attempt):
            self._in_flight.discard(line.event.key)
        self.screen.event(line)

    def _signal(self, task: asyncio.Future[Outcome]) -> None:
        """The first signal starts nothing new and waits; the second drops what is in flight."""
        self._signals += 1
        if self._signals == 1 and self.record is not None and self._in_flight:
            self.control.drain()
            limit = self.record.limits.get("timeout")
            self.screen.stopping(float(limit) if isinstance(limit, int | float) else 240.0)
        else:
            task.cancel()

    def failed(self, error: RebutError) -> int:
        """A debate that did not come to its end: what happened, and how to go on."""
        id = self.record.opened.id if self.record else ""
        if self.as_json:
            said: dict[str, object] = {
                "error": error.message,
                "hint": error.hint,
                "exit": error.exit_code,
                "session": id or None,
            }
            if isinstance(error, Paused) and id:
                said["resume"] = f"rebut resume {id}"
            say_json(said | (_turn(error, id) if isinstance(error, WaitingForCaller) else {}))
            return error.exit_code
        if isinstance(error, WaitingForCaller):
            turn = _turn(error, id)
            form = f"\n\nAnswer with JSON that fits this schema:\n{json.dumps(error.schema)}" if error.schema else ""
            say(f"{error.question}{form}")
            say(f"\nrebut: {error.message}\n  Answer with   {turn['answer_with']}", sys.stderr)
            return error.exit_code
        if not isinstance(error, Interrupted):
            say("\n".join([f"rebut: {error}", *(f"  {note}" for note in getattr(error, "__notes__", ()))]), sys.stderr)
        if self.record and self.root:
            short = session.short(self.root, id)
            word = "stopped" if isinstance(error, Paused) else "this debate can go on"
            say(f"  {word}. {progress(self.record)}.\n  Go on with   rebut resume {short}", sys.stderr)
        return error.exit_code

    def ended(self, outcome: Outcome) -> int:
        judged = self.judge(outcome) if self.judge else Judged(outcome, outcome.exit_code)
        outcome = judged.outcome
        if self.as_json:
            say_json({**brief(outcome), **judged.extra, "exit": judged.code})
        else:
            say("", sys.stderr)
            short = session.short(self.root, outcome.session) if self.root else outcome.session
            told, everything = self.screen.told, self.everything
            say(report.ending(outcome, width=width(), short=short, told=told, everything=everything), emphasis=True)
            if judged.rows:
                say("\n".join(["", *judged.rows]), emphasis=True)
            if self.record is None and outcome.complete:
                say(f"\n  this session is closed; go on from it with   rebut fork {short} …", sys.stderr)
        return judged.code


def _turn(error: WaitingForCaller, id: str) -> dict[str, object]:
    """What the caller needs for its turn. With the key, one given twice cannot answer another question."""
    turn = {"session": id, "key": error.key, "question": error.question, "schema": error.schema}
    again = {"followup": error.followup} if error.followup else {}
    return {**turn, **again, "answer_with": f"rebut answer {id} --key {shlex.quote(error.key)} --file -"}


def brief(outcome: Outcome) -> dict[str, object]:
    """The outcome for machines, without the long texts: `rebut show ID --json` has everything."""
    full: dict[str, object] = dict(outcome.to_json())
    for name in ("final", "data"):
        full.pop(name)
    ledger = outcome.ledger
    full["ledger"] = {
        "claims": len(ledger.claims),
        "unsupported": [c.id for c in ledger.unsupported],
        "points": [
            {"id": p.id, "severity": p.severity, "status": ledger.final_status(p.id), "text": p.text[:300]}
            for p in ledger.points
        ],
        "citations": dict(ledger.marks()),
        "slips": [f"{s.point} {s.kind} by {s.by} in round {s.round}" for s in ledger.slips],
    }
    if isinstance(contract := outcome.data.get("contract"), dict):
        full["review"] = _review(Contract.from_json(contract))
    return {**full, "exit": outcome.exit_code}


def _review(made: Contract) -> dict[str, object]:
    """A review in short: what was decided, and every finding in a line."""
    findings = [
        {"id": f.id, "severity": f.severity, "where": f.place, "quote": f.mark, "judge": f.ruling, "text": f.text[:300]}
        | ({"dismissed": f.dismissed} if f.dismissed else {})
        for f in made.findings
    ]
    names = ("session", "target", "rounds", "converged", "decision", "artifact", "stopped_by")
    short: dict[str, object] = {name: getattr(made, name) for name in names}
    return {**short, "choices": [h.taken for h in made.history], "findings": findings}
