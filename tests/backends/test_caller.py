"""The caller in a seat: its turn ends the run with the question, and its answer goes on from there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duels
import pytest

from rebut.cli.app import enter
from rebut.record import sessions


def said(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.fixture
def waiting(workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """A duel that has come to its judge, who is the caller."""
    seats = {**duels.seats(tmp_path), "judge": "caller"}
    words = [word for role, spec in seats.items() for word in (f"--{role}", spec)]
    assert enter(["duel", "Redis or not?", *words, "--json"]) == 4
    return said(capsys)


def answer(tmp_path: Path, turn: dict[str, Any], text: str, *more: str) -> int:
    file = tmp_path / "answer.json"
    file.write_text(text)
    return enter(["answer", turn["session"], "--file", str(file), "--json", *more])


def events(turn: dict[str, Any], kind: str) -> list[Any]:
    record = sessions.load(sessions.home() / turn["session"])
    return [line.event for line in record.lines if line.event.kind == kind and getattr(line.event, "key", "") == KEY]


KEY = "verdict@judge"


def test_the_callers_turn_ends_with_code_4_the_question_and_its_schema(waiting: dict[str, Any]) -> None:  # C1 C17
    assert waiting["key"] == KEY and "Redis or not?" in waiting["question"]
    assert "winner" in waiting["schema"]["properties"]
    assert waiting["answer_with"] == f"rebut answer {waiting['session']} --key {KEY} --file -"


def test_waiting_is_neither_failed_nor_in_doubt(waiting: dict[str, Any]) -> None:  # C1
    record = sessions.load(sessions.home() / waiting["session"])
    assert not events(waiting, "asked") and not events(waiting, "failed")
    assert record.spent().in_doubt == 0 and record.closed is None


def test_resume_asks_the_same_question_again(
    waiting: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:  # C1 C3
    assert enter(["resume", waiting["session"], "--json"]) == 4
    again = said(capsys)
    assert (again["key"], again["question"]) == (waiting["key"], waiting["question"])


def test_an_answer_is_put_on_record_and_the_debate_goes_on_to_its_end(
    waiting: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # C1
    assert answer(tmp_path, waiting, json.dumps(duels.verdict())) == 0
    shown = said(capsys)
    assert shown["verdict"]["winner"] == "challenger" and shown["session"] == waiting["session"]
    assert [(e.model, e.family) for e in events(waiting, "answered")] == [("caller", "caller")]


def test_a_wrong_answer_comes_back_with_what_is_wrong_as_often_as_it_takes(
    waiting: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # C1: more often than a model would be asked
    for wrong in ("no JSON at all", '{"winner": "nobody at all"}', '{"reasoning": "x"}'):
        assert answer(tmp_path, waiting, wrong, "--key", KEY) == 4
        turn = said(capsys)
        assert turn["key"] == KEY and "The problem:" in turn["followup"]
    assert "winner" in turn["followup"]
    assert not events(waiting, "failed") and not events(waiting, "answered")
    assert answer(tmp_path, waiting, json.dumps(duels.verdict()), "--key", KEY) == 0


def test_an_answer_that_is_given_twice_is_taken_once(
    waiting: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # C3
    for _ in range(2):
        assert answer(tmp_path, waiting, "not it", "--key", KEY) == 4
    assert len(events(waiting, "attempt")) == 1


def test_after_a_crash_behind_the_answer_it_is_not_asked_for_again(
    waiting: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # C3: the record ends with the attempt, as if the process had died before it was read
    text = json.dumps(duels.verdict())
    assert answer(tmp_path, waiting, text, "--key", KEY) == 0
    journal = sessions.home() / waiting["session"] / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    last = next(n for n, line in enumerate(lines) if b'"kind":"attempt"' in line and KEY.encode() in line)
    journal.write_bytes(b"".join(lines[: last + 1]))
    capsys.readouterr()
    assert answer(tmp_path, waiting, text, "--key", KEY) == 0
    assert said(capsys)["verdict"]["winner"] == "challenger"
    assert len(events(waiting, "attempt")) == 1


def test_an_answer_for_another_question_is_not_taken_for_this_one(
    waiting: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer(tmp_path, waiting, json.dumps(duels.verdict()), "--key", "r9/summary@judge") == 4
    assert said(capsys)["key"] == KEY and not events(waiting, "attempt")
    assert answer(tmp_path, waiting, "{}", "--key", "r1/opening@proposer") == 2
    assert "is not a question to the caller" in said(capsys)["error"]


def test_an_empty_answer_and_a_session_without_a_caller_are_wrong_usage(
    waiting: dict[str, Any], workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # C17
    assert answer(tmp_path, waiting, " \n") == 2
    assert "empty" in said(capsys)["error"]
    words = [word for role, spec in duels.seats(tmp_path).items() for word in (f"--{role}", spec)]
    assert enter(["duel", "Another?", *words, "--json"]) == 0
    assert answer(tmp_path, said(capsys), "{}") == 2
    assert "has no `caller` seat" in said(capsys)["error"]


def test_without_json_the_question_is_on_stdout_and_the_way_to_answer_on_stderr(
    waiting: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert enter(["resume", waiting["session"], "-q"]) == 4
    out, err = capsys.readouterr()
    assert "Redis or not?" in out and '"winner"' in out
    assert f"rebut answer {waiting['session']} --key {KEY} --file -" in err
