"""The screen: a debate as it goes on, as plain lines to a pipe, as a live view on a terminal."""

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

from rebut.cli.output import fitted, plain, say, width
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

TOLD = {"ask": "", "again": " again, since the first request was lost on its way"}


class Screen:
    """Follows a debate as its events come in. On standard error, so that standard output is the result alone."""

    def __init__(self, quiet: bool = False, label: str = "") -> None:
        self.quiet = quiet
        self.moving = LiveRows(label)
        """The label is what must be said for as long as the debate moves, such as that it is scripted."""
        self.live: Live | None = None
        self.record: Record | None = None
        self._round = ""
        self._stay: set[str] = set()
        """Keys whose points stay below their turn: they were asked in this run, and no ending lists them again."""
        self._spoken: dict[str, tuple[LiveAnswer, int]] = {}
        """How many points of an answer were told already, where nothing moves."""
        self._gone: set[str] = set()
        """Keys whose failure was told; that it is open again for resume need not be."""
        self._looked = False
        self.foot: Callable[[int], list[str]] = lambda width: []
        """The last lines of the moving part, such as the keys that work now."""
        self.told: list[str] = []
        """Notes that were shown at the start, and need not be shown again at the end."""

    # what is printed for good

    def looking(self) -> None:
        """Nobody named a seat: tools are asked for their versions, which some take seconds to tell."""
        if not self.quiet and not self._looked and sys.stderr.isatty():
            self._looked = True
            self._line("  looking who can sit down here; nobody is called yet …")

    def ready(self, record: Record, folder: Path | None = None, planned: Mapping[str, int] | None = None) -> None:
        """The debate is on record: show who sits where, and, on resume, what was said already."""
        if self.quiet:
            return
        self.record = record
        if folder is not None and self._moves:
            self.moving.planned = planned or {}
            self.moving.history = Timings.beside(folder.parent).history()
        self.told = record.notes
        self._line("")
        for row in terminal.header(record, width=width()):
            self._line(row)
        self._line("")
        for line in record.lines:
            self._settled(line)
        self._flush()
        if record.answers and not record.closed:
            self._line("  (so far from the record)")

    def event(self, line: Line) -> None:
        """Called by the journal for each event."""
        if self.quiet or self.record is None:
            return
        if self._moves:
            self.moving.note(self.record)
        match line.event:
            case Asked(patient=False) as e:
                self._flush()
                self._heading(e.key)
                self.moving.asked[e.key] = (e, time.monotonic())
                if e.why != "again":  # lost before it was heard at all, and sent once more: whoever listens goes on
                    self.moving.heard.pop(e.key, None)  # sent back, or asked again: what it said before is void
                self._gone.discard(e.key)
                if plain():
                    step, _, seat = e.key.rpartition("/")[2].rpartition("@")
                    self._line(f"{seat}: {step}, asked{TOLD.get(e.why, f' again ({e.why})')}")
                self._start_live()
            case Attempt() as e:
                self.moving.asked.pop(e.key, None)
                self.moving.waits.pop(e.key, None)
                if not self.moving.asked:
                    self._stop_live()  # it must not redraw while a person types
            case _:
                pass
        self._settled(line)

    def _settled(self, line: Line) -> None:
        match line.event:
            case Answered() as e:
                if any(step_of(one.key) != step_of(e.key) for one in self.moving.held):
                    self._flush()
                self.moving.held.append(e)
            case Fact(key=key) as e if told := terminal.decided(e):
                self._flush()
                self._line(f"    {told}")
            case Fact(key=key) as e if key.endswith("#ledger"):
                self._brought(e, key.removesuffix("#ledger"))
            case Failed(key=key) as e if key not in self._gone or not e.reopened:
                self._flush()
                self.moving.heard.pop(key, None)
                self._gone.add(key)
                step, _, seat = e.key.rpartition("/")[2].rpartition("@")
                self._heading(e.key)
                said = cut(f"{e.failure}, {e.message}", width() - 27 - self._column)
                self._line(f"    {seat:<{self._column}} {step:<11} failed: {said}")
            case _:
                pass

    def _brought(self, ledger: Fact, key: str) -> None:
        """What one answer, or the last of them, entered in the ledger."""
        mine = [one for one in self.moving.held if (step_of(one.key), seat_of(one.key)) == (step_of(key), seat_of(key))]
        by = terminal.entered_by(ledger)
        if not mine:  # an entry of one seat belongs beside that seat's turn, also when its siblings have answered, too
            mine = [one for one in self.moving.held if step_of(one.key) == step_of(key) and by == {one.seat}]
        if not mine and self.moving.held and by - {self.moving.held[-1].seat}:  # not of the last turn's seat alone
            self._flush()
            self._apart(by.pop() if len(by) == 1 else "together", ledger)  # one whose turn was told before another's
            self._below(ledger)
            return
        if not mine:
            self._flush(ledger)
            return
        for one in mine:
            self.moving.held.remove(one)
            # Parts of one step have one entry between them, which none of them brought alone.
            self._turn(one, ledger if len(mine) == 1 else None)
        if len(mine) > 1:
            self._apart("together", ledger)

    def _apart(self, who: str, ledger: Fact) -> None:
        """What stands beside no turn."""
        known = ledger_of(self.record).ids() if self.record else ()
        told = f"    {who:<{self._column}} {'; '.join(terminal.entered(ledger, known))}".rstrip()
        for row in terminal.hanging(told, width(), 5 + self._column):
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
            self.moving.heard.pop(answered.key, None)

    def _below(self, ledger: Fact) -> None:
        """Whoever saw points come keeps them; a log has their count. They are the ones on record now, as checked."""
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
        with suppress(OSError):  # a terminal that went away must not take the debate with it
            if self.live:
                self.live.console.print(
                    fitted(text, sys.stderr), markup=False, highlight=False, emoji=False, soft_wrap=True
                )
            else:
                say(text, sys.stderr)

    # what moves while models think

    def _start_live(self) -> None:
        if self.live or not self._moves:
            return
        from rich.console import Console
        from rich.live import Live

        console = Console(file=sys.stderr, highlight=False)
        # Nothing is redirected: what others print is not ours to interpret.
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
    def _moves(self) -> bool:
        return sys.stderr.isatty() and not plain() and os.environ.get("TERM") != "dumb"

    def _rows(self) -> Text:
        from rich.text import Text

        rows = self.moving.rows(width())
        rows += self.foot(width()) if rows else []
        # Where the terminal has no ellipsis, one spelt out is wider than its row, and the rows would pile up.
        shown = [fitted(row, sys.stderr) for row in rows]
        ellipsis = fitted("…", sys.stderr) == "…"
        return Text("\n".join(shown), no_wrap=True, overflow="ellipsis" if ellipsis else "crop")

    def heard(self, key: str, hearing: LiveAnswer) -> None:
        """A call begins, or a point of its answer is whole or looked up. Not on record: it is shown, and it may go."""
        if self.quiet or (hearing.size and self.moving.heard.get(key) is not hearing):
            return  # the turn was printed meanwhile, or the answer was sent back
        self.moving.heard[key] = hearing
        if not hearing.size and hearing.stays:
            self._stay.add(key)
        if plain() and sys.stderr.isatty():
            self._speak(key, hearing)

    def _speak(self, key: str, hearing: LiveAnswer) -> None:
        """Where nothing moves, each point is one line, once it was looked up."""
        known, told = self._spoken.get(key, (hearing, 0))
        told = told if known is hearing else 0
        for point in hearing.points[told:]:
            if not point.looked_up:
                break
            told += 1
            self._stay.discard(key)  # it was said: below its turn it would be said twice
            self._line(f"{seat_of(key)} says: {live_rows.spoken(point)}")
        self._spoken[key] = (hearing, told)

    def waits(self, key: str, words: str) -> None:
        """A call must wait, or goes on: a person who sees only the seconds pass would think the model slow."""
        self.moving.waits.pop(key, None)
        if not words or self.quiet:
            return
        self.moving.waits[key] = (words, time.monotonic())
        if not self.live:  # to a pipe, where nothing moves, it is said once
            step, _, seat = key.rpartition("/")[2].rpartition("@")
            self._heading(key)
            self._line(f"    {seat:<11} {step:<11} {words}")

    def paused(self, stops: bool) -> None:
        """Ctrl-Z: nothing moves and no cursor is hidden until we go on."""
        if stops:
            self._stop_live()
        elif self.moving.asked:
            self._start_live()

    def stopping(self, timeout: float) -> None:
        """The first Ctrl-C."""
        waiting = [key.rpartition("@")[2] for key in self.moving.asked]
        since = min((at for _, at in self.moving.asked.values()), default=time.monotonic())
        self.moving.stopping = since + timeout
        left = max(0.0, self.moving.stopping - time.monotonic())
        if self.quiet:
            return
        if self.live and waiting:
            return  # the moving lines say it
        if waiting:
            who = " and ".join(f"the {w}" for w in dict.fromkeys(waiting))
            self._line(f"\n  letting {who} finish (up to {left:.0f} s; Ctrl-C again to drop it) …")
        else:
            self._line("\n  stopping …")

    def abandon(self) -> None:
        """From another thread, when the program hangs: nothing moves any more, and the cursor is there again."""
        stopping = threading.Thread(target=self._stop_live, daemon=True)  # what hangs may hold the terminal itself
        stopping.start()
        stopping.join(0.1)

    def close(self) -> None:
        self._stop_live()
        self._flush()
