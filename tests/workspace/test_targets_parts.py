"""Targets kept, shown and split: the round trip through JSON, whole files with numbers, parts for large diffs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from repositories import commit, small
from targeting import applies, target

from rebut.core.errors import RecordError
from rebut.core.text import canonical, tokens
from rebut.core.types import Changed
from rebut.workspace.diff import BothTexts, added, hunk_range, section
from rebut.workspace.targets.split import split, split_notice
from rebut.workspace.targets.target import Target, whole_files

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
CHANGED = st.builds(
    Changed,
    TEXT,
    st.none() | TEXT,
    st.none() | TEXT,
    st.lists(st.tuples(st.integers(1, 99), st.integers(1, 99))).map(tuple),
    TEXT,
)
TARGETS = st.builds(
    Target,
    st.sampled_from(["code", "proposal", "mixed"]),
    st.sampled_from(["high", "medium", "low"]),
    *[TEXT] * 4,
    changes=st.lists(CHANGED, max_size=3).map(tuple),
    base=TEXT,
    new=TEXT,
    left_out=st.lists(TEXT, max_size=2).map(tuple),
    notes=st.lists(TEXT, max_size=2).map(tuple),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # on a busy machine
@given(TARGETS)
def test_a_target_comes_back_from_a_record_as_it_was(found: Target) -> None:
    # J1
    line = json.dumps(found.to_json())
    assert Target.from_json(json.loads(line)) == found
    assert canonical(Target.from_json(json.loads(line)).to_json()) == canonical(found.to_json())


@pytest.mark.parametrize("data", [{}, {"kind": "poem", "confidence": "high"}, {"kind": "code", "confidence": "sure"}])
def test_a_record_of_another_shape_is_refused(data: dict[str, str]) -> None:
    with pytest.raises(RecordError):
        Target.from_json(dict(data))


def test_the_same_workspace_gives_the_same_target(tmp_path: Path) -> None:
    # C3
    repo = small(tmp_path)
    for n in range(9):
        (repo / f"f{n}.py").write_text(f"x = {n}\n")
    assert canonical(target(repo).to_json()) == canonical(target(repo).to_json())


LINES = st.lists(st.sampled_from(["a", "b", "", "+", "-x", "@@ -1 +1 @@", "diff --git a/x b/x", "\\ No"]), max_size=14)


@settings(max_examples=40, deadline=None)
@given(LINES, LINES, st.booleans(), st.booleans())
def test_a_diff_of_two_texts_is_one_that_git_applies(
    tmp_path_factory: pytest.TempPathFactory, old: list[str], new: list[str], old_end: bool, new_end: bool
) -> None:
    # J2
    before, after = "\n".join(old) + "\n" * old_end, "\n".join(new) + "\n" * new_end
    spans = BothTexts(before, after).differences()
    assert BothTexts(before, after).fits(spans)
    if spans:
        change = Changed("x.txt", before, after, added(spans))
        diff = section("x.txt", before, after, spans, modes=("100644", "100644"))
        applies(Target("code", "high", "", diff=diff, changes=(change,)), tmp_path_factory.mktemp("apply") / "in")


# C15: whole files


def test_changed_files_are_shown_whole_with_numbers_as_far_as_the_budget_goes(tmp_path: Path) -> None:
    # C15
    repo = small(tmp_path)
    (repo / "README.md").unlink()
    (repo / "a.py").write_text("x = 1\ny = 2\n")
    (repo / "b.py").write_text("z = 3\n" * 100)
    (repo / "c.bin").write_bytes(b"\0")
    found = target(repo, "uncommitted")
    shown = whole_files(found)
    assert [piece.path for piece in shown.files] == ["a.py", "b.py"]
    assert shown.files[0].text == "   1| x = 1\n   2| y = 2"
    assert shown.left_out == (("README.md", "deleted"), ("c.bin", "binary"))
    tight = whole_files(found, budget_bytes=100)
    assert [piece.path for piece in tight.files] == ["a.py"]
    assert "bytes, more than the" in dict(tight.left_out)["b.py"] and "b.py (" in tight.text


# large diffs


@pytest.fixture
def large(tmp_path: Path) -> Target:
    """Ten small files, one with many hunks, one new and long."""
    repo = small(tmp_path)
    for n in range(10):
        (repo / f"f{n}.py").write_text("a\n")
    (repo / "hunks.py").write_text("".join(f"line {n}\n" for n in range(400)))
    commit(repo)
    for n in range(10):
        (repo / f"f{n}.py").write_text(f"a\nb = '{'x' * 200}'\n")
    (repo / "hunks.py").write_text("".join(f"line {n}{' changed' * (n % 20 == 0)}\n" for n in range(400)))
    (repo / "long.py").write_text("".join(f"new line {n}\n" for n in range(500)))
    return target(repo, "uncommitted")


def test_a_target_that_fits_is_not_split(large: Target) -> None:
    # J7
    assert split(large, 100_000) == (large,) and split_notice(split(large, 100_000)) == ""


@pytest.mark.parametrize("budget", [200, 400, 1_000, 2_500])
def test_a_large_target_is_split_by_file_and_nothing_is_lost(large: Target, budget: int, tmp_path: Path) -> None:
    # J7
    parts = split(large, budget)
    assert len(parts) > 1 and all(tokens(part.diff) <= budget for part in parts)
    assert parts == split(large, budget)
    signed = re.compile(r"^[+-](?![+-]{2} ).*$", re.M)
    whole = sorted(signed.findall(large.diff))
    assert sorted(line for part in parts for line in signed.findall(part.diff)) == whole
    written = {(c.path, n) for c in large.changes for first, last in c.added for n in range(first, last + 1)}
    split_up = [
        (c.path, n) for p in parts for c in p.changes for first, last in c.added for n in range(first, last + 1)
    ]
    assert sorted(split_up) == sorted(written)
    for n, part in enumerate(parts, 1):
        assert f"part {n} of {len(parts)} of a change" in " ".join(part.notes)
        assert {c.path for c in part.changes} == set(re.findall(r"^diff --git a/(\S+) ", part.diff, re.M))
        assert (part.base, part.new, part.scope) == (large.base, large.new, large.scope)
    line = split_notice(parts)
    assert f"{len(parts)} run side by side" in line and "12 files" in line and "\n" not in line
    assert ("long.py" in line) == (budget < 2_500)


def test_a_hunk_cut_in_pieces_keeps_its_line_numbers(large: Target) -> None:
    # J7
    pieces = [part for part in split(large, 300) if any(change.path == "long.py" for change in part.changes)]
    assert len(pieces) > 3
    for part in pieces:
        after = next(change.after for change in part.changes if change.path == "long.py") or ""
        section_of = part.diff[part.diff.index("diff --git a/long.py") :]
        for hunk in re.split(r"^(?=@@ )", section_of, flags=re.M)[1:]:
            found = hunk_range(hunk)
            assert found is not None
            first, last = found.new_lines
            wanted = [f"+{line}" for line in after.split("\n")[first - 1 : last]]
            assert hunk.rstrip("\n").split("\n")[1:] == wanted
    assert any("pieces of its diff" in note for part in pieces for note in part.notes)


def test_the_proposal_stays_with_the_first_part(large: Target) -> None:
    # J7
    from dataclasses import replace

    parts = split(replace(large, kind="mixed", text="the proposal"), 1_000)
    assert [part.text for part in parts] == ["the proposal"] + [""] * (len(parts) - 1)


def test_a_diff_that_somebody_wrote_is_split_too() -> None:
    # J7
    lines = "".join(f"+line {n}\n" for n in range(300))
    diff = f"--- a/x\n+++ b/x\n@@ -0,0 +1,300 @@\n{lines}"
    parts = split(Target("code", "high", "", diff=diff, changes=(Changed("snippet-1.diff", None, diff),)), 200)
    assert len(parts) > 3 and all(tokens(part.diff) <= 200 for part in parts)
    assert all([change.path for change in part.changes] == ["snippet-1.diff"] for part in parts)
