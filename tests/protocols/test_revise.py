"""What a revision does when all goes well: its rounds, its files, its log, its endings."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from pathlib import Path
from typing import Any

import duels
import pytest
import revisions
from revisions import change, critique, dispute, document, objection, phase, revision, run, tree
from voices import Voice, events, record

import rebut
from rebut.core.errors import UsageError
from rebut.record import sessions
from rebut.workspace.targets.target import Wanted

PLAN_OF_TWO = [
    *("plan_claude.md", "plan_codex.md"),
    *("critique_of_codex_r1.md", "critique_of_claude_r1.md", "plan_claude_v2.md", "plan_codex_v2.md"),
    *("critique_of_codex_r2.md", "critique_of_claude_r2.md", "plan_claude_v3.md", "plan_codex_v3.md"),
    *("debate_log.md", "PLAN.md"),
]
REVIEW_OF_ONE = [
    *("review.md", "review_codex.md", "critique_of_review_codex_r1.md", "critique_of_review_opus_r1.md"),
    *("review_v2.md", "review_codex_v2.md", "debate_log.md", "review_verdict.md"),
]


def plan_files(rounds: int) -> list[str]:
    out = ["plan_claude.md", "plan_codex.md", "debate_log.md", "PLAN.md"]
    for n in range(1, rounds + 1):
        out += [f"critique_of_{who}_r{n}.md" for who in ("claude", "codex")]
        out += [f"plan_{who}_v{n + 1}.md" for who in ("claude", "codex")]
    return sorted(out)


def review_files(rounds: int) -> list[str]:
    out = ["review.md", "review_codex.md", "debate_log.md", "review_verdict.md"]
    for n in range(1, rounds + 1):
        out += [f"critique_of_review_{who}_r{n}.md" for who in ("opus", "codex")]
        out += [f"review_v{n + 1}.md", f"review_codex_v{n + 1}.md"]
    return sorted(out)


# files


def test_the_patterns_of_the_tests_give_the_lists_of_the_document_behind_this() -> None:
    assert plan_files(2) == sorted(PLAN_OF_TWO) and review_files(1) == sorted(REVIEW_OF_ONE)


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_a_plan_debate_leaves_exactly_its_files(workspace: Path, rounds: int) -> None:  # K9
    outcome = run(workspace, rounds=rounds)
    assert tree(workspace) == plan_files(rounds)
    assert outcome.heading == f"PLAN AFTER {rounds} ROUND{'S' if rounds > 1 else ''}" and outcome.conclusive
    assert outcome.notes == () and outcome.spent.calls == 3 + 4 * rounds


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_a_review_debate_leaves_exactly_its_files(workspace: Path, rounds: int) -> None:  # K4 K9
    change(workspace)
    outcome = run(workspace, stage="review", rounds=rounds, names=("opus", "codex"))
    assert tree(workspace) == review_files(rounds)
    assert outcome.heading == f"REVIEW VERDICT AFTER {rounds} ROUND{'S' if rounds > 1 else ''}" and outcome.conclusive
    assert outcome.decision == "approve with changes: The ttl must be set from outside."


def test_the_bare_names_of_a_review_are_its_first_authors(workspace: Path) -> None:  # K9
    change(workspace)
    run(workspace, stage="review", rounds=1, names=("opus", "codex"))
    read = {name: (phase(workspace) / name).read_text() for name in tree(workspace)}
    assert "as author 1 would" in read["review.md"] and "as author 1 would" in read["review_v2.md"]
    assert "as author 2 would" in read["review_codex.md"] and "as author 2 would" in read["review_codex_v2.md"]
    assert "that author 1 sees" in read["critique_of_review_codex_r1.md"]
    assert "that author 2 sees" in read["critique_of_review_opus_r1.md"]


def test_names_follow_the_seats_the_provider_where_none_was_given(workspace: Path) -> None:  # K3
    said = revisions.answers(1)
    one = duels.script(workspace.parent / "x.json", said)
    other = duels.script(workspace.parent / "y.json", said)
    rebut.run(
        "revise", "T", workspace=workspace, author=[one, f"ada={other}"], synthesizer=f"z={one}", rounds=1,
        allow_same_model=True,
    )  # fmt: skip
    assert {"plan_scripted.md", "plan_ada.md", "critique_of_scripted_r1.md"} <= set(tree(workspace))


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (("", ""), "two authors are called scripted"),
        (("Ada", "ada"), "two authors are called ada"),
        (("ada", "ada_v2"), "would share the file plan_ada_v2.md"),
    ],
)
def test_authors_whose_files_would_collide_are_refused_before_anything(  # K3
    workspace: Path, names: tuple[str, str], says: str
) -> None:
    said = revisions.answers(1)
    authors = [
        f"{name}=" * bool(name) + duels.script(workspace.parent / f"{n}.json", said) for n, name in enumerate(names)
    ]
    with pytest.raises(UsageError, match=says) as error:
        rebut.run("revise", "T", workspace=workspace, author=authors)
    assert "NAME" in error.value.hint or "name" in error.value.hint
    assert not (workspace / ".kiln").exists() and sessions.sessions(sessions.home()) == []


def test_a_second_author_of_a_review_cannot_be_called_like_a_version(workspace: Path) -> None:  # K9
    change(workspace)
    with pytest.raises(UsageError, match=r"would share the file review_v2\.md"):
        run(workspace, stage="review", names=("opus", "v2"))


def test_files_are_there_as_soon_as_their_round_is_over(workspace: Path) -> None:  # K9
    seen: dict[str, list[str]] = {}

    def answer(request: Any) -> str:
        seen[request.key] = tree(workspace) if phase(workspace).exists() else []
        return json.dumps(said[request.key])

    said = revisions.answers(2)
    voice = Voice(answer)
    rebut.run(
        "revise", "T", workspace=workspace, author=["claude=one", "codex=two"], synthesizer="three",
        backends=dict.fromkeys(("one", "two", "three"), voice),
    )  # fmt: skip
    assert seen["r0/draft@author.1"] == [] and seen["r1/critique@author.1"] == ["plan_claude.md", "plan_codex.md"]
    assert "debate_log.md" in seen["r2/critique@author.1"] and "plan_codex_v2.md" in seen["r2/critique@author.1"]
    assert seen["synthesis@synthesizer"] == sorted(set(PLAN_OF_TWO) - {"PLAN.md"})


# rounds


def test_the_first_drafts_are_written_blind_and_in_parallel(workspace: Path) -> None:  # K3
    run(workspace, rounds=1)
    kinds = [(e.kind, getattr(e, "key", "")) for e in events("", "asked", "attempt")]
    assert [k for k, key in kinds if key.startswith("r0/")] == ["asked", "asked", "attempt", "attempt"]
    for step in ("critique", "revision"):
        assert [k for k, key in kinds if f"r1/{step}@" in key] == ["asked", "asked", "attempt", "attempt"]
    first, second = (e.prompt for e in events("", "asked") if e.key.startswith("r0/"))  # type: ignore[union-attr]
    assert first == second, "neither is told anything that the other is not"


def test_existing_drafts_are_taken_up_and_not_written(workspace: Path) -> None:  # K3
    place = phase(workspace)
    place.mkdir(parents=True)
    mine = document("somebody else").replace("Keep", "Keep (password = hunter2hunter2)")
    (place / "plan_codex.md").write_text(mine)
    outcome = run(workspace, rounds=1)
    asked = [e.key for e in events("", "asked")]  # type: ignore[union-attr]
    assert "r0/draft@author.1" in asked and "r0/draft@author.2" not in asked
    assert (place / "plan_codex.md").read_text() == mine, "it is somebody else's"
    [prompt] = [e.prompt for e in events("", "asked") if e.key == "r1/critique@author.1"]  # type: ignore[union-attr]
    assert "as somebody else would" in prompt and "hunter2hunter2" not in prompt
    assert outcome.data["taken_up"] == ["plan_codex.md"]
    assert ("files", ".kiln/tracks/phase-1; plan_codex.md existed and was used") in outcome.rows


def test_a_draft_that_is_taken_up_is_read_once(workspace: Path) -> None:  # K3
    place = phase(workspace)
    place.mkdir(parents=True)
    for who in ("claude", "codex"):
        (place / f"plan_{who}.md").write_text(document(who))
    said = revisions.answers(1)
    whole = said.pop("synthesis@synthesizer")
    with pytest.raises(rebut.Aborted):
        run(workspace, said, rounds=1)
    (place / "plan_claude.md").write_text("# Nothing of it\n")
    revisions.seats(workspace.parent / "scripts", said | {"synthesis.again@synthesizer": whole})
    outcome = asyncio.run(rebut.resume(record().opened.id, workspace=workspace))
    [prompt] = [e.prompt for e in events("", "asked") if e.key == "r1/critique@author.2"]  # type: ignore[union-attr]
    assert "as claude would" in prompt and outcome.kind == "synthesis"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: path.write_bytes(b"# \xff\xfe"), "is not UTF-8"),
        (lambda path: path.symlink_to("/etc/hostname"), "it is a link"),
        (lambda path: path.write_text("x" * 400_001), "is larger than"),
        (lambda path: path.mkdir(), "cannot be read"),
    ],
)
def test_a_draft_that_cannot_be_taken_up_is_said_to_be_so(workspace: Path, make: Any, says: str) -> None:  # K3
    phase(workspace).mkdir(parents=True)
    make(phase(workspace) / "plan_claude.md")
    with pytest.raises(UsageError, match=says):
        run(workspace)
    assert sessions.sessions(sessions.home()) == []


def test_a_critique_is_rendered_in_its_structure_with_ids_and_marks(workspace: Path) -> None:  # K5
    said = revisions.answers(1)
    said["r1/critique@author.1"] = critique(
        objection("No lock\nis taken.", "src/session.py:2", evidence=[duels.cite("src/session.py:2", "ttl = 3600")]),
        objection("No rollback.", "src/session.py:900", severity="low", impact="none"),
        disagreements=[dispute("The store", severity="medium", impact="security")],
        concessions=[{"text": "Its checks are better.", "id": ""}],
    )
    said["r1/revision@author.2"] = revision(document("author 2", "More."), ["W1", "W2"])
    said["r1/revision@author.1"] = revision(document("author 1", "More."), ["W4"])
    said["synthesis@synthesizer"] = revisions.plan(["W1", "W2", "W3", "W4"])
    outcome = run(workspace, said, rounds=1)
    assert (phase(workspace) / "critique_of_codex_r1.md").read_text() == (
        "## Critique of codex (Round 1)\n\n"
        "### Strengths\n- The goal is plain. — § Goal [located]\n\n"
        "### Weaknesses\n"
        '- W1 (high, correctness) No lock is taken. — src/session.py:2 "ttl = 3600" [found]\n'
        "- W2 (low, none) No rollback. — src/session.py:900 [absent, the file ends at line 39]\n\n"
        "### Disagreements\n- W3 (medium, security) The store: mine needs no server — § Goal [located]\n\n"
        "### Concessions\n- Its checks are better.\n"
    )
    assert [(p.id, p.severity, p.category, p.by, p.about) for p in outcome.ledger.points] == [
        ("W1", "P1", "weakness: correctness", "author.1", "author.2"),
        ("W2", "P3", "weakness: none", "author.1", "author.2"),
        ("W3", "P2", "disagreement: security", "author.1", "author.2"),
        ("W4", "P1", "weakness: correctness", "author.2", "author.1"),
    ]


def test_an_empty_part_of_a_critique_has_no_items(workspace: Path) -> None:  # K5
    run(workspace, rounds=1)
    text = (phase(workspace) / "critique_of_codex_r1.md").read_text()
    assert "### Disagreements\nNone.\n\n### Concessions\nNone.\n" in text


def test_a_revision_has_its_comment_its_defense_and_its_document(workspace: Path) -> None:  # K6
    said = revisions.answers(1)
    both = [objection("No lock."), objection("No rollback.", "§ Checks")]
    said["r1/critique@author.1"] = critique(*both)
    said["r1/revision@author.2"] = revision(document("author 2", "A lock."), ["W1"], ["W2"])
    said["r1/revision@author.1"] = revision(document("author 1", "More."), ["W3"])
    said["synthesis@synthesizer"] = revisions.plan(["W1", "W2", "W3"])
    outcome = run(workspace, said, rounds=1)
    assert (phase(workspace) / "plan_codex_v2.md").read_text() == (
        "<!-- Revision v2: Addressed critique points [W1]. Defended: [W2]. -->\n\n"
        '### Defense\n\n- W2: W2 is meant that way — src/session.py:2 "ttl = 3600" [found]\n\n'
        + document("author 2", "A lock.")
    )
    assert "### Defense" not in (phase(workspace) / "plan_claude_v2.md").read_text(), "nothing was defended there"
    assert outcome.ledger.status("W1") == "conceded" and outcome.ledger.status("W2") == "defended"


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a lost section": (
        revision("# Sessions\n\n## Goal\n\nG\n\n## Steps\n\nS\n", ["W2"]),
        "the heading '## Checks' is gone",
    ),
    "a new section": (revision(document("author 1") + "\n## More\n\nM\n", ["W2"]), "the heading '## More' is new"),
    "a point without an answer": (revision(document("author 1", "More."), []), "W2 is not answered"),
    "a point that does not exist": (revision(document("author 1", "More."), ["W2", "W9"]), "there is no point W9"),
    "a point answered both ways": (revision(document("author 1", "More."), ["W2"], ["W2"]), "W2 is both"),
    "a change that was not made": (revision(document("author 1"), ["W2"]), "word for word the same"),
    "a defense without a reason": (
        revision(document("author 1"), [], defended=[{"id": "W2", "reason": ""}]),
        "W2 is defended without a reason",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_revision_that_breaks_the_rules_is_sent_back_once_then_accepted_with_a_note(  # K6
    workspace: Path, what: str
) -> None:
    said = revisions.answers(1)
    wrong, complaint = WRONG[what]
    said["r1/revision@author.1"] = wrong
    outcome = run(workspace, said, rounds=1)
    asked = [e for e in events("", "asked") if e.key == "r1/revision@author.1"]  # type: ignore[union-attr]
    assert [e.why for e in asked] == ["ask", "send-back"] and complaint in asked[1].followup  # type: ignore[union-attr]
    log = (phase(workspace) / "debate_log.md").read_text()
    assert re.search(rf"- Note: Claude revision, accepted as it is: .*{re.escape(complaint)}", log)
    assert any(complaint in note for note in outcome.notes)


@pytest.mark.parametrize("what", WRONG)
def test_a_revision_that_is_mended_when_sent_back_leaves_no_note(workspace: Path, what: str) -> None:  # K6
    said = revisions.answers(1)
    said["r1/revision@author.1"] = [WRONG[what][0], said["r1/revision@author.1"]]
    outcome = run(workspace, said, rounds=1)
    assert outcome.notes == () and "Note:" not in (phase(workspace) / "debate_log.md").read_text()


def test_the_rules_of_critics_and_revisers_are_in_their_prompts(workspace: Path) -> None:  # K7
    run(workspace, rounds=1)
    prompts = {e.key: e.prompt for e in events("", "asked")}  # type: ignore[union-attr]
    for part in ("takes for granted", "Ask for proof", "Look for gaps", "Be exact", "Say what is good", "Invent no"):
        assert part in prompts["r1/critique@author.1"], part
    for part in (
        "Do not give in to everything",
        "Give in honestly",
        "Show your work",
        "Keep the form",
        "concedes to you",
    ):
        assert part in prompts["r1/revision@author.1"], part
    assert "## Goal\n## Steps\n## Checks" in prompts["r1/revision@author.1"]


def test_names_stay_out_of_prompts_unless_they_are_asked_for(workspace: Path) -> None:
    run(workspace, rounds=2)
    for e in events("", "asked"):
        assert not re.search("claude|codex", e.prompt, re.I), e.key  # type: ignore[union-attr]
    run(workspace, rounds=1, show_names=True)
    prompts = {e.key: e.prompt for e in events("", "asked")}  # type: ignore[union-attr]
    assert "the plan of codex" in prompts["r1/critique@author.1"] and "claude" in prompts["synthesis@synthesizer"]


# convergence


def quiet(n: int) -> dict[str, Any]:
    return {f"r{n}/critique@author.{by}": critique() for by in (1, 2)} | {
        f"r{n}/revision@author.{by}": revision(document(f"author {by}", "As of round 1."), []) for by in (1, 2)
    }


def test_two_critiques_without_a_weakness_end_the_debate(workspace: Path) -> None:  # K8
    said = revisions.answers(1) | quiet(2)
    outcome = run(workspace, said, rounds=3)
    assert outcome.heading == "PLAN, CONVERGED AFTER 2 OF 3 ROUNDS" and outcome.conclusive and not outcome.stopped
    log = (phase(workspace) / "debate_log.md").read_text()
    assert "- Convergence check: not converged\n\n### Round 2" in log
    assert "- Convergence check: converged — no weakness in either critique\n\n### Outcome" in log
    assert "- Rounds completed: 2 of 3\n- Early termination: yes — no weakness in either critique\n" in log
    assert "plan_claude_v3.md" in tree(workspace) and "plan_claude_v4.md" not in tree(workspace)


def test_disagreements_that_are_all_cosmetic_end_the_debate(workspace: Path) -> None:  # K8
    said = revisions.answers(1)
    taste = dispute("The name", severity="low", impact="none")
    said["r1/critique@author.1"] = critique(objection("No lock."), disagreements=[taste])
    said["r1/revision@author.1"] = revision(document("author 1", "More."), ["W3"])
    said["synthesis@synthesizer"] = revisions.plan(["W1", "W2", "W3"])
    assert run(workspace, said, rounds=2).data["converged"] == "only cosmetic disagreements are left"


def test_conceding_the_same_points_ends_the_debate(workspace: Path) -> None:  # K8
    said = revisions.answers(1)
    shared = {"place": "src/session.py:2", "impact": "security", "severity": "medium"}
    for by in (1, 2):
        said[f"r1/critique@author.{by}"] = critique(
            objection("A flaw."), disagreements=[dispute("The store", **shared)]
        )
        settled = [{"text": "Cookies it is.", "id": id} for id in ("W2", "W4")]
        said[f"r2/critique@author.{by}"] = critique(objection("Another.", "§ Checks"), concessions=settled)
        said[f"r2/revision@author.{by}"] = revision(document(f"author {by}", "Twice."), [f"W{6 if by == 1 else 5}"])
    said["r1/revision@author.1"] = revision(document("author 1", "Once."), ["W3"])
    said["r1/revision@author.2"] = revision(document("author 2", "Once."), ["W1"])
    said["synthesis@synthesizer"] = revisions.plan([f"W{n}" for n in range(1, 7)])
    outcome = run(workspace, said, rounds=3)
    voices = [p.voices for p in outcome.ledger.points]
    assert voices == [("author.1",), ("author.1",), ("author.2",), ("author.2",), ("author.1",), ("author.2",)]  # C10
    assert outcome.data["converged"] == "both concede the same points (W2, W4)"
    assert outcome.heading == "PLAN, CONVERGED AFTER 2 OF 3 ROUNDS"


def test_a_debate_in_which_nothing_was_raised_is_called_uncontested(workspace: Path) -> None:  # C6
    said = revisions.answers(1) | quiet(1)
    said["synthesis@synthesizer"] = revisions.plan([])
    assert run(workspace, said).heading == "UNCONTESTED PLAN, CONVERGED AFTER 1 OF 2 ROUNDS"


# the ledger


def test_a_defended_point_must_be_pressed_or_conceded_and_is_reported_when_dropped(workspace: Path) -> None:  # C12
    said = revisions.answers(2)
    said["r1/revision@author.2"] = revision(document("author 2", "More."), [], ["W1"])
    outcome = run(workspace, said)
    asked = [e for e in events("", "asked") if e.key == "r2/critique@author.1"]  # type: ignore[union-attr]
    assert [e.why for e in asked] == ["ask", "send-back"]  # type: ignore[union-attr]
    assert "W1 was defended: raise it again" in asked[1].followup  # type: ignore[union-attr]
    assert "Do one of the two for each of: W1." in asked[0].prompt  # type: ignore[union-attr]
    assert [(s.kind, s.point, s.by) for s in outcome.ledger.slips] == [("dropped", "W1", "author.1")]


def test_a_point_that_is_named_again_stays_one_point(workspace: Path) -> None:  # C10
    said = revisions.answers(2)
    said["r2/critique@author.1"] = critique(objection("Still no lock.", "§ Checks", same_as="W1", severity="medium"))
    said["r2/revision@author.2"] = revision(document("author 2", "As of round 2."), ["W1"])
    said["r2/revision@author.1"] = revision(document("author 1", "As of round 2."), ["W3"])
    said["synthesis@synthesizer"] = revisions.plan(["W1", "W2", "W3"])
    outcome = run(workspace, said)
    assert [p.id for p in outcome.ledger.points] == ["W1", "W2", "W3"] and outcome.notes == ()
    assert "- W1 (medium, correctness) Still no lock." in (phase(workspace) / "critique_of_codex_r2.md").read_text()


def test_an_unknown_id_is_sent_back_then_kept_as_unmatched(workspace: Path) -> None:  # C10
    said = revisions.answers(1)
    said["r1/critique@author.1"] = critique(objection("No lock."), objection("Old.", same_as="W8"))
    outcome = run(workspace, said, rounds=1)
    assert any("there is no point W8" in note for note in outcome.notes)
    assert len(outcome.ledger.points) == 2 and [m.point for m in outcome.ledger.unmatched] == ["W8"]
    assert not outcome.conclusive and any("was not weighed" in note and "Old." in note for note in outcome.notes)  # C6
    assert "- no such point (high, correctness) Old." in (phase(workspace) / "critique_of_codex_r1.md").read_text()


def test_a_concession_that_is_walked_back_is_reported(workspace: Path) -> None:  # C12
    said = revisions.answers(2)
    said["r2/critique@author.1"] = critique(objection("Still no lock.", "§ Checks", same_as="W1"))
    said["r2/revision@author.2"] = revision(
        document("author 2", "As of round 2."), [], defended=[{"id": "W1", "reason": "It never held.", "evidence": []}]
    )
    said["r2/revision@author.1"] = revision(document("author 1", "As of round 2."), ["W3"])
    said["synthesis@synthesizer"] = revisions.plan(["W1", "W2", "W3"])
    outcome = run(workspace, said)
    assert [(s.kind, s.point, s.by) for s in outcome.ledger.slips] == [("walked back", "W1", "author.2")]
    assert outcome.ledger.status("W1") == "conceded"
    prompt = record().calls["synthesis@synthesizer"].asked[1].prompt
    assert "note: second took its concession back without new evidence in round 2" in prompt


# the log


def counted(text: str) -> tuple[int, int]:
    weak = text.partition("### Weaknesses\n")[2].partition("\n\n")[0]
    return len(text.split()), sum(1 for line in weak.splitlines() if line.startswith("- "))


def test_every_count_of_the_log_is_that_of_the_file_it_names(workspace: Path) -> None:  # K10
    said = revisions.answers(3)
    said["r2/critique@author.2"] = critique(*(objection(f"Flaw {n}.", f"src/session.py:{n}") for n in range(4, 8)))
    said["r2/revision@author.1"] = revision(document("author 1", "Four."), ["W4", "W5", "W6", "W7"])
    said["r3/revision@author.2"] = revision(document("author 2", "3"), ["W8"])
    said["r3/revision@author.1"] = revision(document("author 1", "3"), ["W9"])
    said["synthesis@synthesizer"] = revisions.plan([f"W{n}" for n in range(1, 10)])
    run(workspace, said, rounds=3)
    log = (phase(workspace) / "debate_log.md").read_text()
    rows = re.findall(r"^- (\w+) critique of (\w+): (\S+) \((\d+) words, (\d+) weakness(?:es)?\)$", log, re.M)
    assert len(rows) == 6
    for by, of, path, words, weak in rows:
        assert by != of and path == f".kiln/tracks/phase-1/critique_of_{of.lower()}_r{path[-4]}.md"
        assert counted((workspace / path).read_text()) == (int(words), int(weak)), path
    assert {int(weak) for *_, weak in rows} == {1, 4}
    for path in re.findall(r"(?:revision|version): (\S+)", log):
        assert (workspace / path).is_file()


def test_the_log_has_its_format(workspace: Path) -> None:  # K10
    run(workspace, rounds=1)
    log = (phase(workspace) / "debate_log.md").read_text()
    plain = re.sub(r"\d+ words", "N words", log).replace(".kiln/tracks/phase-1/", "")
    assert plain == (
        "# Debate Log — Phase 1\n\n"
        "## Configuration\n- Plan strategy: debate\n- Review strategy: debate\n- Max rounds: 1\n\n"
        "## Plan Debate\n### Round 1\n"
        "- Claude critique of Codex: critique_of_codex_r1.md (N words, 1 weakness)\n"
        "- Codex critique of Claude: critique_of_claude_r1.md (N words, 1 weakness)\n"
        "- Claude revision: plan_claude_v2.md (changes: The steps say more.)\n"
        "- Codex revision: plan_codex_v2.md (changes: The steps say more.)\n"
        "- Convergence check: not converged\n\n"
        "### Outcome\n- Rounds completed: 1 of 1\n- Early termination: no\n"
        "- Final Claude version: plan_claude_v2.md\n- Final Codex version: plan_codex_v2.md\n"
    )


@pytest.mark.parametrize("first", ["plan", "review"])
def test_plan_and_review_share_one_log_and_keep_to_their_own_sections(workspace: Path, first: str) -> None:  # K10
    change(workspace)
    second = "review" if first == "plan" else "plan"
    run(workspace, stage=first, rounds=1)
    alone = (phase(workspace) / "debate_log.md").read_text()
    outcome = run(workspace, stage=second, rounds=2)
    log = (phase(workspace) / "debate_log.md").read_text()
    assert outcome.data["phase"] == 1 and outcome.notes == ()
    section = re.search(rf"^## {first.capitalize()} Debate$.*?(?=^## |\Z)", alone, re.M | re.S)
    assert section and section[0].rstrip("\n") in log, "the other's section is as it was"
    assert log.index("## Plan Debate") < log.index("## Review Debate") and log.count("### Outcome") == 2
    assert "- Plan strategy: debate\n- Review strategy: debate\n" in log
    told = {first: 1, second: 2}
    assert f"- Max rounds: {told['plan']} (plan), {told['review']} (review)\n" in log
    reviews = {name.replace("opus", "claude") for name in review_files(told["review"])}
    assert tree(workspace) == sorted({*plan_files(told["plan"]), *reviews})


# the end


def test_a_plan_ends_with_its_synthesis_notes(workspace: Path) -> None:  # K11
    outcome = run(workspace, rounds=2)
    text = (phase(workspace) / "PLAN.md").read_text()
    assert text.startswith("# Sessions\n\n## Goal\n\nSigned cookies.\n")
    assert text.partition("## Synthesis Notes")[2] == (
        "\n\nDebated for 2 of 2 rounds; not converged.\n\n"
        "### Adopted\n\n- W1 (Flaw 1 that author 1 sees.): step 1\n\n"
        "### Overruled\n\n- W2 (Flaw 1 that author 2 sees.): it costs too much\n\n"
        "### Unresolved\n\n- W3 (Flaw 2 that author 1 sees.). Tie-break: the simpler way\n"
        "- W4 (Flaw 2 that author 2 sees.). Tie-break: the simpler way\n"
    )
    assert outcome.decision == "Sign cookies." and outcome.final.startswith(text)


def test_synthesis_reads_the_final_versions_all_critiques_and_the_log(workspace: Path) -> None:  # K11
    run(workspace, rounds=2)
    prompt = record().calls["synthesis@synthesizer"].asked[1].prompt
    for by in (1, 2):
        assert f"as author {by} would" in prompt and "As of round 2." in prompt and "As of round 1." not in prompt
        for n in (1, 2):
            assert f"Flaw {n} that author {by} sees." in prompt
    assert "- First critique of Second: critique_of_second_r2.md" in prompt and "### Outcome" in prompt


def test_points_without_an_account_are_sent_back_and_then_listed(workspace: Path) -> None:  # K11
    said = revisions.answers(1)
    said["synthesis@synthesizer"] = revisions.plan(["W1"])
    outcome = run(workspace, said, rounds=1)
    assert any("W2 is not accounted for" in note for note in outcome.notes)
    assert "### Not accounted for by the synthesizer\n\n- W2 (" in (phase(workspace) / "PLAN.md").read_text()


def test_a_review_verdict_has_assessments_findings_agreement_and_tie_breaks(workspace: Path) -> None:  # K11
    change(workspace)
    said = revisions.answers(1, "review")
    said["r1/revision@author.2"] = revision(document("author 2", "More."), [], ["W1"])
    split = [{"point": "W1: whether it holds", "tie_break": "the line shows it"}]
    said["synthesis@synthesizer"] = revisions.verdict(disagreement=split)
    outcome = run(workspace, said, stage="review", rounds=1)
    assert (phase(workspace) / "review_verdict.md").read_text() == (
        "# Review Verdict\n\n**Decision**: approve with changes\n\nThe ttl must be set from outside.\n\n"
        "Debated for 1 of 1 round; not converged.\n\n"
        "## Final Assessments\n\n### claude (review_v2.md)\n\nIt can go in.\n\n"
        "### codex (review_codex_v2.md)\n\nIt can go in with a change.\n\n"
        '## Findings\n\n- C7 [medium] (both) The ttl is fixed. — src/session.py:2 "ttl = 60" [found]. '
        "Severity: one said high, one said low\n\n"
        "## Points of Agreement\n\n- The ttl is fixed.\n\n"
        "## Points of Disagreement\n\n- W1: whether it holds. Tie-break: the line shows it\n"
    )
    assert outcome.notes == ()


def test_an_open_point_that_no_tie_break_decides_is_sent_back(workspace: Path) -> None:  # K11
    change(workspace)
    said = revisions.answers(1, "review")
    said["r1/revision@author.2"] = revision(document("author 2", "More."), [], ["W1"])
    outcome = run(workspace, said, stage="review", rounds=1)
    assert any("W1 is still open: say what decides it" in note for note in outcome.notes)


def test_a_review_is_shown_the_change_and_held_to_its_new_side(workspace: Path) -> None:  # K4 C11
    change(workspace)
    outcome = run(workspace, stage="review", rounds=1)
    for key in ("r0/draft@author.1", "r1/critique@author.2", "r1/revision@author.1", "synthesis@synthesizer"):
        prompt = record().calls[key].asked[1].prompt
        assert "-ttl = 3600\n+ttl = 60" in prompt, key
    assert outcome.ledger.claims[-1].evidence[0].mark == "found", "the new side says 60"
    assert record().opened.topic == revisions.TOPIC


@pytest.mark.parametrize("scope", ["uncommitted", "commit:HEAD", "range:HEAD~1..HEAD", "file:src/session.py"])
def test_a_review_takes_any_scope(workspace: Path, scope: str) -> None:  # K4
    import repositories

    change(workspace)
    if scope not in ("uncommitted", "file:src/session.py"):
        repositories.commit(workspace, "second")
    outcome = run(workspace, stage="review", rounds=1, target=Wanted("code", scope), topic="")
    assert outcome.conclusive and "src" in record().calls["r0/draft@author.1"].asked[1].prompt


def test_what_was_too_large_to_be_read_makes_a_review_inconclusive(workspace: Path) -> None:  # C17
    change(workspace)
    (workspace / "big.txt").write_text("".join(f"a line of text, number {n}\n" for n in range(6000)))
    outcome = run(workspace, stage="review", rounds=1)
    assert not outcome.conclusive and any(n.startswith("not read: ") and "big.txt" in n for n in outcome.notes)


def test_only_what_debates_left_behind_is_no_part_of_a_review_whatever_a_file_is_called(workspace: Path) -> None:  # C17
    change(workspace)
    (workspace / "rebut's own output").write_bytes(b"\0\1")
    (workspace / "debate").mkdir()
    (workspace / "debate/last-debate.json").write_text("{}\n")
    outcome = run(workspace, stage="review", rounds=1)
    assert [n for n in outcome.notes if n.startswith("not read: ")] == ["not read: rebut's own output: binary"]
    assert not outcome.conclusive


def test_the_report_ends_with_what_the_debate_changed(workspace: Path) -> None:
    outcome = run(workspace, rounds=2)
    assert outcome.final.endswith(
        "## Was It Worth It\n\n- Points: 4 points raised: 4 conceded\n"
        "- Sections: claude: 1 of 4 sections changed; codex: 1 of 4 sections changed\n"
    )
    assert outcome.rounds.calls == 8 and outcome.rounds.tokens == 8 * 150 < outcome.spent.tokens
    assert "baseline@synthesizer" not in record().calls


def test_a_baseline_is_one_call_more_and_compares_the_two_results(workspace: Path) -> None:
    said = revisions.answers(1)
    said["baseline@synthesizer"] = revisions.plan([], document="# Sessions\n\n## Goal\n\nRedis.\n")
    outcome = run(workspace, said, rounds=1, baseline=True)
    assert outcome.spent.calls == 8 and tree(workspace) == plan_files(1)
    prompt = record().calls["baseline@synthesizer"].asked[1].prompt
    assert "As of round 1." not in prompt and "Flaw" not in prompt and "debated" not in prompt.partition("«begin")[0]
    [row] = [text for label, text in outcome.rows if label == "baseline"]
    assert row == (
        "against a synthesis of the first drafts alone: 1 of its 2 sections was changed or dropped; "
        "2 of the 3 sections of this result are new or different; +6 words"
    )
    assert f"- Baseline: {row}\n" in outcome.final


def test_a_replay_comes_to_the_same_end_and_writes_nothing(workspace: Path) -> None:  # C13
    outcome = run(workspace, rounds=2)
    shutil.rmtree(workspace / ".kiln")
    again = asyncio.run(rebut.replay(outcome.session, workspace=workspace))
    assert (again.heading, again.final, again.data) == (outcome.heading, outcome.final, outcome.data)
    assert not (workspace / ".kiln").exists()


def test_a_weakness_that_names_no_known_point_is_not_taken_for_none(workspace: Path) -> None:  # K8 C6 C10
    said = revisions.answers(2)
    for by in (1, 2):
        said[f"r1/critique@author.{by}"] = revisions.critique(revisions.objection("It fails.", same_as="W9"))
        said[f"r1/revision@author.{by}"] = revisions.revision(revisions.document(f"author {by}", "More."), [])
        said[f"r2/revision@author.{by}"] = revisions.revision(revisions.document("both", "More."), [f"W{3 - by}"])
    said["synthesis@synthesizer"] = revisions.plan(["W1", "W2"])
    outcome = revisions.run(workspace, said)
    assert outcome.heading == "PLAN AFTER 2 ROUNDS, NOT EVERY OBJECTION WEIGHED" and not outcome.data["converged"]


def test_a_disagreement_that_is_pressed_again_as_a_weakness_keeps_the_debate_going(workspace: Path) -> None:  # K8
    said = revisions.answers(3)
    first, both = revisions.dispute("Cookies or not"), [revisions.document(f"author {n}", "More.") for n in (1, 2)]
    said["r1/critique@author.1"] = revisions.critique(revisions.objection("w"), disagreements=[first])
    said["r2/critique@author.1"] = revisions.critique(revisions.objection("It must be cookies.", same_as="W2"))
    for n, answered in ((1, (["W1"], ["W2"])), (2, ([], ["W2"]))):
        said[f"r{n}/critique@author.2"] = revisions.critique()
        said[f"r{n}/revision@author.1"] = revisions.revision(both[0], [])
        said[f"r{n}/revision@author.2"] = revisions.revision(both[1] + f"As of {n}.\n", *answered)
    outcome = revisions.run(workspace, said, rounds=3)
    assert "CONVERGED" not in outcome.heading and outcome.data["rounds_completed"] == 3
