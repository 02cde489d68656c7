"""Shows the progress of a debate: as plain lines to a pipe, as a live view on a terminal."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rebut.cli.output import fitted, is_plain, say, width
from rebut.cli.screen import live_rows
from rebut.cli.screen.live_rows import LiveRows
from rebut.core.text import cut
from rebut.domain.session_status import ledger_of
from rebut.engine.live_answer import LiveAnswer
from rebut.record.events import Answered, Asked, Attempt, Fact, Failed, Line
from rebut.record.record import Record, seat_of, step_of
from rebut.record.timings import Timings
from rebut.reports import terminal

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

REASONS = {"ask": "", "again": " again (the first request was lost)"}


class Screen:
    """Shows the events of a debate on standard error; standard output gets the result only."""

    def __init__(self, quiet: bool = False, label: str = "") -> None:
        self.quiet = quiet
        self.moving = LiveRows(label)
        """The label is shown while the debate runs, such as that it is scripted."""
        self.live: Live | None = None
        self.record: Record | None = None
        self._round = ""
        self._stay: set[str] = set()
        """Keys whose points stay below their answer: asked in this run, and not listed again at the end."""
        self._spoken: dict[str, tuple[LiveAnswer, int]] = {}
        """How many points of an answer were printed already, without a live view."""
        self._gone: set[str] = set()
        """Keys whose failure was shown; when resume opens them again, nothing is shown."""
        self._looked = False
        self.foot: Callable[[int], list[str]] = lambda width: []
        """The last rows of the live view, such as the hotkeys."""
        self.notes: list[str] = []
        """Notes that were shown at the start, so not again at the end."""

    # what stays on the screen

    def looking(self) -> None:
        """Say that rebut looks for models: no model was named, and asking tools for their version may take seconds."""
        if not self.quiet and not self._looked and sys.stderr.isatty():
            self._looked = True
            self._line("  looking for models (no call is made) …")

    def preparing(self) -> None:
        """Say that rebut reads the workspace: before the debate is on record, that may take many seconds."""
        if not self.quiet and self.record is None:
            self._line("  reading the workspace …")

    def ready(self, record: Record, folder: Path | None = None, planned: Mapping[str, int] | None = None) -> None:
        """Show which model has which seat and, on resume, the answers so far. Called once the debate is on record."""
        if self.quiet:
            return
        self.record = record
        if folder is not None and self._is_live:
            self.moving.planned = planned or {}
            self.moving.history = Timings.beside(folder.parent).history()
        self.notes = record.notes
        self._line("")
        for row in terminal.header(record, width=width()):
            self._line(row)
        self._line("")
        for line in record.lines:
            self._settled(line)
        self._flush()
        if record.answers and not record.closed:
            self._line("  (the answers above are from the record)")

    def event(self, line: Line) -> None:
        """Called by the journal for each event."""
        if self.quiet or self.record is None:
            return
        if self._is_live:
            self.moving.note(self.record)
        match line.event:
            case Asked(patient=False) as e:
                self._flush()
                self._heading(e.key)
                self.moving.asked[e.key] = (e, time.monotonic())
                if e.why != "again":  # a lost request that is sent again has streamed nothing
                    self.moving.answers.pop(e.key, None)  # sent back or asked again: the old answer no longer counts
                self._gone.discard(e.key)
                if is_plain():
                    step, _, seat = e.key.rpartition("/")[2].rpartition("@")
                    self._line(f"{seat}: {step}, asked{REASONS.get(e.why, f' again ({e.why})')}")
                self._start_live()
            case Attempt() as e:
                self.moving.asked.pop(e.key, None)
                self.moving.waits.pop(e.key, None)
                if not self.moving.asked:
                    self._stop_live()  # no redrawing while a person types
            case _:
                pass
        self._settled(line)

    def _settled(self, line: Line) -> None:
        match line.event:
            case Answered() as e:
                if any(step_of(one.key) != step_of(e.key) for one in self.moving.held):
                    self._flush()
                self.moving.held.append(e)
            case Fact(key=key) as e if decision := terminal.decided(e):
                self._flush()
                if key == "settle" and self.record and "more" in self.record.facts:
                    decision += ", nor the one that was added"
                for row in terminal.hanging(f"    {decision}", width(), 6):
                    self._line(row)
            case Fact(key=key) as e if key.endswith("#ledger"):
                self._show_entry(e, key.removesuffix("#ledger"))
            case Failed(key=key) as e if key not in self._gone or not e.reopened:
                self._flush()
                self.moving.answers.pop(key, None)
                self._gone.add(key)
                self._heading(e.key)
                said = cut(terminal.failure_line(e), width() - 27 - self._column)
                self._line(f"{live_rows.row_head(e.key, self._column)} failed: {said}")
            case _:
                pass

    def _show_entry(self, ledger: Fact, key: str) -> None:
        """Print an entry of the ledger: with the answer that it belongs to, or in a row of its own."""
        mine = [one for one in self.moving.held if (step_of(one.key), seat_of(one.key)) == (step_of(key), seat_of(key))]
        by = terminal.entered_by(ledger)
        if not mine:  # an entry of one seat belongs to that seat's answer, even if others have answered since
            mine = [one for one in self.moving.held if step_of(one.key) == step_of(key) and by == {one.seat}]
        if not mine and self.moving.held and by - {self.moving.held[-1].seat}:  # not of the last seat alone
            self._flush()
            self._show_apart(by.pop() if len(by) == 1 else "together", ledger)  # its answer is above another one
            self._below(ledger)
            return
        if not mine:
            self._flush(ledger)
            return
        for one in mine:
            self.moving.held.remove(one)
            # The answers of a step share one entry.
            self._turn(one, ledger if len(mine) == 1 else None)
        if len(mine) > 1:
            self._show_apart("together", ledger)

    def _show_apart(self, who: str, ledger: Fact) -> None:
        """Print an entry that belongs to no single answer."""
        known = ledger_of(self.record).ids() if self.record else ()
        line = f"    {who:<{self._column}} {'; '.join(terminal.entered(ledger, known))}".rstrip()
        for row in terminal.hanging(line, width(), 5 + self._column):
            self._line(row)

    def _flush(self, ledger: Fact | None = None) -> None:
        held, self.moving.held = self.moving.held, []
        for n, one in enumerate(held, 1):
            self._turn(one, ledger if n == len(held) else None)

    def _turn(self, answered: Answered, ledger: Fact | None) -> None:
        if self.record:
            self._heading(answered.key)
            self._line(terminal.turn(self.record, answered, ledger, width=width()))
            if ledger and answered.key in self._stay:
                self._below(ledger)
            self.moving.answers.pop(answered.key, None)

    def _below(self, ledger: Fact) -> None:
        """On a terminal, keep the points below their answer, as checked; a log only has their count."""
        if sys.stderr.isatty() and self._stay:
            for row in live_rows.recorded(ledger, width()):
                self._line(row)

    @property
    def _column(self) -> int:
        return terminal.column(self.record) if self.record else 11

    def _heading(self, key: str) -> None:
        scope = key.rpartition("/")[0]
        if scope != self._round:
            self._round = scope
            match = re.fullmatch(r"r(\d+)", scope)
            self._line(f"  round {match[1]}" if match else f"  {scope}" if scope else "  closing")

    def _line(self, text: str) -> None:
        with suppress(OSError):  # a terminal that is gone must not stop the debate
            if self.live:
                self.live.console.print(
                    fitted(text, sys.stderr), markup=False, highlight=False, emoji=False, soft_wrap=True
                )
            else:
                say(text, sys.stderr)

    # the live view

    def _start_live(self) -> None:
        if self.live or not self._is_live:
            return
        from rich.console import Console
        from rich.live import Live

        console = Console(file=sys.stderr, highlight=False)
        # Nothing is redirected: output of other code is left unchanged.
        self.live = Live(
            console=console,
            get_renderable=self._rows,
            refresh_per_second=5,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        with suppress(OSError):  # as in `_line`
            self.live.start(refresh=True)

    def _stop_live(self) -> None:
        live, self.live = self.live, None
        if live:
            with suppress(OSError):
                live.stop()

    @property
    def _is_live(self) -> bool:
        return sys.stderr.isatty() and not is_plain() and os.environ.get("TERM") != "dumb"

    def _rows(self) -> Text:
        from rich.text import Text

        rows = self.moving.rows(width())
        rows += self.foot(width()) if rows else []
        # Without an ellipsis character, `...` would make a row too wide, and rows would wrap.
        shown = [fitted(row, sys.stderr) for row in rows]
        ellipsis = fitted("…", sys.stderr) == "…"
        return Text("\n".join(shown), no_wrap=True, overflow="ellipsis" if ellipsis else "crop")

    def streamed(self, key: str, answer: LiveAnswer) -> None:
        """Show an answer before it is on record. Called when a call starts, and when a point is complete or checked."""
        if self.quiet or (answer.size and self.moving.answers.get(key) is not answer):
            return  # the answer was printed or sent back meanwhile
        self.moving.answers[key] = answer
        if not answer.size and answer.stays:
            self._stay.add(key)
        if is_plain() and sys.stderr.isatty():
            self._print_points(key, answer)

    def _print_points(self, key: str, answer: LiveAnswer) -> None:
        """Without a live view, print each point as one line, once it is checked."""
        known, count = self._spoken.get(key, (answer, 0))
        count = count if known is answer else 0
        for point in answer.points[count:]:
            if not point.looked_up:
                break
            count += 1
            self._stay.discard(key)  # printed here, so not again below its answer
            self._line(f"{seat_of(key)} says: {live_rows.spoken(point)}")
        self._spoken[key] = (answer, count)

    def waits(self, key: str, words: str) -> None:
        """Show that a call has to wait, so that the model does not seem slow; without `words`, that it continues."""
        self.moving.waits.pop(key, None)
        if not words or self.quiet:
            return
        self.moving.waits[key] = (words, time.monotonic())
        if not self.live:  # without a live view it is printed once
            self._heading(key)
            self._line(f"{live_rows.row_head(key, self._column)} {words}")

    def paused(self, stops: bool) -> None:
        """Ctrl-Z: stop the live view and show the cursor until the process continues."""
        if stops:
            self._stop_live()
        elif self.moving.asked:
            self._start_live()

    def stopping(self, timeout: float) -> None:
        """Show, after the first Ctrl-C, which seats are waited for."""
        waiting = [seat_of(key) for key in self.moving.asked]
        since = min((at for _, at in self.moving.asked.values()), default=time.monotonic())
        self.moving.stopping = since + timeout
        left = max(0.0, self.moving.stopping - time.monotonic())
        if self.quiet:
            return
        if self.live and waiting:
            return  # the live view says it
        if waiting:
            self._line("\n" + live_rows.finishing(waiting, left))
        else:
            self._line("\n  stopping …")

    def abandon(self) -> None:
        """From another thread, when the program hangs: stop the live view and show the cursor."""
        stopping = threading.Thread(target=self._stop_live, daemon=True)  # the terminal itself may hang
        stopping.start()
        stopping.join(0.1)

    def close(self) -> None:
        self._stop_live()
        self._flush()
