"""Runs the debate of a command: handles signals, shows progress, prints the outcome and returns the exit code."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import field
from pathlib import Path

from rebut.api import Setup
from rebut.cli.deadline import began, on_alarm, switch_off
from rebut.cli.json_result import brief
from rebut.cli.live_page import LivePage
from rebut.cli.options import LONGEST, wants_page
from rebut.cli.output import folded, rows_of_terminal, say, say_json, width
from rebut.cli.screen import hotkeys
from rebut.cli.screen.hotkeys import Keys
from rebut.cli.screen.screen import Screen
from rebut.core import process, scratch
from rebut.core.errors import (
    Aborted,
    DeadlineReached,
    Interrupted,
    Paused,
    ProtocolError,
    RebutError,
    ReplayMismatch,
    TooFewReplies,
    WaitingForCaller,
)
from rebut.core.frozen import frozen
from rebut.core.lazy_pattern import LazyPattern
from rebut.domain.outcome import Outcome, nothing_yet, so_far
from rebut.domain.session_status import ledger_of, progress, seated
from rebut.engine.live_answer import LiveAnswer
from rebut.engine.resume import kill_all
from rebut.engine.runtime import Control
from rebut.record import sessions
from rebut.record.events import Asked, Attempt, Failed, Line
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
    """Run one debate until it ends, pauses or fails. `everything` also shows findings that are hidden by default."""
    run = CommandRun(as_json, quiet, deadline, backends, began=began())
    run.everything = everything
    run.judge = judge
    on_alarm(run.print_so_far)
    result = run.play(act)
    switch_off()
    code = run.report(result)
    if run.page:
        run.page.stay()
    return code


@frozen
class Judged:
    """An outcome as it is shown, with the result of a gate or a comparison."""

    outcome: Outcome
    code: int
    rows: tuple[str, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)
    failed: RebutError | None = None
    """An error after the debate, such as a file that could not be written: reported after the outcome."""
    ending: Callable[..., str] = terminal.ending
    """How the outcome is shown."""
    instead: str | None = None
    """A text that is printed unchanged in place of the outcome."""


def _broken(error: Exception, source: str) -> ProtocolError:
    """An exception in a protocol of the user, reported with the line in its file."""
    at = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == source]
    where = f"{Path(source).name}, line {at[-1]}" if at else Path(source).name
    return ProtocolError(f"{where}: {type(error).__name__}: {error}", "Fix the file, then resume.")


DRAIN = 10.0
"""Seconds that calls in flight get after SIGTERM or SIGHUP."""
SLOW = 2.0
"""Seconds without anything on the screen before rebut says what it does."""


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
        self.control = Control(deadline=deadline, on_wait=self._waits, began=began)
        self.page = LivePage(self.control) if wants_page() else None
        self._streams = not (quiet or as_json) and sys.stderr.isatty()
        """Whether the screen shows points while they are written; otherwise only once they are on record."""
        if self._streams or self.page:
            self.control.on_heard = self._heard
        if self.page:
            self.backends = {**self.page.backends(), **(backends or {})}
        self.keys = Keys(self.control) if hotkeys.wanted(quiet or as_json) else None
        if self.keys:
            self.screen.foot = self.keys.foot
        self.record: Record | None = None
        self.root: Path | None = None
        self.folder: Path | None = None
        self.everything = False
        self.repeats = True
        """Whether the result is repeated last on a terminal that is too low for the whole of it."""
        self.judge: Callable[[Outcome], Judged] | None = None
        self._slow = threading.Timer(SLOW, self.screen.preparing)  # a thread, since the loop may be busy
        self._slow.daemon = True
        self._signals = 0
        self._in_flight: set[str] = set()

    def play(self, act: Act) -> Outcome | RebutError:
        """Run the debate; returns the outcome, or the error that stopped it."""
        try:
            return asyncio.run(self.run(act))
        except RebutError as error:
            return error
        except Exception as error:  # a protocol of the user may raise anything; our own bugs are raised again
            if self.record is None or not self.record.opened.source:
                raise
            return _broken(error, self.record.opened.source)

    def report(self, result: Outcome | RebutError) -> int:
        """Print the outcome or the error, and return the exit code."""
        try:
            return self.failed(result) if isinstance(result, RebutError) else self.ended(result)
        except OSError as error:
            if self.record is None or error.filename:
                raise
            return self._not_printed(result, error)

    def _not_printed(self, result: Outcome | RebutError, error: OSError) -> int:
        """Report that the result cannot be printed. Exit code 2 would mean that no model was called, and 0 success."""
        sys.stdout = None  # what cannot be written now cannot be flushed at exit either
        id = self.record.opened.id if self.record else ""
        where = f"\n  The result is on record:   rebut show {id}" if id and self.folder and self.folder.is_dir() else ""
        with suppress(OSError):
            say(f"rebut: the output could not be written: {error.strerror}{where}", sys.stderr)
        return result.exit_code or 3

    async def run(self, act: Act) -> Outcome:
        setup = Setup(
            control=self.control,
            listener=self._event,
            on_ready=self._ready,
            on_look=self.screen.looking,
            backends=self.backends,
        )
        self.root = setup.environment.root
        self._slow.start()
        process.adopts = (
            began() is not None
        )  # not where rebut runs inside another program, which has children of its own
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(self._in_time(act, setup))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._signal, task, number)
        if self.keys:
            self.keys.open(self.screen.paused)
        try:
            return await task
        except asyncio.CancelledError:
            raise Interrupted("dropped on request") from None
        finally:
            process.end_adopted()
            self._slow.cancel()
            if self.keys:
                self.keys.close()
            self.screen.close()
            if self.page:
                await self.page.stop()

    async def _in_time(self, act: Act, setup: Setup) -> Outcome:
        """The outcome, or at the deadline the outcome so far, from the record."""

        async def work() -> Outcome:
            return await act(setup)

        try:
            outcome = await self.control.bounded(work())
        except DeadlineReached as late:
            outcome = self._so_far(late.message)
        if not outcome.complete:
            # Closing the loop would wait for every thread, also for one in which a model still answers.
            asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())
        return outcome

    def _so_far(self, why: str) -> Outcome:
        """The outcome so far, from the record alone."""
        if self.record is None or not self.record.lines or self.folder is None or not self.folder.is_dir():
            return nothing_yet(why)
        if self.record.closed:  # the debate ended in time; the steps after it did not
            whole = Outcome.from_json(self.record.closed.outcome)
            note = "the debate is complete; later steps, such as --apply, may not be done"
            return whole.filled(complete=False, stopped=why, notes=(*whole.notes, note))
        return so_far(self.record.answers).filled(
            stopped=why,
            ledger=ledger_of(self.record),
            seats=seated(self.record),
            spent=self.record.spent(),
            session=self.record.opened.id,
        )

    def print_so_far(self) -> None:
        """When the time is up, in another thread: restore the terminal, end child processes, print the result."""
        if self.keys:
            self.keys.restore()
        self.screen.abandon()
        if self.record:
            kill_all(self.record)
        process.end_all()  # tools that were asked for their version are not on record
        self.judge = None
        self.report(self._so_far(self.control.late().message))

    def _ready(self, record: Record, folder: Path) -> None:
        self._slow.cancel()
        # Not earlier: a resumed debate first records which of its own tools it had to end.
        asyncio.get_running_loop().run_in_executor(None, scratch.remove_remains, os.environ)
        self.record, self.folder = record, folder
        self.screen.ready(record, folder, self.control.calls)
        if self.page:
            self.page.ready(record, folder)

    def _event(self, line: Line) -> None:
        if isinstance(line.event, Asked):
            self._in_flight.add(line.event.key)
        elif isinstance(line.event, Attempt):
            self._in_flight.discard(line.event.key)
        if self.page and isinstance(line.event, Attempt | Failed):
            self.page.controls.ended(line.event.key)
        self.screen.event(line)

    def _heard(self, key: str, answer: LiveAnswer) -> None:
        if self.page:
            self.page.controls.heard(key, answer)
        if self._streams:
            self.screen.streamed(key, answer)

    def _waits(self, key: str, reason: str) -> None:
        if self.page:
            self.page.controls.waits(key, reason)
        self.screen.waits(key, reason)

    def _signal(self, task: asyncio.Future[Outcome], number: int) -> None:
        """The first signal waits for calls in flight and starts no new ones; the second drops them.

        A person who presses Ctrl-C can press it again. Another program that ends this one (SIGTERM), or a terminal that
        is closed (SIGHUP), will not: there the wait is short.
        """
        self._signals += 1
        if self._signals == 1 and self.record is not None and self._in_flight:
            self.control.drain()
            limit = self.record.limits.get("timeout")
            wait = float(limit) if isinstance(limit, int | float) else 240.0
            if number != signal.SIGINT:
                wait = min(wait, DRAIN)
                asyncio.get_running_loop().call_later(wait, task.cancel)
            self.screen.stopping(wait)
        else:
            task.cancel()

    def failed(self, error: RebutError) -> int:
        """Print why a debate did not end, and how to continue."""
        id = self.record.opened.id if self.record else ""
        if self.as_json:
            say_json(self.as_dict(error))
            return error.exit_code
        if (found := self._cause(error)) and self.root and not getattr(error, "__notes__", ()):
            then = found.then.format(sessions.short(self.root, id))
            kept = f" {progress(self.record)}." if self.record and self.record.answers else ""
            say(folded(f"rebut: {found.why}\n  {found.helps} Then: `{then}`.{kept}", sys.stderr), sys.stderr)
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
        if self.record and self.root and self.folder and self.folder.is_dir():  # a refused session has no folder
            short = sessions.short(self.root, id)
            word = "Stopped" if isinstance(error, Paused) else "You can resume this debate"
            message = f"  {word}: {progress(self.record)}.\n  Continue with   rebut resume {short}"
            if isinstance(error, ReplayMismatch):  # resume would fail again: the hint says what helps
                message = f"  So far, {progress(self.record)}."
            say(folded(message, sys.stderr), sys.stderr)
        return error.exit_code

    def _cause(self, error: RebutError) -> Unanswered | None:
        """Why no model answered and what helps, if that stopped the debate and the user can fix it."""
        there = self.record and self.folder and self.folder.is_dir()
        if not (there and self.record and isinstance(error, Aborted | TooFewReplies)):
            return None
        return unanswered(self.record)

    def ended(self, outcome: Outcome) -> int:
        judge = self.judge if outcome.session else None  # without a session there is nothing to judge
        judged = judge(outcome) if judge else Judged(outcome, outcome.exit_code)
        outcome, failed = judged.outcome, judged.failed
        code = judged.code or (failed.exit_code if failed else 0)
        if self.as_json:
            error = {"error": failed.message, "hint": failed.hint} if failed else {}
            say_json({**brief(outcome, {**judged.extra, **error}), "exit": code})
        elif judged.instead is not None:
            print(judged.instead.rstrip("\n"), flush=True)
        else:
            say("", sys.stderr)
            short = sessions.short(self.root, outcome.session) if self.root and outcome.session else outcome.session
            notes, everything = self.screen.notes, self.everything
            shown = judged.ending(outcome, width=width(), short=short, told=notes, everything=everything)
            say(shown, emphasis=True)
            if judged.rows:
                say("\n".join(["", *judged.rows]), emphasis=True)
            if not any(label == "files" for label, _ in outcome.rows) and (places := self._written()):
                say(folded(f"  files: {', '.join(places)}", sys.stdout, 4))
            # A review has its summary in the last line; other outcomes in the first, which may have left the screen.
            if self.repeats and outcome.review is None and shown.count("\n") + 2 > rows_of_terminal():
                say("\n".join(["", *terminal.in_short(outcome, width())]), emphasis=True)
            if self.record is None and outcome.complete and not self.screen.quiet:
                say(f"\n  To try another model on it:   rebut fork {short} …", sys.stderr)
        if failed:
            say(folded(f"rebut: {failed}", sys.stderr), sys.stderr)
        return code

    def _written(self) -> list[str]:
        """The folders in which the debate wrote files, relative to the current one; without its session and .git."""
        if self.record is None or self.root is None:
            return []
        paths = [Path(path) for path in self.record.wrote]
        folders = {path.parent for path in paths if not path.is_relative_to(self.root) and ".git" not in path.parts}
        here = Path.cwd().resolve()
        tops = sorted(one for one in folders if folders.isdisjoint(one.parents) and os.path.lexists(one))
        return [f"{one.relative_to(here) if one.is_relative_to(here) and one != here else one}/" for one in tops]

    def as_dict(self, result: Outcome | RebutError) -> dict[str, object]:
        """The outcome or the error, as JSON."""
        if isinstance(result, Outcome):
            return brief(result)
        error, id = result, self.record.opened.id if self.record else ""
        cause = self._cause(error)
        message, hint = (cause.why, cause.helps) if cause else (error.message, error.hint)
        said: dict[str, object] = {"error": message, "hint": hint, "exit": error.exit_code}
        said["session"] = (id if self.folder and self.folder.is_dir() else "") or None
        if isinstance(error, Paused) and id:
            said["resume"] = f"rebut resume {id}"
        return said | (self._turn(error, id) if isinstance(error, WaitingForCaller) else {})

    def _turn(self, error: WaitingForCaller, id: str) -> dict[str, object]:
        """What the caller needs to answer. The key makes sure that a repeated answer is for the same question."""
        turn: dict[str, object] = {"session": id, "key": error.key, "question": error.question, "schema": error.schema}
        if error.followup:
            turn["followup"] = error.followup
        if self.folder:
            # Coding agents cut long output; a file can be read in parts.
            form = f"\n\nThe schema of the answer:\n\n{json.dumps(error.schema, indent=2)}" if error.schema else ""
            file = self.folder / "question.md"
            with suppress(OSError):
                file.write_text(f"{error.question}{form}\n", encoding="utf-8", errors="replace")
                turn["question_file"] = str(file)
        return {**turn, "answer_with": f"rebut answer {id} --key {shlex.quote(error.key)} --file -"}


# A debate that stopped because models did not answer: the cause once, and what the user can do about it.

FIXABLE = ("auth", "missing tool", "rate limit")
"""Failures that asking again does not fix, but the user can."""
PASSING = ("crashed", "timeout")
"""Failures that may be over when the debate is resumed."""
LATER = "Try again later, or name another model: `rebut models` lists what is here."
CODES = LazyPattern(r"(?: · [\w.-]+)+(?=;|$)")
"""What a provider adds to its message for programs."""
DOCTOR = "`rebut doctor` tests each of them."


@frozen
class Unanswered:
    """Why models did not answer, and what helps."""

    why: str
    helps: str
    then: str
    """The command that continues; {} stands for the session."""


def unanswered(record: Record) -> Unanswered | None:
    """What stopped the debate and what helps; None if some of the last failures have another cause."""
    failed = record.last_failures
    if not failed or not all(one.failure in PASSING or (one.failure in FIXABLE and one.hint) for one in failed):
        return None
    whys: dict[str, list[str]] = {}
    for one in failed:
        spec = _spec(record, one)
        names = whys.setdefault(CODES.sub("", one.message.removeprefix(f"{spec}: ")), [])
        if (name := f"{spec} ({one.seat})") not in names:
            names.append(name)
    (why, who), *others = whys.items()
    more = f"; {sum(len(names) for _, names in others)} more did not answer either" if others else ""
    gone = {one.seat: _spec(record, one) for one in failed if one.failure == "missing tool"}
    same = [str(seat["seat"]) for seat in record.opened.seats if seat["spec"] in gone.values()]
    other = " ".join(f"--seat {seat}=SPEC" for seat in dict.fromkeys([*gone, *same]))
    return Unanswered(
        f"{' and '.join(who)} did not answer: {why}{more}",
        " ".join(dict.fromkeys([*(one.hint or LATER for one in failed), *([DOCTOR] if others else [])])),
        f"rebut fork {{}} {other}" if other else "rebut resume {}",
    )


def _spec(record: Record, failed: Failed) -> str:
    asked = record.calls[failed.key].asked if failed.key in record.calls else {}
    return asked[max(asked)].spec if asked else failed.seat
