"""A connection to the database: opened when needed, opened again when lost. Its errors become errors of rebut."""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg

from rebut.core.errors import RebutError, RecordError, UsageError
from rebut.record.postgres.migrations import Migration, check_tables, known
from rebut.record.stores import shown_address

TIMEOUT = 5
"""Seconds to wait for a connection."""
OPTIONS = {
    "connect_timeout": TIMEOUT,
    "application_name": "rebut",
    # A peer that vanished is noticed within about 10 seconds.
    **{"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 10_000},
}
AGAIN = 1.0
"""Seconds before the database is asked again when it did not answer."""
Lost = psycopg.OperationalError
"""The connection is gone, or the server is."""


def connect(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    """A new connection, each statement a transaction of its own."""
    return psycopg.connect(url, autocommit=True, **OPTIONS)


@contextmanager
def reached(url: str) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """A connection for one command. Its errors are UsageErrors, since the user gave the address."""
    try:
        opened = connect(url)
    except psycopg.ProgrammingError as error:
        raise not_an_address(url, error) from error
    except psycopg.Error as error:
        raise UsageError(f"the database {shown_address(url)} cannot be reached: {said(error)}", REACH) from error
    try:
        with opened as connection:
            yield connection
    except psycopg.ProgrammingError as error:
        raise UsageError(f"the database {shown_address(url)} refused a statement: {said(error)}", NOTHING) from error
    except psycopg.Error as error:
        raise UsageError(f"the database {shown_address(url)} cannot be reached: {said(error)}", REACH) from error


class DatabaseConnection:
    """One connection, for any thread, one statement at a time."""

    def __init__(self, url: str, tables: Callable[[], list[Migration]] = known) -> None:
        self.url, self._tables = url, tables
        self._held: psycopg.Connection[tuple[Any, ...]] | None = None
        self._process = 0
        self._lock = threading.Lock()
        self._reached = False

    def query(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a statement, which must be repeatable: if the connection was lost, it is sent again."""
        with self._lock:
            for last in (False, True):
                try:
                    found = self._open().execute(sql, values, binary=True)
                    return found.fetchall() if found.description else []
                except Lost as error:
                    self._drop()
                    if last:
                        raise self._away(error) from error
                except psycopg.Error as error:
                    raise self._refused(error) from error
            raise AssertionError

    def send(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute one statement for each row."""
        with self._lock:
            try:
                with self._open().transaction(), self._open().cursor() as cursor:
                    cursor.executemany(sql, rows)
            except Lost as error:
                self._drop()
                raise self._away(error) from error
            except psycopg.Error as error:
                raise self._refused(error) from error

    def _open(self) -> psycopg.Connection[tuple[Any, ...]]:
        if self._held is not None and self._process != os.getpid():
            self._held = None  # it belongs to the process that this one was forked from
        if self._held is None or self._held.closed:
            try:
                self._held = connect(self.url)
            except psycopg.ProgrammingError as error:  # the address cannot be read
                raise not_an_address(self.url, error) from error
            self._process = os.getpid()
            if not self._reached:
                check_tables(self._held, self.url, self._tables())
            self._reached = True
        return self._held

    def _drop(self) -> None:
        if self._held is not None:
            self._held.close()
        self._held = None

    def _away(self, error: psycopg.Error) -> RebutError:
        if not self._reached:
            return UsageError(
                f"the database {shown_address(self.url)} cannot be reached: {said(error)}",
                REACH,
            )
        return RecordError(
            f"the database {shown_address(self.url)} does not answer: {said(error)}",
            "What is on record is safe. Try again when it is back.",
        )

    def _refused(self, error: psycopg.Error) -> RecordError:
        return RecordError(
            f"the database {shown_address(self.url)} refused a statement: {said(error)}",
            "That statement changed nothing.",
        )

    def close(self) -> None:
        with self._lock:
            self._drop()


class PatientConnection:
    """One connection for an event loop. A caller waits until the database answers, however long that takes."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._held: psycopg.AsyncConnection[tuple[Any, ...]] | None = None
        self._turn = asyncio.Lock()

    async def ask(self, sql: str, *values: Any) -> tuple[Any, ...]:
        """The row of a statement, which must be repeatable."""
        async with self._turn:
            while True:
                try:
                    if self._held is None or self._held.closed:
                        self._held = await connect_async(self._url)
                    row: tuple[Any, ...] | None = await (await self._held.execute(sql, values)).fetchone()
                    return row or ()
                except (Lost, OSError):
                    await self.close()
                await asyncio.sleep(AGAIN)

    async def close(self) -> None:
        await close_async(self._held)
        self._held = None


async def connect_async(url: str) -> psycopg.AsyncConnection[tuple[Any, ...]]:
    return await psycopg.AsyncConnection.connect(url, autocommit=True, **OPTIONS)


async def close_async(connection: psycopg.AsyncConnection[tuple[Any, ...]] | None) -> None:
    if connection is not None:
        with suppress(psycopg.Error, OSError):
            await connection.close()


REACH = "Check that it runs and that the address is right. No model was called."
NOTHING = "That statement changed nothing."
WRITE = "Write postgresql://USER@HOST:5432/NAME."


def not_an_address(url: str, error: psycopg.Error) -> UsageError:
    """The error for an unreadable address, without the part that psycopg quotes: it may be the password."""
    why = re.sub(r'"[^"]*"', "…", said(error))
    return UsageError(f"{shown_address(url)} is not an address of a database: {why}", WRITE)


def said(error: psycopg.Error) -> str:
    """The first line of an error of the database."""
    words = str(error).strip().splitlines() or [type(error).__name__]
    return words[0].rpartition("failed: ")[2].removeprefix("FATAL:").strip()
