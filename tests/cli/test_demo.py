"""`rebut demo`: a shipped debate, its words scripted, all else real."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from pathlib import Path
from typing import Any

from console import Once, at_a_terminal, piped

from rebut import api
from rebut.cli.commands import demo
from rebut.record import sessions
from rebut.setup.connect import scripted


def told(folder: Path) -> dict[str, Any]:
    done = piped("demo", "--json", "--folder", str(folder))
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_it_runs_in_a_pipe_without_git_or_anything_else_on_path() -> None:  # C11 C14
    done = piped("demo", "--fast", env={"PATH": "/nonexistent"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("  VERDICT  challenger\n")
    assert re.search(r"absent +1 +C3 cites infra/redis.tf:6", done.stdout)
    assert re.search(r"unsupported +1 +C4", done.stdout) and "rule" not in done.stdout
    assert "note         scripted: all answers" in done.stderr
    assert re.search(r"^  scripted +the answers came from files", done.stdout, re.M)
    assert str(sessions.home().parent / "demo") in done.stdout.replace("\n                ", "")
    assert "\x1b" not in done.stdout + done.stderr


def test_an_edit_of_the_unpacked_file_changes_marks_and_is_kept(tmp_path: Path) -> None:  # C11
    before = told(tmp_path / "shop")
    assert before["ledger"]["citations"]["absent"] == 1 and before["edited"] == [] and before["scripted"] is True
    file = tmp_path / "shop/infra/redis.tf"
    file.write_text(file.read_text().replace("num_cache_nodes      = 1", "num_cache_nodes      = 2"))
    after = told(tmp_path / "shop")
    assert after["ledger"]["citations"]["absent"] == 2 and after["edited"] == ["infra/redis.tf"]
    assert "= 2" in file.read_text()
    record = sessions.load(sessions.find(sessions.home(), after["session"]))
    outcome = api.Outcome.from_json(record.closed.outcome) if record.closed else None
    assert outcome and {c.id: c.evidence[0].mark for c in outcome.ledger.claims if c.evidence}["C3"] == "found"


def test_it_says_that_it_is_scripted_for_as_long_as_it_moves_at_50_columns(tmp_path: Path) -> None:  # C14
    seen = at_a_terminal("demo", "--fast", "--folder", str(tmp_path / "s"), columns=50)
    assert seen.code == 0
    frames = seen.raw.split("\x1b[?25l")[1:]  # the cursor goes where something begins to move
    assert len(frames) >= 5
    for frame in frames:
        assert "scripted: the answers come from files" in frame.split("\x1b[?25h")[0]
    shown = [line for line in seen.text.split("\n") if str(tmp_path) not in line and "/" not in line]
    assert max(map(len, shown)) <= 50, max(shown, key=len)


def test_ctrl_c_ends_it_cleanly_and_it_can_go_on(tmp_path: Path) -> None:  # C14
    seen = at_a_terminal("demo", "--folder", str(tmp_path / "s"), keys=Once("opening", b"\x03"))
    assert seen.code == 130 and "Traceback" not in seen.raw
    assert "waiting for the proposer to finish" in seen.text
    assert seen.raw.rindex("\x1b[?25h") > seen.raw.rindex("\x1b[?25l"), "the cursor is back"
    [one] = sessions.sessions(sessions.home())
    assert f"rebut resume {one.id[:4]}" in seen.text and "1 answer is recorded, and no call was cut off" in seen.text
    outcome = asyncio.run(api.resume(one.id, backends={"scripted": scripted(tmp_path, pace=0)}))
    assert outcome.heading == "VERDICT" and demo.NOTE in outcome.notes, "still labelled after it went on"


def test_it_says_how_to_see_the_same_files_again(tmp_path: Path) -> None:
    done = piped("demo", "--fast", "--plain", "--folder", str(tmp_path / "a shop"))
    assert f"rebut demo --folder '{tmp_path}/a shop'" in done.stdout


def test_inside_a_repository_it_unpacks_elsewhere(tmp_path: Path, own_home: Path) -> None:
    # citations are looked up from a repository's root, where the shop would not stand
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    done = piped("demo", "--folder", str(tmp_path / "inside"))
    assert done.returncode == 2 and "is inside the repository" in done.stderr and not (tmp_path / "inside").exists()
    home = {"REBUT_HOME": str(tmp_path / "home"), "TMPDIR": str(own_home)}
    shown = json.loads(piped("demo", "--json", env=home).stdout)
    assert shown["folder"].startswith(f"{own_home}/rebut-demo-") and shown["ledger"]["citations"]["absent"] == 1


def test_the_scripts_follow_the_rules_of_the_duel(tmp_path: Path) -> None:  # D3
    shown = told(tmp_path / "shop")
    assert not [note for note in shown["notes"] if not note.startswith("scripted:")], shown["notes"]
    assert len({seat["family"] for seat in shown["seats"]}) == 3


def test_its_session_is_the_last_one_of_the_folder_where_it_ran(tmp_path: Path) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    done = piped("demo", "--fast", "--json", cwd=tmp_path / "here")
    id = json.loads(done.stdout)["session"]
    assert json.loads(piped("show", "last", "--json", cwd=tmp_path / "here").stdout)["id"] == id
    assert id[:4] in piped("list", cwd=tmp_path / "here").stdout
    fork = piped("fork", "last", "--set", "rounds=2", "--quiet", "--json", "--yes", cwd=tmp_path / "here")
    forked = json.loads(fork.stdout)["session"]
    assert json.loads(piped("show", "last", "--json", cwd=tmp_path / "here").stdout)["id"] == forked != id
    assert "no session was started in" in piped("show", "last", cwd=tmp_path / "there").stderr


def test_a_low_screen_ends_with_the_verdict(tmp_path: Path) -> None:
    seen = at_a_terminal("demo", "--fast", "--folder", str(tmp_path / "s"))  # 40 lines
    last = seen.text.rstrip().rpartition("\n\n")[2]
    assert last.startswith("  VERDICT  challenger\n    Put the user id in a signed cookie")
    assert "C3 cites infra/redis.tf:6, but line 6 is: num_cache_nodes = 1." in " ".join(last.split())
    assert piped("demo", "--fast").stdout.count("VERDICT") == 1, "a pipe has all of it already"
