"""What a side has conceded is held, through the command line: weaker rulings, points that were given up and are pressed
again, answers to points about another document, and points on which nobody ruled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import crosses
import duels
import panels
import pytest
import revisions
from console import piped
from test_own_words import cross, exported, objections, pages, panel, prompt, rebut, revise

SMALL = crosses.raised(
    "It returns nothing.", "api/orders.py:7", severity="P3", evidence=[duels.cite("api/orders.py:7")]
)
WALKED = "F1 walked back by the judge in round 2"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return crosses.repository(tmp_path / "shop")


def reviewed_again(second: str, reason: str = "On reflection.", **later: Any) -> dict[str, Any]:
    """A judge that calls a P1 valid, and rules on it again in the next round."""
    again = crosses.judgement("A", {"F1": second, "F2": "valid P3"})
    again["findings"][0]["reason"] = reason
    return {
        "r1/critique@critic": crosses.critique(crosses.raised()),
        "r1/judgement@judge": crosses.judgement("D"),
        "r2/critique@critic": crosses.critique(SMALL, earlier=[crosses.looked(state="still there")], agrees=False),
        "r2/judgement@judge": again,
    } | later


@pytest.mark.parametrize("second", ["valid P3", "valid P2", "missing evidence P1", "missing evidence P3", "invalid P3"])
def test_a_weaker_ruling_without_new_evidence_lowers_nothing_and_passes_no_gate(shop: Path, second: str) -> None:  # C12
    told = cross(shop, reviewed_again(second), "--fail-on", "P1", codes=(1,))
    files = pages(shop)
    [first, _] = json.loads(files["decision.json"])["findings"]
    assert (first["severity"], first["ruling"]) == ("P1", "valid")
    screen = piped("replay", told["session"]).stdout
    assert all(WALKED in text for text in (screen, files["summary.md"], files["decision.json"], exported(told)))


def test_a_ruling_that_was_walked_back_is_no_ground_for_a_weaker_one(shop: Path) -> None:  # C12
    later = {
        "r2/judgement@judge": crosses.judgement("D", {"F1": "invalid P3", "F2": "valid P3"}),
        "r3/critique@critic": crosses.critique(earlier=[crosses.looked(state="still there")], agrees=False),
        "r3/judgement@judge": crosses.judgement("A", {"F1": "valid P3", "F2": "valid P3"}),
    }
    told = cross(shop, reviewed_again("valid P3", **later), "--fail-on", "P1", codes=(1,))
    assert told["review"]["findings"][0]["severity"] == "P1"


def test_a_judge_is_asked_for_the_evidence_of_a_weaker_ruling_which_then_counts(shop: Path) -> None:  # C12 J9
    shown = "It is caught: README.md:1 says so."
    bare, proven = (reviewed_again("valid P3", reason)["r2/judgement@judge"] for reason in ("On reflection.", shown))
    told = cross(shop, reviewed_again("valid P3", **{"r2/judgement@judge": [bare, proven]}), "--fail-on", "P1")
    assert told["review"]["findings"][0]["severity"] == "P3"
    assert "a weaker ruling counts only if its reason cites new evidence" in piped(
        "show", told["session"], "--prompts", "--no-pager"
    ).stdout.replace("\n", " ")


def test_a_valid_finding_does_not_vanish_in_an_invalid_one(shop: Path) -> None:  # C12 C10
    united = crosses.judgement("A", {"F1": "invalid P3", "F2": "invalid P3"})
    united["findings"][1]["same_as"] = "F1"
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised(), SMALL),
        "r1/judgement@judge": crosses.judgement("D", {"F1": "valid P1", "F2": "invalid P3"}),
        "r2/critique@critic": crosses.critique(
            earlier=[crosses.looked(id, "still there") for id in ("F1", "F2")], agrees=False
        ),
        "r2/judgement@judge": united,
    }
    cross(shop, said, "--fail-on", "P1", codes=(1,))
    found = json.loads(pages(shop)["decision.json"])["findings"]
    assert [(f["id"], f["ruling"]) for f in found] == [("F1", "valid"), ("F2", "invalid")]


def test_a_review_that_ends_against_the_judge_is_not_accepted(shop: Path) -> None:  # C12 C18
    said = reviewed_again("valid P1") | {
        "r2/critique@critic": crosses.critique(earlier=[crosses.looked(state="withdrawn") | {"reason": ""}])
    }
    told = cross(shop, said)
    assert told["heading"] == "KEEP ORIGINAL"
    whole = rebut("show", told["session"])
    assert "the judge calls F1 valid" in [doubt["said"] for doubt in whole["outcome"]["doubts"]]
    assert "F1 dropped by the critic in round 2" in pages(shop)["summary.md"]
    assert "Status: proposed" in piped("export", told["session"], "--format", "adr").stdout


# revise


def test_a_critic_that_presses_what_it_conceded_is_told_to_have_walked_back(workspace: Path) -> None:  # C12
    said = revisions.answers(3)
    said["r1/revision@author.2"] = revisions.revision(revisions.document("author 2", "More."), [], ["W1"])
    given = [{"text": "You are right.", "id": "W1"}]
    said["r2/critique@author.1"] = revisions.critique(
        revisions.objection("Flaw 2 that author 1 sees.", "§ Checks"), concessions=given
    )
    said["r3/critique@author.1"] = revisions.critique(revisions.objection("I changed my mind.", same_as="W1"))
    told = revise(workspace, said, 3)
    assert told["ledger"]["slips"] == ["W1 walked back by author.1 in round 3"]
    assert "took its concession back without new evidence in round 3" in prompt(told, "synthesis@synthesizer")
    assert "walked back   1   W1 by the author.1 in round 3" in piped("replay", told["session"]).stdout


def test_an_author_cannot_address_a_point_about_the_other_document(workspace: Path) -> None:  # C10 K6
    said = revisions.answers(1)
    said["r1/revision@author.2"] = revisions.revision(revisions.document("author 2", "More."), ["W1", "W2"])
    said["r1/revision@author.1"] = revisions.revision(revisions.document("author 1", "More."), [], ["W2"])
    told = revise(workspace, said)
    assert {p["id"]: p["status"] for p in told["ledger"]["points"]} == {"W1": "conceded", "W2": "defended"}
    log = (revisions.phase(workspace) / "debate_log.md").read_text()
    assert "W2 is about the other document: answer only points about yours" in log
    page = (revisions.phase(workspace) / "plan_codex_v2.md").read_text()
    assert "Addressed critique points [W1]. Defended: []." in page


def test_a_plan_that_leaves_grave_points_out_is_inconclusive(workspace: Path) -> None:  # C18 K11
    said = revisions.answers(1)
    said["r1/critique@author.1"] = revisions.critique(
        revisions.objection("Flaw 1 that author 1 sees."),
        revisions.objection("The order is odd.", "§ Goal", severity="low", impact="none"),
    )
    said["r1/revision@author.1"] = revisions.revision(revisions.document("author 1", "More."), ["W3"])
    said["r1/revision@author.2"] = revisions.revision(revisions.document("author 2", "More."), ["W1", "W2"])
    said["synthesis@synthesizer"] = revisions.plan(["W1"])
    told = revise(workspace, said, codes=(3,))
    assert told["heading"] == "PLAN AFTER 1 ROUND, A POINT HAS NO RULING" and not told["conclusive"]
    page = (revisions.phase(workspace) / "PLAN.md").read_text()
    assert "### Not accounted for by the synthesizer" in page
    said["synthesis@synthesizer"] = revisions.plan(["W1", "W3"])
    assert revise(workspace, said)["conclusive"], "a low point without an impact is only listed"


# panel


def test_a_ruling_on_a_point_that_does_not_exist_drops_nothing(workspace: Path) -> None:  # C10 C12
    said = objections("One node.", "No alarm.", "Trust.")
    said["r1/challenge@challenger.1"]["points"][0]["same_as"] = "B9"
    said["r2/confront@lead"] = panels.confront({"B1": "accept", "B2": "accept"})
    settled = "The replica at src/session.py:5 settles it."
    for n in (2, 3):
        said[f"r2/rebuttal@challenger.{n}"] = panels.rebut({f"B{n - 1}": "accept"})
        said[f"r2/rebuttal@challenger.{n}"]["rulings"][0]["reason"] = settled
    said["r2/rebuttal@challenger.1"] = panels.rebut({"B7": "accept"})
    said["r2/rebuttal@challenger.1"]["rulings"][0]["reason"] = "I accept."
    told = panel(workspace, said, codes=(3,))
    assert told["ledger"]["slips"] == []
    screen = " ".join(piped("replay", told["session"]).stdout.split())
    assert "1 objection names a point that does not exist, and was not weighed: challenger.1 on B9: One node." in screen
    shown = piped("show", told["session"], "--no-pager").stdout
    assert "the same as B9): One node. — src/session.py:3 [located]" in " ".join(shown.split())
