"""Reading a workspace: paths stay inside, links too, and many readers do not get in each other's way."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from repositories import commit, lines, look, redact

from rebut.workspace.file_reader import confine
from rebut.workspace.snapshot import Snapshot, take
from rebut.workspace.tree import IsFolder, LiveView, Missing, Read, Text, UnreadableFile, View


def test_links_are_followed_inside_the_workspace_only(repo: Path, tmp_path: Path) -> None:
    # C11
    outside = tmp_path / "outside.txt"
    outside.write_text("outside\n")
    (repo / ".env").write_text("KEY=1\n")
    for name, target in [
        ("tracked.md", "README.md"),
        ("dir", "src"),
        ("out.txt", str(outside)),
        ("up", ".."),
        ("loop", "loop"),
        ("env.txt", ".env"),
    ]:
        (repo / name).symlink_to(target)
    inside = ["tracked.md", "dir/cache.py"]
    beyond = ["out.txt", "up/outside.txt", "loop"]
    for _ in range(2):  # first untracked, then committed
        reads = look(repo, tmp_path / "keep", *inside, *beyond, "env.txt")
        assert lines(reads[0]) == ("# Hello",) and lines(reads[1])[0] == "import redis"
        assert all(isinstance(read, Missing) for read in reads[2:5])
        assert isinstance(reads[5], UnreadableFile)
        commit(repo)

    async def live() -> list[Read]:
        view = LiveView(repo, redact)
        return [await view.read(path) for path in (*inside, *beyond, "env.txt")]

    reads = asyncio.run(live())
    assert lines(reads[0]) == ("# Hello",) and lines(reads[1])[0] == "import redis"
    assert all(isinstance(read, Missing | UnreadableFile) for read in reads[2:])


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
    assert lines(absolute) == ("# Hello",) and isinstance(dotted, Text) and folder == IsFolder("src")
    assert confine(str(repo) + "x/README.md", str(repo)) is None


def test_a_commit_that_vanished_makes_files_unreadable_not_missing(repo: Path, tmp_path: Path) -> None:
    # C11
    gone = Snapshot("git", str(repo), "0" * 40)
    assert isinstance(asyncio.run(View(gone, tmp_path, redact).read("README.md")), UnreadableFile)
    away = Snapshot("git", str(tmp_path / "no such folder"), "0" * 40)
    assert isinstance(asyncio.run(View(away, tmp_path, redact).read("README.md")), UnreadableFile)


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
            assert await view.grep("again", 10) == hits[1:]  # only in the working tree, not in the commit
            assert await view.grep("hunter2", 10) == ()  # a secret cannot be guessed by searching for it
            assert len(await view.grep("x", 5)) == 5
            await view.close()

    asyncio.run(run())


def test_many_readers_share_one_process_and_a_cancelled_one_does_not_mix_up_the_next(
    repo: Path, tmp_path: Path
) -> None:
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


def test_commits_are_looked_up_by_existence_and_text(repo: Path, tmp_path: Path) -> None:
    # C11
    (repo / "src/cache.py").write_text("import redis\nTTL = 30\nPASSWORD = 'hunter2'\n")
    second = commit(repo, "Set a TTL of hunter2")

    async def run() -> None:
        view = View(await take(repo, tmp_path / "keep", redact), tmp_path / "keep", redact)
        assert (
            await view.commit_exists(second[:8])
            and await view.commit_exists("HEAD~1")
            and await view.commit_exists("main")
        )
        for ref in ("deadbeef", "HEAD~2", "--help", "a b", "HEAD:README.md", "x\ny", ""):
            assert not await view.commit_exists(ref), ref
        texts = await view.commit_texts(second[:8])
        assert texts is not None
        assert texts[0].strip() == "Set a TTL of [secret:x:00000000]"
        assert "return redis.get(key)" in texts[1] and "TTL" not in texts[1]
        assert "TTL = 30" in texts[2] and "return redis" not in texts[2]
        assert "hunter2" not in "".join(texts) and "[secret" in texts[2]
        assert await view.history() == "whole"
        await view.close()
        assert await LiveView(tmp_path, redact).history() == "none"

    asyncio.run(run())
