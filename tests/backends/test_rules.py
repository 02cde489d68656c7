"""The judge made of rules: how each finding is weighed, and which way to go on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import rebut
from rebut.core.errors import ParticipantFailed, UsageError
from rebut.core.types import Finding, Material, ModelSpec, Participant, Reply, Request
from rebut.protocols.cross.forms import Judgement
from rebut.record.events import Fact
from rebut.setup import config
from rebut.setup.connect import connector
from tests.voices import events, protocol


def reply(*findings: Finding, form: str = "Judgement") -> Reply:
    connect = connector(config.Config(), {}, Path())
    who = Participant("judge", ModelSpec("rules"))
    request = Request("r1/judge@judge", who, "", schema={}, schema_name=form, material=Material(findings=findings))
    return asyncio.run(connect(who.spec).backend.complete(request))


def judged(*findings: Finding) -> Judgement:
    return Judgement.model_validate_json(reply(*findings).text)


def finding(id: str, severity: str, *marks: str, fix: bool = False, tool: bool = False) -> Finding:
    return Finding(id, severity, "security", f"{id} is wrong", marks, rule_based=tool, has_fix=fix)


@pytest.mark.parametrize(
    ("marks", "ruling", "severity"),
    [
        (("found",), "valid", "P1"),
        (("moved",), "valid", "P1"),
        (("found", "uncheckable"), "valid", "P1"),
        (("located",), "valid", "P2"),
        (("located", "uncheckable"), "valid", "P2"),
        (("found", "absent"), "valid", "P2"),
        (("absent",), "invalid", "P2"),
        (("absent", "absent"), "invalid", "P2"),
        (("absent", "located"), "missing evidence", "P2"),
        (("absent", "uncheckable"), "missing evidence", "P2"),
        (("uncheckable",), "missing evidence", "P2"),
        ((), "missing evidence", "P2"),
    ],
)
def test_a_finding_is_weighed_by_what_its_citations_showed(marks: tuple[str, ...], ruling: str, severity: str) -> None:
    one = judged(finding("F1", "P1", *marks)).findings[0]  # J9
    assert (one.id, one.ruling, one.severity) == ("F1", ruling, severity) and one.reason


@pytest.mark.parametrize("severity", ["P2", "P3"])
@pytest.mark.parametrize("marks", [("found",), ("absent",), ("located",), ()])
def test_only_a_p1_is_lowered(severity: str, marks: tuple[str, ...]) -> None:  # J9
    assert judged(finding("F1", severity, *marks)).findings[0].severity == severity


def test_nothing_valid_at_p1_or_p2_keeps_the_original() -> None:  # J9 J10
    assert judged().choice == "A" and judged().reason == "nothing is at issue"
    said = judged(finding("F1", "P1", "absent"), finding("F2", "P3", "found"), finding("F3", "P3"))
    assert (said.choice, said.reason) == ("A", "nothing is valid at P1 or P2")


def test_what_whoever_raised_it_can_mend_is_taken_from_the_critic() -> None:  # J9 J10
    model = judged(finding("F1", "P2", "found"), finding("F2", "P3", "found"))
    assert model.choice == "B" and model.reason.startswith("F1 ")
    tools = judged(finding("F1", "P1", "found", tool=True, fix=True), finding("F2", "P2", "found"))
    assert tools.choice == "B" and tools.reason.startswith("F1, F2 ")


def test_what_no_analyser_can_mend_is_left_to_whoever_wrote_it() -> None:  # J9 J10
    said = judged(
        finding("F1", "P1", "found", tool=True), finding("F2", "P2", "found", tool=True, fix=True), finding("F3", "P3")
    )
    assert said.choice == "E" and "F1: the author of the change must fix it" in said.reason
    assert said.unresolved == ["F1: F1 is wrong", "F2: F2 is wrong"]


def test_a_grave_claim_without_evidence_is_asked_for_some() -> None:  # J9 J10
    said = judged(finding("F1", "P2"), finding("F2", "P1", "absent"), finding("F3", "P3"))
    assert said.choice == "D" and said.rebuttal.startswith("F1: name the place") and "F2" not in said.rebuttal
    assert judged(finding("F1", "P2"), finding("F2", "P2", "found")).choice == "B", "what stands goes first"


def test_the_same_findings_give_the_same_word_for_word() -> None:  # C3
    findings = [finding("F2", "P1", "found"), finding("F1", "P2")]
    assert reply(*findings) == reply(*findings)
    assert (reply().family, reply().usd, reply().model) == ("rules", 0.0, "rules 1")


def test_asked_for_anything_else_it_says_what_it_is_for() -> None:  # C5
    with pytest.raises(ParticipantFailed, match="can only weigh") as failed:
        reply(form="Decision")
    assert "--judge rules" in failed.value.hint


def test_there_is_one_set_of_rules() -> None:  # C1
    with pytest.raises(UsageError, match="one set of rules"):
        connector(config.Config(), {}, Path())(ModelSpec("rules", "strict"))


SMALL = """
from rebut.protocols.cross.forms import CodeCritique, Judgement
from rebut.core.types import Changed, Finding, Material

seats = {"critic": 1, "judge": 1}
CHANGE = (Changed("a.py", "x = 1\\n", "import os\\nprint(nowhere)\\n", ((1, 2),)),)

async def run(debate):
    critic, judge = debate.seat("critic"), debate.seat("judge")
    said = await debate.ask(critic, "critique", "Look.", schema=CodeCritique, material=Material(CHANGE))
    found = tuple(
        Finding(f"F{n}", f.severity, f.category, f.text, ("found",), rule_based=True, has_fix=bool(f.fix))
        for n, f in enumerate(said.value.findings, 1)
    )
    word = await debate.ask(judge, "judge", "Weigh.", schema=Judgement, material=Material(findings=found))
    return done(choice=word.value.choice, found=[f.text for f in said.value.findings], family=said.family)
"""


def test_both_sit_in_a_debate_like_anybody_else_and_are_on_record(tmp_path: Path) -> None:  # C1 C3 J9
    path = protocol(tmp_path, SMALL)
    outcome = rebut.run(path, "Is it right?", critic="lint", judge="rules", workspace=tmp_path)
    assert outcome.data["choice"] == "E" and "nowhere" in str(outcome.data["found"])
    assert outcome.data["family"] == "rules" and outcome.spent.usd == 0.0 and outcome.spent.calls == 2
    assert any("raised" in note and "outside the change" in note for note in outcome.notes)
    processes = [e.key for e in events(outcome.session, "fact") if isinstance(e, Fact) and "#process." in e.key]
    assert len(processes) == len(set(processes)) == 4, "two analysers on two sides, each found again by a resume"
    again = asyncio.run(rebut.replay(outcome.session, workspace=tmp_path))
    assert again.data == outcome.data, "from the record alone"


def test_lint_in_a_duel_fails_as_a_seat_and_says_why(tmp_path: Path) -> None:  # C5
    with pytest.raises(rebut.RebutError, match="lint reads code changes"):
        rebut.run("duel", "Tea?", proposer="lint", challenger="human", judge="rules", workspace=tmp_path)
