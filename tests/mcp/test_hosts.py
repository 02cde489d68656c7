"""`rebut mcp install` and `uninstall` for hosts with a config file. tests_tools has the real hosts with a command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from console import at_a_terminal, piped

from rebut.core.installation import with_extra

FILES = {
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "vscode": (".config/Code/User/mcp.json", "servers"),
}
MINE = '{\n\t"other": 1,\n\t"TABLE": {\n\t\t"theirs": {"command": "x", "args": ["é"]}\n\t}\n}\n'


@pytest.mark.parametrize("host", FILES)
def test_an_entry_is_shown_asked_about_written_and_removed(own_home: Path, host: str) -> None:
    name, table = FILES[host]
    file = own_home / name
    file.parent.mkdir(parents=True)
    mine = MINE.replace("TABLE", table)
    file.write_text(mine)
    file.chmod(0o640)
    seen = at_a_terminal(
        "mcp", "install", "--host", host, keys=lambda seen: b"n\n" if seen.endswith("[y/N]: ") else b"", columns=200
    )
    assert '+\t\t"rebut": {' in seen.text and "not changed" in seen.text and file.read_text() == mine
    done = piped("mcp", "install", "--host", host)
    assert done.returncode == 3 and "no terminal to ask at" in done.stdout and file.read_text() == mine
    done = piped("mcp", "install", "--host", host, "--yes")
    assert done.returncode == 0, done.stdout
    now = json.loads(file.read_text())
    entry = now[table].pop("rebut")
    assert entry["args"][-3:] == ["mcp", "--root", "${workspaceFolder}"] and Path(entry["command"]).is_absolute()
    assert now == json.loads(mine) and '\n\t"other"' in file.read_text() and "é" in file.read_text()
    assert file.with_name("mcp.json.before-rebut").read_text() == mine and file.stat().st_mode & 0o777 == 0o640
    done = piped("mcp", "install", "--host", host)
    assert done.returncode == 0 and "already there" in done.stdout
    done = piped("mcp", "uninstall", "--host", host, "--yes")
    assert done.returncode == 0 and json.loads(file.read_text()) == json.loads(mine)
    assert file.with_name("mcp.json.before-rebut-2").exists()
    assert "not there" in piped("mcp", "uninstall", "--host", host, "--yes").stdout


@pytest.mark.parametrize("host", [*FILES, "codex"])
@pytest.mark.parametrize(
    "broken", ['{ // mine\n "a": 1 }', "[1", "\x80", '{"mcpServers": 3, "servers": 3}', "mcp_servers = 3"]
)
def test_a_file_that_cannot_be_read_is_left_alone(own_home: Path, host: str, broken: str) -> None:
    file = own_home / (FILES[host][0] if host in FILES else ".codex/config.toml")
    file.parent.mkdir(parents=True)
    raw = broken.encode("latin-1")
    file.write_bytes(raw)
    done = piped("mcp", "install", "--host", host, "--yes")
    assert done.returncode == 3 and "was left alone" in done.stdout and "--print" in done.stdout, done.stdout
    assert file.read_bytes() == raw and list(file.parent.iterdir()) == [file]


CODEX = '# mine\nmodel = "gpt-5.5"  # keep\n\n[mcp_servers.other]\ncommand = "x"\n\n[profiles.a]\nmodel = "b"\n'


def test_codex_gets_what_its_own_command_cannot_say(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-not-to-be-written")
    file = own_home / ".codex/config.toml"
    file.parent.mkdir()
    old = '\n[mcp_servers.rebut]\ncommand = "old"\n\n[mcp_servers.rebut.env]\nA = "b"\n'
    file.write_text(CODEX + old)
    assert piped("mcp", "install", "--host", "codex", "--yes").returncode == 0
    text = file.read_text()
    entry = tomllib.loads(text)["mcp_servers"]["rebut"]
    assert entry["required"] is True and entry["tool_timeout_sec"] >= 100 and "env" not in entry
    assert entry["env_vars"] == ["OPENAI_API_KEY", "REBUT_HOME"] and "sk-test" not in text
    assert text.startswith(CODEX.rstrip()), "comments and order stay"
    assert piped("mcp", "install", "--host", "codex").stdout.count("already there") == 1


def test_print_changes_nothing_and_needs_no_host(own_home: Path) -> None:
    done = piped("mcp", "install", "--print")
    assert done.returncode == 0
    for words in ("claude mcp add --scope user rebut --", "required = true", '"servers": {', "opencode mcp add"):
        assert words in done.stdout
    assert not [path for path in own_home.rglob("*") if path.name in ("mcp.json", "config.toml")]
    done = piped("mcp", "install")
    assert done.returncode == 2 and "no agent host was found" in done.stderr
    done = piped("mcp", "install", "--host", "claude")
    assert done.returncode == 3 and "there is no claude on PATH" in done.stdout


@pytest.mark.parametrize(
    ("what", "said", "ended", "shown", "code"),
    [
        ("install", "MCP server rebut already exists", 1, "already there", 0),
        ("install", "node: command not found", 127, "did not work: node: command not found", 3),
        ("uninstall", "No MCP server named rebut", 1, "not there", 0),
        ("uninstall", "the config is locked", 1, "did not work: the config is locked", 3),
        ("uninstall", "node: command not found", 127, "did not work: node: command not found", 3),
    ],
)
def test_a_host_command_that_fails_is_not_a_success(
    what: str, said: str, ended: int, shown: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "bin" / "claude"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit {ended}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    done = piped("mcp", what, "--host", "claude", "--yes")
    assert done.returncode == code and shown in done.stdout, done.stdout


def test_ctrl_c_ends_a_server_that_was_started_by_hand(workspace: Path) -> None:
    told = "waiting for an agent host"
    seen = at_a_terminal("mcp", keys=lambda seen: b"\x03" if told in seen and "^C" not in seen else b"", cwd=workspace)
    assert told in seen.text and seen.code in (-2, 130)


def test_wrong_flags_are_refused() -> None:
    assert "only for `rebut mcp install`" in piped("mcp", "--yes").stderr
    assert "only for the server" in piped("mcp", "install", "--root", ".").stderr
    assert "instal" in piped("mcp", "instal").stderr


def test_without_the_sdk_the_message_says_how_to_get_it(workspace: Path) -> None:
    # As where the extra is not installed: the package cannot be found.
    code = "import sys; sys.modules['mcp'] = None; sys.argv = ['rebut', 'mcp']; from rebut.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=workspace)
    assert done.returncode == 2 and f"Run `{with_extra('mcp')}`." in done.stderr, done.stderr
