"""The real process, killed for good at moments that nobody chose; and the tools that it leaves behind."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import crashing
import duels
import forkserver
import pytest
from console import piped
from crashing import FIRST, SECOND, Job, play, repository
from loopback import Loopback

from rebut.core.process_identity import started
from rebut.core.scratch import processes_of
from rebut.record.events import Asked, Attempt, Fact, Resumed
from rebut.record.sessions import load

KILLS = 20
SEED = 20

# By the name of the form, whatever the round: the challenge, and both turns of round 3, break a rule and are sent back.
ANSWERS: dict[str, Any] = {
    "Opening": duels.opening(),
    "Challenge": duels.challenge(alternatives=[]),
    "Defense": duels.defense(2),
    "FollowUp": duels.follow_up(2, {"D2": "unresolved"}, [duels.flaw("Nothing is logged.", 12)]),
    "Summary": duels.summary(3),
    "Decision": duels.verdict(),
}
NEEDED = 11


class Shell:
    """One workspace, and `rebut` run in it as a person would, or killed."""

    def __init__(self, server: Loopback, folder: Path) -> None:
        self.folder = repository(folder)
        self.said = folder.with_suffix(".said")
        self.env = crashing.environment(
            OPENAI_BASE_URL=server.url, OPENAI_API_KEY="none", REBUT_HOME=str(folder.with_suffix(".home"))
        )

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "rebut", *words]
        with self.said.open("wb") as said:
            return forkserver.Popen(command, cwd=self.folder, env=self.env, stdout=said, stderr=said)

    def duel(self) -> subprocess.Popen[bytes]:
        seats = ["--proposer", "openai:a", "--challenger", "openai:b", "--judge", "openai:c"]
        return self.start("duel", crashing.TOPIC, *seats, "--rounds", "3", "--json")

    def go_on(self) -> subprocess.Popen[bytes]:
        """`resume last`, or from the start when the last life was too short to leave a session."""
        return self.start("resume", "last", "--json") if self.session else self.duel()

    @property
    def session(self) -> Path | None:
        made = sorted(Path(self.env["REBUT_HOME"]).glob("sessions/*/journal.jsonl"))
        # A process that was killed before its opening was on record has asked nothing and left nothing.
        begun = [path.parent for path in made if b'"key":"keys"' in path.read_bytes()]
        assert len(begun) <= 1
        return begun[0] if begun else None

    def full(self) -> dict[str, Any]:
        """The outcome as the record has it."""
        assert self.session
        record = load(self.session)
        assert record.closed
        return dict(record.closed.outcome)


def test_twenty_kills_at_random_moments_cost_at_most_the_calls_in_flight(tmp_path: Path) -> None:  # C3
    log = tmp_path / "wire.jsonl"
    with Loopback(ANSWERS, process=True, latency=0.04, log=log) as server:
        whole = Shell(server, tmp_path / "whole")
        began = time.monotonic()
        run = whole.duel()
        while not server.calls:
            assert run.poll() is None
            time.sleep(0.005)
        first_call = time.monotonic() - began
        assert run.wait() == 0
        lasts = time.monotonic() - began
        expected = crashing.same(whole.full())
        assert server.calls == NEEDED and expected["notes"], "the broken rule is in the notes"

        chance, kills, debates = random.Random(SEED), 0, 0
        while kills < KILLS:
            debates += 1
            shell, before = Shell(server, tmp_path / f"debate {debates}"), seen(log)
            began = time.monotonic()
            process, killed = shell.duel(), 0
            while True:
                # Not while Python starts, when there is nothing to lose yet; and mostly before the end is reached.
                moment = chance.uniform(first_call / 2, (first_call + lasts) / 2)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(moment if kills < KILLS else None)
                if process.poll() is not None:
                    break
                process.kill()
                assert process.wait() in (-signal.SIGKILL, 0)
                kills, killed = kills + 1, killed + 1
                process = shell.go_on()
            assert process.returncode == 0, shell.said.read_text()
            assert crashing.same(shell.full()) == expected
            check(shell, seen(log) - before, killed)
            if not killed:  # the first run was slower, as it loaded or compiled what the later ones share
                lasts = min(lasts, time.monotonic() - began)
                first_call = min(first_call, lasts / 2)
    assert kills == KILLS


def seen(log: Path) -> Counter[tuple[str, str]]:
    """What the server was asked: form and model."""
    rows = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return Counter((row["schema"], row["model"]) for row in rows)


def check(shell: Shell, wire: Counter[tuple[str, str]], kills: int) -> None:
    assert shell.session
    record = load(shell.session)
    asked = [line.event for line in record.lines if isinstance(line.event, Asked)]
    attempts = [line.event for line in record.lines if isinstance(line.event, Attempt)]
    model = {"proposer": "a", "challenger": "b", "judge": "c"}

    def forms(events: list[Asked]) -> Counter[tuple[str, str]]:
        return Counter((e.schema.partition("/")[0], model[e.seat]) for e in events)

    came_back = {(e.key, e.attempt) for e in attempts}
    doubtful = [e for e in asked if (e.key, e.attempt) not in came_back]
    assert len(attempts) == len(came_back) == NEEDED, "what came back once was not asked again"
    assert len(doubtful) <= kills, "one call at a time is in flight"
    certain = forms([e for e in asked if (e.key, e.attempt) in came_back])
    assert certain <= wire <= certain + forms(doubtful), "each recorded call reached the server exactly once"
    assert wire.total() <= NEEDED + kills
    spent = shell.full()["spent"]
    assert (spent["calls"], spent["in_doubt"]) == (NEEDED + len(doubtful), len(doubtful))


# tools that outlive the process that started them


@contextmanager
def killed_with_a_tool(folder: Path, **changes: Any) -> Iterator[tuple[Job, int, int]]:
    """A debate whose process was killed while its tool was at work: the job, the tool, and the tool's own child."""
    folder.mkdir()
    answers = {key: [value] for key, value in duels.answers(1).items()}
    job = Job(str(folder), answers, settings={"rounds": 1}, spawn=True, forked=False, **changes)
    run = forkserver.Popen(
        [*crashing.command(), "0"], stdin=subprocess.PIPE, text=True, env=crashing.environment(**FIRST), cwd=folder
    )
    assert run.stdin
    run.stdin.write(json.dumps([asdict(job)]))
    run.stdin.close()
    while not (folder / "tools").exists():
        assert run.poll() is None
        time.sleep(0.01)
    run.kill()
    run.wait()
    tool, child = json.loads((folder / "tools").read_text())
    try:
        assert lives(tool) and lives(child), "the tool outlived its process"
        yield Job(str(folder), answers, resume="*"), tool, child
    finally:
        for pid in (tool, child):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes through /proc")


def test_resume_ends_the_tools_of_a_killed_process_and_records_it(tmp_path: Path) -> None:  # C3, C9
    with killed_with_a_tool(tmp_path / "debate") as (job, tool, child):
        [result] = play([job], **SECOND)
        assert result.outcome["heading"] == "VERDICT"
        assert not lives(tool) and not lives(child), "the whole group is gone, deaf to SIGTERM or not"
    [again] = [e for e in events(job) if isinstance(e, Resumed)]
    assert list(again.orphans) == [f"r1/opening@proposer (process {tool})"]


def test_resume_leaves_a_process_alone_that_only_has_the_number_of_a_tool(tmp_path: Path) -> None:  # C3
    with killed_with_a_tool(tmp_path / "debate", fake_start="12345") as (job, tool, child):
        [recorded] = [e for e in events(job) if isinstance(e, Fact) and "#process" in e.key]
        assert isinstance(recorded.value, dict) and recorded.value["pid"] == tool
        [result] = play([job], **SECOND)
        assert result.outcome["heading"] == "VERDICT"
        assert lives(tool) and lives(child)
    [again] = [e for e in events(job) if isinstance(e, Resumed)]
    assert list(again.orphans) == []


def events(job: Job) -> list[Any]:
    return [line.event for line in load(crashing.session(Path(job.folder))).lines]


def killed_in_its_last_call(folder: Path, *more: str) -> tuple[Path, dict[str, str]]:
    """The workspace of a duel whose process was killed while the judge was asked, and its environment."""
    workspace, home = repository(folder / "work"), folder / "home"
    seats = duels.seats(folder, {"verdict@judge": {"hang": True}})
    words = [word for role, spec in seats.items() for word in (f"--{role}", spec)]
    env = crashing.environment(REBUT_HOME=str(home))
    command = [sys.executable, "-m", "rebut", "duel", crashing.TOPIC, *words, *more]
    run = forkserver.Popen(command, cwd=workspace, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not any(b'"key":"verdict@judge"' in path.read_bytes() for path in home.glob("sessions/*/journal.jsonl")):
        assert run.poll() is None
        time.sleep(0.02)
    run.kill()
    run.wait()
    return workspace, env


def test_a_duel_that_is_killed_in_its_last_call_leaves_its_state_file(tmp_path: Path) -> None:  # D6 C3
    state = tmp_path / "state/debate/last-debate.json"
    folder, env = killed_in_its_last_call(tmp_path, "--state-dir", str(tmp_path / "state"))
    left = json.loads(state.read_text())
    assert (left["status"], left["verdict"], left["rounds_completed"]) == ("aborted", None, 2)
    turns = [(row["round"], row["role"]) for row in left["exchanges"]]
    assert turns == [(1, "proposer"), (1, "challenger"), (2, "proposer"), (2, "challenger")]
    duels.seats(tmp_path)
    again = [sys.executable, "-m", "rebut", "resume", "last", "--json"]
    done = forkserver.run(again, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    whole = json.loads(state.read_text())
    assert (whole["status"], whole["session"]) == ("completed", left["session"]) and whole["verdict"]
    assert whole["exchanges"] == left["exchanges"]
    assert [path.name for path in state.parent.iterdir()] == ["last-debate.json"], "no second file beside it"


def test_the_next_debate_removes_the_folders_of_runs_that_were_killed(workspace: Path) -> None:  # C9
    place = Path(os.environ["HOME"]) / ".cache/rebut"
    left, living = (place / f"run-{processes_of()}-{pid}-{since}-abc" for pid, since in LEFT)
    for folder in (left, living):
        folder.mkdir(parents=True)
        (folder / "prompt").write_text("x")
    words = [word for role, spec in duels.seats(workspace).items() for word in (f"--{role}", spec)]
    done = piped("duel", "Redis?", *words, cwd=workspace)  # without a tool, which needs such a folder itself
    assert done.returncode == 0 and not left.exists() and living.exists(), done.stderr


LEFT = ((4_000_000, 5), (os.getpid(), started(os.getpid())))


def test_in_the_session_folder_the_state_file_is_written_by_the_run_that_ends(tmp_path: Path) -> None:  # D6 C3
    folder, env = killed_in_its_last_call(tmp_path)
    [session] = (tmp_path / "home/sessions").iterdir()
    state = session / "debate/last-debate.json"
    assert not state.exists(), "the journal has the turns, and nothing else reads this folder"
    duels.seats(tmp_path)
    done = forkserver.run(
        [sys.executable, "-m", "rebut", "resume", "last", "--json"], cwd=folder, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    whole = json.loads(state.read_text())
    assert (whole["status"], whole["session"], len(whole["exchanges"])) == ("completed", session.name, 4)
