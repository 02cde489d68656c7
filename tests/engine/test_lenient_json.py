"""Mistakes of models in JSON, read in one pass."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from rebut.engine.lenient_json import LenientObject

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{a: 1, 'b': 'x', “c”: “y”}", {"a": 1, "b": "x", "c": "y"}),
        ('{"a": [1, 2,], "b": {"c": null,},}', {"a": [1, 2], "b": {"c": None}}),
        ('{"a": 1 // one\n, /* two */ "b": 2 # three\n}', {"a": 1, "b": 2}),
        ('{"a": True, "b": False, "c": None, "d": -1.5e3}', {"a": True, "b": False, "c": None, "d": -1500.0}),
        ('{"a": "He said "yes", then left", "b": 1}', {"a": 'He said "yes", then left', "b": 1}),
        ('{"a": "x"\n "b": "y"}', {"a": "x", "b": "y"}),
        ('{"a": "two\nlines", "b": "C:\\dir \\u0041 \\n"}', {"a": "two\nlines", "b": "C:\\dir A \n"}),
        ('{"a": bare words, "b": [x, y]}', {"a": "bare words", "b": ["x", "y"]}),
        ('{"a": "uses {braces} and [brackets], too"}', {"a": "uses {braces} and [brackets], too"}),
    ],
)
def test_the_usual_mistakes_are_understood(text: str, value: object) -> None:  # C5
    assert LenientObject(text).value == value


@pytest.mark.parametrize(
    "text", ["", "[1]", '{"a"}', '{"a": }', '{"a": "b}', "{: 1}", '{"a": 1} x', "{" * 200 + "}" * 200]
)
def test_what_is_no_object_is_refused(text: str) -> None:  # C5
    with pytest.raises(ValueError, match=r"\w"):
        LenientObject(text)


def test_a_name_twice_is_noticed_at_any_depth() -> None:  # C5
    assert LenientObject('{"a": [{"b": 1, b: 2}]}').names_twice
    assert not LenientObject('{"a": {"b": 1}, "b": {"a": 2}}').names_twice


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=4))
def test_valid_json_is_read_as_it_is(value: dict[str, object]) -> None:
    for indent in (None, 1):
        assert LenientObject(json.dumps(value, indent=indent)).value == value
