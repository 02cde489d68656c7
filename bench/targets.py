"""Resolving a change of 20,000 lines in 200 files, beside plain `git diff` of it; and what removing secrets adds."""

from __future__ import annotations

import asyncio
import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from bench.places import own_home
from bench.table import Row
from rebut.core.redaction import Redactor
from rebut.workspace.targets.resolve import resolve
from rebut.workspace.targets.target import Wanted

FILES, LINES, RUNS = 200, 150, 9
WORDS = (
    *("cache", "session", "user", "order", "price", "total", "index", "value"),
    *("result", "config", "request", "reply", "budget", "limit", "node", "path"),
)


def rows() -> list[Row]:
    with own_home() as workspace:
        _fill(workspace)
        return asyncio.run(_measure(workspace))


def _line(pick: random.Random) -> str:
    name, call, about = (pick.choice(WORDS) for _ in range(3))
    return f"    {name}_{pick.randrange(100)} = {call}({about}, {pick.randrange(1000)})  # {about} of the {name}\n"


def _git(folder: Path, *args: str) -> None:
    who = ("-c", "user.name=Someone", "-c", "user.email=someone@example.org")
    subprocess.run(["git", *who, *args], cwd=folder, check=True, capture_output=True)


def _fill(folder: Path) -> None:
    """Every file gets five hunks of ten lines that were replaced: a hundred lines of diff."""
    pick = random.Random(1)
    texts = {f"src/part{n % 10}/file{n}.py": [_line(pick) for _ in range(LINES)] for n in range(FILES)}
    for name, lines in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("".join(lines))
    _git(folder, "init", "-q")
    _git(folder, "add", "-A")
    _git(folder, "commit", "-q", "-m", "before")
    for name, lines in texts.items():
        for n in range(LINES):
            if n % 30 < 10:
                lines[n] = _line(pick)
        (folder / name).write_text("".join(lines))


async def _measure(folder: Path) -> list[Row]:
    bare, plain, clean = [], [], []
    redactor = Redactor(b"k" * 32)
    for _ in range(RUNS):  # turn by turn, so that all meet the same machine
        bare.append(_bare(folder))
        plain.append(await _timed(folder, lambda text: text))
        clean.append(await _timed(folder, redactor.redact))
    ratio = median(a / b for a, b in zip(plain, bare, strict=True))
    both = median(a / b for a, b in zip(clean, bare, strict=True))
    floor = median(bare) * 1000
    return [
        Row("target of a 20,000-line diff, beside git diff", median(plain) * 1000, "ms", floor, 3, ratio),
        Row("the same, its 3 MB searched for secrets", median(clean) * 1000, "ms", floor, 3, both),
    ]


def _bare(folder: Path) -> float:
    began = time.perf_counter()
    subprocess.run(["git", "diff"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


async def _timed(folder: Path, redact: Callable[[str], str]) -> float:
    began = time.perf_counter()
    found = await resolve(folder, Wanted(scope="uncommitted"), redact)
    took = time.perf_counter() - began
    if sum(last - first + 1 for change in found.changes for first, last in change.added) != FILES * 50:
        raise RuntimeError("the target is not the change that was made")
    return took
