"""A worker of a queue: takes debates from a database, resumes each, and stores how it ended.

A debate that it cannot finish goes back to the queue: another process has its session, the worker is stopping, the
database is away, or the session needs something that this machine does not have.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import socket
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

import procrastinate
import psycopg
import psycopg_pool
from procrastinate.exceptions import ConnectorException, ProcrastinateException
from procrastinate.retry import BaseRetryStrategy, RetryDecision

from rebut import __version__, api
from rebut.api import Setup
from rebut.batch.compatibility import why_not
from rebut.batch.debate import BatchDebate
from rebut.batch.lines import BatchLine, LineFields
from rebut.batch.queue import QUEUE, TASK, Job, Queue
from rebut.batch.results import ResultRow
from rebut.batch.shared_budget import DebateBudget
from rebut.batch.shared_caps import SharedCaps
from rebut.core import caps, files
from rebut.core.errors import (
    ConfigError,
    Interrupted,
    RebutError,
    RecordAltered,
    RecordError,
    RecordLost,
    SessionBusy,
    UnknownSession,
)
from rebut.domain.limits import flag
from rebut.domain.outcome import Outcome
from rebut.record import sessions, stores
from rebut.record.postgres.connection import OPTIONS, PatientConnection, said
from rebut.record.postgres.writer import LEASE, RENEW
from rebut.record.record import Amount, Record
from rebut.setup.saved_keys import with_saved

LOOK = 5.0
"""Seconds between two looks for the work of dead workers, and between two status files."""
LATER = 15.0
"""Seconds after which a debate that could not be taken is tried again."""
DROPPED = "its calls took longer than the grace of this worker"
STARTS_OVER = "Enqueue the batch again: the debate then starts over."
AWAY = (ConnectorException, psycopg.Error, psycopg_pool.PoolTimeout, OSError)
Log = Callable[[str, Mapping[str, Any]], None]


class GoesBack(Exception):
    """A debate goes back to the queue."""

    def __init__(self, why: str, seconds: float = 0.0) -> None:
        super().__init__(why)
        self.seconds = seconds


class _Retry(BaseRetryStrategy):  # type: ignore[misc]
    """Puts a debate that did not end back into the queue."""

    def get_retry_decision(self, *, exception: BaseException, job: Any) -> Any:
        return RetryDecision(retry_in={"seconds": round(getattr(exception, "seconds", LATER))})


class QueuedDebate(BatchDebate):
    """A debate of the queue. Its session exists already, and is only resumed."""

    def __init__(self, job: Job, budgets: PatientConnection | None = None) -> None:
        fields = LineFields.model_construct(id=job.name, protocol=job.protocol)
        self.budget = DebateBudget(budgets, lambda: self._epoch, self._spent, self._stops) if budgets else None
        """The budget of its batch; None if the batch has no limits."""
        self._epoch = 0
        super().__init__(BatchLine(job.number, job.line_hash, fields), job.session, Path(), self.budget)
        self.unrecorded: RecordError | None = None
        """Why its record could not be written, which is no failure of the debate."""

    async def hold(self, setup: Setup) -> ResultRow | None:
        row = await super().hold(setup)
        if row is None and self.budget and self.budget.reached and not self.unrecorded:
            name = flag(self.budget.reached)
            said = f"{name} of the whole batch leaves no room for its next call"
            hint = f"Enqueue the batch again with a higher {name}: it then continues where it was stopped."
            row = replace(self._failed("batch limit", said, hint, 3), limit=self.budget.reached)
        return row

    def _ready(self, record: Record, folder: Path) -> None:
        super()._ready(record, folder)
        store = stores.of(folder.parent)
        assert store is not None
        self._epoch = store.epoch(folder.name)

    def _spent(self) -> Amount:
        assert self.record is not None
        return self.record.committed

    def _stops(self) -> bool:
        return self.control.draining

    async def _outcome(self, setup: Setup) -> Outcome:
        try:
            return await api.resume(self.session, setup=setup)
        except RecordError as error:
            self.unrecorded = error
            raise Interrupted(error.message) from error


class QueueWorker:
    """Works until it is stopped or, with `until_empty`, until nothing is left to do."""

    def __init__(
        self, url: str, *, at_once: int, grace: float, until_empty: bool, status_file: Path | None, log: Log
    ) -> None:
        self.url, self.at_once, self.grace, self.until_empty = url, at_once, grace, until_empty
        self._status_file, self._log = status_file, log
        self._env = {**with_saved(os.environ), "REBUT_HOME": url}
        self._setups: dict[str, Setup] = {}
        self._queue = Queue(url)
        self._budgets = PatientConnection(url)
        self._running: dict[str, tuple[QueuedDebate, asyncio.Future[ResultRow | None]]] = {}
        self._counts = Counter[str]()
        self._left: dict[str, str] = {}
        """Sessions that were left to other workers → why."""
        self._away = ""
        self._draining = False
        self._work: asyncio.Future[None] | None = None
        self.cut_off = False
        """Whether calls were dropped because the grace was over."""
        self.unfinished = 0
        """Debates that had to be left to other workers, at its end."""
        logging.getLogger("procrastinate").setLevel(logging.CRITICAL)  # this worker logs what matters itself
        logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)

    async def run(self) -> None:
        # A wrong address, tables of another version and a config that cannot be read are reported at once.
        self._queue.counts()
        Setup(env=self._env)
        asyncio.get_running_loop().set_exception_handler(self._unexpected)
        self._say("started", at_once=self.at_once, version=__version__, database=stores.shown_address(self.url))
        looking = asyncio.ensure_future(self._look())
        shared = SharedCaps(self.url)
        caps.share(shared)
        try:
            while not self._draining:
                self._work = asyncio.ensure_future(self._take_work())
                try:
                    await self._work
                except asyncio.CancelledError:
                    if not self._draining:
                        raise
                except AWAY as error:
                    self._is_away(error)
                    await asyncio.sleep(1.0)
                    continue
                if self.until_empty and await self._is_empty():
                    break
        finally:
            looking.cancel()
            caps.share(None)
            await shared.close()
            await self._budgets.close()
            self.unfinished = len(self._left)
            self._say("stopped", ended=self._counts["ended"], failed=self._counts["failed"], left=self.unfinished)
            self._write_status("stopped")

    async def _take_work(self) -> None:
        app = procrastinate.App(
            connector=procrastinate.PsycopgConnector(
                conninfo=self.url, min_size=1, max_size=4, timeout=10.0, kwargs=dict(OPTIONS)
            )
        )

        @app.task(name=TASK, queue=QUEUE, retry=_Retry())  # type: ignore[untyped-decorator]
        async def debate(**fields: Any) -> None:
            await self._one(Job(**fields))

        async with app.open_async():
            self._is_back()
            rescuing = asyncio.ensure_future(self._rescue(app))
            try:
                await app.run_worker_async(
                    queues=[QUEUE],
                    concurrency=self.at_once,
                    wait=not self.until_empty,
                    install_signal_handlers=False,
                    delete_jobs="always",
                    update_heartbeat_interval=RENEW,
                    stalled_worker_timeout=LEASE,
                    fetch_job_polling_interval=2.0,
                )
            finally:
                rescuing.cancel()

    async def _rescue(self, app: Any) -> None:
        """Give the jobs of workers that are no longer heard of back to the queue. Every worker does this."""
        while True:
            try:
                for job in await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=LEASE):
                    await app.job_manager.retry_job(job)
                    self._say("rescued", session=job.task_kwargs.get("session", ""))
            except (ProcrastinateException, *AWAY):  # another worker was faster, or the database is away
                pass
            await asyncio.sleep(LOOK)

    async def _is_empty(self) -> bool:
        """Whether nothing waits that this worker could take, and nothing runs, here or elsewhere."""
        try:
            waiting = await asyncio.to_thread(self._queue.waiting_sessions)
            counts = await asyncio.to_thread(self._queue.counts)
        except RebutError:
            return False
        # Other workers may have taken by now what this worker left to them.
        self._left = {session: why for session, why in self._left.items() if session in waiting}
        if counts["waiting"] > len(self._left) or counts["running"]:
            await asyncio.sleep(1.0)
            return False
        return True

    # One debate. ------------------------------------------------------------------------------------------------------

    async def _one(self, job: Job) -> None:
        if self._draining:
            raise GoesBack("this worker is stopping")
        if job.session in self._running:
            raise GoesBack("this worker has it already", LATER)
        try:
            setup = await asyncio.to_thread(self._setup, job.workspace)
            limited = await asyncio.to_thread(self._queue.is_limited, job.line_hash)
            if refused := await why_not(setup, job.session):
                self._leave(job, refused)
        except ConfigError as error:
            self._leave(job, error.message)
        except RebutError as error:
            if isinstance(error, RecordError) and not isinstance(error, RecordAltered):
                if await self._is_there(job):
                    self._leave(job, error.message)
                error = UnknownSession(f"its session {job.session} was deleted", STARTS_OVER)
            await self._store(job, _failed(job, error))
            return
        debate = QueuedDebate(job, self._budgets if limited else None)
        holding = asyncio.ensure_future(debate.hold(setup))
        self._running[job.session] = debate, holding
        self._left.pop(job.session, None)
        self._say("took", session=job.session, id=job.name)
        try:
            [made] = await asyncio.gather(holding, return_exceptions=True)
        finally:
            del self._running[job.session]
            if debate.budget:
                await debate.budget.close()
        if isinstance(made, asyncio.CancelledError):
            await self._remove_copies(job)
            self._say("put_back", session=job.session, id=job.name, why=DROPPED)
            raise GoesBack(DROPPED)
        if isinstance(made, BaseException):  # a defect: this debate fails, and the worker continues with the others
            self._defect(made, session=job.session, id=job.name)
            made = _failed(job, RebutError(f"a defect of rebut: {made!r}", "The log of the worker has the trace."))
        if made is None:
            if debate.unrecorded is None:
                await self._remove_copies(job)
            self._went_back(job, debate)
        else:
            await self._store(job, made)

    async def _is_there(self, job: Job) -> bool:
        """Whether the session of a debate is in the database; True if the database cannot say."""
        store = stores.of(sessions.home(self._env))
        assert store is not None
        try:
            return await asyncio.to_thread(store.exists, job.session)
        except RecordError:
            return True

    def _setup(self, workspace: str) -> Setup:
        if workspace not in self._setups:
            self._setups[workspace] = Setup(workspace=workspace, env=self._env)
        return self._setups[workspace]

    def _leave(self, job: Job, why: str) -> NoReturn:
        """Leave a debate to another worker."""
        if self._left.get(job.session) != why:
            self._left[job.session] = why
            self._say("left", session=job.session, id=job.name, why=why)
        raise GoesBack(why, LATER)

    def _went_back(self, job: Job, debate: QueuedDebate) -> None:
        error = debate.unrecorded
        if isinstance(error, RecordLost):
            self._say("lost", session=job.session, id=job.name, why=error.message)
            raise GoesBack(error.message, LATER)
        if isinstance(error, SessionBusy):
            raise GoesBack(error.message, LATER)
        why = error.message if error else "this worker is stopping"
        self._say("put_back", session=job.session, id=job.name, why=why)
        raise GoesBack(why, LATER if error else 0.0)

    async def _store(self, job: Job, row: ResultRow) -> None:
        try:
            await asyncio.to_thread(self._queue.ended, job.line_hash, row)
        except RebutError as error:  # the session has its outcome: the next worker finds it ended
            raise GoesBack(error.message, LATER) from error
        self._counts["failed" if row.failure else "ended"] += 1
        shown = {"failure": row.failure, "error": row.error} if row.failure else {"outcome": row.heading}
        self._say("ended", session=job.session, id=job.name, **shown, calls=row.calls, usd=row.usd)
        await self._remove_copies(job)

    async def _remove_copies(self, job: Job) -> None:
        """Remove the copies of a session's files, while no other process of this machine can have taken it."""
        copies = sessions.home(self._env) / job.session
        await asyncio.to_thread(shutil.rmtree, copies, ignore_errors=True)  # the database has all of them

    # Stopping. --------------------------------------------------------------------------------------------------------

    def drain(self) -> None:
        """Take no further debate and make no further call. Calls in flight may finish within the grace."""
        if self._draining:
            self.drop()
            return
        self._draining = True
        self._say("draining", running=len(self._running), grace=self.grace)
        for debate, _ in self._running.values():
            debate.control.drain()
        if self._work:
            self._work.cancel()
        asyncio.get_running_loop().call_later(self.grace, self.drop)

    def drop(self) -> None:
        """Drop the calls in flight. The next worker of each debate makes them again."""
        for _, holding in self._running.values():
            self.cut_off = True
            holding.cancel()

    def _unexpected(self, loop: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
        """Log an error of a task that nothing awaits."""
        error = context.get("exception")
        # Two workers held the same job for a moment, and the other one was faster: the lease decides, not the job.
        if not isinstance(error, ProcrastinateException):
            self._defect(error, why=context.get("message", ""))

    def _defect(self, error: BaseException | None, **fields: Any) -> None:
        trace = "".join(traceback.format_exception(error)) if error else ""
        self._say("defect", **fields, error=repr(error), trace=trace)

    # Log and status file. ---------------------------------------------------------------------------------------------

    def _is_away(self, error: BaseException) -> None:
        while error.__cause__ is not None and not isinstance(error, psycopg.Error):
            error = error.__cause__
        self._is_silent(said(error) if isinstance(error, psycopg.Error) else str(error) or type(error).__name__)

    def _is_silent(self, why: str) -> None:
        if not self._away:
            self._away = why
            self._say("database_away", why=why)

    def _is_back(self) -> None:
        if self._away:
            self._away = ""
            self._say("database_back")

    def _say(self, event: str, **fields: Any) -> None:
        self._log(event, fields)
        if event != "stopped":
            self._write_status()

    async def _look(self) -> None:
        store = stores.of(sessions.home(self._env))
        assert store is not None
        while True:
            if store.away():
                self._is_silent(store.away())
            elif self._running:  # the database answers: their leases are renewed
                self._is_back()
            self._write_status()
            await asyncio.sleep(LOOK)

    def _write_status(self, state: str = "") -> None:
        if self._status_file is None:
            return
        status = {
            "state": state or ("draining" if self._draining else "database away" if self._away else "working"),
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "unix": int(time.time()),
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "version": __version__,
            "running": sorted(self._running),
            "ended": self._counts["ended"],
            "failed": self._counts["failed"],
            "left": self._left,
            "database": self._away or "ok",
        }
        try:
            files.write(self._status_file, json.dumps(status, indent=1).encode() + b"\n", 0o644)
        except OSError as error:
            self._log("status_file_failed", {"why": error.strerror})
            self._status_file = None


def _failed(job: Job, error: RebutError) -> ResultRow:
    return ResultRow(
        *(job.name, job.number, job.line_hash, job.protocol, job.session),
        failure=type(error).__name__,
        error=error.message,
        hint=error.hint,
        exit=error.exit_code,
    )
