"""A caller in every seat of every protocol: a session played by a script through exit code 4 and `rebut answer`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import crosses
import duels
import panels
import pytest
import revisions

from rebut.cli.app import enter
from rebut.record import sessions

MOST_TURNS = 40
TURNS = [
    ("duel", "proposer", 2),
    ("duel", "challenger", 2),
    ("duel", "judge", 1),
    ("cross", "critic", 2),
    ("cross", "judge", 3),
    ("revise plan", "author", 5),
    ("revise plan", "synthesizer", 1),
    ("revise review", "author", 5),
    ("revise review", "synthesizer", 1),
    ("panel", "lead", 3),
    ("panel", "challenger", 3),
    ("panel", "judge", 2),
]


def debate(kind: str, folder: Path, workspace: Path) -> tuple[list[str], dict[str, list[str]], dict[str, Any]]:
    """The words that start it, its seats by role, and what each question is answered with."""
    if kind == "duel":
        said, words = duels.answers(2), ["duel", "Redis or not?"]
        folder.mkdir()
        sat: dict[str, Any] = duels.seats(folder, said)
    elif kind == "cross":
        (workspace / "api").mkdir()
        (workspace / "api/orders.py").write_text(crosses.AFTER)
        said = {
            "r1/critique@critic": crosses.critique(crosses.raised()),
            "r1/judgement@judge": crosses.judgement("D"),
            "r2/critique@critic": crosses.critique(crosses.raised(same_as="F1")),
            "r2/judgement@judge": crosses.judgement("C"),
            "r2/version.code@judge": crosses.patch(),
        }
        words, sat = ["cross", "--max-rounds", "2"], crosses.seats(folder, said)
    elif kind == "panel":
        said, words = panels.tradeoff(2), ["panel", panels.TOPIC, "--max-rounds", "2"]
        sat = panels.seats(folder, said)
    else:
        stage = kind.partition(" ")[2]
        revisions.change(workspace)
        said, words = revisions.answers(2, stage), ["revise", stage, revisions.TOPIC]
        sat = revisions.seats(folder, said)
    return words, {role: [one] if isinstance(one, str) else list(one) for role, one in sat.items()}, said


def flags(seats: dict[str, list[str]]) -> list[str]:
    return [word for role, specs in seats.items() for spec in specs for word in (f"--{role}", spec)]


def play(words: Sequence[str], said: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> tuple[int, Any, list[Any]]:
    """Start it, and answer whatever is asked until it ends. Returns exit code, what was printed last, and the turns."""
    code, turns = enter([*words, "--json"]), list[Any]()
    while True:
        shown = json.loads(capsys.readouterr().out)
        if code != 4:
            return code, shown, turns
        turns.append(shown)
        assert len(turns) < MOST_TURNS
        answer = said[shown["key"]]
        file = Path("answer.tmp.json").absolute().parent.parent / "answer.json"
        file.write_text(json.dumps(answer.get("json", answer)))
        command = shown["answer_with"].removeprefix("rebut ").removesuffix("-").split()
        code = enter([*command, str(file), "--json"])


@pytest.mark.parametrize(("kind", "role", "turns"), TURNS)
def test_a_caller_in_any_seat_comes_to_the_outcome_that_a_model_would(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, role: str, turns: int
) -> None:  # C1 C17
    words, seats, said = debate(kind, tmp_path / "s", workspace)
    code, whole, none = play([*words, *flags(seats)], said, capsys)
    assert not none
    named = seats[role][0].partition("=")[0]
    seats[role][0] = f"{named}=caller" if "=" in seats[role][0] else "caller"
    got, shown, asked = play([*words, *flags(seats)], said, capsys)
    assert (got, shown["heading"], shown["decision"]) == (code, whole["heading"], whole["decision"])
    assert len(asked) == turns and len({turn["key"] for turn in asked}) == turns
    assert all(turn["key"].rpartition("@")[2].partition(".")[0] == role for turn in asked)
    record = sessions.load(sessions.home() / shown["session"])
    mine = [line.event for line in record.lines if line.event.kind == "answered" and line.event.model == "caller"]
    assert [event.key for event in mine] == [turn["key"] for turn in asked]
    assert all(turn["question"] and turn["schema"]["properties"] for turn in asked)
    assert record.closed and not [c for c in record.calls.values() if c.failed]


def test_a_caller_on_a_panel_is_told_its_persona_and_only_that(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # H1 H2
    words, seats, said = debate("panel", tmp_path / "s", workspace)
    seats["challenger"][0] = "me=caller"
    _, _, asked = play([*words, *flags(seats)], said, capsys)
    for turn in asked:
        assert "architect matter one" in turn["question"]
        assert "operator matter" not in turn["question"] and "adversary matter" not in turn["question"]


def test_two_seats_of_the_caller_are_asked_one_after_the_other(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # C1: no answer is taken for both
    words, seats, said = debate("revise plan", tmp_path / "s", workspace)
    seats["author"] = ["claude=caller", "codex=caller"]
    code, shown, asked = play([*words, *flags(seats), "--allow-same-model"], said, capsys)
    assert code == 0 and shown["heading"] == "PLAN AFTER 2 ROUNDS, ONE MODEL ALONE"
    assert sorted(turn["key"] for turn in asked) == sorted(k for k in said if "@author." in k)
