"""A session can be taken away for good: when somebody says so, whole, and never while it runs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import rebut
from rebut.cli.app import enter
from rebut.record import sessions
from rebut.record.journal import Journal
from tests import duels
from tests.terminals import at_a_terminal


@pytest.fixture
def two(workspace: Path) -> list[str]:
    return [
        rebut.run("duel", f"Redis {n}?", rounds=1, **duels.seats(workspace.parent, rounds=1)).session for n in (1, 2)
    ]


def ids() -> set[str]:
    return {one.id for one in sessions.sessions(sessions.home())}


def test_yes_deletes_the_record_and_all_copies(two: list[str], capsys: pytest.CaptureFixture[str]) -> None:  # C8, C13
    assert enter(["delete", two[0][:5], "--yes"]) == 0
    assert two[0] in capsys.readouterr().out
    assert ids() == {two[1]}
    assert [p.name for p in sessions.home().iterdir()] == [two[1]], "nothing of it is left, hidden or not"
    assert enter(["delete", "last", "-y", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"deleted": [two[1]]}
    assert ids() == set()


def test_without_a_terminal_it_must_be_said(two: list[str], capsys: pytest.CaptureFixture[str]) -> None:  # C17
    assert enter(["delete", *two]) == 2
    assert "--yes" in capsys.readouterr().err and ids() == set(two)
    assert enter(["delete", two[0], "nobody", "--yes"]) == 2
    assert ids() == set(two), "one that is not there stops the whole"


def test_a_session_that_runs_is_left_alone(two: list[str], capsys: pytest.CaptureFixture[str]) -> None:  # C3
    held = Journal.open(sessions.home() / two[0])
    try:
        assert enter(["delete", two[0], "--yes"]) != 0
        assert "is being run by another process" in capsys.readouterr().err
    finally:
        held.close()
    assert ids() == set(two)


def test_a_record_that_was_altered_can_be_deleted_too(two: list[str]) -> None:  # C13
    journal = sessions.home() / two[0] / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([lines[0], *lines[2:]]))
    assert enter(["delete", two[0], "--yes"]) == 0
    assert ids() == {two[1]}


@pytest.mark.parametrize(("said", "left"), [("y", 1), ("n", 2), ("", 2)])
def test_at_a_terminal_it_shows_what_and_asks(two: list[str], workspace: Path, said: str, left: int) -> None:  # C14
    def talk(expect: Callable[[str], None], type_: Callable[[str], None]) -> None:
        expect("Redis 1?")
        expect("Delete this session permanently? [y/N]")
        type_(f"{said}\r")

    code, screen = at_a_terminal(["delete", two[0]], dict(os.environ), workspace, talk)
    assert code == 0 and len(ids()) == left, screen
    assert ("nothing was deleted" in screen) == (left == 2)


def test_a_link_among_the_sessions_is_named_and_left_alone(two: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    home = sessions.home()
    (home / "linkaaaa").symlink_to(home / two[0])
    assert enter(["delete", "linkaaaa", "--yes"]) == 2  # C13
    assert "is a link to" in capsys.readouterr().err
    assert (home / "linkaaaa").is_symlink() and (home / two[0]).is_dir()


def test_no_lock_is_made_through_a_link(two: list[str], tmp_path: Path) -> None:
    folder = sessions.home() / two[0]
    (folder / "lock").unlink(missing_ok=True)
    (folder / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(rebut.RebutError):
        Journal.open(folder)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
@pytest.mark.parametrize("inside", ["", "sessions"])
def test_a_home_of_another_user_is_refused(
    inside: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # C16
    theirs = tmp_path / "theirs" / inside
    theirs.mkdir(parents=True)
    os.chown(theirs, 12345, 12345)
    monkeypatch.setenv("REBUT_HOME", str(tmp_path / "theirs"))
    assert enter(["list"]) == 2
    assert "belongs to another user" in capsys.readouterr().err and list(theirs.iterdir()) == []


def test_an_export_is_not_written_through_a_link(
    two: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out.md").symlink_to(tmp_path / "elsewhere.md")
    assert enter(["export", two[0], "-o", str(tmp_path / "out.md"), "--force"]) == 2
    assert "is a symbolic link" in capsys.readouterr().err and not (tmp_path / "elsewhere.md").exists()


def test_an_export_is_not_written_through_a_linked_folder_of_the_workspace(
    two: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # C16
    inside, outside = tmp_path / "inside/deep", tmp_path / "outside"
    inside.mkdir(parents=True)
    outside.mkdir()
    (inside / "docs").symlink_to(outside)
    monkeypatch.chdir(inside)
    assert enter(["export", two[0], "-o", "docs/out.md"]) == 2
    assert "is a symbolic link" in capsys.readouterr().err and list(outside.iterdir()) == []
    assert enter(["export", two[0], "-o", str(outside / "out.md")]) == 0, "named as it is, it is the user's choice"


@pytest.mark.parametrize("command", [["list"], ["show", "last"], ["demo"], ["delete", "last", "--yes"]])
def test_a_home_that_is_a_file_is_an_error_and_not_an_empty_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:  # C11
    home = tmp_path / "home"
    home.write_text("a file")
    monkeypatch.setenv("REBUT_HOME", str(home))
    assert enter(command) == 2
    assert f"REBUT_HOME: {home} is not a folder" in capsys.readouterr().err and home.read_text() == "a file"
