"""Texts as targets: which source counts, what kind a text is, and how code and proposal are told apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from repositories import commit, git, small
from targeting import changed, paths, refused, target

from rebut.core.errors import UsageError
from rebut.workspace.targets.resolve import question, unanswerable
from rebut.workspace.targets.text import detect, prose_of, rejoined, split_mixed

PLAN = "## Proposal\n\nMove the sessions to Redis.\n"
CODE = "Look:\n\n```python\ndef get(key):\n    return store[key]\n```\n"
DIFF = "diff --git a/a.py b/a.py\nindex 1..2 100644\n--- a/a.py\n+++ b/a.py\n@@ -1 +1,2 @@\n a = 1\n+b = 2\n"
LONG = "We talked about many things and came to no end of it. " * 60


# J1: where the text comes from


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "artifact.md").write_text("## Design\n\nthe artifact file\n")
    (tmp_path / "context.md").write_text("## Design\n\nthe context file\n")
    return tmp_path


ORDER = {
    "content": "## Design\n\nthe argument\n",
    "artifact_file": "artifact.md",
    "stdin": "## Design\n\nstandard input\n",
    "context_file": "context.md",
}
FIRST = ("the argument", "the artifact file", "standard input", "the context file")


@pytest.mark.parametrize("skipped", range(4))
def test_the_first_source_that_was_given_counts_and_the_others_are_named(sources: Path, skipped: int) -> None:
    # J1
    given = dict(list(ORDER.items())[skipped:])
    found = target(sources, **given)
    assert FIRST[skipped] in found.text
    assert len(found.notes) == 3 - skipped and all("is not used" in note for note in found.notes)


@pytest.mark.parametrize("flag", ["artifact_file", "context_file"])
@pytest.mark.parametrize("name", ["draft.md", "../plans/draft.md", "{top}/plans/draft.md"])
def test_a_glob_of_the_users_holds_from_wherever_a_file_is_named(tmp_path: Path, flag: str, name: str) -> None:  # C16
    here = small(tmp_path) / "plans"
    here.mkdir()
    (here / "draft.md").write_text(PLAN)
    given = {flag: name.format(top=here.parent)}
    assert target(here, **given).text
    assert "never read" in refused(here, never=("plans/draft.md",), **given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"artifact_file": "nope.md"}, "there is no file nope.md"),
        ({"context_file": "nope.md"}, "there is no file nope.md"),
        ({"artifact_file": "empty.md"}, "is empty"),
        ({"artifact_file": "."}, "is a folder"),
        ({"artifact_file": "logo.png"}, "is binary"),
        ({"artifact_file": "large.md"}, "larger than 1 MB"),
        ({"artifact_file": "prod.env"}, "never read"),
        ({"target": "proposal"}, "needs a text, and none was given"),
        ({"target": "mixed"}, "needs a text, and none was given"),
        ({"target": "prose"}, "there is no target 'prose'"),
        ({"target": "proposal", "scope": "uncommitted", "content": PLAN}, "selects code, and --target is proposal"),
        ({"content": "  \n"}, "is not a git repository"),
        ({"from_transcript": True}, "there is no transcript of"),
    ],
)
def test_a_source_that_gives_nothing_is_an_error_that_names_it(
    tmp_path: Path, given: dict[str, object], words: str
) -> None:
    # J1 J2
    (tmp_path / "empty.md").write_text(" \n")
    (tmp_path / "logo.png").write_bytes(b"\0\1")
    (tmp_path / "large.md").write_text("x" * 1_000_001)
    (tmp_path / "prod.env").write_text("x\n")
    assert words in refused(tmp_path, **given)


def test_a_changed_working_tree_is_meant_when_nothing_is_given(tmp_path: Path) -> None:
    # J1
    repo = small(tmp_path)
    assert "--from-transcript" in refused(repo)
    (repo / "a.py").write_text("a\n")
    found = target(repo)
    assert (found.kind, found.confidence, paths(found)) == ("code", "medium", ["a.py"])
    assert target(repo, target="code").confidence == "high"
    assert target(repo, content=PLAN).kind == "proposal"


# J1: what kind it is


@pytest.mark.parametrize(
    ("text", "name", "kind", "confidence", "why"),
    [
        ("```py\nx = 1\n```", "", "code", "high", "fenced code"),
        (DIFF, "", "code", "high", "a diff"),
        (CODE + "This explains it. " * 40, "", "code", "medium", "more words than code"),
        (PLAN, "", "proposal", "high", "heading 'Proposal'"),
        ("# 2. Our Approach\nx", "", "proposal", "high", "heading"),
        ("Decision\n========\n\nx", "", "proposal", "high", "heading"),
        ("**Design**\n\nx", "", "proposal", "high", "heading"),
        (PLAN + CODE, "", "mixed", "medium", "fenced code and the heading 'Proposal'"),
        ("Use Redis for sessions.", "", "proposal", "medium", "short"),
        ("## Designer shoes\n\nbuy some\n", "", "proposal", "medium", "short"),
        ("```\n## Design\n```\n", "", "code", "high", "fenced"),
        ("import os\n\ndef f(x):\n    return os.getcwd()\n", "", "code", "medium", "look like code"),
        ("We could do:\nx = 1\ny = 2\nand then we see\nwhat comes of it\n", "", "proposal", "low", "some do not"),
        (LONG, "", "proposal", "low", "longer than 2,000"),
        ("anything", "src/app.py", "code", "high", "app.py is a file of code"),
        ("anything", "fix.patch", "code", "high", "fix.patch"),
        (PLAN, "PLAN.md", "proposal", "high", "heading"),
    ],
)
def test_the_kind_of_a_text_is_told_with_its_confidence(
    text: str, name: str, kind: str, confidence: str, why: str
) -> None:
    # J1
    guess = detect(text, name)
    assert (guess.kind, guess.confidence) == (kind, confidence), guess.why
    assert why in guess.why and "\n" not in guess.why


@pytest.mark.parametrize("kind", ["code", "proposal", "mixed"])
def test_the_target_that_was_named_is_taken(tmp_path: Path, kind: str) -> None:
    # J1
    found = target(tmp_path, target=kind, content=PLAN + CODE)
    assert (found.kind, found.confidence) == (kind, "high")
    assert bool(found.changes) == (kind != "proposal") and bool(found.text) == (kind != "code")
    assert ("not part of the target" in " ".join(found.notes)) == (kind == "code")


def test_an_unclear_target_comes_with_one_question_or_an_error_that_names_the_flag(tmp_path: Path) -> None:
    # J1
    found = target(tmp_path, content=LONG)
    asked = question(found)
    assert asked is not None and [kind for kind, _ in asked.choices] == ["code", "proposal", "mixed"]
    assert asked.default == "proposal" and found.why in asked.text
    error = unanswerable(found)
    assert isinstance(error, UsageError) and "--target proposal" in str(error) and found.why in str(error)
    assert question(target(tmp_path, content=LONG, target="proposal")) is None


def test_a_scope_and_a_text_are_two_candidates(tmp_path: Path) -> None:
    # J1
    repo = small(tmp_path)
    (repo / "a.py").write_text("a\n")
    found = target(repo, "uncommitted", content=PLAN)
    asked = question(found)
    assert found.confidence == "low" and asked is not None
    assert [kind for kind, _ in asked.choices] == ["code", "mixed"] and "proposal" not in str(unanswerable(found))
    assert target(repo, "uncommitted", stdin="refs/heads/main 1 2 3\n").confidence == "high"  # a hook's input
    code = target(repo, "uncommitted", content=PLAN, target="code")
    assert (code.kind, code.text) == ("code", "") and "the argument is not used" in code.notes[0]
    both = target(repo, "uncommitted", content=PLAN + CODE, target="mixed")
    assert paths(both) == ["a.py", "snippet-1.py"] and "(snippet-1.py)" in both.text
    assert "needs a text besides the scope" in refused(repo, "uncommitted", target="mixed")


def test_a_mixed_target_without_code_in_its_text_takes_the_working_tree(tmp_path: Path) -> None:
    # J1 J7
    repo = small(tmp_path)
    (repo / "a.py").write_text("a\n")
    found = target(repo, content=PLAN, target="mixed")
    assert (found.kind, found.text, paths(found)) == ("mixed", PLAN, ["a.py"])


def test_a_file_is_split_when_it_is_said_to_be_mixed(tmp_path: Path) -> None:
    # J2 J7
    (tmp_path / "plan.md").write_text(PLAN + CODE)
    found = target(tmp_path, "file:plan.md", target="mixed")
    assert paths(found) == ["snippet-1.py"] and "Move the sessions" in found.text and "def get" not in found.text


def test_a_file_of_code_keeps_its_name_and_a_text_loses_its_secrets(tmp_path: Path) -> None:
    # C8 J1
    (tmp_path / "app.py").write_text("pw = 'hunter2'\n")
    found = target(tmp_path, artifact_file="app.py")
    assert paths(found) == ["app.py"] and changed(found, "app.py").added == ((1, 1),)
    assert "[secret:x:00000000]" in found.diff
    for given in ({"content": PLAN + "hunter2"}, {"stdin": f"{PLAN}```\nhunter2\n```\n"}):
        found = target(tmp_path, **given)
        assert "[secret:x:00000000]" in found.text + found.diff


def test_a_target_from_outside_of_the_workspace_is_read_when_it_is_named(tmp_path: Path) -> None:
    # J1
    repo = small(tmp_path)
    (tmp_path / "plan.md").write_text(PLAN)
    assert target(repo, artifact_file="../plan.md").text == PLAN
    (repo / "near.md").symlink_to("README.md")
    assert target(repo, artifact_file="near.md").text == "# Hello\n"


# J7: code and proposal told apart


@pytest.mark.parametrize(
    ("text", "blocks", "rest"),
    [
        ("a\n```python\nx\n```\nb", [("snippet-1.py", "x\n")], "a\n(snippet-1.py)\nb"),
        ("~~~js\nx\n~~~", [("snippet-1.js", "x\n")], "(snippet-1.js)"),
        ("~~~\n```\nx\n```\n~~~\nb", [("snippet-1.txt", "```\nx\n```\n")], "(snippet-1.txt)\nb"),
        ("````md\n```py\nx\n```\n````\nb", [("snippet-1.md", "```py\nx\n```\n")], "(snippet-1.md)\nb"),
        ("```py\nx\n\n", [("snippet-1.py", "x\n")], "(snippet-1.py)"),
        ("```py\nx\n````\nb", [("snippet-1.py", "x\n")], "(snippet-1.py)\nb"),
        ("````py\nx\n```\ny", [("snippet-1.py", "x\n```\ny\n")], "(snippet-1.py)"),
        (
            "- a\n    ```rust\n    fn f()\n      x\n    ```\n- b",
            [("snippet-1.rs", "fn f()\n  x\n")],
            "- a\n(snippet-1.rs)\n- b",
        ),
        ("```{.python title=x}\nx\n```", [("snippet-1.py", "x\n")], "(snippet-1.py)"),
        ("```brainf\nx\n```", [("snippet-1.txt", "x\n")], "(snippet-1.txt)"),
        ("```\n\n```\nb", [], "b"),
        ("use ```x``` here", [], "use ```x``` here"),
        ("a\r\n```py\r\nx\r\n```\r\n", [("snippet-1.py", "x\n")], "a\n(snippet-1.py)\n"),
        (DIFF + "and so on", [("snippet-1.diff", DIFF)], "(snippet-1.diff)\nand so on"),
        (f"see\n{DIFF}- a list\n", [("snippet-1.diff", DIFF)], "see\n(snippet-1.diff)\n- a list\n"),
        (
            "--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n a\n-b\nend",
            [("snippet-1.diff", "--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n a\n-b\n")],
            "(snippet-1.diff)\nend",
        ),
        ("--- a rule\nand text", [], "--- a rule\nand text"),
        ("```\n" + DIFF + "```", [("snippet-1.diff", DIFF)], "(snippet-1.diff)"),
        (
            "```a\n1\n```\n```b\n2\n```",
            [("snippet-1.txt", "1\n"), ("snippet-2.txt", "2\n")],
            "(snippet-1.txt)\n(snippet-2.txt)",
        ),
        ("", [], ""),
    ],
)
def test_fenced_blocks_and_diffs_are_code_and_the_rest_is_not(
    text: str, blocks: list[tuple[str, str]], rest: str
) -> None:
    # J7
    code, left = split_mixed(text)
    assert ([(block.name, block.text) for block in code], left) == (blocks, rest)
    assert all(f"({block.name})" not in prose_of(code, left) for block in code)


def test_a_diff_in_a_text_is_kept_as_it_was_written(tmp_path: Path) -> None:
    # J7
    found = target(tmp_path, content=f"Please look:\n\n```diff\n{DIFF}```\n")
    assert found.diff == DIFF and paths(found) == ["snippet-1.diff"]


def test_a_scope_is_said_with_the_target(tmp_path: Path) -> None:
    # J2
    repo = small(tmp_path)
    (repo / "a.py").write_text("a\n")
    commit(repo)
    found = target(repo, "commit:HEAD")
    assert "commit HEAD, compared with its parent" in found.why and found.new == git(repo, "rev-parse", "HEAD")


@pytest.mark.parametrize(
    "text",
    [
        f"a\n\n- b\n    ```py\n    x\n  y\n\n    ```\nc\n{DIFF}d\n\n```\n\n```\n~~~\nopen\n\n",
        "```py\nx\n```",
        "a\r\n```py\r\nx\r\n```\r\n",
    ],
)
def test_a_text_that_was_split_is_put_together_again(text: str) -> None:  # J7 J10
    blocks, _ = split_mixed(text)
    assert blocks and rejoined(text, {block.name: block.text for block in blocks}) == text


def test_other_code_and_other_prose_take_their_places() -> None:  # J7 J10
    text = "- a\n  ~~~py\n  x\n\n  y\n  ~~~\n- b\n"
    code = {"snippet-1.py": "one\n\ntwo\nthree\n"}
    assert rejoined(text, code) == "- a\n  ~~~py\n  one\n\n  two\n  three\n  ~~~\n- b\n"
    assert rejoined(text, code, "# New\n (snippet-1.py)\n") == "# New\n  ~~~py\n  one\n\n  two\n  three\n  ~~~\n"
