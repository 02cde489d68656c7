"""Tasks (SEP-2663) by the SDK's client: for clients that declare them on a connection that has them, and no others."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any, Literal

import hosts
import mcp_types as types
import pytest
from hosts import LEGACY, MODERN, beside, inside, talk
from mcp.client import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim, advertise

from rebut.mcp import debate_process
from rebut.mcp.server import TASKS


class TaskHandle(types.Result):
    """What a server returns in the place of a result."""

    result_type: Literal["task"]
    task_id: str
    status: str
    created_at: str
    poll_interval_ms: int


class TaskParams(types.RequestParams):
    task_id: str


class GetTask(types.Request[TaskParams, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    params: TaskParams


class CancelTask(types.Request[TaskParams, Literal["tasks/cancel"]]):
    method: Literal["tasks/cancel"] = "tasks/cancel"
    params: TaskParams


class Found(types.Result):
    task_id: str = ""
    status: str = ""
    status_message: str = ""
    result: dict[str, Any] | None = None


async def look(session: Any, id: str) -> Found:
    found: Found = await session.send_request(GetTask(params=TaskParams(task_id=id)), Found)
    return found


class Tasks(ClientExtension):
    """Polls a task to its end, and remembers what it saw."""

    identifier = TASKS

    def __init__(self) -> None:
        self.seen: list[Found] = []

    def claims(self) -> list[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=TaskHandle, resolve=self._poll)]

    async def _poll(self, task: TaskHandle, ctx: ClaimContext) -> types.CallToolResult:
        import asyncio

        assert task.status == "working" and task.poll_interval_ms
        while (found := await look(ctx.session, task.task_id)).status == "working":
            self.seen.append(found)
            await asyncio.sleep(0.2)
        assert found.status == "completed" and found.result
        return types.CallToolResult.model_validate(found.result)


def test_a_long_call_is_a_task_and_its_id_is_the_session(shop: Path, own_home: Path) -> None:
    hosts.reviewers(own_home, delay=1)
    polled = Tasks()

    async def use(client: Client) -> None:
        done = await client.call_tool("review", {})
        row = done.structured_content
        assert row["status"] == "done" and row["findings"][0]["id"] == "F1"
        assert polled.seen and {one.task_id for one in polled.seen} == {row["session"]}
        assert any("r1/critique@critic asked" in one.status_message for one in polled.seen)
        again = await client.call_tool("review", {})
        assert again.structured_content["session"] == row["session"], "what is there already needs no task"
        short = await client.call_tool("check", {"text": "x"})
        assert short.structured_content["status"] == "done"

    talk(beside(shop, MODERN, extensions=[polled]), use)


def test_another_server_knows_the_task_and_cancels_it(shop: Path, own_home: Path) -> None:
    hosts.reviewers(own_home, {"r1/judgement@judge": {"hang": True}})

    async def begin(client: Client) -> str:
        made = await client.session.call_tool("review", {}, allow_claimed=True)
        assert isinstance(made, TaskHandle)
        return made.task_id

    id = talk(inside(shop, extensions=[Tasks()]), begin)

    async def cancel(client: Client) -> None:
        assert (await look(client.session, id)).status == "working"
        for _ in range(2):  # the first lets the call finish, which hangs
            await client.session.send_request(CancelTask(params=TaskParams(task_id=id)), types.Result)
        found = await look(client.session, id)
        assert found.status == "completed" and found.result
        assert found.result["structuredContent"]["status"] == "stopped"
        with pytest.raises(Exception, match="no session is called"):
            await look(client.session, "zzzz")

    talk(inside(shop, extensions=[Tasks()]), cancel)


@pytest.mark.parametrize("era", [MODERN, LEGACY])
def test_a_client_that_cannot_read_a_task_gets_none(shop: Path, own_home: Path, era: str) -> None:
    hosts.reviewers(own_home, delay=1)

    async def use(client: Client) -> None:
        done = await client.call_tool("review", {})
        assert done.structured_content["status"] == "done"

    # A legacy client may name the extension all the same.
    talk(inside(shop, era, extensions=[advertise(TASKS)] if era == LEGACY else []), use)


def test_the_error_of_a_debate_may_be_long() -> None:  # C14
    reading, writing = os.pipe()
    line = b'{"error": "' + b"x" * 300_000 + b'"}\n'

    def write() -> None:
        with os.fdopen(writing, "wb") as file:
            file.write(line)

    thread = threading.Thread(target=write)
    thread.start()
    assert asyncio.run(debate_process._first_line(reading)) == line
    thread.join()
