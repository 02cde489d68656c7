"""Makes the entry of `rebut mcp` in an agent host, by the host's own command or in its config file, without a key."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from difflib import unified_diff
from pathlib import Path

from rebut.core import files
from rebut.core.errors import UsageError
from rebut.core.files import on_path, real
from rebut.core.frozen import frozen
from rebut.core.json_value import Json

NAME = "rebut"
PATIENCE = 120.0
"""Seconds that a host's own command may take: some unpack themselves at their first start."""
LARGEST = 10_000_000
ALREADY_THERE = re.compile("already exists", re.I)
NOT_THERE = re.compile("not found|no mcp server named", re.I)
"""What hosts say if there is nothing to change."""
Place = Callable[[Mapping[str, str]], Path]


@frozen
class HostEntry:
    """The command that starts the server, and the variables that a host must be told to pass on, by name."""

    command: tuple[str, ...]
    variables: tuple[str, ...] = ()


@frozen
class McpHost:
    """An agent host. Its entries are changed by its own commands, or in its config file."""

    name: str
    program: str = ""
    """The host's own command. A host without one counts as installed if the folder of its config file exists."""
    add: Callable[[HostEntry], tuple[str, ...]] | None = None
    """The arguments that add a server; None if the host's command cannot express everything that is needed."""
    remove: tuple[str, ...] = ()
    place: Place = lambda env: Path()
    """Its config file."""
    table: str = ""
    """The key of the file that holds the servers; empty for a file in TOML."""
    entry: Callable[[HostEntry], Json] = lambda entry: None
    """The entry in the file."""

    def is_here(self, env: Mapping[str, str]) -> bool:
        return on_path(self.program, env) is not None if self.program else self.place(env).parent.is_dir()

    def printed(self, entry: HostEntry, env: Mapping[str, str]) -> str:
        """How to make the entry by hand."""
        if self.add:
            return shlex.join((self.program, *self.add(entry)))
        if not self.table:
            return f"in {self.place(env)}:\n{_toml(entry)}"
        row: Json = {self.table: {NAME: self.entry(entry)}}
        return f"in {self.place(env)}:\n{json.dumps(row, indent=2)}"

    def change(self, entry: HostEntry | None, env: Mapping[str, str]) -> ConfigChange:
        """The change of the config file that makes the entry; with None, that removes it."""
        path = real(self.place(env))  # a linked file stays a link
        try:
            raw = files.read(path, LARGEST).decode("utf-8-sig")
        except FileNotFoundError:
            raw = ""
        except (OSError, UnicodeDecodeError) as error:
            raise self._refused(path, str(error)) from error
        try:
            after = self._in_json(raw, entry) if self.table else _in_toml(raw, entry)
        except (ValueError, RecursionError) as error:
            raise self._refused(path, str(error)) from error
        return ConfigChange(path, raw, after)

    def _in_json(self, raw: str, entry: HostEntry | None) -> str:
        whole = json.loads(raw) if raw.strip() else {}
        servers = whole.get(self.table, {}) if isinstance(whole, dict) else None
        if not isinstance(servers, dict):
            raise ValueError(f"{self.table} is not a table")
        rest = {name: one for name, one in servers.items() if name != NAME}
        if entry is None and len(rest) == len(servers):
            return raw
        new = {**whole, self.table: rest if entry is None else {**servers, NAME: self.entry(entry)}}
        if new == whole:
            return raw
        indent = re.search(r'^([ \t]+)"', raw, re.M)
        return json.dumps(new, indent=indent[1] if indent else 2, ensure_ascii=False) + "\n"

    def _refused(self, path: Path, why: str) -> UsageError:
        return UsageError(
            f"{path} was left alone, because rebut cannot read it: {why}",
            f"Change it by hand; `rebut mcp install --host {self.name} --print` shows the entry.",
        )

    def run(self, words: Sequence[str], env: Mapping[str, str], nothing_to_do: re.Pattern[str]) -> str:
        """Run the host's own command in the home folder, since the entry is for all projects; returns its output.

        It may fail if its output matches `nothing_to_do`.

        The command gets the environment variables that it would get in a seat, and no key for other programs.
        """
        from rebut.setup.connect import environment_of_tool

        program = on_path(self.program, env)
        if program is None:
            raise UsageError(f"there is no {self.program} on PATH", "Install it first, or use --print.")
        try:
            done = subprocess.run(
                [str(program), *words],
                cwd=Path.home(),
                env=environment_of_tool(self.name, env),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=PATIENCE,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UsageError(f"`{self.program} {shlex.join(words)}` did not work: {error}") from error
        said = done.stdout.decode(errors="replace").strip()
        # A shell ends with 126 or 127 if it could not start a program, and `not found` is then about that program.
        if done.returncode and (done.returncode in (126, 127) or not nothing_to_do.search(said)):
            raise UsageError(f"`{self.program} {shlex.join(words)}` did not work: {said or done.returncode}")
        return said


@frozen
class ConfigChange:
    """A config file before and after."""

    path: Path
    before: str
    after: str

    @property
    def diff(self) -> str:
        before, after = (text.splitlines(keepends=True) for text in (self.before, self.after))
        rows = unified_diff(before, after, str(self.path), str(self.path))
        return "".join(row if row.endswith("\n") else f"{row}\n" for row in rows)

    def write(self) -> Path | None:
        """Write the file, and keep a copy of the old one beside it; returns the copy's path, if there was a file."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            copy = _copy_of(self.path) if self.path.exists() else None
            mode = self.path.stat().st_mode & 0o777 if copy else 0o600
            if copy:
                files.write(copy, self.path.read_bytes(), mode)
            files.write(self.path, self.after.encode(), mode)
        except OSError as error:
            raise UsageError(f"{error.filename or self.path} cannot be written: {error.strerror}") from error
        return copy


def _copy_of(path: Path) -> Path:
    names = (path.with_name(f"{path.name}.before-rebut{'' if n == 1 else f'-{n}'}") for n in range(1, 1000))
    return next(name for name in names if not name.exists())


# TOML, which is changed as text: its comments and its order stay as they are


def _toml(entry: HostEntry) -> str:
    """The entry, as `required`: otherwise codex starts its first turn without the server and its tools."""
    rows = [
        f"[mcp_servers.{NAME}]",
        f"command = {json.dumps(entry.command[0])}",
        f"args = {json.dumps(list(entry.command[1:]))}",
        "required = true",
        "startup_timeout_sec = 60",
        "tool_timeout_sec = 120",
    ]
    rows += [f"env_vars = {json.dumps(list(entry.variables))}"] if entry.variables else []
    return "\n".join(rows) + "\n"


def _in_toml(raw: str, entry: HostEntry | None) -> str:
    before = tomllib.loads(raw)
    if not isinstance(before.get("mcp_servers", {}), dict):
        raise ValueError("mcp_servers is not a table")
    is_own, other_lines = False, list[str]()
    for line in raw.splitlines(keepends=True):
        if re.match(r"\s*\[", line):
            is_own = re.match(rf'\s*\[\s*mcp_servers\s*\.\s*"?{NAME}"?\s*[.\]]', line) is not None
        if not is_own:
            other_lines.append(line)
    rest = "".join(other_lines)
    after = rest if entry is None else f"{rest.rstrip()}\n\n{_toml(entry)}".lstrip()
    wanted = {key: value for key, value in before.items() if key != "mcp_servers"}
    others = {key: value for key, value in before.get("mcp_servers", {}).items() if key != NAME}
    found = tomllib.loads(after)
    made = found.get("mcp_servers", {})
    now = {key: value for key, value in made.items() if key != NAME}
    whole = {key: value for key, value in found.items() if key != "mcp_servers"}
    if whole != wanted or now != others or (NAME in made) != (entry is not None):
        raise ValueError(f"mcp_servers.{NAME} is written in a way that rebut cannot change")
    return raw if found == before else after


# the hosts


def _home(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or Path.home())


def _config(env: Mapping[str, str]) -> Path:
    return Path(env.get("XDG_CONFIG_HOME") or _home(env) / ".config")


def _opencode(env: Mapping[str, str]) -> Path:
    """The config file of opencode: `opencode.jsonc`, or `opencode.json` if only that exists."""
    folder = _config(env) / "opencode"
    found = [folder / name for name in ("opencode.jsonc", "opencode.json") if (folder / name).exists()]
    return found[0] if found else folder / "opencode.jsonc"


def _vscode(env: Mapping[str, str]) -> Path:
    mac = _home(env) / "Library/Application Support"
    return (mac if sys.platform == "darwin" else _config(env)) / "Code/User/mcp.json"


def _in_workspace(entry: HostEntry) -> Json:
    """The entry, with the workspace as its root: editors start servers in a folder of their own."""
    return {"type": "stdio", "command": entry.command[0], "args": [*entry.command[1:], "--root", "${workspaceFolder}"]}


def _after_dashes(entry: HostEntry) -> tuple[str, ...]:
    return ("mcp", "add", NAME, "--", *entry.command)


def _yargs_arguments(entry: HostEntry) -> tuple[str, ...]:
    """Arguments without variables: gemini would write their values, which are keys, when it changes its file."""
    return ("mcp", "add", NAME, entry.command[0], "--scope", "user", "--", *entry.command[1:])


def _opencode_entry(entry: HostEntry) -> Json:
    return {"type": "local", "command": list(entry.command)}


USER = ("--scope", "user", NAME)
HOSTS = (
    McpHost("claude", "claude", lambda entry: ("mcp", "add", *USER, "--", *entry.command), ("mcp", "remove", *USER)),
    McpHost(
        "codex",
        "codex",
        remove=("mcp", "remove", NAME),
        place=lambda env: Path(env.get("CODEX_HOME") or _home(env) / ".codex") / "config.toml",
    ),
    McpHost("gemini", "gemini", _yargs_arguments, ("mcp", "remove", *USER)),
    McpHost("qwen", "qwen", _yargs_arguments, ("mcp", "remove", *USER)),
    McpHost("opencode", "opencode", _after_dashes, place=_opencode, table="mcp", entry=_opencode_entry),
    McpHost("copilot", "copilot", _after_dashes, ("mcp", "remove", NAME)),
    McpHost("cursor", place=lambda env: _home(env) / ".cursor/mcp.json", table="mcpServers", entry=_in_workspace),
    McpHost("vscode", place=_vscode, table="servers", entry=_in_workspace),
)


def server_command() -> tuple[str, ...]:
    """How a host starts the server of this installation, whatever its PATH is."""
    script = Path(sys.argv[0])
    if script.name == "rebut" and script.is_file():
        return (str(script.absolute()), "mcp")
    return (sys.executable, "-P", "-m", "rebut", "mcp")  # -P: so that a folder `rebut` of a project is not run
