"""Whoever compares: the same debate several times, and temperature and seed where a wire has them."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import duels
import pytest
import wires
from console import at_a_terminal, piped
from loopback import Loopback

import rebut
from rebut.backends.embedded.backend import Window
from rebut.core.errors import UsageError
from rebut.core.types import Participant, Sampling
from rebut.engine.plan import participants
from rebut.record import sessions


def words(folder: Path, *more: str, **said: Any) -> list[str]:
    seats = duels.seats(folder, said or None)
    return ["duel", "Redis or not?", *(w for role, spec in seats.items() for w in (f"--{role}", spec)), *more]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_each_run_is_a_session_and_a_line_and_the_ends_are_counted(workspace: Path, tmp_path: Path) -> None:  # C14
    out = tmp_path / "runs.jsonl"
    done = piped(*words(tmp_path, "--repeat", "3", "--seed", "7", "--temperature", "0.5", "--out", str(out)))
    assert done.returncode == 0, done.stderr
    rows = lines(out)
    assert [(row["run"], row["of"], row["seed"], row["temperature"]) for row in rows] == [
        (1, 3, 7, 0.5),
        (2, 3, 8, 0.5),
        (3, 3, 9, 0.5),
    ]
    assert {row["verdict"]["winner"] for row in rows} == {"challenger"}
    assert {row["session"] for row in rows} == {one.id for one in sessions.sessions(sessions.home())}
    assert "3 runs" in done.stdout and "3   VERDICT: challenger" in done.stdout
    assert "run 2 of 3" in done.stderr


def test_lines_go_to_standard_output_and_all_else_beside_it(workspace: Path, tmp_path: Path) -> None:  # C14
    done = piped(*words(tmp_path, "--repeat", "2", "--json"))
    assert [json.loads(line)["run"] for line in done.stdout.splitlines()] == [1, 2]
    assert "2 runs" in done.stderr


def test_a_run_that_fails_is_a_line_too_and_the_worst_code_is_the_code(workspace: Path, tmp_path: Path) -> None:  # C5
    out = tmp_path / "runs.jsonl"
    given = words(tmp_path, "--repeat", "2", "--out", str(out), "--json", **{"r1/opening@proposer": {"fail": "auth"}})
    done = piped(*given)
    assert done.returncode == 3
    assert [row["exit"] for row in lines(out)] == [3, 3] and "auth" in lines(out)[0]["error"]
    assert json.loads(done.stdout)["ended"] == {"no outcome: Aborted": 2}


def test_a_file_that_is_there_is_not_written_over_and_wrong_usage_leaves_none(workspace: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs.jsonl"
    out.write_text("measured last year\n")
    done = piped(*words(tmp_path, "--repeat", "2", "--out", str(out)))
    assert done.returncode == 2 and "already exists" in done.stderr
    assert out.read_text() == "measured last year\n"
    for more, complaint in (
        (["--repeat", "0"], "--repeat must be 1 to 1000"),
        (["--out", "x.jsonl"], "--out needs --repeat"),
        (["--repeat", "2", "--rounds", "9", "--out", str(tmp_path / "new.jsonl")], "rounds must be 1 to 5"),
        (["--temperature", "3"], "temperature must be 0 to 2"),
        (["--seed", "-1"], "seed must be a whole number"),
    ):
        done = piped(*words(tmp_path, *more))
        assert done.returncode == 2 and complaint in done.stderr
    assert not (tmp_path / "new.jsonl").exists() and not sessions.sessions(sessions.home())


def test_ctrl_c_ends_all_runs_and_what_was_done_is_kept(workspace: Path, tmp_path: Path) -> None:  # C14
    seats = duels.seats(tmp_path, delay=0.05)
    given = ["duel", "Redis or not?", *(w for role, spec in seats.items() for w in (f"--{role}", spec))]
    out = tmp_path / "runs.jsonl"
    pressed = []

    def keys(seen: str) -> bytes:
        if pressed or "run 2 of 50" not in seen or "opening" not in seen.partition("run 2 of 50")[2]:
            return b""
        pressed.append(True)
        return b"\x03"

    seen = at_a_terminal(*given, "--repeat", "50", "--out", str(out), keys=keys)
    assert seen.code == 130 and "2 runs of 50" in seen.text
    assert [row["exit"] for row in lines(out)] == [0, 130]


def test_a_dry_run_counts_every_repetition(workspace: Path, tmp_path: Path) -> None:  # C16
    once = json.loads(piped(*words(tmp_path, "--dry-run", "--json")).stdout)["providers"]["scripted"]["calls"]
    many = json.loads(piped(*words(tmp_path, "--dry-run", "--json", "--repeat", "4")).stdout)
    assert many["providers"]["scripted"]["calls"] == 4 * once


def test_a_protocol_of_ones_own_is_repeated_too(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(
        '"""One question."""\nfrom rebut import Outcome\n\nseats = {"speaker": 1}\n\n\nasync def run(debate):\n'
        '    said = await debate.ask(debate.seat("speaker"), "word", "Speak.")\n'
        '    return Outcome("said", "SAID", said.value)\n'
    )
    spec = duels.script(tmp_path / "s.json", {"word@speaker": {"text": "so be it"}})
    done = piped("run", str(tmp_path / "one.py"), "x", "--seat", f"speaker={spec}", "--repeat", "2", cwd=tmp_path)
    assert [json.loads(line)["decision"] for line in done.stdout.splitlines()] == ["so be it"] * 2, done.stderr


# temperature and seed


def drawn(**more: Any) -> Any:
    asked = wires.request(**more)
    return replace(asked, participant=replace(asked.participant, sampling=Sampling(0.25, 42)))


def test_a_question_that_is_asked_again_has_another_seed() -> None:  # C20
    """With the same seed, a model might give the same reply to the same complaint."""
    for kind in ("openai", "google"):
        with Loopback(wires.ANSWERS) as server:
            wires.ask(kind, server, drawn())
            wires.ask(kind, server, replace(drawn(), attempt=2))
        assert [body.get("generationConfig", body)["seed"] for body in server.bodies] == [42, 43]


@pytest.mark.parametrize(
    ("kind", "has"),
    [
        ("openai", {"temperature": 0.25, "seed": 42}),
        ("google", {"temperature": 0.25, "seed": 42}),
        ("anthropic", {"temperature": 0.25}),
        ("responses", {"temperature": 0.25}),
    ],
)
def test_a_wire_sends_what_it_has_and_says_once_what_it_has_not(kind: str, has: dict[str, Any]) -> None:  # C1
    with Loopback(wires.ANSWERS) as server:
        first, second = wires.ask_twice(kind, server, drawn())
        plain = wires.ask(kind, server)
    for body in server.bodies[:2]:
        config = body.get("generationConfig", body)
        assert {name: config[name] for name in ("temperature", "seed") if name in config} == has
    assert "temperature" not in json.dumps(server.bodies[2]) and plain.notes == ()
    lacking = [name for name in ("temperature", "seed") if name not in has]
    assert list(first.notes) == [
        f"they:m-1 does not accept {name} on this wire; continued without it" for name in lacking
    ]
    assert second.notes == ()


@pytest.mark.parametrize("kind", wires.KINDS)
def test_a_model_that_refuses_a_temperature_is_asked_without_it(kind: str) -> None:  # C1
    field = "generationConfig.temperature" if kind == "google" else "temperature"
    with Loopback(wires.ANSWERS, refuse={field: "temperature is not supported with this model"}) as server:
        first, second = wires.ask_twice(kind, server, drawn())
    assert len([note for note in first.notes if "temperature" in note]) == 1 and second.notes == ()
    assert ["temperature" in json.dumps(body) for body in server.bodies] == [True, False, False]


def test_a_tool_says_once_that_it_has_neither(tmp_path: Path) -> None:  # C1
    from rebut.backends.cli_tools.backend import Command
    from rebut.setup.config import load_config

    tool = tmp_path / "bin/teller"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\ncat >/dev/null\necho \'{"answer": "yes"}\'\n')
    tool.chmod(0o755)
    (tmp_path / "c.toml").write_text('[tools.teller]\noutput = { form = "json", text = { take = "answer" } }\n')
    env = {"PATH": f"{tool.parent}:/usr/bin:/bin", "HOME": str(tmp_path)}
    table = load_config(workspace=tmp_path, env=env, user_file=tmp_path / "c.toml").tools["teller"]

    async def twice() -> list[Any]:
        command = Command(table, model="", effort="", env=env)
        return [await command.complete(drawn()) for _ in range(2)]

    first, second = asyncio.run(twice())
    assert first.notes == ("teller does not accept temperature and seed; continued without",) and second.notes == ()


def test_the_embedded_model_draws_by_the_seed_and_the_temperature() -> None:  # C1
    from rebut.backends.embedded.llama import ChatTurn, Generated, OnPiece, ignored

    heard: list[ChatTurn] = []

    class Engine:
        def chat(self, turn: ChatTurn, on_piece: OnPiece = ignored) -> Generated:
            heard.append(turn)
            return Generated("yes", 1, 1)

    for asked in (wires.request(), drawn(), drawn()):
        window = Window(Engine(), asked, lambda piece: False)
        window.open(lambda most: "question", 100)
        window.write("", 10)
    assert heard[1].seed == heard[2].seed != heard[0].seed
    assert heard[1].temperature == 0.25 and heard[0].temperature is None


def test_sampling_is_on_record_and_replay_resume_and_fork_hold_to_it(workspace: Path, tmp_path: Path) -> None:  # C3 C13
    seats = duels.seats(tmp_path)
    outcome = rebut.run("duel", "Redis or not?", temperature=0, seed=3, **seats)
    record = sessions.load(sessions.home() / outcome.session)
    assert [p.sampling for p in participants(record)[0]] == [Sampling(0.0, 3)] * 3
    assert asyncio.run(rebut.replay(outcome.session)).decision == outcome.decision
    forked = asyncio.run(rebut.fork(outcome.session, judge=seats["judge"]))
    assert forked.spent.calls == 0, "what was drawn the same way is reused"
    plain = rebut.run("duel", "Redis or not?", **seats)
    assert "temperature" not in json.dumps(sessions.load(sessions.home() / plain.session).opened.seats)


def test_a_seat_without_sampling_has_the_fingerprint_that_it_always_had() -> None:  # C3
    from rebut.core.types import ModelSpec

    seat = Participant("judge", ModelSpec("openai", "m"))
    assert seat.fingerprint == ["judge", "openai:m", ""]
    assert replace(seat, sampling=Sampling(0.0)).fingerprint != seat.fingerprint


def test_a_seed_that_is_out_of_range_is_an_error_before_any_call(workspace: Path, tmp_path: Path) -> None:  # C17
    with pytest.raises(UsageError, match="seed must be"):
        rebut.run("duel", "x?", seed=2**31, **duels.seats(tmp_path))
