"""What a review says at its end about findings that no version fixed, and about versions without a decision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import crosses
import duels
import pytest

from rebut.backends.rules import judged
from rebut.ci.gate import judge
from rebut.core.types import Changed, Finding
from rebut.domain.fixes import fixes
from rebut.domain.gate_policy import Policy
from rebut.domain.ledger import Evidence, Point
from rebut.domain.outcome import Outcome
from rebut.domain.review_result import ReviewResult
from rebut.protocols.cross.versions import ArtifactVersion
from rebut.workspace.targets.target import Target

COMPROMISE = {
    "r1/critique@critic": crosses.critique(crosses.raised()),
    "r1/judgement@judge": crosses.judgement("C"),
    "r1/version.code@judge": crosses.patch(),
}
BAD = crosses.patch("nothing that git would take")


def second(severity: str = "P1") -> Any:
    cited = [duels.cite("api/orders.py:7", "return None")]
    return crosses.raised("It gives nothing back.", category="reliability", severity=severity, evidence=cited)


def contract(outcome: Outcome) -> ReviewResult:
    data = outcome.data["contract"]
    assert isinstance(data, dict)
    return ReviewResult.from_json(data)


def failing(made: ReviewResult) -> list[str]:
    return [f.id for f in judge(made, Policy(fail_on="P1")).failing]


def test_a_valid_finding_stands_when_its_mending_failed_and_the_critic_then_agrees(shop: Path) -> None:  # C12, C17
    outcome = crosses.review(
        shop, COMPROMISE | {"r1/version.code@judge": BAD, "r2/critique@critic": crosses.critique()}
    )
    made = contract(outcome)
    assert (made.decision, made.stopped_by, made.rounds) == ("Stopped", "unwritten", 2), "nor is the original kept"
    assert [f.id for f in made.shown] == ["F1"] and failing(made) == ["F1"]
    assert made.unresolved[0].startswith("F1 (P1)")
    assert [(s.kind, s.point) for s in outcome.ledger.slips] == [("dropped", "F1")]


def test_agreement_after_an_answer_withdraws_only_what_the_judge_does_not_hold_to_be_valid(shop: Path) -> None:  # C12
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised(), second()),
        "r1/judgement@judge": crosses.judgement("D", {"F1": "valid P1", "F2": "missing evidence P1"}),
        "r2/critique@critic": crosses.critique(),
    }
    made = contract(crosses.review(shop, said))
    assert {f.id: f.status for f in made.findings} == {"F1": "conceded", "F2": "withdrawn"}
    assert failing(made) == ["F1"]


def test_a_finding_is_fixed_only_by_a_version_that_was_written(shop: Path) -> None:  # C19, J10, J11
    said = COMPROMISE | {
        "r2/critique@critic": crosses.critique(second(), earlier=[crosses.looked()]),
        "r2/judgement@judge": crosses.judgement("C", {"F2": "valid P1"}),
        "r2/version.code@judge": BAD,
        "r3/critique@critic": crosses.critique(earlier=[crosses.looked("F2")]),
    }
    made = contract(crosses.review(shop, said))
    assert {f.id: f.status for f in made.findings} == {"F1": "resolved", "F2": "conceded"}
    assert [f.id for f in made.shown] == ["F2"]


@pytest.mark.parametrize(
    ("earlier", "seen"),
    [
        ([crosses.looked()], "fixed"),
        ([crosses.looked(state="still there")], ""),
        ([crosses.looked(state="not checked")], "not raised again"),
        ([], "not raised again"),
    ],
)
def test_a_finding_is_fixed_only_if_the_critic_looked_at_it_in_the_new_version(
    shop: Path, earlier: list[Any], seen: str
) -> None:  # C19
    said = COMPROMISE | {"r2/critique@critic": crosses.critique(earlier=earlier)}
    outcome = crosses.review(shop, said)
    [finding] = contract(outcome).findings
    assert (finding.seen, finding.is_fixed) == (seen, seen == "fixed")
    assert ("fixed" in dict(outcome.worth.points)) == (seen == "fixed")  # type: ignore[union-attr]
    assert [f.id for f in contract(outcome).shown] == ([] if seen == "fixed" else ["F1"])
    assert any("F1 is not looked at" in note for note in outcome.notes) == (not earlier)


def test_a_finding_that_is_ruled_valid_twice_is_not_fixed_by_a_patch_that_leaves_it(shop: Path) -> None:  # C19
    said = COMPROMISE | {
        "r2/critique@critic": crosses.critique(crosses.raised("Still so.", "api/orders.py:6", same_as="F1")),
        "r2/judgement@judge": crosses.judgement("E", {"F1": "valid P1"}),
    }
    [finding] = contract(crosses.review(shop, said)).findings
    assert (finding.seen, finding.hidden) == ("", "")


def test_a_finding_is_not_fixed_by_a_version_that_leaves_its_file_as_it_was(shop: Path) -> None:  # C19
    elsewhere = "--- a/README.md\n+++ b/README.md\n@@ -1 +1,2 @@\n # Shop\n+Charges come first.\n"
    said = COMPROMISE | {
        "r1/version.code@judge": crosses.patch(elsewhere),
        "r2/critique@critic": crosses.critique(earlier=[crosses.looked()]),
    }
    outcome = crosses.review(shop, said)
    [finding] = contract(outcome).findings
    assert (finding.seen, finding.is_fixed, finding.hidden) == ("called fixed, its file unchanged", False, "")
    assert dict(outcome.worth.points) == {"valid": 1}  # type: ignore[union-attr]
    assert judge(contract(outcome), Policy(fail_on="P1"), applied=True).code == 3


@pytest.mark.parametrize(
    ("reason", "wrong"),
    [
        ("The critic conceded F1.", "F1 was conceded; on record it is unanswered"),
        ("F1 was withdrawn.", "F1 was withdrawn; on record it is unanswered"),
        ("F1's citation is absent.", "the citation of F1 is absent; it is found"),
        ("F1’s quote was found, so it is real.", ""),
        ("F1 is real.", ""),
    ],
)
def test_the_judge_cannot_make_its_words_about_the_record_true_by_its_ruling(
    shop: Path, reason: str, wrong: str
) -> None:  # C18
    """A finding that is ruled valid counts as conceded in the ledger, but no side conceded it."""
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised()),
        "r1/judgement@judge": crosses.judgement(reason=reason),
    }
    outcome = crosses.review(shop, said, rounds=1)
    assert ("THE JUDGE MISREADS THE RECORD" in outcome.heading) == bool(wrong)
    assert wrong in " ".join(doubt.said for doubt in outcome.doubts)


@pytest.mark.parametrize("choice", ["A", "E"])
def test_a_critic_that_neither_agrees_nor_names_a_finding_has_not_approved(shop: Path, choice: str) -> None:  # C18 J11
    said = {
        "r*/critique@critic": crosses.critique(agrees=False),
        "r*/judgement@judge": crosses.judgement(choice, {}),
    }
    outcome = crosses.review(shop, said)
    assert outcome.heading.endswith("THE CRITIC NAMES NO FINDING") and outcome.exit_code == 3
    assert judge(contract(outcome), Policy(fail_on="P1"), doubts=[outcome.heading]).code == 3


def test_one_finding_without_its_list_and_a_citation_as_a_text_reach_the_record(shop: Path) -> None:  # C20
    alone = crosses.raised(evidence='api/orders.py:5 "commit(order)"')
    said = {
        "r1/critique@critic": crosses.critique(alone) | {"findings": alone},
        "r1/judgement@judge": crosses.judgement(),
    }
    outcome = crosses.review(shop, said)
    [finding] = contract(outcome).findings
    assert (finding.place, finding.mark, outcome.spent.calls) == ("api/orders.py:5", "found", 2)


def test_a_finding_outside_the_change_does_not_speak_against_keeping_it(shop: Path) -> None:  # J9
    far = crosses.raised("No title.", "README.md:1", evidence=[duels.cite("README.md:1", "# Shop")])
    said = {"r1/critique@critic": crosses.critique(far), "r1/judgement@judge": crosses.judgement("A")}
    outcome = crosses.review(shop, said)
    assert (outcome.heading, outcome.spent.calls, outcome.notes) == ("KEEP ORIGINAL", 2, ())


def test_a_fix_that_a_later_version_may_have_undone_is_not_checked(shop: Path) -> None:  # C19
    third = (
        "--- a/api/orders.py\n+++ b/api/orders.py\n@@ -4,4 +4,3 @@\n def pay(order):\n     charge(order)\n"
        "     commit(order)\n-    return None\n"
    )
    said = COMPROMISE | {
        "r2/critique@critic": crosses.critique(second(), earlier=[crosses.looked()]),
        "r2/judgement@judge": crosses.judgement("B", {"F2": "valid P1"}),
        "r2/version.code@critic": crosses.patch(third),
    }
    made = contract(crosses.review(shop, said))
    assert {f.id: f.seen for f in made.findings} == dict.fromkeys(("F1", "F2"), "changed, not checked again")
    assert all("[changed, not checked again]" in line for line in made.unresolved[:2])


def test_keeping_the_original_against_ones_own_rulings_is_a_contradiction(shop: Path) -> None:  # C18
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised()),
        "r1/judgement@judge": crosses.judgement("A", {"F1": "valid P1"}),
    }
    outcome = crosses.review(shop, said)
    assert (outcome.heading, outcome.exit_code) == ("STOPPED, THE JUDGE CONTRADICTS ITSELF", 3)
    assert "although F1 is valid at P1 or P2" in outcome.decision
    assert any("the choice is A, but you call F1 valid" in note for note in outcome.notes), "it was sent back first"
    once = {**said, "r1/judgement@judge": [said["r1/judgement@judge"], crosses.judgement("A", {"F1": "invalid P3"})]}
    assert crosses.review(shop, once).heading == "KEEP ORIGINAL"


def test_what_the_judge_adds_counts_once_the_critic_has_weighed_it(shop: Path) -> None:  # C18, J9
    weighed = {"findings": crosses.judgement("E", {"F2": "valid P2"})["findings"]}
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised()),
        "r1/judgement@judge": crosses.judgement("E", {"F1": "valid P1"}, missed=[second()]),
        "r1/additions@critic": weighed,
    }
    outcome = crosses.review(shop, said)
    assert [(f.id, f.ruling, f.severity) for f in contract(outcome).findings] == [
        ("F1", "valid", "P1"),
        ("F2", "valid", "P2"),
    ]
    assert (outcome.heading, outcome.exit_code) == ("STOPPED", 0)
    failed = {**said, "r1/additions@critic": {"fail": "crashed"}}
    outcome = crosses.review(shop, failed)
    assert (outcome.heading, outcome.exit_code) == ("STOPPED, A FINDING HAS NO RULING", 3)


def test_a_finding_outside_the_change_is_kept_apart(shop: Path) -> None:  # C18
    apart = crosses.raised("No licence.", "README.md:1", evidence=[duels.cite("README.md:1", "# Shop")])
    both = crosses.raised("It breaks the docs.", evidence=[*apart["evidence"], *crosses.raised()["evidence"]])
    said = {
        "r1/critique@critic": crosses.critique(apart, both),
        "r1/judgement@judge": crosses.judgement("E", {"F1": "valid P1", "F2": "valid P1"}),
    }
    made = contract(crosses.review(shop, said))
    assert {f.id: f.hidden for f in made.findings} == {"F1": "outside the change", "F2": ""}
    assert failing(made) == ["F2"]
    strict = judge(made, Policy("P1", outside="fail"))
    assert [f.id for f in strict.failing] == ["F1", "F2"]


def test_keeping_the_original_after_a_compromise_keeps_what_only_the_compromise_fixes(shop: Path) -> None:  # C6, J10
    said = COMPROMISE | {
        "r1/judgement@judge": crosses.judgement("C", {"F1": "valid P3"}),
        "r2/critique@critic": crosses.critique(second("P2"), earlier=[crosses.looked()]),
        "r2/judgement@judge": crosses.judgement("A", {"F2": "invalid P2"}),
    }
    made = contract(crosses.review(shop, said))
    assert (made.decision, made.artifact) == ("Keep Original", "the change as it was (uncommitted)")
    assert (made.findings[0].status, made.findings[0].seen, made.findings[0].hidden) == ("conceded", "", "P3")


def test_stopping_after_a_compromise_names_the_file_that_is_there_and_what_is_left_to_do(shop: Path) -> None:  # J12
    said = COMPROMISE | {
        "r2/critique@critic": crosses.critique(second("P2")),
        "r2/judgement@judge": crosses.judgement("E", {"F2": "valid P2"}),
    }
    made = contract(crosses.review(shop, said))
    assert "artifact-v2.patch" in made.artifact and "final.patch" not in made.artifact
    assert (Path(made.folder) / "artifact-v2.patch").exists() and not (Path(made.folder) / "final.patch").exists()
    assert "F2: charge first" in made.next_actions


def test_a_last_version_that_nobody_looked_at_is_something_to_do(shop: Path) -> None:  # C6, J12
    told = "Look at version 2: it was not reviewed after it was written."
    assert told in contract(crosses.review(shop, COMPROMISE, rounds=1)).next_actions
    agreed = crosses.review(shop, COMPROMISE | {"r2/critique@critic": crosses.critique()})
    assert told not in contract(agreed).next_actions


def test_rules_leave_alone_what_a_version_has_mended() -> None:  # J9
    mended = Finding("F1", "P1", "correctness", "wrong", ("found",), status="resolved", rule_based=True, has_fix=True)
    small = Finding("F2", "P3", "tests", "untested", ("found",), rule_based=True)
    said = judged((mended, small))
    assert said["choice"] == "A" and [row["id"] for row in said["findings"]] == ["F2"]  # type: ignore[union-attr,index,call-overload]


def test_a_version_made_of_fixes_claims_only_those_that_were_put_in_place() -> None:  # J10
    def point(id: str, place: str, fix: str) -> Point:
        return Point("x", "critic", 1, evidence=(Evidence(place, "q", "found"),), id=id, fix=fix)

    points = [point("F1", "m.py:1-2", "b"), point("F2", "m.py:2-3", "c"), point("F3", "m.py:9", "d")]
    assert fixes({"m.py": "a\nb\nc\n"}, points) == ({"m.py": "b\nc\n"}, {"F1"})


def test_the_lines_that_a_long_version_adds_are_found_by_a_bounded_comparison() -> None:  # J10
    # Compared line by line, these two would take hours: the test would not end.
    before = "".join("\n" if n % 4 else f"x = {n % 300}\n" for n in range(50_000))
    after = "".join(f"y{n}\n{row}" if n % 200 == 7 else row for n, row in enumerate(before.splitlines(True)))
    target = Target("code", "high", "", changes=(Changed("m.py", before, before),))
    [changed] = ArtifactVersion(2, files={"m.py": after}).change(target)
    assert changed.added[0][0] == 8 and changed.added[-1][1] >= after.split("\n").index("y49807") + 1
    small = ArtifactVersion(2, files={"m.py": "a\nb\nc\n"}).change(
        Target("code", "high", "", changes=(Changed("m.py", "a\n", "a\n"),))
    )
    assert small[0].added == ((2, 3),)


@pytest.mark.parametrize("place", ["path:first-last", "orders.py", "api/oders.py:5", "line 5"])
def test_a_citation_is_located_by_a_quote_that_is_at_one_place(shop: Path, place: str) -> None:  # C11, C20
    cited = [duels.cite(place, "    commit(order)")]
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised(evidence=cited)),
        "r1/judgement@judge": crosses.judgement(),
    }
    [finding] = contract(crosses.review(shop, said)).findings
    assert (finding.place, finding.mark) == ("api/orders.py:5", "moved") or place == "orders.py", finding
    assert finding.mark in ("moved", "found") and not finding.struck


def test_a_quote_that_is_at_two_places_or_too_short_locates_nothing(shop: Path) -> None:  # C11
    cites = [duels.cite("path:first-last", "order"), duels.cite("api/oders.py:5", "(order)")]
    for cited in cites:
        said = {
            "r1/critique@critic": crosses.critique(crosses.raised(evidence=[cited])),
            "r1/judgement@judge": crosses.judgement(),
        }
        [finding] = contract(crosses.review(shop, said)).findings
        assert finding.mark in ("absent", "uncheckable") and finding.place == cited["place"]


def test_a_ruling_that_is_walked_back_does_not_lower_the_severity(shop: Path) -> None:  # C12
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised()),
        "r1/judgement@judge": crosses.judgement("D", {"F1": "valid P1"}),
        "r2/critique@critic": crosses.critique(crosses.raised("Still so.", same_as="F1")),
        "r2/judgement@judge": crosses.judgement("E", {"F1": "invalid P3"}),
    }
    made = contract(crosses.review(shop, said))
    assert [(f.ruling, f.severity) for f in made.findings] == [("valid", "P1")] and failing(made) == ["F1"]
