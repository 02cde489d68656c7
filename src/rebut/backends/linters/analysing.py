"""Analysing: installed analysers run over both sides of a change, side by side, and what they found."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rebut.backends.linters.findings import Caught, read
from rebut.backends.linters.sides import Laid, lay
from rebut.backends.linters.tables import Analyser, environment
from rebut.core import process as child
from rebut.core.types import Changed

AT_ONCE = max(2, os.cpu_count() or 1)
BATCH = 100
"""Files to a process: bounds the report of one, and what is lost when it breaks."""


@dataclass(slots=True)
class Side:
    """What was found on one side, and which files were not wholly read and why."""

    laid: list[Laid] = field(default_factory=list)
    caught: list[Caught] = field(default_factory=list)
    unread: dict[int, str] = field(default_factory=dict)
    whole: set[int] = field(default_factory=set)
    """Files that at least one analyser has read."""


async def analysed(
    change: Sequence[Changed],
    installed: Mapping[str, tuple[Analyser, Path]],
    base: Path,
    seconds: float,
    on_spawn: Callable[[int], None],
) -> tuple[Side, Side]:
    """Both sides, the old one first."""
    scratch = base / "scratch"
    scratch.mkdir(mode=0o700)
    readers = [analyser for analyser, _ in installed.values()]
    sides = {name: Side(lay(base / name, change, readers, old=name == "old")) for name in ("old", "new")}
    turn = asyncio.Semaphore(AT_ONCE)
    until = asyncio.get_running_loop().time() + seconds

    async def one(side: Side, folder: Path, analyser: Analyser, path: Path, laid: Sequence[Laid], home: Path) -> None:
        async with turn:
            left = min(analyser.timeout, until - asyncio.get_running_loop().time())
            await _run(side, folder, analyser, path, laid, home, max(0.0, left), on_spawn)

    async with asyncio.TaskGroup() as group:
        for analyser, path in installed.values():
            home = scratch / analyser.name
            home.mkdir(mode=0o700)
            for name, content in analyser.lay.items():
                (home / name).parent.mkdir(parents=True, exist_ok=True)
                (home / name).write_text(content, encoding="utf-8")
            for name, side in sides.items():
                mine = [one for one in side.laid if analyser in one.readers]
                size = 1 if analyser.one_by_one else BATCH
                for start in range(0, len(mine), size):
                    group.create_task(one(side, base / name, analyser, path, mine[start : start + size], home))
    return sides["old"], sides["new"]


async def _run(
    side: Side,
    folder: Path,
    analyser: Analyser,
    path: Path,
    laid: Sequence[Laid],
    home: Path,
    seconds: float,
    on_spawn: Callable[[int], None],
) -> None:
    args = [arg.replace("${folder}", str(home)) for arg in analyser.args]
    argv = [str(path), *args, *(one.name for one in laid)]
    try:
        ended = await child.run(argv, cwd=folder, env=environment(home), seconds=seconds, on_spawn=on_spawn)
    except OSError as error:
        return _lost(side, laid, f"{analyser.name} cannot be started: {error.strerror}")
    if ended.cut:
        why = f"no report within {seconds:g} s" if ended.cut == "time" else "its report is too large"
        return _lost(side, laid, f"{analyser.name}: {why}")
    if ended.code not in analyser.exits:
        return _lost(side, laid, f"{analyser.name}: exit {ended.code}{_said(ended.err)}")
    try:
        caught, unread = read(analyser, ended.out, laid, folder)
    except ValueError as error:
        return _lost(side, laid, f"{analyser.name}: its report cannot be read: {error}")
    side.caught += caught
    for one in laid:
        if one.number in unread:
            side.unread.setdefault(one.number, f"{analyser.name} could not read all of it")
        else:
            side.whole.add(one.number)


def _lost(side: Side, laid: Sequence[Laid], why: str) -> None:
    for one in laid:
        side.unread.setdefault(one.number, why)


def _said(err: str) -> str:
    last = next((line.strip() for line in reversed(err.splitlines()) if line.strip()), "")
    return f": {re.sub(r'[^ -~]+', ' ', last)[:200]}" if last else ""
