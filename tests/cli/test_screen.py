"""Points while they are written, as people see them: on a terminal of any width, said plainly, and not in a pipe."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import console, duels

REPLICA = "No replica: a failover loses every session, and the runbook says nothing about it."
POINT = {"text": REPLICA, "evidence": [duels.cite("src/session.py:2", "ttl = 3600")]}
ENDLESS = "and so on " * 4000
"""Long enough that an answer which ends in it is still being written when somebody has seen enough."""
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def command(folder: Path, said: dict[str, Any] | None = None, **common: Any) -> list[str]:
    seats = duels.seats(folder, said, **common)
    return ["duel", "Redis?", *(word for role, spec in seats.items() for word in (f"--{role}", spec))]


def unfinished(folder: Path) -> list[str]:
    """A duel whose challenger has said its first point, and goes on for as long as anybody listens."""
    flaws = [duels.flaw("x") | POINT, duels.flaw(ENDLESS)]
    return command(folder, {"r1/challenge@challenger": {"json": duels.challenge(flaws=flaws), "stream": 0.02}})


class Steps:
    """Types each thing when its words have come since the one before."""

    def __init__(self, *steps: tuple[str, bytes]) -> None:
        self.steps, self.at = list(steps), 0

    def __call__(self, seen: str) -> bytes:
        if not self.steps or not (found := re.search(self.steps[0][0], seen[self.at :], re.S)):
            return b""
        self.at += found.end()
        return self.steps.pop(0)[1]


def enough(words: str) -> Callable[[str], bytes]:
    """Ctrl-C when these words have come, and once more."""
    return Steps((words, b"\x03"), ("Ctrl-C again", b"\x03"))


@pytest.mark.parametrize("columns", [50, 80, 100])
def test_a_point_is_on_the_terminal_with_its_mark_while_its_answer_goes_on(
    workspace: Path, tmp_path: Path, columns: int
) -> None:
    # C14, C11
    seen = console.at_a_terminal(*unfinished(tmp_path), columns=columns, keys=enough(r"P1 .*session\.py:2 found"))
    assert seen.code == 130, seen.text
    rows = [row for row in seen.text.split("\n") if "P1" in row and "found" in row]
    assert rows and all(len(row) <= columns for row in rows)
    assert all(row.lstrip().startswith("P1  No replica") for row in rows)
    assert "{" not in seen.text and '":' not in seen.text, "no raw JSON"
    assert "points" not in seen.text, "the turn was never over"


def test_claims_and_points_stay_below_their_turn_as_they_are_on_record(workspace: Path, tmp_path: Path) -> None:
    # C14
    flaws = [duels.flaw(f"Flaw number {n}.", n, severity="P3") for n in range(1, 8)]
    said = {"r1/challenge@challenger": duels.challenge(flaws=[duels.flaw("x") | POINT, *flaws])}
    seen = console.at_a_terminal(*command(tmp_path, said), columns=100)
    assert seen.code == 0, seen.text
    lines = [line.rstrip() for line in seen.text.split("\n")]
    turn = next(n for n, line in enumerate(lines) if "8 points: 1 P1, 7 P3" in line)
    below = lines[turn + 1 : turn + 7]
    assert re.fullmatch(r"      P1  No replica: .* src/session\.py:2 found", below[0])
    assert [line.split()[0] for line in below[1:]] == ["P3", "P3", "P3", "P3", "and"]
    assert below[-1].strip() == "and 3 more"
    assert any(re.fullmatch(r"      Redis is always faster\. +unsupported", line) for line in lines)


def test_with_plain_each_point_is_one_line_as_it_comes_and_nothing_moves(workspace: Path, tmp_path: Path) -> None:
    # C14: screen readers
    line = f"challenger says: P1, {REPLICA.rstrip('.')}, src/session.py:2 found"
    seen = console.at_a_terminal(*unfinished(tmp_path), "--plain", columns=50, keys=enough(re.escape(line)))
    assert seen.code == 130, seen.text
    assert "\x1b" not in seen.raw
    assert seen.text.count(line) == 1
    spoken = {row for row in seen.text.split("\n") if row.startswith("proposer says: ")}
    # A turn may be over before what it says was looked up: then it stands below the turn, and was not said before.
    assert spoken <= {
        "proposer says: Sessions must survive a restart, src/session.py:2 found",
        "proposer says: Redis is always faster, unsupported",
    }
    assert seen.text.count("Sessions must survive a restart") == 1, "not once more below its turn"


def test_without_colour_points_have_none(workspace: Path, tmp_path: Path) -> None:
    words = unfinished(tmp_path)
    seen = console.at_a_terminal(*words, env={"NO_COLOR": "1"}, keys=enough(r"P1 .*session\.py:2 found"))
    assert seen.code == 130
    assert not COLOUR.search(seen.raw)


def test_a_terminal_that_cannot_move_gets_the_points_with_the_turn(workspace: Path, tmp_path: Path) -> None:
    said = {"r1/challenge@challenger": duels.challenge(flaws=[duels.flaw("x") | POINT])}
    seen = console.at_a_terminal(*command(tmp_path, said), env={"TERM": "dumb"})
    assert seen.code == 0
    assert "\x1b" not in seen.raw
    assert len(re.findall(r"^      P1  No replica.* found$", seen.text, re.M)) == 1


def test_a_pipe_gets_the_turns_alone(workspace: Path, tmp_path: Path) -> None:
    # C14: a log has the counts, and the ending has the points
    said = {"r1/challenge@challenger": duels.challenge(flaws=[duels.flaw("x") | POINT])}
    ended = console.piped(*command(tmp_path, said), cwd=workspace)
    assert ended.returncode == 0, ended.stderr
    assert "1 point: 1 P1; citations: 1 found" in ended.stderr
    assert "No replica" not in ended.stderr and "Sessions must survive" not in ended.stderr
    assert "\x1b" not in ended.stderr


def test_json_is_json_alone_on_a_terminal_too(workspace: Path, tmp_path: Path) -> None:
    # C14
    seen = console.at_a_terminal(*command(tmp_path), "--json", columns=500)
    assert json.loads(seen.raw)["exit"] == 0


def test_rows_that_move_stay_in_their_rows_where_the_terminal_has_no_ellipsis(workspace: Path, tmp_path: Path) -> None:
    # C14: one that is spelt out is longer than its row, which would then stay behind with each refresh
    # Three dots take two columns more, which the mark loses while the row moves.
    seen = console.at_a_terminal(
        *unfinished(tmp_path), env={"PYTHONIOENCODING": "ascii"}, keys=enough(r"P1 .*session\.py:2 fou")
    )
    assert seen.code == 130 and seen.text.isascii() and "\\u2026" not in seen.text


def test_what_is_said_on_a_point_that_nobody_raised_does_not_count_as_conceded(workspace: Path, tmp_path: Path) -> None:
    # C10: it is kept as unmatched, and the line of its turn must not read as if two points were given up
    told = duels.defense(2, {"D1": "concede", "D2": "rebut", "D8": "concede"})
    done = console.piped(*command(tmp_path, {"r2/defense@proposer": told}))
    assert "1 conceded, 1 rebutted, 1 about an unknown point" in " ".join(done.stderr.split())
