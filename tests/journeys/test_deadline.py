"""A deadline at any call of any protocol: a typed result that names its basis, and a debate that goes on from there.

A model that hangs would never come back. That these tests end at all is what they assert of the waiting.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import console
import crashing
import crosses
import duels
import forkserver
import panels
import pytest
import revisions
import test_ask
from crashing import FIRST, SECOND, Job, end_of, play, resumed
from test_cli_tools import soon_gone

from rebut.cli.runner import CommandRun
from rebut.core import process
from rebut.domain.outcome import Outcome
from tests import fake_tool, voices

Said = dict[str, Any]
GENEROUS = 120
"""Seconds after which a process that should have ended long ago is taken for hung."""


def asked() -> Said:
    return test_ask.said(same=False)


def reviewed() -> Said:
    return {
        "r1/critique@critic": crosses.critique(crosses.raised()),
        "r1/judgement@judge": crosses.judgement("C", {"F1": "valid P1"}),
        "r1/version.code@judge": crosses.patch(),
        "r2/critique@critic": crosses.critique(earlier=[crosses.looked()]),
    }


def proposed() -> Said:
    finding = crosses.raised("No replica.", "§ Cost", evidence=[duels.cite("§ Cost", "A replica is not needed.")])
    return {
        "r1/critique@critic": crosses.proposal(finding),
        "r1/judgement@judge": crosses.judgement("E", {"F1": "valid P1"}),
    }


DEBATES: dict[str, tuple[str, Callable[[], Said], dict[str, Any], dict[str, Any]]] = {
    "duel": ("duel", lambda: duels.answers(3), {"rounds": 3}, crashing.SEATS),
    "ask": ("ask", asked, {}, crashing.SEATS),
    "cross": ("cross", reviewed, {}, {"author": "zero", "critic": "one", "judge": "two"}),
    "revise": (
        "revise",
        lambda: revisions.answers(1),
        {"rounds": 1},
        {"author": ["a=one", "b=two"], "synthesizer": "three"},
    ),
    "panel": (
        "panel",
        lambda: panels.tradeoff(2),
        {"rounds": 2},
        {"lead": "one", "challenger": ["two", "three", "four"], "judge": "five"},
    ),
}


def job(name: str, folder: Path, **changes: Any) -> Job:
    protocol, said, settings, seats = DEBATES[name]
    folder.mkdir()
    work = crosses.repository(folder / "work") if name == "cross" else crashing.repository(folder / "work")
    scope = "uncommitted" if name == "cross" else ""
    told = {key: [value] for key, value in said().items()}
    more: dict[str, Any] = {"protocol": protocol, "settings": settings, "seats": seats, "scope": scope, "forked": False}
    return Job(str(folder), told, workspace=str(work), far=name == "panel", **{**more, **changes})


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[Path]:
    with crashing.quick_folder(tmp_path) as folder:
        yield folder


@pytest.mark.parametrize("name", DEBATES)
def test_whoever_hangs_the_result_is_typed_and_the_debate_goes_on_to_the_same_end(name: str, quick: Path) -> None:
    # C14 C17
    whole = job(name, quick / "whole")
    [result] = play([whole], **FIRST)
    keys = list(dict.fromkeys(key for key, _, _ in crashing.calls(Path(whole.folder))))
    assert len(keys) >= 4, keys
    jobs = [job(name, quick / f"{n}", hang_at=key) for n, key in enumerate(keys)]
    for key, one, late in zip(keys, jobs, play(jobs, **FIRST), strict=True):
        outcome = late.outcome
        assert outcome, f"{key}: {late.error} {late.message}"
        assert (outcome["kind"], outcome["complete"], outcome["conclusive"]) == ("partial", False, False), key
        assert outcome["basis"] and "the deadline was reached" in outcome["stopped"], key
        assert "YET" in outcome["heading"] and outcome["session"] == crashing.session(Path(one.folder)).name, key
        assert outcome["verdict"] is None
    ends = play([replace(resumed(one), hang_at="") for one in jobs], days=400, **SECOND)
    for key, one, end in zip(keys, jobs, ends, strict=True):
        assert ending(one, end) == ending(whole, result), key
        again = [k for k, _, _ in crashing.calls(Path(one.folder))]
        assert sorted(again) == sorted([*keys, key]), f"{key}: nothing but that was asked again"


def ending(one: Job, result: crashing.Result) -> str:
    """What must not differ, whatever the session is called and wherever it lies."""
    told = json.dumps(end_of(result), sort_keys=True).replace(one.folder, "")
    return re.sub(r"debate-\d{8}-\d{6}-\d+", "ID", told)


# before anybody is asked


def test_a_tool_that_never_tells_its_version_takes_no_more_than_the_time_there_is(
    tmp_path: Path, workspace: Path
) -> None:
    # C2 C17
    env = with_tool(tmp_path, "claude", '[egress]\nallow = ["claude"]\n')
    done = rebut("ask", "Redis or not?", "--deadline", "4", "--json", env=env)
    told = json.loads(done.stdout)
    assert (done.returncode, told["exit"], told["complete"], told["basis"]) == (5, 5, False, "nothing yet")
    assert told["session"] is None and "resume" not in told, "nothing was opened, so there is nothing to go on with"
    assert not alive(tmp_path), "the tool is not left behind"


def test_the_last_word_leaves_no_tool_behind_that_was_only_asked_its_version(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # C9 C17
    env = with_tool(tmp_path, "claude", "")

    async def main() -> int | None:
        there, tool = asyncio.Event(), [f"{tmp_path}/bin/claude"]
        work = process.run_program(tool, cwd=tmp_path, env=env, seconds=GENEROUS, on_spawn=lambda pid: there.set())
        asked = asyncio.ensure_future(work)
        await there.wait()
        CommandRun(as_json=True, quiet=True, deadline=9).print_so_far()  # as the alarm does, when the loop is too busy
        return (await asked).code

    assert asyncio.run(main()) == -signal.SIGKILL
    assert json.loads(capsys.readouterr().out)["basis"] == "nothing yet"


def test_standard_input_that_never_ends_takes_no_more_than_the_time_there_is(workspace: Path) -> None:
    # C17
    child = forkserver.Popen(
        [console.REBUT, "plan", "-", "--deadline", "2", "--json", "--with", "scripted:a.json,scripted:b.json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        assert child.stdin and child.stdout
        told = json.loads(child.stdout.read())  # and its own standard input is still open
        assert (child.wait(GENEROUS), told["complete"], told["basis"]) == (5, False, "nothing yet")


# the real command


def test_a_tool_that_is_deaf_to_signals_is_ended_and_the_command_too(tmp_path: Path, workspace: Path) -> None:
    # C9 C17
    table = '[tools.deaf]\nargs = []\noutput = { form = "json", text = { take = "answer" } }\n'
    env, seats = with_tool(tmp_path, "deaf", table), duels.seats(tmp_path)
    words = ["--proposer", "deaf", "--challenger", seats["challenger"], "--judge", seats["judge"]]
    done = rebut("duel", "Redis?", *words, "--deadline", "4", "--json", env=env)
    told = json.loads(done.stdout)
    assert (done.returncode, told["kind"], told["complete"]) == (5, "partial", False), done.stderr
    assert not alive(tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process that leaves its group cannot be found")
def test_what_a_tool_started_apart_is_ended_though_the_protocol_hangs(tmp_path: Path, workspace: Path) -> None:
    # C9 C17: the alarm ends the command, since nothing else can
    fakes, orphan = fake_tool.install(tmp_path / "bin", "claude"), tmp_path / "pid"
    body = f"""
import asyncio, time
asking = asyncio.ensure_future(debate.ask(debate.seat("author"), "draft", "Write."))
while not Path({str(orphan)!r}).exists():
    await asyncio.sleep(0.05)
await asyncio.sleep(0.2)
time.sleep(600)
"""
    path, seats = voices.protocol(tmp_path, body), duels.seats(tmp_path)
    plan = json.dumps({"orphan": str(orphan), "alone": True, "hang": True})
    env = {**os.environ, "PATH": f"{fakes}:{os.environ['PATH']}", "PROGRAMDATA": plan}
    words = [str(path), "Redis?", "--seat", "author=claude", "--seat", f"critic={seats['challenger']}"]
    for seconds in ("8", "32"):  # a busy machine takes its time to start the tool
        done = rebut("run", *words, "--deadline", seconds, "--json", env=env)
        assert done.returncode == 5, done.stderr
        if orphan.exists():
            break
    assert orphan.exists(), "the tool was started"
    assert not alive(tmp_path)


@pytest.mark.parametrize(
    "words",
    [["ask", "Redis?", "--with", "{proposer},{challenger},{judge}"], ["plan", "PLAN.md", "--with", "{judge},{judge}"]],
)
def test_verbs_end_in_time_and_say_how_to_go_on(tmp_path: Path, workspace: Path, words: list[str]) -> None:
    # C17
    (workspace / "PLAN.md").write_text("# Design\n\nKeep sessions in Redis.\n")
    hangs = {key: {"hang": True} for key in ("answer@proposer", "r1/critique@critic")}
    seats = duels.seats(tmp_path, hangs | {"answer@challenger": duels.opening()})
    basis = "round 0" if words[0] == "ask" else "nothing yet"
    for seconds in (4, 16, 64):  # a busy machine takes its time to come so far
        said = [word.format(**seats) for word in words]
        done = rebut(*said, "--allow-same-model", "--deadline", str(seconds), "--json")
        told = json.loads(done.stdout)
        assert (done.returncode, told["kind"], told["complete"]) == (5, "partial", False), done.stderr
        if told["session"] and told["basis"] == basis:
            break
    assert told["basis"] == basis
    assert told["resume"] == f"rebut resume {told['session']}"


def rebut(*words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return forkserver.run(
        [console.REBUT, *words], capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL, timeout=GENEROUS
    )


def with_tool(folder: Path, name: str, config: str) -> dict[str, str]:
    """An environment with a tool that never answers anything, and is deaf to the gentle signal."""
    tool = folder / "bin" / name
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\ntrap '' TERM\necho $$ > {folder}/pid\nwhile :; do sleep 1; done\n")
    tool.chmod(0o755)
    (folder / "config.toml").write_text(config)
    return {**os.environ, "PATH": f"{tool.parent}:{os.environ['PATH']}", "REBUT_CONFIG": str(folder / "config.toml")}


def alive(folder: Path) -> bool:
    """Whether the tool runs; on a machine that is busy enough it never came to start.

    Whoever takes over the children of a command that has ended may take its time to ask about them.
    """
    pid = folder / "pid"
    said = pid.read_text().strip() if pid.exists() else ""
    return bool(said) and not soon_gone(int(said))


def test_what_was_decided_before_the_deadline_is_told_though_something_after_it_was_cut_off(workspace: Path) -> None:
    # C17 J8: such as the patch of a review, which was still being applied
    from rebut import api

    said = duels.answers(1)
    model = voices.Voice(lambda request: json.dumps(said[request.key]))
    stage = CommandRun(True, True, None, {"fake": model})

    async def act(setup: api.Setup) -> Outcome:
        seats = {"proposer": "fake:a", "challenger": "fake:b", "judge": "fake:c"}
        await api.start("duel", "Redis?", setup=setup, rounds=1, **seats)
        stage.control.expire()
        await asyncio.Event().wait()
        raise AssertionError

    outcome = stage.play(act)
    assert isinstance(outcome, Outcome)
    assert (outcome.heading, outcome.exit_code, bool(outcome.verdict)) == ("VERDICT", 5, True)
    assert any("may not be done" in note for note in outcome.notes)
