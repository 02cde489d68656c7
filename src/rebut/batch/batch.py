"""Runs a batch: hands out the lines that have no result yet, gathers their rows, and counts what earlier runs spent."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Protocol

from rebut.api import Setup
from rebut.batch.budget import BatchBudget
from rebut.batch.debate import BatchDebate
from rebut.batch.lines import BatchLine
from rebut.batch.results import ResultRow, Results
from rebut.core.errors import RebutError
from rebut.record import sessions
from rebut.record.record import Amount

DRAINING = "stopping: no new calls; those in flight finish. Ctrl-C again drops them"


class Worker(Protocol):
    """Where debates run: in this process or in others."""

    stopping: str
    """What `drain` means, for the user."""

    async def hold(self, line: BatchLine, session: str) -> ResultRow | None:
        """Run a debate, and return the row of its end; None if it was stopped."""

    def drain(self) -> None:
        """Let calls in flight finish, and start no other."""

    async def close(self) -> None:
        """End what it has started."""


class ThisProcess:
    """Debates in this process."""

    stopping = DRAINING

    def __init__(self, setup: Setup, results: Results, budget: BatchBudget | None) -> None:
        self._setup, self._results, self._budget = setup, results, budget
        self._running: set[BatchDebate] = set()

    async def hold(self, line: BatchLine, session: str) -> ResultRow | None:
        debate = BatchDebate(line, session, self._results.journal, self._budget)
        self._running.add(debate)
        try:
            return await debate.hold(self._setup)
        finally:
            self._running.discard(debate)

    def drain(self) -> None:
        for debate in self._running:
            debate.control.drain()

    async def close(self) -> None:
        pass


def spent_by(setup: Setup, session: str, row: ResultRow | None) -> Amount:
    """What a debate has spent, and what calls without an answer on record may have spent."""
    try:
        return sessions.load(setup.find(session)).committed
    except RebutError:  # deleted, or damaged: the row has what it cost
        return Amount(row.calls, row.tokens, row.usd or 0.0) if row else Amount()


class Batch:
    """Runs the lines that have no result yet, a number of them at once."""

    def __init__(self, lines: Sequence[BatchLine], results: Results, at_once: int) -> None:
        self.lines, self.results, self.at_once = lines, results, at_once
        self.sessions = results.sessions()
        self.left = deque(line for line in lines if not results.done(line.hash))
        self.there = len(lines) - len(self.left)
        """Debates that ended in earlier runs, and are not run again."""
        self.running = 0
        self.ended = 0
        """Debates that ended in this run, the failed ones included."""
        self.draining = False
        self.state = "running"
        """What is known of debates that have not ended, for the screen."""
        self._tasks: list[asyncio.Task[None]] = []

    def count_earlier(self, budget: BatchBudget, setup: Setup) -> None:
        """Count what earlier runs of this batch have spent."""
        for line in self.lines:
            if line.hash not in self.sessions:
                continue
            amount = spent_by(setup, self.sessions[line.hash], self.results.rows.get(line.hash))
            budget.settle(line.hash, amount)

    async def run(self, worker: Worker) -> None:
        """Run what is left; return when all has ended, or has drained. Cancelling it drops the running debates."""
        self._worker = worker
        try:
            self._tasks = [asyncio.create_task(self._run_lines()) for _ in range(min(self.at_once, len(self.left)))]
            await asyncio.gather(*self._tasks)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await worker.close()

    async def _run_lines(self) -> None:
        """Run one debate after the other, until none is left."""
        while self.left and not self.draining:
            await self._run_line(self.left.popleft())

    async def _run_line(self, line: BatchLine) -> None:
        self.running += 1
        try:
            row = await self._worker.hold(line, self.sessions.get(line.hash, ""))
        finally:
            self.running -= 1
        if row is not None:
            self.results.add(row)
            self.ended += 1

    def drain(self) -> None:
        """Start no further debate and no further call."""
        self.draining = True
        self._worker.drain()

    # Progress, for the screen.

    def rows(self) -> list[ResultRow]:
        """The rows of this batch's lines."""
        return [self.results.rows[line.hash] for line in self.lines if line.hash in self.results.rows]
