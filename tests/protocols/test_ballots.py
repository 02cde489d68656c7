"""People in a debate: the case in short, one key a decision, nothing that only models need (C1)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import crosses
import duels
import panels
import pytest
import revisions
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
        expect("Press one of P, C; no Enter is needed. Ctrl-D stops here, and `rebut resume` asks this turn again.")
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


# people who debate


def answer_of(key: str) -> Any:
    answered = voices.record().calls[key].answered
    assert answered and answered.complaints == () and answered.family == "human"
    return answered.value


def test_a_person_proposes_in_a_duel_and_answers_each_point_by_a_letter_and_a_reason(
    tmp_path: Path, workspace: Path
) -> None:  # D1
    seats = duels.seats(tmp_path)
    words = ["duel", "Redis?", "--proposer", "human", "--challenger", seats["challenger"], "--judge", seats["judge"]]

    def talk(expect: Callable[[str], None], type_: Callable[[str], None]) -> None:
        expect("Take a position. A challenger attacks it, then you answer.")
        expect("Your position, in a few sentences (an answer is needed)")
        type_("\rUse Redis.\r")
        expect("What it rests on (one a line, at least one; an empty line ends the list)")
        type_("\r")
        expect("At least one is needed.")
        type_('It is there already: src/session.py:3 "port = 6379"\rRedis is fast.\r\r')
        expect("D1  P1, src/session.py:")
        expect("(1 of 2)")
        expect("[c] concede: it is right")
        expect("c/d/t > ")
        type_("c")
        expect("concede: it is right: why? ")
        type_("\r")
        expect("An answer is needed.")
        type_("src/session.py:4 shows it.\r")
        expect("D1: concede")
        expect("c/d/t > ")
        type_("d")
        expect("why? ")
        type_("The port is bound to loopback.\r")
        expect("Your position now (Enter: Use Redis.)")
        type_("Use Redis with a replica.\r")

    code, screen = seen(words, workspace, talk)
    assert code == 0, screen
    for word in ("JSON", "schema", "claims 1", "number or word"):
        assert word not in screen
    opened, defended = answer_of("r1/opening@proposer"), answer_of("r2/defense@proposer")
    assert [c["evidence"] for c in opened["claims"]] == [[duels.cite("src/session.py:3", "port = 6379")], []]
    assert [(one["id"], one["move"]) for one in defended["responses"]] == [("D1", "concede"), ("D2", "rebut")]
    assert defended["responses"][0]["evidence"] == [duels.cite("src/session.py:4")]
    assert defended["position"] == "Use Redis with a replica."


def test_a_person_challenges_in_a_duel(tmp_path: Path, workspace: Path) -> None:  # D1
    seats = duels.seats(tmp_path)
    words = ["duel", "Redis?", "--proposer", seats["proposer"], "--challenger", "human", "--judge", seats["judge"]]

    def talk(expect: Callable[[str], None], type_: Callable[[str], None]) -> None:
        expect("You challenge the proposer: Use Redis for user sessions.")
        expect("C2  Redis is always faster. (cites nothing)")
        expect("What is wrong or missing, the gravest first (one a line, at least one")
        type_("?\r")
        expect("You are the CHALLENGER")
        for text, grave, about in (("No replica.", "1", "c"), ("The port is open.", "2", "s")):
            type_(f"{text}\r")
            expect("1/2/3 > ")
            type_(grave)
            expect("c/s/d/o > ")
            type_(about)
        type_("\r")
        expect("What to do instead")
        type_("Signed cookies.\r\r")
        for field in ("correctness", "security", "working with it"):
            expect(f"What you found about {field} (Enter: nothing found)")
            type_("\r")
        expect("Rule on each answer to your points.")
        expect("answered: ")
        expect("r/u/d/w > ")
        type_("u")
        expect("why? ")
        type_("It says nothing about failover.\r")
        expect("What is newly wrong with the position; none is fine")
        type_("\r")

    code, screen = seen(words, workspace, talk)
    assert code == 0, screen
    challenge, ruled = answer_of("r1/challenge@challenger"), answer_of("r2/follow-up@challenger")
    assert [(f["text"], f["severity"], f["category"]) for f in challenge["flaws"]] == [
        ("No replica.", "P1", "correctness"),
        ("The port is open.", "P2", "security"),
    ]
    assert challenge["unsupported"] == ["C2"] and challenge["coverage"]["security"] == "nothing found"
    assert [(one["id"], one["ruling"]) for one in ruled["rulings"]] == [("D2", "unresolved")] and ruled["flaws"] == []


def test_a_person_reviews_a_change(tmp_path: Path) -> None:  # J1
    shop = crosses.repository(tmp_path / "shop")
    judge = duels.script(tmp_path / "judge.json", {"r1/judgement@judge": crosses.judgement("E")}, model="judge")

    def talk(expect: Callable[[str], None], type_: Callable[[str], None]) -> None:
        expect("Say what is wrong with it.")
        expect("  | +    charge(order)")
        expect("What is wrong, the gravest first; cite it as path:line")
        type_("It commits before it charges: api/orders.py:5\r")
        expect("1/2/3 > ")
        type_("1")
        expect("c/s/r/p/m/t/o > ")
        type_("c")
        type_("\r")
        expect("Is it acceptable as it is?")
        type_("n")

    code, screen = seen(["review", "--author", judge, "--critic", "human", "--judge", judge], shop, talk)
    assert code == 0 and "1 problem to fix (1 P1)" in screen, screen
    assert answer_of("r1/critique@critic")["findings"][0]["evidence"] == [duels.cite("api/orders.py:5")]


def test_a_person_on_a_panel_objects_and_rules_on_the_answer(tmp_path: Path, workspace: Path) -> None:  # H3
    seats = panels.seats(tmp_path / "seats", panels.consensus())
    words = ["panel", "Redis?", "--lead", seats["lead"], "--judge", seats["judge"], "--challenger", "human"]
    words += [word for spec in seats["challenger"][1:] for word in ("--challenger", spec)]

    def talk(expect: Callable[[str], None], type_: Callable[[str], None]) -> None:
        expect("You look at it as Architect: ")
        expect("What you examined, and what you found (one a line, at least one")
        type_("The deployment has one node.\r")
        expect("> ")
        type_("1")
        type_("\r")
        expect("Your objections; none is fine")
        type_("One node is a single point of failure: src/session.py:3\r")
        expect("1/2/3 > ")
        type_("1")
        expect("c/d/s/l/o/m/u/x > ")
        type_("d")
        type_("\r")
        expect("Your view in a sentence")
        type_("It fails over slowly.\r")
        expect("Do you accept the position?")
        type_("d")
        expect("How grave is your gravest objection?")
        type_("1")
        expect("Rule on each answer to your points.")
        expect("answered: ")
        expect("a/m/e > ")
        type_("a")
        expect("why? ")
        type_("The replica settles it: src/session.py:3\r")
        expect("What is newly wrong; none is fine")
        type_("\r")
        expect("Your view now")
        type_("I accept.\r")
        expect("And the position as a whole?")
        type_("a")

    code, screen = seen(words, workspace, talk)
    assert code in (0, 3), screen
    challenge = answer_of("r1/challenge@challenger.1")
    assert challenge["examined"][0]["found"] == challenge["examined"][0]["what"] == "The deployment has one node."
    assert challenge["points"][0]["strength"] == "strong" and challenge["verdict"] == "disagree"


def test_a_person_writes_a_plan_and_critiques_the_other(tmp_path: Path, workspace: Path) -> None:  # K3
    sat = revisions.seats(tmp_path / "s", revisions.answers(1))
    words = ["revise", "plan", "Keep sessions", "--author", "human", "--author", sat["author"][1]]

    def talk(expect: Callable[[str], None], type_: Callable[[str], None]) -> None:
        expect("Write your plan. Another author writes one, too")
        expect("Your plan, as Markdown with headings; :e opens your editor")
        type_("# Plan: sign cookies\r")
        expect("Critique the other author's document.")
        expect("  | # Sessions")
        expect("What is good in it")
        type_("\r")
        expect("What is wrong, missing or risky in it")
        type_("No rollback.\r")
        expect("c/s/m/n > ")
        type_("m")
        expect("h/m/l > ")
        type_("h")
        type_("\r")
        expect("Where it is better than yours")
        type_("\r")
        expect("author.1: your turn")
        type_("\x04")

    code, screen = seen([*words, "--synthesizer", sat["synthesizer"], "--rounds", "1"], workspace, talk)
    assert code == 4, screen
    assert answer_of("r0/draft@author.1")["document"] == "# Plan: sign cookies"
    [weakness] = answer_of("r1/critique@author.1")["weaknesses"]
    assert (weakness["text"], weakness["impact"], weakness["severity"]) == ("No rollback.", "completeness", "high")


def test_a_person_revises_a_plan_and_another_merges_both(
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # K6 K11
    """Each point by a key and a sentence, and the document in the editor as it is: no field by field."""
    monkeypatch.setenv("EDITOR", "sed -i s/servers/tokens/")
    sat = revisions.seats(tmp_path / "s", revisions.answers(1))
    words = ["revise", "plan", "Keep sessions", "--author", "human", "--author", sat["author"][1]]

    def talk(expect: Callable[[str], None], type_: Callable[[str], None]) -> None:
        expect("Your plan, as Markdown with headings")
        type_("# Keep sessions on servers\r")
        for ask in ("What is good in it", "What is wrong, missing or risky in it"):
            expect(ask)
            type_("\r" if "good" in ask else "No rollback.\r")
        expect("c/s/m/n > ")
        type_("m")
        expect("h/m/l > ")
        type_("h")
        type_("\r")
        expect("Where it is better than yours")
        type_("\r")
        expect("Answer the critique of your plan, point by point; then edit the plan.")
        expect("c/d > ")
        type_("c")
        expect("change it: why? ")
        type_("Tokens need no server.\r")
        expect("Your plan, with the same headings (:e edits it; Enter: as it is)")
        type_(":e\r")
        expect("from your editor)")
        expect("What changed and why, in one sentence")
        type_("Tokens.\r")
        expect("Merge both plans: say what becomes of each point, then edit the first plan.")
        for key in "ao":
            expect("a/o/u > ")
            type_(key)
            expect("why? ")
            type_("It is the goal.\r")
        expect("The final plan (:e edits it; Enter: as it is)")
        type_("\r")
        expect("What the plan does, in a sentence")
        type_("It signs tokens.\r")

    code, screen = seen([*words, "--synthesizer", "human", "--rounds", "1"], workspace, talk)
    assert code == 0, screen
    revised, merged = answer_of("r1/revision@author.1"), answer_of("synthesis@synthesizer")
    assert revised["document"] == "# Keep sessions on tokens" and not revised["defended"]
    assert [row["change"] for row in revised["addressed"]] == ["Tokens need no server."]
    assert merged["document"] == revised["document"], "Enter keeps it"
    assert [(row["id"], row["how"]) for row in merged["adopted"]] == [("W1", "It is the goal.")]
    assert [(row["id"], row["why"]) for row in merged["overruled"]] == [("W2", "It is the goal.")]
