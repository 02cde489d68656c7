"""What plans and reviews cite in their prose: looked up, shown, counted, and held against high findings."""

from __future__ import annotations

import asyncio
from pathlib import Path

import duels
import pytest
import revisions
from revisions import change, critique, document, objection, phase, revision, run
from voices import record

import rebut
from rebut.evidence.marks import citing, statements

SOUND = 'As `src/session.py:2` says "ttl = 3600", it expires.'
BARE = 'See src/nope.py:9, which says "forever".'


def said(first: str = f"{SOUND}\n2. {BARE}", stage: str = "plan") -> dict[str, object]:
    out = revisions.answers(1, stage)
    out["r0/draft@author.1"] = {"document": document("author 1", first), "need": []}
    out["r1/revision@author.1"] = revision(document("author 1", f"{first}\n3. As of round 1."), ["W2"])
    return out


def prompt(key: str) -> str:
    return record().calls[key].asked[1].prompt


def test_a_documents_citations_are_looked_up_and_counted_once(workspace: Path) -> None:  # C11 K10
    outcome = run(workspace, said(), rounds=1)
    mine = [c for c in outcome.ledger.claims if c.by == "author.1" and "§" not in c.evidence[0].place]
    assert [(e.place, e.mark) for c in mine for e in c.evidence] == [
        ("src/session.py", "located"),  # the step that both drafts begin with
        ("src/session.py:2", "found"),
        ("src/nope.py:9", "absent"),
    ], "what the revision says again is not counted again"
    rows = dict(outcome.rows)
    assert rows["citations"] == "claude cites 3 places: 1 located, 1 found, 1 absent (src/nope.py:9)"
    assert outcome.ledger.marks()["absent"] == 1
    log = (phase(workspace) / "debate_log.md").read_text()
    assert "- Note: the final Claude version cites 3 places: 1 located, 1 found, 1 absent (src/nope.py:9)" in log
    assert "Codex version cites" not in log, "only what is absent is worth a note"


@pytest.mark.parametrize("key", ["r1/critique@author.2", "r1/revision@author.1", "synthesis@synthesizer"])
def test_whoever_reads_a_document_sees_what_became_of_its_citations(workspace: Path, key: str) -> None:  # C11
    run(workspace, said(), rounds=1)
    text = prompt(key)
    assert 'src/session.py:2 "ttl = 3600": found' in text
    assert 'src/nope.py:9 "forever": absent' in text
    assert f'rests on an absent citation: "2. {BARE}"' in text
    assert "not \\\n" not in text and "that they prove anything" in text, "found never reads as true"


def test_a_plan_may_speak_of_files_that_are_still_to_be_made(workspace: Path) -> None:  # C11
    outcome = run(workspace, said("Create src/new.py for it."), rounds=1)
    assert {e.mark for e in outcome.ledger.evidence if e.place == "src/new.py"} == {"uncheckable"}


def test_a_draft_that_was_taken_up_is_looked_up_too(workspace: Path) -> None:  # C11 K3
    phase(workspace).mkdir(parents=True)
    (phase(workspace) / "plan_claude.md").write_text(document("somebody", BARE))
    outcome = run(workspace, said(), rounds=1)
    assert any(e.place == "src/nope.py:9" for c in outcome.ledger.claims if c.round == 0 for e in c.evidence)


def test_the_synthesis_is_looked_up_and_says_so_in_its_notes(workspace: Path) -> None:  # C11 K11
    out = said(SOUND)
    out["synthesis@synthesizer"] = revisions.plan(["W1", "W2"], document=f"# Plan\n\n{SOUND}\n\n{BARE}\n")
    outcome = run(workspace, out, rounds=1)
    text = (phase(workspace) / "PLAN.md").read_text()
    assert "### Citations\n\nThe plan cites 2 places: 1 found, 1 absent (src/nope.py:9).\n" in text
    assert dict(outcome.rows)["citations"].startswith("result cites 2 places")


@pytest.mark.parametrize("strategy", ["single", "debate"])
def test_a_review_is_looked_up_in_the_change_on_either_side(workspace: Path, strategy: str) -> None:  # C11 K2 K4
    change(workspace)
    both = '\n\nIt was "ttl = 3600" (src/session.py:2).\n\nNow src/session.py:2 is "ttl = 60".'
    out = said(both, "review")
    out["r0/draft@author"] = out["r0/draft@author.1"]
    outcome = run(workspace, out, stage="review", strategy=strategy, rounds=1)
    quoted = {e.quote: (e.mark, e.note) for e in outcome.ledger.evidence if e.quote}
    assert quoted["ttl = 60"][0] == "found" and quoted["ttl = 3600"] == ("found", "on the old side of the diff")


@pytest.mark.parametrize(
    ("cites", "grade"),
    [
        ([duels.cite("src/nope.py:9", "forever")], "medium, correctness; said to be high, but what it cites is absent"),
        ([duels.cite("src/nope.py:9"), duels.cite("§ Steps")], "medium, correctness; said to be high"),
        ([duels.cite("src/nope.py:9"), duels.cite("src/session.py:2", "ttl = 3600")], "high, correctness)"),
        ([duels.cite("§ Steps")], "high, correctness)"),
    ],
)
def test_a_weakness_that_rests_on_what_is_absent_is_not_high(  # C11 K5
    workspace: Path, cites: list[dict[str, str]], grade: str
) -> None:
    out = said(SOUND)
    out["r1/critique@author.1"] = critique(objection("It leaks.", evidence=cites))
    run(workspace, out, rounds=1)
    assert f"- W1 ({grade}" in (phase(workspace) / "critique_of_codex_r1.md").read_text()
    severity = "P1" if "high, correctness)" in grade else "P2"
    for key in ("r1/revision@author.2", "synthesis@synthesizer"):
        assert f"W1 ({grade}" in prompt(key), key
    assert f"W1 (first, round 1; {severity}, weakness: correctness, about second; " in prompt("synthesis@synthesizer")


def test_a_finding_of_the_verdict_that_rests_on_what_is_absent_is_not_high(workspace: Path) -> None:  # C11 K11
    change(workspace)
    out = said(SOUND, "review")
    finding = revisions.verdict()["findings"][0]
    bare = {**finding, "severity": "high", "evidence": [], "text": f"It leaks: {BARE}", "why": ""}
    out["synthesis@synthesizer"] = revisions.verdict(findings=[{**finding, "severity": "high"}, bare])
    run(workspace, out, stage="review", rounds=1)
    text = (phase(workspace) / "review_verdict.md").read_text()
    assert "[high] (both) The ttl is fixed." in text
    assert "[medium; said to be high, but what it cites is absent] (both) It leaks:" in text


def test_without_a_repository_it_is_said_that_nothing_was_looked_up(tmp_path: Path) -> None:  # C11
    (tmp_path / "work").mkdir()
    outcome = run(tmp_path / "work", said(), rounds=1)
    assert "absent" not in outcome.ledger.marks() and any("were not checked" in note for note in outcome.notes)


def test_a_replay_and_a_fork_keep_the_marks(workspace: Path) -> None:  # C11 C13
    outcome = run(workspace, said(), rounds=1)
    assert asyncio.run(rebut.replay(outcome.session)).ledger.marks() == outcome.ledger.marks()
    (workspace / "src/nope.py").write_text("forever\n" * 9)
    forked = asyncio.run(rebut.fork(outcome.session, workspace=workspace))
    assert forked.ledger.marks() == outcome.ledger.marks() and forked.spent.calls == 0


def test_a_document_is_cut_into_its_statements() -> None:
    text = (
        "# Head a.py:1\n\nOne line\ntwo of b.py:2.\n\n"
        "- item c.py:3\n  goes on\n- item `d.py:4`:\n\n```py\n\nx = 1\n\n- y\n```\n"
        "\nplain\n| e.py:5 | cell |\n| f.py:6 |\nafter\n"
    )
    assert list(statements(text)) == [
        "# Head a.py:1",
        "One line\ntwo of b.py:2.",
        "- item c.py:3\n  goes on",
        "- item `d.py:4`:\n```py\n\nx = 1\n\n- y\n```",
        "plain",
        "| e.py:5 | cell |",
        "| f.py:6 |",
        "after",
    ]
    assert len(citing(text + text)) == 6, "each once, and none that cites nothing"


def test_a_session_from_before_a_place_counted_goes_on_and_is_replayed(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # C3 C13: what is looked up in a document is part of later prompts
    from rebut.core import citation_syntax
    from rebut.core.errors import Aborted

    place, answers = citation_syntax.is_place, said("\n2. The loop at bin/run:10 has no bound.")
    broken = {key: value for key, value in answers.items() if key != "synthesis@synthesizer"}
    with monkeypatch.context() as before:
        before.setattr(citation_syntax, "is_place", lambda text, *more: "bin/run" not in text and place(text, *more))
        before.setattr("rebut.protocols.revise.version", "2")
        whole = run(workspace, answers, rounds=1)
        with pytest.raises(Aborted):
            run(workspace, broken, rounds=1)
    again = asyncio.run(rebut.replay(whole.session))
    assert (again.heading, again.final) == (whole.heading, whole.final)
    carried = [note for note in again.notes if "computed by an earlier version" in note]
    assert any("(the protocol was 2" in note for note in carried)
    more = {**answers, "synthesis.again@synthesizer": answers["synthesis@synthesizer"]}
    revisions.seats(workspace.parent / "scripts", more)
    outcome = asyncio.run(rebut.resume("last", workspace=workspace))
    assert outcome.complete and any("the question changed (the protocol was 2" in note for note in outcome.notes)
