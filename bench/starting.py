"""How long `rebut --help` takes beside the interpreter's own start."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from bench.table import Row

RUNS = 25


def rows() -> list[Row]:
    script = Path(sys.executable).with_name("rebut")
    rebut = [str(script)] if script.exists() else [sys.executable, "-m", "rebut"]
    floor = [sys.executable, "-c", "pass"]
    _run([*rebut, "--help"])  # from here on the bytecode is there
    helps, nothing, lists = [], [], []
    for _ in range(RUNS):
        nothing.append(_run(floor))
        helps.append(_run([*rebut, "--help"]))
        lists.append(_run([*rebut, "list"]))
    none = median(nothing) * 1000
    return [
        Row("rebut --help, beside python -c pass", median(helps) * 1000, "ms", none, 4),
        Row("  rebut list", median(lists) * 1000, "ms", none),
    ]


def _run(command: Sequence[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began
