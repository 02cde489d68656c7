"""The examples that are shipped: each shows what it promises."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import duels
import pytest

from rebut.cli.app import enter
from rebut.record import sessions
from tests.changes import asked, changed, critique, rules_of

EXAMPLES = Path(__file__).parents[2] / "examples"
REVIEW = EXAMPLES / "review"


def shop(folder: Path) -> list[str]:
    """Lay the example and give the paths that its change touches."""
    subprocess.run([sys.executable, str(REVIEW / "prepare.py"), str(folder)], check=True)
    told = subprocess.run(
        ["git", "-C", str(folder), "diff", "--name-only"], capture_output=True, text=True, check=True
    ).stdout
    return told.split()


def test_the_planted_defects_are_found_and_nothing_that_was_there_before(tmp_path: Path) -> None:  # J7
    paths = shop(tmp_path / "shop")
    assert paths == ["shop/export.py", "tools/backup.sh"]
    both = {path: [(REVIEW / side / path).read_text() for side in ("base", "changed")] for path in paths}
    change = [changed(path, before, after) for path, (before, after) in both.items()]
    found = critique(*change)
    planted = re.findall(r"(?:ruff|bandit|shellcheck|,) ?(?:bandit )?([A-Z]+\d+)", (REVIEW / "README.md").read_text())
    assert len(set(planted)) == 11 and set(planted) <= set(rules_of(found))
    with_fix = {rule for rule, one in zip(rules_of(found), found.findings, strict=True) if one.fix}
    assert {"F401", "F632", "SC2164", "SC2086"} <= with_fix
    quotes = [cite.quote for one in found.findings for cite in one.evidence]
    assert quotes and not any("import json" in q.split("\n")[0] or "cp $1" in q for q in quotes)
    assert re.search(r"\d+ raised, 3 already there, 0 outside the change, \d+ new", asked(*change).notes[-1])


def test_the_same_repository_is_laid_every_time(tmp_path: Path) -> None:  # C3
    heads = set()
    for name in ("one", "two"):
        shop(tmp_path / name)
        told = subprocess.run(["git", "-C", str(tmp_path / name), "rev-parse", "HEAD"], capture_output=True, check=True)
        heads.add(told.stdout)
    assert len(heads) == 1
    again = subprocess.run(
        [sys.executable, str(REVIEW / "prepare.py"), str(tmp_path / "one")], capture_output=True, text=True
    )
    assert again.returncode == 1 and "usage" in again.stderr, "it writes into no folder that holds something"


def test_the_plan_has_right_moved_and_wrong_citations(capsys: pytest.CaptureFixture[str]) -> None:  # C11
    root = EXAMPLES / "check"
    assert enter(["check", str(root / "PLAN.md"), "--root", str(root), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["counts"] == {"found": 3, "moved": 1, "absent": 4}


@pytest.fixture
def debate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """What `make debate` runs, with scripted seats in the place of the model, whose file tests do not have."""
    spec = importlib.util.spec_from_file_location("debate", EXAMPLES / "debate.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert [
        *(w for seat in duels.seats(tmp_path) for w in (f"--{seat}", "local")),
        "--allow-same-model",
    ] == module.SEATS
    seats = duels.seats(tmp_path, rounds=1)
    monkeypatch.setattr(module, "SEATS", [word for seat, text in seats.items() for word in (f"--{seat}", text)])
    return module


def test_make_debate_begins_with_the_real_debate_in_short_and_ends_with_the_demo(
    debate: ModuleType, capfd: pytest.CaptureFixture[str]
) -> None:
    assert debate.main() == 0
    out, _ = capfd.readouterr()
    titles = [line for line in out.splitlines() if re.match(r"\d  ", line)]
    assert [title[0] for title in titles] == ["1", "2", "3", "4"]
    first, check, review, demo = (part for part in re.split(r"^\d  .*$", out, flags=re.M)[1:])
    assert len(first.strip().splitlines()) <= 8 and max(map(len, first.splitlines()[3:])) <= 80, first
    assert "proposer, challenger, judge: " in first and "shows the machinery only" in first
    [id] = re.findall(r"rebut show (\w{4})", first)
    assert any(one.id.startswith(id) for one in sessions.sessions(sessions.home())), "the record is still there"
    assert "4 absent" in check and "bandit B602" in review
    assert "VERDICT  challenger" in demo and "RECOMMENDATION" in demo
    assert demo.rstrip().endswith(debate.NEXT) and max(map(len, debate.NEXT.splitlines())) <= 80
    assert "rebut models get" in debate.NEXT


def test_make_debate_stops_where_a_step_fails(
    debate: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(debate, "SEATS", ["--proposer", "nosuch", "--challenger", "human"])
    assert debate.main() == 2
    assert "that ended with 2, which it should not: " in capfd.readouterr().err
