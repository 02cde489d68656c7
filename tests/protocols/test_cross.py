"""A cross review through the public door: routing, judging, choosing, versions, endings, fallbacks."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import crosses
import duels
import pytest
import voices
from repositories import commit, git

import rebut
from rebut.core.errors import Aborted, ParticipantFailed, UsageError
from rebut.core.types import Reply, Request
from rebut.domain.outcome import Outcome
from rebut.domain.review_result import ReviewResult
from rebut.workspace.targets.target import Target, Wanted
from tests.voices import time_is_up

FOUND = {"r1/critique@critic": crosses.critique(crosses.raised())}


def contract(outcome: Outcome) -> ReviewResult:
    data = outcome.data["contract"]
    assert isinstance(data, dict)
    return ReviewResult.from_json(data)


def folder(outcome: Outcome) -> Path:
    return Path(contract(outcome).folder)


def asked(key: str) -> str:
    return voices.record().calls[key].asked[1].prompt


# routing ------------------------------------------------------------


def test_a_change_is_criticised_by_place_and_judged(shop: Path) -> None:  # J7, J9
    outcome = crosses.review(shop, FOUND | {"r1/judgement@judge": crosses.judgement()})
    made = contract(outcome)
    assert (outcome.heading, made.decision, made.converged, made.rounds) == ("STOPPED", "Stopped", False, 1)
    [finding] = made.findings
    assert (finding.id, finding.severity, finding.place, finding.mark) == ("F1", "P1", "api/orders.py:5", "found")
    assert (finding.ruling, finding.action, finding.category) == ("valid", "charge first", "correctness")
    assert outcome.exit_code == 0


def test_the_critic_sees_the_diff_and_the_changed_files_whole_with_line_numbers(shop: Path) -> None:  # C15
    crosses.review(shop, FOUND | {"r1/judgement@judge": crosses.judgement()})
    prompt = asked("r1/critique@critic")
    assert "-    charge(order)\n     commit(order)\n+    charge(order)" in prompt
    assert "   1| import os\n" in prompt and "   7|     return None" in prompt
    assert "README.md" not in prompt


def test_a_round_is_summed_up_as_agreements_concerns_and_suggestions(shop: Path) -> None:  # J7
    outcome = crosses.review(shop, FOUND | {"r1/judgement@judge": crosses.judgement()})
    page = (folder(outcome) / "round-1-critique.md").read_text()
    order = [page.index(f"## {name}") for name in ("Agreements", "Concerns", "Suggestions")]
    assert order == sorted(order)
    assert "The name is good." in page and "F1 (P1, correctness)" in page and "Say why." in page
    assert "Judge: valid, P1" in page
    assert "The name is good." in asked("r1/judgement@judge")


def test_a_proposal_is_asked_for_alternatives_and_a_decision(shop: Path) -> None:  # J7
    found = crosses.raised("A restart loses every session.", "§ Cost", evidence=[duels.cite("§ Cost", "not needed")])
    said = {"r1/critique@critic": crosses.proposal(found), "r1/judgement@judge": crosses.judgement()}
    outcome = crosses.review(shop, said, Wanted("proposal", content=crosses.PROPOSAL))
    assert contract(outcome).target == "proposal"
    assert contract(outcome).findings[0].mark == "found", "a section of the artifact is a place"
    page = (folder(outcome) / "round-1-critique.md").read_text()
    assert "## Missing alternatives\n\n- signed cookies" in page
    assert "## Recommended decision\n\n- Use cookies." in page
    assert "signed cookies" in asked("r1/judgement@judge") and "Use cookies." in asked("r1/judgement@judge")


MIXED = "# Design\n\nPay late.\n\n```python\ndef pay(order):\n    commit(order)\n```\n"


def test_a_mixed_target_takes_both_paths_side_by_side_and_merges_them(shop: Path) -> None:  # J7
    both, seen = asyncio.Event(), list[str]()

    async def critic(request: Request) -> Reply:
        seen.append(request.key)
        if len(seen) == 2:
            both.set()
        await both.wait()  # neither answers before the other was asked
        code = crosses.critique(crosses.raised("It commits first.", "snippet-1.py:2"))
        text = crosses.proposal(crosses.raised("Why late?", "Design", evidence=[duels.cite("Design", "Pay late.")]))
        return Reply(json.dumps(code if ".code@" in request.key else text), "m", "f")

    judge = voices.Voice(json.dumps(crosses.judgement("E", {"F1": "valid P1", "F2": "valid P2"})))
    outcome = rebut.run(
        "cross",
        target=Wanted("mixed", content=MIXED),
        workspace=shop,
        critic="one",
        judge="two",
        backends={"one": voices.Voice(critic), "two": judge},
    )
    assert sorted(seen) == ["r1/critique.code@critic", "r1/critique.text@critic"]
    assert [(f.id, f.mark) for f in contract(outcome).findings] == [("F1", "found"), ("F2", "found")]
    assert "It commits first." in judge.asked[0].prompt and "Why late?" in judge.asked[0].prompt
    assert contract(outcome).rounds == 1


def test_a_part_that_nobody_read_is_told_and_never_reads_as_agreement(shop: Path) -> None:  # C6
    said = {
        "r*/critique.code@critic": crosses.critique(),
        "r*/critique.text@critic": {"fail": "bad reply"},
        "r*/judgement@judge": crosses.judgement("A", {}),
    }
    outcome = crosses.review(shop, said, Wanted("mixed", content=MIXED))
    assert outcome.heading == "KEEP ORIGINAL, A PART OF THE CRITIQUE IS MISSING" and outcome.exit_code == 3
    assert contract(outcome).stopped_by == "A"
    assert any("the part text of the critique is missing" in note for note in outcome.notes)


def test_a_change_too_large_for_one_prompt_is_split_by_file_and_told(shop: Path) -> None:  # J7
    for n in range(4):
        (shop / f"big{n}.py").write_text("".join(f"value_{n}_{i} = {i}\n" for i in range(3000)))
    critic = voices.Voice(json.dumps(crosses.critique()))
    outcome = rebut.run(
        "cross", target=Wanted(scope="uncommitted"), workspace=shop, critic="one", judge="two",
        backends={"one": critic, "two": voices.Voice("no")},
    )  # fmt: skip
    assert len(critic.asked) > 1 and all(key.startswith("r1/critique.code") for key in critic.keys)
    files = {c.path for request in critic.asked for c in request.material.change}
    assert {f"big{n}.py" for n in range(4)} <= files
    assert outcome.heading == "KEEP ORIGINAL"
    assert any("run side by side" in note for note in outcome.notes)


# the critic and the judge ------------------------------------------------------------


def test_the_critic_is_another_model_than_the_author(shop: Path) -> None:  # J8
    one = voices.Voice("x")
    with pytest.raises(UsageError, match="author and critic are both one"):
        rebut.run("cross", target=Wanted(scope="uncommitted"), workspace=shop, author="one", critic="one",
                  backends={"one": one})  # fmt: skip
    assert one.asked == []


def test_the_judge_is_the_authors_model_by_default_and_the_author_is_never_asked(shop: Path) -> None:  # J8, J9
    critic = voices.Voice(json.dumps(crosses.critique(crosses.raised())))
    author = voices.Voice(json.dumps(crosses.judgement()))
    outcome = rebut.run("cross", target=Wanted(scope="uncommitted"), workspace=shop, author="one", critic="two",
                        backends={"one": author, "two": critic})  # fmt: skip
    assert author.keys == ["r1/judgement@judge"] and critic.keys == ["r1/critique@critic"]
    assert any("the judge is the author's model (" in note for note in outcome.notes)
    seats = {s.seat: s.answered for s in outcome.seats}
    assert seats == {"author": 0, "critic": 1, "judge": 1}


def test_an_author_that_is_not_here_can_still_be_named(shop: Path) -> None:  # J8
    said = FOUND | {"r1/judgement@judge": crosses.judgement()}
    outcome = crosses.review(shop, said, author="claude")  # no such tool on the PATH of a test
    assert outcome.seats[0].spec == "claude" and outcome.exit_code == 0


def test_where_no_model_is_found_programs_look_at_code(shop: Path) -> None:  # J8
    lint = voices.Voice(json.dumps(crosses.critique(crosses.raised())))
    rules = voices.Voice(json.dumps(crosses.judgement()))
    outcome = rebut.run("cross", target=Wanted(scope="uncommitted"), workspace=shop,
                        backends={"lint": lint, "rules": rules})  # fmt: skip
    assert lint.asked[0].material.change[0].path == "api/orders.py"
    [finding] = rules.asked[0].material.findings
    assert (finding.id, finding.marks, finding.rule_based, finding.has_fix) == ("F1", ("found",), True, False)
    assert [s.spec for s in outcome.seats] == ["human", "lint", "rules"]
    said = "no model was used: none was found; the critic is lint and the judge is rules, which apply fixed rules"
    assert said in outcome.notes


def test_what_programs_propose_is_put_together_from_their_fixes(shop: Path) -> None:  # J10
    fixed = crosses.raised("None is returned.", "api/orders.py:7", fix="    return order", category="maintainability")
    fixed["evidence"][0]["quote"] = "return None"
    moved = crosses.raised(fix="    nothing", place="api/orders.py:2", category="other")
    lint = voices.Voice({"r1/critique@critic": json.dumps(crosses.critique(fixed, moved))})
    rules = voices.Voice(json.dumps(crosses.judgement("B", {"F1": "valid P2", "F2": "valid P3"})))
    outcome = rebut.run("cross", target=Wanted(scope="uncommitted"), workspace=shop, critic="lint", judge="rules",
                        backends={"lint": lint, "rules": rules})  # fmt: skip
    assert lint.keys == ["r1/critique@critic"], "a program is not asked for prose"
    git(shop, "apply", "-", stdin=(folder(outcome) / "final.patch").read_text())
    assert (shop / "api/orders.py").read_text() == crosses.AFTER.replace("return None", "return order")


def test_the_judge_classifies_weighs_and_adds_what_was_missed(shop: Path) -> None:  # J9
    other = crosses.raised("No retry.", "api/orders.py:6", category="reliability")
    other["evidence"][0]["quote"] = "charge(order)"
    missed = crosses.raised("None is returned.", "api/orders.py:7", severity="P2")
    missed["evidence"][0]["quote"] = "return None"
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised(), other, crosses.raised("Style.", "README.md:1")),
        "r1/judgement@judge": crosses.judgement(
            "E", {"F1": "valid P2", "F2": "invalid P3", "F3": "missing evidence P3"}, missed=[missed]
        ),
        "r1/additions@critic": {"findings": crosses.judgement("E", {"F4": "invalid P2"})["findings"]},
    }
    found = {f.id: f for f in contract(crosses.review(shop, said)).findings}
    assert [(f.raised_as, f.severity, f.ruling) for f in found.values()] == [
        ("P1", "P2", "valid"),
        ("P1", "P3", "invalid"),
        ("P1", "P3", "missing evidence"),
        ("P2", "P2", "invalid"),
    ]
    assert found["F4"].reason == "F4 is invalid", "what the judge adds is weighed by the critic"
    assert found["F4"].voices == ("judge",) and found["F4"].mark == "found"


def test_an_absent_p1_is_demoted_and_a_moved_one_is_kept(shop: Path) -> None:  # J9, C11
    absent = crosses.raised("Tokens leak.", category="security", evidence=[duels.cite("api/auth.py:12", "token == x")])
    moved = crosses.raised("It commits first.", "api/orders.py:2")
    said = {
        "r1/critique@critic": crosses.critique(absent, moved),
        "r1/judgement@judge": crosses.judgement("E", {"F1": "valid P1", "F2": "valid P1"}),
    }
    first, second = contract(crosses.review(shop, said)).findings
    assert (first.severity, first.struck, first.mark) == ("P2", True, "absent")
    assert (second.severity, second.struck, second.mark, second.place) == ("P1", False, "moved", "api/orders.py:5")
    assert "api/auth.py: no such file" in asked("r1/judgement@judge"), "the judge sees the marks"


def test_what_is_cited_of_a_deleted_line_is_found_on_the_old_side(shop: Path) -> None:  # C11
    (shop / "api/orders.py").write_text("import os\n")
    gone = crosses.raised(
        "The charge is gone.", "api/orders.py:5", evidence=[duels.cite("api/orders.py:5", "charge(order)")]
    )
    said = {"r1/critique@critic": crosses.critique(gone), "r1/judgement@judge": crosses.judgement()}
    outcome = crosses.review(shop, said)
    [cited] = outcome.ledger.points[0].evidence
    assert (cited.mark, cited.note) == ("found", "on the old side of the diff")


def test_a_commit_is_reviewed_as_it_stood_whatever_the_working_tree_says(shop: Path) -> None:  # C11, J2
    sha = commit(shop, "two")
    (shop / "api/orders.py").write_text("nothing\n")
    (shop / "README.md").write_text("nothing\n")
    commit(shop, "three")
    beside = crosses.raised("No word of it.", "README.md:1", evidence=[duels.cite("README.md:1", "# Shop")])
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised(), beside),
        "r1/judgement@judge": crosses.judgement("C", {"F1": "valid P1", "F2": "valid P3"}),
        "r1/version.code@judge": crosses.patch(),
    }
    outcome = crosses.review(shop, said, Wanted(scope=f"commit:{sha}"), rounds=1)
    assert [f.mark for f in contract(outcome).findings] == ["found", "found"], "also of files that it did not change"
    patch = (folder(outcome) / "final.patch").read_text()
    (shop / "api/orders.py").write_text(crosses.AFTER)
    git(shop, "apply", "--check", "-", stdin=patch)


# choices and endings ------------------------------------------------------------


def test_b_has_the_critic_write_the_final_artifact(shop: Path) -> None:  # J10
    said = FOUND | {"r1/judgement@judge": crosses.judgement("B"), "r1/version.code@critic": crosses.patch()}
    outcome = crosses.review(shop, said)
    assert (outcome.heading, contract(outcome).converged) == ("ACCEPT OPPOSITE", True)
    patch = (folder(outcome) / "final.patch").read_text()
    git(shop, "apply", "--check", "-", stdin=patch)
    assert (shop / "api/orders.py").read_text() == crosses.AFTER, "nobody's tree is touched"


def test_b_without_materializing_makes_no_further_call(shop: Path) -> None:  # J5, J10
    said = FOUND | {"r1/judgement@judge": crosses.judgement("B")}
    outcome = crosses.review(shop, said, skip_materialize_opposite=True)
    assert outcome.heading == "ACCEPT OPPOSITE" and outcome.spent.calls == 2
    assert "not written" in contract(outcome).artifact
    assert not (folder(outcome) / "final.patch").exists()


def test_c_writes_a_version_that_the_next_round_looks_at(shop: Path) -> None:  # J10
    said = FOUND | {
        "r1/judgement@judge": crosses.judgement("C"),
        "r1/version.code@judge": crosses.patch(),
        "r2/critique@critic": crosses.critique(earlier=[crosses.looked()]),
    }
    outcome = crosses.review(shop, said)
    made = contract(outcome)
    assert (outcome.heading, made.stopped_by, made.rounds) == ("COMPROMISE", "agreed", 2)
    assert "   5|     charge(order)\n   6|     commit(order)" in asked("r2/critique@critic")
    assert (made.findings[0].status, made.findings[0].seen) == ("resolved", "fixed")
    assert outcome.ledger.moves[-1].reason == "In this version it is fixed."
    assert (folder(outcome) / "artifact-v2.patch").read_text() == (folder(outcome) / "final.patch").read_text()


def test_a_patch_that_does_not_apply_is_sent_back_once_with_gits_words(shop: Path) -> None:  # J10
    bad = crosses.patch(crosses.PATCH.replace("commit(order)", "comit(order)"))
    said = FOUND | {"r1/judgement@judge": crosses.judgement("B"), "r1/version.code@critic": [bad, crosses.patch()]}
    outcome = crosses.review(shop, said)
    call = voices.record().calls["r1/version.code@critic"]
    assert call.asked[2].why == "send-back" and "patch failed: api/orders.py:2" in call.asked[2].followup
    assert "final.patch" in contract(outcome).artifact


def test_a_patch_that_never_applies_is_not_taken_and_the_review_goes_on(shop: Path) -> None:  # J10
    bad = crosses.patch("--- a/api/orders.py\n+++ b/api/orders.py\n@@ -1 +1 @@\n-nonsense\n+x\n")
    said = FOUND | {"r1/judgement@judge": crosses.judgement("C"), "r1/version.code@judge": bad}
    outcome = crosses.review(shop, said, rounds=1)
    heading = "STOPPED, THE CHOSEN VERSION WAS NOT WRITTEN"
    assert (outcome.heading, outcome.exit_code) == (heading, 3), "without a version there is no compromise"
    assert any("version 2 was not accepted" in note for note in outcome.notes)
    assert not (folder(outcome) / "final.patch").exists()


def test_versions_build_on_each_other_and_the_final_patch_holds_them_all(shop: Path) -> None:  # J10
    second = (
        "--- a/api/orders.py\n+++ b/api/orders.py\n@@ -4,4 +4,3 @@\n def pay(order):\n     charge(order)\n"
        "     commit(order)\n-    return None\n"
    )
    new = crosses.raised("None is returned.", "api/orders.py:7", category="tests")
    new["evidence"][0]["quote"] = "return None"
    said = FOUND | {
        "r1/judgement@judge": crosses.judgement("C"),
        "r1/version.code@judge": crosses.patch(),
        "r2/critique@critic": crosses.critique(new),
        "r2/judgement@judge": crosses.judgement("C", {"F2": "valid P2"}),
        "r2/version.code@judge": crosses.patch(second),
    }
    outcome = crosses.review(shop, said, rounds=2)
    assert outcome.heading == "COMPROMISE, NOT CONVERGED" and outcome.exit_code == 0
    git(shop, "apply", "-", stdin=(folder(outcome) / "final.patch").read_text())
    assert (shop / "api/orders.py").read_text() == crosses.BEFORE
    assert (folder(outcome) / "artifact-v2.patch").exists() and (folder(outcome) / "artifact-v3.patch").exists()


def test_a_proposals_next_version_is_its_whole_text(shop: Path) -> None:  # J10
    better = crosses.PROPOSAL.replace("not needed", "needed").rstrip()
    said = {
        "r1/critique@critic": crosses.proposal(crosses.raised("Sessions are lost.", "Cost")),
        "r1/judgement@judge": crosses.judgement("C"),
        "r1/version.text@judge": crosses.text(better),
        "r2/critique@critic": crosses.proposal(),
    }
    outcome = crosses.review(shop, said, Wanted("proposal", content=crosses.PROPOSAL))
    assert (folder(outcome) / "artifact-v2.md").read_text() == better + "\n"
    assert contract(outcome).content == better and better in (folder(outcome) / "summary.md").read_text()
    assert (folder(outcome) / "artifact.md").read_text() == crosses.PROPOSAL


def test_a_citation_of_a_later_version_is_checked_against_that_version(shop: Path) -> None:  # C11
    later = crosses.raised("Now it charges twice?", "api/orders.py:5", category="other")
    later["evidence"][0]["quote"] = "charge(order)"  # on line 6 of the first version, on line 5 of the second
    text = crosses.raised("The replica is paid for.", "Cost", evidence=[duels.cite("§ Cost", "A replica is needed.")])
    said = FOUND | {
        "r1/judgement@judge": crosses.judgement("C"),
        "r1/version.code@judge": crosses.patch(),
        "r2/critique@critic": crosses.critique(later),
        "r2/judgement@judge": crosses.judgement("A", {"F2": "invalid P3"}),
    }
    assert crosses.review(shop, said).ledger.points[1].evidence[0].mark == "found"
    said = {
        "r1/critique@critic": crosses.proposal(text),
        "r1/judgement@judge": crosses.judgement("C"),
        "r1/version.text@judge": crosses.text(crosses.PROPOSAL.replace("not needed", "needed")),
        "r2/critique@critic": crosses.proposal(text | {"text": "Who pays for the replica?"}),
        "r2/judgement@judge": crosses.judgement("E", {"F2": "valid P2"}),
    }
    outcome = crosses.review(shop, said, Wanted("proposal", content=crosses.PROPOSAL))
    assert [p.evidence[0].mark for p in outcome.ledger.points] == ["absent", "found"]


def test_d_attaches_the_rebuttal_and_what_is_dropped_after_it_is_noticed(shop: Path) -> None:  # J10, C12
    other = crosses.raised("No retry.", "api/orders.py:6", category="reliability")
    other["evidence"][0]["quote"] = "charge(order)"
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised(), other),
        "r1/judgement@judge": crosses.judgement("D", {"F1": "invalid P1", "F2": "invalid P2"}),
        "r2/critique@critic": crosses.critique(crosses.raised("The answer fails.", same_as="F1")),
        "r2/judgement@judge": crosses.judgement("E", {"F1": "valid P1"}),
    }
    outcome = crosses.review(shop, said)
    assert "charge() is idempotent" in asked("r2/critique@critic")
    assert (folder(outcome) / "round-1-rebuttal.md").read_text().endswith("charge() is idempotent.\n")
    assert [(s.kind, s.point) for s in outcome.ledger.slips] == [("dropped", "F2")]
    assert len(outcome.ledger.points) == 2 and contract(outcome).findings[0].ruling == "valid"
    assert (outcome.heading, contract(outcome).converged) == ("STOPPED", False)


def test_a_grave_finding_that_names_an_unknown_one_is_never_a_clean_review(shop: Path) -> None:  # C6 C10
    lost = crosses.critique(crosses.raised("The charge can be lost.", same_as="F1"))
    said = {"r1/critique@critic": [lost, lost], "r1/judgement@judge": crosses.judgement("A", {})}
    outcome = crosses.review(shop, said)
    assert outcome.ledger.points == () and [m.point for m in outcome.ledger.unplaced] == ["F1"]
    assert outcome.heading.endswith("NOT EVERY OBJECTION WEIGHED") and outcome.exit_code == 3
    assert any("The charge can be lost." in note for note in outcome.notes)


def test_two_quiet_rounds_end_it(shop: Path) -> None:  # J11
    said = FOUND | {
        "r1/judgement@judge": crosses.judgement("D", {"F1": "invalid P3"}),
        "r2/critique@critic": crosses.critique(crosses.raised("Once more.", same_as="F1")),
        "r2/judgement@judge": crosses.judgement("D", {"F1": "invalid P3"}),
    }
    outcome = crosses.review(shop, said, rounds=5)
    made = contract(outcome)
    assert (made.stopped_by, made.rounds, made.converged, made.decision) == ("quiet", 2, True, "Keep Original")


def test_the_minutes_end_it_without_convergence(shop: Path) -> None:  # J11, C6
    said = FOUND | {"r1/judgement@judge": crosses.judgement("D", {"F1": "valid P1"})}
    sat = crosses.seats(shop.parent / "seats", said, delay=0.3)
    outcome = rebut.run("cross", target=Wanted(scope="uncommitted"), workspace=shop, limits={"minutes": 0.012}, **sat)
    made = contract(outcome)
    assert made.stopped_by in ("minutes", "limit") and not made.converged and made.decision == "Stopped"
    assert outcome.heading == "STOPPED AFTER 1 OF 3 ROUNDS" and outcome.exit_code == 3


def test_a_critic_that_fails_in_a_later_round_leaves_what_was_found(shop: Path) -> None:  # C5, C6
    said = FOUND | {
        "r1/judgement@judge": crosses.judgement("C"),
        "r1/version.code@judge": crosses.patch(),
        "r2/critique@critic": {"fail": "bad reply"},
    }
    outcome = crosses.review(shop, said)
    assert outcome.heading == "COMPROMISE AFTER 1 OF 3 ROUNDS" and outcome.exit_code == 3
    assert "the critic failed in round 2" in outcome.stopped


def test_a_critic_that_never_answers_leaves_nothing_that_reads_like_a_review(shop: Path) -> None:  # C5
    said = {"r1/critique@critic": {"fail": "bad reply"}}
    with pytest.raises(Aborted, match="nothing was reviewed"):
        crosses.review(shop, said)
    sat = crosses.seats(shop.parent / "seats", FOUND | {"r1/judgement@judge": crosses.judgement()})
    # The judge's model was asked for it, too, and keeps the seat.
    assert sat and asyncio.run(rebut.resume("last", workspace=shop)).heading == "STOPPED, SELF-REVIEW"


def test_a_critic_that_is_not_there_is_stood_in_for_and_that_is_no_second_opinion(shop: Path) -> None:  # J13
    def judge(request: Request) -> str:
        form = crosses.critique(crosses.raised()) if "critique" in request.key else crosses.judgement()
        return json.dumps(form)

    gone = voices.Voice(ParticipantFailed("missing tool", "not installed"))
    author = voices.Voice(judge)
    outcome = rebut.run("cross", target=Wanted(scope="uncommitted"), workspace=shop, author="one", critic="two",
                        backends={"one": author, "two": gone})  # fmt: skip
    assert author.keys == ["r1/critique@critic", "r1/judgement@judge"]
    assert outcome.heading == "STOPPED, SELF-REVIEW" and outcome.exit_code == 3
    assert any("one opinion, not two" in note for note in outcome.notes)
    assert asyncio.run(rebut.fork("last", workspace=shop, judge="two", allow_same_model=True,
                                  backends={"one": author, "two": author})).heading  # fmt: skip


def test_a_fallback_that_was_named_speaks_for_the_rest_of_the_debate(shop: Path) -> None:  # J13
    gone = voices.Voice(ParticipantFailed("auth", "log in first"))
    other = voices.Voice(json.dumps(crosses.critique(crosses.raised())))
    judge = voices.Voice(json.dumps(crosses.judgement("D", {"F1": "valid P1"})))
    sat: dict[str, Any] = {"critic": "two", "judge": "one", "fallbacks": {"critic": ["three"]}}
    backends = {"one": judge, "two": gone, "three": other}
    outcome = rebut.run("cross", target=Wanted(scope="uncommitted"), workspace=shop, rounds=2, backends=backends, **sat)
    assert other.keys == ["r1/critique@critic", "r2/critique@critic"] and gone.keys == ["r1/critique@critic"]
    assert any("three answered for the critic, as a fallback" in note for note in outcome.notes)


@pytest.mark.parametrize("when", ["critique", "version.code"])
def test_a_program_that_took_the_critics_place_has_the_fixes_put_together(shop: Path, when: str) -> None:  # J10 J13
    fixed = crosses.raised("None is returned.", "api/orders.py:7", fix="    return order")
    fixed["evidence"][0]["quote"] = "return None"
    said = json.dumps(crosses.critique(fixed))
    gone = ParticipantFailed("auth", "log in first")
    backends: dict[str, Any] = {
        "one": voices.Voice(json.dumps(crosses.judgement("B", {"F1": "valid P2"}))),
        "two": voices.Voice({"r1/critique@critic": said, f"r1/{when}@critic": gone}),
    }
    if when == "critique":
        backends["lint"] = voices.Voice({"r1/critique@critic": said})
    outcome = rebut.run("cross", target=Wanted(scope="uncommitted"), workspace=shop, critic="two", judge="one",
                        fallbacks={"critic": ["lint"]}, backends=backends)  # fmt: skip
    assert outcome.kind == "accept opposite" and (folder(outcome) / "artifact-v2.patch").exists()
    git(shop, "apply", "-", stdin=(folder(outcome) / "final.patch").read_text())
    assert (shop / "api/orders.py").read_text() == crosses.AFTER.replace("return None", "return order")
    again = asyncio.run(rebut.replay(outcome.session))
    assert (again.heading, again.data, again.notes) == (outcome.heading, outcome.data, outcome.notes)


# settings ------------------------------------------------------------


@pytest.mark.parametrize(
    ("named", "rounds", "minutes", "timeout"),
    [
        ({}, 3, 20, 600),
        ({"intensity": "quick"}, 1, 10, 180),
        ({"intensity": "extensive"}, 5, 40, 900),
        ({"intensity": "quick", "rounds": 4, "limits": {"minutes": 7, "timeout": 200}}, 4, 7, 200),
    ],
)
def test_intensity_sets_rounds_minutes_and_time_a_call(
    shop: Path, named: Any, rounds: int, minutes: float, timeout: float
) -> None:  # J3
    crosses.review(shop, {"r1/critique@critic": crosses.critique()}, **named)
    record = voices.record()
    assert record.opened.settings["rounds"] == rounds
    assert (record.limits["minutes"], record.limits["timeout"]) == (minutes, timeout)


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"rounds": 6}, "rounds must be 1 to 5, got 6"),
        ({"rounds": 0}, "rounds must be 1 to 5, got 0"),
        ({"intensity": "wild"}, "intensity"),
        ({"mode": "both"}, "mode"),
        ({"limits": {"minutes": 0}}, "minutes limit must be above 0"),
        ({"limits": {"timeout": 0}}, "timeout limit must be above 0"),
    ],
)
def test_a_setting_out_of_range_is_an_error_and_nothing_is_called(shop: Path, named: Any, message: str) -> None:  # J3
    with pytest.raises(UsageError, match=message):
        crosses.review(shop, {}, **named)


@pytest.mark.parametrize(("kind", "told"), [("proposal", True), ("code", False)])
def test_a_short_time_a_call_is_noticed_for_a_proposal(shop: Path, kind: str, told: bool) -> None:  # J3
    wanted = Wanted("proposal", content=crosses.PROPOSAL) if kind == "proposal" else Wanted(scope="uncommitted")
    outcome = crosses.review(shop, {"r1/critique@critic": crosses.proposal()}, wanted, limits={"timeout": 90})
    assert any("90 s a call is short" in note for note in outcome.notes) == told


def test_a_target_is_an_input_that_a_fork_copies_and_a_resume_reads(shop: Path) -> None:  # C13
    outcome = crosses.review(shop, FOUND | {"r1/judgement@judge": crosses.judgement()})
    fact = voices.record().facts["target"]
    assert fact.cls == "input" and isinstance(fact.value, dict)
    before = Target.from_json(fact.value)
    (shop / "api/orders.py").write_text("gone\n")
    other = duels.script(shop.parent / "other.json", {"r1/judgement@judge": crosses.judgement("E")}, model="other")
    forked = asyncio.run(rebut.fork(outcome.session, workspace=shop, judge=other))
    assert forked.heading == "STOPPED" and forked.spent.calls == 1, "the critique is reused"
    again = voices.record(forked.session).facts["target"].value
    assert isinstance(again, dict) and Target.from_json(again) == before
    assert folder(forked) != folder(outcome) and (folder(forked) / "summary.md").exists()


def test_secrets_of_the_target_are_taken_out_before_anything_is_sent(shop: Path) -> None:  # C8
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    (shop / "api/orders.py").write_text(crosses.AFTER + f'TOKEN = "{secret}"\n')
    outcome = crosses.review(shop, FOUND | {"r1/judgement@judge": crosses.judgement()})
    assert "[secret:" in asked("r1/critique@critic")
    for path in [*folder(outcome).iterdir(), *voices.folder(outcome.session).rglob("*")]:
        assert not path.is_file() or secret not in path.read_text(errors="replace"), path


def test_at_a_deadline_what_was_found_is_told_and_it_can_go_on(shop: Path) -> None:  # C17
    said = FOUND | {"r1/judgement@judge": {"hang": True}}
    sat = crosses.seats(shop.parent / "seats", said)
    late = time_is_up("asked", "r1/judgement@judge")
    outcome = rebut.run("cross", target=Wanted(scope="uncommitted"), workspace=shop, **late, **sat)
    assert outcome.exit_code == 5 and outcome.heading == "NO DECISION YET, 0 OF 3 ROUNDS"
    assert contract(outcome).findings[0].id == "F1"


def test_at_a_deadline_what_the_judge_said_so_far_is_told(shop: Path) -> None:  # C17 J12
    said = FOUND | {"r1/judgement@judge": crosses.judgement("D"), "r2/critique@critic": {"hang": True}}
    sat = crosses.seats(shop.parent / "seats", said)
    late = time_is_up("asked", "r2/critique@critic")
    outcome = rebut.run("cross", target=Wanted(scope="uncommitted"), workspace=shop, **late, **sat)
    assert outcome.exit_code == 5 and "Round 1: D: because of D" in outcome.final
    assert "not asked" not in outcome.final and "nothing is left to do" not in outcome.final
    assert "Ask the payments team." in outcome.final and "Resume the review: it is not over." in outcome.final


def test_a_model_that_reviews_its_own_work_is_no_second_opinion(shop: Path) -> None:  # C2, C6
    said = FOUND | {"r1/judgement@judge": crosses.judgement()}
    critic = crosses.seats(shop.parent / "seats", said)["critic"]
    outcome = crosses.review(shop, said, author=critic, judge=critic, allow_same_model=True)
    assert outcome.heading == "STOPPED, SELF-REVIEW" and outcome.exit_code == 3
    assert any("one opinion, not two" in note for note in outcome.notes)


def test_a_judge_that_rules_on_nothing_leaves_the_review_inconclusive(shop: Path) -> None:  # C6, J9
    silent = crosses.judgement("A", {})
    outcome = crosses.review(shop, FOUND | {"r1/judgement@judge": [silent, silent]})
    assert outcome.heading == "KEEP ORIGINAL, A FINDING HAS NO RULING" and outcome.exit_code == 3
    assert "the judge did not rule on F1" in outcome.notes
