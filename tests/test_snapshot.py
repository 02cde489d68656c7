"""The snapshot: what is kept of a workspace, how it is read back, and that a hostile repository stays harmless."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from rebut.errors import RecordError, UsageError
from rebut.gitview import Git, GitFailed
from rebut.snapshot import Snapshot, is_never_sent, take
from rebut.view import LiveView, View
from rebut.workspace import Folder, Missing, Read, Text, Unreadable, Workspace, confine


def redact(text: str) -> str:
    return text.replace("hunter2", "[secret:x:00000000]")


def git(folder: Path, *args: str, stdin: str = "") -> str:
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    env |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    who = ("-c", "user.name=Someone", "-c", "user.email=someone@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ["git", *who, *args], cwd=folder, env=env, input=stdin, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def commit(folder: Path, message: str = "one") -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "src").mkdir(parents=True)
    (folder / "src/cache.py").write_text("import redis\n\ndef get(key):\n    return redis.get(key)\n")
    (folder / "README.md").write_text("# Hello\n")
    (folder / ".gitignore").write_text("build/\n*.log\n")
    git(folder, "init", "-q")
    commit(folder)
    return folder


def look(folder: Path, keep: Path, *paths: str, include: tuple[str, ...] = (), never: tuple[str, ...] = ()) -> list[Read]:
    """Take a snapshot, send it through JSON as the journal would, and read some paths."""

    async def run() -> list[Read]:
        taken = await take(folder, keep, redact, include=include, never=never)
        view = View(Snapshot.from_json(json.loads(json.dumps(taken.to_json()))), keep, redact)
        try:
            return [await view.read(path) for path in paths]
        finally:
            await view.close()

    return asyncio.run(run())


def lines(read: Read) -> tuple[str, ...]:
    assert isinstance(read, Text), read
    return read.lines


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
    folder = tmp_path / "work"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a.txt").write_text("a\n")
    (folder / "b.txt").write_text("b\n")
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
    inner = repo / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "x.py").write_text("x\n")
    head = commit(inner)
    git(repo, "update-index", "--add", "--cacheinfo", f"160000,{head},inner")
    git(repo, "commit", "-q", "-m", "sub")
    loose = repo / "loose"
    loose.mkdir()
    git(loose, "init", "-q")
    (loose / "y.py").write_text("y\n")
    sub, nested = look(repo, tmp_path / "keep", "inner/x.py", "loose/y.py")
    assert sub == Unreadable("inner/x.py", "in a submodule")
    assert nested == Unreadable("loose/y.py", "a repository of its own")


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
    with open(os.fsencode(repo) + b"/caf\xe9.txt", "w") as file:
        file.write("latin\n")
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
    assert raw == Unreadable("bin.dat", "binary")


def test_files_beyond_the_caps_are_unreadable_not_missing(repo: Path, tmp_path: Path) -> None:
    # C11
    (repo / "big.txt").write_text("x" * 1_000_001)
    (repo / "fits.txt").write_text("x" * 1_000_000)
    big, fits = look(repo, tmp_path / "keep", "big.txt", "fits.txt")
    assert big == Unreadable("big.txt", "larger than 1 MB")
    assert isinstance(fits, Text)


def test_the_cap_over_all_files_holds(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # C11
    monkeypatch.setattr("rebut.snapshot.TOTAL_CAP", 10)
    (repo / "a.txt").write_text("123456\n")
    (repo / "b.txt").write_text("123456\n")
    a, b = look(repo, tmp_path / "keep", "a.txt", "b.txt")
    assert isinstance(a, Text) and isinstance(b, Unreadable) and "in all" in b.why


def test_ignored_files_are_not_copied_unless_named_and_never_count_as_missing(repo: Path, tmp_path: Path) -> None:
    # C11 C15
    (repo / "build").mkdir()
    (repo / "build/out.js").write_text("out\n")
    (repo / "run.log").write_text("log\n")
    (repo / "other.log").write_text("other\n")
    out, log, other = look(repo, tmp_path / "keep", "build/out.js", "run.log", "other.log", include=("run.log", "src"))
    assert out == Unreadable("build/out.js", "ignored by git")
    assert lines(log) == ("log",)
    assert isinstance(other, Unreadable)
    (out,) = look(repo, tmp_path / "keep", "build/out.js", include=("build",))
    assert lines(out) == ("out",)


def test_links_are_followed_inside_the_workspace_only(repo: Path, tmp_path: Path) -> None:
    # C11
    outside = tmp_path / "outside.txt"
    outside.write_text("outside\n")
    (repo / ".env").write_text("KEY=1\n")
    for name, target in [
        ("tracked.md", "README.md"), ("dir", "src"), ("out.txt", str(outside)), ("up", ".."), ("loop", "loop"),
        ("env.txt", ".env"),
    ]:  # fmt: skip
        (repo / name).symlink_to(target)
    inside = ["tracked.md", "dir/cache.py"]
    beyond = ["out.txt", "up/outside.txt", "loop"]
    for _ in range(2):  # first untracked, then committed
        reads = look(repo, tmp_path / "keep", *inside, *beyond, "env.txt")
        assert lines(reads[0]) == ("# Hello",) and lines(reads[1])[0] == "import redis"
        assert all(isinstance(read, Missing) for read in reads[2:5])
        assert isinstance(reads[5], Unreadable)
        commit(repo)

    async def live() -> list[Read]:
        view = LiveView(repo, redact)
        return [await view.read(path) for path in (*inside, *beyond, "env.txt")]

    reads = asyncio.run(live())
    assert lines(reads[0]) == ("# Hello",) and lines(reads[1])[0] == "import redis"
    assert all(isinstance(read, Missing | Unreadable) for read in reads[2:])


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


@pytest.mark.parametrize(
    "path", ["../outside.txt", "src/../../outside.txt", "/etc/passwd", "~/x", "a\0b", "", "  ", "..", "/"]
)
def test_paths_that_lead_out_are_missing(repo: Path, tmp_path: Path, path: str) -> None:
    # C11 C15
    (tmp_path / "outside.txt").write_text("outside\n")
    (read,) = look(repo, tmp_path / "keep", path)
    assert isinstance(read, Missing)
    assert isinstance(asyncio.run(LiveView(repo, redact).read(path)), Missing)


def test_an_absolute_path_inside_is_accepted(repo: Path, tmp_path: Path) -> None:
    # C11
    absolute, dotted, folder = look(repo, tmp_path / "keep", f"{repo.resolve()}/README.md", "./src//cache.py", "src/")
    assert lines(absolute) == ("# Hello",) and isinstance(dotted, Text) and folder == Folder("src")
    assert confine(str(repo) + "x/README.md", str(repo)) is None


NEVER = [
    ".env", ".env.local", ".env.example", "a/.env/x", "deploy.pem", "tls/server.KEY", "id_rsa", "id_ed25519.pub", "a.p12",
    "a.pfx", "a.keystore", "terraform.tfstate", "terraform.tfstate.backup", ".netrc", ".npmrc", ".pypirc", ".git/config",
    "credentials.json", "credentials-prod.json", "service-account-1.json", "secrets.yaml", "home/.ssh/config",
]  # fmt: skip


@pytest.mark.parametrize("path", NEVER)
def test_files_of_these_names_are_never_sent(path: str) -> None:
    # C16
    assert is_never_sent(path)


@pytest.mark.parametrize("path", ["src/environment.py", "keys.md", "src/secrets_store.py", "env.py", "monkey", "a/gitx"])
def test_ordinary_names_are_sent(path: str) -> None:
    # C16
    assert not is_never_sent(path)


@pytest.mark.parametrize(
    ("glob", "path"),
    [("*.csv", "data/a.csv"), ("private/", "x/private/a.md"), ("docs/internal/**", "docs/internal/a/b.md"),
     ("docs/internal", "docs/internal/a.md"), ("**/legal/*.md", "legal/a.md"), ("Plan.MD", "plan.md")],
)  # fmt: skip
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
                assert isinstance(read, Unreadable) and "never read" in read.why
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
    assert isinstance(other, Unreadable)
    assert isinstance(no, Missing)
    (nothing,) = look(folder, tmp_path / "keep", "no.md")
    assert isinstance(nothing, Unreadable)  # no workspace was kept, so nothing can be said to be absent


def test_in_a_folder_too_large_to_list_an_unknown_path_is_not_called_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # C11
    monkeypatch.setattr("rebut.snapshot.MOST_NAMES", 2)
    for name in "abcd":
        (tmp_path / name).write_text(name)
    (no,) = look(tmp_path, tmp_path / "keep", "no.md", include=("a",))
    assert isinstance(no, Unreadable)


@pytest.mark.parametrize("path", ["nope.md", "../outside.txt"])
def test_a_context_path_that_cannot_be_taken_is_refused(repo: Path, tmp_path: Path, path: str) -> None:
    # C15
    (tmp_path / "outside.txt").write_text("outside\n")
    with pytest.raises(UsageError):
        asyncio.run(take(repo, tmp_path / "keep", redact, include=[path]))


def test_a_commit_that_vanished_makes_files_unreadable_not_missing(repo: Path, tmp_path: Path) -> None:
    # C11
    gone = Snapshot("git", str(repo), "0" * 40)
    assert isinstance(asyncio.run(View(gone, tmp_path, redact).read("README.md")), Unreadable)
    away = Snapshot("git", str(tmp_path / "no such folder"), "0" * 40)
    assert isinstance(asyncio.run(View(away, tmp_path, redact).read("README.md")), Unreadable)


def test_a_record_of_an_unknown_kind_is_refused() -> None:
    # C13
    with pytest.raises(RecordError):
        Snapshot.from_json({"kind": "svn", "root": "/"})


def test_tree_and_grep_show_the_snapshot(repo: Path, tmp_path: Path) -> None:
    # C15
    (repo / "src/cache.py").write_text("dirty redis hunter2\n")
    (repo / "src/new.py").write_text("import redis\n")
    (repo / "docs").mkdir()
    for n in range(30):
        (repo / f"docs/{n:02}.md").write_text("redis.\n" if n == 7 else "x\n")
    commit(repo)
    (repo / "src/cache.py").write_text("again redis hunter2\n")
    (repo / "src/new.py").unlink()

    async def run() -> None:
        keep = tmp_path / "keep"
        taken = await take(repo, keep, redact)
        for view in (View(taken, keep, redact), LiveView(repo, redact)):
            assert await view.tree("src", 10) == ("src/cache.py",)
            assert await view.tree("", 10) == (".gitignore", "README.md", "docs/ (30 files)", "src/ (1 files)")
            assert isinstance(await view.tree("../", 10), Missing) and isinstance(await view.tree("no", 10), Missing)
            hits = await view.grep("redis", 10)
            assert [(hit.path, hit.line) for hit in hits] == [("docs/07.md", 1), ("src/cache.py", 1)]
            assert "hunter2" not in hits[1].text
            assert await view.grep("redis.", 10) == hits[:1]  # a dot is a dot
            assert await view.grep("hunter2", 10) == ()  # a secret cannot be guessed by searching for it
            assert len(await view.grep("x", 5)) == 5
            await view.close()

    asyncio.run(run())


def test_many_readers_share_one_process_and_a_cancelled_one_does_not_mix_up_the_next(repo: Path, tmp_path: Path) -> None:
    # C11
    for n in range(40):
        (repo / f"{n}.txt").write_text(f"{n}\n" * 2000)
    commit(repo)

    async def run() -> None:
        view = View(await take(repo, tmp_path / "keep", redact), tmp_path / "keep", redact)
        reads = await asyncio.gather(*(view.read(f"{n}.txt") for n in range(30)))
        assert [lines(read)[0] for read in reads] == [str(n) for n in range(30)]
        task = asyncio.ensure_future(view.read("30.txt"))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert lines(await view.read("31.txt"))[0] == "31"
        repository = await view._repository()
        assert repository is not None and repository.batch is not None
        process = repository.batch
        await view.close()
        assert process.returncode is not None

    asyncio.run(run())


HOOKS = ("pre-commit", "post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman", "query-watchman")


def trap(folder: Path, marker: Path, then: str = "cat") -> Path:
    """A program that leaves a trace when anything starts it."""
    program = folder / "trap.sh"
    program.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{marker}'\n{then}\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("armed", [True, False])
def test_nothing_that_a_repository_configures_is_run(repo: Path, tmp_path: Path, armed: bool) -> None:
    # C11
    marker = tmp_path / "marker"
    program = trap(tmp_path, marker)
    (repo / ".gitattributes").write_text("*.py filter=evil diff=evil\n*.md filter=e=v.il\n*.txt filter=proc diff=evil\n")
    (repo / "a.txt").write_text("a\n")
    commit(repo)
    for hook in HOOKS:
        (repo / ".git/hooks" / hook).write_text(program.read_text())
        (repo / ".git/hooks" / hook).chmod(0o755)
    for key, value in {
        "filter.evil.clean": program, "filter.evil.smudge": program, "filter.evil.required": "true",
        "filter.proc.process": program, "filter.e=v.il.clean": program, "filter.e=v.il.required": "true",
        "core.fsmonitor": program, "diff.external": program, "diff.evil.textconv": program, "diff.evil.command": program,
        "core.pager": program, "core.sshCommand": program, "core.alternateRefsCommand": program, "gpg.program": program,
        "log.showSignature": "true", "core.editor": program, "credential.helper": f"!{program}", "alias.status": f"!{program}",
        "core.untrackedCache": "true", "submodule.recurse": "true", "diff.trustExitCode": "true",
    }.items():  # fmt: skip
        git(repo, "config", key, str(value))
    os.utime(repo / ".git/index", (1, 1))  # older than the files, so that git wants to look inside each of them
    (repo / "a.txt").write_text("b\n")
    if not armed:  # the trap works: plain git falls into it
        subprocess.run(["git", "status"], cwd=repo, capture_output=True, check=False, timeout=20)
        subprocess.run(["git", "diff"], cwd=repo, capture_output=True, check=False, timeout=20)
        assert marker.exists()
        return

    async def run() -> None:
        taken = await take(repo, tmp_path / "keep", redact)
        assert set(taken.copies) == {"a.txt"}
        for view in (View(taken, tmp_path / "keep", redact), LiveView(repo, redact)):
            assert lines(await view.read("a.txt")) == ("b",)
            assert isinstance(await view.read("src/cache.py"), Text)
            assert await view.grep("redis")
            assert await view.commit_texts("HEAD")
            await view.tree()
            await view.close()

    asyncio.run(run())
    assert not marker.exists(), marker.read_text()


def test_a_missing_object_is_not_fetched_from_the_place_that_the_repository_names(repo: Path, tmp_path: Path) -> None:
    # C11
    marker = tmp_path / "marker"
    program = trap(tmp_path, marker, "exit 1")
    git(repo, "config", "core.repositoryFormatVersion", "1")
    git(repo, "config", "extensions.partialClone", "origin")
    git(repo, "config", "remote.origin.promisor", "true")
    git(repo, "config", "remote.origin.url", str(tmp_path))
    git(repo, "config", "remote.origin.uploadpack", str(program))
    git(repo, "config", "protocol.file.allow", "always")
    oid = git(repo, "rev-parse", "HEAD:README.md")
    (repo / ".git/objects" / oid[:2] / oid[2:]).unlink()
    (read,) = look(repo, tmp_path / "keep", "README.md")
    assert isinstance(read, Unreadable)
    assert not marker.exists()
    subprocess.run(["git", "cat-file", "-p", oid], cwd=repo, capture_output=True, check=False, timeout=20)
    assert marker.exists()  # the trap works: plain git falls into it


def test_a_repository_cannot_claim_a_folder_that_is_not_its_own(repo: Path, tmp_path: Path) -> None:
    # C16
    (tmp_path / "diary.txt").write_text("private\n")
    git(repo, "config", "core.worktree", str(tmp_path))
    taken = asyncio.run(take(repo, tmp_path / "keep", redact))
    assert (taken.kind, taken.root, taken.copies) == ("none", str(repo.resolve()), {})


def test_a_repository_with_hundreds_of_filters_is_refused(repo: Path) -> None:
    # C11
    with open(repo / ".git/config", "a") as file:
        file.writelines(f'[filter "f{n}"]\n\tclean = true\n' for n in range(300))
    with pytest.raises(GitFailed, match="300 filters"):
        asyncio.run(Git.open(repo))


def test_the_callers_git_environment_does_not_reach_git(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # C11
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
    (readme,) = look(repo, tmp_path / "keep", "README.md")
    assert lines(readme) == ("# Hello",)
    assert not (tmp_path / "trace").exists()


def test_a_cancelled_git_call_ends_its_process(repo: Path, tmp_path: Path) -> None:
    # C9
    slow = tmp_path / "slow"
    slow.write_text(f"#!/bin/sh\necho $$ > '{tmp_path}/pid'\nexec sleep 60\n")
    slow.chmod(0o755)

    async def run() -> None:
        task = asyncio.ensure_future(Git(repo, str(slow)).run("status"))
        while not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip()):
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_commits_are_looked_up_by_existence_and_text(repo: Path, tmp_path: Path) -> None:
    # C11
    (repo / "src/cache.py").write_text("import redis\nTTL = 30\n")
    second = commit(repo, "Set a TTL of hunter2")

    async def run() -> None:
        view = View(await take(repo, tmp_path / "keep", redact), tmp_path / "keep", redact)
        assert await view.commit_exists(second[:8]) and await view.commit_exists("HEAD~1") and await view.commit_exists("main")
        for ref in ("deadbeef", "HEAD~2", "--help", "a b", "HEAD:README.md", "x\ny", ""):
            assert not await view.commit_exists(ref), ref
        texts = await view.commit_texts(second[:8])
        assert texts is not None
        assert texts[0].strip() == "Set a TTL of [secret:x:00000000]"
        assert "return redis.get(key)" in texts[1] and "TTL" not in texts[1]
        assert "TTL = 30" in texts[2] and "return redis" not in texts[2]
        assert await view.history() == "whole"
        await view.close()
        assert await LiveView(tmp_path, redact).history() == "none"

    asyncio.run(run())
