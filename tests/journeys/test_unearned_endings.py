"""No ending claims more than the record has, through the command line: agreements that examine nothing, objections that
are dropped, concessions that cite nothing, and choices whose patch does not apply."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import panels
from console import piped
from test_own_words import ALARM, NODE, TRUST, exported, objections, panel, record_of

LAZY = "It is fine, and the expert is satisfied."


def screen_of(told: dict[str, Any]) -> str:
    """The ending as it is on the screen, with white space evened out."""
    return " ".join(piped("replay", told["session"]).stdout.split())


# panel: agreements that name nothing they examined


def lazy(answer: str) -> dict[str, Any]:
    """Three experts that agree and never say what they examined."""
    said: dict[str, Any] = {"opening/personas@judge": panels.personas(), "opening/position@lead": panels.opening()}
    for n, lens in enumerate(panels.LENSES[:3], 1):
        said[f"r1/challenge@challenger.{n}"] = panels.agree(lens, examined=[], summary=LAZY)
        said |= {f"r{r}/rebuttal@challenger.{n}": panels.rebut({}, answer, summary=LAZY) for r in range(2, 6)}
        said[f"assumptions/grounds@challenger.{n}"] = panels.grounds(lens)
    return said | {"assumptions/grounds@lead": panels.grounds("Lead"), "map@judge": panels.mapped("Lead", "Architect")}


def test_three_lazy_agreements_end_after_one_more_question_each(workspace: Path) -> None:  # H6 H8 H11
    told = panel(workspace, lazy("accept"), codes=(3,))
    assert (told["kind"], told["heading"]) == ("no consensus", "NO CONSENSUS (0 of 3)")
    record = record_of(told)
    assert max(int(key[1]) for key in record.calls if key.startswith("r")) == 2
    assert told["spent"]["calls"] <= 12, "personas, opening, three answers with a send-back, three more answers"
    page = (panels.files(workspace) / "transcript.md").read_text()
    assert "DISAGREE" not in page and "Rounds to consensus" not in page
    assert "**Rounds:** 2 of 5 (no consensus)" in page
    assert page.count("agreed without naming what it examined") >= 3
    screen = screen_of(told)
    assert "0 of 3 perspectives" in screen and f"not: {LAZY}" not in screen
    assert [c["stand"] for c in panels.state(workspace)["challengers"]] == ["unexamined"] * 3


def test_a_lazy_agreement_that_maintains_nothing_is_not_a_disagreement(workspace: Path) -> None:  # H6 H8
    told = panel(workspace, lazy("maintain"), codes=(3,))
    assert told["heading"] == "NO CONSENSUS (0 of 3)" and told["spent"]["calls"] <= 15
    assert "DISAGREE" not in exported(told)


# panel: objections that are dropped


def test_strong_objections_dropped_without_a_word_are_in_the_heading(workspace: Path) -> None:  # H8 C12
    said = objections(NODE, ALARM, TRUST)
    said["r2/confront@lead"] = panels.confront({"B1": "reject", "B2": "accept", "B3": "reject"}, confidence="high")
    said |= {f"r2/rebuttal@challenger.{n}": panels.rebut({}, "accept") for n in (1, 3)}
    said["r2/rebuttal@challenger.2"] = panels.rebut({"B2": "accept"})
    told = panel(workspace, said)
    assert told["heading"] == "CONSENSUS, 2 STRONG OBJECTIONS DROPPED WITHOUT A REASON"
    assert {p["id"]: p["status"] for p in told["ledger"]["points"]} == {
        "B1": "defended",
        "B2": "conceded",
        "B3": "defended",
    }, "accepting the position does not resolve a point on which its author did not rule"
    page = (panels.files(workspace) / "transcript.md").read_text()
    assert "CONSENSUS, 2 STRONG OBJECTIONS DROPPED" in page and "**Confidence:** MEDIUM" in page
    assert "nothing was said" not in page
    screen = screen_of(told)
    assert "agreed 1 B2" in screen and "open 2 B1" in screen
    assert "confidence medium" in screen and "2 without cause" in screen
    decision = piped("export", told["session"], "--format", "adr").stdout
    assert "Status: proposed, with objections dropped without a reason" in decision


# panel: what is agreed and what is open


def test_an_objection_that_its_author_maintains_is_open_even_if_the_lead_accepted_it(workspace: Path) -> None:  # H11
    said = panels.tradeoff()
    said["r2/confront@lead"] = panels.confront({"B1": "accept", "B2": "accept"}, "Use Redis with a replica.")
    told = panel(workspace, said, "--max-rounds", "2")
    assert told["heading"] == "TRADEOFF"
    screen = screen_of(told)
    assert "agreed 1 B2" in screen and "open 1 B1" in screen
    assert [p["id"] for p in told["ledger"]["points"] if p.get("contested")] == ["B1"]
    assert told["worth"]["points"] == {"conceded": 1, "open": 1}


def test_an_issue_of_two_experts_is_open_until_both_accept(workspace: Path) -> None:  # H11 C10
    said = objections(NODE, NODE, TRUST)
    said["r2/confront@lead"] = panels.confront({"B1": "reject", "B2": "accept"}, "Redis, behind a firewall.")
    said["r2/rebuttal@challenger.1"] = panels.rebut({"B1": "maintain"})
    said["r2/rebuttal@challenger.2"] = panels.rebut({"B1": "accept"})
    said["r2/rebuttal@challenger.3"] = panels.rebut({"B2": "accept"})
    said |= {"assumptions/grounds@lead": panels.grounds("Lead"), "map@judge": panels.mapped("Lead", "Architect")}
    said["assumptions/grounds@challenger.1"] = panels.grounds("Architect")
    told = panel(workspace, said, "--max-rounds", "2")
    assert told["heading"] == "TRADEOFF"
    screen = screen_of(told)
    assert "agreed 1 B2" in screen and "open 1 B1" in screen
