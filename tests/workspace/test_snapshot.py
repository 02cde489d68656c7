"""The snapshot: what is kept of a workspace, and what of it is never kept."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from pathlib import Path

import pytest
from repositories import commit, git, lines, look, new, redact, submodule

from rebut.core.errors import RecordError, UsageError
from rebut.workspace import snapshot
from rebut.workspace.file_reader import FileBytes, Unread, WorkingTree, is_never_sent
from rebut.workspace.git import Git
from rebut.workspace.snapshot import Snapshot, take
from rebut.workspace.tree import LiveView, Missing, Read, Text, UnreadableFile, View


def test_a_clean_file_is_read_from_the_commit_and_a_dirty_one_from_its_copy(repo: Path, tmp_path: Path) -> None:
    # C11
    (repo / "README.md").write_text("# Changed\n")
    (repo / "new.txt").write_text("new\n")
    readme, cache, new = look(repo, tmp_path / "keep", "README.md", "src/cache.py", "new.txt")
    assert lines(readme) == ("# Changed",)
    assert lines(cache)[3] == "    return redis.get(key)"
    assert lines(new) == ("new",)


def test_the_snapshot_stays_as_it_was_when_the_workspace_moves_on(repo: Path, tmp_path: Path) -> None:
    # C11
    keep = tmp_path / "keep"
    (repo / "README.md").write_text("# Dirty\n")
    taken = asyncio.run(take(repo, keep, redact))
    (repo / "README.md").write_text("# Later\n")
    (repo / "src/cache.py").write_text("gone\n")
    commit(repo, "later")

    async def run() -> tuple[Read, Read, bool, Read]:
        view, base = View(taken, keep, redact), View(taken.at(taken.head), keep, redact)
        try:
            parts = await view.read("README.md"), await view.read("src/cache.py"), await view.commit_exists("HEAD~1")
            return *parts, await base.read("README.md")
        finally:
            await view.close()
            await base.close()

    readme, cache, has_parent, old_side = asyncio.run(run())
    assert lines(readme) == ("# Dirty",)
    assert lines(cache)[0] == "import redis"
    assert not has_parent  # HEAD is the one of the snapshot, which has no parent
    assert lines(old_side) == ("# Hello",)


def test_only_dirty_and_untracked_files_are_copied_redacted_and_private(repo: Path, tmp_path: Path) -> None:
    # C8 C11
    keep = tmp_path / "keep"
    (repo / "src/cache.py").write_text("password = 'hunter2'\n")
    (repo / "new.txt").write_text("hunter2 too\n")
    os.utime(repo / "README.md", (1, 1))  # touched, not changed
    taken = asyncio.run(take(repo, keep, redact))
    assert sorted(taken.copies) == ["new.txt", "src/cache.py"]
    assert stat.S_IMODE(keep.stat().st_mode) == 0o700
    for stored in taken.copies.values():
        assert stat.S_IMODE((keep / stored).stat().st_mode) == 0o600
        assert "hunter2" not in (keep / stored).read_text()


HIDDEN = "[secret:x:00000000]"


@pytest.mark.parametrize("changed", [True, False])
def test_a_name_with_a_secret_is_not_on_record_and_is_found_as_debaters_see_it(
    repo: Path, tmp_path: Path, changed: bool
) -> None:
    # C8: names of files and folders, too
    for name in ("dump-hunter2.txt", "hunter2/a.py", "gone-hunter2.txt"):
        (repo / name).parent.mkdir(exist_ok=True)
        (repo / name).write_text("old\n")
    commit(repo)
    if changed:
        (repo / "dump-hunter2.txt").write_text("new\n")
        (repo / "gone-hunter2.txt").unlink()
        (repo / "to-hunter2").symlink_to("dump-hunter2.txt")
        (repo / "hunter2.log").write_text("ignored\n")
    taken = asyncio.run(take(repo, tmp_path / "keep", redact))
    assert "hunter2" not in json.dumps(taken.to_json())
    paths = (f"dump-{HIDDEN}.txt", "dump-hunter2.txt", f"{HIDDEN}/a.py", "hunter2/a.py", "README.md", f"{HIDDEN}.txt")
    shown, real, inside, really, readme, missing = look(repo, tmp_path / "keep", *paths)
    assert lines(shown) == lines(real) == (("new",) if changed else ("old",))
    assert lines(inside) == lines(really) == ("old",) and lines(readme) == ("# Hello",)
    assert isinstance(missing, Missing)
    gone, link, ignored = look(repo, tmp_path / "keep", f"gone-{HIDDEN}.txt", f"to-{HIDDEN}", f"{HIDDEN}.log")
    if changed:
        assert isinstance(gone, Missing) and lines(link) == ("new",) and isinstance(ignored, UnreadableFile)


def test_a_clean_file_is_redacted_when_read(repo: Path, tmp_path: Path) -> None:
    # C8
    (repo / "conf.py").write_text("pw = 'hunter2'\n")
    commit(repo)
    (conf,) = look(repo, tmp_path / "keep", "conf.py")
    assert lines(conf) == ("pw = '[secret:x:00000000]'",)


def test_staged_unstaged_deleted_and_renamed_files_are_as_in_the_working_tree(repo: Path, tmp_path: Path) -> None:
    # C11
    for name in ("a", "b", "c"):
        (repo / f"{name}.txt").write_text(f"{name}\n")
    commit(repo)
    (repo / "a.txt").write_text("staged\n")
    git(repo, "add", "a.txt")
    (repo / "b.txt").unlink()
    git(repo, "mv", "c.txt", "d.txt")
    (repo / "a2.txt").write_text("a\n")
    a, b, c, d = look(repo, tmp_path / "keep", "a.txt", "b.txt", "c.txt", "d.txt")
    assert lines(a) == ("staged",)
    assert isinstance(b, Missing) and "deleted" in b.why
    assert isinstance(c, Missing)
    assert lines(d) == ("c",)


def test_a_file_staged_and_then_put_back_is_that_of_the_commit(repo: Path, tmp_path: Path) -> None:
    # C11
    (repo / "README.md").write_text("# Staged\n")
    git(repo, "add", "README.md")
    (repo / "README.md").write_text("# Hello\n")
    (readme,) = look(repo, tmp_path / "keep", "README.md")
    assert lines(readme) == ("# Hello",)


def test_an_unborn_head_has_only_copies(tmp_path: Path) -> None:
    # C11
    folder = new(tmp_path / "work", {"a.txt": "a\n", "b.txt": "b\n"})
    git(folder, "add", "a.txt")
    a, b, no = look(folder, tmp_path / "keep", "a.txt", "b.txt", "no.txt")
    assert (lines(a), lines(b)) == (("a",), ("b",))
    assert isinstance(no, Missing)


def test_a_detached_head_and_a_linked_worktree_are_read_alike(repo: Path, tmp_path: Path) -> None:
    # C11
    other = tmp_path / "other tree"
    git(repo, "worktree", "add", "-q", "--detach", str(other))
    (other / "README.md").write_text("# Other\n")
    taken = asyncio.run(take(other / "src", tmp_path / "keep", redact))
    assert (taken.kind, taken.root) == ("git", str(other.resolve()))
    readme, cache = look(other, tmp_path / "keep", "README.md", "src/cache.py")
    assert lines(readme) == ("# Other",) and lines(cache)[0] == "import redis"


def test_a_submodule_is_not_entered_and_counts_as_unreadable(repo: Path, tmp_path: Path) -> None:
    # C11
    submodule(repo, {"x.py": "x\n"})
    new(repo / "loose", {"y.py": "y\n"})
    sub, nested = look(repo, tmp_path / "keep", "inner/x.py", "loose/y.py")
    assert sub == UnreadableFile("inner/x.py", "in a submodule")
    assert nested == UnreadableFile("loose/y.py", "a repository of its own")


@pytest.mark.parametrize("tracked", [True, False])
@pytest.mark.parametrize(
    "name", ["with space.txt", 'quo"te.txt', "new\nline.txt", "naïve-日本.txt", "-dash.txt", "tab\t.txt", "HEAD:x.txt"]
)
def test_odd_names_survive(repo: Path, tmp_path: Path, name: str, tracked: bool) -> None:
    # C11
    (repo / name).write_text("odd\n")
    if tracked:
        commit(repo)
    (read,) = look(repo, tmp_path / "keep", name)
    assert lines(read) == ("odd",)


def test_a_name_that_is_no_utf8_is_kept_under_a_replacement(repo: Path, tmp_path: Path) -> None:
    # C11
    (repo / os.fsdecode(b"caf\xe9.txt")).write_text("latin\n")
    (read,) = look(repo, tmp_path / "keep", "caf�.txt")
    assert lines(read) == ("latin",)


def test_line_ends_and_encodings(repo: Path, tmp_path: Path) -> None:
    # C11
    (repo / "crlf.txt").write_bytes(b"a\r\nb\x0bc\r\n")
    (repo / "latin.txt").write_bytes(b"caf\xe9\n")
    (repo / "wide.txt").write_bytes("wide\n".encode("utf-16"))
    (repo / "bom.txt").write_bytes(b"\xef\xbb\xbfbom\n")
    (repo / "bin.dat").write_bytes(b"\0\1\2")
    crlf, latin, wide, bom, raw = look(
        repo, tmp_path / "keep", "crlf.txt", "latin.txt", "wide.txt", "bom.txt", "bin.dat"
    )
    assert lines(crlf) == ("a", "b\x0bc")
    assert isinstance(latin, Text) and latin.lines == ("caf�",) and "UTF-8" in latin.note
    assert lines(wide) == ("wide",) and lines(bom) == ("bom",)
    assert raw == UnreadableFile("bin.dat", "binary")


def test_files_beyond_the_caps_are_unreadable_not_missing(repo: Path, tmp_path: Path) -> None:
    # C11
    (repo / "big.txt").write_text("x" * 1_000_001)
    (repo / "fits.txt").write_text("x" * 1_000_000)
    big, fits = look(repo, tmp_path / "keep", "big.txt", "fits.txt")
    assert big == UnreadableFile("big.txt", "larger than 1 MB")
    assert isinstance(fits, Text)


def test_the_cap_over_all_files_holds(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # C11
    monkeypatch.setattr("rebut.workspace.snapshot.TOTAL_CAP", 10)
    (repo / "a.txt").write_text("123456\n")
    (repo / "b.txt").write_text("123456\n")
    a, b = look(repo, tmp_path / "keep", "a.txt", "b.txt")
    assert isinstance(a, Text) and isinstance(b, UnreadableFile) and "in all" in b.why


def test_ignored_files_are_not_copied_unless_named_and_never_count_as_missing(repo: Path, tmp_path: Path) -> None:
    # C11 C15
    (repo / "build").mkdir()
    (repo / "build/out.js").write_text("out\n")
    (repo / "run.log").write_text("log\n")
    (repo / "other.log").write_text("other\n")
    out, log, other = look(repo, tmp_path / "keep", "build/out.js", "run.log", "other.log", include=("run.log", "src"))
    assert out == UnreadableFile("build/out.js", "ignored by git")
    assert lines(log) == ("log",)
    assert isinstance(other, UnreadableFile)
    (out,) = look(repo, tmp_path / "keep", "build/out.js", include=("build",))
    assert lines(out) == ("out",)


def test_a_folder_that_became_a_link_does_not_lead_outside(repo: Path, tmp_path: Path) -> None:
    # C11 C16
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "cache.py").write_text("stolen\n")
    (repo / "src/cache.py").unlink()
    (repo / "src").rmdir()
    (repo / "src").symlink_to(elsewhere)
    keep = tmp_path / "keep"
    (read,) = look(repo, keep, "src/cache.py")
    assert isinstance(read, Missing)
    assert not keep.exists() or all("stolen" not in file.read_text() for file in keep.iterdir())


NEVER = [
    ".env",
    ".env.local",
    ".env.example",
    "a/.env/x",
    "deploy.pem",
    "tls/server.KEY",
    "id_rsa",
    "id_ed25519.pub",
    "a.p12",
    "a.pfx",
    "a.keystore",
    "terraform.tfstate",
    "terraform.tfstate.backup",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git/config",
    "credentials.json",
    "credentials-prod.json",
    "service-account-1.json",
    "secrets.yaml",
    "home/.ssh/config",
    "home/.docker/config.json",
    ".vault-token",
    ".yarnrc",
    ".mylogin.cnf",
    ".bash_history",
    "home/.zsh_history",
    ".python_history",
    "home/.psql_history",
    ".local/share/fish/fish_history",
    ".m2/settings.xml",
    ".config/gh/hosts.yml",
    ".cargo/credentials.toml",
    ".terraformrc",
    "AuthKey_1.p8",
    "vpn/office.ovpn",
]


@pytest.mark.parametrize("path", NEVER)
def test_files_of_these_names_are_never_sent(path: str) -> None:
    # C16
    assert is_never_sent(path)


@pytest.mark.parametrize(
    "path",
    [
        *("src/environment.py", "keys.md", "src/secrets_store.py", "env.py", "monkey", "a/gitx"),
        *(
            "config.json",
            "src/config.json",
            "settings.xml",
            "hosts.yml",
            "history.py",
            "price_history.py",
            "docker/Dockerfile",
        ),
    ],
)
def test_ordinary_names_are_sent(path: str) -> None:
    # C16
    assert not is_never_sent(path)


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("*.csv", "data/a.csv"),
        ("private/", "x/private/a.md"),
        ("docs/internal/**", "docs/internal/a/b.md"),
        ("docs/internal", "docs/internal/a.md"),
        ("**/legal/*.md", "legal/a.md"),
        ("Plan.MD", "plan.md"),
    ],
)
def test_the_users_own_globs_are_never_sent(glob: str, path: str) -> None:
    # C16
    assert is_never_sent(path, [glob])
    assert not is_never_sent("src/cache.py", [glob])


def test_never_sent_files_are_neither_copied_nor_read_nor_listed(repo: Path, tmp_path: Path) -> None:
    # C16
    (repo / "server.key").write_text("committed key\n")
    commit(repo)
    (repo / ".env").write_text("KEY=1\n")
    (repo / "plan.csv").write_text("plan\n")
    keep = tmp_path / "keep"

    async def run() -> None:
        taken = await take(repo, keep, redact, include=[".env"], never=["*.csv"])
        assert taken.copies == {}
        for view in (View(taken, keep, redact), LiveView(repo, redact, ["*.csv"])):
            for path in ("server.key", ".env", "plan.csv", ".git/config"):
                read = await view.read(path)
                assert isinstance(read, UnreadableFile) and "never read" in read.why
            assert set(await view.names()) == {".gitignore", "README.md", "src/cache.py"}
            assert await view.grep("committed") == ()
            await view.close()

    asyncio.run(run())


def test_outside_git_the_named_files_are_kept_and_other_names_are_known(tmp_path: Path) -> None:
    # C11 C15
    folder = tmp_path / "plain"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs/a.md").write_text("a hunter2\n")
    (folder / "other.md").write_text("other\n")
    a, other, no = look(folder, tmp_path / "keep", "docs/a.md", "other.md", "no.md", include=("docs",))
    assert lines(a) == ("a [secret:x:00000000]",)
    assert isinstance(other, UnreadableFile)
    assert isinstance(no, Missing)
    (nothing,) = look(folder, tmp_path / "keep", "no.md")
    assert isinstance(nothing, UnreadableFile)  # no workspace was kept, so nothing can be said to be absent


def test_in_a_folder_too_large_to_list_an_unknown_path_is_not_called_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # C11
    monkeypatch.setattr("rebut.workspace.snapshot.MOST_NAMES", 2)
    for name in "abcd":
        (tmp_path / name).write_text(name)
    (no,) = look(tmp_path, tmp_path / "keep", "no.md", include=("a",))
    assert isinstance(no, UnreadableFile)


@pytest.mark.parametrize("path", ["nope.md", "../outside.txt"])
def test_a_context_path_that_cannot_be_taken_is_refused(repo: Path, tmp_path: Path, path: str) -> None:
    # C15
    (tmp_path / "outside.txt").write_text("outside\n")
    with pytest.raises(UsageError):
        asyncio.run(take(repo, tmp_path / "keep", redact, include=[path]))


def test_a_record_of_an_unknown_kind_is_refused() -> None:
    # C13
    with pytest.raises(RecordError):
        Snapshot.from_json({"kind": "svn", "root": "/"})


def test_a_link_that_became_a_file_is_read_as_that_file(repo: Path, tmp_path: Path) -> None:
    # C11
    (repo / "copy.md").symlink_to("README.md")
    commit(repo)
    (repo / "copy.md").unlink()
    (repo / "copy.md").write_text("own words\n")
    (read,) = look(repo, tmp_path / "keep", "copy.md")
    assert lines(read) == ("own words",)


def test_a_name_is_found_however_its_accents_are_composed(repo: Path, tmp_path: Path) -> None:
    # C11
    (repo / "caf\u00e9.txt").write_text("composed\n")
    (repo / "the\u0301.txt").write_text("decomposed\n")
    composed, decomposed = look(repo, tmp_path / "keep", "cafe\u0301.txt", "th\u00e9.txt")
    assert (lines(composed), lines(decomposed)) == (("composed",), ("decomposed",))


def test_a_session_inside_the_workspace_is_not_part_of_it(repo: Path) -> None:
    # C11
    keep = repo / "sessions/keep"
    keep.mkdir(parents=True)
    (keep / "old").write_text("from before\n")
    assert asyncio.run(take(repo, keep, redact)).copies == {}


def test_context_is_named_from_the_top_whichever_folder_the_user_stands_in(repo: Path, tmp_path: Path) -> None:
    # C15
    taken = asyncio.run(take(repo / "src", tmp_path / "keep", redact, include=["cache.py", "../README.md"]))
    assert taken.included == ("src/cache.py", "README.md")


def test_untracked_files_beyond_the_cap_are_not_read(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "MOST_FILES", 3)
    for n in range(20):
        (repo / f"new{n:02}.txt").write_text("text\n")
    seen: list[str] = []
    read = WorkingTree.read

    def noted(self: WorkingTree, name: str) -> FileBytes | Unread | None:
        seen.append(name)
        return read(self, name)

    monkeypatch.setattr(WorkingTree, "read", noted)
    taken = asyncio.run(snapshot.take(repo, tmp_path / "kept", str))
    assert len(taken.copies) == 3 and len(seen) == 3 and len(taken.skipped) == 3 and not taken.complete


def test_a_commit_that_many_citations_name_is_looked_up_once(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    found = Git.object

    async def noted(self: Git, name: str, cap: int) -> bytes | int | None:
        asked.append(name)
        return await found(self, name, cap)

    monkeypatch.setattr(Git, "object", noted)

    async def main() -> None:
        view = LiveView(repo, str)
        for _ in range(5):
            assert not await view.commit_exists("abcdef1")
            assert await view.commit_exists("HEAD")
        await view.close()

    asyncio.run(main())
    assert asked == ["abcdef1^{commit}", "HEAD^{commit}"]
