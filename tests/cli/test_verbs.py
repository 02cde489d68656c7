"""The first five minutes: verbs, bare words, files and pipes, each through the real console script."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import console
import crosses
import duels
import forkserver
import pytest
import reviews
import revisions
import voices
from repositories import commit, git
from test_ask import chosen, compared, said

from rebut.cli.commands import protocols, verbs
from rebut.engine.protocol import load
from rebut.record import sessions

DIFF = """diff --git a/api/new.py b/api/new.py
new file mode 100644
--- /dev/null
+++ b/api/new.py
@@ -0,0 +1,2 @@
+def pay():
+    return 1
"""


def company(folder: Path, answers: dict[str, Any], count: int) -> str:
    folder.mkdir(exist_ok=True)
    return ",".join(duels.script(folder / f"{n}.json", answers, model=f"m{n}") for n in range(count))


def piped(words: list[str], text: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rebut", *words]
    return forkserver.run(command, input=text, capture_output=True, text=True, cwd=cwd)


def opened() -> Any:
    [found] = sessions.sessions(sessions.home())
    return sessions.load(found.folder)


REVIEW = {
    "r1/critique@critic": crosses.critique(crosses.raised()),
    "r1/judgement@judge": crosses.judgement(),
}


@pytest.mark.parametrize("words", [["ask", "Redis or not"], ["Redis or not"], ["Redis?"]])
def test_a_question_is_asked_with_or_without_its_verb(tmp_path: Path, workspace: Path, words: list[str]) -> None:
    done = voices.cli(*words, "--with", company(tmp_path / "s", said(same=True), 3), "--json", cwd=workspace)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["heading"] == "BOTH AGREE: Keep Redis"
    record = opened()
    assert record.opened.protocol == "ask" and record.opened.settings["rounds"] == 1
    assert (record.limits["timeout"], record.limits["calls"]) == (90, 12)


def test_a_verbs_own_limits_are_lowered_without_a_word_and_a_flag_with_one(tmp_path: Path, workspace: Path) -> None:
    # C16: nobody asked for them
    (workspace / "rebut.toml").write_text("[limits]\ncalls = 9\ntimeout = 60\n")
    who = company(tmp_path / "s", said(same=True), 3)
    assert voices.cli("ask", "Redis?", "--with", who, "--timeout", "80", cwd=workspace).returncode == 0
    record = opened()
    assert (record.limits["timeout"], record.limits["calls"]) == (60, 9)
    told = [note for note in record.notes if "rebut.toml" in note]
    assert told == ["limits.timeout: 80 was asked for, rebut.toml permits 60, so 60"]


@pytest.mark.parametrize("word", ["rewiev", "Redis", "nofile.md", "lst"])
def test_any_other_unknown_word_is_an_error_and_costs_nothing(workspace: Path, word: str) -> None:
    done = voices.cli(word, cwd=workspace)
    assert done.returncode == 2 and f"command '{word}'" in done.stderr
    assert not sessions.sessions(sessions.home())


def test_a_plan_is_reviewed_by_its_file_name_alone(tmp_path: Path, shop: Path) -> None:  # J7
    (shop / "PLAN.md").write_text("# Proposal\n\nWe drop the queue.\n")
    answers = {"r1/critique@critic": crosses.proposal(), "r1/judgement@judge": crosses.judgement()}
    done = voices.cli("PLAN.md", "--with", company(tmp_path / "s", answers, 2), "--json", cwd=shop)
    assert done.returncode == 0, done.stderr
    record = opened()
    assert record.opened.protocol == "cross" and record.facts["target"].value["kind"] == "proposal"
    assert not any("is short" in note for note in json.loads(done.stdout)["notes"]), "nobody asked for so little time"
    assert git(shop, "status", "--porcelain", "--untracked-files=all").count("PLAN.md") == 1
    assert not (shop / ".git/review-loop").exists(), "a verb writes to its session only"


def test_a_plan_is_held_against_its_own_citations(tmp_path: Path, shop: Path) -> None:  # C11
    (shop / "docs").mkdir()
    (shop / "docs/PLAN.md").write_text('# Proposal\n\nAs in docs/load.md and `api/orders.py:1 "no such words"`.\n')
    answers = {"r1/critique@critic": crosses.proposal(crosses.raised()), "r1/judgement@judge": crosses.judgement()}
    words = ["plan", "docs/PLAN.md", "--with", company(tmp_path / "s", answers, 2)]
    done = voices.cli(*words, "--json", cwd=shop)
    [note] = [note for note in json.loads(done.stdout)["notes"] if note.startswith("what the text cites: 2 absent; ")]
    assert "absent: docs/load.md (no such file)" in note
    assert 'absent: api/orders.py:1 "no such words" (line 1 is' in note
    record = opened()
    for key in ("r1/critique@critic", "r1/judgement@judge"):
        assert "absent: docs/load.md (no such file)" in record.calls[key].asked[1].prompt, "both are told"
    assert voices.cli("replay", record.opened.id, cwd=shop).returncode == 0


def test_a_change_is_reviewed_from_the_tree_then_from_the_branch(tmp_path: Path, shop: Path) -> None:  # J2
    who = company(tmp_path / "s", REVIEW, 2)
    done = voices.cli("review", "--with", who, "--json", cwd=shop)
    assert done.returncode == 0, done.stderr
    assert opened().facts["target"].value["scope"] == "uncommitted"
    git(shop, "checkout", "-q", "-b", "work")
    commit(shop, "on a branch")
    done = voices.cli("review", "--with", who, "--json", "--dry-run", cwd=shop)
    assert done.returncode == 0, done.stderr
    git(shop, "checkout", "-q", "main")
    clean = voices.cli("review", "--with", who, cwd=shop)
    assert clean.returncode == 2 and "nothing to review: there are no uncommitted changes" in clean.stderr


def test_a_diff_on_standard_input_is_a_review_and_other_text_a_plan(tmp_path: Path, shop: Path) -> None:  # J1
    from rebut.workspace.diff import is_diff

    assert is_diff(DIFF) and not is_diff("# Plan\n\n--- a line\n@@ no hunk")
    for text, kind in ((DIFF, "code"), ("# Proposal\n\nDrop it.\n", "proposal")):
        words = ["review" if kind == "code" else "plan", "-", "--with", company(tmp_path / "s", REVIEW, 2)]
        done = piped([*words, "--json"], text, shop)
        assert json.loads(done.stdout)["session"], done.stderr
        newest = next(iter(sessions.sessions(sessions.home())))
        assert sessions.load(newest.folder).facts["target"].value["kind"] == kind


def test_a_diff_on_standard_input_takes_options_without_a_verb(tmp_path: Path, shop: Path) -> None:  # J1
    done = piped(["--with", company(tmp_path / "s", REVIEW, 2), "--json"], DIFF, shop)
    assert json.loads(done.stdout)["review"]["decision"] == "Stopped", done.stderr
    wrong = piped(["--wiht", "x"], "", shop)
    assert wrong.returncode == 2 and "no such option '--wiht'" in wrong.stderr


def test_the_verb_hides_what_was_dismissed_and_fails_by_a_threshold(tmp_path: Path, shop: Path) -> None:  # C17, J9
    words = ["review", "--with", company(tmp_path / "s", REVIEW, 2)]
    first = voices.cli(*words, "--fail-on", "P1", cwd=shop)
    assert first.returncode == 1 and first.stdout.startswith("  api/orders.py:5  P1  correctness"), first.stderr
    same = voices.cli(*words, cwd=shop)
    assert same.returncode == 0 and "the same change was reviewed" in same.stderr
    assert voices.cli("dismiss", "F1", "--reason", "charge() is idempotent", cwd=shop).returncode == 0
    anew = voices.cli(*words, "--again", "--fail-on", "P1", cwd=shop)
    assert anew.returncode == 0, anew.stdout
    assert "No problems found in 1 file (+2 -1), 1 dismissed" in anew.stdout
    assert len(sessions.sessions(sessions.home())) == 2, "the second was the first"


def test_what_would_only_not_fit_is_never_none(tmp_path: Path, shop: Path) -> None:  # C6, J12
    grave = [crosses.raised(f"Flaw {n}.") for n in range(6)]
    light = [crosses.raised(f"Smell {n}.", severity=s) for n, s in enumerate(("P2", "P2", "P3"))]
    rulings = {f"F{n}": "valid P1" for n in range(1, 7)} | {"F7": "valid P2", "F8": "valid P2", "F9": "valid P3"}
    said = {
        "r1/critique@critic": crosses.critique(*grave, *light),
        "r1/judgement@judge": crosses.judgement("E", rulings),
    }
    critic, judge = company(tmp_path / "s", said, 2).split(",")
    done = voices.cli("cross", "--critic", critic, "--judge", judge, cwd=shop)
    assert "- P2: 2, hidden\n- P3: 1, hidden\n- hidden: 3 more of P1 and P2, 1 P3" in done.stdout, done.stdout
    done = voices.cli("review", "--with", f"{critic},{judge}", cwd=shop)
    assert "8 problems to fix (6 P1, 2 P2), 1 minor" in done.stdout, done.stdout


def test_a_stopped_review_is_no_accepted_decision(tmp_path: Path, shop: Path) -> None:  # C6
    said = REVIEW | {"r1/judgement@judge": crosses.judgement("E")}
    assert voices.cli("review", "--with", company(tmp_path / "s", said, 2), cwd=shop).returncode == 0
    text = voices.cli("export", "last", "--format", "adr", cwd=shop).stdout
    assert "- Status: proposed, not decided (STOPPED)" in text and "accepted" not in text
    assert "was accepted" not in text and "- not fixed: F1 (P1): It commits before it charges." in text


def test_a_review_without_an_end_is_not_said_to_have_no_dissent(tmp_path: Path, shop: Path) -> None:  # C6
    assert voices.cli("review", "--with", company(tmp_path / "s", {}, 2), cwd=shop).returncode == 3
    text = voices.cli("export", "last", "--format", "adr", cwd=shop).stdout
    assert "Not known: this debate has not ended." in text and "no participant that answered still objects" not in text


def test_another_round_that_nobody_gets_to_is_not_passed_off_as_one(tmp_path: Path, shop: Path) -> None:  # C13
    assert voices.cli("review", "--with", company(tmp_path / "s", REVIEW, 2), cwd=shop).returncode == 0
    done = voices.cli("more", cwd=shop)
    assert done.returncode == 2 and "another round would call no model" in done.stderr


def test_more_and_replay_name_the_result_of_a_review_as_show_does(tmp_path: Path, shop: Path) -> None:  # C13
    (shop / "notes.zip").write_bytes(b"PK\0\0" * 10)
    git(shop, "add", "notes.zip")
    assert voices.cli("review", "--with", company(tmp_path / "s", REVIEW, 2), cwd=shop).returncode == 3
    first = next(line for line in voices.cli("show", "last", cwd=shop).stdout.split("\n") if "Not decided" in line)
    assert first in voices.cli("replay", "last", cwd=shop).stdout.split("\n")
    assert first.strip() in " ".join(voices.cli("more", cwd=shop).stderr.split())


def test_another_round_of_analysers_would_change_nothing(shop: Path) -> None:  # C13
    voices.cli("review", "--with", "lint:ruff,rules", cwd=shop)
    done = voices.cli("more", cwd=shop)
    assert "this debate used no model, so another round would change nothing" in done.stderr


def test_what_each_of_two_blind_answers_brought_stands_beside_it(tmp_path: Path, workspace: Path) -> None:  # C14
    done = voices.cli("ask", "Redis?", "--with", company(tmp_path / "s", said(same=False), 3), cwd=workspace)
    rows = [row for row in done.stderr.splitlines() if row.strip()]
    at = [n for n, row in enumerate(rows) if row.split()[:2] in (["proposer", "answer"], ["challenger", "answer"])]
    first, second = " ".join(rows[at[0] : at[1]]), " ".join(rows[at[1] : at[1] + 2])
    assert "2 claims, 1 unsupported" in first and "1 claim, 1 unsupported" in second, done.stderr
    assert "together" not in done.stderr


def test_one_more_round_takes_over_what_was_said(tmp_path: Path, workspace: Path) -> None:  # C13
    seats = duels.seats(tmp_path, duels.answers(2), rounds=2)
    flags = [word for role, spec in seats.items() for word in (f"--{role}", spec)]
    assert voices.cli("duel", "Redis?", *flags, "--rounds", "1", "--json", cwd=workspace).returncode == 0
    done = voices.cli("more", cwd=workspace)
    assert done.returncode == 0, done.stderr
    assert "round 2: 2 answers are reused" in done.stderr
    newest = next(iter(sessions.sessions(sessions.home())))
    record = sessions.load(newest.folder)
    assert record.opened.settings["rounds"] == 2 and record.opened.forked_from
    assert [c.key for c in record.calls.values() if c.answered and not c.answered.copied_from] == [
        "r2/defense@proposer",
        "r2/follow-up@challenger",
        "verdict@judge",
    ]


def test_rebut_alone_shows_what_is_here_and_calls_nothing(shop: Path) -> None:  # C2
    done = voices.cli(cwd=shop)
    assert done.returncode == 0, done.stderr
    assert "1 changed file   rebut review\n" in done.stdout and "rebut --help" in done.stdout
    assert not sessions.sessions(sessions.home())


def left(folder: Path) -> list[str]:
    """What somebody would see of a folder, rebut's or not."""
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() and ".git" not in p.parts)


def test_a_deep_question_has_three_rounds_and_a_judge_that_is_asked_in_both_orders(
    tmp_path: Path, workspace: Path
) -> None:
    settled = {"r2/follow-up@proposer": duels.follow_up(2, {"D1": "resolved"})}
    settled |= {"r2/follow-up@challenger": duels.follow_up(2, {"D3": "resolved"})}
    answers = said(same=False) | settled | {"verdict.other-order@judge": chosen(1)}  # answer 2, by its other number
    before, who = left(workspace), company(tmp_path / "s", answers, 3)
    done = voices.cli("ask", "Redis?", "--deep", "--with", who, "--json", cwd=workspace)
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert shown["heading"] == "VERDICT, NOTHING LEFT OPEN AFTER 2 OF 3 ROUNDS"
    settings = opened().opened.settings
    assert (opened().opened.protocol, settings["rounds"], settings["both_orders"]) == ("ask", 3, True)
    [vote] = shown["votes"]
    assert (vote["winner"], vote["other_order"]) == ("answer 2", "answer 2")
    assert left(workspace) == before
    second = company(tmp_path / "t", answers | {"verdict.other-order@judge": chosen(2)}, 3)  # the number 2 both times
    done = voices.cli("ask", "Redis?", "--deep", "--rounds", "1", "--with", second, cwd=workspace)
    assert done.returncode == 3
    told = " ".join(done.stdout.split())
    assert told.startswith("NO VERDICT, INCONCLUSIVE BECAUSE THE VERDICT CHANGES WITH THE ORDER OF THE SIDES")


def test_the_third_and_all_further_models_of_a_question_judge(tmp_path: Path, workspace: Path) -> None:
    answers = said(same=False) | {f"comparison@judge.{n}": compared(False) for n in (1, 2, 3)}
    answers |= {f"verdict@judge.{n}": chosen(2 if n < 3 else 1) for n in (1, 2, 3)}
    done = voices.cli("ask", "Redis?", "--with", company(tmp_path / "s", answers, 5), "--json", cwd=workspace)
    shown = json.loads(done.stdout)
    assert shown["verdict"]["winner"] == "answer 2", done.stderr
    assert [vote["judge"] for vote in shown["verdict"]["dissent"]] == ["judge.3"]


def test_a_plan_is_rewritten_in_its_session_only(tmp_path: Path, workspace: Path) -> None:  # K9
    (workspace / "PLAN.md").write_text("# Plan\n\nKeep sessions.\n")
    revisions.configure(workspace, '{"preferences": {}}')  # which would not debate
    tracks = workspace / ".kiln/tracks/phase-1"
    tracks.mkdir(parents=True)
    (tracks / "plan_claude.md").write_text("# Another track's\n")
    sat = revisions.seats(tmp_path / "s", revisions.answers(1))
    words = ["plan", "PLAN.md", "--rewrite", "--with", ",".join([*sat["author"], sat["synthesizer"]])]
    before = left(workspace)
    done = voices.cli(*words, "--json", cwd=workspace)
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert shown["heading"] == "PLAN AFTER 1 ROUND"
    assert left(workspace) == before
    made = sessions.home() / shown["session"] / ".kiln/tracks/phase-1"
    assert "author 1" in (made / "plan_claude.md").read_text(), "a verb takes nothing up from the workspace"
    assert f"{made}/PLAN.md" in voices.cli("show", shown["session"], cwd=workspace).stdout, "it says where it is"
    assert "critique_of_codex_r1.md (" in (made / "debate_log.md").read_text()
    assert voices.cli("verify", shown["session"], cwd=workspace).returncode == 0
    done = voices.cli(*words, "--save", "../out", "--json", cwd=workspace)
    assert done.returncode == 0, done.stderr
    assert left(workspace) == before and (tmp_path / "out/.kiln/tracks/phase-1/PLAN.md").is_file()


@pytest.mark.parametrize("place", ["out", "deep/er/out", "../out"])
def test_a_review_that_saves_its_files_says_last_where_they_are(tmp_path: Path, shop: Path, place: str) -> None:  # K9
    (shop / "p.md").write_text("# Proposal\n\nWe drop the queue.\n")
    words = ["plan", "p.md", "--with", company(tmp_path / "s", REVIEW, 2)]
    assert "files:" not in voices.cli(*words, cwd=shop).stdout, "without --save they stay in the session"
    done = voices.cli(*words, "--save", place, "-q", cwd=shop)
    assert done.returncode == 0, done.stderr
    [made] = (shop / place).glob("debate-*")
    assert (made / "summary.md").is_file()
    shown = f"{tmp_path / 'out'}/{made.name}/" if place == "../out" else f"{place}/{made.name}/"
    assert "".join(done.stdout.rpartition("  files: ")[2].split()) == shown


def test_a_rewrite_ends_with_the_diff_and_the_place_of_the_new_plan(tmp_path: Path, workspace: Path) -> None:  # K9
    (workspace / "PLAN.md").write_text("# Sessions\n\n## Goal\n\nKeep sessions.\n\n## Steps\n\n1. Sign them.\n")
    sat = revisions.seats(tmp_path / "s", revisions.answers(1))
    words = ["plan", "PLAN.md", "--rewrite", "-q", "--with", ",".join([*sat["author"], sat["synthesizer"]])]
    done = voices.cli(*words, cwd=workspace)
    assert done.returncode == 0, done.stderr
    title, _, hunk, *rest = done.stdout.splitlines()
    assert title == "  PLAN.md, rewritten: +1 -1 lines" and hunk.startswith("  | @@ -2,")
    assert "  | -Keep sessions." in rest and "  | +Signed cookies." in rest and "Synthesis Notes" not in done.stdout
    [made] = sessions.home().glob("*/.kiln/tracks/phase-1/PLAN.md")
    assert str(made) in done.stdout
    assert "\n```diff\n@@ " in voices.cli("export", "last", "--format", "md", cwd=workspace).stdout
    assert "  | +Signed cookies." in voices.cli("show", "last", cwd=workspace).stdout
    # A long one is cut, and says how to see all of it.
    (workspace / "PLAN.md").write_text("".join(f"{n}. Do it.\n" for n in range(99)))
    done = voices.cli(*words, cwd=workspace)
    assert done.returncode == 0, done.stderr
    [more] = [line for line in done.stdout.splitlines() if "more lines" in line]
    assert done.stdout.startswith("  PLAN.md, rewritten: +9 -99 ") and "  | -98. Do it." not in done.stdout
    whole = voices.cli(*more.partition(": rebut ")[2].split(), cwd=workspace).stdout
    assert "  | -98. Do it." in whole and "more lines" not in whole


def test_two_authors_of_one_provider_are_told_apart_by_the_verb_itself(tmp_path: Path, workspace: Path) -> None:  # K3
    (workspace / "PLAN.md").write_text("# Plan\n\nKeep sessions.\n")
    sat = revisions.seats(tmp_path / "s", revisions.answers(1))
    plain = [spec.partition("=")[2] for spec in sat["author"]]
    assert all(spec.startswith("scripted:") for spec in plain)
    words = ["plan", "PLAN.md", "--rewrite", "--with", ",".join([*plain, sat["synthesizer"]]), "--json"]
    done = voices.cli(*words, cwd=workspace)
    assert done.returncode == 0, done.stderr
    made = sessions.home() / json.loads(done.stdout)["session"] / ".kiln/tracks/phase-1"
    assert {"plan_scripted.md", "plan_scripted-2.md"} <= {path.name for path in made.iterdir()}


def test_a_plan_that_shows_a_change_in_a_fence_is_still_a_plan() -> None:  # J1
    from rebut.workspace.diff import is_diff

    shown = f"# Plan\n\nDo this:\n\n```diff\n{DIFF}```\n\nThen that.\n"
    assert not is_diff(shown) and not is_diff(shown.replace("```", "~~~~"))
    assert is_diff(f"From 12ab Mon Sep 17\n\nSay:\n```\nx\n```\n---\n{DIFF}"), "a mailed patch"
    assert is_diff(DIFF.replace("+def pay():", "+```\n+def pay():\n+```")), "a change of a text with fences"


def test_a_file_is_known_by_its_name_and_a_word_too_long_for_one_is_none(tmp_path: Path, shop: Path) -> None:
    (shop / "my plan.md").write_text("# Proposal\n\nWe drop the queue.\n")
    who = company(tmp_path / "s", REVIEW, 2)
    done = voices.cli("my plan.md", "--with", who, "--dry-run", cwd=shop)
    assert done.returncode == 0 and "3 calls" in done.stdout, "a review of a proposal, not a question"
    assert "the topic, the text under debate, 0 files" in done.stdout
    for words in (["x" * 400], ["plan", "x" * 400], ["review", "x" * 400]):
        done = voices.cli(*words, cwd=shop)
        assert done.returncode == 2 and "could not be written" not in done.stderr


def test_one_more_round_is_refused_where_none_would_be_played(tmp_path: Path, workspace: Path) -> None:  # C13
    done = voices.cli("ask", "Redis?", "--with", company(tmp_path / "s", said(same=True), 3), "--json", cwd=workspace)
    assert done.returncode == 0, done.stderr
    sat = revisions.seats(tmp_path / "r", revisions.answers(3))
    flags = [
        word for role in sat for spec in ([sat[role]] if role[0] == "s" else sat[role]) for word in (f"--{role}", spec)
    ]
    done = voices.cli("revise", "plan", "T", *flags, "--rounds", "3", "--json", cwd=workspace)
    assert done.returncode == 0, done.stderr
    known = sessions.sessions(sessions.home())
    for one in known:
        done = voices.cli("more", one.id, cwd=workspace)
        why = "rounds must be 1 to 3" if one.opened.protocol == "revise" else "another round would call no model"
        assert done.returncode == 2 and why in done.stderr
        counted = voices.cli("fork", one.id, "--dry-run", "--json", cwd=workspace)
        assert json.loads(counted.stdout)["anew"] == 0
    assert len(sessions.sessions(sessions.home())) == len(known)


def test_with_nobody_to_ask_a_verb_names_the_flag_that_it_has(workspace: Path) -> None:  # C2, C16
    (workspace / "PLAN.md").write_text("# Proposal\n\nWe drop the queue.\n")
    for words in (["ask", "Redis?"], ["plan", "PLAN.md"]):
        done = voices.cli(*words, cwd=workspace)
        assert done.returncode == 2 and "Set OPENAI_API_KEY" in done.stderr, "there is no model to name"
        done = voices.cli(*words, cwd=workspace, env={**os.environ, "OPENAI_API_KEY": "sk-abcdefgh"})
        assert done.returncode == 2 and "--with claude,codex" in done.stderr, done.stderr
        assert "--proposer" not in done.stderr and "--critic" not in done.stderr


def test_a_text_that_never_ends_is_refused_and_so_is_one_that_a_file_could_not_hold(shop: Path) -> None:  # C3
    done = subprocess.run(
        f"yes | {sys.executable} -m rebut plan - --with human,rules",
        shell=True,
        capture_output=True,
        text=True,
        cwd=shop,
    )
    assert (done.returncode, done.stdout) == (2, "") and "standard input has more than 20 MB" in done.stderr
    done = piped(["plan", "-", "--with", "human,rules"], "word " * 300_000, shop)
    assert done.returncode == 2 and "standard input is larger than 1 MB" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("review --with rules,lint", "it cannot be the critic, only the judge"),
        ("review --with rules", "it cannot be the critic, only the judge"),
        ("review --with lint,lint", "it cannot be the judge, only the critic"),
        ("review --judge lint --critic human", "it cannot be the judge, only the critic"),
        ("cross --uncommitted --critic rules --judge human", "it cannot be the critic, only the judge"),
        ("fork last --judge lint", "it cannot be the judge, only the critic"),
        ("fork last --seat critic=rules", "it cannot be the critic, only the judge"),
    ],
)
def test_a_program_in_a_seat_that_is_not_its_own_is_refused_before_anything_starts(
    tmp_path: Path, shop: Path, words: str, said: str
) -> None:
    if words.startswith("fork"):
        assert voices.cli("review", "--with", company(tmp_path / "s", REVIEW, 2), cwd=shop).returncode in (0, 1)
    before = len(sessions.sessions(sessions.home()))
    done = voices.cli(*words.split(), cwd=shop)
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert "lint is the critic and rules is the judge" in done.stderr and "needs two models" not in done.stderr
    assert len(sessions.sessions(sessions.home())) == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("review --with lint:ruff,rules,foo", "`rebut review` has no seat for foo"),
        ("review --again --with lint:ruff,rules,foo,human", "`rebut review` has no seat for foo, human"),
        ("plan p.md --with human,claude,foo", "`rebut plan` has no seat for foo"),
        ("plan p.md --rewrite --with a:1,b:2,c:3,foo", "`rebut plan --rewrite` has no seat for foo"),
        ("ask Redis? --with human,human,foo --allow-same-model", "unknown provider 'foo'"),
        ("review --with lint,foo --judge rules", "the judge is named twice: foo and rules"),
        ("ask Redis? --with foo,human --proposer human", "the proposer is named twice: foo and human"),
        ("batch --each date --with lint:ruff,rules,foo --out rows.jsonl", "`rebut review` has no seat for foo"),
    ],
)
def test_no_model_that_is_named_is_ignored(shop: Path, words: str, said: str) -> None:
    (shop / "p.md").write_text("# Proposal\n\nWe drop the queue.\n")
    assert (
        voices.cli("review", "--with", "lint:ruff,rules", "--quiet", cwd=shop).returncode != 2
    )  # `--again` has one before it
    before = len(sessions.sessions(sessions.home()))
    done = voices.cli(*words.split(), cwd=shop)
    assert done.returncode == 2 and said in done.stderr.splitlines()[0], done.stderr
    assert len(sessions.sessions(sessions.home())) == before


@pytest.mark.parametrize(
    "words",
    [
        ("ask", "Redis?", "--with", "lint,rules"),
        ("ask", "Redis?", "--deep", "--with", "lint,rules"),
        ("ask", "Redis?", "--with", "human,human,rules"),
        ("plan", "p.md", "--with", "lint,rules"),
        ("plan", "p.md", "--with", "human,rules"),
        ("plan", "p.md", "--rewrite", "--with", "lint,rules"),
        ("duel", "Redis?", "--proposer", "lint", "--challenger", "human"),
    ],
    ids=" ".join,
)
def test_analysers_and_rules_are_refused_before_anything_starts_where_there_is_no_code(
    workspace: Path, words: tuple[str, ...]
) -> None:
    (workspace / "p.md").write_text("# Plan\n\nSee src/session.py:2.\n")
    done = console.piped(*words, cwd=workspace)
    assert done.returncode == 2, done.stderr
    assert re.search(
        "(lint reads code changes|rules weighs the findings).*, and this is a (text|question)", done.stderr
    )
    assert "`rebut review --with lint,rules`" in done.stderr and not list(sessions.sessions(sessions.home()))


def _options(command: click.Command) -> set[str]:
    every = {option for param in command.params for option in param.opts if option.startswith("--")}
    return every - {"--plain", "--help-all"}  # which a command gets when it is run


def test_a_verb_accepts_every_option_of_the_protocol_that_it_runs() -> None:
    of_protocol = {command.name: command for command in vars(protocols).values() if isinstance(command, click.Command)}
    cross, revise = _options(of_protocol["cross"]), _options(of_protocol["revise"])
    assert cross <= _options(verbs.review_command)
    assert cross | revise <= _options(verbs.plan_command)
    asks = {*load("ask").seats, "rounds", "effort"}
    assert {f"--{name}" for name in asks} <= _options(verbs.ask_command)


def test_the_options_of_a_protocol_do_the_same_in_its_verb(tmp_path: Path, shop: Path) -> None:  # J1 J4
    sat = reviews.script(tmp_path / "s", crosses.raised())
    for words in (["--scope", "uncommitted"], ["--uncommitted"], ["--scope", "file:api/orders.py"], ["api/orders.py"]):
        done = voices.cli("review", *words, *sat, "--again", "-q", cwd=shop)
        assert done.returncode == 0 and "1 problem to fix (1 P1)" in done.stdout, (words, done.stderr)
    done = voices.cli("review", "api/orders.py", "--scope", "uncommitted", *sat, cwd=shop)
    assert done.returncode == 2 and "give api/orders.py or --scope, not both" in done.stderr
    done = voices.cli("review", *sat, "--intensity", "extensive", "--max-rounds", "2", "--again", cwd=shop)
    assert "2 rounds, 900 s a call" in done.stderr
    (shop / "PLAN.md").write_text("# Plan\n\nCharge first.\n")
    for words, wrong in (
        (["--synthesizer", "lint"], "--synthesizer needs --rewrite"),
        (["--rewrite", "--critic", "lint"], "--critic is not for --rewrite"),
    ):
        done = voices.cli("plan", "PLAN.md", *words, cwd=shop)
        assert done.returncode == 2 and wrong in done.stderr


def test_many_findings_end_in_a_table(tmp_path: Path, shop: Path) -> None:
    (shop / "many.py").write_text("".join(f"value_{n} = compute({n})\n" for n in range(1, 31)))
    text = "The value is computed twice, once here and once more in the loop that follows it. " * 2
    found = [reviews.raised(f"compute({n})", f"many.py:{n}", "P2", fix="") | {"text": text} for n in range(1, 31)]
    words = ["review", "many.py", *reviews.script(tmp_path / "s", *found), "-q"]
    for columns, marked in ((50, False), (80, False), (120, True)):
        done = voices.cli(*words, cwd=shop, env={"COLUMNS": str(columns)})
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert max(map(len, lines)) <= columns
        table = [line for line in lines if re.match(r"  F\d+ +P2  many\.py:\d+ +The value", line)]
        assert len(table) == 20 and all(line.endswith("found, valid") is marked for line in table)
        assert sum(" | value_" in line and line.lstrip().startswith(">") for line in lines) == 10
    [more] = [line for line in lines if line.startswith("  20 more, ")]
    every = voices.cli(*more.partition("`rebut ")[2].partition("`")[0].split(), cwd=shop).stdout
    assert sum(line.lstrip().startswith("> ") for line in every.splitlines()) == 30


def test_the_screens_of_a_review_speak_of_a_review(tmp_path: Path, shop: Path) -> None:
    sat = reviews.script(tmp_path / "s", crosses.raised())
    done = voices.cli("review", *sat, cwd=shop)
    assert done.stderr.startswith("\n  review uncommitted changes: 1 file")
    assert "author" not in done.stderr and "confidence" not in done.stderr
    [row] = voices.cli("list", cwd=shop).stdout.splitlines()
    assert "  review  " in row and row.endswith("(1 problem to fix (1 P1))")


def test_what_a_plan_cites_and_what_is_absent_is_said_once(tmp_path: Path, shop: Path) -> None:
    (shop / "PLAN.md").write_text("# Plan\n\nSee docs/a.md and docs/b.md.\n\nCharge first.\n")
    raised = crosses.raised("Say when.", "PLAN.md:5", evidence=[duels.cite("PLAN.md:5", "Charge first.")])
    answers = {"r1/critique@critic": crosses.proposal(raised), "r1/judgement@judge": crosses.judgement()}
    done = voices.cli("plan", "PLAN.md", "--with", company(tmp_path / "s", answers, 2), cwd=shop)
    assert done.returncode == 0, done.stderr
    assert "docs/a.md" not in done.stderr and done.stdout.count("cites docs/a.md") == 1
    places = re.findall(r"^  (PLAN.md:\d)  (P\d)", done.stdout, re.M)
    assert places[:2] == [("PLAN.md:5", "P1"), ("PLAN.md:3", "P2")], "the most severe first"
    assert "    It cites docs/a.md: no such file.\n" in done.stdout
    assert "    > 5 | Charge first." in done.stdout
    assert "3 problems to fix (1 P1, 2 absent citations)" in voices.cli("list", cwd=shop).stdout
    assert voices.cli("check", "PLAN.md", cwd=shop).stdout.count("docs/a.md") == 1
