"""Pairs from the user's own repository: real git, the real sandbox, and tests that really run."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import corpus_checks
import pytest
import repositories
import reviewers
from console import piped
from test_trial import TWO, environment

from rebut.trial.pairs import corpus
from rebut.trial.repository_pairs import is_test

BEFORE, AFTER = corpus()["billing/invoice.py"]
HEAD = """from datetime import date
from typing import Any

import pytest

from shop import invoice

raises = pytest.raises
"""
CHECK = inspect.getsource(corpus_checks.billing_invoice) + "\n\ndef test_invoice():\n    billing_invoice(invoice)\n"
QUICK = "[pytest]\naddopts = -p no:hypothesispytest -p no:xdist -p no:xdist.looponfail -p no:anyio -p no:platformdirs\n"
"""Without plugins that these tests do not use, pytest starts in half of the time."""
WEAK = "from shop import invoice\n\n\ndef test_tiers():\n    assert invoice.TIERS[0][1] == 12\n    assert invoice.pay\n"


def shop(folder: Path, test: str = HEAD + CHECK, before: str = BEFORE) -> Path:
    files = {"shop/__init__.py": "", "shop/invoice.py": before, "README.md": "# Shop\n", "pytest.ini": QUICK}
    repo = repositories.new(folder, files)
    repositories.commit(repo)
    (repo / "shop/invoice.py").write_text(AFTER)
    if test:
        (repo / "tests").mkdir()
        (repo / "tests/test_shop.py").write_text(test)
    repositories.commit(repo, "tiers")
    return repo


def lint(repo: Path, out: Path, *words: str) -> tuple[int, str, str]:
    done = piped(
        "trial", "--arms", "lint", "--pairs", "3", "--run-checks", "--repo", str(repo), "--out", str(out), *words
    )
    return done.returncode, done.stdout, done.stderr


def test_pairs_are_the_last_change_with_defects_that_the_tests_see(tmp_path: Path) -> None:
    repo, out = shop(tmp_path / "repo"), tmp_path / "t"
    code, text, errors = lint(repo, out, "--json")
    assert code == 0, errors
    said = json.loads(text)
    assert said["pairs"] == 3 and said["source"].startswith("your repository at ") and said["files"] == 1
    rows = [json.loads(line) for line in (out / "pairs.jsonl").read_text().splitlines()]
    assert {row["file"] for row in rows} == {"shop/invoice.py"} and all(row["was"] != row["now"] for row in rows)
    tried = json.loads((out / "defects.json").read_text())["defects"]
    assert sum(tried.values()) >= 3
    assert not (repo / ".pytest_cache").exists() and not (repo / "shop/__pycache__").exists()
    assert repositories.git(repo, "status", "--porcelain") == "", "the repository is as it was"
    before = (out / "defects.json").stat().st_mtime_ns
    again = json.loads(lint(repo, out, "--json")[1])
    assert again == said and json.loads((out / "defects.json").read_text())["defects"] == tried
    assert (out / "defects.json").stat().st_mtime_ns >= before


def test_defects_that_no_test_sees_are_not_taken(tmp_path: Path) -> None:
    repo = shop(tmp_path / "repo", WEAK)
    code, _, errors = lint(repo, tmp_path / "t", "--pairs", "1")  # twelve defects are tried for each pair
    assert code == 2 and "your tests see none of the defects that were planted" in errors, errors


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("", "your repository has no tests"),
        ("def test_x():\n    assert False\n", "your tests fail in the sandbox before any defect is planted"),
        ("import nonesuch\n", "your tests fail in the sandbox before any defect is planted"),
    ],
    ids=["no tests", "failing", "not importable"],
)
def test_a_repository_that_cannot_be_used_is_refused_with_the_reason(tmp_path: Path, test: str, said: str) -> None:
    code, _, errors = lint(shop(tmp_path / "repo", test), tmp_path / "t")
    assert code == 2 and said in errors and "Without --run-checks" in errors, errors


def test_a_folder_without_git_or_without_a_small_change_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    code, _, errors = lint(tmp_path / "plain", tmp_path / "t")
    assert code == 2 and "not a git repository" in errors
    repo = shop(tmp_path / "repo", before=AFTER)
    code, _, errors = lint(repo, tmp_path / "t2")
    assert code == 2 and "has no small change of a Python file" in errors
    done = piped("trial", "--arms", "lint", "--repo", str(repo))
    assert done.returncode == 2 and "--repo needs --run-checks" in done.stderr


def test_a_model_reviews_the_users_own_code_and_what_is_never_sent_stays_here(tmp_path: Path) -> None:
    repo = shop(tmp_path / "repo")
    (repo / "rebut.toml").write_text('[egress]\nnever = ["shop/*"]\n')
    code, _, errors = lint(repo, tmp_path / "t")
    assert code == 2 and "has no small change" in errors, "a file that is never sent is no pair"
    (repo / "rebut.toml").unlink()
    words = (
        "--arms",
        "one",
        "--pairs",
        "3",
        "--run-checks",
        "--repo",
        str(repo),
        "--out",
        str(tmp_path / "t3"),
        "--json",
    )
    with reviewers.Loopback(lambda body: '{"findings": [], "earlier": [], "agrees": true, "need": []}') as server:
        done = piped("trial", *TWO, *words, env=environment(server))
        asked = json.dumps(server.bodies)
    said = json.loads(done.stdout)
    assert done.returncode == 3 and "this trial cannot measure the model" in said["sentence"]
    assert "shop/invoice.py" in asked and "def discount_percent" in asked


def test_tests_are_no_code_to_plant_defects_in() -> None:
    assert all(map(is_test, ("tests/helpers.py", "a/test_x.py", "a/x_test.py", "conftest.py", "src/testing/x.py")))
    assert not any(map(is_test, ("src/contest.py", "latest/x.py", "app.py")))
