"""Nothing outside the workspace is read, sent or written because of what a repository contains."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import duels
import forkserver
import pytest
from console import piped
from repositories import commit, git, new

from rebut.cli.app import enter

PRIVATE = "a private line of another repository"


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """A repository of the user's that has nothing to do with the workspace."""
    folder = new(tmp_path / "private", {"diary.txt": f"{PRIVATE}\n"})
    commit(folder)
    return folder


def review(monkeypatch: pytest.MonkeyPatch, folder: Path) -> int:
    monkeypatch.chdir(folder)
    return enter(["review", "--with", "lint:ruff,rules"])


@pytest.mark.parametrize("how", ["file", "link"])
def test_a_git_folder_that_does_not_point_back_is_refused(
    how: str, private: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # C16
    planted = tmp_path / "planted"
    planted.mkdir()
    if how == "file":
        (planted / ".git").write_text(f"gitdir: {private / '.git'}\n")
    else:
        (planted / ".git").symlink_to(private / ".git")
    assert review(monkeypatch, planted) == 2
    out, err = capsys.readouterr()
    assert "does not name" in err and "safe.directory" in err
    assert PRIVATE not in out + err and not (private / ".git/review-loop").exists()
    (tmp_path / "gitconfig").write_text(f"[safe]\n\tdirectory = {planted}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    assert review(monkeypatch, planted) != 2, capsys.readouterr().err  # the user trusts it


@pytest.mark.parametrize("how", ["commondir", "commondir of a folder", "links", "one branch"])
def test_a_git_folder_inside_that_reads_from_another_repository_is_refused(
    how: str, private: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # C16
    planted, theirs = new(tmp_path / "planted", {}), private / ".git"
    home = planted / ".git"
    if how == "commondir of a folder":
        home = (planted / ".git").rename(planted / "inside")
        (planted / ".git").write_text("gitdir: inside\n")
    (home / "HEAD").write_text((theirs / "HEAD").read_text())
    if how.startswith("commondir"):
        (home / "commondir").write_text(f"{theirs}\n")
    else:
        shutil.rmtree(home / "objects")
        shutil.rmtree(home / "refs")
        if how == "links":
            (home / "objects").symlink_to(theirs / "objects")
            (home / "refs").symlink_to(theirs / "refs")
        else:
            (home / "refs/heads").mkdir(parents=True)
            branch = (theirs / "HEAD").read_text().removeprefix("ref: ").strip()
            (home / branch).symlink_to(theirs / branch)
            (home / "objects/info").mkdir(parents=True)
            (home / "objects/info/alternates").write_text(f"{theirs / 'objects'}\n")
    assert review(monkeypatch, planted) == 2
    out, err = capsys.readouterr()
    assert "leads to another repository" in err and "safe.directory" in err and PRIVATE not in out + err


@pytest.mark.parametrize("how", ["alternates", "through a folder inside", "one folder", "one object", "packs"])
def test_objects_of_another_repository_are_read_only_if_the_user_says_so(
    how: str, private: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # C16: an author who knows the id of a private commit could have it sent as deleted lines
    planted, theirs = new(tmp_path / "planted", {}), private / ".git/objects"
    if how == "packs":
        git(private, "repack", "-qad")
    mine = planted / ".git/objects"
    head = git(private, "rev-parse", "HEAD").strip()
    git(planted, "config", "core.logAllRefUpdates", "false")
    if how == "one folder":
        shutil.rmtree(mine)
        mine.mkdir()
        for place in theirs.iterdir():
            (mine / place.name).symlink_to(place)
    elif how in ("one object", "packs"):
        for place in [path for path in theirs.rglob("*") if path.is_file()]:
            target = mine / place.relative_to(theirs)
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                target.symlink_to(place)
    elif how == "alternates":
        (mine / "info/alternates").write_text(f"{theirs}\n")
    else:
        (planted / "store/info").mkdir(parents=True)
        (planted / "store/info/alternates").write_text(f"# ours\n{theirs}\n")
        (mine / "info/alternates").write_text("../../store\n")
    (planted / ".git" / (planted / ".git/HEAD").read_text().removeprefix("ref: ").strip()).write_text(f"{head}\n")
    assert review(monkeypatch, planted) == 2
    out, err = capsys.readouterr()
    assert "leads to another repository" in err and "safe.directory" in err and PRIVATE not in out + err
    (tmp_path / "gitconfig").write_text(f"[safe]\n\tdirectory = {planted}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    assert review(monkeypatch, planted) != 2, capsys.readouterr().err  # as after `git clone --shared`


@pytest.mark.parametrize(
    "how",
    ["a worktree's folder", "a worktree that borrows", "a submodule that borrows", "a folder inside that borrows"],
)
def test_a_git_folder_that_points_back_and_reads_from_another_repository_is_refused(
    how: str, private: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # C16: an archive may have the working tree and such a folder beside it
    planted, other, theirs = tmp_path / "planted", new(tmp_path / "other", {}), private / ".git"
    planted.mkdir()
    head = git(private, "rev-parse", "HEAD")
    home = other / (".git/modules/m" if "submodule" in how else ".git/worktrees/w")
    if "inside" in how:
        home = new(planted, {}) / ".git"
        git(planted, "init", "-q", "--bare", "inside")
        (home / "commondir").write_text("../inside\n")
        borrower = planted / "inside"
    else:
        home.mkdir(parents=True)
        (planted / ".git").write_text(f"gitdir: {os.path.relpath(home, planted)}\n")
        borrower = home if "submodule" in how else other / ".git"
    if "worktree" in how:
        (home / "gitdir").write_text("../../../../planted/.git\n")
        (home / "commondir").write_text("../..\n" if "borrows" in how else f"{theirs}\n")
    if "submodule" in how:
        git(home, "init", "-q", "--bare")
        (home / "config").write_text("[core]\n\tbare = false\n\tworktree = ../../../../planted\n")
    if "borrows" in how:
        (borrower / "objects/info/alternates").write_text(f"{theirs / 'objects'}\n")
    (home / "HEAD").write_text(head)
    assert review(monkeypatch, planted) == 2
    out, err = capsys.readouterr()
    assert "leads to another repository" in err and "safe.directory" in err and PRIVATE not in out + err
    (tmp_path / "gitconfig").write_text(f"[safe]\n\tdirectory = {planted}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    assert review(monkeypatch, planted) != 2, capsys.readouterr().err  # the user trusts it


def test_a_worktree_and_a_submodule_are_read(
    private: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # J6
    tree, outer = tmp_path / "tree", tmp_path / "outer"
    git(private, "worktree", "add", "-q", "--detach", str(tree))
    (tree / "diary.txt").write_text("x = 1\n")
    assert review(monkeypatch, tree) != 2, capsys.readouterr().err
    new(outer)
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(private), "inner")
    (outer / "inner/diary.txt").write_text("x = 2\n")
    assert review(monkeypatch, outer / "inner") != 2, capsys.readouterr().err


def test_a_program_named_git_in_the_workspace_is_never_run(
    private: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # C9
    marker = tmp_path / "marker"
    for name in ("git", "git-diff", "git-status", "less", "sh"):
        (private / name).write_text(f"#!/bin/sh\ntouch {marker}\n")
        (private / name).chmod(0o755)
    monkeypatch.setenv("PATH", f".::{os.environ['PATH']}")
    review(monkeypatch, private)
    monkeypatch.chdir(private)
    enter([])
    (private / "PLAN.md").write_text("See commit abcdef1 and `nowhere.py:3`.\n")
    enter(["check", "PLAN.md"])
    assert not marker.exists()
    capsys.readouterr()


@pytest.mark.parametrize("linked", [".kiln", ".kiln/tracks", ".kiln/tracks/phase-1"])
def test_a_linked_track_is_refused_before_any_call(
    linked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # K9
    outside, here = tmp_path / "outside", tmp_path / "here"
    rest = Path(".kiln/tracks/phase-1").relative_to(linked)
    (outside / rest).mkdir(parents=True)
    (outside / rest / "plan_a.md").write_text(PRIVATE)
    (here / linked).parent.mkdir(parents=True)
    (here / linked).symlink_to(outside)
    for name in ("a", "b"):
        (here / f"{name}.json").write_text('{"model": "m", "answers": {}}')
    monkeypatch.chdir(here)
    seats = ["--author", "a=scripted:a.json", "--author", "b=scripted:b.json", "--allow-same-model"]
    before = sorted(outside.rglob("*"))
    assert enter(["revise", "plan", "Cache?", *seats]) == 2
    out, err = capsys.readouterr()
    assert f"{here / linked} is a link" in err and PRIVATE not in out + err
    assert sorted(outside.rglob("*")) == before


def test_a_linked_folder_for_a_state_file_gets_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # D6
    outside, here = tmp_path / "outside", tmp_path / "here"
    outside.mkdir()
    here.mkdir()
    (here / ".claude").symlink_to(outside)
    monkeypatch.chdir(here)
    monkeypatch.setenv("CLAUDECODE", "1")
    (here / "a.json").write_text('{"model": "m", "answers": {}}')
    seats = ["--proposer", "x=scripted:a.json", "--challenger", "y=scripted:a.json", "--allow-same-model"]
    enter(["duel", "Cache?", *seats])
    out, err = capsys.readouterr()
    assert list(outside.iterdir()) == [] and "is a link" in out + err


def test_a_linked_home_of_the_workspace_is_fine(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(new(tmp_path / "real", {"app.py": "import os\n"}))
    done = forkserver.run(
        [sys.executable, "-m", "rebut", "review", "--with", "lint:ruff,rules"], cwd=link, capture_output=True, text=True
    )
    assert done.returncode in (0, 1), done.stderr


def test_sessions_behind_a_link_of_a_home_that_is_a_repository_get_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # D6: the link is the user's, as programs for dotfiles make it
    home, dotfiles = tmp_path / "home", tmp_path / "dotfiles"
    (home / "notes").mkdir(parents=True)
    dotfiles.mkdir()
    git(home, "init", "-q")
    (home / ".local").symlink_to(dotfiles)
    for name in ("REBUT_HOME", "XDG_STATE_HOME", "AI_STATE_DIR", "CLAUDECODE"):
        monkeypatch.delenv(name, raising=False)
    words = [word for role, spec in duels.seats(tmp_path).items() for word in (f"--{role}", spec)]
    done = piped("duel", "Redis or not?", *words, cwd=home / "notes", env={"HOME": str(home)})
    assert done.returncode in (0, 3) and "was not written" not in done.stdout, done.stderr
    assert list(dotfiles.rglob("last-debate.json"))
