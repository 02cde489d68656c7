"""Diffs read, found in a text, compared and written: by the one module that knows their format."""

from __future__ import annotations

import pytest

from rebut.workspace.diff import (
    HunkRange,
    Span,
    diff_end,
    find_sections,
    head_and_hunks,
    hunk_range,
    line_counts,
    modes,
    names,
    new_modes,
    parts,
    sections,
    shorter_hunks,
    touched,
)
from rebut.workspace.targets.text import split_mixed

TWO = """diff --git a/one.py b/one.py
index 1111111..2222222 100644
--- a/one.py
+++ b/one.py
@@ -1,2 +1,2 @@
-old
+new
 same
diff --git "a/t\\303\\244b\\t.py" "b/t\\303\\244b\\t.py"
old mode 100644
new mode 100755
"""


def test_sections_together_are_the_diff() -> None:
    assert "".join(sections(TWO)) == TWO and len(sections(TWO)) == 2
    assert "".join(sections(f"a word\n{TWO}")) == f"a word\n{TWO}"


def test_a_name_is_read_from_the_first_line_where_no_other_has_it() -> None:
    one, other = sections(TWO)
    assert names(one) == ("a/one.py", "b/one.py")
    assert names(other) == ("a/täb\t.py", "b/täb\t.py") and modes(other) == ("100644", "100755")
    assert touched(TWO) == ("one.py", "täb\t.py") and new_modes(TWO, {}) == {"täb\t.py": "100755"}
    assert names("diff --git a/x b/y\nold mode 100644\n") == ("", ""), "nothing says where the first name ends"


@pytest.mark.parametrize(
    ("line", "found", "span"),
    [
        ("@@ -3 +4 @@ def f():", HunkRange(3, 1, 4, 1), Span(2, 3, 3, 4)),
        ("@@ -3,0 +4,2 @@", HunkRange(3, 0, 4, 2), Span(3, 3, 3, 5)),
        ("@@ -0,0 +1,5 @@", HunkRange(0, 0, 1, 5), Span(0, 0, 0, 5)),
    ],
)
def test_an_empty_range_names_the_line_before_it(line: str, found: HunkRange, span: Span) -> None:
    assert hunk_range(line) == found and found.span == span


def test_only_lines_that_change_are_spans() -> None:
    assert [change.spans for change in parts(TWO)] == [(Span(0, 1, 0, 1),), ()]
    assert line_counts(TWO) == (1, 1)


def test_a_long_hunk_becomes_several_that_say_the_same() -> None:
    hunk = "@@ -5,4 +5,5 @@\n a\n-b\n+c\n+d\n e\n f\n"
    short = list(shorter_hunks(hunk, 6))
    assert short == ["@@ -5,2 +5,1 @@\n a\n-b\n", "@@ -6,0 +6,2 @@\n+c\n+d\n", "@@ -7,2 +8,2 @@\n e\n f\n"]
    assert head_and_hunks("".join(short)) == ("", short)


def test_a_name_of_nothing_but_spaces_begins_no_diff() -> None:
    """Such a text once kept the search for the end of a diff at the same line for ever."""
    text = "see\n--- \n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
    assert diff_end(text.split("\n"), 1) == 0
    assert list(find_sections(text)) == []
    assert split_mixed(text) == ((), text)


def test_a_diff_is_found_between_sentences() -> None:
    found = list(find_sections(f"Before.\n\n{TWO}\nAfter.\n--- a/z\n+++ b/z\n@@ -1 +1 @@\n-a\n+b\n"))
    assert [(one.name, one.changes_text) for one in found] == [("one.py", True), ("täb\t.py", False), ("z", True)]
