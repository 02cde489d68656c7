"""What people get wrong, and what they meet with: each through the real console script, none with a traceback."""

from __future__ import annotations

import os
from pathlib import Path

import forkserver
import pytest
from console import REBUT, piped

from rebut.record import sessions


@pytest.fixture
def setup(tmp_path: Path) -> Path:
    """A folder with the files that people hand in by mistake, and nobody who could sit down."""
    folder = tmp_path / "setup"
    (folder / "dir").mkdir(parents=True)
    (folder / "huge.md").write_text("a" * 1_100_000)
    (folder / "empty.md").write_text("")
    (folder / "bin.md").write_bytes(b"\0\1\2\xff" * 100)
    (folder / "huge.bin").write_bytes(b"\0" * 1_100_000)
    (folder / "p.md").write_text("# P\n\nDo it.\n")
    return folder


WRONG = {
    "plan huge.md": "huge.md is larger than 1 MB",
    "plan empty.md": "empty.md is empty",
    "plan bin.md": "bin.md is binary",
    "plan huge.bin": "huge.bin is binary",
    "review huge.bin": "huge.bin is binary",
    "review empty.md": "rebut: empty.md is empty",
    "plan dir": "dir is a folder",
    "plan nosuch.md": "there is no file nosuch.md",
    "plan -": "standard input is empty",
    "review -": "standard input is empty",
    "review dir": "dir is a folder",
    "review nosuch": "is not a git repository",
    "review huge.md": "huge.md is larger than 1 MB",
    "plan p.md": "`rebut plan` needs two models",
    "plan p.md --with human": "`rebut plan` needs two models",
    "ask x?": "`rebut ask` needs two models",
    "cross p --target proposal": "cross needs an author",
    "duel x": "duel needs a proposer",
    "duel x --with a,b": "no such option '--with'; name each seat: --proposer SPEC --challenger SPEC --judge SPEC",
    "revise plan x": "revise needs 2 authors",
    "check bin.md": "bin.md is binary",
    "ask": "`rebut ask` needs a QUESTION",
    "ask ''": "the question is empty",
    "review --with ''": "--with was given an empty value: give it one, or leave it out",
    "cross --base ''": "--base was given an empty value",
    "cross --scope= --critic a": "--scope was given an empty value",
    "cross --state-dir ''": "--state-dir was given an empty value",
    "duel x --effort ''": "--effort was given an empty value",
    "panel x --challenger a --challenger ''": "--challenger was given an empty value",
    "show": "`rebut show` needs an ID",
    "show nosuch": "no session is called 'nosuch'",
    "config completion": "`rebut config completion` needs bash, zsh or fish",
    "config completion tcsh": "`rebut config` takes bash, zsh or fish, got 'tcsh'",
    "config frob": "`rebut config` takes path, show or completion, got 'frob'",
    "export last --format pdf": "--format takes md, html, json, adr, sarif, github, comment or tests, got 'pdf'",
    "revise": "`rebut revise` needs plan or review",
    "revise plan x --phase 0": "--phase must be 1 or more, got 0",
    "revise plan x --rounds two": "--rounds takes a whole number, got 'two'",
    "ask x? --max-usd abc": "--max-usd takes a number, got 'abc'",
    "ask x? --with": "--with needs a value: --with A,B",
    "--with": "--with needs a value: --with A,B",
    "dule": "no command 'dule'; did you mean duel?",
    "help nosuch": "there is no command 'nosuch'",
    "help dule": "there is no command 'dule'; did you mean duel?",
    "check dir": "dir is a folder",
    "check - --root p.md": "p.md is a file, not a folder",
    "nosuch.md": "no file or command 'nosuch.md'",
    "hello": "no file or command 'hello'; to ask a question:   rebut ask \"hello\"",
}


@pytest.mark.parametrize("line", WRONG)
def test_a_mistake_is_told_in_the_words_of_the_command(setup: Path, line: str) -> None:  # C17
    done = piped(*[word.strip("'") for word in line.split(" ")], cwd=setup)
    assert done.returncode == 2 and done.stderr.startswith("rebut: ") and WRONG[line] in done.stderr.splitlines()[0]
    assert "Traceback" not in done.stderr and done.stdout == "" and not sessions.sessions(sessions.home())
    if not line.startswith(("cross", "revise", "duel", "-")):
        for flag in ("--artifact-file", "--scope", "--author", "--proposer", "--target"):
            assert flag not in done.stderr, "a flag that this command does not have"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("ask x? --wiht a,b", "no such option '--wiht'; did you mean --with?"),
        ("ask x? --max-rounds 9", "no such option '--max-rounds'; did you mean --rounds?"),
        ("duel x --max-rounds 9", "no such option '--max-rounds'; did you mean --rounds?"),
        ("ask x? --critic a", "no such option '--critic'; did you mean --with?"),
        ("ask x? --frobnicate", "no such option '--frobnicate'"),
        ("panel x? --lens a", "no such option '--lens'"),
        ("list --out x", "no such option '--out'"),
    ],
)
def test_only_flags_of_this_command_and_of_like_meaning_are_suggested(setup: Path, line: str, says: str) -> None:
    done = piped(*line.split(" "), cwd=setup)
    assert done.returncode == 2 and done.stderr.splitlines()[0] == f"rebut: {says}"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["what", "is", "this"], 'rebut "what is this"'),
        (["why", "so", "slow", "--with", "a,b"], 'rebut "why so slow" --with a,b'),
        (['what"s', "$this"], 'rebut "what\\"s \\$this"'),
    ],
)
def test_a_question_without_quotes_is_given_back_with_them(setup: Path, words: list[str], line: str) -> None:
    done = piped(*words, cwd=setup)
    assert done.returncode == 2 and f"put a question in quotes:   {line}\n" in done.stderr


def test_a_question_whose_first_word_is_near_to_a_command_may_be_either(setup: Path) -> None:
    said = piped("redis", "or", "postgres", cwd=setup).stderr
    assert 'did you mean revise? Put a question in quotes:   rebut "redis or postgres"\n' in said
    assert "quotes" not in piped("dule", "Redis or Postgres", cwd=setup).stderr


def test_a_flag_that_nobody_has_is_told_before_a_silent_pipe_is_waited_for(setup: Path) -> None:
    silent, kept = os.pipe()  # its far end stays open and says nothing
    try:
        done = forkserver.run([REBUT, "--frobnicate"], stdin=silent, capture_output=True, text=True, cwd=setup)
    finally:
        os.close(silent)
        os.close(kept)
    assert done.returncode == 2 and done.stderr.startswith("rebut: no such option '--frobnicate'")
    assert "standard input is empty" not in done.stderr, "it was not even looked at"


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("duel Redis or Postgres --rounds 1", 'rebut duel "Redis or Postgres" --rounds 1'),
        ("ask Redis or Postgres", 'rebut ask "Redis or Postgres"'),
        ("run own.py Redis or Postgres", 'rebut run own.py "Redis or Postgres"'),
        ("revise plan Redis or Postgres", 'rebut revise plan "Redis or Postgres"'),
    ],
)
def test_a_question_without_quotes_after_its_command_is_given_back_with_them(
    setup: Path, line: str, meant: str
) -> None:
    done = piped(*line.split(), cwd=setup)
    assert done.returncode == 2 and f"rebut: put a question in quotes:   {meant}\n" in done.stderr


def test_help_of_a_command_is_its_help_and_no_question(setup: Path) -> None:
    assert piped("help", "duel", cwd=setup).stdout == piped("duel", "--help", cwd=setup).stdout
    done = piped("help", "dule", cwd=setup)
    assert done.returncode == 2 and "no command 'dule'; did you mean duel?" in done.stderr
    done = piped("help", "me", "choose", cwd=setup)
    assert done.returncode == 2 and 'put a question in quotes:   rebut "help me choose"' in done.stderr


def test_a_database_of_another_kind_is_not_taken_for_a_folder(tmp_path: Path) -> None:
    done = piped("list", cwd=tmp_path, env={"REBUT_HOME": "mysql://me:sesame@127.0.0.1/x"})
    assert done.returncode == 2 and "postgresql://USER@HOST:5432/NAME" in done.stderr and "sesame" not in done.stderr
    assert not list(tmp_path.glob("mysql*"))
