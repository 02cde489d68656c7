"""`python -m bench [FIGURE…]`: measure, and print one table. Each group of figures runs in a process of its own.

The exit code is 0 whether the targets are met or not: a busy machine is no defect. What counts are the ratios; each is
to a floor that was measured in the same run.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from dataclasses import asdict
from importlib import import_module

from bench.table import Row, shown

GROUPS = (
    *("one", "many", "steps", "starting", "replaying", "growth", "prompts", "careless"),
    *("panel", "analysing", "targets", "reviewing", "deadline", "secrets", "viewing", "workers", "batch"),
    "checking",
)


def main(words: list[str]) -> None:
    if words[:1] == ["--rows"]:
        print(json.dumps([asdict(row) for row in import_module(f"bench.{words[1]}").rows()]))
        return
    if unknown := set(words) - set(GROUPS):
        sys.exit(f"no figure {min(unknown)!r}; there are {', '.join(GROUPS)}")
    rows, failed = list[Row](), list[str]()
    for group in words or GROUPS:
        print(f"measuring {group} …", file=sys.stderr, flush=True)
        done = subprocess.run([sys.executable, "-m", "bench", "--rows", group], stdout=subprocess.PIPE)
        if done.returncode:  # what the others measured is still printed
            failed.append(group)
            continue
        rows += [Row(**row) for row in json.loads(done.stdout)]
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores{load}\n")
    print(shown(rows))
    if failed:
        sys.exit(f"not measured: {', '.join(failed)}")


if __name__ == "__main__":
    main(sys.argv[1:])
