"""Command-line tools as data: how each is called, locked down and understood. One table each, in TOML.

The shipped tables are in `tools.toml`; `[tools.NAME]` in the user's own config adds a tool or changes one key by key.
"""

from __future__ import annotations

import difflib
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from rebut.core import process
from rebut.core.errors import ConfigError
from rebut.core.files import shipped as shipped_tables
from rebut.core.process import ProcessResult, on_path
from rebut.core.types import EFFORTS, FailureKind

EXACT = ConfigDict(extra="forbid")
_PROBE_SECONDS = 60.0
_LARGEST_SIGN = 1_000_000


def _listed(value: object) -> object:
    return value if isinstance(value, list) else [value]


def _pattern(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"is no regular expression: {error}") from None
    return value


def _plain_name(value: Mapping[str, str]) -> Mapping[str, str]:
    """Files go into a folder of ours; a name that leads out of it would write over somebody's."""
    for name in value:
        if not re.fullmatch(r"(\.?[A-Za-z0-9][\w.-]*/)*\.?[A-Za-z0-9][\w.-]*", name):
            raise ValueError(f"{name!r} is no plain path below a folder")
    return value


def _known_efforts(value: Mapping[str, str]) -> Mapping[str, str]:
    if odd := [name for name in value if name not in EFFORTS]:
        raise ValueError(f"{odd[0]!r} is no effort; efforts are {', '.join(EFFORTS)}")
    return value


Paths = Annotated[tuple[str, ...], BeforeValidator(_listed)]
Regex = Annotated[str, AfterValidator(_pattern)]
Files = Annotated[Mapping[str, str], AfterValidator(_plain_name)]


@dataclass(frozen=True, slots=True)
class Pick:
    """How one value is found in what a tool wrote: the items that match `where`, of those `take`, joined by `how`."""

    __pydantic_config__: ClassVar[ConfigDict] = EXACT
    take: Paths
    """Dotted paths. `*` is every member, `@key` every name of an object."""
    where: Mapping[str, str | int | bool] = field(default_factory=dict)
    how: Literal["last", "first", "join", "sum", "each"] = "last"
    """`each`: every value once, with a plus between them."""
    at: str = "stdout"
    """stdout, stderr, or the name of a file that the tool writes into `${folder}`."""
    form: Literal["", "json", "lines", "text"] = ""
    """Set where it is not the form of the tool's output."""


Picks = Annotated[tuple[Pick, ...], BeforeValidator(_listed)]


@dataclass(frozen=True, slots=True)
class Output:
    """How a tool's output is understood. Of several picks, the first that finds something counts."""

    __pydantic_config__: ClassVar[ConfigDict] = EXACT
    text: Picks
    form: Literal["json", "lines", "text"] = "json"
    """json: one value, an array's members being the items; lines: one value per line; text: as it stands."""
    error: Picks = ()
    status: Picks = ()
    """The HTTP status that the tool was given."""
    model: Picks = ()
    truncated: Picks = ()
    input: Picks = ()
    output: Picks = ()
    cached: Picks = ()
    usd: Picks = ()
    stream: Picks = ()
    """Pieces of the answer in lines that come while it is written: to be shown, and never the answer itself."""

    @property
    def wanted(self) -> tuple[Pick, ...]:
        """All that is taken from standard output once a call is over."""
        said = (*self.text, *self.error, *self.status, *self.model, *self.truncated)
        counted = (*self.input, *self.output, *self.cached, *self.usd)
        return tuple(pick for pick in (*said, *counted) if pick.at == "stdout")

    def __post_init__(self) -> None:
        if not self.stream:
            return
        if any(pick.at != "stdout" for pick in self.stream):
            raise ValueError("stream is read from stdout alone")
        if any((pick.form or self.form) != "lines" for pick in (*self.wanted, *self.stream)):
            raise ValueError('stream needs form = "lines"')


@dataclass(frozen=True, slots=True)
class Marker:
    """What a failure looks like: words, an exit code, or both."""

    __pydantic_config__: ClassVar[ConfigDict] = EXACT
    kind: FailureKind
    match: Regex = ""
    exits: tuple[int, ...] = ()
    hint: str = ""
    notice: bool = False
    """Also a failure when a short answer begins with it and the exit code is 0, such as a request to log in."""


@dataclass(frozen=True, slots=True)
class Signs:
    """How it shows, without a call to a model, that a tool is logged in: any one of these will do."""

    __pydantic_config__: ClassVar[ConfigDict] = EXACT
    args: tuple[str, ...] = ()
    """The tool's own word on it: exit 0, and `match` in what it says."""
    match: Regex = ""
    env: tuple[str, ...] = ()
    """Variables, of which one is set."""
    files: Mapping[str, Regex] = field(default_factory=dict)
    """Files in the user's home, with what must stand in them; nothing: that it is not empty."""
    perhaps: tuple[str, ...] = ()
    """Variables that may be meant for other programs: with one of them set it is a guess."""
    guessed: tuple[str, ...] = ()
    """Systems (`linux`, `darwin`, `win32`) on which `files` are a guess: nobody has seen a login there yet."""


@dataclass(frozen=True, slots=True)
class Login:
    """What the signs say: whether there is a login, and whether that is known or taken from a guess."""

    shown: bool
    sure: bool = True


@dataclass(frozen=True, slots=True)
class CommandPart:
    """What a choice adds to the command, where `${model}`, `${effort}`, `${folder}` and `${workdir}` are filled in."""

    __pydantic_config__: ClassVar[ConfigDict] = EXACT
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    fill: Mapping[str, str] = field(default_factory=dict)
    """More names to fill in, such as `${thinking}` in a settings file; empty when the choice is not made."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One command-line tool."""

    __pydantic_config__: ClassVar[ConfigDict] = EXACT
    name: str
    command: str
    output: Output
    family: str = ""
    """Of its models when a model's name does not tell; empty: the tool's own name."""
    install: str = ""
    login: str = ""
    """What to do when it is not there, and when it is not logged in."""
    signs: Signs = field(default_factory=Signs)
    """Of a login. Without any it is taken to be logged in."""
    args: tuple[str, ...] = ()
    extra_args: tuple[str, ...] = ()
    """For the user: added at the end, so that nothing of the lockdown has to be repeated."""
    env: Mapping[str, str] = field(default_factory=dict)
    strip: tuple[str, ...] = ()
    """Variables that the tool must not see, as globs; `keep` has exceptions."""
    keep: tuple[str, ...] = ()
    files: Files = field(default_factory=dict)
    """Laid into a private folder, `${folder}`, before each call."""
    work_files: Files = field(default_factory=dict)
    """Laid into the working folder, for tools that take such settings from nowhere else."""
    model: str = ""
    """The model when the seat names none; empty: the tool's own choice."""
    with_model: CommandPart = field(default_factory=CommandPart)
    with_effort: CommandPart = field(default_factory=CommandPart)
    efforts: Annotated[Mapping[str, str], AfterValidator(_known_efforts)] = field(default_factory=dict)
    """Our words for effort, and the tool's. Without any it has no such setting."""
    effort_note: str = ""
    alone: CommandPart = field(default_factory=CommandPart)
    """Holds when the working folder is an empty one."""
    with_context: CommandPart = field(default_factory=CommandPart)
    """Holds when the working folder has a context file for the tool to read."""
    context_file: str = ""
    laid_as: str = ""
    """Another name for that file, where the tool can be told one: nobody has a file of that name in a folder above."""
    lead: str = "Answer what follows from what it says alone. You have no tools here and need none."
    """The first line of every prompt: fixed, so that nobody's text can stand where a tool looks for commands."""
    timeout: Annotated[float, Field(gt=0, le=3600)] = 3600.0
    """The longest that a call may take, whatever the debate's own limit."""
    at_once: Annotated[int, Field(ge=1, le=64)] = 4
    limit_bytes: Annotated[int, Field(ge=0)] = 0
    limit_characters: Annotated[int, Field(ge=0)] = 0
    minimum: str = ""
    """The oldest version on which the lockdown is known to hold."""
    version_args: tuple[str, ...] = ("--version",)
    help_args: tuple[str, ...] = ("--help",)
    probe: tuple[str, ...] = ()
    """Flags that its help must name, or it is not the tool that this table describes."""
    markers: tuple[Marker, ...] = ()


def load(user_tables: Mapping[str, object], file: str = "config.toml") -> dict[str, Tool]:
    """All tools by name: the shipped ones, changed and added to by the user's."""
    shipped = shipped_tables("tools.toml")
    found = {}
    for name in [*shipped["tools"], *(n for n in user_tables if n not in shipped["tools"])]:
        mine = user_tables.get(name, {})
        if not isinstance(mine, Mapping):
            raise ConfigError(f"{file}: tools.{name} must be a table", _EXAMPLE)
        table = merged({"command": name, **shipped["tools"].get(name, {})}, mine)
        found[name] = _tool(name, table, shipped["markers"], file)
    return found


_EXAMPLE = 'Write for example: args = ["--json"], output = { form = "json", text = { take = "answer" } }.'


def merged(ours: Mapping[str, object], mine: Mapping[str, object]) -> dict[str, object]:
    """Tables key by key; anything else is replaced whole."""
    both = dict(ours)
    for key, value in mine.items():
        old = both.get(key)
        both[key] = merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return both


@lru_cache(maxsize=1)
def _adapter() -> TypeAdapter[Tool]:
    return TypeAdapter(Tool)


def _tool(name: str, table: Mapping[str, object], shared: list[object], file: str) -> Tool:
    own = table.get("markers", [])
    whole = {**table, "name": name, "markers": [*own, *shared] if isinstance(own, list) else own}
    try:
        return _adapter().validate_python(whole)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
    path = [str(part) for part in first["loc"] if part != "function-before"]
    key = ".".join(["tools", name, *path])
    if first["type"] == "missing":
        raise ConfigError(f"{file}: {key} is missing", _EXAMPLE)
    if first["type"] != "unexpected_keyword_argument":
        # The value is not repeated: it may be an environment variable with a key in it.
        raise ConfigError(f"{file}: {key}: {first['msg'].removeprefix('Value error, ').lower()}", "Change that value.")
    known = [f for f in Tool.__dataclass_fields__ if f != "name"] if len(path) == 1 else []
    near = difflib.get_close_matches(path[-1], known, n=1)
    raise ConfigError(f"{file}: unknown key {key}", f"Did you mean {near[0]}?" if near else "Leave it out.")


def find_executable(tool: Tool, env: Mapping[str, str]) -> Path | None:
    """Where the tool is, by the PATH given."""
    return on_path(tool.command, env)


def environment(tool: Tool, env: Mapping[str, str]) -> dict[str, str]:
    """The user's environment, without what would change the tool's ways."""
    return {
        name: value
        for name, value in env.items()
        if any(fnmatchcase(name, glob) for glob in tool.keep)
        or not any(fnmatchcase(name, glob) for glob in (*_NEVER_PASSED, *tool.strip))
    }


_NEVER_PASSED = ("PWD", "OLDPWD", "GIT_*", "REBUT_*")
"""They speak of where rebut was started, which the tool must not know: some go there instead of their own folder."""


def private_folder(env: Mapping[str, str]) -> Path:
    """A new folder that only the user can reach, below their own cache.

    Not below the system's temporary folder: tools look upwards from where they stand for context files and even for
    a `.env`, and there anybody on the machine can put one.
    """
    home = env.get("HOME", "")
    cache = env.get("XDG_CACHE_HOME", "") or (f"{home}/.cache" if home else "")
    if cache.startswith("/"):
        place = Path(cache) / "rebut"
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            return Path(tempfile.mkdtemp(prefix="run-", dir=place))
        except OSError:
            pass
    return Path(tempfile.mkdtemp(prefix="rebut-"))


def version_in(said: ProcessResult) -> str:
    """The version that a tool gives itself; empty when it is not there or does not say."""
    number = re.search(r"\d+(?:\.\d+)+", said.out) or re.search(r"\d+(?:\.\d+)+", said.err)
    return number[0] if number and said.code == 0 else ""


async def missing_flags(tool: Tool, env: Mapping[str, str]) -> tuple[str, ...]:
    """Which of the flags that we depend on its help does not name."""
    said = await ask(tool, env, tool.help_args) if tool.probe else ProcessResult(0)
    words = set(re.findall(r"--?[A-Za-z][\w-]*", said.out + said.err))
    return tuple(flag for flag in tool.probe if flag not in words)


async def login(tool: Tool, env: Mapping[str, str]) -> Login:
    """Whether anything shows a login, as far as that can be told without asking a model."""
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
    said = await ask(tool, env, signs.args)
    return Login(said.code == 0 and bool(re.search(signs.match, said.out + said.err)))


def _shows(file: Path, match: str) -> bool:
    try:
        with file.open("rb") as opened:
            text = opened.read(_LARGEST_SIGN).decode("utf-8", "replace")
    except OSError:
        return False
    return bool(text.strip()) and bool(re.search(match, text))


def too_old(found: str, minimum: str) -> bool:
    """Is a version below the least that will do? One that cannot be read is."""
    if not minimum:
        return False
    numbers = [tuple(int(n) for n in re.findall(r"\d+", text)) for text in (found, minimum)]
    return numbers[0] < numbers[1]


async def ask(tool: Tool, env: Mapping[str, str], args: tuple[str, ...]) -> ProcessResult:
    """Run the tool for something about itself, such as its version: no prompt, no model."""
    path = find_executable(tool, env)
    if path is None:
        return ProcessResult(127, err=f"no {tool.command} on PATH")
    folder = private_folder(env)
    own = {**environment(tool, env), **tool.env, "PWD": str(folder), "TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "200"}
    try:
        return await process.run([str(path), *args], cwd=folder, env=own, seconds=_PROBE_SECONDS)
    except OSError as error:
        return ProcessResult(126, err=f"{path.name} cannot be started: {error.strerror}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
