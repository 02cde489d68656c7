"""A protocol file that changed since its session was recorded: rebut says so and asks, before it runs the file."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path

import forkserver
import hosts
import pytest
from console import REBUT, Once, at_a_terminal, piped

from rebut.core.text import encoded
from rebut.record import sessions
from rebut.record.journal import digest

BODY = '''"""Two questions."""

from rebut import Outcome

seats = {"author": 1, "critic": 1}


async def run(debate):
    first = await debate.ask(debate.seat("author"), "first", "Why?")
    second = await debate.ask(debate.seat("critic"), "second", "Why not?")
    return Outcome("done", "DONE", f"{first.value} {second.value}")
'''
PLANTED = 'from pathlib import Path\n\nPath("run.txt").write_text("the changed file was run")\n'


@pytest.fixture
def folder(workspace: Path) -> Path:
    """A session that can be resumed: the second seat failed."""
    (workspace / "two.py").write_text(BODY)
    words = list[str]()
    for seat, answers in (("author", {"first@author": {"text": "a"}}), ("critic", {"second@critic": {"fail": "auth"}})):
        (workspace / f"{seat}.json").write_text(json.dumps({"model": seat, "family": seat, "answers": answers}))
        words += ["--seat", f"{seat}=scripted:{workspace / seat}.json"]
    assert piped("run", "two.py", "Tea?", *words, cwd=workspace).returncode == 3
    script = {"model": "critic", "family": "critic", "answers": {"second@critic": {"text": "b"}}}
    (workspace / "critic.json").write_text(json.dumps(script))
    return workspace


def change(folder: Path) -> None:
    (folder / "two.py").write_text(BODY.replace("from rebut", f"{PLANTED}from rebut", 1))


def was_run(folder: Path) -> bool:
    return (folder / "run.txt").exists()


COMMANDS = (["resume", "last"], ["replay", "last"], ["fork", "last", "--topic", "Coffee?"])
COMMANDS += (["fork", "last", "--topic", "Coffee?", "--dry-run"],)
commands = pytest.mark.parametrize("words", COMMANDS, ids=" ".join)


def ended(folder: Path, words: list[str]) -> None:
    """A replay needs a session with an outcome."""
    if words[0] == "replay":
        assert piped("resume", "last", cwd=folder).returncode == 0


@commands
def test_an_unchanged_file_is_run_without_a_word(folder: Path, words: list[str]) -> None:  # C7 C13
    ended(folder, words)
    done = piped(*words, cwd=folder)
    assert done.returncode == 0 and "changed since" not in done.stdout + done.stderr, done.stderr


@commands
def test_without_a_terminal_a_changed_file_is_refused_and_not_even_loaded(
    folder: Path, words: list[str]
) -> None:  # C7 C13
    ended(folder, words)
    change(folder)
    done = piped(*words, cwd=folder)
    said = " ".join(done.stderr.split())
    assert done.returncode == 2 and "two.py changed since session" in said and "--yes" in said
    assert not was_run(folder)


@commands
def test_with_yes_it_is_run_and_the_change_is_still_told(folder: Path, words: list[str]) -> None:  # C7 C13
    ended(folder, words)
    change(folder)
    done = piped(*words, "--yes", cwd=folder)
    assert done.returncode == 0 and "two.py changed since session" in " ".join(done.stderr.split()), done.stderr
    assert was_run(folder)


@pytest.mark.parametrize(("key", "code"), [(b"y\n", 0), (b"n\n", 2), (b"\n", 2)])
def test_at_a_terminal_it_is_asked_for(folder: Path, key: bytes, code: int) -> None:  # C7 C13
    change(folder)
    seen = at_a_terminal("resume", "last", cwd=folder, keys=Once("Run the file as it is now?", key))
    assert seen.code == code, seen.text
    assert "changed since session" in " ".join(seen.text.split())
    assert was_run(folder) is (code == 0)


def test_what_was_confirmed_is_not_asked_for_again(folder: Path) -> None:  # C13
    assert piped("resume", "last", cwd=folder).returncode == 0
    change(folder)
    assert piped("fork", "last", "--topic", "Coffee?", "--yes", cwd=folder).returncode == 0
    assert "changed since" not in piped("replay", "last", cwd=folder).stderr


def test_a_session_that_has_ended_is_shown_without_its_file(folder: Path) -> None:  # C13
    assert piped("resume", "last", cwd=folder).returncode == 0
    change(folder)
    for words in (["show", "last"], ["list"], ["export", "last"], ["verify", "last"]):
        assert piped(*words, cwd=folder).returncode == 0, words
    assert piped("resume", "last", cwd=folder).returncode == 2
    assert not was_run(folder)


@commands
def test_a_named_pipe_in_its_place_is_an_error_and_never_waited_for(words: list[str], folder: Path) -> None:  # C3
    (folder / "two.py").unlink()
    os.mkfifo(folder / "two.py")
    done = forkserver.run(
        [REBUT, *words, "--yes"], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60
    )
    assert done.returncode in (2, 3) and "two.py" in done.stdout + done.stderr, done.stderr


def test_an_agent_host_cannot_run_a_changed_file(folder: Path) -> None:  # C7 C13
    session = sessions.sessions(sessions.home())[0].id
    change(folder)
    assert f"two.py changed since session {session}" in hosts.refusal(folder, "debate", resume=session)
    assert not was_run(folder)


def shortened(folder: Path) -> None:
    """Make the digest on record 32 bits long, as earlier versions wrote it, in a chain that fits."""
    file = sessions.sessions(sessions.home())[0].folder / "journal.jsonl"
    whole = hashlib.sha256((folder / "two.py").read_bytes()).hexdigest()[:32]
    assert f"+{whole}" in file.read_text(), "it has 128 bits now"
    lines, before = list[bytes](), ""
    for raw in file.read_text().replace(f"+{whole}", f"+{whole[:8]}").splitlines():
        row = {**json.loads(raw), "prev": before}
        lines.append(encoded(row))
        before = digest(lines[-1])
    file.write_bytes(b"\n".join(lines) + b"\n")


def test_a_digest_as_short_as_earlier_versions_recorded_it_still_tells_a_change(folder: Path) -> None:  # C3 C13
    shortened(folder)
    change(folder)
    assert piped("resume", "last", cwd=folder).returncode == 2 and not was_run(folder)
    (folder / "two.py").write_text(BODY)
    done = piped("resume", "last", cwd=folder)
    assert done.returncode == 0 and "changed since" not in done.stdout + done.stderr, done.stderr


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_batch_continues_no_debate_with_a_changed_file_unless_it_is_told_to(
    folder: Path, processes: str
) -> None:  # C7 C13
    seats = {seat: f"scripted:{folder / seat}.json" for seat in ("author", "critic")}
    lines = [{"id": topic, "protocol": "two.py", "topic": topic, "seats": seats} for topic in ("Tea?", "Coffee?")]
    (folder / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    good = (folder / "critic.json").read_text()
    (folder / "critic.json").write_text(good.replace('{"text": "b"}', '{"fail": "auth"}'))
    words = ["batch", "in.jsonl", "--out", "out.jsonl", "--processes", processes]
    assert piped(*words, cwd=folder).returncode == 3
    (folder / "critic.json").write_text(good)
    change(folder)
    done = piped(*words, cwd=folder)
    said = " ".join(done.stderr.split())
    assert done.returncode == 2 and "two.py changed since session" in said and "--yes" in said, said
    assert not was_run(folder), "it is not even loaded"
    done = piped(*words, "--yes", cwd=folder)
    assert done.returncode == 0 and done.stderr.count("changed since session") == 1 and was_run(folder), done.stderr
