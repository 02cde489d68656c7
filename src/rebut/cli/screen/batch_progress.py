"""How far a batch is: one line that is redrawn on a terminal, else a line every few seconds."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING

from rebut.cli.output import folded, is_plain, width
from rebut.cli.screen.live_rows import roughly

if TYPE_CHECKING:
    from rebut.batch.batch import Batch

REDRAWN, PLAIN = 0.2, 5.0
"""Seconds between two lines: on a terminal, and elsewhere."""
CELLS = 12
"""Columns of the bar."""


class BatchProgress:
    """Shows a batch on standard error."""

    def __init__(self, batch: Batch, quiet: bool) -> None:
        self._batch, self._quiet = batch, quiet
        self._redrawn = sys.stderr.isatty() and not is_plain()
        self._began = time.monotonic()
        self._drawn = False

    async def show(self) -> None:
        while not self._quiet:
            if self._redrawn:
                self._draw()
            await asyncio.sleep(REDRAWN if self._redrawn else PLAIN)
            if not self._redrawn:
                print(f"  {self.line()}", file=sys.stderr, flush=True)

    def line(self, space: int = 0) -> str:
        """How far the batch is, in the longest form that fits into `space` columns; without `space`, without a bar."""
        from rebut.batch.results import total_usd
        from rebut.domain.amounts import money

        batch = self._batch
        rows = batch.rows()
        done, every = len(rows), len(batch.lines)
        failed = sum(bool(row.failure) for row in rows)
        ends = [f"{failed} failed"] if failed else []
        ends.append(money(total_usd(row.usd for row in rows)))
        left = ""
        took = time.monotonic() - self._began
        if batch.ended and took > 0:
            rate = batch.ended / took
            ends.append(f"{rate:.1f}/s" if rate >= 1 else f"{rate * 60:.1f}/min")
            if waiting := len(batch.left) + batch.running:
                left = roughly(waiting / rate)
        said = ", ".join([f"{batch.running} {batch.state}", *ends, *([f"about {left} left"] if left else [])])
        whole = f"{done} of {every} done, {said}"
        if not space:
            return whole
        bar = f"[{'#' * (CELLS * done // every):.<{CELLS}}]"
        short = ", ".join([f"{done}/{every}", *ends, *([f"{left} left"] if left else [])])
        forms = (f"{bar} {whole}", whole, f"{bar} {short}", short, short.replace(", ", " ").removesuffix(" left"))
        return next((form for form in forms if len(form) <= space), forms[-1][:space])

    def note(self, text: str) -> None:
        """Print a text once, above the progress line."""
        if not self._quiet:
            self._clear()
            print(folded(f"  {text}", sys.stderr), file=sys.stderr, flush=True)

    def close(self) -> None:
        self._clear()

    def _draw(self) -> None:
        self._drawn = True
        # Two columns stay free for the ^C that a terminal shows: it would begin another row.
        sys.stderr.write(f"\r\x1b[K  {self.line(width() - 4)}")
        sys.stderr.flush()

    def _clear(self) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn = False
