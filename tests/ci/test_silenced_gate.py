"""A change cannot silence its own gate: real repositories, real analysers, the real command."""

from __future__ import annotations

from pathlib import Path

import pytest
from console import piped
from repositories import commit, git, new

SHELL = "import subprocess\n\n\ndef run():\n    subprocess.call(input(), shell=True){}\n"
WORKFLOW = ".github/workflows/ci.yml"
STEPS = "on: push\npermissions: {}\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n"
INJECTED = '      - run: echo "${{ github.event.head_commit.message }}"'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    top = new(tmp_path / "work", {"rebut.toml": '[gate]\nfail_on = "P2"\n', "README.md": "A program.\n"})
    commit(top, "base")
    return top


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def gate(folder: Path, *words: str) -> tuple[int, str]:
    done = piped("review", "--with", "lint,rules", *words, cwd=folder)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("run.py", SHELL.format("  # nosec")),
        ("run.py", SHELL.format("  # nosec B602")),
        ("run.py", "# ruff: noqa\n# flake8: noqa\nprint(nowhere)  # noqa\n"),
        ("run.sh", '#!/bin/sh\n# shellcheck disable=SC2115\nrm -rf "$1/"*\n'),
        ("run.sh", '#!/bin/sh\n# shellcheck shell=sh disable=all\nrm -rf "$1/"*\n'),
        ("run.js", "/* eslint-disable */\neval(x); // eslint-disable-line no-eval\n"),
        (WORKFLOW, f"{STEPS}{INJECTED} # zizmor: ignore[template-injection]\n"),
        ("Dockerfile", "# hadolint global ignore=DL3004\nFROM debian:12\n# hadolint ignore=DL3004\nRUN sudo ls\n"),
    ],
)
def test_a_change_that_silences_its_own_findings_fails_the_gate_and_is_told_so(
    folder: Path, name: str, text: str
) -> None:  # C17 J7
    write(folder, name, text)
    git(folder, "add", "-A")
    code, said = gate(folder)
    assert code == 1, said
    assert "brings in a comment that silences the rule" in " ".join(said.split()), said


def test_what_the_base_had_silenced_may_be_moved(folder: Path) -> None:  # C17 J7
    write(folder, "old.py", SHELL.format("  # nosec"))
    commit(folder, "reviewed")
    git(folder, "mv", "old.py", "new.py")
    write(folder, "new.py", "TITLE = 1\n\n\n" + SHELL.format("  # nosec"))
    git(folder, "add", "-A")
    code, said = gate(folder)
    assert code == 0, said


def test_a_rule_that_applies_since_the_change_is_lowered_by_a_comment_of_the_base(folder: Path) -> None:  # C17 J7
    write(folder, "a.py", "first = 1\nprint(first)  # noqa: F821\n")
    commit(folder, "reviewed")
    write(folder, "a.py", "if 1:\n    print(first)  # noqa: F821\n")
    code, said = gate(folder, "--all")
    assert code == 0 and "did so before this change" in " ".join(said.split()), said


def test_a_comment_of_the_base_does_not_cover_what_the_change_writes_in_its_place(folder: Path) -> None:  # C17 J7
    write(folder, "a.py", "import subprocess\n\nsubprocess.call('ls', shell=False)  # nosec\n")
    commit(folder, "reviewed")
    write(folder, "a.py", "import subprocess\n\nsubprocess.call(input(), shell=True)  # nosec\n")
    code, said = gate(folder)
    assert code == 1, said
