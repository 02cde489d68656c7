"""Patches are tried on copies, and applied only where the tree stands as it was reviewed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import crosses
import pytest
import voices
from repositories import commit, git, redact

from rebut.core.redaction import Redactor
from rebut.workspace.diff import touched, without_wrapping
from rebut.workspace.patch import Patched, difference, try_patch
from rebut.workspace.tree import Missing, Overlay, Text, UnreadableFile


def files(**more: str | None) -> Overlay:
    return Overlay(None, {"a.py": "one\ntwo\nthree\n", **more}, redact)


def tried(patch: str, **more: str | None) -> Patched:
    return asyncio.run(try_patch(files(**more), patch))


GOOD = "--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n"


def test_a_patch_gives_the_files_as_they_stand_after_it() -> None:  # J10
    assert tried(GOOD) == Patched({"a.py": "one\nTWO\nthree\n"})


@pytest.mark.parametrize(
    "dressed",
    [
        f"Here it is:\n```diff\n{GOOD}```\nDone.",
        GOOD.rstrip("\n"),
        GOOD.replace("@@ -1,3 +1,3 @@", "@@ -1,9 +1,7 @@"),
        "diff --git a/a.py b/a.py\nindex 123..456 100644\n" + GOOD,
    ],
)
def test_what_models_put_around_a_patch_is_no_hindrance(dressed: str) -> None:  # J10
    assert tried(dressed).files == {"a.py": "one\nTWO\nthree\n"}


@pytest.mark.parametrize(
    ("patch", "complaint"),
    [
        (GOOD.replace("-two", "-zwei"), "patch failed: a.py:1"),
        (GOOD.replace("a.py", "b.py"), "b.py cannot be changed: only what is debated was kept"),
        ("no diff at all", "no unified diff"),
        ("--- a/x\n+++ b/x\nGIT binary patch\nliteral 0\n", "binary"),
        ("--- /dev/null\n+++ b/link\nnew file mode 120000\n@@ -0,0 +1 @@\n+/etc/passwd\n", "a link"),
        ("--- a/../out\n+++ b/../out\n@@ -1 +1 @@\n-a\n+b\n", "no unified diff"),
        (GOOD + "--- /dev/null\n+++ b/~/x.py\n@@ -0,0 +1 @@\n+x\n", "~/x.py is not a path in the workspace"),
    ],
)
def test_a_patch_that_does_not_fit_says_why(patch: str, complaint: str) -> None:  # J10
    made = tried(patch)
    assert complaint in made.complaint and not made.files
    assert "/tmp" not in made.complaint, "where it was tried is nobody's business"


def test_files_are_made_and_taken_away() -> None:  # J10
    new = "--- /dev/null\n+++ b/sub/new.py\n@@ -0,0 +1 @@\n+x = 1\n"
    gone = "--- a/a.py\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-one\n-two\n-three\n"
    assert tried(new).files == {"sub/new.py": "x = 1\n"}
    assert tried(gone).files == {"a.py": None}
    odd = '--- "a/n\\303\\244me.py"\n+++ "b/n\\303\\244me.py"\n@@ -1 +1 @@\n-x\n+y\n'
    assert tried(odd, **{"näme.py": "x\n"}).files == {"näme.py": "y\n"}
    assert touched(odd) == ("näme.py",) and without_wrapping("") == ""


def test_the_difference_applies_and_knows_files_without_a_last_line_end(tmp_path: Path) -> None:  # J10
    view = Overlay(None, {"a.py": "one\ntwo", "b c.py": "x\n", "gone.py": "y\n"}, redact)
    after = {"a.py": "one\nTWO", "b c.py": "z\n", "gone.py": None, "new.py": "n\n"}
    patch = asyncio.run(difference(view, after))
    assert "\\ No newline at end of file" in patch
    for name, text in view.files.items():
        (tmp_path / name).write_text(str(text))
    git(tmp_path, "init", "-q")
    git(tmp_path, "apply", "-", stdin=patch)
    assert {p.name: p.read_text() for p in tmp_path.glob("*.py")} == {k: v for k, v in after.items() if v is not None}
    assert asyncio.run(difference(view, dict(view.files))) == ""


def test_an_overlay_hides_what_lies_under_it_and_shows_the_rest() -> None:  # C11
    under = Overlay(None, {"a.py": "old\n", "kept.py": "k\n", "gone.py": "g\n"}, redact)
    over = Overlay(under, {"a.py": "new\n", "gone.py": None, "sub/x.py": "x\n"}, redact)

    async def look() -> None:
        assert await over.read("a.py") == Text("a.py", ("new",))
        assert await over.read("kept.py") == Text("kept.py", ("k",))
        assert isinstance(await over.read("gone.py"), Missing)
        assert isinstance(await under.read("nowhere.py"), UnreadableFile), "what was not kept is not known to be absent"
        assert await over.names() == ("a.py", "kept.py", "sub/x.py")
        assert [hit.path for hit in await over.grep("x")] == ["sub/x.py"]
        assert await over.grep("old") == ()

    asyncio.run(look())


# applying

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def cross(shop: Path, *words: str, patch: str = crosses.PATCH) -> tuple[int, str]:
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised()),
        "r1/judgement@judge": crosses.judgement("B"),
        "r1/version.code@critic": crosses.patch(patch),
    }
    sat = crosses.seats(shop.parent / "seats", said)
    flags = [f"--{role}={spec}" for role, spec in sat.items()]
    done = voices.cli("cross", "--uncommitted", *flags, *words, cwd=shop)
    return done.returncode, done.stdout + done.stderr


def test_nothing_is_applied_unless_asked(shop: Path) -> None:  # J10
    assert cross(shop)[0] == 0
    assert (shop / "api/orders.py").read_text() == crosses.AFTER


def test_apply_writes_the_final_version_into_the_tree_and_keeps_the_mode(shop: Path) -> None:  # J10
    (shop / "api/orders.py").chmod(0o755)
    code, said = cross(shop, "--apply")
    assert (shop / "api/orders.py").read_text() == crosses.MENDED
    assert code == 0 and "applied to the working tree: api/orders.py" in said
    assert (shop / "api/orders.py").stat().st_mode & 0o777 == 0o755
    assert git(shop, "diff", "--cached", "--name-only") == ""


def test_a_patch_regains_real_values_and_line_ends_only_when_it_is_applied(shop: Path) -> None:  # C8
    text = (crosses.AFTER + f'TOKEN = "{SECRET}"\n').replace("\n", "\r\n")
    (shop / "api/orders.py").write_bytes(text.encode())
    key = "[secret:"
    code, said = cross(shop, "--apply")
    assert code == 0, said
    wanted = (crosses.MENDED + f'TOKEN = "{SECRET}"\n').replace("\n", "\r\n")
    assert (shop / "api/orders.py").read_bytes().decode() == wanted
    [folder] = (shop / ".git/review-loop").iterdir()
    for path in folder.iterdir():
        assert SECRET not in path.read_text(), path
    assert key in (folder / "artifact.md").read_text()


def test_a_line_that_a_patch_moves_carries_its_value_along() -> None:  # C8
    from rebut.workspace.diff import BothTexts
    from rebut.workspace.exact_patch import FileOnDisk, NotExact, restored

    redactor = Redactor(b"k")
    real = f'A = 1\nTOKEN = "{SECRET}"\n'
    seen = redactor.redact(real)
    mark = seen.split('"')[1]
    known = redactor.taken_out(real)
    assert known == {mark: SECRET}
    new = f'import os\nA = 1\nKEY = os.environ.get("KEY", "{mark}")\n'
    made = restored(FileOnDisk(real, seen), new, BothTexts(seen, new).differences(), known)
    assert made == f'import os\nA = 1\nKEY = os.environ.get("KEY", "{SECRET}")\n'
    other = f"x = {mark[:-9]}00000000]\n"
    with pytest.raises(NotExact, match="is not known here"):
        restored(FileOnDisk(real, seen), other, BothTexts(seen, other).differences(), known)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_secret_that_the_end_of_its_line_tells_regains_its_value_whatever_the_end_is(end: str) -> None:  # C8
    from rebut.workspace.exact_patch import BOM, file_of

    redactor, secret = Redactor(b"k"), "river_ladder1784"
    file = file_of(f"{BOM}port 1{end}requirepass {secret}{end}".encode(), redactor.redact)
    assert file is not None and secret not in file.seen
    assert redactor.taken_out(file.plain) == {file.seen.split()[-1]: secret}


@pytest.mark.parametrize("end", ["\n", "\x0b", "\u2028"])
def test_a_value_over_several_lines_is_put_into_none_of_them(end: str) -> None:  # C8
    from rebut.workspace.exact_patch import NotExact, _with_values

    mark = "[secret:private-key:0a1b2c3d]"
    with pytest.raises(NotExact, match="is not known here"):
        _with_values(f"+ {mark}", {mark: f"one{end}two"})
    assert _with_values(f"+ {mark}", {mark: "one"}) == "+ one"


def test_a_tree_that_moved_on_is_left_alone(shop: Path) -> None:  # J10
    sha = commit(shop, "two")
    (shop / "api/orders.py").write_text(crosses.AFTER + "# later\n")
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised()),
        "r1/judgement@judge": crosses.judgement("B"),
        "r1/version.code@critic": crosses.patch(),
    }
    sat = crosses.seats(shop.parent / "seats", said)
    flags = [f"--{role}={spec}" for role, spec in sat.items()]
    done = voices.cli("cross", "--commit", sha, "--apply", *flags, cwd=shop)
    assert done.returncode == 3 and "not applied: api/orders.py has changed since the review" in done.stdout
    assert (shop / "api/orders.py").read_text() == crosses.AFTER + "# later\n"
    (shop / "api/orders.py").write_text(crosses.AFTER)
    assert voices.cli("cross", "--commit", sha, "--apply", *flags, cwd=shop).returncode == 0
    assert (shop / "api/orders.py").read_text() == crosses.MENDED
    done = voices.cli("cross", "--commit", sha, "--apply", *flags, cwd=shop)
    assert done.returncode == 0 and "already applied to api/orders.py; nothing to do" in done.stdout, done.stdout
    assert (shop / "api/orders.py").read_text() == crosses.MENDED


def test_all_of_a_patch_is_applied_or_nothing(shop: Path) -> None:  # J10
    (shop / "b.py").write_text("b = 1\n")
    more = "--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-b = 1\n+b = 2\n"
    # README.md is a file, so that there can be no folder of that name.
    more += "--- /dev/null\n+++ b/README.md/x.py\n@@ -0,0 +1 @@\n+x = 1\n"
    code, said = cross(shop, "--apply", "--apply-also", "README.md/x.py", patch=crosses.PATCH + more)
    assert code == 3 and "unable to write file 'README.md/x.py'" in " ".join(said.split())
    assert "ACCEPT OPPOSITE" in said, "the review is shown all the same"
    assert (shop / "api/orders.py").read_text() == crosses.AFTER and (shop / "b.py").read_text() == "b = 1\n"
    assert sorted(path.name for path in (shop / "api").iterdir()) == ["orders.py"], "nothing is left lying about"


DECIDING = (
    "rebut.toml",
    ".rebut/dismissals.jsonl",
    ".github/workflows/ci.yml",
    ".GitHub/x.yml",
    ".forgejo/workflows/x.yml",
)
DECIDING += (".vscode/tasks.json", ".claude/settings.json", "sub/.gitattributes", "sub/Jenkinsfile", "appveyor.yml")


@pytest.mark.parametrize("name", ["other.py", "tests/conftest.py"])
def test_only_files_of_the_reviewed_change_are_written_unless_named(shop: Path, name: str) -> None:  # J10
    more = f"--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+x = 1\n"
    code, said = cross(shop, "--apply", patch=crosses.PATCH + more)
    assert code == 3 and f"the patch changes {name}, which is not part of" in " ".join(said.split())
    assert (shop / "api/orders.py").read_text() == crosses.AFTER and not (shop / name).exists()
    code, said = cross(shop, "--again", "--apply", "--apply-also", name, patch=crosses.PATCH + more)
    assert code == 0 and (shop / name).read_text() == "x = 1\n", said


@pytest.mark.parametrize("name", DECIDING)
def test_a_file_that_decides_what_is_checked_is_never_written_unless_named(shop: Path, name: str) -> None:  # J10 C16
    (shop / name).parent.mkdir(exist_ok=True, parents=True)
    (shop / name).write_text("# a\n")  # part of the reviewed change
    more = f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-# a\n+# b\n"
    code, said = cross(shop, "--apply", patch=crosses.PATCH + more)
    assert code != 0 and (shop / name).read_text() == "# a\n", said
    assert (shop / "api/orders.py").read_text() == crosses.AFTER


def test_a_file_with_a_byte_order_mark_is_patched_and_keeps_it(shop: Path) -> None:  # J10
    (shop / "api/orders.py").write_bytes(b"\xef\xbb\xbf" + crosses.AFTER.encode())
    code, said = cross(shop, "--apply")
    assert code == 0, said
    assert (shop / "api/orders.py").read_bytes() == b"\xef\xbb\xbf" + crosses.MENDED.encode()


def test_a_comment_that_is_taken_away_is_not_taken_for_the_name_of_a_file() -> None:  # J10
    patch = "--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,2 @@\n--- sub\n select 1;\n+++ b\n"
    assert touched(patch) == ("q.sql",)
    done = tried(patch, **{"q.sql": "-- sub\nselect 1;\n", "sub/x.py": "x\n"})
    assert (done.complaint, done.files) == ("", {"q.sql": "select 1;\n++ b\n"})


def test_a_patch_whose_applying_is_cut_off_leaves_everything_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # C17 J10
    from rebut.ci import apply
    from rebut.workspace.git import Git

    shop = crosses.repository(tmp_path / "shop")
    before = {path: path.read_bytes() for path in shop.rglob("*") if path.is_file() and ".git" not in path.parts}
    run = Git.run

    async def cut_off(self: Git, *words: str, **named: Any) -> bytes:
        said = await run(self, *words, **named)
        if words == ("apply", "-"):
            raise asyncio.CancelledError  # by a deadline, when git had written some of it or all
        return said

    monkeypatch.setattr(Git, "run", cut_off)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(apply._put(shop, crosses.PATCH.encode(), ["api/orders.py"]))
    after = {path: path.read_bytes() for path in shop.rglob("*") if path.is_file() and ".git" not in path.parts}
    assert after == before
