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


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("run.sh", f'#!/bin/sh\n# shellcheck source=/{"a" * 600} disable=SC2115\nrm -rf "$1/"*\n', "SC2115"),
        ("run.sh", f'#!/bin/sh\n# shellcheck{" " * 600}disable=SC2115\nrm -rf "$1/"*\n', "SC2115"),
        ("run.sh", '#!/bin/sh\n# shellcheck disable=SC2000-SC2999\nrm -rf "$1/"*\n', "SC2115"),
        ("run.py", "print(nowhere)  # NOQA:F821\n", "F821"),
        ("Dockerfile", "FROM debian:12\n# hadolint shell=powershell\nRUN cd x && ls $(cat y\n", "SC1072"),
    ],
)
def test_a_comment_in_an_odd_form_hides_nothing_and_is_told(
    folder: Path, name: str, text: str, rule: str
) -> None:  # C17 J7
    write(folder, name, text)
    git(folder, "add", "-A")
    code, said = gate(folder)
    said = " ".join(said.split())
    assert code == 1 and rule in said and "brings in a comment that silences the rule" in said, said


def test_a_comment_of_shellcheck_within_a_dockerfile_hides_nothing(folder: Path) -> None:  # C17 J7
    text = "FROM debian:12\nRUN <<EOF\n# shellcheck disable=SC2086,SC2154\nrm -rf $x\nEOF\n"
    write(folder, "Dockerfile", text)
    git(folder, "add", "-A")
    code, said = gate(folder, "--all", "--fail-on", "P3")
    assert code == 1 and "hadolint SC2086" in " ".join(said.split()), said


@pytest.mark.parametrize(
    "call", ["os.system(\n    {},\n)", "os.system(\n    {},\n)  # nosec", "os.system(  # nosec\n    {},\n)"]
)
def test_a_call_of_several_lines_that_became_more_severe_is_new(folder: Path, call: str) -> None:  # C17 J7
    write(folder, "a.py", "import os\n\n" + call.format("'ls'") + "\n")
    commit(folder, "reviewed")
    write(folder, "a.py", f"import os\n\n{call.format('input()')}\n")
    code, said = gate(folder)
    assert code == 1 and "bandit B605" in " ".join(said.split()), said


def test_the_last_line_of_another_call_does_not_carry_its_comment_to_a_new_one(folder: Path) -> None:  # C17 J7
    write(folder, "a.py", "import subprocess\n\nprint(\n    1,\n)  # nosec\nprint(2)\nprint(3)\n")
    commit(folder, "reviewed")
    text = "import subprocess\n\nprint(2)\nprint(3)\nsubprocess.call(\n    input(), shell=True\n)  # nosec\n"
    write(folder, "a.py", text)
    code, said = gate(folder)
    assert code == 1, said


def test_a_call_of_several_lines_may_be_moved_with_its_comment(folder: Path) -> None:  # C17 J7
    call = "subprocess.call(\n    input(), shell=True\n)  # nosec\n"
    write(folder, "a.py", f"import subprocess\n\n{call}")
    write(folder, "b.py", "import subprocess\n\nprint(subprocess)\n")
    commit(folder, "reviewed")
    write(folder, "a.py", "import subprocess\n\nprint(subprocess)\n")
    write(folder, "b.py", f"import subprocess\n\nprint(subprocess)\n{call}")
    code, said = gate(folder)
    assert code == 0, said
