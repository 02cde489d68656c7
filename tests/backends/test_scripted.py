"""The participant that answers from a file."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from rebut.backends.scripted import Scripted
from rebut.core.errors import ParticipantFailed, UsageError
from rebut.core.types import ModelSpec, Participant, Reply, Request, Usage

SEAT = Participant("proposer", ModelSpec("scripted", "a.json"))


def script(folder: Path, answers: dict[str, Any], **more: str) -> Path:
    path = folder / "a.json"
    path.write_text(json.dumps({**more, "answers": answers}), encoding="utf-8")
    return path


def ask(path: Path, key: str, **more: Any) -> Reply:
    return asyncio.run(Scripted(path).complete(Request(key, SEAT, "prompt", **more)))


def test_an_answer_is_found_by_its_key_with_all_that_the_file_says_of_it(tmp_path: Path) -> None:
    said = {"text": "yes", "usage": {"input": 10, "output": 3}, "usd": 0.25, "truncated": True}
    path = script(tmp_path, {"r1/opening@proposer": said}, model="debater-a", family="scripted a")  # C1
    expected = Reply("yes", "debater-a", "scripted a", Usage(10, 3), 0.25, True)
    assert ask(path, "r1/opening@proposer") == expected


def test_an_exact_key_goes_before_patterns_and_patterns_go_in_file_order(tmp_path: Path) -> None:
    path = script(
        tmp_path, {"r*/defense@*": {"text": "wide"}, "r1/*": {"text": "late"}, "r1/defense@b": {"text": "exact"}}
    )  # C1
    assert [ask(path, key).text for key in ("r1/defense@b", "r1/defense@a", "r1/other@a")] == ["exact", "wide", "late"]


def test_a_list_is_answered_by_attempt_whatever_was_asked_before(tmp_path: Path) -> None:
    path = script(tmp_path, {"k": [{"text": "one"}, {"text": "two"}]})  # C3
    assert [ask(path, "k", attempt=attempt).text for attempt in (3, 1, 2, 1)] == ["two", "one", "two", "one"]


def test_a_json_answer_comes_as_json_text_and_streams_in_pieces(tmp_path: Path) -> None:
    pieces: list[str] = []
    value = {"claim": "ünïcode " * 10}
    reply = ask(script(tmp_path, {"k": {"json": value}}), "k", on_text=pieces.append)  # C14
    assert json.loads(reply.text) == value
    assert "".join(pieces) == reply.text
    assert len(pieces) > 1


def test_a_question_without_an_answer_names_the_file_and_the_key(tmp_path: Path) -> None:
    path = script(tmp_path, {})
    with pytest.raises(ParticipantFailed, match=r"a\.json has no answer for r1/opening@x") as caught:  # C5
        ask(path, "r1/opening@x")
    assert caught.value.kind == "missing tool"
    assert '"r1/opening@x"' in caught.value.hint and '"*/opening@x"' in caught.value.hint
    with pytest.raises(ParticipantFailed) as last:
        ask(path, "verdict@judge")
    assert "pattern" not in last.value.hint, "*/verdict@judge would not match a key without a round"


def test_a_scripted_failure_has_its_class_and_its_words(tmp_path: Path) -> None:
    path = script(tmp_path, {"k": {"fail": "rate limit", "message": "slow down"}})
    with pytest.raises(ParticipantFailed, match="slow down") as caught:  # C5
        ask(path, "k")
    assert caught.value.kind == "rate limit"


@pytest.mark.parametrize("answer", [{"hang": True}, {"text": "late", "delay": 60}, {"text": "x" * 99, "stream": 60}])
def test_what_takes_longer_than_the_request_allows_is_a_timeout(tmp_path: Path, answer: dict[str, Any]) -> None:
    with pytest.raises(ParticipantFailed) as caught:  # C5
        ask(script(tmp_path, {"k": answer}), "k", timeout=0.01)
    assert caught.value.kind == "timeout"


def test_an_empty_text_is_a_failure_as_it_is_with_any_model(tmp_path: Path) -> None:
    with pytest.raises(ParticipantFailed) as caught:  # C5
        ask(script(tmp_path, {"k": {"text": " \n"}}), "k")
    assert caught.value.kind == "bad reply"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"answers": {\n"k": {"text": "a"},,\n}}', "line 2"),
        ('{"answers": {\n\n"k": {"txt": "a"}}}', "line 3: the answer for 'k' has the unknown field 'txt'"),
        ('{"answers": {\n"k": {"text": "a", "hang": true}}}', "line 2: the answer for 'k' needs exactly one of"),
        ('{"answers": {\n"k": {"fail": "sulking"}}}', "line 2: the answer for 'k' fails in an unknown way"),
        ('{"answers": {\n"k": {"fail": ""}}}', "fails in an unknown way"),
        ('{"answers": {\n"k": []}}', "line 2: the answer for 'k' is an empty list"),
        ('{"answers": {\n"k": ["text"]}}', "line 2: the answer for 'k' must be an object"),
        ('{"answers": {\n"k": {"text": "a", "delay": -1}}}', "has a delay that is not a number"),
        ('{"answers": {\n"k": {"text": "a", "usd": 1%s}}}' % ("0" * 400), "has a usd that is not a number"),
        ('{"answers": {\n"k": {"text": "a", "usage": {"input": "many"}}}}', "has a usage that is not"),
        ('{"answers": {\n"k": {"text": 7}}}', "is not a string"),
        ('{"answers": {\n"k": {"text": "a"},\n"k": {"text": "b"}}}', "line 3: 'k' appears twice"),
        ('{"model": 3,\n "answers": {}}', "model and family must be text"),
        ('{\n"modle": "x", "answers": {}}', "line 2: unknown field 'modle'"),
        ('["answers"]', 'needs an object with "answers"'),
    ],
)
def test_a_malformed_file_is_refused_when_it_is_read_with_file_and_line(
    tmp_path: Path, content: str, says: str
) -> None:
    path = tmp_path / "broken.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError) as caught:  # C17
        Scripted(path)
    assert "broken.json, line " in caught.value.message
    assert says in caught.value.message


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):  # C17
        Scripted(tmp_path / "nowhere.json")
    (tmp_path / "latin.json").write_bytes(b'{"answers":\n"\xff"}')
    with pytest.raises(UsageError, match="line 2: not UTF-8"):
        Scripted(tmp_path / "latin.json")
