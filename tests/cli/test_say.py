"""A note to a running debate (C21): from its own terminal or from another process, to every seat, and on record."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import duels
import forkserver
import panels
import pytest
import voices
from console import REBUT, piped
from test_hotkeys import at, duel, waiting

from rebut.record import sessions
from rebut.record.record import Record

NOTE = "We cannot add a second node this year."


def started(words: list[str], cwd: Path) -> subprocess.Popen[Any]:
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return forkserver.Popen([REBUT, *words], text=True, cwd=cwd, **pipes)


def when_asked(key: str) -> Record:
    """The record of the only session, once this question is on it."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        for found in sessions.sessions(sessions.home()):
            record = sessions.load(found.folder)
            if key in record.calls:
                return record
        time.sleep(0.05)
    raise AssertionError(f"{key} was never asked")


def having(record: Record, note: str = NOTE) -> list[str]:
    return [key for key, call in record.calls.items() if note in call.asked[1].prompt]


def newest() -> Record:
    return sessions.load(next(iter(sessions.sessions(sessions.home()))).folder)


def test_another_process_says_something_and_both_sides_get_it_in_the_next_round(
    tmp_path: Path, workspace: Path
) -> None:  # C21
    running = started(duel(tmp_path, waiting(duels.answers(2), "r1/opening@proposer", 3), rounds=2), workspace)
    id = when_asked("r1/opening@proposer").opened.id
    done = piped("say", id[:5], NOTE, cwd=workspace)
    assert (done.returncode, done.stdout) == (0, "  on record; every seat gets it from the next round on\n"), (
        done.stderr
    )
    assert running.wait(60) == 0
    _, told = running.communicate()
    record = newest()
    assert having(record) == ["r2/defense@proposer", "r2/follow-up@challenger", "verdict@judge"]
    prompt = record.calls["r2/defense@proposer"].asked[1].prompt
    assert "«begin note 1 of the user " in prompt and f"»\n{NOTE}\n«end note 1 of the user " in prompt
    assert f"note to every seat, from the next round on: {NOTE}" in " ".join(told.split())
    assert piped("replay", id, cwd=workspace).returncode == 0, "the same questions"
    assert piped("verify", id, cwd=workspace).returncode == 0
    shown = piped("show", id, "--no-pager", cwd=workspace).stdout
    assert shown.index("note of the user to every seat") > shown.index("ROUND 2")
    assert f"### Note of the user to every seat\n\n{NOTE}\n" in piped("export", id, cwd=workspace).stdout
    fork = json.loads(piped("fork", id, "--dry-run", "--json", "--max-calls", "30", cwd=workspace).stdout)
    assert (fork["reused"], fork["anew"]) == (5, 0), "a fork has the note, too"


def test_a_closed_session_takes_no_note(tmp_path: Path, workspace: Path) -> None:  # C21
    assert piped(*duel(tmp_path, duels.answers(1), rounds=1), cwd=workspace).returncode == 0
    id, before = newest().opened.id, len(newest().lines)
    done = piped("say", "last", NOTE, cwd=workspace)
    assert done.returncode == 2
    assert f"rebut: session {id[:4]} is closed: no seat would get the note" in done.stderr
    assert len(newest().lines) == before
    told = json.loads(piped("say", "last", NOTE, "--json", cwd=workspace).stdout)
    assert told["exit"] == 2 and "is closed" in told["error"]


@pytest.mark.parametrize(("note", "why"), [("  ", "the note is empty"), ("x" * 4001, "at most 4,000 are taken")])
def test_a_note_that_cannot_be_taken_is_refused(tmp_path: Path, workspace: Path, note: str, why: str) -> None:  # C21
    said = duels.answers(2) | {"r2/defense@proposer": {"fail": "auth"}, "verdict@judge": {"fail": "auth"}}
    assert piped(*duel(tmp_path, said, rounds=2), cwd=workspace).returncode == 3
    done = piped("say", "last", note, cwd=workspace)
    assert done.returncode == 2 and why in done.stderr


def test_a_debate_that_is_not_running_gets_the_note_when_it_is_resumed(tmp_path: Path, workspace: Path) -> None:
    # C21 C3 C8: the secret is never on disk
    said = duels.answers(2) | {"r1/opening@proposer": [{"fail": "auth"}, duels.opening()]}
    assert piped(*duel(tmp_path, said, rounds=2), cwd=workspace).returncode == 3
    folder = next(iter(sessions.sessions(sessions.home()))).folder
    token = "ghp_" + "a1B2" * 9
    done = piped("say", "last", f"{NOTE} The token is {token}.", cwd=workspace)
    assert done.returncode == 0 and "not running; it gets the note with   rebut resume" in done.stdout
    left = [path.read_text() for path in (folder / "inbox").iterdir()]
    assert len(left) == 1 and NOTE in left[0] and token not in left[0]
    resumed = piped("resume", "last", cwd=workspace)
    assert resumed.returncode == 0, resumed.stderr
    record = newest()
    heard = ["r2/defense@proposer", "r2/follow-up@challenger", "verdict@judge"]
    assert having(record) == heard, "a question that was asked before is asked again in the same words"
    assert token not in (folder / "journal.jsonl").read_text() and not list((folder / "inbox").iterdir())
    assert piped("replay", "last", cwd=workspace).returncode == 0


def test_a_note_that_comes_after_the_last_question_reached_no_seat_and_is_called_that(
    tmp_path: Path, workspace: Path
) -> None:  # C21
    running = started(duel(tmp_path, waiting(duels.answers(1), "verdict@judge", 3), rounds=1), workspace)
    id = when_asked("verdict@judge").opened.id
    assert piped("say", id, NOTE, cwd=workspace).returncode == 0
    out, _ = running.communicate(timeout=60)
    assert " ".join(f"the user's note came too late for every seat: {NOTE}".split()) in " ".join(out.split())
    assert having(newest()) == []
    assert "note of the user, too late for every seat" in piped("show", id, "--no-pager", cwd=workspace).stdout


def test_all_of_a_panel_and_a_protocol_of_ones_own_get_it(tmp_path: Path, workspace: Path) -> None:  # C21
    said = waiting(panels.tradeoff(2), "opening/position@lead", 3)
    seats = panels.seats(tmp_path / "seats", said)
    words = ["panel", "Redis?", "--lead", seats["lead"], "--judge", seats["judge"], "--max-rounds", "2"]
    words += [word for spec in seats["challenger"] for word in ("--challenger", spec)]
    running = started(words, workspace)
    id = when_asked("opening/position@lead").opened.id
    assert piped("say", id, NOTE, cwd=workspace).returncode == 0
    running.communicate(timeout=60)
    heard = having(newest())
    assert {f"r1/challenge@challenger.{n}" for n in (1, 2, 3)} <= set(heard)
    assert not any(key.startswith("opening/") for key in heard)

    body = """first = await debate.ask(debate.seat("author"), "first", "Say one thing.")
await debate.ask(debate.seat("critic"), "second", "Say another.")
return done()"""
    script = tmp_path / "own.json"
    script.write_text(
        json.dumps({"answers": {"first@author": {"text": "a", "delay": 3}, "second@critic": {"text": "b"}}})
    )
    own = [word for seat in ("author", "critic") for word in ("--seat", f"{seat}=scripted:{script}")]
    running = started(["run", str(voices.protocol(tmp_path, body)), "Tea?", *own, "--allow-same-model"], workspace)
    id = when_asked("first@author").opened.id
    assert piped("say", id, NOTE, cwd=workspace).returncode == 0
    running.communicate(timeout=60)
    assert having(newest()) == ["second@critic"]


def test_n_takes_a_note_at_the_terminal(tmp_path: Path, workspace: Path) -> None:  # C21 C14
    with at(duel(tmp_path, waiting(duels.answers(2), "r1/opening@proposer", 6), rounds=2), workspace) as terminal:
        terminal.expect("n note to every seat")
        terminal.type("n")
        terminal.expect("Enter sends it, Esc drops it")
        terminal.type("forgotten")
        terminal.expect("note to every seat: forgotten_")
        terminal.type("\x1b")
        terminal.expect("n note to every seat")
        terminal.type("n")
        terminal.expect("note to every seat: _")
        terminal.type("no naïve settling, pleasx")
        terminal.expect("pleasx_")
        terminal.type("\x7fe\r")
        terminal.expect("note to every seat, from the next round on: no naïve settling, please")
        assert terminal.end() == 0
    assert having(newest(), "no naïve settling, please") == [
        "r2/defense@proposer",
        "r2/follow-up@challenger",
        "verdict@judge",
    ]
    assert not having(newest(), "forgotten"), "and no letter of a note was taken for a key"
    assert "settle" not in newest().facts
