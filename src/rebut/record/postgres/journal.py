"""A journal in a database: the same lines with the same hashes, made durable by the writer's thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rebut.core.errors import RecordError, RecordLost
from rebut.record.events import Line
from rebut.record.journal import Journal, Read
from rebut.record.postgres.writer import Append, Lease, Writer

if TYPE_CHECKING:
    import asyncio


class DatabaseJournal(Journal):
    """Writes a journal in a database. Holds the session's lease from `open` to `close`."""

    at_once = False

    def __init__(
        self, folder: Path, epoch: int, found: Read, writer: Writer, listener: Callable[[Line], None] | None
    ) -> None:
        super().__init__(folder, found, listener)
        self._writer = writer
        self._lease = Lease(folder.name, epoch, self._was_lost)
        self._unsent: list[bytes] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._failed: RecordError | None = None
        self._closed = False
        writer.hold(self._lease)

    @property
    def epoch(self) -> int:
        return self._lease.epoch

    def looks_for_notes(self) -> bool:
        """Whether there was a note at the last renewal of the lease. True only once for each renewal."""
        found, self._lease.has_notes = self._lease.has_notes, False
        return found

    def _check(self) -> None:
        if self._failed:
            raise self._failed

    def _put(self, data: bytes) -> None:
        self._unsent.append(data[:-1])
        self._good += len(data)

    def no_room(self) -> RecordError | None:
        return None  # a full database refuses to store the question, so it is not asked

    def _sync_in_thread(self) -> None:
        import asyncio

        self._loop = loop = asyncio.get_running_loop()
        upto = self._good

        def then(failed: RecordError | None) -> None:
            if failed:
                self._failed = failed = self._failed or failed
            self._sync_ended(upto, failed)

        def back(failed: RecordError | None) -> None:
            with suppress(RuntimeError):  # the loop is closed: no caller waits any more
                loop.call_soon_threadsafe(then, failed)

        self._send(back)

    def _send(self, then: Callable[[RecordError | None], None]) -> None:
        lines, self._unsent = self._unsent, []
        first = self._seq - len(lines) + 1
        self._writer.append(Append(self._lease, first, self._prev, lines, then, time.monotonic()))

    def _was_lost(self, lost: RecordLost) -> None:
        """In the writer's thread: stop at once, whatever is in flight."""
        self.lost = self._failed = lost
        if self._loop is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        if self.on_lost is not None:
            self.on_lost()

    def close(self) -> None:
        """Store the remaining lines, and give the session up."""
        if self._closed:
            return
        self._closed = True
        if self._unsent and not self._failed:
            self._send(lambda failed: None)
        self._writer.release(self._lease)
