"""The queue of a database: debates are opened and enqueued by one process, and worked on by others.

A debate's session is opened by the process that enqueues it, with its seats, settings, limits and snapshot on record. A
worker resumes it. Procrastinate hands out the work; which process may write a journal is decided by the session's
lease alone.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from rebut.batch.lines import BatchLine
from rebut.batch.results import ResultRow, topic_of_row
from rebut.core.errors import RebutError, UsageError
from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.core.text import counted, plural
from rebut.record import stores
from rebut.record.record import Amount

if TYPE_CHECKING:
    from rebut.record.postgres.migrations import Migration

QUEUE = "rebut"
TASK = "rebut.debate"
LOCK = 0x7265627575
"""The number of the advisory lock under which lines are enqueued: two processes may enqueue the same file."""
HEARD = """(exists (select from procrastinate_workers w
                      where w.id = j.worker_id and w.last_heartbeat > clock_timestamp() - interval '15 seconds')
             or exists (select from rebut_session s
                         where s.id = j.args ->> 'session' and s.lease_until > clock_timestamp()))"""
"""Whether a worker that has a job `j` was heard of within the length of a lease."""
JOBS = f"""select distinct on (hash) hash, session, state from (
             select j.args ->> 'line_hash' as hash, j.args ->> 'session' as session,
                    case when j.status = 'todo' then 'waiting' when {HEARD} then 'running' else 'left' end as state
               from procrastinate_jobs j where j.task_name = '{TASK}' and j.status in ('todo', 'doing')) each
            order by hash, state = 'running' desc"""
"""The jobs of the queue. `left` are those of workers that died."""


def need_procrastinate() -> None:
    stores.need_psycopg()
    try:
        import procrastinate  # noqa: F401
    except ImportError:
        raise UsageError("a queue needs procrastinate, which is not installed", stores.install()) from None


def migrations() -> list[Migration]:
    """All migrations: those of rebut's tables and those of the queue's."""
    from rebut.record.postgres.migrations import known

    return [*known(), *_of_queue()]


def _of_queue() -> list[Migration]:
    """The migrations of Procrastinate's tables. `as_new` replaces them in a database that has no queue yet."""
    from pathlib import Path

    from procrastinate.schema import SchemaManager

    from rebut.record.postgres.migrations import Migration

    steps = sorted(Path(SchemaManager.get_migrations_path()).glob("*.sql"))
    return [Migration("procrastinate", step.stem, step.read_text(encoding="utf-8")) for step in steps]


def as_new(wanted: Sequence[Migration], done: Iterable[tuple[str, str]]) -> list[Migration]:
    """The migrations to run in a database. Without a queue, it gets the whole schema; its migrations count as done."""
    from rebut.record.postgres.migrations import OURS, WHOLE, Migration

    if any(part != OURS for part, _ in done):
        return list(wanted)
    from procrastinate.schema import SchemaManager

    ours = [one for one in wanted if one.part == OURS]
    rest = [Migration(one.part, one.name, "") for one in wanted if one.part != OURS]
    return [*ours, Migration("procrastinate", WHOLE, SchemaManager.get_schema()), *rest]


@frozen
class Job:
    """What a worker needs to know of a line."""

    line_hash: str
    number: int
    name: str | int
    protocol: str
    session: str
    workspace: str

    def to_json(self) -> dict[str, Json]:
        return {one.name: getattr(self, one.name) for one in fields(self)}


@frozen
class QueuedBatch:
    """How far a batch of the database is."""

    name: str
    """Its file; empty for lines that ended and are no longer in the file of any batch."""
    debates: int
    ended: int
    failed: int
    stopped: int
    """Failed debates that a limit of the batch has stopped; `failed` includes them."""
    waiting: int
    running: int
    calls: int
    """Calls of the debates that have ended or failed."""
    usd: float | None
    limits: dict[str, tuple[float, float]]
    """Limit → the amount that is spent and reserved, and the most that may be."""
    reached: str
    """The limit that left no room for a further call."""


DELETED = """((l.outcome is null or l.outcome ? 'failure')
               and not exists (select from rebut_session s where s.id = l.session))"""
"""Whether a line `l` has not ended, and its session was deleted."""
SpentBy = Callable[[str, ResultRow | None], Amount]
"""What the debate of a session has spent, and may have spent; its row is there if it ended."""
NOTHING = Amount()
LIMITS = ("calls", "tokens", "usd")
"""The limits that a batch can have, in the order of their columns."""


class Queue:
    """The lines of batches in a database."""

    def __init__(self, url: str) -> None:
        need_procrastinate()
        from rebut.record.postgres.connection import DatabaseConnection

        self.url = url
        self._connection = DatabaseConnection(url, migrations)

    def known(self, lines: Sequence[BatchLine]) -> dict[str, ResultRow | None]:
        """The lines that are in the database already, by their hashes, each with its row if it has ended.

        A line that has not ended and whose session was deleted is not among them: its debate starts over.
        """
        sql = f"select l.hash, l.outcome::text from rebut_line l where l.hash = any(%s) and not {DELETED}"
        rows = self._connection.query(sql, [line.hash for line in lines])
        return {hash: ResultRow.from_json(json.loads(row)) if row else None for hash, row in rows}

    def add(self, batch: str, opened: Sequence[tuple[BatchLine, str, str]]) -> set[str]:
        """Add lines whose sessions were opened (session, workspace), and enqueue them. Returns their sessions.

        A line that another process has added meanwhile is left out.
        """
        sql = f"""insert into rebut_line as l (hash, batch, number, name, session)
                  select n.hash, %s, n.number, n.name::jsonb, n.session
                    from unnest(%s::text[], %s::int[], %s::text[], %s::text[]) as n (hash, number, name, session)
                  on conflict (hash) do update set batch = excluded.batch, session = excluded.session,
                    outcome = null, ended = null where {DELETED}
                  returning session"""
        lines = [line for line, _, _ in opened]
        with self._alone():
            found = self._connection.query(
                sql,
                batch,
                [line.hash for line in lines],
                [line.number for line in lines],
                [json.dumps(line.id) for line in lines],
                [session for _, session, _ in opened],
            )
            added = {session for (session,) in found}
            self._defer([_job(*one) for one in opened if one[1] in added])
        return added

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock that keeps other processes from enqueueing."""
        self._connection.query("select pg_advisory_lock(%s)", LOCK)
        try:
            yield
        finally:
            self._connection.query("select pg_advisory_unlock(%s)", LOCK)

    # The limits of a whole batch. -------------------------------------------------------------------------------------

    def limit(self, batch: str, limits: Mapping[str, float], lines: Sequence[BatchLine], spent: SpentBy) -> None:
        """Count these lines as the batch, under its limits. Limits that are not given stay as they are.

        `spent` returns what a debate has spent. It is called for debates that were not counted yet.
        """
        there = self.limits(batch)
        if limits:
            self._set_limits(batch, {**there, **limits})
        # Read the jobs only once the limits are stored: a worker that takes a debate from then on obeys them.
        jobs = {hash: (session, state) for hash, session, state in self._connection.query(JOBS)}
        hashes = [line.hash for line in lines]
        sql = "select hash, session, batch, outcome::text from rebut_line where hash = any(%s)"
        found = self._connection.query(sql, hashes)
        running = {hash for hash, (_, state) in jobs.items() if state == "running"}
        counts = bool(there or limits)
        if counts and (late := [hash for hash, _, its, _ in found if hash in running and (its != batch or not there)]):
            self._set_limits(batch, there)
            raise UsageError(
                f"{counted(len(late), 'debate')} of this batch already {plural(len(late), 'runs', 'run')} outside its "
                "limits, so a limit for the whole batch cannot be set",
                "Wait until they have ended, or stop the workers, then set it. Nothing was enqueued.",
            )
        if counts:
            # A suspended worker may continue, and does not know of the limits: a new epoch takes its sessions away.
            gone = [session for session, state in jobs.values() if state == "left"]
            fence = "update rebut_session set epoch = epoch + 1 where id = any(%s) and lease_until < clock_timestamp()"
            self._connection.query(fence, gone)
        amounts = dict[str, Amount]()
        for hash, session, its, row in found:
            if hash not in running and (its != batch or not there):
                amounts[hash] = (
                    spent(session, ResultRow.from_json(json.loads(row)) if row else None) if counts else NOTHING
                )
        each = ([amount.calls for amount in amounts.values()], [amount.tokens for amount in amounts.values()])
        usd = [amount.usd for amount in amounts.values()]
        attach = "select rebut_attach(%s, %s, %s, %s::bigint[], %s::bigint[], %s::float8[])"
        self._connection.query(attach, batch, hashes, list(amounts), *each, usd)

    def limits(self, batch: str) -> dict[str, float]:
        """The limits that a batch has."""
        sql = "select max_calls, max_tokens, max_usd from rebut_batch_limit where batch = %s"
        rows = self._connection.query(sql, batch)
        return {name: most for row in rows for name, most in zip(LIMITS, row, strict=True) if most is not None}

    def _set_limits(self, batch: str, limits: Mapping[str, float]) -> None:
        if not limits:
            self._connection.query("delete from rebut_batch_limit where batch = %s", batch)
            return
        self._connection.query(
            """insert into rebut_batch_limit as b (batch, max_calls, max_tokens, max_usd) values (%s, %s, %s, %s)
               on conflict (batch) do update set max_calls = excluded.max_calls, max_tokens = excluded.max_tokens,
                 max_usd = excluded.max_usd""",
            batch,
            *(limits.get(name) for name in LIMITS),
        )

    def is_limited(self, line_hash: str) -> bool:
        """Whether a line's batch has limits."""
        sql = "select 1 from rebut_line join rebut_batch_limit using (batch) where hash = %s"
        return bool(self._connection.query(sql, line_hash))

    def batches(self) -> list[QueuedBatch]:
        """The batches of the database, in the order in which they were enqueued."""
        rows = self._connection.query(
            f"""with live as ({JOBS})
                select l.batch, count(*), count(*) filter (where l.outcome is not null and not l.outcome ? 'failure'),
                       count(*) filter (where l.outcome ? 'failure'), count(*) filter (where l.outcome ? 'limit'),
                       count(*) filter (where v.state <> 'running'), count(*) filter (where v.state = 'running'),
                       coalesce(sum((l.outcome ->> 'calls')::bigint), 0)::bigint,
                       case when not coalesce(bool_or(l.outcome -> 'usd' = 'null'), false)
                            then coalesce(sum((l.outcome ->> 'usd')::float8), 0) end,
                       max(b.max_calls), max(b.max_tokens), max(b.max_usd),
                       max(b.calls), max(b.tokens), max(b.usd), coalesce(max(b.reached), '')
                  from rebut_line l left join live v using (hash) left join rebut_batch_limit b on b.batch = l.batch
                 group by l.batch order by min(l.enqueued)"""
        )
        return [_batch(*row) for row in rows]

    # Enqueueing what failed, and results. -----------------------------------------------------------------------------

    def again(self, lines: Sequence[BatchLine], workspace: str) -> int:
        """Enqueue lines of the database that failed, or that the queue has lost. Returns how many."""
        by_hash = {line.hash: line for line in lines}
        sql = "select hash, session from rebut_line where hash = any(%s) and (outcome is null or outcome ? 'failure')"
        with self._alone():
            live = {hash for hash, _, _ in self._connection.query(JOBS)}
            rows = self._connection.query(sql, list(by_hash))
            found = [(hash, session) for hash, session in rows if hash not in live]
            if found:
                reset = "update rebut_line set outcome = null, ended = null where hash = any(%s) and "
                self._connection.query(f"{reset} outcome ? 'failure'", [hash for hash, _ in found])
                self._defer([_job(by_hash[hash], session, workspace) for hash, session in found])
        return len(found)

    def _defer(self, jobs: Sequence[Job]) -> None:
        import procrastinate

        app = procrastinate.App(connector=procrastinate.SyncPsycopgConnector(conninfo=self.url))
        with app.open():
            for n in range(0, len(jobs), 1000):
                app.configure_task(TASK, queue=QUEUE).batch_defer(*(job.to_json() for job in jobs[n : n + 1000]))

    def ended(self, job_hash: str, row: ResultRow) -> None:
        """Store how a line ended, if that session is still its debate."""
        sql = "select rebut_end_line(hash, %s::jsonb) from rebut_line where hash = %s and session = %s"
        self._connection.query(sql, json.dumps(row.to_json()), job_hash, row.session)

    def new_rows(self, hashes: Sequence[str]) -> list[ResultRow]:
        """The rows of these lines that have ended."""
        sql = "select outcome::text from rebut_line where hash = any(%s) and outcome is not null order by ended"
        return [ResultRow.from_json(json.loads(row)) for (row,) in self._connection.query(sql, list(hashes))]

    def waiting_sessions(self) -> set[str]:
        """The sessions that no worker has taken."""
        sql = f"select args ->> 'session' from procrastinate_jobs where task_name = '{TASK}' and status = 'todo'"
        return {session for (session,) in self._connection.query(sql)}

    def counts(self) -> Mapping[str, int]:
        """How many debates wait and run, in the whole database."""
        [(waiting, running)] = self._connection.query(
            f"""select count(*) filter (where status = 'todo'), count(*) filter (where status = 'doing')
                 from procrastinate_jobs where task_name = '{TASK}'"""
        )
        return {"waiting": waiting, "running": running}


LOOK = 1.0
"""Seconds between two looks for results."""
PATIENCE = 120.0
"""Seconds for which the database may be away while results are waited for."""


class QueueWorkers:
    """Debates that workers run: waits for their rows."""

    stopping = "the workers go on; the same command waits again and writes what has ended by then"

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._waiting: dict[str, asyncio.Future[ResultRow | None]] = {}
        self._looking: asyncio.Future[None] | None = None

    async def hold(self, line: BatchLine, session: str) -> ResultRow | None:
        row: asyncio.Future[ResultRow | None] = asyncio.get_running_loop().create_future()
        self._waiting[line.hash] = row
        if self._looking is None or self._looking.done():
            self._looking = asyncio.ensure_future(self._look())
        ended = await row
        # A worker knows neither the arm nor the topic, and the line may have another number by now.
        return ended and replace(
            ended, id=line.id, line=line.number, arm=line.fields.arm, topic=topic_of_row(line.fields.topic)
        )

    async def _look(self) -> None:
        answered = time.monotonic()
        while True:
            await asyncio.sleep(LOOK)
            try:
                for row in await asyncio.to_thread(self._queue.new_rows, list(self._waiting)):
                    self._end(row.line_hash, row)
                answered = time.monotonic()
            except RebutError as error:  # the database may come back
                if time.monotonic() - answered > PATIENCE:
                    for waiting in self._waiting.values():
                        if not waiting.done():
                            waiting.set_exception(error)
                    return

    def _end(self, line_hash: str, row: ResultRow | None) -> None:
        waiting = self._waiting.pop(line_hash, None)
        if waiting and not waiting.done():
            waiting.set_result(row)

    def drain(self) -> None:
        for line_hash in list(self._waiting):
            self._end(line_hash, None)

    async def close(self) -> None:
        if self._looking:
            self._looking.cancel()


def _batch(name: str, *found: Any) -> QueuedBatch:
    counts, (most, used, reached) = found[:8], (found[8:11], found[11:14], found[14])
    limits = {key: (amount, cap) for key, amount, cap in zip(LIMITS, used, most, strict=True) if cap is not None}
    return QueuedBatch(*(name, *counts, limits, reached))


def _job(line: BatchLine, session: str, workspace: str) -> Job:
    return Job(line.hash, line.number, line.id, line.fields.protocol, session, workspace)
