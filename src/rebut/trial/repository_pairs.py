"""Pairs from the user's own repository: its last small changes, and defects in them that its own tests see.

The tests run in the sandbox, on a copy of the repository that holds only what may be sent.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

from rebut.core import files
from rebut.core.errors import UsageError
from rebut.core.frozen import frozen
from rebut.core.scratch import temporary_folder
from rebut.core.text import counted, cut
from rebut.proof import environments, sandbox
from rebut.proof.copies import lay
from rebut.proof.environments import Interpreter
from rebut.proof.sandbox import WORK, Bounds, Inside, Mount, Ran, Sandbox
from rebut.trial.operators import defects
from rebut.trial.pairs import DefectPair, changed_lines, ordered
from rebut.workspace.git import Git, GitFailed, refusal
from rebut.workspace.snapshot import take
from rebut.workspace.tree import Text, View

FEWEST_LINES = 40
"""The fewest lines of a file: in a shorter one, any line is near the defect."""
SMALL = range(4, 81)
"""Lines of a change that is small."""
COMMITS = 6
"""How many of the last commits of a file may make up its change."""
LARGEST = 200_000
MOST_TRIED = 12
"""Defects that are tried for each pair that is wanted."""
NO_TESTS = 5
"""The exit code of pytest if it finds no test."""
SECONDS = 120.0
LEFT_OUT = ("__pycache__", ".venv", "venv", "node_modules", "*.egg-info")
TESTS = ("test_*.py", "*_test.py", "tests.py", "conftest.py", "setup.py")


@frozen
class OwnPairs:
    """The pairs of a repository."""

    pairs: tuple[DefectPair, ...]
    source: str
    notes: tuple[str, ...] = ()


@dataclass
class RepositoryPairs:
    """Finds the pairs of one repository. The file `kept` stores which defects were tried, so none is run again."""

    repository: Path
    env: Mapping[str, str]
    door: Callable[[str], str]
    never: tuple[str, ...]
    kept: Path
    seed: int
    progress: Callable[[str], None] = lambda text: None
    head: str = ""
    _seen: dict[str, bool] = field(default_factory=dict)

    async def find(self, count: int) -> OwnPairs:
        """As many pairs as wanted, or as there are. UsageError if there are none, with the reason."""
        box = await sandbox.find_sandbox(self.env)
        if isinstance(box, str):
            raise UsageError(f"your tests cannot run: {box}", "Without --run-checks, the pairs of rebut are taken.")
        git = await Git.open(self.repository)
        if git is None:
            why, hint = await refusal(self.repository)
            raise UsageError(why or f"{self.repository} is not a git repository", hint or OTHERWISE)
        try:
            with temporary_folder() as folder:
                return await self._find(count, git, box, folder)
        finally:
            await git.close()

    async def _find(self, count: int, git: Git, box: Sandbox, folder: Path) -> OwnPairs:
        self.head = await git.commit("HEAD")
        if not self.head:
            raise UsageError(f"{self.repository} has no commit", OTHERWISE)
        keep, copy, spare = folder / "snapshot", folder / "copy", folder / "spare"
        for one in (keep, copy, spare):
            one.mkdir()
        view = View(await take(git.top, keep, self.door, never=self.never), keep, self.door)
        try:
            candidates = ordered(await self._candidates(git, view), self.seed)
            if not candidates:
                raise UsageError(
                    f"{git.top} has no small change of a Python file of {FEWEST_LINES} lines or more", OTHERWISE
                )
            copied = await lay(view, copy, without=LEFT_OUT)
        finally:
            await view.close()
        if copied.beyond:
            raise UsageError(f"{git.top} is too large to copy", OTHERWISE)
        found = environments.find_interpreter("python", git.top, self.env, spare)
        if isinstance(found, str):
            raise UsageError(found, OTHERWISE)
        tests = await TestRun.prepared(box, found, copy, spare)
        self._load()
        pairs = await self._killed(candidates, tests, count)
        if not pairs:
            tried = counted(len(self._seen), "defect was", "defects were")
            raise UsageError(f"your tests see none of the defects that were planted ({tried} tried)", OTHERWISE)
        notes = (f"your tests see {sum(self._seen.values())} of {len(self._seen)} planted defects that were tried",)
        return OwnPairs(tuple(pairs), f"your repository at {self.head[:10]}", notes)

    async def _candidates(self, git: Git, view: View) -> list[DefectPair]:
        out = list[DefectPair]()
        for path in await view.names():
            if not path.endswith(".py") or is_test(path):
                continue
            after = await _text(view, path)
            if after is None or len(after) > LARGEST or after.count("\n") < FEWEST_LINES:
                continue
            before = await self._before(git, path, after)
            if before is not None:
                found = defects(after, changed_lines(before, after))
                out += [DefectPair(path, before, after, one) for one in found]
        return out

    async def _before(self, git: Git, path: str, after: str) -> str | None:
        """The file before its last commits, as few of them as make a small change; None if none do."""
        said = await git.run("log", f"-{COMMITS}", "--format=%H", "--", f":(top,literal){path}")
        for commit in said.decode().split():
            try:
                data = await git.run("show", f"{commit}^:{path}", cap=LARGEST * 4)
            except GitFailed:  # its first commit, or the first of a shallow clone
                return None
            before = self.door(data.decode("utf-8", "replace"))
            size = len(changed_lines(before, after))
            if size in SMALL:
                return before
            if size >= SMALL.stop:
                return None
        return None

    async def _killed(self, candidates: list[DefectPair], tests: TestRun, count: int) -> list[DefectPair]:
        """The first candidates on which the tests fail. A few are tried at once, and their results are stored."""
        turns = asyncio.Semaphore(max(1, (os.cpu_count() or 2) - 1))
        wanted = candidates[: count * MOST_TRIED]
        pairs = list[DefectPair]()

        async def tried(pair: DefectPair) -> bool:
            async with turns:
                if pair.id not in self._seen:
                    self._seen[pair.id] = await tests.fail_on(pair)
                return self._seen[pair.id]

        while wanted and len(pairs) < count:
            group, wanted = wanted[: count - len(pairs)], wanted[count - len(pairs) :]
            self.progress(f"your tests: {len(pairs)} of {count} pairs, {len(self._seen)} defects tried")
            try:
                killed = await asyncio.gather(*map(tried, group))
            finally:
                self._save()
            pairs += [pair for pair, dead in zip(group, killed, strict=True) if dead]
        return pairs

    def _load(self) -> None:
        try:
            stored = json.loads(files.read(self.kept))
        except (OSError, ValueError):
            return
        if stored.get("head") == self.head:
            self._seen = {str(name): bool(dead) for name, dead in stored["defects"].items()}

    def _save(self) -> None:
        row = {"head": self.head, "defects": self._seen}
        files.write(self.kept, json.dumps(row).encode(), 0o600)


async def _text(view: View, path: str) -> str | None:
    raw = await view.raw(path)
    if raw is not None:
        return raw
    read = await view.read(path)
    return "".join(f"{line}\n" for line in read.lines) if isinstance(read, Text) else None


OTHERWISE = "Without --run-checks, the pairs that come with rebut are taken."


def is_test(path: str) -> bool:
    name = path.rpartition("/")[2]
    folders = path.split("/")[:-1]
    return any(fnmatchcase(name, glob) for glob in TESTS) or any(one in ("test", "tests", "testing") for one in folders)


@dataclass
class TestRun:
    """Runs the tests of a copy in the sandbox, with one file replaced."""

    __test__ = False

    box: Sandbox
    inside: Inside
    argv: tuple[str, ...]
    copy: Path
    spare: Path
    bounds: Bounds

    @classmethod
    async def prepared(cls, box: Sandbox, found: Interpreter, copy: Path, spare: Path) -> TestRun:
        """A run with the command of the tests, which must pass without any defect."""
        python = found.names["python"]
        # The tests are the user's own, so their plugins and configuration apply. The package is imported from the copy.
        own = Inside(env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "", "PYTHONPATH": f"{WORK}:{WORK}/src"})
        made = cls(box, found.inside + own, (), copy, spare, Bounds(seconds=SECONDS))
        has_pytest = (await made._run((python, "-c", "import pytest"))).code == 0
        how = ("pytest", "-x", "-q", "-p", "no:cacheprovider") if has_pytest else ("unittest", "discover", "-q")
        made.argv = (python, "-m", *how)
        ran = await made._run(made.argv)
        if ran.failed:
            raise UsageError(f"the sandbox could not start: {ran.failed}", OTHERWISE)
        if ran.code == NO_TESTS or "Ran 0 tests" in ran.err:
            raise UsageError("your repository has no tests that Python finds", OTHERWISE)
        if ran.code != 0:
            said = [line for line in f"{ran.out}\n{ran.err}".splitlines() if line.strip()][-1:] or [ran.cut]
            why = f"it took longer than {SECONDS:.0f} s" if ran.cut == "time" else cut(said[0], 200)
            raise UsageError(f"your tests fail in the sandbox before any defect is planted: {why}", OTHERWISE)
        # A defect may loop for ever: several times what the tests take without one is long enough.
        made.bounds = replace(made.bounds, seconds=max(10.0, 5 * ran.seconds))
        return made

    async def fail_on(self, pair: DefectPair) -> bool:
        file = self.spare / f"{pair.id}.py"
        file.write_text(pair.defect.text, encoding="utf-8")
        file.chmod(0o644)
        try:
            ran = await self._run(self.argv, Mount(file, f"{WORK}/{pair.path}"))
        finally:
            file.unlink(missing_ok=True)
        return not ran.failed and (ran.cut == "time" or ran.code in (1, 2))

    async def _run(self, argv: tuple[str, ...], *mounts: Mount) -> Ran:
        return await self.box.run(argv, self.copy, self.inside + Inside(mounts), bounds=self.bounds)
