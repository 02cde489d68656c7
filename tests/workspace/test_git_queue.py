"""Git commands of many debates at once: few processes, and no debate sees an older working tree than it asked for."""

from __future__ import annotations

import asyncio

from rebut.core.process import ProcessResult
from rebut.workspace.git_queue import AT_ONCE, GitQueue


class Commands:
    """Stands for git: each run waits until it is let go, and says when it began."""

    def __init__(self) -> None:
        self.began = self.running = self.most = 0
        self.go = asyncio.Event()

    async def run(self) -> ProcessResult:
        self.began += 1
        number = self.began
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.go.wait()
        finally:
            self.running -= 1
        return ProcessResult(0, str(number).encode())


async def waiting(queue: GitQueue, commands: Commands, count: int) -> list[asyncio.Task[ProcessResult]]:
    tasks = [asyncio.ensure_future(queue.run("status", commands.run)) for _ in range(count)]
    for _ in range(5):
        await asyncio.sleep(0)
    return tasks


def test_those_who_wait_for_the_same_command_share_one_run() -> None:
    async def main() -> None:
        queue, commands = GitQueue(), Commands()
        tasks = await waiting(queue, commands, 200)
        assert commands.began == AT_ONCE, "one that runs already is not shared: it may have seen an older tree"
        commands.go.set()
        said = [int(one.data) for one in await asyncio.gather(*tasks)]
        assert said == [*range(1, AT_ONCE + 1), *[AT_ONCE + 1] * (200 - AT_ONCE)]
        assert commands.most == AT_ONCE

    asyncio.run(main())


def test_who_is_cancelled_takes_the_run_from_no_other_and_the_last_one_ends_it() -> None:
    async def main() -> None:
        queue, commands = GitQueue(), Commands()
        tasks = await waiting(queue, commands, AT_ONCE + 3)
        *first, one, two, three = tasks
        one.cancel()
        await asyncio.wait([one])
        assert one.cancelled() and not two.done()
        for task in (two, three):
            task.cancel()
        await asyncio.wait([two, three])
        commands.go.set()
        await asyncio.gather(*first)
        assert commands.began == AT_ONCE and not commands.running, "no one was left who needed it"
        assert (await queue.run("status", commands.run)).data == str(AT_ONCE + 1).encode()

    asyncio.run(main())
