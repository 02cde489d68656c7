"""Runs checks on copies of both sides, and decides from the results what each check shows."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rebut.core.files import shipped
from rebut.core.scratch import scratch_folder
from rebut.core.text import counted, cut, squeeze
from rebut.domain.checks import MOST_CODE, MOST_OUTPUT, CheckMark, CodeCheck
from rebut.proof import environments, runners, sandbox
from rebut.proof.copies import Copied, configuration_globs, is_configuration, lay
from rebut.proof.environments import Interpreter
from rebut.proof.runners import Runner, SideResult
from rebut.proof.sandbox import Inside, Mount, Sandbox
from rebut.workspace.tree import Workspace

MOST_PRINTED = 80
"""The most characters of a check's output in a line about it."""
AGAIN = 2
"""How often a check that shows something is run again, since its result may depend on time or chance."""


@dataclass
class CheckedSides:
    """What checks run on: the version under discussion, and the one before the change if there is one."""

    new: Workspace | None
    old: Workspace | None = None
    version: str = ""
    """A name for the new side: another name means another copy."""
    changed: Sequence[str] = ()
    """The files of the change."""
    of_project: bool = True
    """Whether what is debated is code of the project: a check that does not depend on it then shows nothing."""


@dataclass
class CheckRunner:
    """Runs the checks of one debate. Copies and interpreters are prepared when the first check needs them."""

    project: Path
    env: Mapping[str, str]
    redact: Callable[[str], str] = str
    tables: Mapping[str, Runner] = field(default_factory=runners.load_runners)
    at_once: int = field(default_factory=lambda: max(1, os.cpu_count() or 1))
    _folder: Path | None = None
    _copies: dict[str, asyncio.Task[Copied]] = field(default_factory=dict)
    _found: dict[str, Interpreter | str] = field(default_factory=dict)
    _turns: asyncio.Semaphore | None = None
    _tried: dict[str, asyncio.Task[str]] = field(default_factory=dict)

    async def available(self, names: Sequence[str] = ()) -> dict[str, str]:
        """The runners for a project with these files, each with what is missing for it here; empty if it works.

        Each is tried in the sandbox.
        """
        fit = [one for one in self.tables.values() if one.fits(names)]
        box = await sandbox.find_sandbox(self.env)
        if isinstance(box, str):
            return {one.name: box for one in fit}
        missing = await asyncio.gather(*(self._missing(box, one) for one in fit))
        return {one.name: why for one, why in zip(fit, missing, strict=True)}

    async def _missing(self, box: Sandbox, runner: Runner) -> str:
        """What is missing for a runner here; empty if it works. Tried once."""
        if runner.name not in self._tried:
            self._tried[runner.name] = asyncio.ensure_future(self._try(box, runner))
        return await self._tried[runner.name]

    async def _try(self, box: Sandbox, runner: Runner) -> str:
        found = self._interpreter(runner.needs)
        if isinstance(found, str):
            return found
        async with self._turn():
            ran = await box.run(runner.argv(found, runner.try_), self._empty(), found.inside, bounds=runner.bounds)
        said = ran.failed or (ran.err or ran.out).strip().rpartition("\n")[2]
        return "" if ran.code == 0 else f"{runner.name} does not work in the sandbox: {said or ran.cut or ran.code}"

    async def run(self, check: CodeCheck, sides: CheckedSides) -> CodeCheck:
        """The check with its mark, the reason, its output and its command."""
        box = await sandbox.find_sandbox(self.env)
        if isinstance(box, str):
            return replace(check, mark="not run", note=box)
        runner = self.tables.get(check.runner)
        if runner is None:
            return replace(check, mark="broken", note=f"no runner is called {check.runner}")
        if not check.code.strip() or len(check.code) > MOST_CODE:
            size = "it has no code" if not check.code.strip() else f"its code is longer than {MOST_CODE:,} characters"
            return replace(check, mark="broken", note=size)
        found = self._interpreter(runner.needs)
        if isinstance(found, str) or (missing := await self._missing(box, runner)):
            return replace(check, mark="not run", note=found if isinstance(found, str) else missing)
        one = _CheckRun(self, box, runner, found, check)
        mark, note, output = await one.marked(sides)
        hints = [note, *self._hints(runner, check, sides)]
        return replace(
            check,
            mark=mark,
            note=self.redact("; ".join(hint for hint in hints if hint)),
            output=shortened(self.redact(output)),
            command=shlex.join(runner.argv(found, runner.command)),
        )

    async def side(self, check: CodeCheck, sides: CheckedSides) -> tuple[str, str]:
        """What a check does on the new side alone (passes, fails or cannot run; empty if it was not run), and why.

        A check that should print something passes if it prints that.
        """
        box, runner = await sandbox.find_sandbox(self.env), self.tables.get(check.runner)
        found = self._interpreter(runner.needs) if runner else f"no runner is called {check.runner}"
        if isinstance(box, str) or isinstance(found, str) or runner is None:
            return "", box if isinstance(box, str) else str(found)
        if missing := await self._missing(box, runner):
            return "", missing
        one = _CheckRun(self, box, runner, found, check)
        copied = await self.copy(sides.new, f"new-{sides.version}")
        got = await one._once(copied.folder)
        if one.failed:
            return "", f"the sandbox could not start: {one.failed}"
        if check.shows == "prints this" and got.side != "cannot run":
            right, printed = one.prints(got), cut(squeeze(self.redact(got.out)), MOST_PRINTED)
            return (
                ("passes", f"it {check.claim}") if right else ("fails", f"it prints {printed!r}, not {check.prints!r}")
            )
        return got.side, self.redact(got.why)

    def _hints(self, runner: Runner, check: CodeCheck, sides: CheckedSides) -> list[str]:
        """What the judge must know about a check besides its mark."""
        hints = ["it reads files or starts programs by itself"] if runner.reads_files(check.code) else []
        left_out = [name for name in sides.changed if is_configuration(name, configuration_globs())]
        if left_out:
            hints.append(f"the change touches {', '.join(left_out[:3])}, which checks do not load")
        read = [name for name in sides.changed if is_configuration(name, shipped("runners.toml")["reported"])]
        if read:
            hints.append(f"the change touches {', '.join(read[:3])}, which decides how code is loaded")
        return hints

    def _interpreter(self, kind: str) -> Interpreter | str:
        if kind not in self._found:
            self._found[kind] = environments.find_interpreter(kind, self.project, self.env, self._own())
        return self._found[kind]

    def _own(self) -> Path:
        if self._folder is None:
            self._folder = scratch_folder(self.env)
            (self._folder / "empty").mkdir()
        return self._folder

    def _empty(self) -> Path:
        return self._own() / "empty"

    def _turn(self) -> asyncio.Semaphore:
        if self._turns is None:
            self._turns = asyncio.Semaphore(self.at_once)
        return self._turns

    async def copy(self, side: Workspace | None, name: str, like: str = "") -> Copied:
        """The copy of a side, made once. `like` names another copy, with which it shares equal files."""
        if side is None:
            return Copied(self._empty(), 0)
        if name not in self._copies:
            self._copies[name] = asyncio.ensure_future(self._lay(side, name, like))
        return await self._copies[name]

    async def _lay(self, side: Workspace, name: str, like: str) -> Copied:
        folder = self._own() / secrets.token_hex(8)  # a check can see the name, which must not reveal its side
        folder.mkdir()
        other = (await self._copies[like]).folder if like in self._copies else None
        return await lay(side, folder, like=other)

    async def close(self) -> None:
        """Remove the copies."""
        under_way = [*self._copies.values(), *self._tried.values()]
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        if self._folder is not None:
            await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)
            self._folder = None
        self._copies.clear()
        self._found.clear()
        self._tried.clear()


@dataclass
class _CheckRun:
    """Runs one check on both sides, and gives it a mark."""

    owner: CheckRunner
    box: Sandbox
    runner: Runner
    interpreter: Interpreter
    check: CodeCheck
    failed: str = ""

    async def marked(self, sides: CheckedSides) -> tuple[CheckMark, str, str]:
        new = await self.owner.copy(sides.new, f"new-{sides.version}")
        if new.beyond:
            return "not run", f"the project is too large to copy: {counted(new.beyond, 'file')} would be missing", ""
        old = await self.owner.copy(sides.old, "old", f"new-{sides.version}") if sides.old else None
        # Without an old side, the other run has no files of the project at all.
        other = old.folder if old is not None and self.check.shows.startswith("fails") else self.owner._empty()
        versus = "on the old version" if other != self.owner._empty() else "without the project's files"
        first = await self._both(new.folder, other)
        mark, note = self._decided(first, versus, sides, has_files=bool(new.files))
        if self.failed:
            return "not run", f"the sandbox could not start: {self.failed}", ""
        if mark == "shown":
            for _ in range(AGAIN):
                again = await self._both(new.folder, other)
                if self._decided(again, versus, sides, has_files=bool(new.files))[0] != mark:
                    mark, note = "broken", "it gives different results when it runs again"
                    break
        return mark, note, _report(first, versus)

    def _decided(
        self, both: tuple[SideResult, SideResult], versus: str, sides: CheckedSides, *, has_files: bool
    ) -> tuple[CheckMark, str]:
        """The mark and the reason that follow from a run on the new version and the run that it is compared with."""
        new, other = both
        shows, no_old = self.check.shows, sides.old is None
        if new.side == "cannot run":
            return "broken", new.why
        if shows == "prints this":
            if not self.prints(new):
                return "refuted", "it prints something else"
            return self._independent(self.prints(other), sides, has_files, "prints the same")
        if shows == "passes on the new version":
            if new.side == "fails":
                return "refuted", "it fails on the new version"
            return self._independent(other.side == "passes", sides, has_files, "passes")
        if new.side == "passes":
            return "refuted", "it passes on the new version"
        if shows == "fails on the new version" or no_old:
            if other.side == "fails" and _alike(new.shown, other.shown):
                return "refuted", f"it fails in the same way {versus}"
            said = {"passes": "passes", "fails": "fails in another way"}.get(other.side, "cannot run")
            return "shown", f"it fails on the new version, and {said} {versus}"
        if other.side == "cannot run":
            return "broken", f"on the old version: {other.why}"
        if other.side == "fails":
            return "refuted", "it fails on the old version as well"
        return "shown", "it fails on the new version and passes on the old one"

    def prints(self, one: SideResult) -> bool:
        """Whether a run printed the text that the check expects."""
        return one.out.strip() == self.check.prints.strip()

    def _independent(self, same: bool, sides: CheckedSides, has_files: bool, what: str) -> tuple[CheckMark, str]:
        """The mark of a check that does what it says. If it does the `same` without the project, it shows nothing."""
        if not same:
            return "shown", f"it {what.partition(' ')[0]} as it should"
        if sides.of_project and has_files:
            return "refuted", f"it {what} without the project's files as well, so it shows nothing about them"
        return "shown", f"it {what} without the project's files as well"

    async def _both(self, new: Path, other: Path) -> tuple[SideResult, SideResult]:
        """Run the check on both sides at the same time, so that the clock does not tell it which side it is on."""
        first, second = await asyncio.gather(self._once(new), self._once(other))
        return first, second

    async def _once(self, folder: Path) -> SideResult:
        word = secrets.token_hex(16)
        code = self.owner._own() / f"check-{word}"
        code.write_text(self.check.code, encoding="utf-8", errors="replace")
        code.chmod(0o644)
        inside = self.interpreter.inside + Inside((Mount(code, f"{sandbox.WORK}/{self.runner.file}"),))
        argv = self.runner.argv(self.interpreter, self.runner.command)
        async with self.owner._turn():
            ran = await self.box.run(argv, folder, inside, bounds=self.runner.bounds, feed=f"{word}\n".encode())
        code.unlink(missing_ok=True)
        self.failed = self.failed or ran.failed
        return self.runner.result(ran, word)


def _alike(a: str, b: str) -> bool:
    """Whether two outputs are the same, apart from numbers such as times and addresses."""
    plain = [re.sub(r"0x[0-9a-f]+|\d+", "0", text) for text in (a, b)]
    return plain[0] == plain[1]


def _report(both: tuple[SideResult, SideResult], versus: str) -> str:
    new, other = both
    parts = [f"on the new version: {new.side}"]
    parts += [new.shown.strip()] if new.shown.strip() else []
    parts.append(f"{versus}: {other.side}")
    return "\n".join(parts)


def shortened(text: str, most: int = MOST_OUTPUT) -> str:
    """The beginning and the end of a text, at most so many bytes."""
    body = text.encode("utf-8", "replace")
    if len(body) <= most:
        return text
    gap = "\n… left out …\n"
    half = (most - len(gap.encode())) // 2
    return body[:half].decode("utf-8", "ignore") + gap + body[-half:].decode("utf-8", "ignore")
