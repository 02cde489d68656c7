"""Small git repositories to take snapshots of, and short ways to read them."""

from __future__ import annotations

import asyncio
import atexit
import functools
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from rebut.workspace.snapshot import Snapshot, take
from rebut.workspace.tree import Read, Text, View


def redact(text: str) -> str:
    return text.replace("hunter2", "[secret:x:00000000]")


def git(folder: Path, *args: str, stdin: str = "") -> str:
    assert "--global" not in args, "git would put a new file in the place of /dev/null"
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    env |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    who = ("-c", "user.name=Someone", "-c", "user.email=someone@example.org", "-c", "init.defaultBranch=main")
    calm = ("-c", "maintenance.auto=false")  # no second process after each commit that looks whether to tidy up
    done = subprocess.run(
        ["git", *who, *calm, *args], cwd=folder, env=env, input=stdin, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def commit(folder: Path, message: str = "one") -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def new(folder: Path, files: Mapping[str, str] = MappingProxyType({})) -> Path:
    """A new repository in this folder. The files are not committed."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def submodule(repo: Path, files: Mapping[str, str]) -> Path:
    """A repository with these files, and a commit of `repo` that has it as its submodule `inner`."""
    inner = new(repo / "inner", files)
    git(repo, "update-index", "--add", "--cacheinfo", f"160000,{commit(inner)},inner")
    git(repo, "commit", "-q", "-m", "sub")
    return inner


def copied(build: Callable[[Path], object], folder: Path) -> Path:
    """The repository that a function builds in a folder: built once, copied from then on."""
    shutil.copytree(_built(build), folder, symlinks=True, dirs_exist_ok=True)
    git(folder, "update-index", "-q", "--refresh")  # git knows a file by its number on the disk, too
    return folder


@functools.cache
def _built(build: Callable[[Path], object]) -> Path:
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    build(folder)
    for sample in (folder / ".git/hooks").glob("*.sample"):
        sample.unlink()
    return folder


def small(tmp_path: Path) -> Path:
    """A repository of three files and one commit."""
    return copied(_small, tmp_path / "work")


def _small(folder: Path) -> None:
    cache = "import redis\n\ndef get(key):\n    return redis.get(key)\n"
    commit(new(folder, {"src/cache.py": cache, "README.md": "# Hello\n", ".gitignore": "build/\n*.log\n"}))


def look(
    folder: Path, keep: Path, *paths: str, include: tuple[str, ...] = (), never: tuple[str, ...] = ()
) -> list[Read]:
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
