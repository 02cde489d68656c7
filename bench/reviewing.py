"""Whole reviews: a mixed target beside the slower of its two paths alone, and `rebut cross` with `lint` and `rules`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

import rebut
from bench.analysing import FILES, ROOT, bare, change
from bench.places import own_home
from bench.table import Row
from rebut.workspace.targets.target import Wanted

RUNS = 5
SECONDS = 1.0
"""What each path of the mixed target takes its critic."""
TEXT = "# Design\n\nKeep sessions in Redis.\n"
CODE = "```python\nx = 1\n```\n"


def rows() -> list[Row]:
    with own_home() as workspace:
        return [_mixed(workspace), _analysers(workspace)]


def _mixed(workspace: Path) -> Row:
    agrees = {"findings": [], "agrees": True, "agreements": ["It is right."], "suggestions": [], "need": []}
    seats = {}
    for role in ("critic", "judge"):
        file = workspace.parent / f"{role}.json"
        said = {"answers": {"r1/critique*": {"json": agrees, "delay": SECONDS}}, "model": role, "family": role}
        file.write_text(json.dumps(said))
        seats[role] = f"scripted:{file}"

    def timed(kind: str, text: str) -> float:
        began = time.perf_counter()
        outcome = rebut.run("cross", target=Wanted(target=kind, content=text), workspace=workspace, **seats)
        took = time.perf_counter() - began
        if outcome.kind != "keep original" or outcome.spent.calls != (2 if kind == "mixed" else 1):
            raise RuntimeError(f"this is not the review that was to be measured: {outcome.heading}")
        return took

    floor, both = [], []
    for _ in range(RUNS):
        floor.append(max(timed("code", CODE), timed("proposal", TEXT)))
        both.append(timed("mixed", TEXT + CODE))
    ratio = median(a / b for a, b in zip(both, floor, strict=True))
    name = "review of a mixed target, beside its slower path alone"
    return Row(name, median(both) * 1000, "ms", median(floor) * 1000, 1.1, ratio)


def _analysers(workspace: Path) -> Row:
    """The whole command without its start-up, beside the same analysers over the same two sides, called in turn.

    Start-up is the same command with `--dry-run`: `--version` loads next to nothing and would stand for nothing.
    """
    made = change()
    for one in made:
        (workspace / one.path).write_text(one.before or "", encoding="utf-8")
    who = ("-c", "user.name=Someone", "-c", "user.email=someone@example.org")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "before"]):
        subprocess.run(["git", *who, *words], cwd=workspace, check=True)
    for one in made:
        (workspace / one.path).write_text(one.after or "", encoding="utf-8")
    review = ("cross", "--uncommitted", "--critic", "lint", "--judge", "rules", "--again", "--json")
    floor, measured = [], []
    for _ in range(RUNS):
        floor.append(bare(made) + bare(tuple(replace(one, after=one.before) for one in made)))
        began = _command(workspace, *review, "--dry-run")[0]
        took, said = _command(workspace, *review)
        if f", {FILES} new" not in said:
            raise RuntimeError(f"this is not the review that was to be measured: {said}")
        measured.append(took - began)
    ratio = median(m / f for m, f in zip(measured, floor, strict=True))
    name = f"rebut cross, lint and rules, {FILES} files, beyond start-up; beside both sides bare"
    return Row(name, median(measured) * 1000, "ms", median(floor) * 1000, 1.5, ratio)


def _command(workspace: Path, *words: str) -> tuple[float, str]:
    began = time.perf_counter()
    # The command must find this tree's package, whatever folder it runs in.
    env = {**os.environ, "PYTHONPATH": str(ROOT.parent)}
    done = subprocess.run(
        [sys.executable, "-m", "rebut", *words], cwd=workspace, env=env, stdin=subprocess.DEVNULL, capture_output=True
    )
    took = time.perf_counter() - began
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors="replace"))
    return took, done.stdout.decode()
