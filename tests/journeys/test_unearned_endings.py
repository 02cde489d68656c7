"""No ending claims more than the record has, through the command line: agreements that examine nothing, objections that
are dropped, concessions that cite nothing, and choices whose patch does not apply."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import crosses
import duels
import panels
import pytest
import revisions
from console import piped
from test_own_words import (
    ALARM,
    NODE,
    TRUST,
    cross,
    exported,
    objections,
    pages,
    panel,
    prompt,
    rebut,
    record_of,
    revise,
)

from rebut.protocols.panel.personas import lenses

LAZY = "It is fine, and the expert is satisfied."


def screen_of(told: dict[str, Any]) -> str:
    """The ending as it is on the screen, with white space evened out."""
    return " ".join(piped("replay", told["session"]).stdout.split())


# panel: a dissenter that does not answer


def test_a_rebuttal_that_is_missing_at_the_end_is_in_the_heading(workspace: Path) -> None:  # C6 C17 H8
    said = objections(NODE, ALARM)
    said["r2/confront@lead"] = panels.confront(dict.fromkeys(("B1", "B2", "B3"), "accept"))
    said["r2/rebuttal@challenger.1"] = {"fail": "timeout"}
    said["r2/rebuttal@challenger.2"] = panels.rebut({"B2": "accept"})
    said |= {"assumptions/grounds@lead": panels.grounds("Lead"), "map@judge": panels.mapped("Lead", "Architect")}
    said["assumptions/grounds@challenger.1"] = panels.grounds("Architect")
    told = panel(workspace, said, "--max-rounds", "2", codes=(3,))
    assert (told["heading"], told["conclusive"]) == ("TRADEOFF, A REBUTTAL IS MISSING", False)
    assert "Architect (arch) gave no rebuttal in round 2 (timeout: arch: scripted timeout)" in screen_of(told)


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


def test_one_common_word_does_not_make_an_examined_angle_the_experts_own(workspace: Path) -> None:  # H6
    said = lazy("accept") | {"opening/personas@judge": {"fail": "auth"}}
    for n, lens in enumerate(lenses()[1:3], 2):
        seen = [{"angle": lens.looks_for[0], "what": "the session file", "found": "nothing wrong"}]
        said[f"r1/challenge@challenger.{n}"] = panels.agree(lens.title, examined=seen)
    for words in ("words about examined angle", "data"):  # both are in the Architect's list
        seen = [{"angle": words, "what": "it", "found": "nothing wrong"}]
        said["r1/challenge@challenger.1"] = panels.agree(examined=seen)
        told = panel(workspace, said, codes=(3,))
        assert told["heading"] == "PARTIAL CONSENSUS (2 of 3)", words


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
    assert "confidence medium" in screen and "2 objections without a reason" in screen
    decision = piped("export", told["session"], "--format", "adr").stdout
    assert "Status: proposed, with objections dropped without a reason" in decision


def test_moderate_objections_dropped_without_a_word_are_in_the_heading(workspace: Path) -> None:  # H8 C6 C12
    said = panels.consensus()
    said["r1/challenge@challenger.1"] = panels.objects("One node may fail.", "moderate")
    said["r2/confront@lead"] = panels.confront({"B1": "reject", "B2": "partial"})
    said["r2/rebuttal@challenger.1"] = panels.rebut({}, "accept")
    told = panel(workspace, said)
    assert told["heading"] == "CONSENSUS, 1 MODERATE OBJECTION DROPPED WITHOUT A REASON"
    assert told["heading"] in (panels.files(workspace) / "transcript.md").read_text()
    decision = piped("export", told["session"], "--format", "adr").stdout
    assert "Status: proposed, with objections dropped without a reason" in decision


# panel: a trade-off whose parties or whose judge did not say what is behind it


def test_a_tradeoff_whose_assumptions_no_judge_compared_says_so(workspace: Path) -> None:  # H9 C6 C17
    told = panel(workspace, panels.tradeoff() | {"map@judge": {"fail": "auth"}}, "--max-rounds", "2", codes=(3,))
    assert told["heading"] == "TRADEOFF, ASSUMPTIONS NOT COMPARED"
    assert "## DEBATE OUTCOME: TRADEOFF, ASSUMPTIONS NOT COMPARED" in exported(told)


@pytest.mark.parametrize("seat", ["lead", "challenger.1"])
def test_a_tradeoff_whose_party_named_no_assumptions_says_so(workspace: Path, seat: str) -> None:  # H9 C6
    said = panels.tradeoff() | {f"assumptions/grounds@{seat}": {"fail": "auth"}}
    told = panel(workspace, said, "--max-rounds", "2", codes=(3,))
    assert told["heading"] == "TRADEOFF, NOT EVERY PARTY NAMED ITS ASSUMPTIONS"


def test_the_terminal_shows_the_core_of_a_tradeoff_and_the_history_of_the_position(workspace: Path) -> None:  # H9 H10
    screen = screen_of(panel(workspace, panels.tradeoff(), "--max-rounds", "2"))
    assert "disagreement How often a node is lost." in screen
    assert "assumptions nodes are lost monthly (held by Architect, denied by Lead)" in screen
    assert "v1: Use Redis for sessions. v2: Use Redis with random keys. (Adversary raised B2)" in screen


def test_a_position_without_a_changed_word_stays_the_same_version(workspace: Path) -> None:  # H7
    said = panels.tradeoff(3)
    told = panel(workspace, said, "--max-rounds", "3")
    assert [p["version"] for p in panels.state(workspace)["position_history"]] == [1, 2]
    assert "Nothing changed since the previous round." in prompt(told, "r3/rebuttal@challenger.1")
    assert "position v2" in screen_of(told)


def test_an_answer_that_cannot_be_read_is_unknown_and_not_missing(workspace: Path) -> None:  # H12
    said = panels.consensus() | {"r1/challenge@challenger.2": {"text": "I would rather not say."}}
    told = panel(workspace, said, codes=(3,))
    assert [c["verdict"] for c in panels.state(workspace)["challengers"]] == ["accept", "unknown", "partial"]
    assert told["worth"]["caveat"] == "the answer of 1 of 3 could not be read"


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


def test_what_a_dissenter_never_ruled_on_is_open_even_if_the_lead_conceded_it(workspace: Path) -> None:  # H8 C18
    said = panels.tradeoff() | {"r2/rebuttal@challenger.1": {"fail": "auth"}}
    said["r2/confront@lead"] = panels.confront({"B1": "accept", "B2": "accept"}, "Use Redis with a replica.")
    told = panel(workspace, said, "--max-rounds", "2", codes=(3,))
    screen = screen_of(told)
    assert "its objection stays unresolved" in screen
    assert "agreed 1 B2" in screen and "open 1 B1" in screen and "conceded, contested" in screen
    assert told["worth"]["points"] == {"conceded": 1, "open": 1}
    assert "| P1, conceded, contested |" in exported(told)


# duel: an incomplete round counts nowhere


def test_an_incomplete_round_counts_neither_for_the_verdict_nor_for_the_table(workspace: Path) -> None:  # C18 D7
    said = {"r2/defense@proposer": duels.defense(2, BOTH), "r2/follow-up@challenger": {"fail": "auth"}}
    told = duel(workspace, said, 2, codes=(3,))
    assert told["heading"] == "VERDICT AFTER 1 OF 2 ROUNDS"
    screen = screen_of(told)
    assert "agreed 0" in screen and "open 2 D1" in screen and "2 points, 2 open" in screen
    assert told["worth"]["points"] == {"open": 2} and set(statuses(told).values()) == {"unanswered"}
    page = exported(told)
    assert "| P1, unanswered |" in page and "| P1, conceded |" not in page and "[unchecked]" not in page
    assert "### r2/defense@proposer" in page, "what was said is still on record"


def test_a_challenger_that_a_limit_kept_from_being_asked_did_not_fail_to_answer(workspace: Path) -> None:  # C4 C6
    words = [word for role, spec in duels.seats(workspace.parent).items() for word in (f"--{role}", spec)]
    told = rebut("duel", duels.TOPIC, *words, "--max-calls", "2", codes=(3,))
    assert told["heading"] == "UNCONTESTED" and told["stopped"].startswith("the challenger was not asked: ")
    page = screen_of(told) + exported(told)
    assert "never answered" not in page and "[WARN] The challenger was not asked, so this is not" in page


@pytest.mark.parametrize("program", ["lint", "rules"])
@pytest.mark.parametrize("seat", ["proposer", "challenger", "judge"])
def test_a_program_cannot_have_a_seat_of_a_debate_in_words(workspace: Path, seat: str, program: str) -> None:  # C1 C17
    seats = duels.seats(workspace.parent) | {seat: program}
    done = piped("duel", duels.TOPIC, *(word for role, spec in seats.items() for word in (f"--{role}", spec)))
    assert done.returncode == 2 and f"it cannot be the {seat}" in done.stderr and not done.stdout


# duel: concessions that cite nothing

UNPROVEN = "conceded without evidence"


def duel(folder: Path, said: dict[str, Any], rounds: int = 3, codes: tuple[int, ...] = (0,)) -> dict[str, Any]:
    seats = duels.seats(folder.parent, said, rounds)
    words = [word for role, spec in seats.items() for word in (f"--{role}", spec)]
    return rebut("duel", duels.TOPIC, *words, "--rounds", str(rounds), codes=codes)


def bare(answer: dict[str, Any], part: str, reason: str = "") -> dict[str, Any]:
    """The same answer without citations."""
    field = "argument" if part == "responses" else "reason"
    rows = [{**row, "evidence": [], **({field: reason} if reason else {})} for row in answer[part]]
    return {**answer, part: rows}


def statuses(told: dict[str, Any]) -> dict[str, str]:
    return {p["id"]: p["status"] for p in told["ledger"]["points"]}


def attempts(told: dict[str, Any], key: str) -> list[str]:
    return [asked.why for asked in record_of(told).calls[key].asked.values()]


BOTH = {"D1": "concede", "D2": "concede"}
GIVES_IN = {
    "the proposer concedes": {
        "r2/defense@proposer": bare(duels.defense(2, BOTH), "responses"),
        "r2/follow-up@challenger": duels.follow_up(2, {"D1": "unresolved", "D2": "unresolved"}),
    },
    "the challenger agrees now": {
        "r2/defense@proposer": duels.defense(2, {"D1": "rebut", "D2": "rebut"}),
        "r2/follow-up@challenger": bare(
            duels.follow_up(2, {"D1": "resolved", "D2": "resolved"}), "rulings", "I agree now."
        ),
    },
    "the challenger withdraws": {
        "r2/defense@proposer": duels.defense(2, {"D1": "rebut", "D2": "rebut"}),
        "r2/follow-up@challenger": bare(duels.follow_up(2, {"D1": "withdrawn", "D2": "withdrawn"}), "rulings", "Fine."),
    },
    "both give in": {
        "r2/defense@proposer": bare(duels.defense(2, BOTH), "responses"),
        "r2/follow-up@challenger": bare(duels.follow_up(2, {"D1": "resolved", "D2": "resolved"}), "rulings", "Yes."),
    },
}


@pytest.mark.parametrize("case", GIVES_IN)
def test_giving_in_without_evidence_settles_nothing_and_ends_nothing(workspace: Path, case: str) -> None:  # D3 D9
    said = GIVES_IN[case] | {
        "r3/defense@proposer": bare(duels.defense(3, BOTH), "responses"),
        "r3/follow-up@challenger": duels.follow_up(3, {"D1": "unresolved", "D2": "unresolved"}),
    }
    told = duel(workspace, said)
    key = "r2/defense@proposer" if "proposer" in case else "r2/follow-up@challenger"
    assert "send-back" in attempts(told, key)
    assert told["heading"] == "VERDICT" and "r3/defense@proposer" in record_of(told).calls, "all rounds are held"
    assert f"; {UNPROVEN}): No replica" in prompt(told, "r3/defense@proposer"), "the point is still to be answered"
    assert statuses(told) == {"D1": UNPROVEN, "D2": UNPROVEN}
    asked = prompt(told, "verdict@judge")
    assert f"; {UNPROVEN}): No replica" in asked and f"D1, D2 {UNPROVEN}, which settles nothing" in asked
    screen = screen_of(told)
    assert "agreed 0" in screen and "open 2 D1 No replica" in screen
    assert f"(src/session.py:2 located), {UNPROVEN}" in screen
    assert told["worth"]["points"] == {"open": 2}
    assert "moved after" not in screen  # C18
    for page in (
        exported(told),
        piped("export", told["session"], "--format", "adr").stdout,
        piped("show", told["session"], "--no-pager").stdout,
    ):
        assert UNPROVEN in " ".join(page.split())


def test_evidence_that_follows_settles_a_point_that_was_conceded_without_it(workspace: Path) -> None:  # D3 D9
    said = GIVES_IN["the proposer concedes"] | {
        "r2/follow-up@challenger": duels.follow_up(2, {"D1": "resolved", "D2": "unresolved"}),
        "r3/defense@proposer": duels.defense(3, {"D2": "concede"}),
        "r3/follow-up@challenger": duels.follow_up(3, {}, [duels.flaw("New in round 3.", 13)]),
    }
    assert statuses(duel(workspace, said)) == {"D1": "resolved", "D2": "conceded", "D3": "unanswered"}


def test_a_concession_that_cites_in_its_words_counts_and_one_that_cites_what_is_absent_does_not(
    workspace: Path,
) -> None:  # D3 C11
    answer = bare(duels.defense(2, BOTH), "responses", "Yes: src/session.py:3 says so.")
    answer["responses"][1] |= {"argument": "Yes.", "evidence": [duels.cite("src/gone.py:3", "nothing like this")]}
    said = {
        "r2/defense@proposer": answer,
        "r2/follow-up@challenger": duels.follow_up(2, {"D2": "unresolved"}, [duels.flaw("New in round 2.", 12)]),
    }
    told = duel(workspace, said, rounds=2)
    assert statuses(told) == {"D1": "conceded", "D2": UNPROVEN, "D3": "unanswered"}
    assert attempts(told, "r2/defense@proposer") == ["ask"]


# cross: a choice whose patch does not apply

BAD = crosses.patch("--- a/api/orders.py\n+++ b/api/orders.py\n@@ -1 +1 @@\n-nonsense\n+x\n")
REFUSED = "the patch does not apply to the version under review"


@pytest.mark.parametrize(("choice", "writer"), [("B", "critic"), ("C", "judge")])
def test_a_choice_whose_patch_does_not_apply_decides_nothing(
    tmp_path: Path, choice: str, writer: str
) -> None:  # C6 J10 C18
    shop = crosses.repository(tmp_path / "shop")
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised()),
        "r1/judgement@judge": crosses.judgement(choice),
        f"r1/version.code@{writer}": BAD,
    }
    told = cross(shop, said, "--max-rounds", "1", codes=(3,))
    assert told["heading"] == "STOPPED, THE CHOSEN VERSION WAS NOT WRITTEN" and not told["conclusive"]
    assert attempts(told, f"r1/version.code@{writer}") == ["ask", "send-back"]
    why = f"choice {choice} of round 1 was not carried out: version 2 was not accepted: {REFUSED}"
    assert told["stopped"].startswith(why)
    assert (told["review"]["decision"], told["review"]["converged"]) == ("Stopped", False)
    files = pages(shop)
    assert why in files["summary.md"] and why in files["decision.json"] and "final.patch" not in files
    assert "Accept Opposite" not in files["summary.md"] and "THE CHOSEN VERSION" in files["decision.json"]
    assert why[:60] in screen_of(told)
    cross(shop, said, "--max-rounds", "1", "--fail-on", "P1", codes=(1,))


def test_a_later_choice_replaces_one_that_was_not_carried_out(tmp_path: Path) -> None:  # C6 J10
    shop = crosses.repository(tmp_path / "shop")
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised()),
        "r1/judgement@judge": crosses.judgement("C"),
        "r1/version.code@judge": BAD,
        "r2/critique@critic": crosses.critique(crosses.raised(same_as="F1")),
        "r2/judgement@judge": crosses.judgement("C"),
        "r2/version.code@judge": crosses.patch(),
        "r3/critique@critic": crosses.critique(),
    }
    told = cross(shop, said)
    assert told["heading"] == "COMPROMISE" and "final.patch" in pages(shop)


# cross: what stands is left to do, at the severity that the judge gave it


def test_a_finding_that_stands_is_left_to_do_even_if_no_action_is_named(tmp_path: Path) -> None:  # C18 J9
    shop = crosses.repository(tmp_path / "shop")
    found = [crosses.raised(action=""), crosses.raised("It never returns.", "api/orders.py:6", action="")]
    said = {
        "r1/critique@critic": crosses.critique(*found),
        "r1/judgement@judge": crosses.judgement(
            "E", {"F1": "valid P1", "F2": "valid P3"}, unresolved=[], next_actions=[]
        ),
    }
    told = cross(shop, said)
    page = exported(told)
    for text in (pages(shop)["summary.md"], screen_of(told), page):
        assert "1. [ ] Fix or answer F1: it is still open." in text and "nothing is left to do" not in text
    assert "| P1, conceded |" in page and "| P3, raised as P1, conceded |" in page


# revise: weaknesses that cite nothing


def test_a_weakness_that_cites_nothing_is_marked(workspace: Path) -> None:  # C11 K5
    said = revisions.answers(1)
    said["r1/critique@author.1"] = revisions.critique(revisions.objection("It is slow.", evidence=[]))
    told = revise(workspace, said)
    assert attempts(told, "r1/critique@author.1") == ["ask", "send-back"]
    [critique] = [page for page in revisions.phase(workspace).rglob("*critique*") if "It is slow." in page.read_text()]
    assert "It is slow. (cites nothing)" in " ".join(critique.read_text().split())
    assert "W1 cites nothing: unsupported" in told["notes"]
    assert "W1 cites nothing: unsupported" in screen_of(told)
    assert "It is slow. (cites nothing)" in prompt(told, "synthesis@synthesizer")


# a reply that leaves out what it should object to


SILENT = {
    "agrees alone": {"text": '{"agrees": true}'},
    "words for a boolean": {"text": '{"findings": [], "agrees": "true"}'},
    "a number for a boolean": {"text": '{"findings": [], "agrees": 1}'},
}


@pytest.mark.parametrize("case", SILENT)
def test_a_critique_without_findings_or_a_real_boolean_approves_nothing(tmp_path: Path, case: str) -> None:  # J11 C20
    shop = crosses.repository(tmp_path / "work")
    said = {"r1/critique@critic": [SILENT[case]] * 2, "r1/judgement@judge": crosses.judgement("A", {})}
    told = cross(shop, said, codes=(3,))
    asked = record_of(told).calls["r1/critique@critic"].asked
    own = [one for one in asked.values() if one.spec == asked[1].spec]
    assert len(own) == 2, "it is sent back once"
    if case == "agrees alone":
        assert "a field is missing: `findings`" in asked[2].followup
        assert "A PART OF THE CRITIQUE IS MISSING" in told["heading"] and "the critic agrees" not in told["decision"]
        assert "leaves out `findings`" in screen_of(told)
    else:
        assert told["error"] and "agrees" in told["error"]


def test_a_critique_that_says_on_the_second_try_that_there_are_no_findings_approves(tmp_path: Path) -> None:  # J11
    shop = crosses.repository(tmp_path / "work")
    said = {"r1/critique@critic": [SILENT["agrees alone"], {"json": crosses.critique()}]}
    assert cross(shop, said)["decision"] == "Keep Original: the critic agrees."


@pytest.mark.parametrize("silent", [(1, 2), (1,)])
def test_critiques_without_weaknesses_do_not_converge(workspace: Path, silent: tuple[int, ...]) -> None:  # K8 C20
    said = revisions.answers(2) | {f"r1/critique@author.{n}": revisions.critique() for n in (1, 2)}
    for n in (1, 2):
        said[f"r1/revision@author.{n}"] = revisions.revision(revisions.document(f"author {n}"), [])
        said[f"r2/revision@author.{n}"] = revisions.revision(revisions.document(f"author {n}", "More."), [f"W{3 - n}"])
    for n in silent:
        said[f"r1/critique@author.{n}"] = [{"json": {"strengths": [{"text": "The goal is plain."}]}}] * 2
    said["synthesis@synthesizer"] = revisions.plan(["W1", "W2"])
    told = revise(workspace, said, 2)
    log = (revisions.phase(workspace) / "debate_log.md").read_text()
    assert "converged —" not in log and "a field is missing: `weaknesses`" in log
    assert told["heading"] == "PLAN AFTER 2 ROUNDS"
    assert screen_of(told), "a replay reads the complaint from the record"


def test_a_last_critique_without_weaknesses_is_in_the_heading(workspace: Path) -> None:  # K8 C20
    said = revisions.answers(1)
    for n in (1, 2):
        said[f"r1/critique@author.{n}"] = [{"json": {"strengths": [{"text": "The goal is plain."}]}}] * 2
        said[f"r1/revision@author.{n}"] = revisions.revision(revisions.document(f"author {n}"), [])
    said["synthesis@synthesizer"] = revisions.plan([])
    told = revise(workspace, said, codes=(3,))
    assert told["heading"] == "UNCONTESTED PLAN AFTER 1 ROUND, BOTH CRITIQUES LEAVE OUT THE WEAKNESSES"


# a verdict that contradicts its own findings


def reviewed(workspace: Path, said: dict[str, Any], codes: tuple[int, ...] = (0,)) -> dict[str, Any]:
    revisions.change(workspace)
    seats = revisions.seats(workspace.parent / "scripts", said)
    authors = [word for one in seats["author"] for word in ("--author", one)]
    return rebut("revise", "review", *authors, "--synthesizer", seats["synthesizer"], "--rounds", "1", codes=codes)


def approving(severity: str = "high", quote: str = "ttl = 60", held_by: str = "both") -> dict[str, Any]:
    [finding] = revisions.verdict()["findings"]
    finding |= {"severity": severity, "held_by": held_by, "evidence": [duels.cite("src/session.py:2", quote)]}
    return revisions.verdict(decision="approve", findings=[finding])


@pytest.mark.parametrize("held_by", ["both", "first"])
def test_a_review_that_approves_beside_a_high_finding_is_a_contradiction(workspace: Path, held_by: str) -> None:  # C18
    said = revisions.answers(1, "review") | {"synthesis@synthesizer": [approving(held_by=held_by)] * 2}
    told = reviewed(workspace, said, codes=(3,))
    assert told["heading"].endswith(", THE SYNTHESIZER CONTRADICTS ITSELF")
    asked = record_of(told).calls["synthesis@synthesizer"].asked
    assert len(asked) == 2 and "the decision is approve, but finding 1 is of high severity" in asked[2].followup
    assert "the synthesizer approves, although" in screen_of(told)


@pytest.mark.parametrize("verdict", [approving("medium"), approving(quote="ttl = 77")], ids=["medium", "absent"])
def test_a_review_that_approves_without_a_high_finding_is_conclusive(
    workspace: Path, verdict: dict[str, Any]
) -> None:  # C18 K11
    told = reviewed(workspace, revisions.answers(1, "review") | {"synthesis@synthesizer": [verdict] * 2})
    assert told["conclusive"] and "CONTRADICTS" not in told["heading"]


def test_reasons_and_evidence_come_before_what_they_decide() -> None:  # C20
    from rebut.protocols.revise import forms

    for form in (forms.Objection, forms.Dispute, forms.Finding):
        names = list(form.model_json_schema()["properties"])
        assert names.index("severity") > max(names.index(n) for n in ("text", "evidence", "why") if n in names)
    assert list(forms.Verdict.model_json_schema()["properties"])[-2:] == ["summary", "decision"]


@pytest.mark.parametrize("named", [False, True])
def test_an_open_point_without_a_tie_break_is_in_the_verdict(workspace: Path, named: bool) -> None:  # K11 C18
    said = revisions.answers(1, "review")
    said["r1/revision@author.1"] = revisions.revision(revisions.document("author 1", "As of round 1."), [], ["W2"])
    split = [{"point": "W2: whether it is a flaw", "tie_break": "the code shows it"}]
    said["synthesis@synthesizer"] = [revisions.verdict(disagreement=split if named else [])] * 2
    told = reviewed(workspace, said, codes=(0,) if named else (3,))
    assert (told["conclusive"], "A POINT HAS NO RULING" in told["heading"]) == (named, not named)
    page = (revisions.phase(workspace) / "review_verdict.md").read_text().partition("## Points of Disagreement")[2]
    open_point = "W2: Flaw 1 that author 2 sees. Still open; the synthesizer gave no tie-break."
    assert ("Tie-break: the code shows it" in page, open_point in page) == (named, not named)
    assert "None." not in page
