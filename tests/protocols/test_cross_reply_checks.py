"""What ends a review and what a finding weighs: pure functions over the ledger, each rule a row of a table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import crosses
import pytest

from rebut.domain import review_result
from rebut.domain.fixes import lines_of
from rebut.domain.ledger import Evidence, Ledger, Move, Point, Slip
from rebut.protocols.cross import findings, outcome, reply_checks
from rebut.protocols.cross.forms import CodeCritique, Judgement


def point(n: int = 1, severity: Any = "P1", mark: str = "found", by: str = "critic", line: int = 0) -> Point:
    place = f"a.py:{line or 10 * n + len(by)}"
    return Point("it breaks", by, n, severity, "correctness", (Evidence(place, "x = 1", mark),))


def weighed(id: str, ruling: str = "valid", severity: str = "P1", n: int = 1) -> Move:
    return Move(id, review_result.MOVES[ruling], "judge", n, "because", severity=severity)


def ledger(*entries: Any) -> Ledger:
    return Ledger("F").add(entries)


GRAVE_EACH_ROUND = ledger(point(1, line=1), point(2, line=2), point(3, line=3), point(4, line=4), point(5, line=5))
QUIET = ledger(point(1, line=1))


@pytest.mark.parametrize(
    ("held", "n", "limit", "choice", "cause"),
    [
        (GRAVE_EACH_ROUND, 1, 3, "C", ""),
        (GRAVE_EACH_ROUND, 2, 3, "D", ""),
        (GRAVE_EACH_ROUND, 3, 3, "C", "rounds"),
        (GRAVE_EACH_ROUND, 5, 5, "D", "rounds"),
        (GRAVE_EACH_ROUND, 1, 3, "A", "A"),
        (GRAVE_EACH_ROUND, 1, 3, "B", "B"),
        (GRAVE_EACH_ROUND, 3, 3, "E", "E"),
        (QUIET, 2, 5, "C", ""),
        (QUIET, 3, 5, "C", "quiet"),
        (QUIET, 3, 3, "D", "quiet"),
        (ledger(), 1, 5, "D", ""),
        (ledger(), 2, 5, "D", "quiet"),
        # P3 is not new of P1 or P2
        (ledger(point(1, line=1), point(2, "P3", line=2), point(3, "P3", line=3)), 3, 5, "C", "quiet"),
        # the judge weighs it down, throws it out, or up
        (ledger(point(2, line=2), weighed("F1", "valid", "P3", 2)), 2, 5, "C", "quiet"),
        (ledger(point(2, line=2), weighed("F1", "invalid", "P1", 2)), 2, 5, "D", "quiet"),
        (ledger(point(2, "P3", line=2), weighed("F1", "valid", "P2", 2)), 2, 5, "C", ""),
        # raised again in the same words at the same place: not new; in other words: new
        (ledger(point(1, line=1), point(2, line=1), point(3, line=1)), 3, 5, "", "quiet"),
        (ledger(point(1, line=1), replace(point(3, line=1), text="it leaks")), 3, 5, "", ""),
        # a round stays what it was when it is weighed otherwise later
        (ledger(point(2, line=2), weighed("F1", "valid", "P1", 2), weighed("F1", "invalid", "P1", 3)), 3, 5, "D", ""),
        (ledger(point(2, line=2), weighed("F1", "valid", "P1", 2), weighed("F1", "valid", "P3", 3)), 3, 5, "C", ""),
        # the same words elsewhere: new
        (ledger(point(1, line=1), point(3, line=90)), 3, 5, "", ""),
    ],
)  # fmt: skip
def test_what_ends_a_review(held: Ledger, n: int, limit: int, choice: str, cause: str) -> None:  # J11
    assert outcome.cause(held, n, limit, choice) == cause


@pytest.mark.parametrize(
    ("cause", "compromised", "decision", "converged"),
    [
        ("agreed", False, "Keep Original", True),
        ("agreed", True, "Compromise", True),
        ("quiet", False, "Keep Original", True),
        ("quiet", True, "Compromise", True),
        ("rounds", False, "Stopped", False),
        ("rounds", True, "Compromise", False),
        ("minutes", False, "Stopped", False),
        ("minutes", True, "Compromise", False),
        ("failed", False, "Stopped", False),
        ("A", True, "Keep Original", True),
        ("B", False, "Accept Opposite", True),
        ("E", True, "Stopped", False),
    ],
)
def test_what_an_ending_decides(cause: str, compromised: bool, decision: str, converged: bool) -> None:  # J11
    assert outcome.decision(cause, compromised) == (decision, converged)


PHRASES = [
    "This must not be approved.",
    "I cannot say LGTM here.",
    "Far from looking good to me.",
    "No concerns? There are many.",
    "approved",
    "LGTM",
]


@pytest.mark.parametrize("prose", PHRASES)
def test_no_prose_is_an_agreement(prose: str) -> None:  # J11
    reply = CodeCritique.model_validate(crosses.critique(agrees=False, agreements=[prose], suggestions=[prose]))
    assert not reply_checks.agrees([reply])
    assert reply_checks.agrees([CodeCritique.model_validate(crosses.critique(agreements=["must not be approved"]))])


def test_one_who_agrees_and_raises_a_p1_does_not_agree_and_is_told_so() -> None:  # J11
    reply = CodeCritique.model_validate(crosses.critique(crosses.raised(), agrees=True))
    assert not reply_checks.agrees([reply])
    assert any("one or the other" in wrong for wrong in reply_checks.critique(ledger())(reply))
    minor = CodeCritique.model_validate(crosses.critique(crosses.raised(severity="P3"), agrees=True))
    assert reply_checks.agrees([minor]) and not reply_checks.critique(ledger())(minor)


def test_all_parts_must_agree_and_no_part_is_no_agreement() -> None:  # J7, J11
    yes, no = (CodeCritique.model_validate(crosses.critique(agrees=a)) for a in (True, False))
    assert reply_checks.agrees([yes, yes]) and not reply_checks.agrees([yes, no]) and not reply_checks.agrees([])


@pytest.mark.parametrize(
    ("marks", "severity"),
    [
        (("absent",), "P2"),
        (("absent", "absent"), "P2"),
        (("absent", "located"), "P2"),
        (("moved",), "P1"),
        (("found",), "P1"),
        (("located",), "P1"),
        (("uncheckable",), "P1"),
        (("absent", "found"), "P1"),
        ((), "P1"),
    ],
)
def test_a_p1_on_an_absent_citation_cannot_stand_whatever_the_judge_says(
    marks: tuple[str, ...], severity: str
) -> None:  # J9
    cited = tuple(Evidence(f"a.py:{n}", "x = 1", mark) for n, mark in enumerate(marks, 1))
    held = ledger(Point("it breaks", "critic", 1, "P1", "security", cited), weighed("F1", "valid", "P1"))
    assert review_result.severity(held, held.points[0]) == severity
    assert held.points[0].struck == (severity == "P2")


def test_a_ruling_of_valid_is_held_unless_new_evidence_comes() -> None:  # C12
    held = ledger(point(), weighed("F1", "valid"), weighed("F1", "invalid", n=2))
    assert held.slips == (Slip("walked back", "F1", "judge", 2),)
    assert review_result.ruling(held, held.points[0]) == "valid"
    fresh = Move("F1", "defend", "judge", 2, "see there", (Evidence("b.py:9", "y", "found"),), "P1")
    held = ledger(point(), weighed("F1", "valid"), fresh)
    assert review_result.ruling(held, held.points[0]) == "invalid"


def test_what_the_judge_adds_is_weighed_by_another() -> None:  # J9, C18
    held = ledger(point(by="judge"), weighed("F1", "valid"))
    assert review_result.ruling(held, held.points[0]) == "", "its own word is not enough"
    assert findings.unweighed(held) == held.points
    held = held.add([Move("F1", "concede", "critic", 1, "it is so")])
    assert review_result.ruling(held, held.points[0]) == "valid" and findings.is_grave(held, held.points[0])


def test_a_finding_that_a_version_mended_is_resolved_and_what_comes_there_later_is_new() -> None:  # C10
    held = ledger(point(line=5), weighed("F1"), Move("F1", "mend", "critic", 2, "not raised again"))
    assert held.status("F1") == "resolved" and not findings.is_open(held, held.points[0])
    assert [p.id for p in held.add([point(3, line=5)]).points] == ["F1", "F2"]
    again = held.add([Point("back", "critic", 3, "P1", "correctness", same_as="F1")])
    assert again.status("F1") == "unresolved" and len(again.points) == 1


@pytest.mark.parametrize("n", [1, 2])
def test_what_the_judge_raises_again_itself_is_valid(n: int) -> None:  # J9 C10
    again = Point("it breaks in the second call", "judge", n, "P1", "correctness", same_as="F1")
    for entries in ([weighed("F1", "invalid")], [weighed("F1", "missing evidence")], []):
        held = ledger(point(), *entries, again)
        assert review_result.ruling(held, held.points[0]) == "valid"
    later = ledger(point(), again, weighed("F1", "invalid", n=3))
    assert review_result.ruling(later, later.points[0]) == "invalid"


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"findings": []}, "F1 is not weighed"),
        ({"reason": ""}, "no reason"),
        ({"choice": "D", "rebuttal": ""}, "no rebuttal"),
        ({"findings": [{"id": "F9", "ruling": "valid", "severity": "P1", "reason": "x"}]}, "no finding F9"),
    ],
)
def test_what_a_judgement_must_hold(changes: Any, complaint: str) -> None:  # J9
    held = ledger(point())
    good = crosses.judgement()
    assert reply_checks.judgement(held, 1)(Judgement.model_validate(good)) == []
    wrong = reply_checks.judgement(held, 1)(Judgement.model_validate(good | changes))
    assert any(complaint in one for one in wrong), wrong


def test_a_repeated_finding_must_name_one_that_exists() -> None:  # C10
    reply = CodeCritique.model_validate(crosses.critique(crosses.raised(same_as="F7")))
    assert "there is no finding F7" in reply_checks.critique(ledger(point()))(reply)[0]


@pytest.mark.parametrize(
    ("place", "lines"),
    [
        ("a.py:5", ("a.py", 5, 5)),
        ("C:/a.py:5-7", ("C:/a.py", 5, 7)),
        ("a.py:5-x", ("a.py", 5, 5)),
        ("a.py:²", None),
        ("a.py", None),
        ("§ Rollout", None),
    ],
)
def test_a_place_names_lines_only_by_plain_numbers(place: str, lines: tuple[str, int, int] | None) -> None:  # J10
    assert lines_of(place) == lines
