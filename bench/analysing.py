"""A review by `lint` and `rules` beside the analysers' own time: each run once over the same files, in turn.

What is measured runs them over both sides of a change, side by side, so it may well take less than the floor.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench.table import Row
from rebut.backends.linters import tables
from rebut.backends.linters.backend import Lint
from rebut.backends.rules import Rules
from rebut.core.types import Changed, Finding, Material, ModelSpec, Participant, Request

RUNS = 7
FILES = 20
ROOT = Path(__file__).resolve().parent.parent / "src" / "rebut"


def rows() -> list[Row]:
    made = change()
    measured, floor = [], []
    asyncio.run(_review(made))  # from here on versions are known and files are in memory
    for _ in range(RUNS):
        floor.append(bare(made))
        measured.append(asyncio.run(_review(made)))
    name = f"lint and rules on {FILES} files, both sides, beside one side bare"
    ratio = median(m / f for m, f in zip(measured, floor, strict=True))
    return [Row(name, median(measured) * 1000, "ms", median(floor) * 1000, ratio=ratio)]


def change() -> tuple[Changed, ...]:
    """Files of rebut itself, each with a line more."""
    made: dict[str, Changed] = {}
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        lines = text.count("\n") + 1
        if lines > 50 and not re.search(r"^ *import os$", text, re.M):  # there the line more would be no finding
            made.setdefault(path.name, Changed(path.name, text, f"{text}import os\n", ((lines, lines),)))
    return tuple(made.values())[:FILES]


async def _review(change: tuple[Changed, ...]) -> float:
    began = time.perf_counter()
    lint, rules = Lint(tables.load_analysers({}), os.environ), Rules()
    critic, judge = (Participant(name, ModelSpec(name)) for name in ("lint", "rules"))
    said = await lint.complete(Request("critique", critic, "", schema_name="CodeCritique", material=Material(change)))
    found = tuple(Finding(f"F{n}", "P3", "other", "", ("found",), rule_based=True) for n in range(FILES))
    await rules.complete(Request("judge", judge, "", schema_name="Judgement", material=Material(findings=found)))
    took = time.perf_counter() - began
    if f"{FILES} new" not in said.notes[-1]:
        raise RuntimeError(f"this is not the review that was to be measured: {said.notes}")
    return took


def bare(change: tuple[Changed, ...]) -> float:
    """The same analysers with the same flags, as a shell script would call them."""
    with TemporaryDirectory(prefix="rebut-bench-") as folder:
        for one in change:
            (Path(folder) / one.path).write_text(one.after or "", encoding="utf-8")
        paths = [one.path for one in change]
        began = time.perf_counter()
        for analyser in tables.load_analysers({}).values():
            found = tables.find_executable(analyser, os.environ)
            if found and analyser.reads(paths[0], ""):
                argv = [str(found), *analyser.args, *paths]
                subprocess.run(argv, cwd=folder, env=tables.environment(Path(folder)), stdout=subprocess.DEVNULL)
        return time.perf_counter() - began
