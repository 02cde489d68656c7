"""Journals whose lines follow from each other, with values in them that rebut never writes: an error, never a crash."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duels
import pytest

from rebut.cli.app import enter
from rebut.core.errors import RecordAltered
from rebut.record import journal, sessions
from tests.voices import record

DEEP: Any = []
for _ in range(900):
    DEEP = [DEEP]


@pytest.fixture
def folder(tmp_path: Path, workspace: Path) -> Path:
    return sessions.home() / duels.duel(tmp_path).session


def changed(folder: Path, kind: str, **values: Any) -> None:
    """Put values into the last event of a kind. Every line follows from the line before it, as in a good journal."""
    rows = [json.loads(line) for line in (folder / journal.NAME).read_bytes().splitlines()]
    next(row for row in reversed(rows) if row["kind"] == kind).update(values)
    prev, out = "", b""
    for row in rows:
        raw = json.dumps({**row, "prev": prev}).encode()
        prev, out = journal.digest(raw), out + raw + b"\n"
    (folder / journal.NAME).write_bytes(out)


@pytest.mark.parametrize("value", [10**309, -1, 1.5])
def test_a_count_that_cannot_be_true_is_unknown(folder: Path, value: float) -> None:  # D1
    changed(folder, "attempt", input=value, output=value, cached=value)
    assert enter(["show", folder.name]) == enter(["list"]) == enter(["replay", folder.name]) == 0
    assert record(folder.name).spent().unmetered == 1


@pytest.mark.parametrize("value", [float("inf"), float("nan"), -0.5, 10**309])
def test_a_price_that_cannot_be_true_is_unknown(folder: Path, value: float) -> None:  # D1
    changed(folder, "attempt", usd=value)
    assert enter(["show", folder.name]) == 0
    assert record(folder.name).spent().usd is None


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("opened", {"topic": 5}),
        ("opened", {"seats": [5]}),
        ("opened", {"settings": []}),
        ("opened", {"one_model": {"a": []}}),
        ("asked", {"key": ["x"]}),
        ("asked", {"attempt": []}),
        ("asked", {"tokens": 10**309}),
        ("attempt", {"input": "many"}),
        ("attempt", {"ms": "long"}),
        ("attempt", {"notes": "none"}),
        ("answered", {"key": None}),
        ("fact", {"key": {}}),
        ("closed", {"outcome": "done"}),
        ("closed", {"at": 5}),
    ],
)
def test_a_field_of_another_type_is_found_when_the_journal_is_read(
    folder: Path, kind: str, values: dict[str, Any]
) -> None:  # D1
    changed(folder, kind, **values)
    with pytest.raises(RecordAltered, match=r"line \d+ of the journal is not an event"):
        sessions.load(folder)


ODD = [
    ("closed", {"outcome": {}}),
    ("closed", {"outcome": {"kind": "verdict", "heading": 5}}),
    ("closed", {"outcome": {"kind": "verdict", "heading": "X", "ledger": {"points": [5]}}}),
    ("closed", {"outcome": {"kind": "verdict", "heading": "X", "spent": {"calls": "x"}}}),
    ("closed", {"outcome": {"kind": "verdict", "heading": "X", "final": DEEP}}),
]


@pytest.mark.parametrize(("kind", "values"), ODD)
@pytest.mark.parametrize("command", ["show", "gate", "export", "replay", "verify"])
def test_an_odd_value_inside_is_damage_and_never_an_exit_code_for_findings(
    folder: Path, command: str, kind: str, values: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:  # D1
    changed(folder, kind, **values)
    code = enter([command, folder.name])
    shown = capsys.readouterr()
    assert code in (0, 2, 3), "1 would mean that findings stand; a command that does not read the value may end well"
    if code == 3 and command != "replay":  # which may also say that another ending would come out
        assert f"session {folder.name}" in shown.err and "bug of rebut" in shown.err


@pytest.mark.parametrize(("kind", "values"), ODD[:4])
def test_one_damaged_session_does_not_hide_the_others(
    folder: Path, tmp_path: Path, kind: str, values: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:  # D1
    from rebut.web.session_list import session_rows

    good = duels.duel(tmp_path).session
    changed(folder, kind, **values)
    capsys.readouterr()
    assert enter(["list"]) == 0
    listed = capsys.readouterr().out
    assert folder.name in listed and good in listed
    assert len(session_rows(sessions.sessions(sessions.home()))) == 2
