"""The list of sessions, and a fork beside its parent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from recorded import FOLDERS, NAMES, copied, taken

from rebut.record import sessions
from rebut.web.session_list import MOST, compared, session_rows

FORKS = [folder for folder in FOLDERS if taken(folder)[1][0].get("forked_from")]


@pytest.mark.parametrize("folder", FOLDERS, ids=NAMES)
def test_every_recorded_session_has_a_row(folder: Path, tmp_path: Path) -> None:
    copied(folder, tmp_path)
    [row] = session_rows([*sessions.sessions(tmp_path / "sessions")])
    assert isinstance(row, dict)
    record = taken(folder)[0].record
    assert (row["id"], row["protocol"], row["topic"]) == (folder.name, record.opened.protocol, record.opened.topic)
    assert row["calls"] == record.spent().calls and len(str(row["models"])) > 2
    assert row["state"] == ("open" if record.closed is None else row["state"]) and row["state"] != "running"


def test_the_list_is_bounded_and_has_the_newest(tmp_path: Path) -> None:
    copied(FOLDERS[0], tmp_path)
    [one] = sessions.sessions(tmp_path / "sessions")
    assert len(session_rows([one] * (MOST + 5))) == MOST


@pytest.mark.parametrize("folder", FORKS, ids=lambda folder: folder.parent.parent.name)
def test_a_fork_is_beside_its_parent(folder: Path, tmp_path: Path) -> None:
    for one in folder.parent.iterdir():
        copied(one, tmp_path)
    found: dict[str, Any] = compared(sessions.load(tmp_path / "sessions" / folder.name), tmp_path / "sessions")
    assert [len(column) for column in found["columns"]] == [len(found["labels"])] * 2 and found["reused"]


@pytest.mark.parametrize("folder", FORKS, ids=lambda folder: folder.parent.parent.name)
def test_a_fork_whose_parent_is_gone_stands_alone(folder: Path, tmp_path: Path) -> None:
    copied(folder, tmp_path)
    found: dict[str, Any] = compared(sessions.load(tmp_path / "sessions" / folder.name), tmp_path / "sessions")
    assert len(found["columns"]) == 1


def test_a_session_that_is_no_fork_has_nothing_beside_it() -> None:
    folder = next(folder for folder in FOLDERS if folder not in FORKS)
    assert compared(sessions.load(folder), folder.parent) == {}
