"""Which words of the rules a text has: found in one go, and the same for words that were seen before."""

from __future__ import annotations

from hypothesis import given, strategies as st

from rebut.core import secret_contexts, secret_patterns
from rebut.core.searched_text import FEW_LETTERS, KEPT_WORD, MOST_NEW, GatesByWord

GATES = tuple(dict.fromkeys((*secret_patterns.gates(), *secret_contexts.gates())))
PIECES = st.one_of(st.sampled_from(GATES), st.sampled_from(["a", "é", "İ", "→", "\U0001f600", "\ud800", "="]))
WORDS = st.lists(st.lists(PIECES, min_size=1, max_size=6).map(lambda made: "".join("".join(made).split())), max_size=8)


def plainly(words: list[str]) -> set[str]:
    low = "".join(f"\n{word}" for word in words).lower()
    return {gate for gate in GATES if gate in low}


def test_the_gates_are_short_plain_words_in_lower_case() -> None:  # C8
    assert len(GATES) > 200
    assert all(gate.isascii() and gate == gate.lower() and gate.split() == [gate.removeprefix("\n")] for gate in GATES)


@given(WORDS.filter(all))
def test_all_gates_of_any_words_are_found_at_once(words: list[str]) -> None:  # C8
    assert set(GatesByWord(GATES).among("".join(f"\n{word}" for word in words).lower())) == plainly(words)


def test_a_gate_is_found_at_every_place_of_a_short_and_of_a_long_text() -> None:  # C8
    by_word = GatesByWord(GATES)
    for gate in GATES:
        for before in range(8):
            for after in (0, 1, 2, 3, FEW_LETTERS):
                assert gate in by_word.among("x" * before + gate + "x" * after), (gate, before, after)


@given(st.lists(WORDS.filter(all), max_size=4), WORDS.filter(all))
def test_what_was_seen_before_changes_nothing(before: list[list[str]], words: list[str]) -> None:  # C8
    by_word = GatesByWord(GATES)
    for seen in before:
        by_word.read(set(seen))
    for _ in range(2):
        present, rest = by_word.read(set(words))
        assert present == plainly(words)
        assert {word for word in words if len(word) >= 14 or plainly([word])} <= rest


def test_very_many_new_words_and_very_long_ones_are_read_each_time() -> None:  # C8
    by_word = GatesByWord(GATES)
    for words in ({f"password{n}" for n in range(MOST_NEW + 1)}, {"x" * (KEPT_WORD + 1) + "curl_token"}):
        for _ in range(2):
            present, rest = by_word.read(set(words))
            assert rest == words and present == plainly(list(words))
