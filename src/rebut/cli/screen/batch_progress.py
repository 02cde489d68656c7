"""How far a batch is: one line that is redrawn on a terminal, else a line every few seconds."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING

from rebut.cli.output import is_plain, width
from rebut.cli.screen.live_rows import roughly

if TYPE_CHECKING:
    from rebut.batch.batch import Batch

REDRAWN, PLAIN = 0.2, 5.0
"""Seconds between two lines: on a terminal, and elsewhere."""


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

    def line(self) -> str:
        batch = self._batch
        rows = batch.rows()
        failed = sum(bool(row.failure) for row in rows)
        usd = sum(row.usd or 0.0 for row in rows)
        parts = [f"{len(rows)} of {len(batch.lines)} done", f"{batch.running} {batch.state}"]
        parts += [f"{failed} failed"] if failed else []
        parts += [f"${usd:.2f}"]
        took = time.monotonic() - self._began
        if batch.ended and took > 0:
            rate = batch.ended / took
            parts.append(f"{rate:.1f}/s" if rate >= 1 else f"{rate * 60:.1f}/min")
            if waiting := len(batch.left) + batch.running:
                parts.append(f"about {roughly(waiting / rate)} left")
        return ", ".join(parts)

    def note(self, text: str) -> None:
        """Say something once."""
        if not self._quiet:
            self._clear()
            print(f"  {text}", file=sys.stderr, flush=True)

    def close(self) -> None:
        self._clear()

    def _draw(self) -> None:
        self._drawn = True
        sys.stderr.write(f"\r\x1b[K  {self.line()}"[: width() + 3])
        sys.stderr.flush()

    def _clear(self) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn = False
