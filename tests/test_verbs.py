"""The first five minutes: verbs, bare words, files and pipes, each through the real console script."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import crosses
import duels
import pytest
import voices
from repositories import commit, git

from rebut import session
from tests.test_ask import said

DIFF = """diff --git a/api/new.py b/api/new.py
new file mode 100644
--- /dev/null
+++ b/api/new.py
@@ -0,0 +1,2 @@
+def pay():
+    return 1
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return crosses.repository(tmp_path / "work")


def company(folder: Path, answers: dict[str, Any], count: int) -> str:
    folder.mkdir(exist_ok=True)
    return ",".join(duels.script(folder / f"{n}.json", answers, model=f"m{n}") for n in range(count))


def piped(words: list[str], text: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rebut", *words]
    return subprocess.run(command, input=text, capture_output=True, text=True, cwd=cwd)


def opened() -> Any:
    [found] = session.sessions(session.home())
    return session.load(found.folder)


REVIEW = {
    "r1/critique@critic": crosses.critique(crosses.raised()),
    "r1/judgement@judge": crosses.judgement("A"),
}


@pytest.mark.parametrize("words", [["ask", "Redis or not"], ["Redis or not"], ["Redis?"]])
def test_a_question_is_asked_with_or_without_its_verb(tmp_path: Path, workspace: Path, words: list[str]) -> None:
    done = voices.cli(*words, "--with", company(tmp_path / "s", said(same=True), 3), "--json", cwd=workspace)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["heading"] == "UNCONTESTED"
    record = opened()
    assert record.opened.protocol == "ask" and record.opened.settings["rounds"] == 1
    assert (record.limits["timeout"], record.limits["calls"]) == (90, 12)


@pytest.mark.parametrize("word", ["rewiev", "Redis", "nofile.md", "lst"])
def test_any_other_unknown_word_is_an_error_and_costs_nothing(workspace: Path, word: str) -> None:
    done = voices.cli(word, cwd=workspace)
    assert done.returncode == 2 and "no command" in done.stderr
    assert not session.sessions(session.home())


def test_a_plan_is_reviewed_by_its_file_name_alone(tmp_path: Path, shop: Path) -> None:  # J7
    (shop / "PLAN.md").write_text("# Proposal\n\nWe drop the queue.\n")
    answers = {"r1/critique@critic": crosses.proposal(), "r1/judgement@judge": crosses.judgement("A")}
    done = voices.cli("PLAN.md", "--with", company(tmp_path / "s", answers, 2), "--json", cwd=shop)
    assert done.returncode == 0, done.stderr
    record = opened()
    assert record.opened.protocol == "cross" and record.facts["target"].value["kind"] == "proposal"
    assert git(shop, "status", "--porcelain", "--untracked-files=all").count("PLAN.md") == 1
    assert not (shop / ".git/review-loop").exists(), "a verb writes to its session only"


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
    assert clean.returncode == 2 and "nothing has changed here" in clean.stderr


def test_a_diff_on_standard_input_is_a_review_and_other_text_a_plan(tmp_path: Path, shop: Path) -> None:  # J1
    from rebut.cli.intent import is_diff

    assert is_diff(DIFF) and not is_diff("# Plan\n\n--- a line\n@@ no hunk")
    for text, kind in ((DIFF, "code"), ("# Proposal\n\nDrop it.\n", "proposal")):
        words = ["review" if kind == "code" else "plan", "-", "--with", company(tmp_path / "s", REVIEW, 2)]
        done = piped([*words, "--json"], text, shop)
        assert json.loads(done.stdout)["session"], done.stderr
        newest = next(iter(session.sessions(session.home())))
        assert session.load(newest.folder).facts["target"].value["kind"] == kind


def test_one_more_round_takes_over_what_was_said(tmp_path: Path, workspace: Path) -> None:  # C13
    seats = duels.seats(tmp_path, duels.answers(2), rounds=2)
    flags = [word for role, spec in seats.items() for word in (f"--{role}", spec)]
    assert voices.cli("duel", "Redis?", *flags, "--rounds", "1", "--json", cwd=workspace).returncode == 0
    done = voices.cli("more", cwd=workspace)
    assert done.returncode == 0, done.stderr
    assert "round 2: 2 answers are taken over" in done.stderr
    newest = next(iter(session.sessions(session.home())))
    record = session.load(newest.folder)
    assert record.opened.settings["rounds"] == 2 and record.opened.forked_from
    assert [c.key for c in record.calls.values() if c.answered and not c.answered.copied_from] == [
        "r2/defense@proposer",
        "r2/follow-up@challenger",
        "verdict@judge",
    ]


def test_rebut_alone_shows_what_is_here_and_calls_nothing(shop: Path) -> None:  # C2
    done = voices.cli(cwd=shop)
    assert done.returncode == 0, done.stderr
    assert "changed file" in done.stdout and "rebut review" in done.stdout and "rebut --help" in done.stdout
    assert not session.sessions(session.home())
