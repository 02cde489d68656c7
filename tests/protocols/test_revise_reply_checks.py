"""The pure parts of a revision: headings, convergence, and what became of a debate."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, strategies as st
from markdown_it import MarkdownIt

from rebut.domain.ledger import Entry, Ledger, Move, Point
from rebut.protocols.revise import outcome, sections as document

TITLES = st.text(alphabet="abcdefgh XYZ", min_size=1, max_size=12).map(str.strip).filter(bool)
BODIES = st.sampled_from(["", "Some words.", "```\n# no heading\n```", "- a list\n- of two", "1. one\n\n> quoted"])
SECTIONS = st.lists(st.tuples(st.integers(1, 4), TITLES, BODIES), min_size=1, max_size=7)
Parts = list[tuple[int, str, str]]


def written(sections: Parts) -> str:
    return "".join(f"{'#' * level} {title}\n\n{body}\n\n" for level, title, body in sections)


def check(was: str, now: str) -> list[str]:
    return document.changed_headings(document.headings(was), document.headings(now))


@given(SECTIONS, st.lists(st.sampled_from(["- W1: it is meant so", "a plain line"]), max_size=3), st.booleans())
def test_what_only_adds_a_comment_and_a_defense_keeps_its_headings(  # K6
    sections: Parts, defense: list[str], comment: bool
) -> None:
    top = "<!-- Revision v2: Addressed critique points [W1]. Defended: []. -->\n\n" if comment else ""
    mine = [s for s in sections if s[1].casefold() != "defense"] or [(1, "a", "")]
    body = "\n".join(defense)
    now = f"{top}### Defense\n\n{body}\n\n{written(mine)}"
    assert check(written(mine), now) == []
    parts = document.parts(now)
    assert parts.document.strip() == written(mine).strip() and parts.defense == body


@given(SECTIONS, st.data())
def test_what_changes_only_the_text_under_headings_keeps_them(sections: Parts, data: st.DataObject) -> None:  # K6
    other = [(level, title, data.draw(BODIES)) for level, title, _ in sections]
    assert check(written(sections), written(other)) == []


@given(SECTIONS, st.data())
def test_a_lost_section_is_found(sections: Parts, data: st.DataObject) -> None:  # K6
    at = data.draw(st.integers(0, len(sections) - 1))
    assert check(written(sections), written(sections[:at] + sections[at + 1 :]))


@given(SECTIONS, st.data())
def test_sections_in_another_order_are_found(sections: Parts, data: st.DataObject) -> None:  # K6
    other = data.draw(st.permutations(sections))
    same = [s[:2] for s in other] == [s[:2] for s in sections]
    assert bool(check(written(sections), written(list(other)))) != same


@pytest.mark.parametrize(
    ("was", "now", "says"),
    [
        ("# A\n## B\n", "# A\n", "the heading '## B' is gone"),
        ("# A\n## B\n", "# A\n### B\n", "the heading '## B' is gone"),
        ("# A\n## B\n## C\n", "# A\n## C\n## B\n", "is not where it was"),
        ("# A\n", "# A\n## New\n", "the heading '## New' is new"),
        ("Title\n=====\n\nSub\n---\n", "Title\n=====\n", "the heading '## Sub' is gone"),
    ],
)
def test_the_difference_of_headings_is_told(was: str, now: str, says: str) -> None:  # K6
    assert any(says in line for line in check(was, now))


def test_what_looks_like_a_heading_and_is_none_does_not_count() -> None:  # K6
    assert document.headings("# A\n\n```sh\n# a comment\n```\n\n    # code\n\n#hash\n\n> # quoted\n") == ["# A"]


def test_a_defense_is_one_only_at_the_top() -> None:  # K6
    assert document.headings("# A\n\n### Defense\n\nof the castle\n") == ["# A", "### Defense"]


def test_sections_that_changed_are_counted_white_space_aside() -> None:
    was = "# A\n\nold\n\n## B\n\nsame  text\n\n## C\n\ngone\n"
    now = "<!-- Revision v2: Addressed critique points []. Defended: []. -->\n# A\n\nnew\n\n## B\n\nsame text\n"
    assert document.changed(was, now) == (2, 3) and document.changed(was, was) == (0, 3)


# convergence


def point(by: int, kind: str = "weakness", severity: str = "P1", round: int = 1, same_as: str = "") -> Point:
    text = f"a {kind} that author {by} sees in round {round}"
    return Point(text, f"author.{by}", round, severity, f"{kind}: x", about="", same_as=same_as)  # type: ignore[arg-type]


def again(severity: str) -> Move:
    return Move("W1", "maintain", "author.1", 2, severity=severity)


AUTHORS = ["author.1", "author.2"]


def reached(round: int, *entries: Entry) -> str:
    return outcome.reached(Ledger("W").add(entries), round, AUTHORS)


NO_WEAKNESS, COSMETIC = "no weakness in either critique", "only cosmetic disagreements are left"


@pytest.mark.parametrize(
    ("round", "entries", "why"),
    [
        (1, [], NO_WEAKNESS),
        (1, [point(1)], ""),
        (1, [point(2)], ""),
        (1, [point(1, severity="P3")], ""),  # a weakness is one, however small
        (2, [point(1), point(2)], NO_WEAKNESS),  # those were of round 1
        (2, [point(1), Move("W1", "maintain", "author.1", 2)], ""),  # pressed again
        (2, [point(1), point(2, round=2, same_as="W1")], ""),  # raised by the other, too
        (1, [point(1, "disagreement")], NO_WEAKNESS),
        (1, [point(1), point(1, "disagreement", "P3")], COSMETIC),
        (1, [point(1), point(1, "disagreement", "P3"), point(2, "disagreement", "P3")], COSMETIC),
        (1, [point(1), point(1, "disagreement", "P3"), point(2, "disagreement", "P2")], ""),
        (2, [point(1, "disagreement", "P3"), point(1, round=2)], ""),  # no disagreement in this round
        (2, [point(1, "disagreement"), point(1, round=2), again("P3")], COSMETIC),
        (2, [point(1, "disagreement", "P3"), point(1, round=2), again("P1")], ""),
    ],
)  # fmt: skip
def test_weaknesses_and_cosmetic_disagreements(round: int, entries: list[Entry], why: str) -> None:  # K8
    assert reached(round, *entries) == why


def test_what_the_critiques_list_counts_also_where_the_ledger_could_not_place_it() -> None:  # K8 C10
    lost = Ledger("W").add([point(1, same_as="W9"), point(2, same_as="W9")])
    assert not lost.points and outcome.reached(lost, 1, AUTHORS, weaknesses=2) == ""
    small = Ledger("W").add([point(1), point(1, "disagreement", "P3"), point(2, "disagreement", same_as="W9")])
    assert outcome.reached(small, 1, AUTHORS, weaknesses=1) == COSMETIC
    assert outcome.reached(small, 1, AUTHORS, weaknesses=1, weightiest="P1") == ""


def conceded(by: int, *ids: str, round: int = 2, kind: str = "concede") -> list[Entry]:
    return [Move(id, kind, f"author.{by}", round) for id in ids]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("round", "moves", "shared"),
    [
        (2, [*conceded(1, "W1"), *conceded(2, "W1")], "W1"),
        (2, [*conceded(1, "W2", "W1"), *conceded(2, "W1", "W2")], "W1, W2"),
        (2, [*conceded(1, "W1", kind="withdraw"), *conceded(2, "W1")], "W1"),
        (2, [], ""),  # the same, but nothing
        (2, conceded(1, "W1"), ""),
        (2, [*conceded(1, "W1"), *conceded(2, "W2")], ""),
        (2, [*conceded(1, "W1", "W2"), *conceded(2, "W1")], ""),
        (2, [*conceded(1, "W9"), *conceded(2, "W9")], ""),  # no such point
        (3, [*conceded(1, "W1"), *conceded(2, "W1")], ""),  # that was in round 2
        (1, [*conceded(1, "W1", round=1), *conceded(2, "W1", round=1)], ""),  # from round 2 on
    ],
)
def test_conceding_the_same_set_of_points(round: int, moves: list[Entry], shared: str) -> None:  # K8
    pressing = [point(1), point(2), point(1, round=round)]
    assert reached(round, *pressing, *moves) == (f"both concede the same points ({shared})" if shared else "")


def test_many_renamed_headings_are_compared_in_no_time() -> None:  # C8
    was = [f"## step number {n} of it" for n in range(3000)]
    now = [f"## step number {n} of them" for n in range(3000)]
    began = time.process_time()
    found = document.changed_headings(was, now)
    assert len(found) == 6000 and time.process_time() - began < 5, "with `ndiff` it would be hours"


def test_a_long_document_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:  # C8
    parsed: list[int] = []
    good = MarkdownIt.parse
    monkeypatch.setattr(MarkdownIt, "parse", lambda self, text: parsed.append(1) or good(self, text))
    text = "# One\n\n" + "a\n" * 5000
    assert [document.changed(text, text) for _ in range(5)] == [(0, 1)] * 5
    assert document.headings(text) == ["# One"] and len(parsed) <= 2
