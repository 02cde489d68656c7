"""The tools of the server: what each takes, and what it does. None applies a patch, runs a check or raises a limit."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rebut.core import files
from rebut.core.errors import UsageError
from rebut.core.frozen import frozen
from rebut.mcp import debate_process
from rebut.mcp.access import HostWorkspace
from rebut.mcp.result import SessionResult, checked, result_of, under_way
from rebut.record import inbox, sessions, turn
from rebut.record.record import Record
from rebut.setup import checked_text
from rebut.setup.verbs import is_file

LARGEST = 2_000_000
"""Bytes of a text to check."""
LONGEST = 50
"""Seconds that a call may wait: many hosts give up after 60, and then a model starts the same debate again."""
LOOK, READ = 0.25, 2.0
"""Seconds between two looks at a session, and between two readings of its journal."""
SETTLED = 5.0
"""Seconds to wait until a debate has done what it was asked for."""

Models = Annotated[
    list[str],
    Field(
        description='Who takes part, in the order of the roles, such as ["claude", "codex"]; "caller" is you. '
        "Only what the user's config allows. Empty: rebut chooses"
    ),
]
MaxUsd = Annotated[
    float, Field(description="Dollars at most: lowers the user's limit, never raises it. 0: that limit", ge=0)
]
Wait = Annotated[
    int, Field(description="Seconds to wait for the result; the debate continues after that", ge=0, le=LONGEST)
]
Session = Annotated[str, Field(description='Its id, or "last"')]
Report = Callable[[str], Awaitable[None]]
"""Takes a line on the progress."""


class CallArguments(BaseModel):
    """What a tool takes."""

    model_config = ConfigDict(extra="forbid")


class CheckCall(CallArguments):
    """Check every citation (file, line, quoted words) in a text against the workspace. No model, no cost, at once."""

    text: str = Field(default="", description="The text; or give path")
    path: str = Field(default="", description="A file of the workspace")


class NewDebateCall(CallArguments):
    """What every tool that starts a debate takes."""

    models: Models = []
    max_usd: MaxUsd = 0
    wait_seconds: Wait = 45


class DebateCall(NewDebateCall):
    """Have models of different families argue a question; a program checks what they cite. Costs money and minutes.

    Returns after wait_seconds with a session, which result continues to wait for. Roles: proposer, challenger, judge;
    for panel: lead, then challengers.
    """

    topic: str = Field(default="", description="The question, with what is needed to decide it")
    protocol: Literal["ask", "duel", "panel"] = Field(
        default="ask",
        description="ask: two answers, debated if they differ; duel: one position attacked; panel: several experts",
    )
    context: list[str] = Field(default=[], description="Files and folders of the workspace that the models may read")
    resume: str = Field(default="", description="Instead of a topic: a session that stopped, to continue it")


class ReviewCall(NewDebateCall):
    """Have a change reviewed: a critic finds, a judge weighs, a program checks the citations. Costs money and minutes.

    Returns findings, or after wait_seconds a session, which result continues to wait for. Roles: critic, judge.
    """

    change: str = Field(
        default="",
        description="A commit, a range A..B, a file, or a diff; empty: what is uncommitted, else this branch",
    )


class PlanCall(NewDebateCall):
    """Have a plan or a proposal reviewed before it is carried out. Costs money and minutes. Roles: critic, judge."""

    path: str = Field(default="", description="The file with the plan; or give text")
    text: str = Field(default="", description="The plan itself")


class ResultCall(CallArguments):
    """The state of a session, its result once there is one. Waits for that up to wait_seconds. Costs nothing."""

    session: Session
    wait_seconds: Wait = 45
    part: int = Field(default=1, description="Which part of a long question", ge=1)


class AnswerCall(CallArguments):
    """Answer a question to the seat "caller", which is yours, and continue the debate."""

    session: Session
    answer: str = Field(description="Your answer; JSON as text if the question has a schema")
    key: str = Field(default="", description="The key of the question")
    wait_seconds: Wait = 45


class StopCall(CallArguments):
    """Stop a running debate. What is on record stays, and it can be continued."""

    session: Session
    how: Literal["settle", "drain"] = Field(
        default="drain",
        description="settle: end the rounds and decide now; drain: make no further call (twice: drop running ones)",
    )


@frozen
class ToolEntry:
    """One tool: its name, its arguments, and whether it only reads."""

    name: str
    title: str
    takes: type[CallArguments]
    reads: bool = False
    starts: bool = False
    """Whether its result may take minutes."""


TOOLS = (
    ToolEntry("check", "Check citations", CheckCall, reads=True),
    ToolEntry("debate", "Argue a question", DebateCall, starts=True),
    ToolEntry("review", "Review a change", ReviewCall, starts=True),
    ToolEntry("plan", "Review a plan", PlanCall, starts=True),
    ToolEntry("result", "Result of a session", ResultCall, reads=True),
    ToolEntry("answer", "Answer as the caller", AnswerCall, starts=True),
    ToolEntry("stop", "Stop a debate", StopCall),
)


def arguments(tool: ToolEntry, given: Mapping[str, Any]) -> CallArguments:
    """The checked arguments of a call. The error lists each wrong argument."""
    try:
        # Many models send null for what they leave out.
        return tool.takes.model_validate({name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        wrong = [
            f"{'.'.join(map(str, e['loc'])) or 'the arguments'}: {e['msg']}" for e in error.errors(include_url=False)
        ]
        known = ", ".join(tool.takes.model_fields)
        raise UsageError(f"{tool.name} cannot use these arguments: {'; '.join(wrong)}", f"It takes {known}.") from error


class Calls:
    """Carries out calls in one workspace. Holds no state: a session is its folder."""

    def __init__(self, workspace: HostWorkspace) -> None:
        self._workspace = workspace

    async def begin(self, call: CallArguments) -> Path | SessionResult:
        """Carry out a call; returns its result, or the folder of the session if the result may take longer."""
        self._workspace.check()
        match call:
            case CheckCall():
                return await self._check(call)
            case DebateCall() if call.resume:
                return await self._resume(call)
            case AnswerCall():
                return await self._answer(call)
            case StopCall():
                return await self._stop(call)
            case ResultCall():
                return self._workspace.session(call.session)
            case NewDebateCall():
                session = await debate_process.start_debate(self._request(call), self._workspace.folder)
                return sessions.home() / session
        raise AssertionError(call)

    def _request(self, call: NewDebateCall) -> dict[str, Any]:
        """The request for the process of a new debate. Paths are checked here, models in that process."""
        inside = self._workspace.inside
        request: dict[str, Any] = {"models": call.models, "max_usd": call.max_usd or None}
        match call:
            case DebateCall():
                if not call.topic.strip():
                    raise UsageError("debate needs a topic", "Or give resume, with a session that stopped.")
                context = [inside(path) for path in call.context]
                return {**request, "topic": call.topic, "protocol": call.protocol, "context": context}
            case ReviewCall():
                is_path = "\n" not in call.change and is_file(call.change, self._workspace.folder)
                return {**request, "change": inside(call.change) if call.change and is_path else call.change}
            case PlanCall():
                if bool(call.path) == bool(call.text.strip()):
                    raise UsageError("plan needs either path or text")
                return {**request, "path": inside(call.path)} if call.path else {**request, "text": call.text}
        raise AssertionError(call)

    async def _check(self, call: CheckCall) -> SessionResult:
        if bool(call.path) == bool(call.text):
            raise UsageError("check needs either text or path")
        text, folder = call.text, None
        if call.path:
            path = self._workspace.folder / self._workspace.inside(call.path)
            try:
                text, folder = files.read(path, LARGEST + 1).decode(errors="replace"), path.parent
            except OSError as error:
                raise UsageError(f"{call.path} cannot be read: {error.strerror}") from error
        if len(text.encode(errors="replace")) > LARGEST:
            raise UsageError(f"the text is larger than {LARGEST:,} bytes", "Check it in parts.")
        return checked(await checked_text.check_async(text, root=self._workspace.folder, folder=folder))

    async def _resume(self, call: DebateCall) -> Path:
        if call.topic or call.context or call.models or call.max_usd:
            raise UsageError("resume continues a debate as it is", "Give resume alone, or start a new debate.")
        folder = self._workspace.session(call.resume)
        record = sessions.load(folder)
        if not record.closed and not sessions.running(folder):
            _check_protocol(record)
            await debate_process.start_debate({"session": folder.name}, self._workspace.folder)
        return folder

    async def _answer(self, call: AnswerCall) -> Path:
        folder = self._workspace.session(call.session)
        if sessions.running(folder):
            raise UsageError(f"session {folder.name} is running, and asks you nothing now", "Call result.")
        record = sessions.load(folder)
        if record.closed:
            return folder  # no error: the result says how the debate ended
        waits = turn.whose_turn(folder, record)
        if waits and waits.who == "person":
            raise UsageError(
                f"it is a person's turn in session {folder.name}, and answer is for the caller only",
                f"The user continues it in a terminal: rebut resume {folder.name}",
            )
        if waits is None:
            raise UsageError(f"session {folder.name} asks you nothing now", "Call result.")
        if call.key and call.key != waits.key:
            raise UsageError(f"the question that waits is {waits.key}, not {call.key}", "Call result to read it.")
        if not call.answer.strip():
            raise UsageError("the answer is empty")
        _check_protocol(record)
        request = {"session": folder.name, "key": waits.key, "answer": call.answer}
        await debate_process.start_debate(request, self._workspace.folder)
        return folder

    async def _stop(self, call: StopCall) -> SessionResult:
        folder = self._workspace.session(call.session)
        pid = sessions.running(folder)
        if not pid or sessions.load(folder).closed:
            return await result_of(folder)
        if call.how == "drain" and not pid.isdigit():
            raise UsageError(f"session {folder.name} runs in process {pid}", "Stop it there, or stop with settle.")
        if call.how == "drain":
            os.kill(int(pid), signal.SIGINT)
            await _polled(lambda: None if sessions.running(folder) else "")
        else:
            note = inbox.leave(folder, inbox.SETTLE)
            if refused := await _polled(lambda: inbox.answer(note)):
                raise UsageError(
                    f"session {folder.name} cannot be settled: {refused}", "Call result, or stop with drain."
                )
        return await result_of(folder)


async def wait(folder: Path, wait_seconds: float, report: Report, every: float, part: int = 1) -> SessionResult:
    """The state of a session, as soon as its process has ended or the time is up."""
    until = time.monotonic() + wait_seconds
    reported = read = time.monotonic()
    while sessions.running(folder) and (now := time.monotonic()) < until:
        if now - read > READ:  # the process of a terminal may outlive its debate
            read = now
            if sessions.load(folder).closed:
                break
        if now - reported >= every:
            reported = now
            await report(under_way(sessions.load(folder)))
        await asyncio.sleep(min(LOOK, max(0.0, until - now)))
    return await result_of(folder, part)


def _check_protocol(record: Record) -> None:
    """Raise if the session's protocol file changed since. Only the user decides, in a terminal, whether to run it."""
    from rebut.engine.protocol import changed_file

    if file := changed_file(record):
        raise UsageError(
            f"the protocol file {file.name} changed since session {record.opened.id} was recorded",
            f"The user reads the change and continues it in a terminal: rebut resume {record.opened.id}",
        )


async def _polled(look: Callable[[], str | None]) -> str | None:
    """What `look` returns once that is not None; None if it still is after some seconds."""
    for _ in range(round(SETTLED / 0.05)):
        if (answer := look()) is not None:
            return answer
        await asyncio.sleep(0.05)
    return None
