"""A JSON answer read while it is being written: the same elements as from the whole text, wherever it is cut."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings, strategies as st

from rebut.core.json_value import Json
from rebut.engine.live_answer import DEEPEST, LONGEST, MOST_ELEMENTS as MOST, AnswerStream

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["flaws", "claims", "need", "text", 'a "name"', "ключ"])
ANSWERS = st.dictionaries(NAMES, VALUES | st.lists(VALUES, max_size=4), max_size=5)


def fed(text: str, cuts: list[int], lists: tuple[str, ...] = ("flaws", "claims")) -> list[tuple[str, Json]]:
    stream, out = AnswerStream(lists), []
    ends = sorted({min(cut, len(text)) for cut in cuts})
    for start, end in zip([0, *ends], [*ends, len(text)], strict=True):
        out += stream.take(text[start:end])
    return out


def expected(text: str, lists: tuple[str, ...] = ("flaws", "claims")) -> list[tuple[str, Json]]:
    found = json.loads(text)
    return [(name, item) for name, held in found.items() if name in lists and isinstance(held, list) for item in held]


@settings(max_examples=300, deadline=None)
@given(ANSWERS, st.lists(st.integers(0, 400)), st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_however_a_text_is_cut_its_elements_are_those_of_the_whole(
    answer: dict[str, Json], cuts: list[int], plain: bool, indent: int | str | None
) -> None:
    # C14
    text = json.dumps(answer, ensure_ascii=plain, indent=indent)
    assert fed(text, cuts) == expected(text)
    assert fed(text, list(range(len(text)))) == expected(text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("Here is my answer:\n\n```json\n", "\n```\nThat is all."),
        ("I use {braces} and {{two}} and [lists] and a lone { first.\n", ""),
        ('An {"example": "of", "an": ["object"]} comes first. ', ' and {"another": 1} after it'),
        ("```\n{not: json}\n```\n", "\n"),
    ],
)
def test_prose_and_fences_around_the_object_are_passed_over(before: str, after: str) -> None:
    # C14
    text = before + json.dumps({"flaws": [{"text": "a {brace} and a ] in words"}, "b", 3, None]}) + after
    wanted = [("flaws", {"text": "a {brace} and a ] in words"}), ("flaws", "b"), ("flaws", 3), ("flaws", None)]
    for size in (1, 2, 3, 7, len(text)):
        assert fed(text, list(range(0, len(text), size))) == wanted


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('<think>Perhaps {"flaws": ["a draft"]}. No.</think>\n', ""),
        ('<think>{"flaws": ["one draft"]}</think> so <reasoning>{"flaws": [</think> "two"]}</reasoning>', ""),
        ('[THINK]{"flaws": ["a draft"]}[/THINK]', '<think>{"flaws": ["an afterthought"]}'),
        ("a < b and [x] and <b> first: ", ""),
    ],
)
def test_what_a_model_thinks_is_passed_over_and_a_tag_in_a_text_is_text(before: str, after: str) -> None:
    # C5 C14
    text = before + json.dumps({"flaws": ["the <think> tag", "and </think>"]}) + after
    for size in (1, 2, 3, 7, len(text)):
        assert fed(text, list(range(0, len(text), size))) == [("flaws", "the <think> tag"), ("flaws", "and </think>")]


def test_thinking_that_never_ends_has_no_elements() -> None:
    text = '<think>{"flaws": ["a draft"]}'  # C5 C14
    assert fed(text, list(range(len(text)))) == []


def test_an_element_is_handed_out_with_the_very_piece_that_completes_it() -> None:
    # C14
    stream = AnswerStream(["flaws"])
    assert stream.take('{"flaws": [{"text": "one"') == []
    assert stream.take("}") == [("flaws", {"text": "one"})]
    assert stream.take(', {"text": "tw') == []
    assert stream.take('o"}, tr') == [("flaws", {"text": "two"})]
    assert stream.take("ue") == []
    assert stream.take("]") == [("flaws", True)]


def test_escapes_and_surrogates_may_be_cut_anywhere() -> None:
    text = r'{"flaws": ["\ud83d\ude00 \\", "\"}]", "\u0022\\\""]}'
    for at in range(len(text)):
        assert fed(text, [at]) == [("flaws", "😀 \\"), ("flaws", '"}]'), ("flaws", '"\\"')]


def test_lists_further_inside_and_other_lists_give_nothing() -> None:
    text = json.dumps({"inner": {"flaws": ["no"]}, "need": ["no"], "flaws": {"flaws": ["no"]}, "claims": "no"})
    assert fed(text, [5, 9]) == []


def test_slips_that_may_be_mended_later_cost_at_most_their_own_element() -> None:
    # a comma too many, a raw line end in a string, a missing value
    text = '{"flaws": [{"text": "a\nb"}, {"text": }, {"text": "c",},{"text": "d"},], "agrees": true}'
    assert fed(text, [12, 30]) == [("flaws", {"text": "a\nb"}), ("flaws", {"text": "d"})]


@pytest.mark.parametrize(
    "broken",
    [
        '{"text": "a", "cites": [{"place": }, {"place": "b"}]}',
        '{"text": "He said "no" here", "cites": []}',
        '{"text": True}',
        "{'text': 'a'}",
    ],
)
def test_a_slip_anywhere_in_an_element_costs_that_element_alone(broken: str) -> None:
    for first in ("", '{"text": "first"}, '):
        text = f'{{"agrees": True, "flaws": [{first}{broken}, {{"text": "next"}}], "claims": ["last"]}}'
        wanted = [("flaws", {"text": "first"})] if first else []
        wanted += [("flaws", {"text": "next"}), ("claims", "last")]
        for size in (1, 5, len(text)):
            assert fed(text, list(range(0, len(text), size))) == wanted


def test_the_words_are_those_of_the_text_that_is_being_written_and_never_a_name_or_a_sign() -> None:
    # C14: no raw JSON on screen
    stream = AnswerStream(["flaws"])
    seen = set()
    text = json.dumps({"position": 'Use "Redis"\nnow \U0001f600', "flaws": [{"text": "no replica", "severity": "P1"}]})
    for char in text:
        stream.take(char)
        seen.add(stream.last_text()[0])
    assert 'Use "Redis"\nnow \U0001f600' in seen and "no replica" in seen
    assert not any(sign in words for words in seen for sign in ("{", "}", "[", "]", "\\", ":"))
    assert not seen & {"flaws", "severity", "position", "text"}


def test_five_megabytes_and_any_depth_are_taken_and_what_is_beyond_reading_is_dropped() -> None:
    long = json.dumps({"document": "word " * 1_000_000, "flaws": ["after it"]})
    assert fed(long, list(range(0, len(long), 4096))) == [("flaws", "after it")]
    assert fed('{"flaws": [' + "[" * 1_000_000 + "]" * 1_000_000, [7]) == []
    assert fed("{" * 1_000_000 + '{"flaws": ["late"]}', [7]) == []
    huge = json.dumps({"flaws": ["x" * (LONGEST + 1), "y"]})
    assert fed(huge, [100, LONGEST]) == [("flaws", "y")]
    many = json.dumps({"flaws": [1] * (MOST + 5)})
    assert len(fed(many, [50])) == MOST
    deep = json.dumps({"flaws": ["a", json.loads("[" * (DEEPEST - 2) + "]" * (DEEPEST - 2))]})
    assert fed(deep, [20]) == expected(deep)


@pytest.mark.parametrize("sentence", ["word ", "[a](b) {c} ", 'Say "x" [a](b) {c}.\n', '\\"[]', "}]"])
def test_a_point_after_a_long_text_is_given_with_its_last_bracket_whatever_is_in_that_text(sentence: str) -> None:
    # C14: a draft is full of code, links and quotes
    document = sentence * (200_000 // len(sentence))
    flaws = [{"text": "one"}, {"text": "two"}]
    text = json.dumps({"document": document, "flaws": flaws})
    ends = [text.rindex(json.dumps(one)) + len(json.dumps(one)) for one in flaws]
    stream, seen = AnswerStream(["flaws"]), []
    for at in range(0, len(text), 25):
        seen += stream.take(text[at : at + 25])
        assert len(seen) == sum(end <= at + 25 for end in ends), "neither late nor early"
    assert seen == [("flaws", one) for one in flaws]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"flaws": [{"text": "word " * 50, "cites": [{"place": "a:1"}] * 3}] * 300}),
        json.dumps({"document": 'Say "x" [a](b) {c}.\n' * 7_000, "flaws": [{"text": "after it"}]}),
        json.dumps({"flaws": [{"cites": [{}] * 20_000}]}),
        json.dumps({"other": {"field": [{}] * 20_000}}),
        json.dumps({"other": {str(n): [] for n in range(20_000)}}),
        '{"' + "[]" * 50_000,
        '{"flaws": ["' + '\\"[]' * 50_000,
        '{"flaws": [' + "{]" * 50_000,
        '{"flaws": [{"text": "a" b"}, ' + '{"text": "c"}, ' * 5_000,
        "} ] [ { " * 20_000,
        "{ " * 50_000,
        "{" + " " * 100_000,
    ],
)
def test_the_work_grows_with_the_length_of_the_answer_whatever_is_in_it(text: str) -> None:
    def seconds(text: str) -> float:
        stream, began = AnswerStream(["flaws"]), time.process_time()
        for at in range(0, len(text), 25):
            stream.take(text[at : at + 25])
        return time.process_time() - began

    # Quadratic work would take sixteen times as long for four times the text.
    quarter = min(seconds(text[: len(text) // 4]) for _ in range(3))
    assert min(seconds(text) for _ in range(2)) < 9 * quarter + 0.1
