"""Git calls: whatever a repository configures, none of it is run."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest
from repositories import commit, git, lines, look, redact, submodule

from rebut.protocols.cross.settings import common_dir
from rebut.workspace.git import Git, GitFailed, refusal
from rebut.workspace.snapshot import take
from rebut.workspace.tree import LiveView, Text, UnreadableFile, View

HOOKS = (
    "pre-commit",
    "post-checkout",
    "post-index-change",
    "reference-transaction",
    "fsmonitor-watchman",
    "query-watchman",
)


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
    (repo / ".gitattributes").write_text(
        "*.py filter=evil diff=evil\n*.md filter=e=v.il\n*.txt filter=proc diff=evil\n"
    )
    (repo / "a.txt").write_text("a\n")
    commit(repo)
    for hook in HOOKS:
        (repo / ".git/hooks" / hook).write_text(program.read_text())
        (repo / ".git/hooks" / hook).chmod(0o755)
    for key, value in {
        "filter.evil.clean": program,
        "filter.evil.smudge": program,
        "filter.evil.required": "true",
        "filter.proc.process": program,
        "filter.e=v.il.clean": program,
        "filter.e=v.il.required": "true",
        "core.fsmonitor": program,
        "diff.external": program,
        "diff.evil.textconv": program,
        "diff.evil.command": program,
        "core.pager": program,
        "core.sshCommand": program,
        "core.alternateRefsCommand": program,
        "gpg.program": program,
        "log.showSignature": "true",
        "core.editor": program,
        "credential.helper": f"!{program}",
        "alias.status": f"!{program}",
        "core.untrackedCache": "true",
        "submodule.recurse": "true",
        "diff.trustExitCode": "true",
    }.items():
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
    assert isinstance(read, UnreadableFile)
    assert not marker.exists()
    subprocess.run(["git", "cat-file", "-p", oid], cwd=repo, capture_output=True, check=False, timeout=20)
    assert marker.exists()  # the trap works: plain git falls into it


@pytest.mark.parametrize("claimed", ["plain", "repository", "below"])
def test_a_repository_cannot_claim_a_folder_that_is_not_its_own(repo: Path, tmp_path: Path, claimed: str) -> None:
    # C16
    (tmp_path / "diary.txt").write_text("private\n")
    if claimed == "repository":
        git(tmp_path, "init", "-q")
    git(repo, "config", "core.worktree", str(repo / "src" if claimed == "below" else tmp_path))
    taken = asyncio.run(take(repo, tmp_path / "keep", redact))
    assert (taken.kind, taken.root, taken.copies) == ("none", str(repo.resolve()), {})


def test_nothing_that_a_submodule_configures_is_run(repo: Path, tmp_path: Path) -> None:
    # C11
    marker, inner = tmp_path / "marker", submodule(repo, {"x.py": "x\n", ".gitattributes": "* filter=evil\n"})
    git(inner, "config", "filter.evil.clean", str(trap(tmp_path, marker)))
    git(repo, "config", "diff.ignoreSubmodules", "none")
    os.utime(inner / ".git/index", (1, 1))
    look(repo, tmp_path / "keep", "README.md")
    assert not marker.exists()
    subprocess.run(["git", "diff-files"], cwd=repo, capture_output=True, check=False, timeout=20)
    assert marker.exists()  # the trap works: plain git falls into it


def test_a_repository_with_hundreds_of_filters_is_refused(repo: Path) -> None:
    # C11
    with (repo / ".git/config").open("a") as file:
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
    os.mkfifo(tmp_path / "pid")
    slow = tmp_path / "slow"
    slow.write_text(f"#!/bin/sh\necho $$ > '{tmp_path}/pid'\nexec sleep 60\n")
    slow.chmod(0o755)

    async def run() -> None:
        task = asyncio.ensure_future(Git(repo, str(slow)).run("status"))
        async with asyncio.timeout(20):  # opening waits until the process writes its number
            pid = int(await asyncio.to_thread((tmp_path / "pid").read_text))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)

    asyncio.run(run())


@pytest.mark.parametrize("place", ["refs/heads/one", "objects/one", "commondir", "gitdir", "objects/info/alternates"])
@pytest.mark.parametrize("odd", ["a circle", "no name", "far too long"])
def test_odd_paths_in_a_git_folder_are_read_as_they_are_or_refused(repo: Path, place: str, odd: str) -> None:  # C5 C16
    names = place in ("commondir", "gitdir", "objects/info/alternates")
    path = repo / ".git" / place
    path.parent.mkdir(parents=True, exist_ok=True)
    if odd == "a circle":
        circle = repo / ".git/circle" if names else path
        circle.symlink_to(circle.name)
        if names:
            path.write_text("circle" if place == "commondir" else f"{circle}\n")
    else:
        path.write_bytes(b".\0x\n" if odd == "no name" else b"x\n" * 200_000)
    opened = asyncio.run(Git.open(repo))
    assert opened is None or place not in ("commondir", "objects/info/alternates")
    assert asyncio.run(refusal(repo)) or opened


@pytest.mark.parametrize("said", ["gitdir: a\0b", "gitdir: .git/circle", "gitdir: .bare"])
def test_a_git_file_with_an_odd_path_is_not_followed(tmp_path: Path, said: str) -> None:  # C5
    bare = tmp_path / ".bare"
    bare.mkdir()
    (bare / "commondir").write_text("a\0b")
    (tmp_path / ".git").write_text(said)
    assert common_dir(tmp_path) is None
