"""A diff that comes as text: its files are rebuilt where they are here, so that whoever reads files can read them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from console import piped
from repositories import commit, git, small
from targeting import changed, paths, refused, target

from rebut.record import sessions

OLD = "import redis\n\ndef get(key):\n    return redis.get(key)\n"
NEW = OLD.replace("\n\n", "\nimport subprocess\n\n").replace(
    "    return", "    subprocess.call(key, shell=True)\n    return"
)


def diff_of(repo: Path, *more: str) -> str:
    out = subprocess.run(["git", "diff", *more], cwd=repo, capture_output=True, check=True).stdout
    return out.decode()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    made = small(tmp_path)
    (made / "src/cache.py").write_text(NEW)
    return made


@pytest.mark.parametrize(
    "flags", [(), ("-U0",), ("--no-prefix",), ("--src-prefix=i/", "--dst-prefix=w/"), ("--relative=src",)]
)
def test_a_diff_that_is_in_the_working_tree_brings_both_sides(repo: Path, flags: tuple[str, ...]) -> None:  # J7
    diff = diff_of(repo, *flags)
    found = target(repo / "src" if "--relative=src" in flags else repo, stdin=diff, target="code")
    if flags == ("-U0",):  # without a line around it nobody can say where it belongs
        assert found.loose == ("src/cache.py",)
        return
    one = changed(found, "src/cache.py")
    assert (one.before, one.after, one.added) == (OLD, NEW, ((2, 2), (5, 5)))
    assert found.origin == "a diff on standard input" and not found.loose


def test_a_diff_that_is_not_in_yet_is_laid_on_top_in_a_copy(repo: Path) -> None:  # J7
    diff = diff_of(repo)
    git(repo, "checkout", "-q", "src/cache.py")
    one = changed(target(repo, stdin=diff, target="code"), "src/cache.py")
    assert (one.before, one.after) == (OLD, NEW)
    assert (repo / "src/cache.py").read_text() == OLD, "the tree itself is left alone"


def test_what_moved_came_and_went_is_rebuilt_and_what_is_no_text_is_named(repo: Path) -> None:  # J2, J7
    (repo / "logo.bin").write_bytes(b"\0\1\2")
    (repo / "old name.py").write_text("x = 1\ny = 2\nz = 3\n")
    (repo / "gone.py").write_text("import os\n")
    (repo / ".env").write_text("A=1\n")
    git(repo, "add", "-f", "-A")
    git(repo, "commit", "-q", "-m", "two")
    (repo / "logo.bin").write_bytes(b"\0\1\3")
    (repo / ".env").write_text("A=hunter2\n")
    (repo / "gone.py").unlink()
    git(repo, "mv", "old name.py", "new näme.py")
    (repo / "new näme.py").write_text("x = 1\ny = 2\nz = 4\n")
    (repo / "fresh.py").write_text('password = "hunter2"\n')
    git(repo, "add", "-A", "-f")
    found = target(repo, stdin=f"From: me\n\nlook at this\n\n{diff_of(repo, '--cached', '-M')}", target="code")
    assert sorted(paths(found)) == ["fresh.py", "gone.py", "new näme.py"]
    moved = changed(found, "new näme.py")
    assert (moved.old_path, moved.before, moved.after) == (
        "old name.py",
        "x = 1\ny = 2\nz = 3\n",
        "x = 1\ny = 2\nz = 4\n",
    )
    assert changed(found, "gone.py").after is None and changed(found, "fresh.py").before is None
    assert [line.partition(":")[0] for line in found.left_out] == [".env", "logo.bin"]
    assert ".env" not in found.diff


def test_lines_that_end_as_windows_ends_them_are_found_again(repo: Path) -> None:  # J7
    (repo / "dos.py").write_bytes(b"a = 1\r\nb = 2\r\n")
    commit(repo)
    (repo / "dos.py").write_bytes(b"a = 1\r\nb = 3\r\n")
    diff = diff_of(repo, "--", "dos.py")
    assert changed(target(repo, stdin=diff, target="code"), "dos.py").added == ((2, 2),)
    git(repo, "checkout", "-q", "dos.py")
    (repo / "src/cache.py").write_text(OLD)
    commit(repo)
    (repo / "src/cache.py").write_text(NEW)
    converted = diff_of(repo).replace("\n", "\r\n")  # by a shell that does so to every pipe
    assert changed(target(repo, stdin=converted, target="code"), "src/cache.py").before == OLD


def test_what_fits_is_rebuilt_and_the_rest_stays_a_text_that_is_told(repo: Path) -> None:  # J7
    stray = "--- a/elsewhere.py\n+++ b/elsewhere.py\n@@ -1 +1 @@\n-a = 'hunter2'\n+a = 2\n"
    found = target(repo, stdin=diff_of(repo) + stray, target="code")
    assert paths(found) == ["src/cache.py", "snippet-1.diff"] and found.loose == ("elsewhere.py",)
    assert "+a = 2" in found.diff and any("elsewhere.py" in note for note in found.notes)


@pytest.mark.parametrize("name", ["../out.py", "/etc/out.py", "src/../../out.py"])
def test_no_name_in_a_diff_leads_out_of_the_workspace(repo: Path, name: str) -> None:  # C16
    (repo.parent / "out.py").write_text("secret = 1\n")
    found = target(repo, stdin=f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-secret = 1\n+a = 2\n", target="code")
    assert paths(found) == ["snippet-1.diff"]


def test_a_link_is_not_followed_for_a_diff(repo: Path) -> None:  # C16
    (repo.parent / "out.py").write_text("secret = 1\nmore = 2\n")
    (repo / "link.py").symlink_to("../out.py")
    found = target(repo, stdin="--- a/link.py\n+++ b/link.py\n@@ -1,2 +1 @@\n secret = 1\n-more = 2\n", target="code")
    assert paths(found) == ["snippet-1.diff"]


@pytest.mark.parametrize(
    "flags", [("--relative=src",), ("--relative=src", "--no-prefix"), ("--src-prefix=old/", "--dst-prefix=new/")]
)
def test_a_glob_of_the_users_holds_however_a_diff_names_the_file(repo: Path, flags: tuple[str, ...]) -> None:  # C16
    place = repo / "src" if "--relative=src" in flags else repo
    assert "src/cache.py" in paths(target(place, stdin=diff_of(repo, *flags), target="code"))
    said = refused(place, stdin=diff_of(repo, *flags), target="code", never=("src/cache.py",))
    assert "never read" in said


def test_a_diff_of_nothing_but_secret_files_is_refused(repo: Path) -> None:  # C16
    said = refused(repo, stdin="--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-A=1\n+A=2\n", target="code")
    assert "nothing to read" in said


@pytest.mark.parametrize("how", ["pipe", "bare pipe", "file", "patch file"])
def test_analysers_read_a_diff_that_was_given(repo: Path, how: str) -> None:  # C1, J7
    diff = diff_of(repo)
    file = repo.parent / ("x.patch" if how == "patch file" else "x.diff")
    file.write_text(diff)
    words = {"pipe": ["review", "-"], "bare pipe": [], "file": ["review", str(file)], "patch file": ["cross"]}[how]
    more = ["--artifact-file", str(file), "--critic", "lint", "--judge", "rules"]
    more = more if how == "patch file" else ["--with", "lint,rules"]
    done = piped(*words, *more, "--json", cwd=repo, feed=diff if "pipe" in how else "")
    assert "src/cache.py:5" in json.dumps(json.loads(done.stdout)["review"]["findings"]), done.stderr
    (kept,) = sessions.sessions(sessions.home())
    where = "on standard input" if "pipe" in how else f"in {file}"
    assert sessions.load(kept.folder).opened.topic == f"a diff {where}: 1 file, +2 -0"


def test_analysers_refuse_a_diff_whose_files_are_not_here_before_anything_is_called(repo: Path) -> None:  # C5, C17
    diff = diff_of(repo).replace("redis.get", "memcached.get")
    done = piped("review", "-", "--with", "lint,rules", cwd=repo, feed=diff)
    assert done.returncode == 2 and "lint (critic) reads whole files" in done.stderr and "src/cache.py" in done.stderr
    assert "rebut review A..B" in done.stderr and not sessions.sessions(sessions.home())


def test_the_part_of_a_diff_that_analysers_cannot_read_is_no_clean_bill(repo: Path) -> None:  # C6
    stray = "--- a/elsewhere.py\n+++ b/elsewhere.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n"
    (repo / "src/cache.py").write_text(OLD.replace("get(key)", "get(name)"))
    done = piped("review", "-", "--with", "lint:ruff,rules", "--json", cwd=repo, feed=diff_of(repo) + stray)
    outcome = json.loads(done.stdout)
    assert done.returncode == 3 and outcome["conclusive"] is False
    why = "snippet-1.diff is the text of a diff that does not match the files in this folder"
    assert f"r1/critique@critic: {why}" in outcome["notes"]
