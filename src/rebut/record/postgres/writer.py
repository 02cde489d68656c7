"""The thread that writes the journals of this process to a database, and renews their leases.

Lines that several debates append while a statement runs go into the next statement together: one round trip and one
commit for all of them. If the connection is lost, it is opened again and the same append is sent again; the database
knows whether it was already done.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg

from rebut.core.errors import RecordError, RecordLost
from rebut.record.postgres.connection import Lost, connect, said
from rebut.record.stores import shown_address

LEASE = 15.0
"""Seconds after which a session may be taken from a process that is not heard of."""
RENEW = 5.0
PATIENCE = 120.0
"""Seconds for which an append is repeated while the database does not answer."""
CLOSING = 5.0
"""Seconds to wait for the last lines of a journal and for its release."""
MOST = 200
"""Appends in one statement."""

RENEWING = "select session, kept, notes from rebut_renew(%b, %b, %b)"
APPENDING = "select rebut_append(%b, %b, %b, %b, %b, %b)"


@dataclass(slots=True, eq=False)
class Lease:
    """A session that this process has."""

    id: str
    epoch: int
    on_lost: Callable[[RecordLost], None]
    """Called once, in the writer's thread."""
    lost: RecordLost | None = None
    has_notes: bool = True


@dataclass(slots=True)
class Append:
    """Lines for one journal. `then` is called in the writer's thread, with the error if they could not be stored."""

    lease: Lease
    first: int
    hash: str
    lines: list[bytes]
    then: Callable[[RecordError | None], None]
    since: float


class Writer:
    """One per process and database. Its thread starts with the first lease and ends with the process."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        self._appends: deque[Append] = deque()
        self._releases: deque[tuple[Lease, threading.Event]] = deque()
        self._releasing: dict[str, threading.Event] = {}
        self._leases: dict[str, Lease] = {}
        self._changed = threading.Condition()
        self._renewed = 0.0
        self._thread: threading.Thread | None = None
        self._process = 0
        self.away = ""
        """Why the database does not answer; empty while it does."""

    def hold(self, lease: Lease) -> None:
        """Renew a lease until it is released or lost."""
        with self._changed:
            if self._process != os.getpid():  # a fork has none of its parent's threads, connections and leases
                self._process, self._thread, self._connection = os.getpid(), None, None
                self._leases, self._appends, self._releases, self._releasing = {}, deque(), deque(), {}
            before = self._leases.get(lease.id)
            self._leases[lease.id] = lease
            if before is not None:
                self._lose(before)
            if self._thread is None:
                self._renewed = time.monotonic()
                self._thread = threading.Thread(target=self._work, name="rebut-database", daemon=True)
                self._thread.start()
                atexit.register(self.settle)

    def append(self, work: Append) -> None:
        with self._changed:
            self._appends.append(work)
            self._changed.notify()

    def release(self, lease: Lease) -> None:
        """Give a session up, after all that was appended to it so far.

        For the last session of the process this waits, so that the next command finds the session free. While others
        are open it does not, since it would block their event loop.
        """
        done = threading.Event()
        with self._changed:
            self._releases.append((lease, done))
            self._releasing[lease.id] = done
            last = all(other in self._releasing for other in self._leases)
            self._changed.notify()
        if last and not self.away:
            done.wait(CLOSING)

    def settle(self, id: str = "") -> None:
        """Wait until a session that was given up, or all of them, are free."""
        waiting = [self._releasing.get(id)] if id else list(self._releasing.values())
        for done in waiting:
            if done is not None and not self.away and self._process == os.getpid():
                done.wait(CLOSING)

    # In the thread. ---------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            with self._changed:
                while not (self._appends or self._releases) and self._left() > 0:
                    self._changed.wait(self._left() if self._leases else None)
                count = min(MOST, len(self._appends))
                batch = self._one_each([self._appends.popleft() for _ in range(count)])
                # A session is given up only after the last of its appends.
                releases = [] if self._appends else [self._releases.popleft() for _ in range(len(self._releases))]
                renewing = self._left() <= 0
            if batch:
                self._append(batch)
            for lease, done in releases:
                self._release(lease, done)
            if renewing:
                self._renew()

    def _left(self) -> float:
        return self._renewed + RENEW - time.monotonic() if self._leases else RENEW

    def _one_each(self, batch: list[Append]) -> list[Append]:
        """At most one append for each session. The others wait for the next statement, in order."""
        first, later, seen = list[Append](), list[Append](), set[str]()
        for work in batch:
            (later if work.lease.id in seen else first).append(work)
            seen.add(work.lease.id)
        self._appends.extendleft(reversed(later))
        return sorted(first, key=lambda work: work.lease.id)  # in one order in all processes: no deadlock

    def _append(self, batch: list[Append]) -> None:
        for work in batch:
            if work.lease.lost:
                work.then(work.lease.lost)
        batch = [work for work in batch if not work.lease.lost]
        pause = 0.05
        while batch:
            values = (
                [work.lease.id for work in batch],
                [work.lease.epoch for work in batch],
                [work.first for work in batch],
                [len(work.lines) for work in batch],
                [work.hash for work in batch],
                [line for work in batch for line in work.lines],
            )
            try:
                [row] = self._open().execute(APPENDING, values, binary=True).fetchall()
            except Lost as error:
                self._drop(error)
                batch = self._give_up(batch)
                time.sleep(pause)
                pause = min(1.0, pause * 2)
                continue
            except psycopg.Error as error:
                self._fail(batch, f"the database refused it ({said(error)})")
                return
            self.away = ""
            for work, stored in zip(batch, row[0], strict=True):
                if not stored:
                    self._lose(work.lease)
                work.then(work.lease.lost)
            return

    def _give_up(self, batch: list[Append]) -> list[Append]:
        """Fail the appends that are too old; return those to send again."""
        late = [work for work in batch if time.monotonic() - work.since > PATIENCE]
        self._fail(late, f"the database did not answer for {PATIENCE:.0f} seconds ({self.away})")
        return [work for work in batch if work not in late]

    def _fail(self, batch: list[Append], why: str) -> None:
        for work in batch:
            id = work.lease.id
            work.then(
                RecordError(
                    f"session {id}: an event could not be recorded, since {why}",
                    f"Everything before it is safe. When the database is back: `rebut resume {id}`.",
                )
            )

    def _renew(self) -> None:
        self._renewed = time.monotonic()
        mine = sorted(self._leases.values(), key=lambda lease: lease.id)
        if not mine:
            return
        try:
            values = ([lease.id for lease in mine], [lease.epoch for lease in mine], LEASE)
            rows = self._open().execute(RENEWING, values, binary=True).fetchall()
        except psycopg.Error as error:
            self._drop(error)
            self._renewed = time.monotonic() - RENEW + 1.0  # try again in a second
            return
        self.away = ""
        for id, kept, notes in rows:
            lease = self._leases.get(id)
            if lease is not None and not kept:
                self._lose(lease)
            elif lease is not None:
                lease.has_notes = notes

    def _lose(self, lease: Lease) -> None:
        if self._leases.get(lease.id) is lease:
            del self._leases[lease.id]
        if lease.lost is None:
            lease.lost = RecordLost(
                f"session {lease.id} was taken over by another process, because this one did not renew its claim "
                "in time",
                f"Nothing more is written here. Watch it with `rebut show {lease.id}`.",
            )
            lease.on_lost(lease.lost)

    def _release(self, lease: Lease, done: threading.Event) -> None:
        if self._leases.get(lease.id) is lease:
            del self._leases[lease.id]
        try:
            if not lease.lost:
                self._open().execute("select rebut_release(%b, %b)", (lease.id, lease.epoch))
        except psycopg.Error as error:  # the lease then ends by itself
            self._drop(error)
        finally:
            if self._releasing.get(lease.id) is done:
                del self._releasing[lease.id]
            done.set()

    def _open(self) -> psycopg.Connection[tuple[Any, ...]]:
        if self._connection is None or self._connection.closed:
            self._connection = connect(self._url)
        return self._connection

    def _drop(self, error: psycopg.Error) -> None:
        self.away = f"{shown_address(self._url)}: {said(error)}"
        if self._connection is not None:
            self._connection.close()
        self._connection = None
