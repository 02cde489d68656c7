"""Stopping and going on: Ctrl-C once and twice, a deadline, waiting for a person. Signals go to real processes."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import rebut
from rebut.core import errors
from tests import duels, voices
from tests.loopback import Loopback
from tests.voices import Voice, protocol

SEATS = {"author": "fake:a", "critic": "fake:b"}
CHAIN = """
a = await debate.ask(debate.seat("author"), "draft", "Write.")
b = await debate.ask(debate.seat("critic"), "judge", f"Judge {a.value}")
return done(said=[a.value, b.value])
"""


def script(folder: Path, **answers: object) -> list[str]:
    """Seats for the command line: both read the same answers."""
    out = []
    for role in ("author", "critic"):
        (folder / f"{role}.json").write_text(json.dumps({"model": role, "answers": answers}))
        out += ["--seat", f"{role}=scripted:{folder}/{role}.json"]
    return out


# Ctrl-C


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_ctrl_c_lets_the_call_in_flight_finish_and_starts_nothing_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    # C14, C3; a service manager's stop and a closed terminal count as one
    release = threading.Event()

    def answer(body: dict[str, object]) -> str:
        assert release.wait(30)
        return "worth waiting for"

    with Loopback(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        path = protocol(tmp_path, CHAIN)
        process = voices.begin("run", str(path), "t", "--seat", "author=openai:m1", "--seat", "critic=openai:m2")
        try:
            voices.wait_for(lambda: server.calls == 1, process)
            process.send_signal(number)
            seen = ""
            assert process.stderr
            while "Ctrl-C again to stop now" not in seen:
                line = process.stderr.readline()
                assert line, seen
                seen += line
            release.set()
            _, err = process.communicate(timeout=30)
        finally:
            release.set()
            process.kill()
        assert process.returncode == 130, err
        assert "waiting for the author to finish" in seen
        assert f"Continue with   rebut resume {voices.folder().name[:4]}" in err
        assert "1 answer is recorded, and no call was cut off" in err
        assert server.calls == 1
        assert [e.value for e in voices.events("", "answered")] == ["worth waiting for"]
        assert [e.key for e in voices.events("", "asked")] == ["draft@author"]
        assert voices.events("", "failed") == []
        resumed = voices.cli("resume", voices.folder().name, "--json")
        assert resumed.returncode == 0, resumed.stderr
        assert server.calls == 2, "only what was never asked"


# a process that is stopped for a while, as by Ctrl-Z


def test_a_stop_takes_no_time_from_the_debate_nor_from_a_call_in_flight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # C4: the answer arrives while the process is stopped, long after the call's time-out
    release = threading.Event()

    def answer(body: dict[str, object]) -> str:
        assert release.wait(60)
        return "worth waiting for"

    with Loopback(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        seats = ("--seat", "author=openai:m1", "--seat", "critic=openai:m2")
        began = time.monotonic()
        limits = ("--timeout", "5", "--budget-minutes", "5")
        process = voices.begin("run", str(protocol(tmp_path, CHAIN)), "t", *seats, *limits)
        try:
            voices.wait_for(lambda: server.calls == 1, process)
            process.send_signal(signal.SIGSTOP)
            stopped = time.monotonic()
            time.sleep(7)
            release.set()
            stopped = time.monotonic() - stopped
            process.send_signal(signal.SIGCONT)
            _, err = process.communicate(timeout=60)
        finally:
            release.set()
            process.kill()
        assert process.returncode == 0, err
        assert server.calls == 2, "no call was made twice"
    assert [e.value for e in voices.events("", "answered")] == ["worth waiting for"] * 2
    whole = time.monotonic() - began
    assert voices.record().active_seconds() < whole - stopped / 2


def test_the_second_ctrl_c_drops_the_call_and_leaves_it_in_doubt(tmp_path: Path) -> None:
    # C14, C3
    seats = script(
        tmp_path, **{"draft@author": [{"hang": True}, {"text": "at last"}], "judge@critic": {"text": "fine"}}
    )
    process = voices.begin("run", str(protocol(tmp_path, CHAIN)), "t", *seats)
    try:
        voices.wait_for(voices.on_record("asked"), process)
        process.send_signal(signal.SIGINT)
        assert process.stderr
        while "Ctrl-C again" not in (line := process.stderr.readline()):
            assert line
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "1 call was cut off and may be billed" in err and "rebut resume" in err
    assert [e.kind for e in voices.events()][-1] == "asked", "no attempt, no failure: nobody knows"
    done = voices.cli("resume", voices.folder().name, "--json")
    assert done.returncode == 0, done.stderr
    assert [e.value for e in voices.events("", "answered")] == ["at last", "fine"]
    assert json.loads(done.stdout)["spent"]["in_doubt"] == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_program_that_ends_rebut_does_not_wait_for_a_call_that_hangs(tmp_path: Path, number: signal.Signals) -> None:
    # C14
    seats = script(tmp_path, **{"draft@author": [{"hang": True}, {"text": "at last"}]})
    words = ["run", str(protocol(tmp_path, CHAIN)), "t", *seats]
    quick = "import sys; from rebut.cli import main, runner; runner.DRAIN = 0.3; sys.argv[0] = 'rebut'; main()"
    process = subprocess.Popen([sys.executable, "-c", quick, *words], stderr=subprocess.PIPE, text=True)
    try:
        voices.wait_for(voices.on_record("asked"), process)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert "up to 0 s" in err and "rebut resume" in err


def test_a_drain_keeps_the_answers_of_a_parallel_step(tmp_path: Path) -> None:
    # C14
    path = protocol(
        tmp_path,
        """
both = [Ask(debate.seat(s), "?") for s in ("author", "critic")]
got = await debate.ask_all("both", both, need=2)
await debate.ask(debate.seat("author"), "then", "Then?")
return done()
""",
    )
    control = rebut.Control()

    async def say(request: rebut.Request) -> str:
        control.drain()
        await asyncio.sleep(0)
        return f"of {request.participant.seat}"

    voice = Voice(say)
    with pytest.raises(errors.Interrupted):
        rebut.run(path, "t", backends={"fake": voice}, workspace=tmp_path, control=control, **SEATS)
    kept = [e.value for e in voices.events("", "answered")]
    # The second may not have been started when the first one drained the debate; what was started is kept.
    assert kept == [f"of {r.participant.seat}" for r in voice.asked] and kept
    assert "then@author" not in voice.keys
    again = Voice()
    asyncio.run(rebut.resume(voices.folder().name, backends={"fake": again}))
    assert set(again.keys) | set(voice.keys) == {"both@author", "both@critic", "then@author"}
    assert not set(again.keys) & set(voice.keys)


def test_a_drain_asks_for_no_repair_and_resume_takes_the_reply_up_where_it_stood(tmp_path: Path) -> None:
    # C14, C3
    path = protocol(
        tmp_path,
        """
class Opinion(Form):
    text: str

seats = {"author": 1, "critic": 1}

async def run(debate):
    a = await debate.ask(debate.seat("author"), "draft", "Write.", schema=Opinion)
    return done(said=a.value.text)
""",
    )
    control = rebut.Control()

    def prose(request: rebut.Request) -> str:
        control.drain()
        return "prose"

    with pytest.raises(errors.Interrupted):
        rebut.run(path, "t", backends={"fake": Voice(prose)}, workspace=tmp_path, control=control, **SEATS)
    assert [e.kind for e in voices.events("", "asked", "attempt", "answered", "failed")] == ["asked", "attempt"]
    voice = Voice('{"text": "mended"}')
    assert asyncio.run(rebut.resume(voices.folder().name, backends={"fake": voice})).data == {"said": "mended"}
    assert [(r.attempt, "no JSON object" in r.followup) for r in voice.asked] == [(2, True)]


# the deadline


@pytest.mark.long
def test_a_deadline_gives_the_best_typed_result_so_far_and_the_debate_can_go_on(
    tmp_path: Path, workspace: Path
) -> None:
    # C17, C14
    hanging = {"r2/defense@proposer": [{"hang": True}, duels.defense(2)]}
    seats = duels.seats(tmp_path, hanging)
    flags = [word for role, spec in seats.items() for word in (f"--{role}", spec)]
    got = voices.cli("duel", "Redis?", *flags, "--deadline", "12", "--json")
    assert got.returncode == 5, got.stderr
    result = json.loads(got.stdout)
    assert (result["kind"], result["complete"], result["conclusive"]) == ("partial", False, False)
    assert result["basis"] == "round 1" and result["verdict"] is None and result["exit"] == 5
    assert "NO VERDICT YET, 1 OF 2 ROUNDS" in result["heading"]
    assert result["decision"] == "Use Redis for user sessions."
    assert "deadline of 12 s" in result["stopped"]
    state = json.loads((voices.folder() / "debate/last-debate.json").read_text())
    assert state["status"] == "aborted" and [e["role"] for e in state["exchanges"]] == [
        "proposer",
        "challenger",
    ]  # D6
    [failure] = voices.events("", "failed")
    assert (failure.key, failure.failure, failure.reopened) == ("r2/defense@proposer", "timeout", True)
    [late] = [e for e in voices.events("", "attempt") if e.outcome != "ok"]
    assert (late.key, late.outcome) == ("r2/defense@proposer", "timeout")
    assert voices.record().in_doubt == [] and voices.record().closed is None
    done = voices.cli("resume", voices.folder().name, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["heading"] == "VERDICT"
    assert [e.attempt for e in voices.events("", "asked") if e.key == "r2/defense@proposer"] == [1, 2]


def test_a_protocol_without_a_partial_result_gets_one_that_says_how_much_is_on_record(tmp_path: Path) -> None:
    # C17
    control = rebut.Control()

    async def hang(request: rebut.Request) -> str:
        if request.key == "judge@critic":
            control.expire()
            await asyncio.Event().wait()
        return "yes"

    outcome = rebut.run(
        protocol(tmp_path, CHAIN),
        "t",
        backends={"fake": Voice(hang)},
        workspace=tmp_path,
        control=control,
        **SEATS,
    )
    assert (outcome.heading, outcome.complete, outcome.exit_code) == ("PARTIAL", False, 5)
    assert outcome.decision == "1 answer is on record, no decision yet." and outcome.basis == "1 answer"
    voice = Voice("now")
    assert asyncio.run(rebut.resume(outcome.session, backends={"fake": voice})).data["said"] == ["yes", "now"]


def test_a_deadline_that_passed_between_two_calls_starts_nothing_new(tmp_path: Path) -> None:
    # C17
    control = rebut.Control(deadline=5)

    def say(request: rebut.Request) -> str:
        control._ends = 0.0  # the clock strikes
        return "just in time"

    voice = Voice(say)
    outcome = rebut.run(
        protocol(tmp_path, CHAIN), "t", backends={"fake": voice}, workspace=tmp_path, control=control, **SEATS
    )
    assert voice.keys == ["draft@author"] and not outcome.complete
    assert [e.value for e in voices.events("", "answered")] == ["just in time"]
    assert [e.kind for e in voices.events("", "asked")] == ["asked"]


# people


def test_waiting_for_a_person_is_neither_a_failure_nor_in_doubt(tmp_path: Path) -> None:
    # C14, C17
    seats = script(tmp_path, **{"judge@critic": {"text": "fine"}, "draft@author": {"text": "mine"}})
    seats[3] = "critic=human"
    got = voices.cli("run", str(protocol(tmp_path, CHAIN)), "t", *seats)
    assert got.returncode == 4, got.stderr
    assert "it is the critic's turn" in got.stderr and "rebut resume" in got.stderr
    assert "no call was cut off" in got.stderr
    assert [e.kind for e in voices.events("", "asked", "attempt", "answered", "failed")] == [
        "asked",
        "attempt",
        "answered",
    ]
    assert voices.record().in_doubt == []
    again = voices.cli("resume", voices.folder().name, "--json")
    assert again.returncode == 4 and json.loads(again.stdout)["resume"] == f"rebut resume {voices.folder().name}"


def test_siblings_of_a_missing_person_are_asked_and_kept(tmp_path: Path) -> None:
    # C14
    path = protocol(
        tmp_path,
        """
got = await debate.ask_all("both", [Ask(debate.seat(s), "?") for s in ("author", "critic")], need=2)
return done()
""",
    )
    seats = script(tmp_path, **{"both@critic": {"text": "here", "delay": 0.2}})
    seats[1] = "author=human"
    assert voices.cli("run", str(path), "t", *seats).returncode == 4
    assert [(e.key, e.value) for e in voices.events("", "answered")] == [("both@critic", "here")]
    assert voices.record().in_doubt == []
