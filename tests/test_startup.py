"""What each command may load: third-party packages cost most of the time that a command takes to start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Required

import pytest

from rebut.cli import pydantic_loader

PYDANTIC = {"pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection"}
FOLDERS = set() if sys.platform == "linux" else {"platformdirs"}
BUDGET: dict[str, set[str]] = {
    "--help": set(),
    "help all": set(),
    "--version": set(),
    "list": {"click"},
    "check PLAN.md": {"click", *FOLDERS},
    "": {"click", *FOLDERS},
    "duel Redis? --proposer scripted:a.json --challenger scripted:b.json": {"asyncio", "click", *FOLDERS, *PYDANTIC},
}
"""Command → the packages that it may load, and asyncio, which takes as long as the largest of them.

A duel is stopped when its first call begins: what is not needed before is loaded while a model answers.
"""
PROBE = """
import json, sys, typing
from rebut.cli import main

TypedDict = typing.TypedDict

def told():
    assert typing.TypedDict is TypedDict, "it is replaced only while pydantic is loaded"
    known = (set(sys.stdlib_module_names) | set(sys.builtin_module_names) | {"rebut"}) - {"asyncio"}
    tops = {name.partition(".")[0] for name in sys.modules} - known
    print(json.dumps(sorted(t for t in tops if not t.startswith("_"))), file=sys.stderr, flush=True)

def stop(self, request):
    told()
    import os
    os._exit(0)

if len(sys.argv) > 1 and sys.argv[1] == "duel":
    import rebut.backends.scripted as scripted
    scripted.Scripted.complete = stop
try:
    main()
finally:
    told()
"""


@pytest.mark.parametrize("words", BUDGET, ids=lambda words: words.partition(" ")[0] or "alone")
def test_a_command_loads_only_the_packages_of_its_budget(words: str, tmp_path: Path) -> None:
    (tmp_path / "PLAN.md").write_text("See `app.py:1`.\n")
    (tmp_path / "app.py").write_text("x = 1\n")
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"model": name, "family": name, "answers": {}}))
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "REBUT_HOME": str(tmp_path / "state")}
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *words.split()], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    loaded = set(json.loads(done.stderr.strip().splitlines()[-1]))
    assert loaded <= BUDGET[words], f"loads {', '.join(sorted(loaded - BUDGET[words]))}, which it may not"
    assert ("click" in loaded) == bool(BUDGET[words]), done.stderr  # else nothing ran that could have loaded anything


def test_a_plain_dictionary_takes_the_place_of_a_typed_one() -> None:
    class Row(pydantic_loader._PlainDict, total=False):
        """As pydantic_core defines and makes them."""

        name: Required[str]

    made = Row(name="x")
    assert type(made) is dict and made == {"name": "x"}
