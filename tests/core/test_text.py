"""Text for people: cut, wrapped and counted."""

from __future__ import annotations

import pytest

from rebut.core.text import counted, cut, cut_start, plural, wrapped


def test_a_text_is_cut_to_one_line() -> None:
    assert cut("a  b\nc", 10) == "a b c"
    assert cut("one two three", 8) == "one two…"
    assert cut("one two three", 9) == "one two…"  # no space before the ellipsis


def test_the_end_of_a_path_is_what_tells_it_apart() -> None:
    assert cut_start("src/rebut/core/text.py", 8) == "…text.py"
    assert cut_start("text.py", 7) == "text.py"
    assert cut_start("text.py", 1) == "…"


def test_a_paragraph_is_wrapped_without_cutting_what_is_copied() -> None:
    assert wrapped("a --long-flag here", 8, indent="- ", hanging="  ") == ["- a", "  --long-flag", "  here"]
    assert wrapped("", 10) == [""]
    assert wrapped("abcdefgh", 4, break_words=True) == ["abcd", "efgh"]
    assert wrapped("one two", 5, indent="> ") == ["> one", "> two"]


@pytest.mark.parametrize(("count", "said"), [(0, "0 files"), (1, "1 file"), (2, "2 files")])
def test_a_count_agrees_with_its_noun(count: int, said: str) -> None:
    assert counted(count, "file") == said


def test_nouns_that_an_s_does_not_fit_give_both_forms() -> None:
    assert counted(2, "answer is", "answers are") == "2 answers are"
    assert plural(1, "entry", "entries") == "entry"
    assert plural(0, "entry", "entries") == "entries"


def test_a_number_of_seconds_stays_with_its_unit() -> None:
    assert wrapped("it took 1.1 s, $0.00", 11) == ["it took", "1.1 s,", "$0.00"]
    assert wrapped("it took 2 min 05 s", 14) == ["it took 2 min", "05 s"]
