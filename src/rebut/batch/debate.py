"""One debate of a batch: started or resumed, and its end as a row of the results."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from rebut import api
from rebut.api import Setup
from rebut.batch.lines import BatchLine
from rebut.batch.results import ResultRow, note_session, topic_of_row
from rebut.core.errors import Interrupted, RebutError, UnknownSession
from rebut.core.text import cut
from rebut.domain.outcome import Outcome
from rebut.domain.user_notes import notes_of
from rebut.engine.runtime import Control
from rebut.engine.start import start
from rebut.record import inbox
from rebut.record.events import Failed
from rebut.record.record import Amount, Record, Spent
from rebut.reports.review import headline

DECISION = 2000
"""Characters of a decision in a row; the session has all of it."""


class SharedBudget(Protocol):
    """The budget of the batch, in this process or in the one that started it."""

    async def reserve(self, line_hash: str, worst: Amount) -> bool: ...

    async def add(self, line_hash: str, worst: Amount) -> bool: ...

    def end_call(self, line_hash: str, amount: Amount) -> None: ...

    def settle(self, line_hash: str, amount: Amount) -> None: ...


class BatchDebate:
    """Runs one line."""

    def __init__(self, line: BatchLine, session: str, journal: Path, budget: SharedBudget | None = None) -> None:
        self.line, self.session = line, session
        self._journal, self._budget = journal, budget
        self.record: Record | None = None
        self.control = Control(shared=_DebateShare(budget, self))
        self._noted: asyncio.Future[None] | None = None

    async def hold(self, setup: Setup) -> ResultRow | None:
        """Run the debate, and return the row of its end; None if it was stopped and can be resumed."""
        mine = setup.under(self.control, self._ready)
        try:
            return self._ended(await self._outcome(mine))
        except Interrupted:
            return None
        except RebutError as error:
            return self._failed(self._kind(error), error.message, error.hint, error.exit_code)
        except Exception as error:  # a protocol of the user may raise anything; our own bugs are raised again
            if self.record is None or not self.record.opened.source:
                raise
            return self._failed(type(error).__name__, str(error), "Fix the protocol's file and run the batch again.", 3)
        finally:
            await self.noted()
            if self._budget and self.record:
                self._budget.settle(self.line.hash, self.record.committed)
            self.control.shared = None  # it refers to this debate, whose memory is then freed at once

    async def _outcome(self, setup: Setup) -> Outcome:
        if self.session:
            try:
                return await api.resume(self.session, setup=setup)
            except UnknownSession:  # the user has deleted it
                self.session = ""
        return await start(await self.line.plan(setup), setup.environment)

    def _ready(self, record: Record, folder: Path) -> None:
        self.record = record
        if self.line.fields.note and not record.calls and not notes_of(record) and not inbox.waiting(folder):
            inbox.leave(folder, self.line.fields.note)
        if record.opened.id != self.session:
            self.session = record.opened.id
            # In a thread, since it waits for the disk: the other debates of this process continue meanwhile.
            self._noted = asyncio.ensure_future(
                asyncio.to_thread(note_session, self._journal, self.line.hash, self.session)
            )

    async def noted(self) -> None:
        """Wait until the session of this line is on record. No call is made before that."""
        if self._noted:
            await asyncio.shield(self._noted)

    def _row(self, spent: Spent, code: int) -> ResultRow:
        amounts = {"usd": spent.usd, "calls": spent.calls, "tokens": spent.tokens, "seconds": round(spent.seconds, 3)}
        return row_of(self.line, self.session, **amounts, exit=code)

    def _ended(self, outcome: Outcome) -> ResultRow:
        return replace(
            self._row(outcome.spent, outcome.exit_code),
            outcome=outcome.kind,
            heading=outcome.heading,
            decision=cut(outcome.decision, DECISION),
            winner=outcome.verdict.winner if outcome.verdict else None,
            conclusive=outcome.conclusive,
            review=headline(outcome) if outcome.review else "",
        )

    def _failed(self, kind: str, message: str, hint: str, code: int) -> ResultRow:
        spent = self.record.spent() if self.record else Spent()
        return replace(self._row(spent, code), failure=kind, error=message, hint=hint)

    def _kind(self, error: RebutError) -> str:
        """The class of the failure: that of the participant that failed last, if one did, else that of the error."""
        events = reversed(self.record.lines) if self.record else ()
        return next((line.event.failure for line in events if isinstance(line.event, Failed)), type(error).__name__)


def row_of(line: BatchLine, session: str, **found: Any) -> ResultRow:
    """A row of the results about the debate of a line."""
    fields = line.fields
    found |= {"arm": fields.arm, "topic": topic_of_row(fields.topic)}
    return ResultRow(line.id, line.number, line.hash, fields.protocol, session or None, **found)


class _DebateShare:
    """The limits of the batch, as one of its debates sees them."""

    def __init__(self, budget: SharedBudget | None, debate: BatchDebate) -> None:
        self._budget, self._debate = budget, debate

    @asynccontextmanager
    async def call(self, worst: Amount) -> AsyncIterator[None]:
        debate = self._debate
        await debate.noted()
        if self._budget is None:
            yield
            return
        if not await self._budget.reserve(debate.line.hash, worst):
            raise Interrupted("a limit of the batch leaves no room for this call")
        try:
            if debate.control.draining:  # it was told to stop while this call waited
                raise Interrupted("stopped on request")
            yield
        finally:
            assert debate.record is not None
            self._budget.end_call(debate.line.hash, debate.record.committed)

    async def again(self, worst: Amount) -> bool:
        return self._budget is None or await self._budget.add(self._debate.line.hash, worst)
