"""The ledger: ids, voices, lifecycle, slips, and that it is a pure fold."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given, settings, strategies as st

from rebut.domain.ledger import (
    AFTER,
    SETTLED,
    UNPROVEN,
    Claim,
    Entry,
    Evidence,
    Ledger,
    Move,
    MoveKind,
    Point,
    Slip,
    Status,
    from_json,
    ledger_from_json,
    ledger_to_json,
    overlap,
    similar,
    to_json,
)

calm = settings(deadline=None, derandomize=True)

HERE = Evidence("src/a.py:10-20", "x = 1", "found")
THERE = Evidence("src/b.py:5", "", "located")


def point(text: str = "it breaks", by: str = "challenger", round: int = 1, **more: Any) -> Point:
    return Point(text, by, round, **{"category": "correctness", **more})


def move(kind: MoveKind, id: str = "D1", by: str = "proposer", round: int = 2, **more: Any) -> Move:
    return Move(id, kind, by, round, **{"reason": f"I {kind} it", **more})


def with_entries(*entries: Entry) -> Ledger:
    return Ledger("D").add(entries)


# ids


def test_claims_and_points_are_numbered_by_the_program_whatever_id_they_came_with() -> None:
    ledger = with_entries(Claim("a", "proposer", 1, id="C7"), point(id="D99"), Claim("b", "proposer", 1), point("else"))
    assert [c.id for c in ledger.claims] == ["C1", "C2"]  # C10
    assert [p.id for p in ledger.points] == ["D1", "D2"]
    assert ledger.ids() == {"C1", "C2", "D1", "D2"}


@pytest.mark.parametrize("kind", ["resolve", "withdraw"])
def test_something_new_where_a_point_was_settled_is_a_point_of_its_own(kind: MoveKind) -> None:
    over = move(kind, by="challenger")
    ledger = with_entries(point(evidence=(HERE,)), over, point("it breaks anew", round=3, evidence=(HERE,)))
    assert [(p.id, p.text) for p in ledger.points] == [("D1", "it breaks"), ("D2", "it breaks anew")]  # C10
    assert ledger.status("D1") == AFTER[kind] and [p.id for p in ledger.open] == ["D2"]


def test_a_move_on_an_id_that_does_not_exist_is_kept_as_unmatched_and_never_as_new() -> None:
    stray = move("defend", "D7")
    ledger = with_entries(point(), stray)
    assert [p.id for p in ledger.points] == ["D1"]  # C10
    assert ledger.moves == ()
    assert ledger.unmatched == (stray,) and ledger.unplaced == ()  # an answer to nothing is no objection


def test_a_repeated_point_that_names_an_unknown_id_is_unmatched_and_never_new() -> None:
    ledger = with_entries(point(), point("as I said", round=2, same_as="D9", evidence=(THERE,)))
    assert [p.text for p in ledger.points] == ["it breaks"]  # C10
    [kept] = ledger.unmatched
    assert ledger.unplaced == (kept,)
    assert (kept.point, kept.reason, kept.by, kept.round, kept.evidence) == (
        "D9",
        "as I said",
        "challenger",
        2,
        (THERE,),
    )


# one issue, two voices


def test_words_are_never_replaced_by_those_of_another_on_the_same_lines() -> None:
    said = [point(f"flaw {n}", f"critic.{n}", evidence=(HERE,)) for n in (1, 2, 3)]
    wide = point("everything", "critic.4", evidence=(Evidence("src/a.py:1-99"),))
    ledger = with_entries(*said, wide)
    assert [(p.id, p.text, p.voices) for p in ledger.points] == [
        ("D1", "flaw 1", ("critic.1",)),
        ("D2", "flaw 2", ("critic.2",)),
        ("D3", "flaw 3", ("critic.3",)),
        ("D4", "everything", ("critic.4",)),
    ]  # C10
    assert similar(ledger.points)["D4"] == ["D1", "D2", "D3"], "a hint, and no more"


@pytest.mark.parametrize("again", ["it breaks", "It  breaks.", " IT BREAKS!", "it\nbreaks …"])
@pytest.mark.parametrize(
    "place", ["src/a.py:10-20", "./src/a.py:20-30", "src/a.py", "https://example.org/a", "c0d4cc5"]
)
def test_the_same_words_about_the_same_place_are_one_issue_with_both_texts(again: str, place: str) -> None:
    second = point(again, "judge", severity="P1", evidence=(Evidence(place),), category="security")
    ledger = with_entries(point(evidence=(HERE,)), point("other"), second)
    assert [p.id for p in ledger.points] == ["D1", "D2"]  # C10
    one = ledger.points[0]
    assert (one.text, one.voices, one.severity) == ("it breaks", ("challenger", "judge"), "P1")
    assert [(w.id, w.text, w.by, w.severity) for w in one.said] == [
        ("D1", "it breaks", "challenger", "P2"),
        ("D1", again, "judge", "P1"),
    ]
    assert one.words() == f"it breaks [the same by judge in round 1: {again}]"
    assert ledger.status("D1") == "raised" and not ledger.moves, "in the same round nothing was answered yet"
    assert [p.text for p in ledger.raised_by("judge", 1)] == [again]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"about": "author.1"}, {"about": "author.2"}),
        ({"about": "C1"}, {"about": "C2"}),
        ({"evidence": (HERE,)}, {"evidence": (Evidence("src/a.py:21"),)}),
        ({"evidence": (HERE,)}, {"evidence": (THERE,)}),
        ({"evidence": (Evidence("§ Cost"),)}, {"evidence": (Evidence("§ Goal"),)}),
    ],
)
def test_the_same_words_about_another_document_claim_or_place_are_another_point(first: Any, second: Any) -> None:
    ledger = with_entries(point(**first), point(by="critic.2", **second))
    assert [p.voices for p in ledger.points] == [("challenger",), ("critic.2",)]  # C10


def test_one_author_means_the_same_words_once_for_each_place() -> None:
    said = [point("unused import", evidence=(Evidence(f"src/a.py:{n}"),)) for n in (1, 2, 2)]
    later = [point("unused import", round=2, evidence=(Evidence(f"src/a.py:{n}"),)) for n in (2, 1)]
    ledger = with_entries(*said, *later)
    assert [(p.id, len(p.wordings)) for p in ledger.points] == [("D1", 2), ("D2", 3)]  # C10
    assert [(m.point, m.round) for m in ledger.moves] == [("D2", 2), ("D1", 2)]


def test_no_words_are_not_the_same_words() -> None:
    assert len(with_entries(point("", "a"), point(" ", "b"), point("…", "c")).points) == 3


def test_a_point_never_joins_one_of_another_document_even_if_it_says_so() -> None:
    about = with_entries(point(about="author.1"), point("also", "author.1", about="author.2", same_as="D1"))
    assert [(p.id, p.text) for p in about.points] == [("D1", "it breaks"), ("D2", "also")]  # C10
    claims = with_entries(
        Claim("a", "proposer", 1),
        Claim("b", "proposer", 1),
        point(about="C1"),
        point("also", about="C2", round=2, same_as="D1"),
    )
    assert [p.id for p in claims.points] == ["D1"], "claims are parts of one case"


def test_what_is_raised_again_is_pressed_in_its_own_words_and_listed_once() -> None:
    ledger = with_entries(point(), move("defend"), point("it still breaks", round=3, same_as="D1", evidence=(THERE,)))
    assert ledger.status("D1") == "unresolved"  # C10
    assert [m.kind for m in ledger.answers] == ["defend"] and [m.kind for m in ledger.moves] == ["defend", "maintain"]
    assert ledger.points[0].words() == "it breaks [the same by challenger in round 3: it still breaks]"
    assert ledger.marks() == {"located": 1}
    before = ledger.upto(2)
    assert before.points == with_entries(point()).points, "what came later is not there yet"


def test_an_objection_that_repeats_nothing_stays_unmatched_whatever_gets_its_id() -> None:
    lost = Move("D1", "maintain", "critic.2", 1, "as D1 says", objection=True)
    ledger = with_entries(point(), lost)
    assert ledger.unplaced == (lost,) and ledger.moves == ()  # C10


# version 1 of the rules, for sessions that were opened with it


@pytest.mark.parametrize(
    ("place", "category", "joined"),
    [
        ("src/a.py:10-20", "correctness", True),
        ("src/a.py:20", "correctness", True),
        ("src/a.py:1-10", "correctness", True),
        ("src/a.py#L15", "correctness", True),
        ("src/a.py:21", "correctness", False),
        ("src/a.py:1-9", "correctness", False),
        ("src/b.py:10-20", "correctness", False),
        ("src/a.py:10-20", "security", False),
        ("src/a.py:10-20", "", False),
        ("src/a.py", "correctness", False),
        ("", "correctness", False),
    ],
)
def test_version_1_joins_points_whose_path_lines_and_category_agree(place: str, category: str, joined: bool) -> None:
    first = point("off by one", "critic.1", evidence=(HERE,))
    second = point("wrong bound", "critic.2", category=category, evidence=(Evidence(place),))
    ledger = Ledger("D", version=1).add([first, second])
    assert len(ledger.points) == (1 if joined else 2)  # C10
    assert ledger.points[0].voices == (("critic.1", "critic.2") if joined else ("critic.1",))
    assert (Evidence(place) in ledger.points[0].evidence) is joined
    assert len(with_entries(first, second).points) == 2
    assert [w.text for p in ledger.points for w in p.wordings] == ["off by one", "wrong bound"], "no words are lost"


def test_the_same_words_elsewhere_are_another_point() -> None:
    ledger = with_entries(
        point("off by one", "a", evidence=(HERE,)), point("off by one", "b", evidence=(Evidence("src/b.py:10-20"),))
    )
    assert [p.voices for p in ledger.points] == [("a",), ("b",)]  # C10


def test_an_explicit_same_as_joins_two_voices_wherever_they_look() -> None:
    ledger = with_entries(point(by="a", evidence=(HERE,)), point("also", "b", same_as="D1", evidence=(THERE,)))
    [one] = ledger.points
    assert (one.id, one.text, one.voices, one.evidence) == ("D1", "it breaks", ("a", "b"), (HERE, THERE))  # C10


def test_a_point_that_is_said_to_be_the_same_as_another_is_not_joined_to_a_third_by_its_place() -> None:
    ledger = with_entries(
        point(by="a", evidence=(HERE,)),
        point("far", "a", evidence=(THERE,)),
        point("x", "b", same_as="D2", evidence=(HERE,)),
    )
    assert [p.voices for p in ledger.points] == [("a",), ("a", "b")]  # C10


def test_one_author_with_two_flaws_on_the_same_lines_keeps_both() -> None:
    ledger = with_entries(point("off by one", evidence=(HERE,)), point("and it leaks", evidence=(HERE,)))
    assert [p.text for p in ledger.points] == ["off by one", "and it leaks"]  # C10


def test_an_author_who_raises_the_same_again_in_a_later_round_raises_nothing_new() -> None:
    again = point("still", round=2, evidence=(HERE, THERE), same_as="D1")
    ledger = with_entries(point(evidence=(HERE,)), again)
    assert Ledger("D", version=1).add([point(evidence=(HERE,)), replace(again, same_as="")]).points[0].round == 1
    [one] = ledger.points
    assert (one.voices, one.round, one.evidence) == (("challenger",), 1, (HERE, THERE))  # C10


# lifecycle


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("concede", "conceded"),
        ("defend", "defended"),
        ("partly", "partly accepted"),
        ("withdraw", "withdrawn"),
        ("resolve", "resolved"),
        ("maintain", "unresolved"),
    ],
)
def test_a_move_brings_a_point_to_its_place_in_the_lifecycle(kind: MoveKind, status: Status) -> None:
    ledger = with_entries(point(), point("other"), move(kind, evidence=(THERE,)))
    assert ledger.status("D1") == status  # C10
    assert ledger.status("D2") == "raised"
    settled = status in ("conceded", "withdrawn", "resolved")
    assert [p.id for p in ledger.open] == (["D2"] if settled else ["D1", "D2"])
    assert [p.id for p in ledger.having(status)] == ["D1"]


def test_what_nobody_answered_is_unanswered_at_the_end_and_only_then() -> None:
    ledger = with_entries(point(), point("b"), move("defend", "D2"))
    assert (ledger.status("D1"), ledger.final_status("D1")) == ("raised", "unanswered")  # C10
    assert ledger.final_status("D2") == "defended"


def test_the_last_word_counts() -> None:
    ledger = with_entries(
        point(),
        move("defend"),
        move("maintain", by="challenger"),
        move("partly", round=3),
        move("resolve", by="challenger", round=3),
    )
    assert ledger.status("D1") == "resolved"  # C10


# concessions are held


def test_walking_a_concession_back_without_evidence_is_a_slip_and_changes_nothing() -> None:
    ledger = with_entries(point(), move("concede"), move("defend", round=3))
    assert ledger.slips == (Slip("walked back", "D1", "proposer", 3),)  # C12
    assert ledger.status("D1") == "conceded"


@pytest.mark.parametrize("kind", ["defend", "partly"])
@pytest.mark.parametrize(
    "cited",
    [
        Evidence("src/b.py:5", "other words there"),  # cited when it was conceded
        Evidence("src/a.py:10-20"),  # cited when the point was raised
        Evidence("src/new.py:3", "made up", "absent"),
    ],
)
def test_evidence_that_was_on_the_table_or_is_not_there_does_not_undo_a_concession(
    kind: MoveKind, cited: Evidence
) -> None:
    ledger = with_entries(
        point(evidence=(HERE,)), move("concede", evidence=(THERE,)), move(kind, round=3, evidence=(cited,))
    )
    assert [s.kind for s in ledger.slips] == ["walked back"]  # C12
    assert ledger.status("D1") == "conceded"


def test_new_evidence_undoes_a_concession_without_a_slip() -> None:
    ledger = with_entries(
        point(evidence=(HERE,)),
        move("concede", evidence=(THERE,)),
        move("defend", round=3, evidence=(Evidence("src/new.py:3", "y", "found"),)),
    )
    assert ledger.slips == ()  # C12
    assert ledger.status("D1") == "defended"


def test_the_other_sides_pressing_on_or_closing_does_not_undo_a_concession() -> None:
    pressed = with_entries(point(), move("concede"), move("maintain", by="challenger"))
    closed = with_entries(point(), move("concede"), move("resolve", by="challenger"))
    assert (pressed.status("D1"), closed.status("D1")) == ("conceded", "conceded")  # C12


def test_a_concession_of_one_point_does_not_bind_on_another() -> None:
    ledger = with_entries(point(), point("b"), move("concede"), move("defend", "D2", round=3))
    assert ledger.slips == ()  # C12


@pytest.mark.parametrize("kind", ["resolve", "withdraw"])
def test_an_objection_given_up_without_a_reason_is_dropped(kind: MoveKind) -> None:
    silent = with_entries(point(), move(kind, by="challenger", reason=" "))
    assert silent.slips == (Slip("dropped", "D1", "challenger", 2),)  # C12
    reasoned = with_entries(point(), move(kind, by="challenger", reason="the test shows it"))
    cited = with_entries(point(), move(kind, by="challenger", reason="", evidence=(HERE,)))
    assert reasoned.slips == cited.slips == ()


# what stop rules and reports read


def test_claims_without_evidence_are_unsupported_and_marks_are_counted() -> None:
    ledger = with_entries(
        Claim("a", "proposer", 1, (HERE,)),
        Claim("b", "proposer", 1),
        point(evidence=(THERE, Evidence("x.py:1", "", "absent"))),
        move("defend", evidence=(Evidence("y"),)),
    )
    assert [c.id for c in ledger.unsupported] == ["C2"]  # C11
    assert ledger.marks() == {"found": 1, "located": 1, "absent": 1, "unchecked": 1}


def test_adding_gives_a_new_ledger_and_leaves_the_old_one_alone() -> None:
    before = with_entries(point())
    after = before.add([move("concede"), point("b")])
    assert (before.status("D1"), len(before.points)) == ("raised", 1)  # C10
    assert (after.status("D1"), len(after.points)) == ("conceded", 2)


# properties

texts = st.text(max_size=12)
seats = st.sampled_from(["proposer", "challenger", "critic.2"])
rounds = st.integers(1, 5)
places = st.one_of(
    st.sampled_from(["a.py:1", "a.py:1-9", "a.py:5", "b.py", "a.py#L5-L9", "https://x/y:80", "", " ", "commit abc"]),
    st.builds("{}:{}-{}".format, st.sampled_from(["a.py", "ü b.py"]), st.integers(0, 99), st.integers(0, 99)),
    texts,
)
marks = st.sampled_from(["", "found", "moved", "located", "absent", "uncheckable"])
evidence = st.lists(st.builds(Evidence, places, texts, marks), max_size=2).map(tuple)
ids = st.sampled_from(["D1", "D2", "D3", "D9", "C1", "", "d1"])
claims = st.builds(Claim, texts, seats, rounds, evidence)
points = st.builds(
    Point,
    texts,
    seats,
    rounds,
    st.sampled_from(["P1", "P2", "P3"]),
    st.sampled_from(["", "correctness", "security"]),
    evidence,
    about=texts,
    same_as=st.sampled_from(["", "", "", "D1", "D2", "D9"]),
    id=texts,
)
moves = st.builds(Move, ids, st.sampled_from(get_args(MoveKind)), seats, rounds, texts, evidence)
slips = st.builds(Slip, st.sampled_from(["walked back", "dropped"]), ids, seats, rounds)
entries = st.lists(st.one_of(claims, points, moves, slips), max_size=14)


@calm
@given(entries)
def test_ids_are_unique_and_dense_and_nothing_that_was_said_is_lost(said: list[Entry]) -> None:
    ledger = with_entries(*said)
    assert [c.id for c in ledger.claims] == [f"C{n}" for n in range(1, len(ledger.claims) + 1)]  # C10
    assert [p.id for p in ledger.points] == [f"D{n}" for n in range(1, len(ledger.points) + 1)]
    assert len(ledger.claims) == sum(isinstance(e, Claim) for e in said)
    kept_moves = len(ledger.moves) + len(ledger.unmatched)
    raised = [e for e in said if isinstance(e, Point)]
    assert sum(isinstance(e, Move) for e in said) <= kept_moves <= len(said)
    assert {p.by for p in raised} == {v for p in ledger.points for v in p.voices} | {
        p.by for p in raised if p.same_as and any(m.point == p.same_as for m in ledger.unmatched)
    }
    assert all(ledger.point(m.point) for m in ledger.moves)


@calm
@given(entries, st.data())
def test_the_same_entries_give_the_same_ledger_however_they_are_batched(said: list[Entry], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(said)))
    assert with_entries(*said) == Ledger("D").add(said[:at]).add(said[at:])  # C3


@calm
@given(entries)
def test_entries_and_ledger_survive_the_record(said: list[Entry]) -> None:
    ledger = with_entries(*said)
    again = [from_json(json.loads(json.dumps(to_json(entry)))) for entry in said]
    assert again == said  # C3
    assert with_entries(*again) == ledger
    assert ledger_from_json(json.loads(json.dumps(ledger_to_json(ledger)))) == ledger


@calm
@given(entries)
def test_every_point_is_always_at_one_place_of_the_lifecycle_and_open_or_settled(said: list[Entry]) -> None:
    ledger = with_entries(*said)
    for p in ledger.points:
        assert ledger.status(p.id) in get_args(Status)  # C10
        assert ledger.final_status(p.id) in set(get_args(Status)) - {"raised"}
        assert (p in ledger.open) is (ledger.status(p.id) not in SETTLED or ledger.contested(p))
        assert not (p in ledger.open and p in ledger.agreed)
    assert set(AFTER.values()) | {"raised", "unanswered", UNPROVEN} == set(get_args(Status))


stale = st.lists(
    st.sampled_from([HERE, Evidence("src/b.py:5"), Evidence("new.py:1", "n", "absent"), THERE]), max_size=3
).map(tuple)
later = st.one_of(
    st.builds(
        Move, st.just("D1"), st.sampled_from(["defend", "partly", "concede"]), st.just("proposer"), rounds, texts, stale
    ),
    st.builds(
        Move, st.just("D1"), st.sampled_from(["maintain", "resolve"]), st.just("challenger"), rounds, texts, evidence
    ),
    claims,
    st.builds(Move, st.just("D2"), st.sampled_from(get_args(MoveKind)), seats, rounds, texts, stale),
)


@calm
@given(st.lists(later, max_size=8))
def test_conceded_stays_conceded_until_its_author_brings_new_evidence(said: list[Entry]) -> None:
    begun = with_entries(
        point(evidence=(HERE,)), point("b", evidence=(Evidence("z.py:1"),)), move("concede", evidence=(THERE,))
    )
    held = begun.add(said)
    assert held.status("D1") == "conceded"  # C12
    back = held.add([move("defend", round=6, evidence=(Evidence("fresh.py:1", "f", "found"),))])
    assert back.status("D1") == "defended"


@calm
@given(points, points)
def test_overlap_is_symmetric_and_never_by_words(a: Point, b: Point) -> None:
    assert overlap(a, b) is overlap(b, a)  # C10
    if overlap(a, b):
        assert overlap(point("quite other words", evidence=a.evidence), b)


@calm
@given(entries)
def test_every_point_is_in_the_ledger_in_its_own_words_under_its_speaker(said: list[Entry]) -> None:
    ledger = with_entries(*said)
    kept = Counter((w.text, w.by, w.round, w.about, w.evidence) for p in ledger.points for w in p.wordings)
    lost = Counter((m.reason, m.by, m.round, m.evidence) for m in ledger.unplaced)
    raised = [e for e in said if isinstance(e, Point)]
    assert len(raised) == kept.total() + lost.total()  # C10
    for one in raised:
        mine = (one.text, one.by, one.round)
        assert (*mine, one.about, one.evidence) in kept or (*mine, one.evidence) in lost


@calm
@given(entries)
def test_points_of_one_issue_were_said_to_be_the_same_or_have_the_same_words(said: list[Entry]) -> None:
    for issue in with_entries(*said).points:
        for n, one in enumerate(issue.said[1:], 1):
            plain = {" ".join(w.text.split()).casefold().rstrip(" .,;:!?…") for w in issue.said[:n]}
            assert one.same_as == issue.id or " ".join(one.text.split()).casefold().rstrip(" .,;:!?…") in plain  # C10
