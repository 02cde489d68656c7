"""A process that runs debates for a batch: it gets lines on standard input and sends rows on standard output.

Each message is one line of JSON. When its input ends, because the process that started it is gone or wants it to stop,
it drops what runs and exits.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rebut.api import Setup
from rebut.batch.debate import BatchDebate
from rebut.batch.lines import BatchLine, LineFields
from rebut.batch.process_caps import CapsOfParent
from rebut.core import caps, process
from rebut.record.record import Amount

LONGEST = 64_000_000
"""The most bytes of a message."""
NEEDED = ("aiohttp", "rebut.core.disk_threads", "rebut.evidence.marks", "rebut.workspace.targets.unread")
"""Modules that the first debate would otherwise load, while all others of the process wait."""


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # the process that started this one decides; tools get the usual ones
    out = os.dup(1)
    os.dup2(2, 1)  # what anything prints must not be taken for a message
    process.adopts = True
    for name in NEEDED:
        importlib.import_module(name)
    asyncio.run(WorkerProcess(out).serve())


class WorkerProcess:
    """The debates of this process."""

    def __init__(self, out: int) -> None:
        self._out = out
        self._setup = Setup()
        self._running: dict[asyncio.Task[None], BatchDebate] = {}
        self._budget = RemoteBudget(self.send)
        self._caps = CapsOfParent(self.send)
        caps.share(self._caps)
        self._draining = False

    def send(self, message: Mapping[str, Any]) -> None:
        data = memoryview(json.dumps(message).encode() + b"\n")
        while data:
            data = data[os.write(self._out, data) :]

    async def serve(self) -> None:
        reader = asyncio.StreamReader(limit=LONGEST)
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        try:
            while raw := await reader.readline():
                self._take(json.loads(raw))
        finally:
            for task in list(self._running):
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)
            process.end_adopted()

    def _take(self, message: Mapping[str, Any]) -> None:
        if "drain" in message:
            self._draining = True
            for debate in self._running.values():
                debate.control.drain()
        elif "caps" in message:
            self._caps.answered(message["caps"], message["value"])
        elif "scarce" in message:
            self._caps.scarce(message["scarce"], message["value"])
        elif "pause" in message:
            self._caps.paused(message["pause"], message["seconds"])
        elif "permitted" in message:
            self._budget.answered(message["number"], message["permitted"])
        else:
            line = BatchLine(message["number"], message["line_hash"], LineFields.model_validate(message["fields"]))
            budget = self._budget if message["limited"] else None
            debate = BatchDebate(line, message["session"], Path(message["journal"]), budget)
            debate.control.draining = self._draining
            task = asyncio.create_task(self._run(debate))
            self._running[task] = debate
            task.add_done_callback(self._ended)

    async def _run(self, debate: BatchDebate) -> None:
        self._budget.forget(debate.line.hash)
        row = await debate.hold(self._setup)
        self.send({"ended": debate.line.hash, "row": row.to_json() if row else None})

    def _ended(self, task: asyncio.Task[None]) -> None:
        debate = self._running.pop(task)
        if not task.cancelled() and (error := task.exception()):
            import traceback

            traceback.print_exception(error)
            self.send({"ended": debate.line.hash, "row": None, "defect": repr(error)})


class RemoteBudget:
    """The budget of the batch, which is in the process that started this one."""

    def __init__(self, send: Callable[[Mapping[str, Any]], None]) -> None:
        self._send = send
        self._asked: dict[int, asyncio.Future[bool]] = {}
        self._number = 0
        self._granted = Counter[str]()

    async def reserve(self, line_hash: str, worst: Amount) -> bool:
        return await self._ask(line_hash, worst, "reserve")

    async def add(self, line_hash: str, worst: Amount) -> bool:
        return await self._ask(line_hash, worst, "add")

    async def _ask(self, line_hash: str, worst: Amount, what: str) -> bool:
        self._number += 1
        number, answer = self._number, asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        self._send({"want": what, "number": number, "line_hash": line_hash, "amount": _plain(worst)})
        permitted = bool(await answer)
        self._granted[line_hash] += permitted
        return permitted

    def answered(self, number: int, permitted: bool) -> None:
        answer = self._asked.pop(number)
        if not answer.done():
            answer.set_result(permitted)

    def forget(self, line_hash: str) -> None:
        """Forget the permissions of a debate, which begins or is resumed here."""
        self._granted.pop(line_hash, None)

    def end_call(self, line_hash: str, amount: Amount) -> None:
        self._tell("call", line_hash, amount)

    def settle(self, line_hash: str, amount: Amount) -> None:
        self._tell("debate", line_hash, amount)

    def _tell(self, what: str, line_hash: str, amount: Amount) -> None:
        seen = self._granted[line_hash]
        self._send({"settled": what, "line_hash": line_hash, "amount": _plain(amount), "granted": seen})


def _plain(amount: Amount) -> list[float]:
    return [amount.calls, amount.tokens, amount.usd]
