"""The server: answers a host over standard input and output, with the official SDK.

Clients of protocol version 2026-07-28 that declare the tasks extension get a task for a call that may take minutes. Its
id is that of the session, so every other server knows the task, too.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from rebut import __version__
from rebut.core.errors import RebutError
from rebut.core.json_value import Json
from rebut.core.text import cut
from rebut.mcp.access import HostWorkspace
from rebut.mcp.result import URI, SessionResult, compact, result_of
from rebut.mcp.tools import (
    TOOLS,
    AnswerCall,
    CallArguments,
    Calls,
    NewDebateCall,
    ResultCall,
    StopCall,
    ToolEntry,
    arguments,
    wait,
)
from rebut.record import sessions
from rebut.record.record import seconds
from rebut.reports import export

Context = ServerRequestContext[Any, Any]
PROGRESS = 10.0
"""Seconds between two reports of progress."""
MOST_LISTED = 20
TASKS = "io.modelcontextprotocol/tasks"
WITH_TASKS = "2026-07-28"
"""The first protocol version with tasks: an older client may name the extension, but could not read a task."""
POLL = 2000
"""Milliseconds that a client should wait between two looks at a task."""
INSTRUCTIONS = (
    "rebut has models argue, checks what they cite, and records everything. Use check (free, at once) before you "
    "send or carry out a text that cites files, review before a change is merged, plan before a plan is carried out, "
    "debate for a question worth several model calls. A debate runs on its own: if a call returns status running, "
    "call result with its session until the status is another one, and never start the same debate twice. Report the "
    "heading as it is."
)


def server(workspace: HostWorkspace) -> Server[Any]:
    """The server of one workspace."""
    calls = Calls(workspace)

    async def list_tools(ctx: Context, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[described(tool) for tool in TOOLS])

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Any:
        tool = next((one for one in TOOLS if one.name == params.name), None)
        if tool is None:
            return _error(f"there is no tool {params.name}", f"The tools: {', '.join(one.name for one in TOOLS)}.")
        try:
            call = arguments(tool, params.arguments or {})
            found = await calls.begin(call)
            if isinstance(found, SessionResult):
                return _result(found)
            if tool.starts and _takes_tasks(ctx) and sessions.running(found):
                return {"resultType": "task", **_task(found, await result_of(found))}
            seconds = call.wait_seconds if isinstance(call, NewDebateCall | AnswerCall | ResultCall) else 0
            part = call.part if isinstance(call, ResultCall) else 1
            return _result(await wait(found, seconds, Reporter(ctx), PROGRESS, part))
        except RebutError as error:
            return _error(error.message, error.hint)
        except OSError as error:
            return _error(f"{error.filename or 'the system'}: {error.strerror}")

    async def get_task(ctx: Context, params: TaskParams) -> dict[str, Json]:
        try:
            folder = workspace.session(params.task_id)
            found = await result_of(folder)
        except RebutError as error:
            raise MCPError(code=types.INVALID_PARAMS, message=str(error)) from error
        row = _task(folder, found)
        if row["status"] == "completed":
            row["result"] = _result(found).model_dump(mode="json", by_alias=True, exclude_none=True)
        return row

    async def cancel_task(ctx: Context, params: TaskParams) -> dict[str, Json]:
        try:
            await calls.begin(StopCall(session=params.task_id, how="drain"))
        except RebutError as error:
            raise MCPError(code=types.INVALID_PARAMS, message=str(error)) from error
        return {}

    async def update_task(ctx: Context, params: TaskParams) -> dict[str, Json]:
        raise MCPError(code=types.INVALID_PARAMS, message="rebut asks for nothing in a task; call the tool answer")

    async def list_resources(ctx: Context, params: Any) -> types.ListResourcesResult:
        rows = [
            types.Resource(uri=f"{URI}{one.id}", name=cut(one.opened.topic, 80) or one.id, mime_type="text/markdown")
            for one in workspace.sessions()[:MOST_LISTED]
        ]
        return types.ListResourcesResult(resources=rows)

    async def list_templates(ctx: Context, params: Any) -> types.ListResourceTemplatesResult:
        said = "A session as Markdown: its outcome, every answer, every point with its citations"
        one = types.ResourceTemplate(
            uri_template=f"{URI}{{id}}", name="session", description=said, mime_type="text/markdown"
        )
        return types.ListResourceTemplatesResult(resource_templates=[one])

    async def read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        name = uri.removeprefix(URI)
        if not uri.startswith(URI) or not re.fullmatch(r"[\w.-]+", name):
            raise MCPError(code=types.INVALID_PARAMS, message=f"there is no resource {uri}; sessions are {URI}ID")
        try:
            text = export.markdown(sessions.load(workspace.session(name)))
        except RebutError as error:
            raise MCPError(code=types.INVALID_PARAMS, message=str(error)) from error
        content = types.TextResourceContents(uri=uri, text=text, mime_type="text/markdown")
        return types.ReadResourceResult(contents=[content])

    made: Server[Any] = Server(
        "rebut",
        version=__version__,
        title="rebut",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )
    made.extensions[TASKS] = {}
    for method, handler in (("get", get_task), ("cancel", cancel_task), ("update", update_task)):
        made.add_request_handler(f"tasks/{method}", TaskParams, handler)
    return made


async def serve(folder: Path | None = None) -> None:
    """Answer the host until it closes the streams."""
    made = server(HostWorkspace.at(folder))
    async with stdio_server() as (read, write):
        await made.run(read, write, made.create_initialization_options())


class TaskParams(types.RequestParams):
    """What names a task."""

    task_id: str


class Reporter:
    """Sends progress, if the client asked for it."""

    def __init__(self, ctx: Context) -> None:
        self._ctx, self._count = ctx, 0

    async def __call__(self, line: str) -> None:
        self._count += 1
        await self._ctx.session.report_progress(self._count, None, line)


def described(tool: ToolEntry) -> types.Tool:
    """A tool as clients see it."""
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=" ".join((tool.takes.__doc__ or "").split()),
        input_schema=_schema(tool.takes),
        output_schema=_schema(SessionResult),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.reads, destructive_hint=False, open_world_hint=tool.starts, idempotent_hint=tool.reads
        ),
    )


def _schema(form: type[CallArguments] | type[SessionResult]) -> dict[str, Any]:
    """The schema without titles and descriptions of whole objects: every host pays for its length in each request."""
    made = _bare(form.model_json_schema())
    assert isinstance(made, dict)
    return made


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        dropped = ("title", "description") if "properties" in value else ("title",)
        return {name: _bare(inner) for name, inner in value.items() if name not in dropped}
    return [_bare(one) for one in value] if isinstance(value, list) else value


def _result(found: SessionResult) -> types.CallToolResult:
    row = found.fitted().row
    return types.CallToolResult(content=[types.TextContent(text=compact(row))], structured_content=row)


def _error(message: str, hint: str = "") -> types.CallToolResult:
    text = f"rebut: {message}\n{hint}".strip()
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


def _takes_tasks(ctx: Context) -> bool:
    declared = ctx.session.client_capabilities
    return ctx.protocol_version >= WITH_TASKS and TASKS in ((declared.extensions if declared else None) or {})


def _task(folder: Path, found: SessionResult) -> dict[str, Json]:
    record = sessions.load(folder)
    began, last = (record.lines[n].at for n in (0, -1))
    return {
        "taskId": record.opened.id,
        "status": "working" if found.status == "running" else "completed",
        "statusMessage": found.heading,
        "createdAt": _stamp(began),
        "lastUpdatedAt": _stamp(last),
        "ttlMs": None,
        "pollIntervalMs": POLL,
    }


def _stamp(at: str) -> str:
    return datetime.fromtimestamp(seconds(at), UTC).isoformat().replace("+00:00", "Z")
