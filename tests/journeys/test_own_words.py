"""Every point keeps its own words, through the command line: in the ledger, in the prompt of the seat that must answer
it, and in the files. Points become one issue only by `same_as` or by the same words."""

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

from rebut.record import sessions
from rebut.record.record import Record

NODE = "One node is a single point of failure."
ALARM = "No alarm rings when the node is lost."
TRUST = "The node trusts everyone who reaches it."


def rebut(*words: str, codes: tuple[int, ...] = (0,), cwd: Path | None = None) -> dict[str, Any]:
    done = piped(*words, "--json", cwd=cwd)
    assert done.returncode in codes, f"{done.returncode}: {done.stdout}\n{done.stderr}"
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def record_of(told: dict[str, Any]) -> Record:
    return sessions.load(sessions.home() / told["session"])


def prompt(told: dict[str, Any], key: str) -> str:
    return record_of(told).calls[key].asked[1].prompt


def points(told: dict[str, Any]) -> dict[str, str]:
    return {p["id"]: p["text"] for p in told["ledger"]["points"]}


def exported(told: dict[str, Any]) -> str:
    return piped("export", told["session"], "--format", "md").stdout


# panel


def panel(workspace: Path, said: dict[str, Any], *words: str, codes: tuple[int, ...] = (0,)) -> dict[str, Any]:
    seats = panels.seats(workspace.parent / "seats", said, ("arch", "oper", "adve"))
    named = [word for one in seats["challenger"] for word in ("--challenger", one)]
    return rebut("panel", panels.TOPIC, "--lead", seats["lead"], "--judge", seats["judge"], *named, *words, codes=codes)


def objections(*texts: str) -> dict[str, Any]:
    said = panels.consensus()
    for n, (text, lens) in enumerate(zip(texts, panels.LENSES, strict=False), 1):
        said[f"r1/challenge@challenger.{n}"] = panels.objects(text, lens=lens)
    return said


def test_three_experts_who_cite_one_line_are_three_objections(workspace: Path) -> None:  # C10 H1 H7
    said = objections(NODE, ALARM, TRUST)
    said["r2/confront@lead"] = panels.confront({"B1": "accept", "B2": "reject", "B3": "accept"})
    said |= {f"r2/rebuttal@challenger.{n}": panels.rebut({f"B{n}": "accept"}) for n in (1, 3)}
    said["r2/rebuttal@challenger.2"] = panels.rebut({"B2": "maintain"})
    said |= {"assumptions/grounds@lead": panels.grounds("Lead"), "map@judge": panels.mapped("Lead", "Operator")}
    said["assumptions/grounds@challenger.2"] = panels.grounds("Operator")
    told = panel(workspace, said, "--max-rounds", "2")
    assert points(told) == {"B1": NODE, "B2": ALARM, "B3": TRUST}
    assert (told["kind"], told["heading"]) == ("tradeoff", "TRADEOFF"), "the operator was never answered"
    asked = prompt(told, "r2/confront@lead")
    assert all(text in asked for text in (NODE, ALARM, TRUST)) and "B1, B2, B3" in asked
    files = panels.files(workspace)
    for name, text in {"arch": NODE, "oper": ALARM, "adve": TRUST}.items():
        page = (files / f"rounds/r001_{name}.md").read_text()
        assert [other for other in (NODE, ALARM, TRUST) if f"): {other}" in page] == [text]
    assert ALARM in prompt(told, "r2/rebuttal@challenger.2")
    assert all(text in (files / "transcript.md").read_text() for text in (NODE, ALARM, TRUST))


def test_two_experts_who_say_the_same_are_one_issue_with_both_texts(workspace: Path) -> None:  # C10 H7
    said = objections(NODE, "one node is  a SINGLE point of failure", TRUST)
    said["r2/confront@lead"] = panels.confront({"B1": "accept", "B2": "accept"})
    said |= {f"r2/rebuttal@challenger.{n}": panels.rebut({"B1": "accept"}) for n in (1, 2)}
    said["r2/rebuttal@challenger.3"] = panels.rebut({"B2": "accept"})
    told = panel(workspace, said)
    assert told["kind"] == "consensus" and points(told) == {"B1": NODE, "B2": TRUST}
    [first, second] = next(p for p in told["ledger"]["points"] if p["id"] == "B1")["said"]
    assert (first["by"], second["by"]) == ("challenger.1", "challenger.2")
    own = "one node is a SINGLE point of failure"
    assert (first["text"], second["text"]) == (NODE, own)
    files = panels.files(workspace)
    for text in (
        prompt(told, "r2/confront@lead"),
        prompt(told, "r2/rebuttal@challenger.1"),
        prompt(told, "r2/rebuttal@challenger.2"),
        (files / "transcript.md").read_text(),
        exported(told),
        piped("show", told["session"], "--no-pager").stdout,
    ):
        assert NODE in text and own in " ".join(text.split())
    page = (files / "rounds/r001_oper.md").read_text()
    assert f"B1 (strong, design): {own}" in page and f"): {NODE}" not in page
    [one, _] = panels.state(workspace)["points"]
    assert [row["by"] for row in one["said"]] == one["by"] == ["challenger.1", "challenger.2"]


def test_an_expert_can_say_that_another_raised_its_point_before(workspace: Path) -> None:  # C10 H8
    said = panels.consensus()
    said["r2/confront@lead"] = panels.confront({"B1": "reject", "B2": "partial"})
    again = panels.point("My replica would be lost, too.", same_as="B2")
    said["r2/rebuttal@challenger.1"] = panels.rebut({"B1": "accept"}, "maintain", points=[again])
    said["r3/confront@lead"] = panels.confront({"B2": "accept"})
    said["r3/rebuttal@challenger.1"] = panels.rebut({"B2": "accept"})
    told = panel(workspace, said)
    assert points(told) == {"B1": NODE, "B2": "Keys are guessable."} and told["kind"] == "consensus"
    asked = prompt(told, "r3/confront@lead")
    assert "Architect, round 2, the same (strong): My replica would be lost, too." in asked
    assert (
        "B2 (strong, design): My replica would be lost, too."
        in (panels.files(workspace) / "rounds/r002_arch.md").read_text()
    )


def test_the_lead_can_say_that_two_objections_are_one_issue(workspace: Path) -> None:  # C10 H7 H8
    said = objections(NODE, ALARM, TRUST)
    said["r2/confront@lead"] = panels.confront({"B1": "accept", "B2": "accept", "B3": "accept"})
    said["r2/confront@lead"]["responses"][1]["same_as"] = "B1"
    said["r2/rebuttal@challenger.1"] = panels.rebut({"B1": "accept"})
    said["r2/rebuttal@challenger.2"] = panels.rebut({"B2": "maintain"})  # the id that it was raised with still works
    said["r2/rebuttal@challenger.3"] = panels.rebut({"B3": "accept"})
    said["r3/confront@lead"] = panels.confront({"B1": "accept"})
    said["r3/rebuttal@challenger.2"] = panels.rebut({"B1": "accept"})
    told = panel(workspace, said)
    assert told["kind"] == "consensus" and points(told) == {"B1": NODE, "B3": TRUST}
    own = f"Operator, round 1, raised as B2, the same (strong): {ALARM}"
    for key in ("r2/rebuttal@challenger.1", "r2/rebuttal@challenger.2", "r3/confront@lead"):
        assert NODE in prompt(told, key) and own in prompt(told, key)
    assert "r3/rebuttal@challenger.1" not in record_of(told).calls, "the other expert has accepted"
    files = panels.files(workspace)
    assert all(text in (files / "transcript.md").read_text() for text in (NODE, ALARM, TRUST))
    assert f"): {ALARM}" in (files / "rounds/r001_oper.md").read_text()
    [issue, _] = panels.state(workspace)["points"]
    assert [one["text"] for one in issue["said"]] == [NODE, ALARM]


def test_an_id_that_does_not_exist_yet_cannot_be_repeated(workspace: Path) -> None:  # C10
    said = objections(NODE, ALARM, TRUST)
    said["r1/challenge@challenger.2"]["points"][0]["same_as"] = "B1"
    said["r2/confront@lead"] = panels.confront({"B1": "accept", "B2": "accept"})
    said |= {f"r2/rebuttal@challenger.{n}": panels.rebut({f"B{(n + 1) // 2}": "accept"}) for n in (1, 3)}
    said["r2/rebuttal@challenger.2"] = panels.rebut({}, "accept")
    told = panel(workspace, said, codes=(3,))
    assert points(told) == {"B1": NODE, "B2": TRUST}
    assert any("there is no point B1" in note for note in told["notes"])
    page = (panels.files(workspace) / "rounds/r001_oper.md").read_text()
    assert f"- repeats B1, which does not exist: {ALARM}" in page
    shown = f"no id (Operator, round 1; strong; names B1, which does not exist): {ALARM}"
    assert shown in prompt(told, "r2/confront@lead") and shown in prompt(told, "r2/rebuttal@challenger.2")


def test_the_lead_answers_an_objection_that_names_no_point_even_if_it_is_the_only_one(workspace: Path) -> None:  # C10
    said = panels.consensus()
    said["r1/challenge@challenger.1"]["points"][0]["same_as"] = "B7"
    said["r1/challenge@challenger.3"] = panels.agree("Adversary")
    changes = [{"what": "a replica", "because": ["B7"]}]
    said["r2/confront@lead"] = panels.confront({}, "Use Redis with a replica.", changes=changes)
    said["r2/rebuttal@challenger.1"] = panels.rebut({}, "accept")
    told = panel(workspace, said, codes=(3,))
    shown = "no id (Architect, round 1; strong; names B7, which does not exist): One node is a single point of failure."
    assert shown in prompt(told, "r2/confront@lead")
    assert "send-back" not in [asked.why for asked in record_of(told).calls["r2/confront@lead"].asked.values()]
    [cause] = panels.state(workspace)["position_history"][1]["causes"]
    assert (cause["point"], cause["lens"]) == ("B7", "Architect")


# cross

EMPTY = "An empty order is committed."


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return crosses.repository(tmp_path / "shop")


def cross(shop: Path, said: dict[str, Any], *words: str, codes: tuple[int, ...] = (0,)) -> dict[str, Any]:
    seats = crosses.seats(shop.parent / "seats", said)
    named = ["--critic", seats["critic"], "--judge", seats["judge"], "--state-dir", str(shop.parent / "state")]
    return rebut("cross", *named, *words, codes=codes, cwd=shop)


def pages(shop: Path) -> dict[str, str]:
    [folder] = (shop.parent / "state").glob("*")
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def test_a_new_finding_on_the_line_of_an_invalid_one_fails_the_gate(shop: Path) -> None:  # C10 J11
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised()),
        "r1/judgement@judge": crosses.judgement("D", {"F1": "invalid P1"}),
        "r2/critique@critic": crosses.critique(crosses.raised(EMPTY)),
        "r2/judgement@judge": crosses.judgement("E", {"F2": "valid P1"}),
    }
    told = cross(shop, said, "--fail-on", "P1", codes=(1,))
    assert points(told) == {"F1": "It commits before it charges.", "F2": EMPTY}
    asked = prompt(told, "r2/judgement@judge")
    assert f"F2 (P1, correctness): {EMPTY}" in asked and "Rule on every finding of this round (F2)" in asked
    assert f"F2 (P1, correctness): {EMPTY}" in pages(shop)["round-2-critique.md"]
    assert f"- P1: F2 api/orders.py:5 {EMPTY}" in pages(shop)["summary.md"]


def test_a_citation_of_many_lines_does_not_swallow_what_is_in_them(shop: Path) -> None:  # C10
    later = [crosses.raised(text, f"api/orders.py:{line}") for text, line in ((EMPTY, 4), ("It may raise.", 6))]
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised(place="api/orders.py:1-7")),
        "r1/judgement@judge": crosses.judgement("D", {"F1": "invalid P1"}),
        "r2/critique@critic": crosses.critique(*later),
        "r2/judgement@judge": crosses.judgement("D", {"F2": "valid P1", "F3": "valid P2"}),
        "r3/critique@critic": crosses.critique(),
    }
    told = cross(shop, said, codes=(0, 3))
    assert list(points(told).values())[1:] == [EMPTY, "It may raise."]
    assert "note: F2, F3 cite the same lines; these are separate points" in prompt(told, "r3/critique@critic")


def test_what_critic_or_judge_raise_again_has_both_texts_everywhere(shop: Path) -> None:  # C10 J9
    again, third = "The order is committed, then charged.", "Commit comes first here."
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised()),
        "r1/judgement@judge": crosses.judgement("D", {"F1": "valid P1"}),
        "r2/critique@critic": crosses.critique(crosses.raised(again, same_as="F1")),
        "r2/judgement@judge": crosses.judgement(
            "E", {"F1": "valid P1"}, missed=[crosses.raised(third, same_as="F1", action="swap them")]
        ),
    }
    told = cross(shop, said, "--fail-on", "P1", codes=(1,))
    assert points(told) == {"F1": "It commits before it charges."}
    both = ("It commits before it charges.", again)
    assert all(text in prompt(told, "r2/judgement@judge") for text in both)
    files = pages(shop)
    assert all(text in files["round-2-critique.md"] for text in (*both, third))
    sarif = piped("export", told["session"], "--format", "sarif", cwd=shop).stdout
    for text in (files["summary.md"], files["decision.json"], exported(told), sarif):
        assert all(one in text for one in (*both, third))
    assert "swap them" in files["decision.json"]


def test_same_as_is_checked_for_sense(shop: Path) -> None:  # C10
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised()),
        "r1/judgement@judge": [
            crosses.judgement("E", missed=[crosses.raised(EMPTY, same_as="F9")]),
            crosses.judgement("E", missed=[crosses.raised(EMPTY)]),
        ],
    }
    told = cross(shop, said, codes=(3,))  # the critic does not weigh what the judge added
    assert points(told)["F2"] == EMPTY
    assert (
        "there is no finding F9: the findings are F1" in record_of(told).calls["r1/judgement@judge"].asked[2].followup
    )


def unplaced(**changes: Any) -> dict[str, Any]:
    """A review whose only finding names an earlier one that does not exist, even after it was sent back."""
    return {
        "r1/critique@critic": crosses.critique(crosses.raised(same_as="F9", **changes)),
        "r1/judgement@judge": crosses.judgement("A", {}, unresolved=[], next_actions=[]),
    }


def test_several_objections_to_no_point_are_named_in_the_plural(shop: Path) -> None:  # C6
    said = unplaced()
    lost = [crosses.raised(text, same_as=id) for text, id in (("It charges late.", "F8"), ("It says nothing.", "F9"))]
    told = cross(shop, {**said, "r1/critique@critic": crosses.critique(*lost)}, codes=(3,))
    note = next(note for note in told["notes"] if "objections" in note)
    assert note.startswith("2 objections name a point that does not exist, and were not weighed: critic on F8"), note


def test_the_judge_reads_a_finding_that_names_one_which_does_not_exist(shop: Path) -> None:  # C10
    told = cross(shop, unplaced(), codes=(3,))
    asked = prompt(told, "r1/judgement@judge")
    assert "no id (critic, round 1; P1; names F9, which does not exist): It commits before it charges." in asked
    assert "Concerns:\n- none" not in asked
    summary = pages(shop)["summary.md"]
    assert "- critic, on F9, which does not exist, so it was not weighed: It commits" in summary
    assert "nothing is left to do" not in summary and "1. [ ] Settle what is unresolved." in summary
    assert told["worth"]["first"] == "the change as it was; the critic alone raised 1 finding (1 P1)"
    assert told["worth"]["points"] == {"unmatched": 1}  # C18


def test_a_round_that_brought_something_stays_one_however_it_is_weighed_later(shop: Path) -> None:  # J11
    again = crosses.raised("Still: commit first.", same_as="F1")
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised()),
        "r1/judgement@judge": crosses.judgement("D", {"F1": "valid P1"}),
        **{f"r{n}/critique@critic": crosses.critique(again) for n in (2, 3)},
        **{f"r{n}/judgement@judge": crosses.judgement("D", {"F1": "valid P3"}) for n in (2, 3)},
    }
    told = cross(shop, said)
    assert (told["review"]["rounds"], told["review"]["stopped_by"]) == (3, "quiet")


CHARGED = "The order is committed, then charged."


def ruled_same(rulings: dict[str, str], same: dict[str, str], choice: str = "E") -> dict[str, Any]:
    """A judgement that calls some findings the same as others."""
    said = crosses.judgement(choice, rulings)
    for one in said["findings"]:
        one["same_as"] = same.get(one["id"], "")
    return said  # type: ignore[no-any-return]


def test_the_judge_can_say_that_two_findings_are_one_issue(shop: Path) -> None:  # C10 J9
    two = crosses.critique(crosses.raised(), crosses.raised(CHARGED, "api/orders.py:6", action="swap them"))
    said = {
        "r1/critique@critic": two,
        "r1/judgement@judge": ruled_same({"F1": "valid P1", "F2": "valid P1"}, {"F2": "F1"}, "D"),
        "r2/critique@critic": crosses.critique(crosses.raised("Still.", same_as="F2"), crosses.raised(EMPTY)),
        "r2/judgement@judge": crosses.judgement("E", {"F2": "valid P1", "F3": "valid P2"}),
    }
    told = cross(shop, said, "--fail-on", "P1", codes=(1,))
    assert points(told) == {"F1": "It commits before it charges.", "F3": EMPTY}, "no id is given twice"
    assert told["ledger"]["joined"] == ["F2 is the same as F1, by judge in round 1"]
    [first, second, _] = told["ledger"]["points"][0]["said"]
    assert (first["text"], second["text"], second["raised_as"]) == (points(told)["F1"], CHARGED, "F2")
    [issue, _] = told["review"]["findings"]
    assert (issue["id"], issue["judge"]) == ("F1", "valid")
    asked = prompt(told, "r2/critique@critic")
    assert f"critic, round 1, raised as F2, the same (P1): {CHARGED}" in asked
    assert "note: judge said in round 1 that F2 is the same as F1" in asked
    assert "F1 (P1, correctness): It commits" in prompt(told, "r2/judgement@judge"), "F2 means F1 from then on"
    files = pages(shop)
    shown = piped("show", told["session"], "--no-pager").stdout
    sarif = piped("export", told["session"], "--format", "sarif", cwd=shop).stdout
    for text in (
        files["round-1-critique.md"],
        files["summary.md"],
        files["decision.json"],
        exported(told),
        sarif,
        shown,
    ):
        plain = " ".join(text.split())
        assert "It commits before it charges." in plain and CHARGED in plain
    assert "swap them" in files["decision.json"]
    replayed = rebut("replay", told["session"])
    assert replayed["ledger"] == told["ledger"] and replayed["heading"] == told["heading"]


@pytest.mark.parametrize(
    ("same", "second", "complaint"),
    [
        ({"F2": "F9"}, "valid P1", "there is no finding F9"),
        ({"F2": "F2"}, "valid P1", "F2 and F2 are one finding already"),
        ({"F1": "F2"}, "valid P1", "F2 was raised after F1: put `same_as` on the later one"),
        ({"F1": "F2", "F2": "F1"}, "valid P1", "F2 was raised after F1"),
        ({"F2": "F1"}, "invalid P1", "F2 is called the same as F1, but is answered otherwise"),
    ],
)
def test_what_the_judge_calls_the_same_is_checked_for_sense(
    shop: Path, same: dict[str, str], second: str, complaint: str
) -> None:  # C10
    rulings = {"F1": "valid P1", "F2": second}
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised(), crosses.raised(CHARGED, "api/orders.py:6")),
        "r1/judgement@judge": [ruled_same(rulings, same)] * 2,
    }
    told = cross(shop, said, "--fail-on", "P1", codes=(1,))
    assert complaint in record_of(told).calls["r1/judgement@judge"].asked[2].followup
    assert any(complaint in note for note in told["notes"])
    joined = told["ledger"].get("joined", [])
    assert len(joined) == (len(same) > 1), "of two that name each other, the later one joins"


def test_a_later_join_does_not_make_an_earlier_round_quiet(shop: Path) -> None:  # C10 J11
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised()),
        "r1/judgement@judge": crosses.judgement("D", {"F1": "valid P1"}),
        "r2/critique@critic": crosses.critique(crosses.raised(CHARGED, "api/orders.py:6")),
        "r2/judgement@judge": crosses.judgement("D", {"F2": "valid P1"}),
        "r3/critique@critic": crosses.critique(crosses.raised("Still.", same_as="F2")),
        "r3/judgement@judge": ruled_same({"F2": "valid P1"}, {"F2": "F1"}, "D"),
    }
    told = cross(shop, said, codes=(0, 3))
    assert points(told) == {"F1": "It commits before it charges."}
    assert told["review"]["stopped_by"] == "rounds", "round 2 brought something, as it was seen then"


def test_an_objection_to_an_unknown_finding_keeps_its_remedy(shop: Path) -> None:  # C10
    lost = crosses.raised(EMPTY, same_as="F9", action="refuse empty orders", fix="    check(order)")
    said = {
        "r1/critique@critic": [crosses.critique(lost, crosses.raised())] * 2,
        "r1/judgement@judge": crosses.judgement(),
    }
    told = cross(shop, said, codes=(3,))
    [kept] = rebut("show", told["session"])["outcome"]["ledger"]["unmatched"]
    assert (kept["reason"], kept["action"], kept["fix"]) == (EMPTY, "refuse empty orders", "    check(order)")
    page = pages(shop)["round-1-critique.md"]
    assert "repeats F9, which does not exist" in page and "To do: refuse empty orders" in page
    assert "check(order)" in page.partition(EMPTY)[2].partition("\n")[0]


# revise


def revise(workspace: Path, said: dict[str, Any], rounds: int = 1, codes: tuple[int, ...] = (0,)) -> dict[str, Any]:
    seats = revisions.seats(workspace.parent / "scripts", said)
    authors = [word for one in seats["author"] for word in ("--author", one)]
    words = ("revise", "plan", revisions.TOPIC, *authors, "--synthesizer", seats["synthesizer"])
    return rebut(*words, "--rounds", str(rounds), codes=codes)


def objecting(first: str, second: str, **changes: Any) -> dict[str, Any]:
    said = revisions.answers(1)
    for by, text in ((1, first), (2, second)):
        said[f"r1/critique@author.{by}"] = revisions.critique(revisions.objection(text, "src/session.py:2", **changes))
    return said


@pytest.mark.parametrize("second", ["The ttl is too long.", "The ttl is fixed."])
def test_authors_object_to_each_others_plan_in_their_own_words(workspace: Path, second: str) -> None:  # C10 K8
    said = objecting("The ttl is fixed.", second)
    told = revise(workspace, said)
    assert points(told) == {"W1": "The ttl is fixed.", "W2": second}
    phase = revisions.phase(workspace)
    assert "- W1 (high, correctness) The ttl is fixed." in (phase / "critique_of_codex_r1.md").read_text()
    assert f"- W2 (high, correctness) {second}" in (phase / "critique_of_claude_r1.md").read_text()
    assert "Answer every weakness by its id (W2)" in prompt(told, "r1/revision@author.1")
    assert "Answer every weakness by its id (W1)" in prompt(told, "r1/revision@author.2")
    asked = prompt(told, "synthesis@synthesizer")
    assert "about second; conceded): The ttl is fixed." in asked and f"about first; conceded): {second}" in asked


def test_a_point_about_the_other_document_is_never_the_same(workspace: Path) -> None:  # C10
    said = revisions.answers(2)
    said["r2/critique@author.2"] = revisions.critique(revisions.objection("Nor does it say when.", same_as="W1"))
    told = revise(workspace, said, rounds=2)
    assert points(told)["W4"] == "Nor does it say when."
    sent_back = record_of(told).calls["r2/critique@author.2"].asked[2].followup
    assert "W1 is about another document, so this is not the same: leave `same_as` empty" in sent_back


def test_an_author_who_presses_a_point_has_both_texts_on_record(workspace: Path) -> None:  # C10 C12
    said = revisions.answers(2)
    said["r2/critique@author.1"] = revisions.critique(revisions.objection("Still no lock.", "§ Checks", same_as="W1"))
    said["r2/revision@author.2"] = revisions.revision(revisions.document("author 2", "More."), ["W1"])
    said["r2/revision@author.1"] = revisions.revision(revisions.document("author 1", "More."), ["W3"])
    said["synthesis@synthesizer"] = revisions.plan(["W1", "W2", "W3"])
    told = revise(workspace, said, rounds=2)
    assert [p["text"] for p in told["ledger"]["points"][0]["said"]] == ["Flaw 1 that author 1 sees.", "Still no lock."]
    asked = prompt(told, "synthesis@synthesizer")
    assert "first, round 2, the same (P1): Still no lock." in asked
    assert "W1 (Flaw 1 that author 1 sees. / Still no lock.)" in (revisions.phase(workspace) / "PLAN.md").read_text()


# duel


def duel(workspace: Path, said: dict[str, Any], rounds: int = 2) -> dict[str, Any]:
    seats = duels.seats(workspace.parent, said, rounds)
    named = [word for role, spec in seats.items() for word in (f"--{role}", spec)]
    return rebut("duel", duels.TOPIC, *named, "--rounds", str(rounds), "--state-dir", str(workspace.parent / "state"))


def test_a_new_weakness_on_the_line_of_an_earlier_one_is_new(workspace: Path) -> None:  # C10 D3
    lag = "The replica lags behind."
    said = {"r2/follow-up@challenger": duels.follow_up(2, {"D2": "unresolved"}, [duels.flaw(lag)])}
    told = duel(workspace, said)
    assert len(record_of(told).calls["r2/follow-up@challenger"].asked) == 1, "it is not sent back"
    assert points(told)["D3"] == lag
    assert f"D3 (P1, correctness): {lag}" in prompt(told, "verdict@judge")
    state = json.loads((workspace.parent / "state/debate/last-debate.json").read_text())
    assert f"D3 (P1, correctness): {lag}" in state["exchanges"][-1]["response"]


def test_a_weakness_that_repeats_an_earlier_one_is_shown_in_both_texts(workspace: Path) -> None:  # C10 D3
    again = duels.flaw("The open port was not closed.", 2, category="security", same_as="D2")
    rulings = duels.follow_up(2, {"D2": "unresolved"}, [again, duels.flaw("New.", 9)])
    told = duel(workspace, {"r2/follow-up@challenger": rulings, "r3/summary@judge": duels.summary(3)}, rounds=3)
    assert [text for text in points(told).values() if text == again["text"]] == []
    for key in ("r3/defense@proposer", "r3/follow-up@challenger", "verdict@judge"):
        asked = prompt(told, key)
        assert "): The port is open." in asked
        assert "challenger, round 2, the same (P1): The open port was not closed." in asked
    assert again["text"] in exported(told)


def test_either_side_of_a_duel_can_say_that_two_points_are_one_issue(workspace: Path) -> None:  # C10 D3
    said: dict[str, Any] = {"r2/defense@proposer": duels.defense(2, {"D1": "rebut", "D2": "rebut"})}
    said["r2/defense@proposer"]["responses"][1]["same_as"] = "D1"
    said["r2/follow-up@challenger"] = duels.follow_up(2, {"D1": "unresolved"}, [duels.flaw("It is slow.", 9)])
    said["r3/summary@judge"] = duels.summary(3, [])
    said["r3/defense@proposer"] = duels.defense(3, {"D1": "rebut", "D3": "rebut"})
    said["r3/follow-up@challenger"] = duels.follow_up(
        3, {"D1": "unresolved", "D3": "unresolved"}, [duels.flaw("New.", 9)]
    )
    said["r3/follow-up@challenger"]["rulings"][1]["same_as"] = "D1"
    told = duel(workspace, said, rounds=3)
    assert points(told) == {"D1": "No replica: a failover loses every session.", "D4": "New."}
    assert told["ledger"]["joined"] == [
        "D2 is the same as D1, by proposer in round 2",
        "D3 is the same as D1, by challenger in round 3",
    ]
    asked = prompt(told, "verdict@judge")
    assert "challenger, round 1, raised as D2, the same (P1): The port is open." in asked
    assert "challenger, round 2, raised as D3, the same (P1): It is slow." in asked
    assert all(text in exported(told) for text in ("The port is open.", "It is slow."))


# a protocol of the user's own

OWN = """
from rebut import Debate, Form, Outcome, Point


class Flaw(Form):
    flaw: str
    place: str


async def run(debate: Debate) -> Outcome:
    for n, seat in enumerate(debate.seats("critic")):
        said = (await debate.ask(seat, "flaw", "What is wrong?", schema=Flaw)).value
        evidence = [Cite(place=said.place)]
        await debate.note(f"flaw{n}", [Point(said.flaw, seat.seat, 1, category="x", evidence=evidence)])
    listed = "\\n".join(f"{p.id}: {p.words()}" for p in debate.ledger.open)
    await debate.ask(debate.seat("owner"), "answer", debate.quote("flaws", listed))
    return Outcome("done", "DONE", "as it was")


from rebut import Cite

name = "own"
version = "1"
seats = {"critic": 3, "owner": 1}
"""


def test_a_protocol_of_the_users_own_keeps_all_words(workspace: Path) -> None:  # C10
    (workspace / "own.py").write_text(OWN)
    flaws = ("One node.", "No alarm.", "one  NODE")
    said: dict[str, Any] = {
        f"flaw@critic.{n}": {"flaw": text, "place": "src/session.py:3"} for n, text in enumerate(flaws, 1)
    }
    said["answer@owner"] = {"text": "So be it."}
    spec = {n: duels.script(workspace.parent / f"s{n}.json", said, model=f"m{n}") for n in range(4)}
    critics = [word for n in (1, 2, 3) for word in ("--seat", f"critic={spec[n]}")]
    told = rebut("run", "own.py", "What now?", *critics, "--seat", f"owner={spec[0]}")
    assert points(told) == {"P1": "One node.", "P2": "No alarm."}
    asked = prompt(told, "answer@owner")
    assert "P1: One node. [the same by critic.3 in round 1: one  NODE]" in asked and "P2: No alarm." in asked


def test_a_point_pressed_again_in_the_same_words_is_not_dropped(workspace: Path) -> None:  # C12 K6
    said = revisions.answers(2)
    said["r1/revision@author.2"] = revisions.revision(revisions.document("author 2", "As of round 1."), [], ["W1"])
    again = said["r1/critique@author.1"]["weaknesses"][0]
    said["r2/critique@author.1"] = revisions.critique(again)
    said["r2/revision@author.2"] = revisions.revision(revisions.document("author 2", "As of round 2."), ["W1"])
    said["r2/revision@author.1"] = revisions.revision(revisions.document("author 1", "As of round 2."), ["W3"])
    said["synthesis@synthesizer"] = revisions.plan(["W1", "W2", "W3"])
    told = revise(workspace, said, 2)
    assert told["ledger"]["slips"] == []
    assert len(record_of(told).calls["r2/critique@author.1"].asked) == 1, "it is not sent back"
    assert {p["id"]: p["status"] for p in told["ledger"]["points"]}["W1"] == "conceded"
    said["r2/critique@author.1"] = [revisions.critique(revisions.objection("Another flaw.", "§ Checks"))] * 2
    said["r2/revision@author.2"] = revisions.revision(revisions.document("author 2", "As of round 2."), ["W3"])
    said["r2/revision@author.1"] = revisions.revision(revisions.document("author 1", "As of round 2."), ["W4"])
    said["synthesis@synthesizer"] = revisions.plan(["W1", "W2", "W3", "W4"])
    told = revise(workspace, said, 2)
    [slip] = told["ledger"]["slips"]
    assert slip.startswith("W1 dropped")


MIXED = "# Proposal\n\nText.\n\n```py\nx = 1 / 0\n```\n"


def test_the_same_words_about_code_and_text_are_two_findings(tmp_path: Path) -> None:  # C10 J7
    shop = crosses.repository(tmp_path / "work")
    one = crosses.raised("No rollback is possible.", evidence=[], severity="P3")
    said = {
        "r1/critique.code@critic": crosses.critique(one, agrees=False),
        "r1/critique.text@critic": crosses.proposal(one, agrees=False),
        "r1/judgement@judge": crosses.judgement("D", {"F1": "valid P3", "F2": "invalid P3"}),
        "r2/critique.code@critic": crosses.critique(one, agrees=False),
        "r2/critique.text@critic": crosses.proposal(one, agrees=False),
        "r2/judgement@judge": crosses.judgement("E", {"F1": "valid P3", "F2": "invalid P3"}),
    }
    told = cross(shop, said, "--target", "mixed", MIXED)
    assert set(points(told)) == {"F1", "F2"}, "in round 2 each joins what was said about its document"
    asked = prompt(told, "r2/judgement@judge")
    assert "about the code" in asked and "about the text" in asked
