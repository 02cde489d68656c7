"""A review of code within a text, through the command line: files and patches are about the text as it was given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import crosses
import pytest
from console import piped
from repositories import git, new
from test_own_words import pages, prompt, record_of

PROSE = "# Design\n\nKeep sessions in a dict, see src/gone.py:3.\n\n(snippet-1.py)\n\nThen delete it."
CODE = "def get(key):\n    return store[key]\n"
FIXED = CODE.replace("store[key]", "store.get(key)")
TEXT = PROSE.replace("(snippet-1.py)", f"```python\n{CODE}```")
RAISED = {"place": "snippet-1.py:2", "quote": "return store[key]"}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return crosses.repository(tmp_path / "shop")


def fix(name: str = "snippet-1.py") -> Any:
    hunk = "@@ -1,2 +1,2 @@\n def get(key):\n-    return store[key]\n+    return store.get(key)\n"
    return crosses.patch(f"--- a/{name}\n+++ b/{name}\n{hunk}")


def answers(prose: Any = None, name: str = "snippet-1.py", **more: Any) -> dict[str, Any]:
    found = crosses.critique(crosses.raised("It raises.", evidence=[{**RAISED, "place": f"{name}:2"}]))
    return {
        "r1/critique@critic": found,
        "r1/critique.code@critic": found,
        "r1/critique.text@critic": crosses.proposal(),
        "r1/judgement@judge": crosses.judgement("B"),
        "r1/version.code@critic": fix(name),
        "r1/version.text@critic": prose or crosses.text(PROSE),
        **more,
    }


def review(shop: Path, said: dict[str, Any], *words: str, given: str = "", code: int = 0) -> dict[str, Any]:
    seats = crosses.seats(shop.parent / "seats", said)
    named = ["--critic", seats["critic"], "--judge", seats["judge"], "--state-dir", str(shop.parent / "state")]
    done = piped("cross", *words, *named, "--json", cwd=shop, feed=given)
    assert done.returncode == code, f"{done.returncode}: {done.stdout}\n{done.stderr}"
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def patched(folder: Path, name: str, text: bytes, patch: str) -> bytes:
    """What `git apply` makes of a file."""
    new(folder, {name: ""})
    (folder / name).write_bytes(text)
    (folder / "final.patch").write_bytes(patch.encode())
    git(folder, "apply", "final.patch")
    return (folder / name).read_bytes()


@pytest.mark.parametrize("changed", [PROSE, PROSE.replace("a dict", "two dicts")], ids=["code", "both"])
def test_the_final_version_of_a_mixed_text_is_the_whole_text(shop: Path, changed: str) -> None:  # C11 J7 J10
    told = review(shop, answers(crosses.text(changed)), "-", "--target", "mixed", given=TEXT)
    files = pages(shop)
    assert files["artifact.md"] == TEXT
    want = changed.replace("(snippet-1.py)", f"```python\n{FIXED}```")
    assert files["artifact-v2.md"] == want and want in files["summary.md"]
    assert patched(shop.parent / "copy", "artifact.md", TEXT.encode(), files["final.patch"]) == want.encode()
    assert json.loads(files["decision.json"])["content"] == want
    assert told["review"]["artifact"] == "version 2: final.patch, for artifact.md; artifact-v2.md"
    [note] = [note for note in record_of(told).notes if note.startswith("what the text cites")]
    assert "src/gone.py:3" in note and "snippet-1" not in note, "the program itself inserts that name"
    assert "absent: snippet-1.py" not in prompt(told, "r1/critique.text@critic")


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("kind", ["code", "mixed"])
def test_the_patch_of_a_text_in_a_file_applies_to_that_file(shop: Path, kind: str, end: str) -> None:  # J10 C11
    data = TEXT.replace("\n", end).encode()
    (shop / "docs").mkdir()
    (shop / "docs/plan.md").write_bytes(data)
    review(shop, answers(), "--artifact-file", "docs/plan.md", "--target", kind)
    files = pages(shop)
    want = data.replace(b"store[key]", b"store.get(key)")
    raw = next((shop.parent / "state").glob("*/final.patch")).read_bytes().decode()
    assert patched(shop.parent / "copy", "docs/plan.md", data, raw) == want
    assert files["artifact-v2.md"] == want.decode().replace("\r\n", "\n")
    assert "final.patch, for docs/plan.md" in files["summary.md"]


def test_the_patch_of_a_file_of_code_applies_to_that_file(shop: Path) -> None:  # J10
    (shop / "lib").mkdir()
    (shop / "lib/store.py").write_text(CODE)
    review(shop, answers(name="store.py"), "--artifact-file", "lib/store.py")
    files = pages(shop)
    assert files["artifact.md"] == CODE and files["artifact-v2.md"] == FIXED
    assert patched(shop.parent / "copy", "lib/store.py", CODE.encode(), files["final.patch"]) == FIXED.encode()


def test_a_next_version_that_loses_its_code_is_sent_back(shop: Path) -> None:  # J7 J10
    lost = crosses.text(PROSE.replace("(snippet-1.py)\n", ""))
    told = review(shop, answers([lost, crosses.text(PROSE)]), "-", "--target", "mixed", given=TEXT)
    call = record_of(told).calls["r1/version.text@critic"]
    assert call.asked[2].why == "send-back" and "(snippet-1.py) must be there once" in call.asked[2].followup
    assert FIXED in pages(shop)["artifact-v2.md"]


def test_a_text_beside_a_change_in_git_keeps_its_own_file(shop: Path) -> None:  # J7 J10
    said = answers(**{"r1/version.code@critic": crosses.patch()})
    review(shop, said, "-", "--target", "mixed", "--uncommitted", given=TEXT)
    files = pages(shop)
    assert files["artifact.md"].startswith(TEXT) and "api/orders.py" in files["artifact.md"]
    assert "a/api/orders.py" in files["final.patch"] and "artifact.md" not in files["final.patch"]


def uneven(text: str) -> bytes:
    """The text with both kinds of line endings: every third line ends with CRLF."""
    lines = text.split("\n")
    return b"".join(
        line.encode() + (b"" if n == len(lines) - 1 else b"\r\n" if n % 3 == 0 else b"\n")
        for n, line in enumerate(lines)
    )


def raw_files(shop: Path) -> dict[str, bytes]:
    [folder] = (shop.parent / "state").glob("*")
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("changed", [PROSE, PROSE.replace("a dict", "two dicts")], ids=["code", "both"])
def test_a_text_with_both_kinds_of_line_endings_keeps_each(shop: Path, changed: str) -> None:  # C11 J7 J10
    data = uneven(TEXT)
    (shop / "docs").mkdir()
    (shop / "docs/plan.md").write_bytes(data)
    review(shop, answers(crosses.text(changed)), "--artifact-file", "docs/plan.md", "--target", "mixed")
    files = raw_files(shop)
    want = data.replace(b"store[key]", b"store.get(key)")
    want = want.replace(b"a dict", b"two dicts") if changed != PROSE else want
    assert files["artifact-v2.md"] == want.replace(b"\r\n", b"\n"), "a debate reads one kind of line ending"
    assert patched(shop.parent / "copy", "docs/plan.md", data, files["final.patch"].decode()) == want


def test_a_file_of_code_with_both_kinds_of_line_endings_keeps_each(shop: Path) -> None:  # C11 J10
    data = b"def get(key):\r\n    return store[key]\n\n\ndef other():\r\n    pass\n"
    (shop / "store.py").write_bytes(data)
    hunk = "@@ -1,4 +1,4 @@\n def get(key):\n-    return store[key]\n+    return store.get(key)\n \n \n"
    said = answers(name="store.py") | {
        "r1/version.code@critic": crosses.patch(f"--- a/store.py\n+++ b/store.py\n{hunk}")
    }
    review(shop, said, "--artifact-file", "store.py")
    files = raw_files(shop)
    want = data.replace(b"store[key]", b"store.get(key)")
    assert files["artifact-v2.md"] == want.replace(b"\r\n", b"\n")
    assert patched(shop.parent / "copy", "store.py", data, files["final.patch"].decode()) == want


DIFF = (
    "diff --git a/api/orders.py b/api/orders.py\n--- a/api/orders.py\n+++ b/api/orders.py\n@@ -2,5 +2,6 @@\n \n \n"
    " def pay(order):\n-    charge(order)\n     commit(order)\n+    charge(order)\n+    return None\n"
)
"""The uncommitted change of the shop, as somebody would paste it."""


def both(*sections: str) -> Any:
    return crosses.patch("".join(sections))


@pytest.mark.parametrize("end", ["lf", "both endings"])
def test_a_pasted_diff_beside_a_snippet_stays_in_the_text(shop: Path, end: str) -> None:  # C11 J7 J10
    text = f"See this change:\n\n```diff\n{DIFF}```\n\nIt needs a helper:\n\n```python\n{CODE}```\n\nAnd that is all.\n"
    data = text.encode() if end == "lf" else uneven(text)
    (shop / "notes.md").write_bytes(data)
    snippet = fix("snippet-2.py")["patch"]
    said = answers(name="snippet-2.py") | {"r1/version.code@critic": both(crosses.PATCH, snippet)}
    review(shop, said, "--artifact-file", "notes.md", "--target", "code")
    files = raw_files(shop)
    got = patched(shop.parent / "copy", "notes.md", data, files["final.patch"].decode())
    assert (
        got.replace(b"\r\n", b"\n") == files["artifact-v2.md"] and b"store.get(key)" in got and b"snippet-" not in got
    )
    assert got.startswith(data[: data.index(b"diff --git")]) and got.endswith(data[data.index(b"It needs") + 90 :])
    pasted = got.decode().replace("\r\n", "\n").partition("```diff\n")[2].partition("```")[0]
    git(shop, "checkout", "-q", "api/orders.py")
    (shop / "pasted.patch").write_text(pasted)
    git(shop, "apply", "pasted.patch")
    assert (shop / "api/orders.py").read_text() == crosses.MENDED, "the diff in the text is the corrected change"


def test_a_pasted_diff_in_a_mixed_text_is_changed_where_it_is(shop: Path) -> None:  # C11 J7 J10
    prose = "# Design\n\n(snippet-1.diff)\n\nA helper:\n\n(snippet-2.py)\n\nDone."
    text = prose.replace("(snippet-1.diff)", f"```diff\n{DIFF}```").replace("(snippet-2.py)", f"```python\n{CODE}```")
    hunk = "@@ -9,4 +9,4 @@\n -    charge(order)\n      commit(order)\n-+    charge(order)\n"
    hunk += "++    charge(order, once=True)\n +    return None\n"
    diffed = f"--- a/snippet-1.diff\n+++ b/snippet-1.diff\n{hunk}"
    said = answers(crosses.text(prose), name="snippet-2.py")
    said["r1/version.code@critic"] = both(diffed, fix("snippet-2.py")["patch"])
    review(shop, said, "-", "--target", "mixed", given=text)
    files = pages(shop)
    want = text.replace("store[key]", "store.get(key)").replace("+    charge(order)", "+    charge(order, once=True)")
    assert files["artifact-v2.md"] == want
    assert patched(shop.parent / "copy", "artifact.md", text.encode(), files["final.patch"]) == want.encode()


@pytest.mark.parametrize("source", ["standard input", "a file"])
def test_a_text_beside_a_change_in_git_has_a_patch_that_applies(shop: Path, source: str) -> None:  # C11 J7 J10
    said = answers() | {"r1/version.code@critic": both(crosses.PATCH, fix()["patch"])}
    want = TEXT.replace("store[key]", "store.get(key)")
    if source == "a file":
        (shop / "plan.md").write_text(TEXT)
        git(shop, "add", "plan.md")
        git(shop, "-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "plan", "plan.md")
        told = review(shop, said, "--artifact-file", "plan.md", "--target", "mixed", "--uncommitted")
    else:
        told = review(shop, said, "-", "--target", "mixed", "--uncommitted", given=TEXT)
    files = pages(shop)
    assert files["artifact-v2.md"] == want
    (shop / "final.patch").write_text(files["final.patch"])
    git(shop, "apply", "final.patch")
    assert (shop / "api/orders.py").read_text() == crosses.MENDED, "the patch applies to the files as they are"
    if source == "a file":
        assert (shop / "plan.md").read_text() == want
        return
    assert (
        "final.patch, on top of the change that was reviewed; final-text.patch, for artifact.md"
        in (told["review"]["artifact"])
    )
    artifact = files["artifact.md"]
    made = patched(shop.parent / "copy", "artifact.md", artifact.encode(), files["final-text.patch"])
    assert made.decode() == artifact.replace(TEXT, want)


def test_only_the_text_beside_a_change_is_changed(shop: Path) -> None:  # J7 J10
    told = review(shop, answers(), "-", "--target", "mixed", "--uncommitted", given=TEXT)
    files = pages(shop)
    assert "final.patch" not in files and "store.get(key)" in files["artifact-v2.md"]
    assert told["review"]["artifact"] == "version 2: final-text.patch, for artifact.md; artifact-v2.md"
    made = patched(shop.parent / "copy", "artifact.md", files["artifact.md"].encode(), files["final-text.patch"])
    assert made.decode() == files["artifact.md"].replace(TEXT, TEXT.replace("store[key]", "store.get(key)"))
