"""The gate's rules, each as a table: what counts, what is stricter, which code comes out."""

from __future__ import annotations

from itertools import product

import pytest
import reviews

from rebut.ci import gate
from rebut.ci.dismissals import Dismissal
from rebut.domain.gate_policy import STRICTER, Policy, Wish, combined_wish
from rebut.domain.outcome import Seated

DOUBT = ("a seat failed",)


@pytest.mark.parametrize("severity", ["P1", "P2", "P3"])
@pytest.mark.parametrize("threshold", ["", "P1", "P2", "P3"])
def test_a_finding_at_or_above_the_threshold_fails_and_none_below_it_does(severity: str, threshold: str) -> None:  # C17
    ruling = gate.judge(reviews.ending(reviews.finding(severity=severity)), Policy(threshold))
    grave = {"": [], "P1": ["P1"], "P2": ["P1", "P2"], "P3": ["P1", "P2", "P3"]}[threshold]
    assert ruling.code == (1 if severity in grave else 0)
    assert [f.id for f in ruling.failing] == (["F1"] if severity in grave else [])


@pytest.mark.parametrize(
    ("changes", "counts"),
    [
        ({}, True),
        ({"ruling": "missing evidence"}, True),
        ({"ruling": ""}, True),
        ({"mark": "located"}, True),
        ({"ruling": "invalid"}, False),
        ({"struck": True, "mark": "absent"}, False),
        ({"status": "withdrawn"}, False),
        # What a later version mends still stands in the change that is to go in.
        ({"status": "resolved"}, True),
    ],
    ids=str,
)
def test_only_findings_that_stand_count(changes: dict[str, object], counts: bool) -> None:  # C17
    made = reviews.ending(reviews.finding(severity="P2", **changes))
    assert gate.judge(made, Policy("P2")).code == (1 if counts else 0)


def test_what_the_last_version_mends_no_longer_counts_once_that_version_was_applied() -> None:
    made = reviews.ending(reviews.finding(status="resolved"), reviews.finding("F2", status="raised"))
    assert [f.id for f in gate.judge(made, Policy("P1"), applied=True).failing] == ["F2"]


def test_a_dismissed_finding_does_not_count_and_is_told() -> None:
    one = Dismissal("api/orders.py", "correctness", "x", "we know")
    made = reviews.ending(reviews.finding(), reviews.finding("F2", "P3"))
    ruling = gate.judge(made, Policy("P1"), dismissed={"F1": one, "F2": one})
    assert (ruling.code, ruling.dismissed) == (0, ("F1",)), "F2 would not have failed it anyway"


@pytest.mark.parametrize(
    ("found", "doubts", "complete", "inconclusive", "code"),
    [
        (False, (), True, "fail", 0),
        (False, DOUBT, True, "fail", 3),
        (False, DOUBT, True, "pass", 0),
        (True, (), True, "fail", 1),
        (True, DOUBT, True, "fail", 1),  # a finding that stands is one, whatever else was not read
        (True, DOUBT, True, "pass", 1),
        (False, (), False, "fail", 5),
        (True, DOUBT, False, "pass", 5),  # it can still go on
    ],
)
def test_the_exit_code_says_which_of_it_came_first(
    found: bool, doubts: tuple[str, ...], complete: bool, inconclusive: str, code: int
) -> None:  # C17
    made = reviews.ending(*([reviews.finding()] if found else []))
    ruling = gate.judge(made, Policy("P1", inconclusive), doubts=doubts, complete=complete)
    assert ruling.code == code


CASES = [(n, a, b) for n, order in STRICTER.items() for a, b in product([None, *order], repeat=2)]


@pytest.mark.parametrize(("name", "mine", "theirs"), CASES)
def test_a_repository_can_make_each_rule_stricter_and_none_looser(
    name: str, mine: str | None, theirs: str | None
) -> None:  # C16
    order = STRICTER[name]
    policy = combined_wish(Wish(**{name: mine}), Wish(**{name: theirs}), "rebut.toml")
    alone = getattr(combined_wish(Wish(**{name: mine}), Wish(), ""), name)
    assert alone == (getattr(Policy(), name) if mine is None else mine)
    strictness = max(order.index(alone), order.index(theirs) if theirs is not None else 0)
    assert getattr(policy, name) == order[strictness]
    if theirs == "pass" and mine is None and getattr(Policy(), name) != "pass":
        assert "may not loosen a gate" in policy.notices[0]


def test_flags_win_over_the_users_config_and_only_where_they_say_something() -> None:
    wish = Wish("P3").over(Wish("P1", "pass", "none"))
    assert wish == Wish("P3", "pass", "none")


@pytest.mark.parametrize(
    ("left_out", "doubted"),
    [
        ("logo.png: binary", False),
        ("fonts/Inter.WOFF2: binary", False),
        ("run.sh: binary", True),
        ("no-ending: binary", True),
        ("png: binary", True),
        ("data.csv: larger than 1 MB", True),
        (".env: never read: it may hold secrets", True),
        ("lib: a submodule, removed", False),
        ("lib: a submodule, moved from commit 12 to 34; what is inside it is not read", True),
        (".git/x.md: rebut's own output (1 file)", False),
        ("evil: rebut's own output (1 file)/x.py: larger than 1 MB", True),
    ],
)
def test_a_file_that_nobody_read_leaves_a_review_in_doubt(left_out: str, doubted: bool) -> None:  # C17
    found = reviews.standing(of=reviews.target(left_out=(left_out,)))
    assert found.ruling.doubts == ((f"not read: {left_out}",) if doubted else ())
    assert found.ruling.code == (3 if doubted else 0)


@pytest.mark.parametrize(
    ("before", "after", "doubted"),
    [
        (None, "[limits]\nrounds = 1\n", True),
        ("[limits]\nrounds = 3\n", "[limits]\nrounds = 1\n", True),
        ("", '[egress]\nnever = ["src/**"]\n', True),
        ('[egress]\nnever = ["x"]\n', None, True),
        ("", "not = [toml\n", True),
        ("[limits]\nrounds = 3\n", '# said\n[limits]\nrounds = 3\n[gate]\nfail_on = "P1"\n', False),
    ],
)
def test_a_change_that_sets_the_limits_of_its_own_review_leaves_it_in_doubt(
    before: str | None, after: str | None, doubted: bool
) -> None:  # C16
    changed = reviews.target(reviews.change("rebut.toml", after, before))
    assert bool(reviews.standing(of=changed).ruling.doubts) is doubted


def test_an_ending_that_is_inconclusive_says_why() -> None:  # C6 C17
    found = reviews.standing(conclusive=False, stopped="the limit of 4 calls was reached")
    assert found.ruling.code == 3
    assert found.ruling.doubts == ("it ended as KEEP ORIGINAL (the limit of 4 calls was reached)",)


def test_a_seat_that_failed_leaves_a_review_in_doubt() -> None:  # C5 C17
    seats = (Seated("critic", "a", answered=2), Seated("judge", "b", answered=1, failed=1, why="timeout: 600 s"))
    found = reviews.standing(seats=seats)
    assert (found.ruling.code, found.ruling.doubts) == (3, ("the judge failed: timeout: 600 s",))
