"""What the user names for a result is not written through a link that a repository contains."""

from __future__ import annotations

import os
from pathlib import Path

import crosses
import duels
import pytest
from console import piped
from repositories import commit, new

from rebut.record import sessions


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A repository with a linked folder and a linked file, which lead outside."""
    (tmp_path / "outside").mkdir()
    folder = commit_of(tmp_path / "work")
    (folder / "linked").symlink_to(tmp_path / "outside")
    (folder / "linked.file").symlink_to(tmp_path / "outside/made")
    (folder / ".claude").symlink_to(tmp_path / "outside")
    return folder


def commit_of(folder: Path) -> Path:
    new(folder, {"api/orders.py": crosses.BEFORE})
    commit(folder)
    (folder / "api/orders.py").write_text(crosses.AFTER)
    return folder


def seats(folder: Path) -> list[str]:
    said = {"r1/critique@critic": crosses.critique()}
    return [word for role, spec in crosses.seats(folder, said).items() for word in (f"--{role}", spec)]


@pytest.mark.parametrize("out", ["linked/made", "linked.file", "api/../linked/made"])
@pytest.mark.parametrize("what", ["sarif", "batch", "repeat", "trial", "new", "skill"])
def test_no_result_is_written_through_a_link(what: str, out: str, place: Path, tmp_path: Path) -> None:  # C16
    (tmp_path / "lines.jsonl").write_text('{"protocol": "duel", "topic": "Redis?"}\n')
    duel = [word for role, spec in duels.seats(tmp_path).items() for word in (f"--{role}", spec)]
    words = {
        "sarif": ["cross", "--uncommitted", "--sarif", out, *seats(tmp_path / "seats")],
        "batch": ["batch", str(tmp_path / "lines.jsonl"), "--out", out, "--skip-bad"],
        "repeat": ["duel", "Redis?", "--repeat", "2", "--out", out, *duel],
        "trial": ["trial", "--arms", "lint", "--pairs", "1", "--out", out],
        "new": ["new", "protocol", "own", "--folder", out],
        "skill": ["skill", "install", "--project", "--host", "claude"],
    }[what]
    done = piped(*words, cwd=place)
    assert done.returncode == 2 and "is a symbolic link" in done.stderr, done.stdout + done.stderr
    assert list((tmp_path / "outside").iterdir()) == []
    assert not sessions.home().exists() or not list(sessions.home().iterdir()), "no model was called"


@pytest.mark.parametrize("out", ["linked/made", "linked", "api/../linked/made"])
@pytest.mark.parametrize("option", ["--state-dir", "--save"])
def test_no_folder_of_a_debate_is_made_through_a_link(option: str, out: str, place: Path, tmp_path: Path) -> None:
    # C16
    done = piped("review", option, out, *seats(tmp_path / "seats"), cwd=place)
    assert done.returncode == 2 and "is a symbolic link" in done.stderr, done.stdout + done.stderr
    assert list((tmp_path / "outside").iterdir()) == []


def test_an_export_does_not_wait_for_a_reader(place: Path, tmp_path: Path) -> None:  # C16
    id = duels.duel(tmp_path).session
    os.mkfifo(tmp_path / "pipe")
    for words in (["-o", str(tmp_path / "pipe"), "--force"], ["--format", "comment", "--previous", str(place)]):
        done = piped("export", id, *words, cwd=place)
        assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
