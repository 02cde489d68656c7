"""The functions that do from Python what `rebut check` and the short commands do."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

import rebut
from tests.console import REBUT

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "check"


def test_check_gives_what_the_command_gives() -> None:
    # C13
    plan = EXAMPLE / "PLAN.md"
    words = [str(REBUT), "check", str(plan), "--root", str(EXAMPLE), "--json"]
    told = json.loads(subprocess.run(words, capture_output=True, text=True).stdout)
    checked = rebut.check(plan.read_text(), root=EXAMPLE, folder=plan.parent)
    assert checked.counts == told["counts"] == {"found": 3, "moved": 1, "absent": 4}
    rows = [(c.line, c.place, c.quote, c.mark, c.note, c.moved_to) for c in checked.citations]
    assert rows == [
        tuple(row[n] for n in ("line", "place", "quote", "mark", "note", "moved_to")) for row in told["citations"]
    ]
    assert not checked.ok and told["exit"] == 1


def test_check_is_ok_unless_a_citation_is_absent_and_its_result_does_not_change(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("x = 1\ny = 2\n")
    checked = rebut.check('See app.py:1 "y = 2", and https://example.invalid/a.', root=str(tmp_path))
    assert checked.ok and set(checked.counts) == {"moved", "uncheckable"}
    assert checked.citations[0].moved_to == "app.py:2"
    assert rebut.check("Nothing is cited.", root=tmp_path) == rebut.CheckedText(())
    with pytest.raises(FrozenInstanceError):
        checked.citations[0].line = 7  # type: ignore[misc]
    with pytest.raises(rebut.UsageError, match="there is no folder"):
        rebut.check("app.py:1", root=tmp_path / "nowhere")


def test_check_in_a_running_loop_says_what_to_write_there(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("x = 1\n")

    async def in_a_loop() -> rebut.CheckedText:
        with pytest.raises(rebut.UsageError, match=r"await rebut\.check_async"):
            rebut.check("app.py:1", root=tmp_path)
        return await rebut.check_async("app.py:1", root=tmp_path)

    assert asyncio.run(in_a_loop()) == rebut.check("app.py:1", root=tmp_path)


def test_importing_rebut_loads_nothing_and_check_needs_no_loop(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("x = 1\n")
    code = """
import sys
before = set(sys.modules)
import rebut
new = {name.partition(".")[0] for name in set(sys.modules) - before}
assert not [n for n in sys.modules if n.startswith("rebut.")], sys.modules
assert "asyncio" not in new, new
assert rebut.check("app.py:1").ok
assert "asyncio" not in sys.modules and "pydantic" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
