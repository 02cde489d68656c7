"""Processes that share the debates of a batch. One that dies is replaced, and its debates are resumed by another."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from rebut.batch.batch import DRAINING
from rebut.batch.budget import BatchBudget
from rebut.batch.debate import row_of
from rebut.batch.lines import BatchLine
from rebut.batch.process_caps import CapsForChildren
from rebut.batch.results import ResultRow, Results
from rebut.batch.worker_process import LONGEST
from rebut.core.errors import RebutError
from rebut.record.record import Amount

START = "from rebut.batch.worker_process import main; main()"
MOST_DEATHS = 2
"""How often the process of one debate may die before that counts as the debate's failure."""
PATIENCE = 10.0
"""Seconds that a process gets to end its tools and exit."""


class Died(Exception):
    """The process that ran a debate has ended before the debate."""


class Child:
    """One child process, as the process that started it sees it."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.debates: dict[str, asyncio.Future[ResultRow | None]] = {}
        self.in_flight = 0
        """Calls that were permitted and have not ended."""
        self.granted: dict[str, list[Amount]] = {}
        """The amounts that each debate was permitted to spend, in order."""
        self.reading: asyncio.Future[None] | None = None

    def send(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")


class Processes:
    """Hands each debate to the process that has the fewest debates."""

    stopping = DRAINING

    def __init__(self, count: int, results: Results, budget: BatchBudget | None) -> None:
        self._count, self._results, self._budget = count, results, budget
        self._children: list[Child] = []
        self._draining = False
        self._deaths = Counter[str]()
        self._answers: set[asyncio.Task[None]] = set()
        self._starting = asyncio.Lock()
        self._caps = CapsForChildren()

    async def hold(self, line: BatchLine, session: str) -> ResultRow | None:
        while True:
            child = await self._free()
            done: asyncio.Future[ResultRow | None] = asyncio.get_running_loop().create_future()
            child.debates[line.hash], child.granted[line.hash] = done, []
            child.send(
                {
                    "number": line.number,
                    "line_hash": line.hash,
                    "fields": line.fields.model_dump(mode="json"),
                    "session": session,
                    "journal": str(self._results.journal),
                    "limited": self._budget is not None,
                }
            )
            try:
                return await done
            except Died:
                session = self._results.sessions().get(line.hash, "")
                if self._draining:
                    return None
                self._deaths[line.hash] += 1
                if self._deaths[line.hash] >= MOST_DEATHS:
                    said = f"the process that ran it died {MOST_DEATHS} times"
                    hint = "It may need more memory than there is. Run the batch again with a lower --at-once."
                    return row_of(line, session, failure="crashed", error=said, hint=hint, exit=3)
            finally:
                child.debates.pop(line.hash, None)

    async def _free(self) -> Child:
        """The process with the fewest debates; as many as wanted are started first."""
        async with self._starting:
            while len(self._children) < self._count:
                words = (sys.executable, "-P", "-c", START)
                # In a session of its own, Ctrl-C does not reach it: this process decides what to do then.
                process = await asyncio.create_subprocess_exec(
                    *words, stdin=PIPE, stdout=PIPE, limit=LONGEST, start_new_session=True
                )
                child = Child(process)
                child.reading = asyncio.ensure_future(self._read(child))
                self._children.append(child)
        return min(self._children, key=lambda child: len(child.debates))

    async def _read(self, child: Child) -> None:
        assert child.process.stdout is not None
        while raw := await child.process.stdout.readline():
            if raw.endswith(b"\n"):
                self._take(child, json.loads(raw))
        if child in self._children:
            self._children.remove(child)
        self._caps.lose(child)
        if self._budget:
            self._budget.lose_calls(child.in_flight)
        for done in child.debates.values():
            if not done.done():
                done.set_exception(Died())

    def _take(self, child: Child, message: Mapping[str, Any]) -> None:
        if "ended" in message:
            done = child.debates.get(message["ended"])
            if done is None or done.done():
                return
            if "defect" in message:
                done.set_exception(RebutError(f"a process of the batch failed: {message['defect']}"))
            else:
                done.set_result(ResultRow.from_json(message["row"]) if message["row"] else None)
            return
        if "caps" in message:
            self._caps.take(child, child.send, message)
            if message["caps"] == "pause":
                for other in self._children:
                    if other is not child:
                        other.send({"pause": message["provider"], "seconds": message["seconds"]})
            return
        assert self._budget is not None
        line_hash, amount = message["line_hash"], Amount(*message["amount"])
        if "want" in message:
            task = asyncio.create_task(self._answer(child, message, line_hash, amount))
            self._answers.add(task)
            task.add_done_callback(self._answers.discard)
            return
        for granted in child.granted.get(line_hash, [])[message["granted"] :]:
            amount += granted  # permitted, but not known to the process when it sent this
        if message["settled"] == "call":
            child.in_flight -= 1
            self._budget.end_call(line_hash, amount)
        else:
            self._budget.settle(line_hash, amount)

    async def _answer(self, child: Child, message: Mapping[str, Any], line_hash: str, worst: Amount) -> None:
        assert self._budget is not None
        new = message["want"] == "reserve"
        permitted = await (self._budget.reserve if new else self._budget.add)(line_hash, worst)
        if permitted and new and child not in self._children:
            self._budget.lose_calls(1)  # it died while it waited
        elif permitted:
            child.in_flight += new
            child.granted.setdefault(line_hash, []).append(worst)
        child.send({"permitted": permitted, "number": message["number"]})

    def drain(self) -> None:
        self._draining = True
        for child in self._children:
            child.send({"drain": True})

    async def close(self) -> None:
        """End the processes; what they run is dropped."""
        for child in list(self._children):
            assert child.process.stdin is not None
            child.process.stdin.close()
            try:
                await asyncio.wait_for(child.process.wait(), PATIENCE)
            except TimeoutError:
                with suppress(ProcessLookupError):
                    child.process.kill()
                await child.process.wait()
            if child.reading:
                await child.reading
