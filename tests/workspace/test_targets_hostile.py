"""A hostile repository is harmless: whatever it plants, nothing is run and nothing from outside enters a target."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import crosses
import pytest
import voices
from repositories import commit, git, new, small
from targeting import paths, refused, target

from rebut.ci import apply
from rebut.core.errors import UsageError
from rebut.workspace.git import GitFailed

SCOPES = ("uncommitted", "commit:HEAD", "base:old", "range:old..HEAD", "range:old...HEAD", "file:src/cache.py", "")
HOOKS = (
    *("post-index-change", "reference-transaction", "pre-commit", "post-checkout", "post-merge", "pre-auto-gc"),
    *("fsmonitor-watchman", "query-watchman", "post-rewrite", "sendemail-validate"),
)
OUTSIDE = "text from outside of the tree"


def arm(repo: Path, tmp_path: Path) -> Path:
    """Plant everything that git is known to start or to read elsewhere. Gives the marker that must not appear."""
    marker, program = tmp_path / "marker", tmp_path / "trap.sh"
    program.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{marker}'\ncat\n")
    program.chmod(0o755)
    (tmp_path / "outside.txt").write_text(f"{OUTSIDE}\n")
    inner = new(repo / "inner", {".gitattributes": "* filter=deep diff=deep\n", "x.py": "x\n"})
    head = commit(inner)
    (repo / ".gitattributes").write_text(
        "*.py filter=evil diff=evil\n*.md filter=e=v.il diff=evil\n*.txt filter=proc diff=evil merge=evil\n"
        "*.c filter=wanted diff=evil working-tree-encoding=UTF-8\n"
    )
    for name in ("a.txt", "b.c", "c.md"):
        (repo / name).write_text("a\n")
    (repo / ".gitmodules").write_text(
        f'[submodule "inner"]\n\tpath = inner\n\turl = ext::{program}\n\tupdate = !{program}\n\tignore = none\n'
        f'[submodule "--upload-pack={program}"]\n\tpath = -x\n\turl = -u{program}\n'
    )
    (repo / "link.txt").symlink_to(tmp_path / "outside.txt")
    git(repo, "branch", "old")
    git(repo, "update-index", "--add", "--cacheinfo", f"160000,{head},inner")
    commit(repo, "two")
    for folder in (repo / ".git/hooks", inner / ".git/hooks", tmp_path / "hooks"):
        folder.mkdir(exist_ok=True)
        for hook in HOOKS:
            (folder / hook).write_text(program.read_text())
            (folder / hook).chmod(0o755)
    included = tmp_path / "included"
    included.write_text(f'[filter "wanted"]\n\tclean = {program}\n\tsmudge = {program}\n\trequired = true\n')
    settings = {
        "filter.evil.clean": program,
        "filter.evil.smudge": program,
        "filter.evil.required": "true",
        "filter.proc.process": program,
        "filter.proc.required": "true",
        "filter.e=v.il.clean": program,
        "filter.e=v.il.required": "true",
        "include.path": included,
        "core.fsmonitor": program,
        "core.hooksPath": tmp_path / "hooks",
        "core.pager": program,
        "pager.diff": program,
        "pager.diff-index": program,
        "core.editor": program,
        "core.sshCommand": program,
        "core.gitProxy": program,
        "core.askPass": program,
        "core.alternateRefsCommand": program,
        "core.attributesFile": repo / ".gitattributes",
        "core.untrackedCache": "true",
        "diff.external": program,
        "diff.evil.textconv": program,
        "diff.evil.command": program,
        "diff.evil.cachetextconv": "true",
        "diff.submodule": "diff",
        "diff.ignoreSubmodules": "none",
        "diff.trustExitCode": "true",
        "diff.noprefix": "true",
        "diff.suppressBlankEmpty": "true",
        "diff.orderFile": tmp_path / "outside.txt",
        "interactive.diffFilter": program,
        "merge.evil.driver": program,
        "submodule.recurse": "true",
        "submodule.inner.update": f"!{program}",
        "submodule.inner.active": "true",
        "credential.helper": f"!{program}",
        "gpg.program": program,
        "log.showSignature": "true",
        "alias.diff-index": f"!{program}",
        "alias.rev-parse": f"!{program}",
        "alias.ls-files": f"!{program}",
        "remote.origin.url": f"ext::{program}",
        "remote.origin.uploadpack": program,
        "remote.origin.promisor": "true",
        "extensions.partialClone": "origin",
        "core.repositoryFormatVersion": "1",
        "protocol.allow": "always",
        "color.ui": "always",
        "uploadpack.packObjectsHook": program,
        "gc.auto": "1",
    }
    for key, value in settings.items():
        subprocess.run(["git", "config", "--file", str(repo / ".git/config"), key, str(value)], check=True)
    with (inner / ".git/config").open("a") as file:
        file.write(f'[filter "deep"]\n\tclean = {program}\n[core]\n\tfsmonitor = {program}\n')
    # Older than the files, so that git wants to look inside each of them.
    for index in (repo / ".git/index", inner / ".git/index"):
        os.utime(index, (1, 1))
    (repo / "a.txt").write_text("b\n")
    (repo / "b.c").write_text("b\n")
    (repo / "src/cache.py").write_text("import redis\n\n# changed\n")
    (repo / "fresh.py").write_text("fresh\n")
    (repo / "out").symlink_to(tmp_path)
    (inner / "x.py").write_text("dirty\n")
    return marker


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    (tmp_path / "box").mkdir()
    return small(tmp_path / "box")


def test_the_traps_work_plain_git_falls_into_them(repo: Path, tmp_path: Path) -> None:
    marker = arm(repo, tmp_path)
    for command in (["status"], ["diff"], ["diff-index", "-p", "HEAD"]):
        marker.unlink(missing_ok=True)
        subprocess.run(["git", *command], cwd=repo, capture_output=True, check=False, timeout=20)
        assert marker.exists(), command


@pytest.mark.parametrize("scope", SCOPES)
def test_nothing_is_run_and_nothing_from_outside_enters(repo: Path, tmp_path: Path, scope: str) -> None:
    # J2
    marker = arm(repo, tmp_path)
    found = target(repo, scope)
    assert not marker.exists(), marker.read_text()
    assert OUTSIDE not in str(found.to_json())
    assert (
        "src/cache.py" in paths(found) if scope in ("uncommitted", "", "file:src/cache.py") else "a.txt" in paths(found)
    )
    if scope in ("uncommitted", ""):
        assert "out" in paths(found)  # the link itself, as the text that it holds


def test_a_failing_scope_runs_nothing_either(repo: Path, tmp_path: Path) -> None:
    # J2
    marker = arm(repo, tmp_path)
    for scope in ("commit:nope", "base:nope", "range:nope..old", f"commit:--output={marker}", f"base:--ext={marker}"):
        refused(repo, scope)
    assert not marker.exists()


@pytest.mark.parametrize("claimed", ["plain", "repository"])
@pytest.mark.parametrize("scope", [s for s in SCOPES if not s.startswith("file:")])
def test_a_repository_cannot_claim_a_folder_that_is_not_its_own(
    repo: Path, tmp_path: Path, claimed: str, scope: str
) -> None:
    # J2 C16
    git(repo, "branch", "old")
    (tmp_path / "diary.txt").write_text(f"{OUTSIDE}\n")
    if claimed == "repository":
        git(tmp_path, "init", "-q")
    git(repo, "config", "core.worktree", str(tmp_path))
    assert "calls another folder its working tree" in refused(repo, scope)


@pytest.mark.parametrize("scope", SCOPES)
def test_the_callers_environment_leads_git_nowhere(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scope: str
) -> None:
    # J2
    marker = arm(repo, tmp_path)
    program = str(tmp_path / "trap.sh")
    other = small(tmp_path / "box" / "other")
    (other / "README.md").write_text(f"{OUTSIDE}\n")
    commit(other)
    for name, value in {
        "GIT_DIR": str(other / ".git"),
        "GIT_WORK_TREE": str(other),
        "GIT_INDEX_FILE": str(other / ".git/index"),
        "GIT_OBJECT_DIRECTORY": str(other / ".git/objects"),
        "GIT_EXTERNAL_DIFF": program,
        "GIT_PAGER": program,
        "GIT_SSH_COMMAND": program,
        "GIT_ASKPASS": program,
        "GIT_EDITOR": program,
        "GIT_PROXY_COMMAND": program,
        "GIT_TRACE": str(marker),
        "GIT_TRACE2": str(marker),
        "GIT_TRACE2_EVENT": str(marker),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": program,
        "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor'='{program}'",
        "GIT_DIFF_OPTS": "--unified=99",
        "GIT_LITERAL_PATHSPECS": "0",
        "GIT_ATTR_SOURCE": "HEAD",
    }.items():
        monkeypatch.setenv(name, value)
    found = target(repo, scope)
    assert not marker.exists(), marker.read_text()
    assert OUTSIDE not in str(found.to_json())
    assert "README.md" not in paths(found)


def test_a_missing_object_is_not_fetched(repo: Path, tmp_path: Path) -> None:
    # J2
    marker = arm(repo, tmp_path)
    oid = git(repo, "rev-parse", "HEAD:src/cache.py")
    (repo / ".git/objects" / oid[:2] / oid[2:]).unlink()
    found = target(repo, "uncommitted")
    assert not marker.exists(), marker.read_text()
    assert "src/cache.py: git does not have its content" in " ".join(found.left_out)
    assert "fresh.py" in paths(found)


def test_a_patch_is_put_in_place_and_nothing_runs(repo: Path, tmp_path: Path) -> None:
    # J10
    marker = arm(repo, tmp_path)
    head = "--- a/src/cache.py\n+++ b/src/cache.py\n@@ -1,2 +1,2 @@\n"
    before = (repo / "src/cache.py").read_text()
    first, second = before.split("\n")[:2]
    made = f"{head}-{first}\n+import other\n {second}\n".encode()
    asyncio.run(apply._put(repo, made, ["src/cache.py"]))
    assert (repo / "src/cache.py").read_text() == before.replace(first, "import other", 1)
    assert not marker.exists()


def test_a_repository_of_another_owner_is_refused_with_gits_reason_and_the_way_out(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # J2
    real, shim = shutil.which("git"), tmp_path / "bin/git"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec {real} "$@"\n')
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}:{os.environ['PATH']}")
    said = refused(repo, "uncommitted")
    assert "dubious ownership" in said and f"safe.directory {repo}" in said
    done = voices.cli("review", cwd=repo)
    assert done.returncode == 2 and "dubious ownership" in done.stderr and "safe.directory" in done.stderr


@pytest.mark.parametrize("name", [".gitignore", ".gitattributes", ".git/info/exclude"])
def test_a_pipe_that_git_would_read_is_refused_at_once(name: str, tmp_path: Path) -> None:  # C16
    folder = crosses.repository(tmp_path / "work")
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    began = time.monotonic()
    with pytest.raises(UsageError, match=f"{re.escape(name)} is a named pipe"):
        crosses.review(folder, {"r1/critique@critic": crosses.critique()})
    assert time.monotonic() - began < 20


def test_after_a_timeout_a_pipe_in_a_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # C16
    folder = crosses.repository(tmp_path / "work")
    os.mkfifo(folder / "api/.gitignore")
    monkeypatch.setattr("rebut.workspace.git.TIMEOUT", 1.0)
    with pytest.raises(GitFailed, match=r"api/\.gitignore is a named pipe"):
        crosses.review(folder, {"r1/critique@critic": crosses.critique()})
