"""Context: files for a prompt within a budget, and requests answered from the snapshot, confined and capped."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from repositories import redact

from rebut.workspace.context import Gathered, gather, serve
from rebut.workspace.tree import LiveView


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("work")
    (top / "src").mkdir()
    (top / "src/a.py").write_text("one\ntwo hunter2\nthree\n")
    (top / "src/b.py").write_text("four\n" * 100)
    (top / "src/c.py").write_text("five\n")
    (top / "src/d.bin").write_bytes(b"\0")
    (top / ".env").write_text("KEY=hunter2\n")
    (top / "empty.txt").write_text("")
    (top / "notes.csv").write_text("one,two\n")
    (top.parent / "outside.txt").write_text("outside\n")
    return top


def gathered(folder: Path, *paths: str, budget: int = 200_000, never: tuple[str, ...] = ()) -> Gathered:
    return asyncio.run(gather(LiveView(folder, redact), paths, budget_bytes=budget, never=never))


def served(folder: Path, *needs: str, cap: int = 40_000, items: int = 8, never: tuple[str, ...] = ()) -> str:
    return asyncio.run(serve(LiveView(folder, redact), needs, cap_bytes=cap, max_items=items, never=never))


def test_a_file_goes_in_whole_with_line_numbers_and_redacted(folder: Path) -> None:
    # C8 C15
    (piece,) = gathered(folder, "src/a.py").files
    assert (piece.path, piece.text) == ("src/a.py", "   1| one\n   2| two [secret:x:00000000]\n   3| three")
    assert piece.bytes == len(piece.text)


def test_a_folder_stands_for_its_files_and_each_goes_in_once(folder: Path) -> None:
    # C15
    result = gathered(folder, "src/c.py", "src", "src/a.py")
    assert [piece.path for piece in result.files] == ["src/c.py", "src/a.py", "src/b.py"]
    assert result.left_out == (("src/d.bin", "binary"),)
    assert result.total == sum(len(piece.text.encode()) for piece in result.files)


def test_beyond_the_budget_files_are_named_not_cut(folder: Path) -> None:
    # C15
    result = gathered(folder, "src", budget=100)
    assert [piece.path for piece in result.files] == ["src/a.py", "src/c.py"]
    assert [path for path, _ in result.left_out] == ["src/b.py", "src/d.bin"]
    assert result.total <= 100
    assert "src/b.py (" in result.text and "four" not in result.text


def test_what_may_not_be_sent_is_named_with_the_reason(folder: Path) -> None:
    # C16
    result = gathered(folder, ".env", "notes.csv", "../outside.txt", "nope.py", never=("*.csv",))
    assert result.files == ()
    reasons = dict(result.left_out)
    assert "never read" in reasons[".env"] and "never read" in reasons["notes.csv"]
    assert "not a path inside" in reasons["../outside.txt"] and "no such file" in reasons["nope.py"]


def test_what_was_gathered_survives_the_record(folder: Path) -> None:
    # C13 C15
    result = gathered(folder, "src", ".env")
    assert Gathered.from_json(json.loads(json.dumps(result.to_json()))) == result


def test_lines_of_a_file_are_served_with_their_numbers(folder: Path) -> None:
    # C15
    assert served(folder, "src/a.py:2-3") == "src/a.py:2-3\n   2| two [secret:x:00000000]\n   3| three"
    assert served(folder, "src/a.py:3-99").endswith("   3| three")
    assert served(folder, "src/c.py") == "src/c.py\n   1| five"


def test_grep_and_tree_are_served(folder: Path) -> None:
    # C15
    assert served(folder, "grep:three") == "grep:three\n  src/a.py:3: three"
    assert "Nothing" in served(folder, "grep:t.ree")
    assert served(folder, "grep:hunter2").startswith("grep:[secret:x:00000000]\n  Nothing")
    assert "Nothing" in served(folder, "grep:THREE") and "Nothing" in served(folder, "grep:")
    assert served(folder, "tree:src/").splitlines()[1:] == ["  src/a.py", "  src/b.py", "  src/c.py", "  src/d.bin"]
    assert ".env" not in served(folder, "tree:") and "notes.csv" not in served(folder, "tree:.", never=("*.csv",))
    assert "notes.csv" not in served(folder, "grep:one,", never=("*.csv",))


@pytest.mark.parametrize(
    ("need", "line"),
    [
        ("nope.py:3", "Not served: no such file."),
        ("../outside.txt", "Not served: not a path inside the workspace."),
        ("/etc/passwd", "Not served: not a path inside the workspace."),
        ("tree:..", "There is no such folder in the workspace."),
        (".env", "Not served: never read: files of this name may hold secrets."),
        ("src/d.bin", "Not served: binary."),
        ("src", "This is a folder. Ask for tree:src."),
        ("src/a.py:9", "The file ends at line 3."),
        ("empty.txt", "The file is empty."),
        ("https://example.org", "This cannot be looked up. Ask for path:10-40, path, grep:PATTERN or tree:DIR."),
        ("run: rm -rf /", "This cannot be looked up. Ask for path:10-40, path, grep:PATTERN or tree:DIR."),
    ],
)
def test_what_cannot_be_served_gets_one_clear_line(folder: Path, need: str, line: str) -> None:
    # C15 C16
    assert served(folder, need) == f"{need}\n  {line}"


def test_an_answer_is_cut_at_the_cap_and_says_where_to_go_on(folder: Path) -> None:
    # C15
    text = served(folder, "src/b.py", cap=500)
    assert len(text.encode()) <= 500
    cut = len(text.splitlines()) - 1
    assert text.endswith(f"Cut here, {100 - cut + 1} more lines; ask again from line {cut}.")


def test_one_large_request_leaves_room_for_the_next(folder: Path) -> None:
    # C15
    text = served(folder, "src/b.py", "src/c.py", cap=1_000)
    assert "   1| five" in text and len(text.encode()) <= 1_000


def test_only_so_many_requests_are_answered_and_repeats_count_once(folder: Path) -> None:
    # C15
    text = served(folder, "src/c.py", "src/c.py", " ", "src/a.py", "empty.txt", items=2)
    assert text.count("five") == 1 and "three" in text and "empty.txt" not in text
    assert text.endswith("Only the first 2 of 3 requests were answered.")


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(st.text(max_size=40), st.sampled_from(["src/b.py", "grep:four", "tree:.", "src/a.py:1"])), max_size=12
    )
)
def test_no_request_makes_serving_fail_or_break_the_cap_or_leak(folder: Path, needs: list[str]) -> None:
    # C15 C16
    text = served(folder, *needs, cap=4_000)
    assert len(text.encode("utf-8", "replace")) <= 4_100  # the line about unanswered requests comes on top
    assert "KEY=" not in text.replace("KEY=", "", sum(need.count("KEY=") for need in needs))
    assert "outside\n" not in text


def test_a_secret_in_the_name_of_a_file_or_folder_does_not_get_out(tmp_path: Path) -> None:  # C8
    # `redact` of these tests knows one secret.
    (tmp_path / "hunter2").mkdir()
    (tmp_path / "hunter2/notes.txt").write_text("the notes\n")
    (tmp_path / "dump-hunter2.sql").write_text("select 1\n")
    shown = [
        served(tmp_path, "tree:", "grep:notes", "grep:select", "hunter2/notes.txt", "hunter2"),
        gathered(tmp_path, ".").text,
        gathered(tmp_path, ".", budget=5).text,
    ]
    for text in shown:
        assert "hunter2" not in text and "notes.txt" in text and "dump-" in text
