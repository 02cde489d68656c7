"""A bad optional field costs the field and not the answer, through the command line. What decides cannot be missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import crosses
import duels
import panels
import pytest
import revisions
from test_own_words import cross, panel, points, rebut, record_of, revise


def tries(told: dict[str, Any], key: str) -> int:
    return len(record_of(told).calls[key].asked)


def duel(workspace: Path, said: dict[str, Any]) -> dict[str, Any]:
    seats = duels.seats(workspace.parent, said, 2)
    return rebut("duel", duels.TOPIC, *(word for role, spec in seats.items() for word in (f"--{role}", spec)))


@pytest.mark.parametrize(
    "odd",
    [
        {"about": 7},
        {"about": None, "same_as": ["D1"]},
        {"evidence": [{"place": "src/session.py:1", "quote": None}]},
        {"evidence": [{"place": 4}, {"quote": "no place"}, "src/session.py:1"]},
    ],
)
def test_an_odd_field_of_a_flaw_costs_that_field(workspace: Path, odd: dict[str, Any]) -> None:  # C20
    flaws = [duels.flaw("Kept as it is.", **odd), duels.flaw("The port is open.", 2, category="security")]
    told = duel(workspace, {"r1/challenge@challenger": duels.challenge(flaws=flaws)})
    assert points(told)["D1"] == "Kept as it is." and tries(told, "r1/challenge@challenger") == 1


def test_one_text_where_a_list_of_needs_was_asked_for_is_served(workspace: Path) -> None:  # C15 C20
    told = duel(workspace, {"r1/opening@proposer": [duels.opening(need="src/session.py:2"), duels.opening()]})
    assert [one.why for one in record_of(told).calls["r1/opening@proposer"].asked.values()] == ["ask", "context"]


@pytest.mark.parametrize("odd", [{"agreements": None}, {"suggestions": {"a": 1}}, {"agreements": ["good", 3]}])
def test_an_odd_field_of_a_critique_costs_that_field(tmp_path: Path, odd: dict[str, Any]) -> None:  # C20
    shop = crosses.repository(tmp_path / "shop")
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised(), **odd),
        "r1/judgement@judge": crosses.judgement("E"),
    }
    told = cross(shop, said)
    assert [f["id"] for f in told["review"]["findings"]] == ["F1"] and tries(told, "r1/critique@critic") == 1


def test_a_word_for_nothing_in_place_of_a_list_is_an_empty_list(workspace: Path) -> None:  # C20
    said = revisions.answers(1)
    said["r1/critique@author.1"] = revisions.critique(
        revisions.objection("Flaw 1 that author 1 sees."), strengths="none", concessions=None
    )
    told = revise(workspace, said)
    assert points(told)["W1"] == "Flaw 1 that author 1 sees." and tries(told, "r1/critique@author.1") == 1


@pytest.mark.parametrize("odd", ["One node is lost.", [{"text": "One node is lost."}], {"text": "One node is lost."}])
def test_an_objection_in_a_field_that_cannot_be_read_is_not_lost(workspace: Path, odd: Any) -> None:  # C10 C20
    said = panels.consensus()
    read = panels.objects("One node is lost.")
    said["r1/challenge@challenger.1"] = [read | {"points": odd}, read]
    told = panel(workspace, said)
    assert points(told)["B1"] == "One node is lost." and tries(told, "r1/challenge@challenger.1") == 2


@pytest.mark.parametrize("findings", [None, "none", {}])
def test_a_critique_whose_findings_cannot_be_read_agrees_to_nothing(tmp_path: Path, findings: Any) -> None:  # C20 J11
    shop = crosses.repository(tmp_path / "shop")
    said = {"r1/critique@critic": crosses.critique(agrees=True) | {"findings": findings}}
    said["r1/judgement@judge"] = crosses.judgement("E", {})
    told = cross(shop, said, codes=(3,))
    assert not told["conclusive"] and tries(told, "r1/critique@critic") == 2
