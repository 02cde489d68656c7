"""A call that must wait says so on the screen, so that nobody takes a rate limit for a slow model."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import forkserver
import pytest

from tests import duels
from tests.loopback import Loopback
from tests.terminals import at_a_terminal

DUEL = ["duel", "Redis or not?", "--proposer", "openai:a", "--challenger", "openai:b", "--judge", "openai:c"]


@pytest.fixture
def env() -> Iterator[dict[str, str]]:
    """A server that is busy once."""
    with Loopback(duels.by_form(), mode="status", status=429, retry_after="2", first=1) as server:
        yield {**os.environ, "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-test", "TERM": "xterm"}


def test_a_wait_is_counted_down_on_a_terminal_and_leaves_no_trace_in_the_lines(
    env: dict[str, str], workspace: Path
) -> None:  # C14
    def talk(expect: Callable[[str], None], type_: Callable[[str], None]) -> None:
        expect("openai: 429, again in 2 s")
        expect("again in 1 s")
        expect("VERDICT")

    assert at_a_terminal(DUEL, env, workspace, talk)[0] == 0


def test_a_wait_is_said_once_where_nothing_moves(env: dict[str, str], workspace: Path) -> None:  # C14
    words = [sys.executable, "-m", "rebut", *DUEL]
    ended = forkserver.run(words, cwd=workspace, env=env, text=True, capture_output=True, stdin=subprocess.DEVNULL)
    assert ended.returncode == 0, ended.stderr
    (line,) = [line for line in ended.stderr.splitlines() if "again in" in line]
    assert line.split() == ["proposer", "opening", "openai:", "429,", "again", "in", "2", "s"]
    assert "again in" not in ended.stdout
