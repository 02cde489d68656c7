"""The scope `staged`: what git would commit, whatever else is in the working tree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import voices
from repositories import commit, git, new


def test_only_what_is_staged_is_reviewed_and_nothing_staged_is_no_fault(tmp_path: Path) -> None:
    shop = new(tmp_path / "work", {"pay.py": "x = 1\n"})
    commit(shop)
    lint = ("review", "--staged", "--with", "lint:ruff,rules", "--fail-on", "P1")
    (shop / "new.py").write_text("print(unstaged)\n")
    nothing = voices.cli(*lint, cwd=shop)
    assert nothing.returncode == 0 and "nothing is staged" in nothing.stderr
    (shop / "pay.py").write_text("x = undefined\n")
    git(shop, "add", "pay.py")
    (shop / "pay.py").write_text("x = undefined\nprint(not_staged)\n")
    done = voices.cli(*lint, cwd=shop)
    assert done.returncode == 1 and "pay.py:1  P1" in done.stdout, done.stdout + done.stderr
    assert "not_staged" not in done.stdout and "new.py" not in done.stdout
    assert "staged changes: 1 file, +1 -1" in done.stderr


def test_within_a_hook_the_index_that_git_names_counts(tmp_path: Path) -> None:
    """`git commit FILE` commits that file only, and names an index of its own to the hook."""
    shop = new(tmp_path / "work", {"a.py": "x = 1\n", "b.py": "y = 1\n"})
    commit(shop)
    for name in ("a.py", "b.py"):
        (shop / name).write_text(f"print(undefined_{name[0]})\n")
    git(shop, "add", "b.py")
    hook = shop / ".git/hooks/pre-commit"
    program = f"{sys.executable} -m rebut"
    hook.write_text(f"#!/bin/sh\n{program} review --staged --with lint:ruff,rules --fail-on P1 >{tmp_path}/said 2>&1\n")
    hook.chmod(0o755)
    done = subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a", "a.py"],
        cwd=shop,
        capture_output=True,
        text=True,
    )
    said = (tmp_path / "said").read_text()
    assert done.returncode == 1 and "undefined_a" in said and "undefined_b" not in said, said
