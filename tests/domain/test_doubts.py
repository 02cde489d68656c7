"""One table decides what an outcome may claim: every output agrees with it, for every combination of facts."""

from __future__ import annotations

from itertools import chain, combinations, product

import pytest
import reviews

from rebut.ci import gate, output_formats
from rebut.ci.gate import GateGrounds, stand
from rebut.ci.recorded_reviews import Review
from rebut.cli.json_result import brief
from rebut.domain.doubts import RULES, Doubt, may_claim
from rebut.domain.gate_policy import Policy
from rebut.domain.outcome import Outcome
from rebut.domain.review_result import ReviewFinding
from rebut.reports import review
from rebut.workspace.targets.target import Target

KINDS = list(RULES)
COMBINATIONS = [*chain.from_iterable(combinations(KINDS, count) for count in range(3))]
FINDINGS: dict[str, tuple[ReviewFinding, ...]] = {
    "none": (),
    "a valid P1": (reviews.finding(),),
    "a minor one": (reviews.finding(severity="P3"),),
    "a rejected one": (reviews.finding(ruling="invalid"),),
    "a fixed one": (reviews.finding(status="resolved", seen="fixed"),),
    "one that was not checked again": (reviews.finding(seen="changed, not checked again"),),
    "one outside the change": (reviews.finding(outside=True),),
}
TARGET = Target("code", "high", "explicit scope")
UNREAD = Target("code", "high", "explicit scope", left_out=("run.bin: binary",))


def outcome(kinds: tuple[str, ...], found: str, complete: bool = True) -> Outcome:
    doubts = tuple(Doubt(kind, kind.upper(), f"because of {kind}") for kind in kinds)
    if not complete:
        doubts = (*doubts, Doubt("deadline"))
    made = reviews.ending(*FINDINGS[found])
    return (
        Outcome("keep original", "KEEP ORIGINAL", doubts=doubts, complete=complete, session="abc")
        .with_review(made)
        .settled()
    )


@pytest.mark.parametrize("found", FINDINGS)
def test_every_output_claims_what_the_table_allows_and_no_more(found: str) -> None:  # C18
    for kinds, complete in product(COMBINATIONS, (True, False)):
        made = outcome(kinds, found, complete)
        denied = set().union(*(RULES[kind].denies for kind in kinds)) | (set() if complete else {"conclusive"})
        conclusive = "conclusive" not in denied
        about = f"{kinds}, {found}, complete: {complete}"
        assert made.conclusive == conclusive, about
        assert made.exit_code == (0 if conclusive else 3 if complete else 5), about
        short = brief(made)
        assert (short["conclusive"], short["exit"]) == (made.conclusive, made.exit_code), about
        assert made.heading.split(", ") == ["KEEP ORIGINAL", *(kind.upper() for kind in kinds)]
        assert made.accepted == (conclusive and "accepted" not in denied), about
        standing = stand(
            Review.ended("abc", made, UNREAD if "files unread" in kinds else TARGET), GateGrounds(Policy("P1"))
        )
        stands = found in ("a valid P1", "a fixed one", "one that was not checked again")
        assert standing.ruling.passed == (conclusive and not stands), about
        assert standing.ruling.code == (5 if not complete else 1 if stands else 0 if conclusive else 3), about
        [run] = output_formats.log(standing)["runs"]  # type: ignore[misc]
        assert run["invocations"][0]["executionSuccessful"] == conclusive, about  # type: ignore[index,call-overload]
        said = review.summary(made, TARGET)
        assert ("No problems found" in said) == (conclusive and found not in (
            "a valid P1", "a minor one", "a fixed one", "one that was not checked again")), said  # fmt: skip
        assert (found == "a fixed one" and conclusive) == ("1 problem found, fixed in the final version" in said), said
        assert bool(review.doubtful(made, TARGET)) == (not conclusive), about
        assert Outcome.from_json(made.to_json()) == made, about


def test_a_doubt_of_an_unknown_kind_denies_everything() -> None:  # C18
    odd = (Doubt("from a later version"),)
    assert not may_claim("conclusive", odd) and not may_claim("accepted", odd)


def test_an_own_protocol_that_says_inconclusive_stays_so() -> None:  # C18
    made = Outcome("odd", "ODD", conclusive=False, stopped="no quorum").settled()
    assert (made.conclusive, made.exit_code) == (False, 3)
    assert made.doubts == (Doubt("undecided", said="no quorum"),)


def test_only_files_that_were_not_read_can_be_accepted_later() -> None:  # C17
    assert outcome(("files unread",), "none").only_unread
    assert outcome(("files unread", "not converged"), "none").only_unread
    assert not outcome(("files unread", "same model"), "none").only_unread
    assert not outcome((), "none").only_unread


@pytest.mark.parametrize(
    ("seen", "ruling", "code"),
    [
        ("fixed", "valid", 0),
        ("changed, not checked again", "valid", 3),
        ("not raised again", "valid", 3),
        ("called fixed, its file unchanged", "valid", 3),
        ("not raised again", "missing evidence", 1),
        ("", "valid", 1),
    ],
)
def test_a_gate_passes_on_a_fix_only_if_it_was_seen(seen: str, ruling: str, code: int) -> None:  # C19
    made = reviews.ending(reviews.finding(seen=seen, ruling=ruling))
    assert gate.judge(made, Policy("P1"), applied=True).code == code
    assert gate.judge(made, Policy("P1"), applied=False).code == 1
