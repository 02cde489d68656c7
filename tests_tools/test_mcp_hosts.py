"""`rebut mcp` in the real hosts and the official Inspector: installed, called, killed, continued by another host."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rebut.record import sessions
from tests import crosses
from tests_tools import real
from tests_tools.server import Server
from tests_tools.setups import SLOW

REBUT = str(Path(sys.executable).parent / "rebut")
CRITIC = "r1/critique@critic"
LEFT = 12.0
"""Seconds that the critic takes: the host is killed meanwhile."""


@dataclass(frozen=True)
class Host:
    """How a host is run once, without a person, so that it may call the tools of rebut."""

    argv: tuple[str, ...]
    tool: str
    """What its model calls a tool of rebut; {} is the tool."""
    env: tuple[str, ...] = ()


HOSTS = {
    "claude": Host(("-p", "--model", "claude-sonnet-5-5", "--allowedTools", "mcp__rebut"), "mcp__rebut__{}"),
    "codex": Host(
        (
            *("exec", "--skip-git-repo-check", "-s", "read-only", "-c", "analytics.enabled=false", "-m", "gpt-5.5"),
            *("-c", 'mcp_servers.rebut.default_tools_approval_mode="approve"'),
            *("-c", 'model_provider="loop"', "-c", f"model_providers.loop={real._LOOP}", "-"),
        ),
        "mcp__rebut/{}",
    ),
    "gemini": Host(("--skip-trust", "-m", "gemini-3.1-pro-preview", "--approval-mode", "yolo"), "mcp_rebut_{}"),
    "qwen": Host(("--auth-type", "openai", "-m", "m1", "--approval-mode", "yolo"), "mcp__rebut__{}"),
    "opencode": Host(
        ("run", "--pure", "--title", "t", "-m", "loop/m1"),
        "rebut_{}",
        ("OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_DEFAULT_PLUGINS", "OPENCODE_DISABLE_LSP_DOWNLOAD"),
    ),
    "copilot": Host(("--no-auto-update", "--allow-all-tools", "--disable-builtin-mcps", "--no-ask-user"), "rebut-{}"),
}
AFTER = dict(zip(HOSTS, [*list(HOSTS)[1:], next(iter(HOSTS))], strict=True))
"""Host → the one that fetches what it began."""


@dataclass
class Place:
    """A home with hosts and a config of rebut, a project, and the server that the hosts take for their provider."""

    home: Path
    server: Server

    def __post_init__(self) -> None:
        self.home.mkdir()
        self.work = crosses.repository(self.home / "work")
        said = {CRITIC: crosses.critique(crosses.raised()), "r1/judgement@judge": crosses.judgement()}
        seats = crosses.seats(self.home / "seats", {**said, CRITIC: {"json": said[CRITIC], "delay": LEFT}})
        config = self.home / ".config/rebut/config.toml"
        config.parent.mkdir(parents=True)
        config.write_text("[seats]\n" + "".join(f"{role} = {json.dumps(spec)}\n" for role, spec in seats.items()))

    def env(self, *names: str) -> dict[str, str]:
        out = {"PATH": real.path(), "HOME": str(self.home), "LANG": "C.UTF-8", "TERM": "dumb"}
        for name in names:
            out |= real.filled(real.TOOLS[name].env, self.server.url) | dict.fromkeys(HOSTS[name].env, "1")
        out.pop("CLAUDECODE", None)  # it is the host here
        return out

    def rebut(self, *words: str, hosts: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [REBUT, *words], cwd=self.work, env=self.env(*hosts), capture_output=True, text=True, timeout=SLOW * 2
        )

    def begin(self, name: str, *calls: tuple[str, dict[str, Any]]) -> subprocess.Popen[bytes]:
        """Start a host whose model makes these calls."""
        host = HOSTS[name]
        self.server.set("tool")
        self.server.tool, *self.server.more = [(host.tool.format(tool), given) for tool, given in calls]
        asked = self.home / "prompt.txt"
        asked.write_text("Use rebut.")
        with asked.open("rb") as stdin, (self.home / "said.txt").open("wb") as stdout:
            return subprocess.Popen(
                [name, *real.filled(list(host.argv), self.server.url)],
                cwd=self.work,
                env=self.env(name),
                stdin=stdin,
                stdout=stdout,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def said(self) -> str:
        """What the last host printed."""
        return (self.home / "said.txt").read_text(errors="replace")[-3000:]

    def sessions(self) -> list[sessions.FoundSession]:
        return sessions.sessions(self.home / ".local/state/rebut/sessions")

    def servers(self) -> list[str]:
        """The processes `rebut mcp` of this home."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                words = (process / "cmdline").read_bytes().split(b"\0")
                mine = f"HOME={self.home}".encode() in (process / "environ").read_bytes().split(b"\0")
                if mine and REBUT.encode() in words and b"mcp" in words:
                    found.append(process.name)
        return found


def until(over: Callable[[], object], place: Place, running: subprocess.Popen[bytes] | None = None) -> None:
    end = time.monotonic() + SLOW
    while not over():
        assert time.monotonic() < end and (running is None or running.poll() is None), place.said()
        time.sleep(0.1)


@pytest.mark.parametrize("first", HOSTS)
def test_a_host_checks_starts_a_review_and_is_killed_and_another_has_the_result(
    first: str, tmp_path: Path, server: Server
) -> None:
    second = AFTER[first]
    place = Place(tmp_path / "home", server)
    for name in {first, second}:
        real.lay_home(real.TOOLS[name], place.home, server.url)
    done = place.rebut("mcp", "install", "--host", first, "--host", second, "--yes", hosts=(first, second))
    assert done.returncode == 0 and done.stdout.count("added") == 2, done.stdout + done.stderr

    text = "See `api/orders.py:5` and `nope.py:3`."
    host = place.begin(first, ("check", {"text": text}), ("review", {"wait_seconds": 50}))
    until(lambda: place.sessions() and sessions.load(place.sessions()[0].folder).in_doubt, place, host)
    assert "2 CITATIONS: 1 absent, 1 located" in server.heard, "the model was told what check found"
    (found,) = place.sessions()
    debate = sessions.running(found.folder)
    assert debate and not sessions.load(found.folder).answers
    os.killpg(host.pid, signal.SIGKILL)
    host.wait()
    until(lambda: not place.servers(), place)
    assert sessions.running(found.folder) == debate, "the host and its server are gone, the debate is not"

    other = place.begin(second, ("result", {"session": found.id}))
    assert other.wait(SLOW) == 0, place.said()
    assert "1 PROBLEM TO FIX (1 P1)" in server.heard and "It commits before it charges." in server.heard
    record = sessions.load(found.folder)
    assert record.closed and "resumed" not in [line.event.kind for line in record.lines]
    assert place.rebut("show", found.id).returncode == 0

    done = place.rebut("mcp", "uninstall", "--host", first, "--host", second, "--yes", hosts=(first, second))
    assert done.returncode == 0 and done.stdout.count("removed") == 2, done.stdout + done.stderr


# the official Inspector


def inspect(place: Place, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["mcp-inspector", "--cli", *words, "--cwd", str(place.work), "--", REBUT, "mcp"]
    env = place.env()
    passed = [word for name in ("HOME", "PATH") for word in ("-e", f"{name}={env[name]}")]
    return subprocess.run(
        [*command[:2], *passed, *command[2:]], env=env, cwd=place.home, capture_output=True, text=True, timeout=SLOW * 2
    )


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_finds_no_schema_that_a_host_would_refuse(era: str, tmp_path: Path, server: Server) -> None:
    place = Place(tmp_path / "home", server)
    done = inspect(place, "--protocol-era", era, "--strict", "--method", "tools/list")
    assert done.returncode == 0, done.stderr
    names = [tool["name"] for tool in json.loads(done.stdout)["tools"]]
    assert names == ["check", "debate", "review", "plan", "result", "answer", "stop"]
    done = inspect(place, "--protocol-era", era, "--method", "tools/call", "--tool-name", "review")
    assert done.returncode == 0, done.stderr
    row = json.loads(done.stdout)["structuredContent"]
    assert (row["status"], row["heading"]) == ("done", "1 PROBLEM TO FIX (1 P1)"), "modern: polled as a task"
