"""A person who judges or leads: the case in short, one key a decision, nothing that only models need (C1)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import duels
import panels
import voices
from terminals import at_a_terminal
from test_ask import said

Talk = Callable[[Callable[[str], None], Callable[[str], None]], None]


def seen(words: list[str], cwd: Path, talk: Talk) -> tuple[int, str]:
    env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")} | {"TERM": "dumb"}
    code, screen = at_a_terminal(words, env, cwd, talk)
    assert "«" not in screen, "fences are for models"
    return code, " ".join(screen.split())


def test_a_person_judges_a_duel_with_four_keys_and_two_lines(tmp_path: Path, workspace: Path) -> None:  # D5
    seats = duels.seats(tmp_path)
    words = ["duel", "Redis?", "--proposer", seats["proposer"], "--challenger", seats["challenger"]]

    def talk(expect: Callable[[str], None], type_: Callable[[str], None]) -> None:
        expect("The proposer says: Redis with a replica, as of round 2.")
        expect("D1  P1, about C1, conceded: No replica: a failover loses every session.")
        expect("P/C > ")
        type_("?")
        expect("You are the JUDGE")
        expect("P/C > ")
        type_("x")
        expect("Press one of P, C. Ctrl-D stops here; nothing is lost.")
        type_("p")
        for key in "hml":
            expect("h/m/l > ")
            type_(key)
        expect("What to do now (Enter: Redis with a replica, as of round 2.)")
        type_("\r")
        expect("Why (Enter: ")
        type_("\r")

    code, screen = seen([*words, "--judge", "human"], workspace, talk)
    assert code == 0, screen
    assert "VERDICT proposer the judge, a person, gave no reason RECOMMENDATION Redis with a replica" in screen
    answered = voices.record().calls["verdict@judge"].answered
    assert answered and answered.complaints == (), "a letter is enough: no reason is demanded"
    assert (answered.value["evidence_quality"], len(voices.record().calls["verdict@judge"].asked)) == ("medium", 1)


def test_a_person_judges_a_question(tmp_path: Path, workspace: Path) -> None:
    names = [duels.script(tmp_path / f"{n}.json", said(same=False), model=n) for n in ("one", "two")]

    def talk(expect: Callable[[str], None], type_: Callable[[str], None]) -> None:
        expect("answer 1: Use Redis for user sessions.")
        expect("answer 2: Sign cookies.")
        expect("S/D > ")
        type_("d")
        expect("Why (Enter: ")
        type_("one has a store\r")
        expect("answer 1: Redis with a replica, as of round 1.")
        expect("D2  P1, about answer 1, conceded: No replica")
        expect("1/2 > ")
        type_("2")
        expect("The answer for the reader (Enter: Sign cookies, as of round 1.)")
        type_("\r")
        expect("Why (Enter: ")
        type_("\r")

    code, screen = seen(["ask", "Redis?", "--with", f"{names[0]},{names[1]},human"], workspace, talk)
    assert code == 0, screen
    assert "ANSWER: Sign cookies, as of round 1." in screen and "they differ one has a store" in screen


def test_a_person_who_leads_a_panel_answers_each_objection_by_a_key(tmp_path: Path, workspace: Path) -> None:  # H7
    answers = panels.consensus()
    seats = panels.seats(tmp_path / "seats", answers)
    words = ["panel", "Redis?", "--lead", "human", "--judge", seats["judge"]]
    words += [word for spec in seats["challenger"] for word in ("--challenger", spec)]

    def talk(expect: Callable[[str], None], type_: Callable[[str], None]) -> None:
        expect("Your position (an answer is needed)")
        type_("\rUse Redis.\r")
        expect("What it rests on")
        type_("It is in src/session.py:2 already.\r\r")
        expect("Where it is weakest")
        type_("\r")
        expect("What must be true")
        type_("one node is enough\r\r")
        expect("h/m/l > ")
        type_("m")
        expect("B1  ")
        expect("a/p/r > ")
        type_("a")
        expect("B2  ")
        type_("r")
        expect("reason (Enter for none): ")
        type_("not here\r")
        expect("B2: reject")
        expect("h/m/l > ")
        type_("h")
        expect("Your position now (Enter: Use Redis.)")
        type_("Use Redis with a replica.\r")

    code, screen = seen(words, workspace, talk)
    assert code in (0, 3), screen
    record = voices.record()
    opened, answered = (record.calls[key].answered for key in ("opening/position@lead", "r2/confront@lead"))
    assert opened and opened.value["reasoning"][0]["text"] == "It is in src/session.py:2 already."
    assert opened.value["assumptions"] == ["one node is enough"] and opened.complaints == ()
    assert answered and [(r["id"], r["move"], r["reason"]) for r in answered.value["responses"]] == [
        ("B1", "accept", ""),
        ("B2", "reject", "not here"),
    ]
    assert answered.value["position"] == "Use Redis with a replica."
