"""The stage: runs a debate under signals, shows it, and turns its ending into output and an exit code."""

from __future__ import annotations

import asyncio
import json
import shlex
import signal
import sys
import traceback
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rebut.api import Setup
from rebut.cli.deadline import before_the_end, began, hush
from rebut.cli.json_result import brief
from rebut.cli.options import LONGEST
from rebut.cli.output import folded, plain, say, say_json, width
from rebut.cli.screen import hotkeys
from rebut.cli.screen.hotkeys import Keys
from rebut.cli.screen.screen import Screen
from rebut.core import process
from rebut.core.errors import (
    DeadlineReached,
    Interrupted,
    Paused,
    ProtocolError,
    RebutError,
    ReplayMismatch,
    WaitingForCaller,
)
from rebut.domain.outcome import Outcome, nothing_yet, so_far
from rebut.domain.session_status import ledger_of, progress, seated
from rebut.engine.resume import kill_all
from rebut.engine.runtime import Control
from rebut.record import sessions
from rebut.record.events import Asked, Attempt, Line
from rebut.record.record import Record
from rebut.reports import terminal
from rebut.setup.connect import Custom

Act = Callable[[Setup], Awaitable[Outcome]]


def perform(
    act: Act,
    *,
    as_json: bool = False,
    quiet: bool = False,
    deadline: float | None = None,
    backends: Mapping[str, Custom] | None = None,
    everything: bool = False,
    judge: Callable[[Outcome], Judged] | None = None,
) -> int:
    """Run one debate to its end, its pause or its failure. `everything`: findings that are hidden by default, too."""
    run = CommandRun(as_json, quiet, deadline, backends, began=began())
    run.everything = everything
    run.judge = judge
    before_the_end(run.last_word)
    came_of_it = run.play(act)
    hush()
    return run.tell(came_of_it)


@dataclass(frozen=True, slots=True)
class Judged:
    """An outcome as it is shown, and what else there is to say about it."""

    outcome: Outcome
    code: int
    rows: tuple[str, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)
    failed: RebutError | None = None
    """What else was asked for and could not be done: told after the ending, which must not be lost with it."""


def _broken(error: Exception, source: str) -> ProtocolError:
    """A bug in somebody's protocol, told by its own last line and not by ours."""
    at = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == source]
    where = f"{Path(source).name}, line {at[-1]}" if at else Path(source).name
    return ProtocolError(f"{where}: {type(error).__name__}: {error}", "Mend the file, then resume.")


class CommandRun:
    """One command's run of one debate."""

    def __init__(
        self,
        as_json: bool,
        quiet: bool,
        deadline: float | None,
        backends: Mapping[str, Custom] | None = None,
        label: str = "",
        began: float | None = None,
    ) -> None:
        if deadline is not None and not 0 < deadline <= LONGEST:
            from rebut.core.errors import UsageError

            raise UsageError(f"--deadline must be above 0 and at most {LONGEST:,} s, got {deadline:g}")
        self.as_json = as_json
        self.backends = backends
        self.screen = Screen(quiet or as_json, label)
        self.control = Control(deadline=deadline, on_wait=self.screen.waits, began=began)
        if not (quiet or as_json) and sys.stderr.isatty():  # else nobody sees a point before it is on record
            self.control.on_heard = self.screen.heard
        self.keys = Keys(self.control) if hotkeys.wanted(quiet or as_json, plain()) else None
        if self.keys:
            self.screen.foot = self.keys.foot
        self.record: Record | None = None
        self.root: Path | None = None
        self.folder: Path | None = None
        self.everything = False
        self.judge: Callable[[Outcome], Judged] | None = None
        self._signals = 0
        self._in_flight: set[str] = set()

    def play(self, act: Act) -> Outcome | RebutError:
        """Run it, to its outcome or to what stopped it."""
        try:
            return asyncio.run(self.run(act))
        except RebutError as error:
            return error
        except Exception as error:  # a protocol of one's own may break in any way; what is ours is raised again
            if self.record is None or not self.record.opened.source:
                raise
            return _broken(error, self.record.opened.source)

    def tell(self, came_of_it: Outcome | RebutError) -> int:
        """Show how it ended, and give the exit code."""
        try:
            return self.failed(came_of_it) if isinstance(came_of_it, RebutError) else self.ended(came_of_it)
        except OSError as error:
            if self.record is None or error.filename:
                raise
            return self._unheard(came_of_it, error)

    def _unheard(self, came_of_it: Outcome | RebutError, error: OSError) -> int:
        """It ended, and nobody could be told: 2 would say that nothing was called, and 0 that all is well."""
        sys.stdout = None  # what could not be written now cannot be flushed at exit either
        id = self.record.opened.id if self.record else ""
        where = f"\n  It is on record:   rebut show {id}" if id and self.folder and self.folder.is_dir() else ""
        with suppress(OSError):
            say(f"rebut: the output could not be written: {error.strerror}{where}", sys.stderr)
        return came_of_it.exit_code or 3

    async def run(self, act: Act) -> Outcome:
        setup = Setup(
            control=self.control,
            listener=self._event,
            on_ready=self._ready,
            on_look=self.screen.looking,
            backends=self.backends,
        )
        self.root = setup.environment.root
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(self._in_time(act, setup))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._signal, task)
        if self.keys:
            self.keys.open(self.screen.paused)
        try:
            return await task
        except asyncio.CancelledError:
            raise Interrupted("dropped on request") from None
        finally:
            if self.keys:
                self.keys.close()
            self.screen.close()

    async def _in_time(self, act: Act, setup: Setup) -> Outcome:
        """The result, at the latest when the deadline comes: where nothing else can be said, what is on record."""

        async def work() -> Outcome:
            return await act(setup)

        try:
            outcome = await self.control.bounded(work())
        except DeadlineReached as late:
            outcome = self._so_far(late.message)
        if not outcome.complete:
            # Closing the loop would wait for every thread, also for the one in which a model thinks.
            asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())
        return outcome

    def _so_far(self, why: str) -> Outcome:
        """What the record alone says, when the protocol cannot be asked any more."""
        if self.record is None or not self.record.lines or self.folder is None or not self.folder.is_dir():
            return nothing_yet(why)
        if self.record.closed:  # it was decided in time; what was cut off came after it
            whole = Outcome.from_json(self.record.closed.outcome)
            note = "the debate itself is whole; what was to follow it, such as --apply, may not be done"
            return whole.filled(complete=False, stopped=why, notes=(*whole.notes, note))
        return so_far(self.record.answers).filled(
            stopped=why,
            ledger=ledger_of(self.record),
            seats=seated(self.record),
            spent=self.record.spent(),
            session=self.record.opened.id,
        )

    def last_word(self) -> None:
        """Said from another thread when the time is up and the program hangs: the terminal, the tools, the result."""
        if self.keys:
            self.keys.restore()
        self.screen.abandon()
        if self.record:
            kill_all(self.record)
        process.end_all()  # those that were only asked who they are stand on no record
        self.judge = None
        self.tell(self._so_far(self.control.late().message))

    def _ready(self, record: Record, folder: Path) -> None:
        self.record, self.folder = record, folder
        self.screen.ready(record, folder, self.control.calls)

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
            say_json(self.told(error))
            return error.exit_code
        if isinstance(error, WaitingForCaller):
            turn = self._turn(error, id)
            form = f"\n\nAnswer with JSON that fits this schema:\n{json.dumps(error.schema)}" if error.schema else ""
            say(f"{error.question}{form}", verbatim=True)
            say(f"\nrebut: {error.message}\n  Answer with   {turn['answer_with']}", sys.stderr)
            return error.exit_code
        if not isinstance(error, Interrupted):
            rows = [f"rebut: {error}", *(f"  {note}" for note in getattr(error, "__notes__", ()))]
            say(folded("\n".join(rows), sys.stderr), sys.stderr)
        if self.record and self.root and self.folder and self.folder.is_dir():  # refused, it is not kept
            short = sessions.short(self.root, id)
            word = "stopped" if isinstance(error, Paused) else "this debate can go on"
            told = f"  {word}. {progress(self.record)}.\n  Go on with   rebut resume {short}"
            if isinstance(error, ReplayMismatch):  # resume would come to the same: the hint names what helps
                told = f"  {progress(self.record)}."
            say(folded(told, sys.stderr), sys.stderr)
        return error.exit_code

    def ended(self, outcome: Outcome) -> int:
        judge = self.judge if outcome.session else None  # of nothing there is nothing to judge
        judged = judge(outcome) if judge else Judged(outcome, outcome.exit_code)
        outcome, failed = judged.outcome, judged.failed
        code = judged.code or (failed.exit_code if failed else 0)
        if self.as_json:
            error = {"error": failed.message, "hint": failed.hint} if failed else {}
            say_json({**brief(outcome, {**judged.extra, **error}), "exit": code})
        else:
            say("", sys.stderr)
            short = sessions.short(self.root, outcome.session) if self.root and outcome.session else outcome.session
            told, everything = self.screen.told, self.everything
            say(terminal.ending(outcome, width=width(), short=short, told=told, everything=everything), emphasis=True)
            if judged.rows:
                say("\n".join(["", *judged.rows]), emphasis=True)
            if self.record is None and outcome.complete:
                say(f"\n  this session is closed; go on from it with   rebut fork {short} …", sys.stderr)
        if failed:
            say(folded(f"rebut: {failed}", sys.stderr), sys.stderr)
        return code

    def told(self, came_of_it: Outcome | RebutError) -> dict[str, object]:
        """How it ended, for machines."""
        if isinstance(came_of_it, Outcome):
            return brief(came_of_it)
        error, id = came_of_it, self.record.opened.id if self.record else ""
        said: dict[str, object] = {"error": error.message, "hint": error.hint, "exit": error.exit_code}
        said["session"] = (id if self.folder and self.folder.is_dir() else "") or None
        if isinstance(error, Paused) and id:
            said["resume"] = f"rebut resume {id}"
        return said | (self._turn(error, id) if isinstance(error, WaitingForCaller) else {})

    def _turn(self, error: WaitingForCaller, id: str) -> dict[str, object]:
        """What the caller needs for its turn. With the key, one given twice cannot answer another question."""
        turn: dict[str, object] = {"session": id, "key": error.key, "question": error.question, "schema": error.schema}
        if error.followup:
            turn["followup"] = error.followup
        if self.folder:
            # Hosts cut long output short; a file they can read piece by piece.
            form = f"\n\nThe schema of the answer:\n\n{json.dumps(error.schema, indent=2)}" if error.schema else ""
            file = self.folder / "question.md"
            with suppress(OSError):
                file.write_text(f"{error.question}{form}\n", encoding="utf-8", errors="replace")
                turn["question_file"] = str(file)
        return {**turn, "answer_with": f"rebut answer {id} --key {shlex.quote(error.key)} --file -"}
