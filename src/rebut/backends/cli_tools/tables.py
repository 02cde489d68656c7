"""Command-line tools as data: how each is called and locked down, and how its output is read. One TOML table each.

The shipped tables are in `tools.toml`; `[tools.NAME]` in the user's config adds a tool or changes one key by key.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from rebut.core import process
from rebut.core.files import on_path, read, shipped as shipped_tables
from rebut.core.frozen import frozen
from rebut.core.passed_variables import CREDENTIALS, NETWORK, SYSTEM, is_named, is_usual
from rebut.core.process import ProcessResult
from rebut.core.scratch import scratch_folder
from rebut.core.tables import EXACT, Files, Regex, load_tables
from rebut.core.types import EFFORTS, FailureKind

_PROBE_SECONDS = 60.0
_LARGEST_SIGN = 1_000_000


def _listed(value: object) -> object:
    return value if isinstance(value, list) else [value]


def _known_efforts(value: Mapping[str, str]) -> Mapping[str, str]:
    if odd := [name for name in value if name not in EFFORTS]:
        raise ValueError(f"{odd[0]!r} is not an effort; efforts are {', '.join(EFFORTS)}")
    return value


Paths = Annotated[tuple[str, ...], BeforeValidator(_listed)]


@frozen
class Pick:
    """How one value is found in a tool's output: the values `take` of the items that match `where`, joined by `how`."""

    __pydantic_config__: ClassVar[ConfigDict] = EXACT
    take: Paths
    """Dotted paths. `*` means every member, `@key` every name of an object."""
    where: Mapping[str, str | int | bool] = field(default_factory=dict)
    how: Literal["last", "first", "join", "sum", "each"] = "last"
    """`each`: every distinct value, joined by plus signs."""
    at: str = "stdout"
    """stdout, stderr, or the name of a file that the tool writes into `${folder}`."""
    form: Literal["", "json", "lines", "text"] = ""
    """Only if it differs from the form of the tool's output."""


Picks = Annotated[tuple[Pick, ...], BeforeValidator(_listed)]


@frozen
class Output:
    """How a tool's output is read. Of several picks, the first that finds something counts."""

    __pydantic_config__: ClassVar[ConfigDict] = EXACT
    text: Picks
    form: Literal["json", "lines", "text"] = "json"
    """json: one value, or an array of values; lines: one value per line; text: the whole output is the value."""
    error: Picks = ()
    status: Picks = ()
    """The HTTP status that the tool received."""
    model: Picks = ()
    truncated: Picks = ()
    input: Picks = ()
    output: Picks = ()
    cached: Picks = ()
    usd: Picks = ()
    stream: Picks = ()
    """Pieces of the answer in lines that arrive while it is written: only shown, not used as the answer."""

    @property
    def wanted(self) -> tuple[Pick, ...]:
        """The picks that read standard output after a call."""
        texts = (*self.text, *self.error, *self.status, *self.model, *self.truncated)
        numbers = (*self.input, *self.output, *self.cached, *self.usd)
        return tuple(pick for pick in (*texts, *numbers) if pick.at == "stdout")

    def __post_init__(self) -> None:
        if not self.stream:
            return
        if any(pick.at != "stdout" for pick in self.stream):
            raise ValueError("stream is read from stdout only")
        if any((pick.form or self.form) != "lines" for pick in (*self.wanted, *self.stream)):
            raise ValueError('stream needs form = "lines"')


@frozen
class Marker:
    """How a failure is recognised: a text, an exit code, or both."""

    __pydantic_config__: ClassVar[ConfigDict] = EXACT
    kind: FailureKind
    match: Regex = ""
    exits: tuple[int, ...] = ()
    hint: str = ""
    notice: bool = False
    """Whether a short answer that begins with `match` is a failure at exit code 0, too, such as a request to log in."""


@frozen
class Signs:
    """Signs of a login that can be checked without calling a model. Any one of them is enough."""

    __pydantic_config__: ClassVar[ConfigDict] = EXACT
    args: tuple[str, ...] = ()
    """Arguments of the tool's own command: exit 0 and `match` in its output mean a login."""
    match: Regex = ""
    env: tuple[str, ...] = ()
    """Variables: one that is set means a login."""
    files: Mapping[str, Regex] = field(default_factory=dict)
    """Files in the user's home, and the pattern that must be in them; an empty pattern: the file is not empty."""
    perhaps: tuple[str, ...] = ()
    """Variables that may be set for other programs: if one is set, a login is a guess."""
    guessed: tuple[str, ...] = ()
    """Systems (`linux`, `darwin`, `win32`) on which `files` are a guess, since no login was seen there yet."""


@frozen
class Login:
    """Whether there is a login, and whether that is certain or a guess."""

    shown: bool
    sure: bool = True


@frozen
class CommandPart:
    """What a choice, such as a model, adds to the command.

    `${model}`, `${effort}`, `${folder}` and `${workdir}` are replaced in it.
    """

    __pydantic_config__: ClassVar[ConfigDict] = EXACT
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    fill: Mapping[str, str] = field(default_factory=dict)
    """Further names to replace, such as `${thinking}` in a settings file; empty if the choice is not made."""


@frozen
class Tool:
    """One command-line tool."""

    __pydantic_config__: ClassVar[ConfigDict] = EXACT
    name: str
    command: str
    output: Output
    family: str = ""
    """The family of its models if a model's name does not show it; empty: the tool's own name."""
    install: str = ""
    login: str = ""
    """`install` is how to install the tool; `login` is how to log in to it."""
    signs: Signs = field(default_factory=Signs)
    """Signs of a login. A tool without signs counts as logged in."""
    args: tuple[str, ...] = ()
    extra_args: tuple[str, ...] = ()
    """For the user: added at the end, so that the arguments of the lockdown need not be repeated."""
    env: Mapping[str, str] = field(default_factory=dict)
    keep: tuple[str, ...] = ()
    """Variables of the user's environment that the tool gets, as globs, besides those of `PASSED` and `signs`."""
    keep_with: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Variable → globs: if that variable is set, the tool gets it and the variables that match the globs."""
    extra_env: tuple[str, ...] = ()
    """For the user: more variables that the tool gets, so that `keep` need not be repeated."""
    strip: tuple[str, ...] = ()
    """Variables of `PASSED` that the tool must not see, as globs."""
    files: Files = field(default_factory=dict)
    """Written into a private folder, `${folder}`, before each call."""
    work_files: Files = field(default_factory=dict)
    """Written into the working folder, for tools that read such settings only there."""
    model: str = ""
    """The model if the seat names none; empty: the tool's own choice."""
    with_model: CommandPart = field(default_factory=CommandPart)
    with_effort: CommandPart = field(default_factory=CommandPart)
    efforts: Annotated[Mapping[str, str], AfterValidator(_known_efforts)] = field(default_factory=dict)
    """rebut's level of effort → the tool's. Empty: the tool has no such setting."""
    effort_note: str = ""
    alone: CommandPart = field(default_factory=CommandPart)
    """Applies if the working folder is empty."""
    with_context: CommandPart = field(default_factory=CommandPart)
    """Applies if the working folder has a context file for the tool."""
    context_file: str = ""
    laid_as: str = ""
    """Another name for the context file, if the tool accepts one that no file in a folder above can have."""
    lead: str = "Answer what follows from what it says alone. You have no tools here and need none."
    """The first line of every prompt, where a tool may look for commands: it is fixed, so it has no debated text."""
    timeout: Annotated[float, Field(gt=0, le=3600)] = 3600.0
    """Seconds that a call may take at most, whatever the limit of the debate."""
    at_once: Annotated[int, Field(ge=1, le=64)] = 4
    limit_bytes: Annotated[int, Field(ge=0)] = 0
    limit_characters: Annotated[int, Field(ge=0)] = 0
    minimum: str = ""
    """The oldest version with which the lockdown is known to work."""
    version_args: tuple[str, ...] = ("--version",)
    help_args: tuple[str, ...] = ("--help",)
    probe: tuple[str, ...] = ()
    """Flags that its help must name; otherwise it is not the tool that this table describes."""
    markers: tuple[Marker, ...] = ()


def load_tools(user_tables: Mapping[str, object], file: str = "config.toml") -> dict[str, Tool]:
    """All tools by name: the shipped ones with the user's changes, and the user's own."""
    shipped = shipped_tables("tools.toml")
    whole = {name: {"command": name, **shipped["tools"].get(name, {})} for name in {**shipped["tools"], **user_tables}}
    also = {"markers": shipped["markers"]}
    return load_tables("tools", Tool, whole, user_tables, file=file, see=SEE, also=also)


SEE = "docs/adding-a-tool.md has every key, and an example."


def find_executable(tool: Tool, env: Mapping[str, str]) -> Path | None:
    """The path of the tool's program, found through PATH of `env`."""
    return on_path(tool.command, env)


def environment(tool: Tool, env: Mapping[str, str]) -> dict[str, str]:
    """The part of the user's environment that the tool needs. Keys and tokens for other programs are not passed."""
    needed = (*tool.keep, *tool.extra_env, *tool.signs.env, *tool.signs.perhaps)
    needed += tuple(glob for name, globs in tool.keep_with.items() if env.get(name) for glob in (name, *globs))
    return {
        name: value
        for name, value in env.items()
        if is_named(name, needed) or (is_usual(name, PASSED) and not is_named(name, tool.strip))
    }


def withheld(tool: Tool, env: Mapping[str, str]) -> tuple[str, ...]:
    """The variables that look like keys or tokens and are not passed to the tool."""
    passed = environment(tool, env)
    return tuple(sorted(name for name in env if name not in passed and is_named(name.upper(), CREDENTIALS)))


PASSED = (*SYSTEM, *NETWORK)
"""Variables that every tool gets, as globs."""


def version_in(answer: ProcessResult) -> str:
    """The version that a tool reports; empty if it is not installed or reports none."""
    number = re.search(r"\d+(?:\.\d+)+", answer.out) or re.search(r"\d+(?:\.\d+)+", answer.err)
    return number[0] if number and answer.code == 0 else ""


async def missing_flags(tool: Tool, env: Mapping[str, str]) -> tuple[str, ...]:
    """The required flags that the tool's help does not name."""
    answer = await ask(tool, env, tool.help_args) if tool.probe else ProcessResult(0)
    words = set(re.findall(r"--?[A-Za-z][\w-]*", answer.out + answer.err))
    return tuple(flag for flag in tool.probe if flag not in words)


async def login(tool: Tool, env: Mapping[str, str]) -> Login:
    """Whether there are signs of a login, as far as that can be seen without calling a model."""
    signs, home = tool.signs, env.get("HOME", "")
    if signs == Signs() or any(env.get(name, "").strip() for name in signs.env):
        return Login(True)
    if any(env.get(name, "").strip() for name in signs.perhaps):
        return Login(True, sure=False)
    known = sys.platform not in signs.guessed
    if home and any(_shows(Path(home) / name, match) for name, match in signs.files.items()):
        return Login(True, known)
    if not signs.args:
        return Login(False, known)
    answer = await ask(tool, env, signs.args)
    return Login(answer.code == 0 and bool(re.search(signs.match, answer.out + answer.err)))


def _shows(file: Path, match: str) -> bool:
    try:
        text = read(file, _LARGEST_SIGN).decode("utf-8", "replace")
    except OSError:
        return False
    return bool(text.strip()) and bool(re.search(match, text))


def too_old(found: str, minimum: str) -> bool:
    """Whether a version is below the minimum. A version that cannot be read counts as below."""
    if not minimum:
        return False
    numbers = [tuple(int(n) for n in re.findall(r"\d+", text)) for text in (found, minimum)]
    return numbers[0] < numbers[1]


async def ask(tool: Tool, env: Mapping[str, str], args: tuple[str, ...]) -> ProcessResult:
    """Ask the tool about itself, such as for its version. No model is called."""
    path = find_executable(tool, env)
    if path is None:
        return ProcessResult(127, err=f"no {tool.command} on PATH")
    folder = scratch_folder(env)
    own = {**environment(tool, env), **tool.env, "PWD": str(folder), "TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "200"}
    try:
        return await process.run_program([str(path), *args], cwd=folder, env=own, seconds=_PROBE_SECONDS, mark=folder)
    except OSError as error:
        return ProcessResult(126, err=f"{path.name} cannot be started: {error.strerror}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
