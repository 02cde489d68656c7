"""The screen: a debate as it goes on, as plain lines to a pipe, as a live view on a terminal."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from rebut import report
from rebut.cli.saying import plain, say, width
from rebut.events import Answered, Asked, Attempt, Fact, Failed, Line
from rebut.record import Record
from rebut.text import clean, cut

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text


class Screen:
    """Follows a debate as its events come in. On standard error, so that standard output is the result alone."""

    def __init__(self, quiet: bool = False, label: str = "") -> None:
        self.quiet = quiet
        self.label = label
        """What must be said of this debate for as long as it moves, such as that it is scripted."""
        self.live: Live | None = None
        self.record: Record | None = None
        self._round = ""
        self._held: list[Answered] = []
        self._asked: dict[str, tuple[Asked, float]] = {}
        self._tail: dict[str, str] = {}
        self._gone: set[str] = set()
        """Keys whose failure was told; that it is open again for resume need not be."""
        self._waits: dict[str, tuple[str, float]] = {}
        self._stopping = 0.0
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

    def ready(self, record: Record) -> None:
        """The debate is on record: show who sits where, and, on resume, what was said already."""
        if self.quiet:
            return
        self.record = record
        fact = record.facts.get("notes")
        self.told = [str(note) for note in fact.value] if fact and isinstance(fact.value, list) else []
        self._line("")
        for row in report.header(record, width=width()):
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
        match line.event:
            case Asked(patient=False) as e:
                self._flush()
                self._heading(e.key)
                self._asked[e.key] = (e, time.monotonic())
                self._gone.discard(e.key)
                if plain():
                    step, _, seat = e.key.rpartition("/")[2].rpartition("@")
                    self._line(f"{seat}: {step}, asked{'' if e.why == 'ask' else f' again ({e.why})'}")
                self._start_live()
            case Attempt() as e:
                self._asked.pop(e.key, None)
                self._tail.pop(e.key, None)
                self._waits.pop(e.key, None)
                if not self._asked:
                    self._stop_live()  # it must not redraw while a person types
            case _:
                pass
        self._settled(line)

    def _settled(self, line: Line) -> None:
        match line.event:
            case Answered() as e:
                if any(_step(one.key) != _step(e.key) for one in self._held):
                    self._flush()
                self._held.append(e)  # what it brought to the ledger is known when its siblings have answered, too
            case Fact(key=key) as e if told := report.decided(e):
                self._flush()
                self._line(f"    {told}")
            case Fact(key=key) as e if key.endswith("#ledger"):
                self._brought(e, key.removesuffix("#ledger"))
            case Failed(key=key) as e if key not in self._gone or not e.reopened:
                self._flush()
                self._gone.add(key)
                step, _, seat = e.key.rpartition("/")[2].rpartition("@")
                self._heading(e.key)
                said = cut(f"{e.failure}, {e.message}", width() - 27 - self._column)
                self._line(f"    {seat:<{self._column}} {step:<11} failed: {said}")
            case _:
                pass

    def _brought(self, ledger: Fact, key: str) -> None:
        """What one answer, or the last of them, entered in the ledger."""
        mine = [one for one in self._held if (_step(one.key), _seat(one.key)) == (_step(key), _seat(key))]
        if not mine:  # an entry of one seat belongs beside that seat's turn, also when its siblings have answered, too
            by = report.entered_by(ledger)
            mine = [one for one in self._held if _step(one.key) == _step(key) and by == {one.seat}]
        if not mine and self._held and report.together(ledger, self._held[-1].seat):
            self._flush()
            self._line(f"    {'together':<{self._column}} {'; '.join(report.counted(ledger))}".rstrip())
            return
        if not mine:
            self._flush(ledger)
            return
        for one in mine:
            self._held.remove(one)
            self._turn(one, ledger)

    def _flush(self, ledger: Fact | None = None) -> None:
        held, self._held = self._held, []
        for n, one in enumerate(held, 1):
            self._turn(one, ledger if n == len(held) else None)

    def _turn(self, answered: Answered, ledger: Fact | None) -> None:
        if self.record:
            self._heading(answered.key)
            self._line(report.turn(self.record, answered, ledger, width=width()))

    @property
    def _column(self) -> int:
        return report.column(self.record) if self.record else 11

    def _heading(self, key: str) -> None:
        scope = key.rpartition("/")[0]
        if scope != self._round:
            self._round = scope
            match = re.fullmatch(r"r(\d+)", scope)
            self._line(f"  round {match[1]}" if match else f"  {scope}" if scope else "  closing")

    def _line(self, text: str) -> None:
        with suppress(OSError):  # a terminal that went away must not take the debate with it
            if self.live:
                self.live.console.print(clean(text), markup=False, highlight=False, emoji=False, soft_wrap=True)
            else:
                say(text, sys.stderr)

    # what moves while models think

    def _start_live(self) -> None:
        if self.live or plain() or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
            return
        from rich.console import Console
        from rich.live import Live

        console = Console(file=sys.stderr, highlight=False)
        # Nothing is redirected: what others print is not ours to interpret.
        self.live = Live(
            console=console,
            get_renderable=self._moving,
            refresh_per_second=5,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self.live.start(refresh=True)

    def _stop_live(self) -> None:
        if self.live:
            self.live.stop()
            self.live = None

    def _moving(self) -> Text:
        from rich.text import Text

        rows = []
        for key, (asked, since) in list(self._asked.items()):
            step, _, seat = key.rpartition("/")[2].rpartition("@")
            took = report.duration(time.monotonic() - since)
            why = f" ({asked.why})" if asked.why != "ask" else ""
            head = f"    {seat:<{self._column}} {step:<11} {took:>8}{why}"
            said = _readable(self._tail.get(key, ""))
            room = width() - len(head) - 5
            if key in self._waits:
                rows.append(f"{head}  {self._waiting(key)}")
                continue
            rows.append(head + (f'  "{said[-room:]}"' if said and room > 10 else ""))
        for one in self._held if rows else ():
            took = report.duration(one.ms / 1000)
            rows.append(
                f"    {_seat(one.key):<{self._column}} {_step(one.key).rpartition('/')[2]:<11} {took:>8}  answered"
            )
        if rows and self.record and self.record.attempts_made:
            total = self.record.spent()
            total = replace(total, in_doubt=total.in_doubt - len(self._asked))  # those in flight are not in doubt yet
            rows.append(f"    {'so far':<23} {report.spent(total)}")
        if self.label and rows:
            rows.append(f"    {cut(self.label, width() - 5)}")
        if self._stopping and rows:
            left = max(0.0, self._stopping - time.monotonic())
            who = " and ".join(f"the {key.rpartition('@')[2]}" for key in self._asked)
            rows.append(f"  letting {who} finish (up to {left:.0f} s; Ctrl-C again to drop it) …")
        rows += self.foot(width()) if rows else []
        return Text("\n".join(clean(r) for r in rows), no_wrap=True, overflow="ellipsis")

    def text(self, key: str, piece: str) -> None:
        """Text streams in: progress only."""
        if self.live:
            self._tail[key] = (self._tail.get(key, "") + piece)[-600:]

    def waits(self, key: str, words: str) -> None:
        """A call must wait, or goes on: a person who sees only the seconds pass would think the model slow."""
        self._waits.pop(key, None)
        if not words or self.quiet:
            return
        self._waits[key] = (words, time.monotonic())
        if not self.live:  # to a pipe, where nothing moves, it is said once
            step, _, seat = key.rpartition("/")[2].rpartition("@")
            self._heading(key)
            self._line(f"    {seat:<11} {step:<11} {words}")

    def _waiting(self, key: str) -> str:
        """The words as they were, with the seconds that are left now."""
        words, since = self._waits[key]
        gone = time.monotonic() - since
        return re.sub(r"again in (\d+) s", lambda m: f"again in {max(0, int(m[1]) - int(gone))} s", words)

    def paused(self, stops: bool) -> None:
        """Ctrl-Z: nothing moves and no cursor is hidden until we go on."""
        if stops:
            self._stop_live()
        elif self._asked:
            self._start_live()

    def stopping(self, timeout: float) -> None:
        """The first Ctrl-C."""
        waiting = [key.rpartition("@")[2] for key in self._asked]
        since = min((at for _, at in self._asked.values()), default=time.monotonic())
        self._stopping = since + timeout
        left = max(0.0, self._stopping - time.monotonic())
        if self.quiet:
            return
        if self.live and waiting:
            return  # the moving lines say it
        if waiting:
            who = " and ".join(f"the {w}" for w in dict.fromkeys(waiting))
            self._line(f"\n  letting {who} finish (up to {left:.0f} s; Ctrl-C again to drop it) …")
        else:
            self._line("\n  stopping …")

    def close(self) -> None:
        self._stop_live()
        self._flush()


def _readable(text: str) -> str:
    """The words in a stream of JSON, for a glimpse of what is being said."""
    plain = text.replace("\\n", " ").replace('\\"', "'")
    return " ".join(re.sub(r'"[a-z_]+":|[{}\[\]]|",?|(?<=\s),(?=\s|$)', " ", plain).split())


def _seat(key: str) -> str:
    return key.rpartition("@")[2]


def _step(key: str) -> str:
    """Scope and step of a key, without the part that tells its siblings apart."""
    return key.rpartition("@")[0].partition(".")[0] if "@" in key else key.partition(".")[0]
