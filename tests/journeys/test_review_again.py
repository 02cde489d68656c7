"""A branch that was reviewed before: only what is new is asked about, with real git and the real command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import crosses
import duels
import pytest
import reviews
import voices
from repositories import commit, git, new

from rebut.ci.recorded_reviews import Review
from rebut.record import sessions
from rebut.record.record import Record

PAY = "def pay(order):\n    commit(order)\n    charge(order)\n"
STOCK = "def take(item):\n    item.count -= 1\n    return item\n"
SLOW = "def find(items, name):\n    return [i for i in items if i.name == name][0]\n"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A branch with three new files, ready to be reviewed."""
    shop = new(tmp_path / "work", {"README.md": "# Shop\n"})
    commit(shop)
    git(shop, "branch", "-m", "main")
    git(shop, "checkout", "-q", "-b", "feature")
    for name, text in {"pay.py": PAY, "stock.py": STOCK, "find.py": SLOW}.items():
        (shop / name).write_text(text)
    commit(shop, "the shop")
    return shop


def review(shop: Path, said: dict[str, Any], *words: str, code: int = 0, **env: str) -> Any:
    seats = crosses.seats(shop.parent / "seats", said)
    done = voices.cli("review", *words, "--with", f"{seats['critic']},{seats['judge']}", cwd=shop, env=env)
    assert done.returncode == code, done.stdout + done.stderr
    return done


EARLY = crosses.raised("It commits before it charges.", "pay.py:2", evidence=[duels.cite("pay.py:2", "commit(order)")])
BELOW = crosses.raised(
    "The count can fall below zero.", "stock.py:2", evidence=[duels.cite("stock.py:2", "item.count -= 1")]
)
LINEAR = crosses.raised(
    "It searches the whole list.", "find.py:2", severity="P2", evidence=[duels.cite("find.py:2", "for i in items")]
)
FIRST = {
    "r1/critique@critic": crosses.critique(EARLY, BELOW, LINEAR),
    "r1/judgement@judge": crosses.judgement("B", {"F1": "valid P1", "F2": "valid P1", "F3": "invalid P2"}),
}


def newest() -> Record:
    return sessions.load(sessions.sessions(sessions.home())[0].folder)


def prompt(record: Record, key: str) -> str:
    return record.calls[key].asked[1].prompt


def fix_pay(shop: Path) -> str:
    (shop / "pay.py").write_text("def pay(order):\n    charge(order)\n    commit(order)\n")
    return commit(shop, "charge first")


AGAIN = {"r1/critique@critic": crosses.critique(earlier=[crosses.looked("F1", "fixed")])}


def test_only_what_is_new_is_asked_and_what_was_fixed_is_said_with_its_commit(shop: Path) -> None:
    review(shop, FIRST)
    fix = fix_pay(shop)
    done = review(shop, AGAIN)
    record = newest()
    asked = prompt(record, "r1/critique@critic")
    assert "This branch was reviewed before" in asked and "+    charge(order)" in asked
    assert "def take(item)" not in asked and "def find" not in asked, "unchanged files are not sent again"
    assert "It searches the whole list." in asked.partition("Do not\nraise them again")[2], "it was rejected before"
    assert "asking only about what changed since: 1 file, +1 -1" in done.stderr
    assert f"by commit {fix[:12]} (charge first)" in done.stdout
    assert "1 problem to fix (1 P1), " in done.stdout and "1 fixed since" in done.stdout
    assert "stock.py:2  P1" in done.stdout and "The count can fall below zero." in done.stdout
    found = {f.id: f for f in Review.of(record).contract.findings}
    assert (found["F1"].fixed_by, found["F1"].hidden) == (f"commit {fix[:12]} (charge first)", "fixed")
    assert found["F2"].hidden == "" and found["F2"].ruling == "valid" and found["F2"].mark == "found"
    assert found["F3"].hidden == "judged invalid"


@pytest.mark.parametrize(("said", "code"), [("fixed", 1), ("still there", 1), ("not checked", 1)])
def test_a_gate_counts_what_still_stands_and_not_what_was_seen_to_be_fixed(shop: Path, said: str, code: int) -> None:
    review(shop, FIRST, "--fail-on", "P1", code=1)
    fix_pay(shop)
    answer = {
        "r1/critique@critic": crosses.critique(earlier=[crosses.looked("F1", said)], agrees=True),
        "r1/judgement@judge": crosses.judgement("E", {}),
    }
    done = review(shop, answer, "--fail-on", "P1", "--json", code=code)
    gate = json.loads(done.stdout)["gate"]
    assert gate["failing"] == (["F2"] if said == "fixed" else ["F1", "F2"])


def test_a_finding_whose_lines_changed_stands_until_the_critic_has_looked(shop: Path) -> None:
    """That its quote is gone must not strike it: then any edit of the line would let a gate pass."""
    review(shop, FIRST, "--fail-on", "P1", code=1)
    (shop / "pay.py").write_text("def pay(order):\n    commit(order)  # now\n    charge(order)\n")
    commit(shop, "a comment")
    review(shop, {"r1/critique@critic": crosses.critique(agrees=True)}, "--fail-on", "P1", code=1)
    found = reviews.last().contract.findings[0]
    assert (found.severity, found.ruling, found.struck, found.fixed_by) == ("P1", "valid", False, "")


def test_what_was_dismissed_is_not_raised_again_and_fails_no_gate(shop: Path) -> None:
    review(shop, FIRST)
    assert voices.cli("dismiss", "F2", "--reason", "counted elsewhere", cwd=shop).returncode == 0
    fix_pay(shop)
    done = review(shop, AGAIN, "--fail-on", "P1")
    assert "The count can fall below zero." in prompt(newest(), "r1/critique@critic").partition("raise them again")[2]
    assert "The count can fall" not in done.stdout.partition("GATE")[0]
    assert "GATE PASSED" in done.stdout


@pytest.mark.parametrize("where", ["in the workspace", "in CI"])
def test_a_gate_builds_on_no_record_that_the_change_could_have_written(shop: Path, where: str) -> None:
    env = {"REBUT_HOME": str(shop / ".state")} if where == "in the workspace" else {"CI": "true"}
    (shop / ".git/info/exclude").write_text(".state\n")
    review(shop, FIRST, "--fail-on", "P1", code=1, **env)
    fix_pay(shop)
    whole = {
        "r1/critique@critic": crosses.critique(BELOW),
        "r1/judgement@judge": crosses.judgement("B", {"F1": "valid P1"}),
    }
    done = review(shop, whole, "--fail-on", "P1", code=1, **env)
    assert "was reviewed" not in done.stderr
    root = shop / ".state/sessions" if "REBUT_HOME" in env else sessions.home()
    record = sessions.load(sessions.sessions(root)[0].folder)
    assert "def take(item)" in prompt(record, "r1/critique@critic"), "the review is whole"
    again = review(shop, whole, "--fail-on", "P1", code=1, **env)
    assert "showing that result" not in again.stderr, "nor on a record of the very same change"
    assert "showing that result" in review(shop, whole, **env).stderr, "without a gate, it may"


def test_a_review_is_whole_with_again_after_a_rebase_and_for_other_models(shop: Path) -> None:
    review(shop, FIRST)
    fix_pay(shop)
    whole = {"r1/critique@critic": crosses.critique()}
    assert "asking only" not in review(shop, whole, "--again").stderr
    git(shop, "checkout", "-q", "main")
    (shop / "NEWS.md").write_text("# News\n")
    commit(shop, "news")
    git(shop, "checkout", "-q", "feature")
    git(shop, "rebase", "-q", "main")
    assert "asking only" not in review(shop, whole).stderr


def test_it_builds_on_the_last_review_each_time_and_a_rewritten_commit_is_no_reason_to_start_again(shop: Path) -> None:
    review(shop, FIRST)
    fix_pay(shop)
    review(shop, AGAIN)
    (shop / "stock.py").write_text("def take(item):\n    item.count = max(0, item.count - 1)\n    return item\n")
    git(shop, "commit", "-q", "-a", "--amend", "-m", "charge first, and count")
    said = {"r1/critique@critic": crosses.critique(earlier=[crosses.looked("F1", "fixed")])}
    done = review(shop, said)
    asked = prompt(newest(), "r1/critique@critic")
    assert "max(0, item.count - 1)" in asked and "def pay" not in asked
    assert "by the rewritten history up to" in done.stdout and "No problems found" in done.stdout


def test_a_killed_review_continues_on_the_same_earlier_findings(shop: Path) -> None:
    review(shop, FIRST)
    fix_pay(shop)
    fresh = crosses.raised("It returns nothing.", "pay.py:1", evidence=[duels.cite("pay.py:1", "def pay(order)")])
    said = {
        "r1/critique@critic": crosses.critique(fresh, earlier=[crosses.looked("F1", "fixed")]),
        "r1/judgement@judge": {"fail": "crashed"},
    }
    done = review(shop, said, code=3)
    assert "rebut resume" in done.stdout + done.stderr
    crosses.seats(shop.parent / "seats", {"r1/judgement@judge": crosses.judgement("B", {"F4": "valid P2"})})
    resumed = voices.cli("resume", "last", cwd=shop)
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert "by commit" in resumed.stdout
    assert voices.cli("replay", "last", cwd=shop).returncode == 0
    forked = voices.cli("fork", "last", "--rounds", "2", cwd=shop)
    assert forked.returncode == 0, forked.stdout + forked.stderr


def test_analysers_read_everything_again_and_what_they_no_longer_report_is_fixed(shop: Path) -> None:
    lint = ("review", "--with", "lint:ruff,rules")
    (shop / "pay.py").write_text("def pay(order):\n    commit(order)\n    return charged(order)\n")
    (shop / "stock.py").write_text("def take(item):\n    return commit(item)\n\n\ndef put(item):\n    commit(item)\n")
    commit(shop, "calls")
    first = voices.cli(*lint, cwd=shop)
    assert "4 problems to fix" in first.stdout, first.stdout + first.stderr
    (shop / "pay.py").write_text("# payments\n\n\ndef pay(order):\n    commit(order)\n    return order\n")
    (shop / "stock.py").write_text("def take(item):\n    return commit(item)\n\n\ndef put(item):\n    return item\n")
    fix = commit(shop, "two calls less")
    done = voices.cli(*lint, cwd=shop)
    assert "2 problems to fix" in done.stdout and "2 fixed since" in done.stdout, done.stdout + done.stderr
    found = reviews.last().contract.findings
    assert {f.fixed_by for f in found if f.fixed_by} == {f"commit {fix[:12]} (two calls less)"}
    assert sorted(f.place for f in found if not f.fixed_by) == ["pay.py:5", "stock.py:2"]
