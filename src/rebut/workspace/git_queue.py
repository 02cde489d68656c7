"""Git commands of many debates: only a few run at a time, and debates that wait for the same command share one run.

Commands only read. A shared run begins after the last debate that shares it has asked, so each debate sees the
working tree as it was when it asked, or later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable

from rebut.core.event_loop import PerLoop
from rebut.core.frozen import frozen
from rebut.core.process import ProcessResult

AT_ONCE = 8
Run = Callable[[], Awaitable[ProcessResult]]


@frozen
class _SharedRun:
    """A run that has not begun, and the callers that wait for it."""

    task: asyncio.Task[ProcessResult]
    waiting: set[object]


class GitQueue:
    """Runs the git commands of one event loop."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._next: dict[Hashable, _SharedRun] = {}

    async def run(self, key: Hashable, run: Run) -> ProcessResult:
        """The result of a command. Equal keys mean the same command in the same folder."""
        if not self._turns.locked():
            async with self._turns:
                return await run()
        shared = self._next.get(key)
        if shared is None:
            shared = self._next[key] = _SharedRun(asyncio.ensure_future(self._in_turn(key, run)), set())
        caller = object()
        shared.waiting.add(caller)
        try:
            return await asyncio.shield(shared.task)
        except asyncio.CancelledError:
            if shared.waiting == {caller}:  # no other debate needs it
                if self._next.get(key) is shared:
                    del self._next[key]
                shared.task.cancel()
                await asyncio.wait([shared.task])  # until its process has ended
            raise
        finally:
            shared.waiting.discard(caller)

    async def _in_turn(self, key: Hashable, run: Run) -> ProcessResult:
        async with self._turns:
            self._next.pop(key, None)
            return await run()


git_queue = PerLoop(GitQueue).get
"""The queue of the running event loop."""
