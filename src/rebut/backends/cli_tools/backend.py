"""A command-line tool as a participant: run read-only, in an empty folder, with its prompt on standard input.

How a tool is called and how its output is read is in its table (`tables.py`); this module treats all tools alike.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from rebut.backends.cli_tools import tables
from rebut.backends.cli_tools.tables import CommandPart, Marker, Output, Tool
from rebut.backends.families import family_of
from rebut.backends.json_path import Extract, picked
from rebut.core import process
from rebut.core.errors import ParticipantFailed, UsageError
from rebut.core.files import read
from rebut.core.json_value import Json
from rebut.core.process import ProcessResult
from rebut.core.scratch import scratch_folder
from rebut.core.text import decoded, last_line, printable
from rebut.core.types import FailureKind, Reply, Request, Usage
from rebut.core.working_time import clock, timeout

_QUOTED = 300
_NOTICE = 500
"""Characters. A longer text is an answer, not a notice, whatever it begins with."""
_LARGEST_FILE = 1_000_000
_STATUS: dict[int, FailureKind] = {401: "auth", 403: "auth", 402: "rate limit", 429: "rate limit", 404: "missing tool"}
_STATUS |= {408: "timeout", 504: "timeout"}


class Command:
    """One tool with a model and an effort.

    Each call gets its own empty working folder, so that a path in a text leads nowhere. A participant's persona is
    written there as the tool's context file. `workdir` is a folder with such a file; only that file is copied.
    """

    def __init__(
        self, tool: Tool, *, model: str, effort: str, env: Mapping[str, str], workdir: Path | None = None
    ) -> None:
        model = model or tool.model
        if model and not re.fullmatch(r"[^\s\"'\\$\-][^\s\"'\\$]*", model):
            # The name becomes an argument and part of a settings file: it must not be a flag or break out of a string.
            raise UsageError(f"{tool.name}: {model!r} is not the name of a model", f"Write {tool.name}:MODEL.")
        self._tool = tool
        self._model = model
        self._effort = tool.efforts.get(effort, "")
        self._env = dict(env)
        self._workdir = workdir
        self._notes = _notes(tool, effort)
        self._checking = asyncio.Lock()
        self._checked = False
        self._noted_sampling = False
        """Whether a note says that the tool has no sampling options."""

    @property
    def family(self) -> str:
        """The family of the model, as far as it is known before the first answer."""
        return self._family(self._model)

    def _family(self, model: str) -> str:
        # In `provider/model` the model's name counts: the same model is sold by many providers.
        return family_of(model.rpartition("/")[2]) or self._tool.family or self._tool.name

    async def complete(self, request: Request) -> Reply:
        tool = self._tool
        if (sampling := request.sampling.to_json()) and not self._noted_sampling:
            self._noted_sampling = True
            self._notes = (*self._notes, f"{tool.name} does not accept {' and '.join(sampling)}; continued without")
        limit, began = min(request.timeout, self._tool.timeout), clock()
        path = tables.find_executable(tool, self._env)
        if path is None:
            raise ParticipantFailed(
                "missing tool", f"{tool.name} is not installed: no {tool.command} on PATH", _get(tool)
            )
        feed = self._prompt(request)
        try:
            async with timeout(limit):
                await self._check_once()
        except TimeoutError as error:
            message = f"{tool.name}: no answer within {limit:g} s"
            raise ParticipantFailed("timeout", message, self._hint("timeout")) from error
        base = scratch_folder(self._env)
        try:
            folder, scratch, work = (base / name for name in ("files", "tmp", "work"))
            for made in (folder, scratch, work):
                made.mkdir()
            persona = request.participant.persona if tool.context_file else ""
            if persona:
                (work / (tool.laid_as or tool.context_file)).write_text(persona, encoding="utf-8", errors="replace")
            elif self._workdir:
                self._copy_context(self._workdir, work)
            argv, env = self._prepared(path, folder, work, with_context=bool(persona or self._workdir))
            env |= {"TMPDIR": str(scratch), "PWD": str(work), "TERM": "dumb", "NO_COLOR": "1"}
            # The tool is ended a little before the limit, so that there is time to report its last output: the limit
            # may also be the end of the debate.
            seconds = max(0.0, limit - (clock() - began) - min(0.25, limit / 20))
            ended = await self._run(argv, work, env, feed, seconds, request)
            return self._reply(ended, folder, limit)
        finally:
            shutil.rmtree(base, ignore_errors=True)

    async def _run(
        self, argv: list[str], cwd: Path, env: Mapping[str, str], feed: bytes, seconds: float, request: Request
    ) -> ProcessResult:
        try:
            return await process.run_program(
                argv,
                cwd=cwd,
                env=env,
                feed=feed,
                seconds=seconds,
                on_spawn=request.on_spawn,
                on_line=self._pieces(request),
                mark=Path(env["TMPDIR"]),
            )
        except OSError as error:
            message = f"{self._tool.name} cannot be started: {error.strerror}"
            raise ParticipantFailed("missing tool", message, _get(self._tool)) from error

    def _pieces(self, request: Request) -> Callable[[bytes], bool] | None:
        """The reader of the tool's lines as they arrive; None if the tool does not stream."""
        shape = self._tool.output
        if not shape.stream:
            return None
        return Pieces(shape, request.on_text, lambda text: self._notice(text.strip()) is not None).take

    def _prompt(self, request: Request) -> bytes:
        """The prompt as bytes: the stable part first, for the providers' caches; the schema before the follow-up."""
        tool = self._tool
        parts = [tool.lead, request.prompt]
        if request.schema is not None:
            parts.append(SCHEMA.format(json.dumps(request.schema, ensure_ascii=False)))
        if request.followup:
            parts.append(request.followup)
        text = "\n\n".join(parts)
        feed = text.encode("utf-8", "replace")
        for size, limit, unit in (
            (len(feed), tool.limit_bytes, "bytes"),
            (len(text), tool.limit_characters, "characters"),
        ):
            if limit and size > limit:
                raise ParticipantFailed(
                    "crashed",
                    f"{tool.name} accepts prompts of at most {limit:,} {unit}; this one has {size:,}",
                    "Give less context, or choose another model.",
                )
        return feed

    async def _check_once(self) -> None:
        """Check the installed tool against its table, once: on another version the lockdown may not work."""
        async with self._checking:
            if not self._checked:
                await self._check()
                self._checked = True

    async def _check(self) -> None:
        tool, found = self._tool, ""
        if tool.minimum:
            said = await tables.ask(tool, self._env, tool.version_args)
            if said.code != 0:
                raise self._failure(said, "", None)
            found = tables.version_in(said)
            if tables.too_old(found, tool.minimum):
                message = f"{tool.name} {found or '(unknown version)'} is too old: {tool.minimum} is needed"
                raise ParticipantFailed("missing tool", message, _get(tool))
        if missing := await tables.missing_flags(tool, self._env):
            message = f"{tool.name} {found} does not have {', '.join(missing)}, which its lockdown needs"
            raise ParticipantFailed("missing tool", message, _get(tool))

    def _prepared(
        self, path: Path, folder: Path, workdir: Path, *, with_context: bool
    ) -> tuple[list[str], dict[str, str]]:
        """Write the files of the call; return its arguments and its environment."""
        tool = self._tool
        parts = [CommandPart(tool.args, tool.env), tool.with_context if with_context else tool.alone]
        if self._model:
            parts.append(tool.with_model)
        if self._effort:
            parts.append(tool.with_effort)
        parts.append(CommandPart(tool.extra_args))
        values = {
            name: ""
            for part in (tool.alone, tool.with_context, tool.with_model, tool.with_effort)
            for name in part.fill
        }
        values |= {"model": self._model, "effort": self._effort, "folder": str(folder), "workdir": str(workdir)}

        def filled(text: str) -> str:
            return re.sub(r"\$\{(\w+)\}", lambda found: values.get(found[1], found[0]), text)

        for part in parts:
            values |= {name: filled(text) for name, text in part.fill.items()}
        env = tables.environment(tool, self._env)
        argv = [str(path)]
        for part in parts:
            argv += map(filled, part.args)
            env |= {name: filled(text) for name, text in part.env.items()}
        for place, files in ((folder, tool.files), (workdir, tool.work_files)):
            for name, content in files.items():
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                (place / name).write_text(filled(content), encoding="utf-8")
        return argv, env

    def _copy_context(self, source: Path, work: Path) -> None:
        name = self._tool.context_file
        if not name:
            raise UsageError(f"{self._tool.name} reads no context file", "Put the text into the prompt.")
        try:
            shutil.copyfile(source / name, work / (self._tool.laid_as or name))
        except OSError as error:
            message = f"{self._tool.name}: its context file {name} cannot be read: {error.strerror}"
            raise ParticipantFailed("missing tool", message, f"Write {name} into {source}.") from error

    def _reply(self, ended: ProcessResult, folder: Path, limit: float) -> Reply:
        """Return the answer, or raise the failure. Success means exit code 0, some text, and no sign of an error."""
        tool, shape = self._tool, self._tool.output
        streams = {"stdout": ended.out, "stderr": ended.err}
        found = Extract(lambda at: streams[at] if at in streams else _file(folder / at), shape.form)
        usage = Usage(found.count(shape.input), found.count(shape.output), found.count(shape.cached))
        usd = found.number(shape.usd)
        if ended.cut == "time":
            last = printable(last_line(ended.err), _QUOTED)
            message = f"{tool.name}: no answer within {limit:g} s" + (f"; its last output: {last}" if last else "")
            raise ParticipantFailed("timeout", message, self._hint("timeout"), usage=usage, usd=usd)
        if ended.cut:
            message = f"{tool.name} wrote more than {process.LARGEST_OUTPUT:,} bytes"
            raise ParticipantFailed("bad reply", message, usage=usage, usd=usd)
        text, error = found.text(shape.text).strip(), found.text(shape.error).strip()
        status = found.count(shape.status)
        failed = ended.code != 0 or error or not text
        failure = self._failure(ended, error or text, status) if failed else self._notice(text)
        if failure:
            failure.usage, failure.usd = usage, usd
            raise failure
        model = found.text(shape.model) or self._model
        notes, self._notes = self._notes, ()
        return Reply(text, model, self._family(model), usage, usd, bool(found.text(shape.truncated)), notes)

    def _failure(self, ended: ProcessResult, error: str, status: int | None) -> ParticipantFailed:
        tool, code = self._tool, ended.code or 0
        # The tool's own error message comes first; warnings on stderr may be about other things.
        everything = "\n".join((error, ended.err[-8000:], "" if error else ended.out[-8000:]))
        marker = next(
            (m for text in (error, everything) for m in tool.markers if text and _matches(m, text, code)), None
        )
        last = error or last_line(ended.err) or last_line(ended.out)
        how = f"exit {code}" if code >= 0 else f"ended by signal {-code}"
        message = f"{tool.name}: {'no answer' if not code else how}" + (f": {printable(last, _QUOTED)}" if last else "")
        if status in _STATUS and not (marker and marker.exits):
            hint = NO_MODEL.format(tool.name) if status == 404 else self._hint(_STATUS[status])
            return ParticipantFailed(_STATUS[status], f"{message} ({status})", hint)
        if marker:
            return ParticipantFailed(marker.kind, message, marker.hint or self._hint(marker.kind))
        if not code and not error:
            return ParticipantFailed("bad reply", f"{tool.name}: an empty reply", "Resume to ask again.")
        return ParticipantFailed("crashed", message, self._hint("crashed"))

    def _notice(self, text: str) -> ParticipantFailed | None:
        """The failure if a text is a notice instead of an answer, such as a request to log in; None if it is an answer.

        A notice is short and has a known beginning.
        """
        for marker in self._tool.markers:
            if marker.notice and len(text) <= _NOTICE and re.match(marker.match, text, re.IGNORECASE):
                message = f"{self._tool.name}: a notice instead of an answer: {printable(text, _QUOTED)}"
                return ParticipantFailed(marker.kind, message, marker.hint or self._hint(marker.kind))
        return None

    def _hint(self, kind: FailureKind) -> str:
        return (
            self._tool.login if kind == "auth" else _get(self._tool) if kind == "missing tool" else HINTS.get(kind, "")
        )


def _notes(tool: Tool, effort: str) -> tuple[str, ...]:
    if not effort:
        return ()
    if effort in tool.efforts:
        return (tool.effort_note,) if tool.effort_note else ()
    has = f"only {', '.join(tool.efforts)}" if tool.efforts else "no effort setting"
    return (f"{tool.name} has {has}; continued without {effort}",)


def _matches(marker: Marker, text: str, code: int) -> bool:
    if marker.exits and code not in marker.exits:
        return False
    return bool(marker.exits) if not marker.match else bool(re.search(marker.match, text, re.IGNORECASE))


def _get(tool: Tool) -> str:
    return f"Install or update it: {tool.install}" if tool.install else "Install it, or choose another model."


def _file(path: Path) -> str:
    try:
        return read(path, _LARGEST_FILE).decode("utf-8", "replace")
    except OSError:
        return ""


HINTS = {
    "rate limit": "Wait and resume, or name another model: `rebut models` lists what is here.",
    "crashed": "Resume to ask again; `rebut doctor` tests the tool alone.",
    "timeout": "Give it more time with --timeout SECONDS.",
}

NO_MODEL = "Name another model, {0}:MODEL; `rebut doctor {0}:MODEL` tries one."
SCHEMA = """Give your answer as JSON only: one object, nothing before it, nothing after it, no code fence. It must
satisfy this JSON schema:

{}"""


LONGEST_LINE = 262_144
"""Bytes. A longer line is not a piece of the answer: it is kept unchanged, and read at the end."""


class Pieces:
    """Reads the lines of one call while the tool writes them.

    Pieces of the answer are only shown; the answer itself is read at the end, from the lines that `take` keeps.
    """

    def __init__(self, shape: Output, on_text: Callable[[str], None], is_notice: Callable[[str], bool]) -> None:
        self._stream, self._wanted = shape.stream, shape.wanted
        self._on_text = on_text
        self._is_notice = is_notice
        self._unshown = ""
        """Text that may turn out to be a notice instead of an answer; it is not shown until that is clear."""
        self._received = 0
        """Characters of the answer so far. As long as `_unshown` has them all, nothing was shown yet."""

    def take(self, line: bytes) -> bool:
        """Read one line. Return True if it must be kept: it is not JSON, or the table picks a value from it.

        All other lines are dropped: a tool may report its model's thinking in thousands of small lines, and no text in
        them may be mistaken for an error.
        """
        if len(line) > LONGEST_LINE or line.lstrip()[:1] not in (b"{", b"["):
            return True
        item = decoded(line.decode("utf-8", "replace"))
        if item is None:
            return line.endswith(b"\n")  # an unfinished line may be the first half of any JSON value
        self._show(item)
        return any(picked(item, pick) for pick in self._wanted)

    def _show(self, item: Json) -> None:
        for pick in self._stream:
            for piece in picked(item, pick):
                if isinstance(piece, str) and piece:
                    self._received += len(piece)
                    self._unshown += piece
                    if not (len(self._unshown) == self._received and self._is_notice(self._unshown)):
                        self._on_text(self._unshown)
                        self._unshown = ""
