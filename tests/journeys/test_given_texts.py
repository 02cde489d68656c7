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
