"""Scopes in git: each of them, and what a working tree may look like."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from console import piped
from repositories import commit, git, submodule
from targeting import applies, changed, paths, refused, target

from rebut.workspace.diff import BothTexts


def edit(repo: Path, name: str = "README.md", text: str = "# Hello\n\nworld\n") -> None:
    (repo / name).parent.mkdir(parents=True, exist_ok=True)
    (repo / name).write_text(text)


# each scope


def test_changes_within_a_submodule_are_told_and_not_taken_up(repo: Path) -> None:
    # J2: `git status` shows them, `git commit` does not take them up
    inner = submodule(repo, {"lib.py": "a = 1\n"})
    edit(repo, ".gitmodules", '[submodule "inner"]\n\tpath = inner\n\turl = ../inner\n')
    commit(repo)
    nothing = piped("cross", "--critic", "scripted:c", "--judge", "scripted:j", cwd=repo).stderr
    assert "there is no change in the working tree" in nothing and "submodule" not in nothing
    (inner / "lib.py").write_text("a = 2\n")
    done = piped("cross", "--critic", "scripted:c", "--judge", "scripted:j", cwd=repo)
    assert done.returncode == 2 and "The submodule inner has changes of its own" in done.stderr
    edit(repo)
    found = target(repo, "uncommitted")
    assert paths(found) == ["README.md"] and "the submodule inner has changes of its own" in found.notes[0]


def test_uncommitted_takes_staged_unstaged_and_untracked_but_not_ignored_files(repo: Path, tmp_path: Path) -> None:
    # J2
    edit(repo)
    git(repo, "add", "README.md")
    edit(repo, text="# Hello\n\nstaged, then more\n")
    edit(repo, "src/cache.py", "import redis\n\n\ndef get(key):\n    return redis.get(key)\n")
    edit(repo, "docs/new file.md", "new\n")
    edit(repo, "run.log", "ignored\n")
    found = target(repo, "uncommitted")
    assert paths(found) == ["README.md", "docs/new file.md", "src/cache.py"]
    assert (found.kind, found.confidence, found.new) == ("code", "high", "")
    assert found.base == git(repo, "rev-parse", "HEAD")
    readme = changed(found, "README.md")
    assert (readme.before, readme.after, readme.added) == ("# Hello\n", "# Hello\n\nstaged, then more\n", ((2, 3),))
    assert changed(found, "docs/new file.md").before is None
    assert changed(found, "src/cache.py").added == ((3, 3),)
    applies(found, tmp_path / "apply")


@pytest.fixture
def forked(repo: Path) -> Path:
    """`main` went on after `topic` left it."""
    git(repo, "checkout", "-q", "-b", "topic")
    edit(repo, "topic.py", "a = 1\n")
    commit(repo, "topic one")
    edit(repo, "topic.py", "a = 2\n")
    commit(repo, "topic two")
    git(repo, "checkout", "-q", "main")
    edit(repo, "main.py", "m = 1\n")
    commit(repo, "main two")
    git(repo, "checkout", "-q", "topic")
    return repo


@pytest.mark.parametrize(
    ("scope", "before", "after", "files"),
    [
        ("commit:HEAD", "a = 1\n", "a = 2\n", ["topic.py"]),
        ("commit:topic~1", None, "a = 1\n", ["topic.py"]),
        ("base:main", None, "a = 2\n", ["topic.py"]),
        ("range:main...topic", None, "a = 2\n", ["topic.py"]),
        ("range:topic~1..topic", "a = 1\n", "a = 2\n", ["topic.py"]),
        ("range:topic~1..", "a = 1\n", "a = 2\n", ["topic.py"]),
        ("range:main..topic", None, "a = 2\n", ["main.py", "topic.py"]),
    ],
)
def test_each_scope_between_commits(
    forked: Path, scope: str, before: str | None, after: str, files: list[str], tmp_path: Path
) -> None:
    # J2
    edit(forked, "topic.py", "uncommitted = True\n")
    found = target(forked, scope)
    assert paths(found) == files
    assert (changed(found, "topic.py").before, changed(found, "topic.py").after) == (before, after)
    assert found.new == git(forked, "rev-parse", "topic~1" if scope == "commit:topic~1" else "topic")
    assert found.scope == scope and len(found.base) == 40
    told = " ".join(found.notes)
    assert ("uncommitted changes are not part" in told) == scope.startswith("base:")
    assert ("their changes undone" in told) == (scope == "range:main..topic")
    applies(found, tmp_path / "apply")


def test_a_merge_is_compared_with_its_first_parent_and_a_root_commit_with_nothing(forked: Path) -> None:
    # J2
    git(forked, "merge", "-q", "--no-edit", "main")
    merge = target(forked, "commit:HEAD")
    assert paths(merge) == ["main.py"] and "first parent" in merge.notes[0]
    root = target(forked, "commit:" + git(forked, "rev-list", "--max-parents=0", "HEAD"))
    assert paths(root) == [".gitignore", "README.md", "src/cache.py"]
    assert all(change.before is None for change in root.changes)


def test_an_unborn_head_has_only_additions(tmp_path: Path) -> None:
    # J2
    git(tmp_path, "init", "-q")
    edit(tmp_path, "a.py", "a\n")
    edit(tmp_path, "b.py", "b\n")
    git(tmp_path, "add", "a.py")
    found = target(tmp_path)
    assert paths(found) == ["a.py", "b.py"] and found.base.startswith("4b825dc")
    assert "no commit yet" in refused(tmp_path, "base:main")


def test_a_detached_head_and_a_linked_worktree_have_their_own_changes(repo: Path, tmp_path: Path) -> None:
    # J2
    other = tmp_path / "other tree"
    git(repo, "worktree", "add", "-q", "--detach", str(other))
    edit(other, "README.md", "# Other\n")
    found = target(other / "src", "uncommitted")
    assert changed(found, "README.md").after == "# Other\n"
    assert "no change in the working tree" in refused(repo, "uncommitted")


def test_a_shallow_clone_says_what_it_lacks(forked: Path, tmp_path: Path) -> None:
    # J2
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth", "1", "--no-single-branch", f"file://{forked}", str(clone))
    for scope in ("commit:HEAD", "base:origin/main", "base:v1", "range:HEAD~1..HEAD"):
        assert "fetch --unshallow" in refused(clone, scope), scope


def test_a_sha256_repository_is_read_alike(tmp_path: Path) -> None:
    # J2
    git(tmp_path, "init", "-q", "--object-format=sha256")
    edit(tmp_path, "a.py", "a\n")
    assert target(tmp_path).base.startswith("6ef19b4")
    commit(tmp_path)
    assert len(target(tmp_path, "commit:HEAD").base) == 64
    edit(tmp_path, "a.py", "a\nb\n")
    assert changed(target(tmp_path), "a.py").added == ((2, 2),)


# what is refused


@pytest.mark.parametrize(
    ("scope", "words"),
    [
        ("commit:nope", "no commit, branch or tag 'nope'"),
        ("base:nope", "no commit, branch or tag 'nope'"),
        ("range:nope..HEAD", "'nope'"),
        ("commit:--output=x", "names no commit"),
        ("base:-h", "names no commit"),
        ("range:-a..-b", "names no commit"),
        ("commit:HEAD:README.md", "names no commit"),
        ("commit:HEAD^{tree}", "no commit"),
        ("range:a", "is not a scope"),
        ("range:..", "is not a scope"),
        ("commit:", "is not a scope"),
        ("uncommited", "is not a scope"),
        ("file:nope.py", "no file nope.py"),
        ("file:src", "is a folder"),
        ("file:../outside.py", "is outside"),
        ("file:.env", "never read"),
        ("uncommitted", "no change in the working tree, compared with HEAD"),
        ("range:HEAD..HEAD", "no change in HEAD, compared with HEAD"),
    ],
)
def test_a_bad_scope_names_what_was_not_found(repo: Path, scope: str, words: str) -> None:
    # J2
    edit(repo, "../outside.py", "x\n")
    edit(repo, ".git/info/exclude", ".env\n")
    edit(repo, ".env", "x\n")
    assert words in refused(repo, scope)


def test_a_branch_known_only_at_the_remote_is_pointed_out(forked: Path, tmp_path: Path) -> None:
    # J2
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(forked), str(clone))
    assert "Did you mean origin/main?" in refused(clone, "base:main")


def test_histories_that_never_met_are_told_so(repo: Path) -> None:
    # J2
    git(repo, "checkout", "-q", "--orphan", "lone")
    commit(repo, "lone")
    assert "have no commit in common" in refused(repo, "base:main")


def test_outside_git_only_a_file_or_a_text_can_be_taken(tmp_path: Path) -> None:
    # J2
    edit(tmp_path, "a.py", "a = 1\n")
    assert "is not a git repository" in refused(tmp_path, "uncommitted")
    assert "is not a git repository" in refused(tmp_path)
    found = target(tmp_path, "file:a.py")
    assert found.changes[0].after == "a = 1\n" and found.changes[0].added == ((1, 1),)


# what a working tree may look like


def renamed(repo: Path) -> None:
    (repo / "old name.py").write_text("".join(f"line {n}\n" for n in range(40)))
    commit(repo)
    git(repo, "mv", "old name.py", 'new "name".py')
    text = (repo / 'new "name".py').read_text()
    (repo / 'new "name".py').write_text(text.replace("line 7\n", "line seven\n"))


def case_renamed(repo: Path) -> None:
    git(repo, "mv", "README.md", "Readme.md")


def mode_only(repo: Path) -> None:
    (repo / "README.md").chmod(0o755)


def no_newline(repo: Path) -> None:
    edit(repo, "README.md", "# Hello")
    edit(repo, "src/cache.py", "import redis\n\ndef get(key):\n    return redis.get(key)\n\nlast")


def newline_back(repo: Path) -> None:
    edit(repo, "n.txt", "a\nb")
    commit(repo)
    edit(repo, "n.txt", "a\nb\n")


def crlf(repo: Path) -> None:
    (repo / "dos.txt").write_bytes(b"a\r\nb\r\nc\r\n")
    commit(repo)
    (repo / "dos.txt").write_bytes(b"a\r\nB\r\nc\r\n")


def converted(repo: Path) -> None:
    edit(repo, "auto.txt", "a\nb\nc\n")
    commit(repo)
    git(repo, "config", "core.autocrlf", "true")
    (repo / "auto.txt").write_bytes(b"a\r\nb\r\nC\r\n")


def link(repo: Path) -> None:
    (repo / "link").symlink_to("README.md")
    commit(repo)
    (repo / "link").unlink()
    (repo / "link").symlink_to("src/cache.py")
    (repo / "fresh").symlink_to("/etc/hostname")


def file_to_link(repo: Path) -> None:
    (repo / "README.md").unlink()
    (repo / "README.md").symlink_to("src/cache.py")


def file_to_folder(repo: Path) -> None:
    (repo / "README.md").unlink()
    edit(repo, "README.md/inner.txt", "inner\n")


def deleted(repo: Path) -> None:
    (repo / "README.md").unlink()


def emptied(repo: Path) -> None:
    edit(repo, "README.md", "")
    edit(repo, "blank.txt", "")


def intended(repo: Path) -> None:
    edit(repo, "soon.py", "soon = 1\n")
    git(repo, "add", "-N", "soon.py")


def staged_then_deleted(repo: Path) -> None:
    edit(repo, "gone.py", "x\n")
    git(repo, "add", "gone.py")
    (repo / "gone.py").unlink()
    edit(repo)


NAMES = (
    "tab\there",
    "new\nline",
    'quo"te',
    "naïve-日本",
    "-dash",
    "a => b",
    "back\\slash",
    "@@ -1 +1 @@",
    "bell\a\x01",
)


def names(repo: Path) -> None:
    for name in NAMES:
        (repo / name).write_text("odd\n")
    commit(repo)
    for name in NAMES:
        (repo / name).write_text("odd\neven\n")


def confusing(repo: Path) -> None:
    edit(repo, "diff.txt", "one\ntwo\n")
    commit(repo)
    edit(repo, "diff.txt", "one\ndiff --git a/x b/x\n@@ -1 +1 @@\n--- a/x\n+++ b/x\nindex 1..2\n\\ No newline\n")


def hidden_by_attributes(repo: Path) -> None:
    edit(repo, "evil.py", "".join(f"line {n}\n" for n in range(30)))
    edit(repo, ".gitattributes", "*.py -diff\n")
    commit(repo)
    edit(repo, "evil.py", "".join(f"line {n}\n" if n != 9 else "changed\n" for n in range(30)))


def wide(repo: Path) -> None:
    (repo / "wide.txt").write_bytes("a\nĊ\nb\n".encode("utf-16"))
    commit(repo)
    (repo / "wide.txt").write_bytes("a\nĊ\nc\n".encode("utf-16"))


def sparse(repo: Path) -> None:
    edit(repo, "far/away.py", "x\n")
    commit(repo)
    git(repo, "sparse-checkout", "set", "src")
    edit(repo, "src/cache.py", "import redis\n")
    assert not (repo / "far").exists()


def touched(repo: Path) -> None:
    os.utime(repo / "src/cache.py", (1, 1))
    edit(repo)


@pytest.mark.parametrize(
    ("arrange", "expected"),
    [
        (renamed, {'new "name".py': ((8, 8),)}),
        (case_renamed, {"Readme.md": ()}),
        (mode_only, {"README.md": ()}),
        (no_newline, {"README.md": ((1, 1),), "src/cache.py": ((5, 6),)}),
        (newline_back, {"n.txt": ((2, 2),)}),
        (crlf, {"dos.txt": ((2, 2),)}),
        (link, {"fresh": ((1, 1),), "link": ((1, 1),)}),
        (file_to_link, {"README.md": ((1, 1),)}),
        (file_to_folder, {"README.md": (), "README.md/inner.txt": ((1, 1),)}),
        (deleted, {"README.md": ()}),
        (emptied, {"README.md": (), "blank.txt": ()}),
        (intended, {"soon.py": ((1, 1),)}),
        (staged_then_deleted, {"README.md": ((2, 3),)}),
        (names, dict.fromkeys(sorted(NAMES), ((2, 2),))),
        (confusing, {"diff.txt": ((2, 7),)}),
        (hidden_by_attributes, {"evil.py": ((10, 10),)}),
        (wide, {"wide.txt": ((3, 3),)}),
        (sparse, {"src/cache.py": ()}),
        (touched, {"README.md": ((2, 3),)}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_oddities_of_a_working_tree(
    repo: Path, tmp_path: Path, arrange: Callable[[Path], None], expected: dict[str, object]
) -> None:
    # J2
    arrange(repo)
    found = target(repo, "uncommitted")
    assert {change.path: change.added for change in found.changes} == expected
    if arrange is not file_to_folder:  # git itself does not apply that in one go
        applies(found, tmp_path / "apply")
    # What git was asked for is what comparing the two texts gives.
    for change in found.changes:
        ours = BothTexts(change.before, change.after).differences()
        assert bool(ours) == ((change.before or "") != (change.after or ""))
    # The same change as a commit.
    if arrange not in (sparse, touched):
        commit(repo, "all of it")
        again = target(repo, "commit:HEAD")
        assert {change.path: change.added for change in again.changes} == expected
        assert again.changes == found.changes


def test_line_ends_that_git_converts_are_no_change(repo: Path) -> None:
    # J2
    converted(repo)
    found = target(repo, "uncommitted")
    assert changed(found, "auto.txt").added == ((3, 3),)
    (repo / "auto.txt").write_bytes(b"a\r\nb\r\nc\r\n")
    assert "no change" in refused(repo, "uncommitted")
