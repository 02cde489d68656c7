"""Reading structured replies: what may be mended, what may not, and what never becomes an answer."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st
from pydantic import Field

from rebut.domain.forms import Cites, Form
from rebut.engine.parse import MAX_REPLY, UnreadableReply, parse
from rebut.protocols.duel.forms import Opening

calm = settings(deadline=None, derandomize=True)


class Note(Form):
    """One remark."""

    text: str
    evidence: Cites = Field(default_factory=list)


class Sheet(Form):
    """A form with what the real ones have: text, lists, nested forms, and fields that may be left out.

    It takes a position and agrees to nothing, so it is also read from among other text, and repaired.
    """

    position: str
    notes: list[Note]
    more: list[str] = Field(default_factory=list)

    def is_agreement(self) -> bool:
        return False


words = st.text(
    st.characters(
        exclude_categories=["Cs", "Cc"], exclude_characters="\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    ),
    max_size=40,
)
notes = st.fixed_dictionaries(
    {"text": words, "evidence": st.lists(st.fixed_dictionaries({"place": words, "quote": words}), max_size=2)}
)
sheets = st.fixed_dictionaries(
    {"position": words, "notes": st.lists(notes, max_size=3), "more": st.lists(words, max_size=3)}
)
plain_prose = st.text(st.characters(exclude_categories=["Cs"], exclude_characters='{}`~"[]'), max_size=60)


def dump(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


# what survives


@calm
@given(
    sheets, st.sampled_from([None, 2]), st.sampled_from(["```", "~~~", "````"]), st.sampled_from(["", "json", "JSON"])
)
def test_a_valid_reply_survives_a_code_fence(value: dict[str, Any], indent: int | None, fence: str, word: str) -> None:
    reply = f"{fence}{word}\n{dump(value, indent)}\n{fence}"  # C5
    assert parse(reply, Sheet) == Sheet.model_validate(value)


@calm
@given(sheets, plain_prose, plain_prose, st.booleans())
def test_a_valid_reply_survives_prose_around_it(value: dict[str, Any], before: str, after: str, fenced: bool) -> None:
    body = f"```json\n{dump(value, 2)}\n```" if fenced else dump(value)
    assert parse(f"{before}\n{body}\n{after}", Sheet) == Sheet.model_validate(value)  # C5


@calm
@given(sheets)
def test_a_valid_reply_survives_trailing_commas(value: dict[str, Any]) -> None:
    reply = dump(value)
    reply = reply[:-1] + ",}"  # C5
    assert parse(reply, Sheet) == Sheet.model_validate(value)


def test_trailing_commas_inside_lists_and_objects_and_a_python_spelling_are_mended() -> None:
    reply = """{"position": "yes", "notes": [{"text": "a", "evidence": ["x.py:1",],},], 'more': ['b'],}"""
    got = parse(reply, Sheet)  # C5
    assert got.notes[0].evidence[0].place == "x.py:1"
    assert got.more == ["b"]


@calm
@given(sheets, st.sampled_from(["[%s]", " [\n%s\n] ", "```json\n[%s]\n```"]))
def test_one_object_in_a_list_is_that_object(value: dict[str, Any], form: str) -> None:
    assert parse(form.replace("%s", dump(value)), Sheet) == Sheet.model_validate(value)  # C5


def test_two_objects_in_a_list_are_no_answer_because_nobody_said_which() -> None:
    one = {"position": "yes", "notes": []}
    with pytest.raises(UnreadableReply):  # C5
        parse(dump([one, {**one, "position": "no"}]), Sheet)


def test_an_example_in_a_fence_that_does_not_fit_does_not_hide_the_reply() -> None:
    reply = 'As asked, no `{}`:\n```json\n{"position": 1}\n```\nbut\n```json\n{"position": "yes", "notes": []}\n```'
    assert parse(reply, Sheet).position == "yes"  # C5


def test_fields_that_were_not_asked_for_are_left_out() -> None:
    got = parse('{"position": "yes", "notes": [], "mood": "good"}', Sheet)
    assert got.model_dump() == {"position": "yes", "notes": [], "more": []}


# what never becomes an answer


class Anything(Form):
    """A form that nothing can fail to fit: only the absence of an object keeps it from being filled."""

    text: str = ""


@calm
@given(st.text(st.characters(exclude_characters="{}")))
def test_prose_without_braces_is_never_an_answer(reply: str) -> None:
    with pytest.raises(UnreadableReply, match="no JSON object"):  # C5
        parse(reply, Anything)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        " \n\t",
        "Error: 429 Too Many Requests",
        "Please run /login to continue.",
        "null",
        "[]",
        '"position"',
        "42",
        "NaN",
        "{}",
        '{"error": {"type": "overloaded_error", "message": "Overloaded"}}',
        '{"detail": "Unauthorized"}',
        "<html><body>{{ nginx }}</body></html>",
        "{ position }",
        "I'd say {position} beats {notes}.",
    ],
)
def test_error_texts_login_notices_and_empty_replies_are_unreadable(reply: str) -> None:
    with pytest.raises(UnreadableReply):  # C5
        parse(reply, Sheet)


@settings(calm, max_examples=200)
@given(sheets, st.floats(0, 1, exclude_max=True), st.booleans())
@example({"position": "}}", "notes": [{"text": "{", "evidence": []}], "more": ["a"]}, 0.7, False)
@example({"position": "x", "notes": [{"text": "so }}}} it is", "evidence": []}], "more": ["a"]}, 0.86, False)
def test_a_reply_that_stops_in_the_middle_is_never_mended(value: dict[str, Any], at: float, fenced: bool) -> None:
    whole = dump(value)
    cut = whole[: int(len(whole) * at)]
    with pytest.raises(UnreadableReply):  # C5
        parse(f"```json\n{cut}\n```" if fenced else cut, Sheet)


@pytest.mark.parametrize("cut", range(1, 84))
def test_every_prefix_of_a_reply_with_braces_in_its_words_is_unreadable(cut: int) -> None:
    whole = '{"position": "a } b }} c", "notes": [{"text": "{ \\"} d"}], "more": ["}", "{", "e"]}'
    assert parse(whole, Sheet).more == ["}", "{", "e"]
    with pytest.raises(UnreadableReply):  # C5
        parse(whole[: cut - 1], Sheet)


@calm
@given(sheets)
def test_what_the_provider_says_it_cut_is_not_read_even_if_it_looks_whole(value: dict[str, Any]) -> None:
    with pytest.raises(UnreadableReply, match="cut off"):  # C5
        parse(dump(value), Sheet, truncated=True)


def test_a_reply_beyond_the_size_limit_is_not_read() -> None:
    with pytest.raises(UnreadableReply, match="characters long"):  # C5
        parse('{"position": "' + "x" * MAX_REPLY + '", "notes": []}', Sheet)


# whatever comes, only Unreadable


PARTS = [
    "<think>",
    "</think>",
    "```json\n",
    "\n```\n",
    '{"position": "a", "notes": []}',
    '{"position": "b", "notes": []}',
]
PARTS += ['"position": "c", ', "{", "}", "[", "]", ",", '"', "//", "/* x */", "\\", "prose ", '"notes": []', "\ufeff"]


@settings(calm, max_examples=300)
@given(
    st.one_of(
        st.text(),
        st.text(alphabet="{}[]\",:\\ntrue01.'`~ \n"),
        st.lists(st.sampled_from(PARTS)).map("".join),
        st.text(st.characters(categories=["Cs", "Ll", "Po"])).map(lambda t: f'{{"position": "{t}", "notes": []}}'),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
        ).map(json.dumps),
    )
)
def test_nothing_but_unreadable_is_raised_whatever_the_text(reply: str) -> None:
    try:
        got = parse(reply, Sheet)  # C5
    except UnreadableReply as error:
        assert str(error)
    else:
        assert isinstance(got, Sheet)


@pytest.mark.parametrize("depth", [1_000, 100_000])
@pytest.mark.parametrize("pattern", ["[", '{"position":', '{"notes": [', "{", '[{"a":'])
@pytest.mark.parametrize("closed", [True, False])
def test_deep_nesting_is_unreadable_and_nothing_worse(depth: int, pattern: str, closed: bool) -> None:
    closing = "".join({"[": "]", "{": "}"}[c] for c in reversed(pattern) if c in "[{")
    with pytest.raises(UnreadableReply):  # C5
        parse(pattern * depth + "1" + (closing * depth if closed else ""), Sheet)


def test_the_message_names_the_fields_so_that_it_can_be_sent_back_and_never_repeats_the_reply() -> None:
    with pytest.raises(UnreadableReply) as caught:  # C5
        parse('{"position": 7, "notes": [{"evidence": []}], "secret": "hunter2"}', Sheet)
    assert re.search(r"position: .*string", str(caught.value))
    assert "notes.0.text" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_reply_that_repeats_itself_without_end_is_read_in_one_pass() -> None:
    objects = ('{"a": "x, ' * 40_000 + "}" * 40_000, "{" * 101 + "}" * 101, "{a: b, " + "c: d, " * 40_000 + "}")
    signs = ('{"a": "he said "' + "\n" * 400_000 + 'x" "}', "~" * 400_000 + "`", "```" + "\t" * 200_000 + "x\n```")
    for reply in (*objects, *signs):
        with pytest.raises(UnreadableReply):  # C5
            parse(reply, Sheet)


@pytest.mark.parametrize("depth", [480, 600, 900, 1_500])
@pytest.mark.parametrize("words", ["Words. ", ""])
def test_a_field_that_is_nested_deep_is_unreadable_or_ignored_at_every_depth(depth: int, words: str) -> None:
    escape = "" if words else "\\u0007"
    reply = f'{words}{{"position":"a{escape}","zzz":{"[" * depth}{"]" * depth}}}'
    with pytest.raises(UnreadableReply):
        parse(reply, Opening)


# too much


@pytest.mark.parametrize(
    "sheet",
    [
        {"notes": [{"text": "x"}] * 1001},
        {"notes": [], "more": ["x"] * 1001},
        {"notes": [{"text": "x", "evidence": [{"place": "a.py:1"}] * 100}] * 10},
    ],
)
def test_more_items_than_can_be_compared_are_sent_back(sheet: dict[str, Any]) -> None:  # C8 D7
    with pytest.raises(UnreadableReply, match=r"have 1,0\d\d items; at most 1,000 are read"):
        parse(dump({"position": "x", **sheet}), Sheet)


def test_a_thousand_items_are_read() -> None:  # C8
    found = parse(dump({"position": "x", "notes": [{"text": "x"}] * 1000, "unknown": [1] * 5000}), Sheet)
    assert len(found.notes) == 1000
