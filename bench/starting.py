"""How much CPU whole commands take, beside the interpreter's own start: the best of five, children included."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench import said
from bench.table import Row

RUNS = 5
SESSIONS = 5_000
PLAN = '# Plan\n\nThe timeout is in `app.py:1` "timeout = 30".\n'
DUEL = {
    "pro": {"r1/opening@proposer": {"json": said.opening()}, "r2/defense@proposer": {"json": said.defense(2)}},
    "con": {"r1/challenge@challenger": {"json": said.challenge()}, "r2/*@challenger": {"json": said.follow_up(2)}},
    "judge": {"*@judge": {"json": said.verdict()}},
}


def rows() -> list[Row]:
    script = Path(sys.executable).with_name("rebut")
    rebut = [str(script)] if script.exists() else [sys.executable, "-m", "rebut"]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        seats = _workspace(folder)
        duel = ["duel", "Keep the timeout?", "--rounds", "2", "--allow-same-model", *seats]
        commands = {
            "rebut --help": (["--help"], 4),
            "rebut check FILE": (["check", "PLAN.md"], 8),
            "rebut": ([], 10),
            "rebut list": (["list"], 7),
            "rebut duel, two rounds, models that answer at once": (duel, 26),
        }
        _cpu([*rebut, *duel], folder)  # from here on the bytecode is there, and a session to list
        floor = _best([sys.executable, "-c", "pass"], folder)
        rows = [
            Row(f"CPU of {name}, beside python -c pass", _best([*rebut, *words], folder), "ms", floor, target)
            for name, (words, target) in commands.items()
        ]
        _multiply(folder / "state/sessions", SESSIONS)
        listing = _best([*rebut, "list"], folder)
        many = f"CPU of rebut list, {SESSIONS:,} sessions, beside python -c pass"
        return [*rows, Row(many, listing, "ms", floor, 70)]


def _workspace(folder: Path) -> list[str]:
    """A small folder with a plan, and scripts for two models. Returns the seats."""
    (folder / "app.py").write_text("timeout = 30\n")
    (folder / "PLAN.md").write_text(PLAN)
    for name, answers in DUEL.items():
        (folder / f"{name}.json").write_text(json.dumps({"model": name, "family": name, "answers": answers}))
    return ["--proposer", "scripted:pro.json", "--challenger", "scripted:con.json", "--judge", "scripted:judge.json"]


def _multiply(home: Path, count: int) -> None:
    """Copies of the session that is there."""
    one = next(home.iterdir())
    for n in range(count):
        name = "".join("abcdefghij"[int(digit)] for digit in f"{n:08}")
        (home / name).mkdir()
        shutil.copy(one / "journal.jsonl", home / name)


def _best(command: Sequence[str], folder: Path) -> float:
    return min(_cpu(command, folder) for _ in range(RUNS))


def _cpu(command: Sequence[str], folder: Path) -> float:
    """Milliseconds of CPU that a process and those that it waited for took."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "REBUT_HOME": str(folder / "state")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
