"""Files that no program should trip over: a clear error with code 2 where one is the user's, and never a traceback."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import duels
import pytest
from console import REBUT, piped
from repositories import commit, new

from rebut.record import sessions

DEEP = "[" * 20_000 + "]" * 20_000
DIGITS = "9" * 6_000


def text(content: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(content) and None


def pipe(path: Path) -> None:
    os.mkfifo(path)


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


SPECIAL = {"pipe": pipe, "loop": loop, "device": device, "folder": Path.mkdir}
TOML = {
    "deep": text(f"x = {DEEP}\n"),
    "tables": text("x = " + "{a=" * 5_000 + "1" + "}" * 5_000),
    "digits": text(f"[limits]\nmax_calls = {DIGITS}\n"),
}
JSON = {
    "deep": text(f"{DEEP}\n"),
    "objects": text('{"a":' * 50_000 + "1" + "}" * 50_000 + "\n"),
    "digits": text(f'{{"id": {DIGITS}}}\n'),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    top = new(tmp_path / "repo", {"PLAN.md": 'See a.py:1 "x = 1".\n', "a.py": "x = 1\n"})
    commit(top, "base")
    (top / "a.py").write_text("import os\nx = 1\n")
    return top


def refused(folder: Path, *words: str, **env: str) -> str:
    done = piped(*words, cwd=folder, env=env)
    assert done.returncode == 2, f"{done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}"
    assert done.stderr.startswith("rebut: ") and "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.parametrize("odd", {**TOML, **SPECIAL})
def test_an_odd_config_of_a_repository_is_an_error_with_its_name(folder: Path, odd: str) -> None:  # C16 C17
    {**TOML, **SPECIAL}[odd](folder / "rebut.toml")
    assert "rebut.toml" in refused(folder, "review", "--with", "lint:ruff,rules")


@pytest.mark.parametrize("odd", TOML)
def test_an_odd_policy_in_the_base_commit_is_an_error_with_its_name(folder: Path, odd: str) -> None:  # C16 C17
    TOML[odd](folder / "rebut.toml")
    commit(folder, "odd")
    (folder / "rebut.toml").write_text("")
    (folder / "a.py").write_text("import sys\n")
    assert "rebut.toml at commit" in refused(folder, "review", "--with", "lint:ruff,rules")


@pytest.mark.parametrize("odd", {**TOML, **SPECIAL})
def test_an_odd_config_of_the_user_is_an_error_with_its_name(folder: Path, tmp_path: Path, odd: str) -> None:  # C17
    {**TOML, **SPECIAL}[odd](tmp_path / "own.toml")
    assert "own.toml" in refused(folder, "models", REBUT_CONFIG=str(tmp_path / "own.toml"))


@pytest.mark.parametrize("odd", JSON)
def test_odd_dismissals_are_an_error_with_file_and_line(folder: Path, odd: str) -> None:  # C17
    (folder / ".rebut").mkdir()
    JSON[odd](folder / ".rebut/dismissals.jsonl")
    assert "dismissals.jsonl" in refused(folder, "dismiss", "--list")


@pytest.mark.parametrize("odd", {**JSON, "pipe": pipe, "loop": loop, "device": device})
def test_an_odd_script_is_an_error_with_its_name(folder: Path, odd: str) -> None:  # C17
    {**JSON, **SPECIAL}[odd](folder / "said.json")
    words = ("--proposer", "scripted:said.json", "--challenger", "human", "--dry-run")
    assert "said.json" in refused(folder, "duel", "x", *words)


@pytest.mark.parametrize("odd", ["loop", "device", "folder"])
def test_an_odd_text_to_check_is_an_error_with_its_name(folder: Path, odd: str) -> None:  # C11 C17
    SPECIAL[odd](folder / "odd.md")
    assert "odd.md" in refused(folder, "check", "odd.md")


def test_a_pipe_without_a_writer_is_an_empty_text(folder: Path) -> None:  # C11
    pipe(folder / "odd.md")
    done = piped("check", "odd.md", cwd=folder)
    assert done.returncode == 0 and "0 citations" in done.stdout


@pytest.mark.parametrize("odd", {**JSON, **SPECIAL})
def test_an_odd_journal_breaks_no_other_session(workspace: Path, tmp_path: Path, odd: str) -> None:  # C13 C17
    words = [word for role, spec in duels.seats(tmp_path).items() for word in (f"--{role}", spec)]
    assert piped("duel", "Redis or not?", *words, cwd=workspace).returncode == 0
    (real,) = sessions.home().iterdir()
    (sessions.home() / "abcdefgh").mkdir()
    {**JSON, **SPECIAL}[odd](sessions.home() / "abcdefgh/journal.jsonl")
    for command in (["list"], ["show", "last"]):
        done = piped(*command, cwd=workspace)
        assert done.returncode == 0 and "Redis or not?" in done.stdout, done.stderr
        assert real.name[:4] in done.stdout
    for command in ("show", "export", "verify", "resume"):
        done = piped(command, "abcdefgh", cwd=workspace)
        assert done.returncode in (2, 3) and "Traceback" not in done.stderr, (command, done.stderr)


def test_many_folders_in_place_of_journals_hide_no_session(workspace: Path, tmp_path: Path) -> None:  # C13 C17
    words = [word for role, spec in duels.seats(tmp_path).items() for word in (f"--{role}", spec)]
    assert piped("duel", "Redis or not?", *words, cwd=workspace).returncode == 0
    for n in range(500):
        (sessions.home() / f"odd{n}" / "journal.jsonl").mkdir(parents=True)
    few = f"ulimit -n 64 && exec {REBUT} list"  # a descriptor that stays open after each of them would be missing soon
    done = subprocess.run(["sh", "-c", few], cwd=workspace, capture_output=True, text=True, check=True)
    assert "Redis or not?" in done.stdout, done.stderr


@pytest.mark.parametrize("odd", JSON)
def test_odd_files_of_a_batch_are_an_error_with_their_names(folder: Path, odd: str) -> None:  # C17
    JSON[odd](folder / "each.json")
    assert "each.json" in refused(folder, "batch", "each.json", "--each", "echo a", "--out", "out.jsonl")
    (folder / "in.jsonl").write_text('{"id": "q", "protocol": "duel", "topic": "Tea?"}\n')
    for name in ("out.jsonl", "out.jsonl.journal"):
        for file in ("out.jsonl", "out.jsonl.journal"):
            (folder / file).write_text("")
        JSON[odd](folder / name)
        assert name in refused(folder, "batch", "in.jsonl", "--out", "out.jsonl")
        assert name in refused(folder, "batch", "status", "out.jsonl")
