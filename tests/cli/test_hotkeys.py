"""Keys while models think, on a real terminal: what they do, when they work, and how they leave the terminal."""

from __future__ import annotations

import functools
import os
import select
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import console
import duels
import forkserver
import panels
import pytest

from tests import voices

SHELL = """
import os, signal, sys, termios
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
def front(group):
    os.tcsetpgrp(0, group)
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    front(os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
_, how = os.waitpid(child, os.WUNTRACED)
assert os.WIFSTOPPED(how)
front(os.getpid())
print("stopped, lines:", bool(termios.tcgetattr(0)[3] & termios.ICANON), flush=True)
sys.stdin.readline()
front(child)
os.killpg(child, signal.SIGCONT)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
"""As much of a shell as Ctrl-Z and `fg` need; without one, nobody would go on with what was stopped."""
GENEROUS = 60
"""Seconds after which a command that should have ended long ago is ended."""


class Terminal:
    """A pseudo-terminal with rebut on it, read and typed at by a test."""

    def __init__(self, words: list[str], cwd: Path, shell: bool = False, **env: str) -> None:
        start = functools.partial(subprocess.Popen, start_new_session=True)
        within = [sys.executable, "-c", forkserver.ATTACH, sys.executable, "-c", SHELL]
        if not shell:
            start, within = functools.partial(forkserver.Popen, terminal=True), []
        self.leader, self.far = os.openpty()
        self.before = termios.tcgetattr(self.far)
        around = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}
        self.child = start(
            [*within, console.REBUT, *words],
            stdin=self.far,
            stdout=self.far,
            stderr=self.far,
            env={**around, "TERM": "xterm-256color", **env},
            cwd=cwd,
        )
        self.screen, self.at = b"", 0

    def expect(self, text: str) -> None:
        """Read on until these words have come."""
        while (found := self.screen.find(text.encode(), self.at)) < 0:
            assert self.more(), f"{text!r} never came: {self.screen[-3000:]!r}"
        self.at = found + len(text.encode())

    def more(self) -> bool:
        """Whether anything came; not, once the command has ended and all of it was read."""
        while True:
            over = self.child.poll() is not None
            if select.select([self.leader], [], [], 0 if over else 0.1)[0]:
                self.screen += os.read(self.leader, 65536)
                return True
            if over:
                return False

    def type(self, keys: str) -> None:
        os.write(self.leader, keys.encode())

    def end(self) -> int:
        """Read to the end, and see that the terminal is as it was."""
        while self.more():
            pass
        assert termios.tcgetattr(self.far)[3] == self.before[3], "echo and lines as they were"
        return self.child.returncode

    @property
    def is_raw(self) -> bool:
        return not termios.tcgetattr(self.far)[3] & termios.ICANON

    @property
    def text(self) -> str:
        return self.screen.decode(errors="replace").replace("\r\n", "\n")


@contextmanager
def at(words: list[str], cwd: Path, shell: bool = False, **env: str) -> Iterator[Terminal]:
    terminal = Terminal(words, cwd, shell, **env)
    guard = threading.Timer(GENEROUS, terminal.child.kill)
    guard.start()
    try:
        yield terminal
    finally:
        guard.cancel()
        terminal.child.kill()
        terminal.child.wait()
        os.close(terminal.leader)
        os.close(terminal.far)


def duel(folder: Path, said: dict[str, Any], *more: str, rounds: int = 3) -> list[str]:
    seats = duels.seats(folder, said, rounds=rounds)
    return ["duel", "Redis?", *(w for r, s in seats.items() for w in (f"--{r}", s)), "--rounds", str(rounds), *more]


def waiting(said: dict[str, Any], key: str, seconds: float = 4.0) -> dict[str, Any]:
    return said | {key: {"json": said[key], "delay": seconds}}


def test_s_settles_and_the_keys_that_work_are_on_the_last_line(tmp_path: Path, workspace: Path) -> None:
    # C14 C6
    with at(duel(tmp_path, waiting(duels.answers(3), "r1/opening@proposer")), workspace) as terminal:
        terminal.expect("s settle now   m one more round")
        assert terminal.is_raw
        terminal.type("s")
        terminal.expect("settled by hand in round 1: no further rounds")
        assert terminal.end() == 3
    assert "VERDICT AFTER 1 OF 3 ROUNDS" in terminal.text
    assert "settled by hand after round 1" in terminal.text


def test_settling_takes_back_a_round_that_was_added(tmp_path: Path, workspace: Path) -> None:
    # C14
    with at(duel(tmp_path, waiting(duels.answers(3), "r1/opening@proposer")), workspace) as terminal:
        terminal.expect("m one more round")
        terminal.type("m")
        terminal.expect("extended by hand: 1 more round")
        terminal.type("s")
        terminal.expect("settled by hand in round 1: no further rounds, nor the one that was added")
        assert terminal.end() == 3


def test_m_adds_a_round_and_says_when_there_can_be_no_more(tmp_path: Path, workspace: Path) -> None:
    # C14 C4
    with at(duel(tmp_path, waiting(duels.answers(5), "r1/opening@proposer"), rounds=4), workspace) as terminal:
        terminal.expect("m one more round")
        terminal.type("m")
        terminal.expect("extended by hand: 1 more round")
        terminal.type("m")
        terminal.expect("no: duel has at most 5 rounds")
        assert terminal.end() == 0
    assert "round 5" in terminal.text


def test_a_straggler_is_offered_by_name_and_left_behind(tmp_path: Path, workspace: Path) -> None:
    # C14 C6
    said = panels.tradeoff(2) | {"r1/challenge@challenger.2": {"hang": True}}
    seats = panels.seats(tmp_path / "seats", said)
    words = ["panel", "Redis?", "--lead", seats["lead"], "--judge", seats["judge"], "--max-rounds", "2"]
    words += [word for spec in seats["challenger"] for word in ("--challenger", spec)]
    with at(words, workspace) as terminal:
        terminal.expect("l skip challenger.2 (")
        terminal.type("l")
        terminal.expect("failed: left behind, skipped by the user after")
        assert terminal.end() == 3
    assert "TRADEOFF (2 OF 3 ANSWERED)" in terminal.text and "1 of 3 perspectives" in terminal.text
    [gone] = [e for e in voices.events("", "failed") if e.failure == "left behind"]
    assert (gone.key, gone.reopened) == ("r1/challenge@challenger.2", False)


def test_the_terminal_is_left_as_it_was_by_an_interruption(tmp_path: Path, workspace: Path) -> None:
    # C14
    said = duels.answers(2) | {"r1/opening@proposer": {"hang": True}}
    with at(duel(tmp_path, said, rounds=2), workspace) as terminal:
        terminal.expect("s settle now")
        assert terminal.is_raw
        terminal.type("\x03")
        terminal.expect("Ctrl-C again to stop now")
        stopping = terminal.at
        terminal.type("s")
        terminal.expect("no: the debate is stopping")
        terminal.type("\x03")
        assert terminal.end() == 130
    assert b"settle now" not in terminal.screen[stopping:], "no key decides anything any more"
    assert not [e for e in voices.events("", "fact") if "settled" in str(e)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_terminal_is_left_as_it_was_by_a_signal(tmp_path: Path, workspace: Path, number: int) -> None:
    # C14
    said = duels.answers(2) | {"r1/opening@proposer": {"hang": True}}
    with at(duel(tmp_path, said, rounds=2), workspace) as terminal:
        terminal.expect("s settle now")
        terminal.child.send_signal(number)
        terminal.expect("waiting for the proposer to finish")
        terminal.child.send_signal(number)
        assert terminal.end() == 130


def test_a_deadline_leaves_the_terminal_as_it_was(tmp_path: Path, workspace: Path) -> None:
    # C17
    said = duels.answers(2) | {"r1/opening@proposer": {"hang": True}}
    with at(duel(tmp_path, said, "--deadline", "4", rounds=2), workspace) as terminal:
        assert terminal.end() == 5
    assert "deadline of 4 s" in terminal.text


def test_a_protocol_that_hangs_at_its_deadline_leaves_the_terminal_as_it_was(tmp_path: Path, workspace: Path) -> None:
    # C17
    hangs = """import asyncio, time
asked = asyncio.ensure_future(debate.ask(debate.seat("author"), "x", "hello"))
while "x@author" not in debate._runtime.control.flying:
    await asyncio.sleep(0.01)
await asyncio.sleep(0.3)
time.sleep(600)
"""
    script = tmp_path / "a.json"
    script.write_text('{"answers": {"x@author": {"hang": true}}}')
    seats = [word for seat in ("author", "critic") for word in ("--seat", f"{seat}=scripted:{script}")]
    words = ["run", str(voices.protocol(tmp_path, hangs)), "Redis?", *seats, "--allow-same-model", "--deadline", "5"]
    with at(words, workspace) as terminal:
        assert terminal.end() == 5
    assert terminal.screen.count(b"\x1b[?25l") == terminal.screen.count(b"\x1b[?25h"), "a cursor that stays hidden"
    assert "deadline of 5 s" in terminal.text


def test_ctrl_z_gives_the_terminal_back_and_fg_takes_it_again(tmp_path: Path, workspace: Path) -> None:
    # C14
    said = duels.answers(2) | {"r1/opening@proposer": {"hang": True}}
    with at(duel(tmp_path, said, rounds=2), workspace, shell=True) as terminal:
        terminal.expect("s settle now")
        assert terminal.is_raw
        terminal.type("\x1a")
        terminal.expect("stopped, lines: True")
        terminal.type("fg\n")
        terminal.expect("s settle now")
        assert terminal.is_raw
        terminal.type("\x03")
        terminal.expect("Ctrl-C again")
        terminal.type("\x03")
        assert terminal.end() == 130


@pytest.mark.parametrize(
    ("more", "env"),
    [(["--json"], {}), (["--quiet"], {}), (["--plain"], {}), ([], {"TERM": "dumb"})],
    ids=["json", "quiet", "plain", "dumb"],
)
def test_without_a_moving_view_no_key_is_read(
    tmp_path: Path, workspace: Path, more: list[str], env: dict[str, str]
) -> None:
    # C14
    said = waiting(duels.answers(1), "r1/opening@proposer", 1.5)
    with at(duel(tmp_path, said, *more, rounds=1), workspace, **env) as terminal:
        terminal.type("s")
        assert terminal.end() == 0
    assert "settle" not in terminal.text.replace("settled", "") and '"settle"' not in terminal.text
    assert not [e for e in voices.events("", "fact") if e.key == "settle"]


def test_nothing_is_read_while_a_person_types(tmp_path: Path, workspace: Path) -> None:
    # C14
    seats = duels.seats(tmp_path, duels.answers(1), rounds=1)
    words = ["duel", "Redis?", "--proposer", "human", "--challenger", seats["challenger"], "--judge", seats["judge"]]
    with at([*words, "--rounds", "1"], workspace) as terminal:
        terminal.expect("your turn")
        terminal.expect("Ctrl-D stops here")
        assert not terminal.is_raw
        terminal.type("s\n")
        terminal.expect("s")
        terminal.type("\x04")
        assert terminal.end() == 4
    assert not [e for e in voices.events("", "fact") if e.key == "settle"]


@pytest.mark.parametrize("typed", ["\x1bOS", "é", "ls -l\n"], ids=["F4", "another alphabet", "typed ahead"])
def test_what_is_no_key_of_ours_decides_nothing_and_takes_no_key_away(
    tmp_path: Path, workspace: Path, typed: str
) -> None:
    # C14
    said = waiting(duels.answers(4), "r1/opening@proposer")
    with at(duel(tmp_path, said, rounds=3), workspace) as terminal:
        terminal.expect("s settle now")
        terminal.type(typed)
        for _ in range(8):
            terminal.more()  # what was drawn before it was read, and what was drawn since
        assert terminal.is_raw
        terminal.type("m")
        terminal.expect("extended by hand: 1 more round")
        assert terminal.end() == 0
    assert [e.key for e in voices.events("", "fact") if e.key in ("settle", "more")] == ["more"]


def test_a_terminal_that_goes_away_takes_no_answer_with_it(tmp_path: Path, workspace: Path) -> None:
    # C3 C14
    said = panels.tradeoff(1)
    for key in ("r1/challenge@challenger.1", "r1/challenge@challenger.2"):
        said = waiting(said, key, 1.5 if key.endswith("1") else 3.0)
    seats = panels.seats(tmp_path / "seats", said)
    words = ["panel", "Redis?", "--lead", seats["lead"], "--judge", seats["judge"], "--max-rounds", "1"]
    words += [word for spec in seats["challenger"] for word in ("--challenger", spec)]
    terminal = Terminal(words, workspace)
    guard = threading.Timer(GENEROUS, terminal.child.kill)
    guard.start()
    terminal.expect("s settle now")
    os.close(terminal.far)
    os.close(terminal.leader)
    terminal.child.wait()
    guard.cancel()
    answered = {e.key for e in voices.events("", "answered")}
    assert {f"r1/challenge@challenger.{n}" for n in (1, 2, 3)} <= answered, "those in flight were waited for"
