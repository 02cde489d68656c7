"""The end of a question, as a person and a program read it: the answer first, then both answers side by side."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import duels
import pytest
import voices
from console import piped
from terminals import nothing, watched
from test_ask import said


def with_three(folder: Path, answers: dict[str, Any]) -> list[str]:
    folder.mkdir(exist_ok=True)
    names = ("claude", "codex", "gemini")
    return ["--with", ",".join(f"{n}={duels.script(folder / f'{n}.json', answers, model=n)}" for n in names)]


def screen(words: list[str], columns: int, cwd: Path) -> list[str]:
    return piped(*words, env={"COLUMNS": str(columns)}, cwd=cwd).stdout.splitlines()


@pytest.mark.parametrize("verb", [["ask"], []])
def test_the_answer_comes_first_and_no_role_is_named(tmp_path: Path, workspace: Path, verb: list[str]) -> None:
    shown = screen([*verb, "Redis or not?", *with_three(tmp_path / "s", said(same=False))], 100, workspace)
    assert shown[:2] == [
        "  ANSWER: Sign cookies, and drop the store.",
        "  Answer 2 (codex) was preferred after 1 round of debate, by gemini.",
    ]
    assert not any(role in line for line in shown for role in ("proposer", "challenger")), shown
    text = "\n".join(shown)
    assert "what changed  claude conceded D2 No replica: a failover loses every session." in text
    assert "still open    against answer 2, P1, defended: D1 A cookie cannot be revoked." in text
    assert "                against answer 1, P1, defended: D3 The port is open." in text
    assert "they differ   one keeps the store, the other drops it" in text
    assert "cost          8 calls, " in text and "; the first answers alone: 2 calls, " in text


def test_the_answers_are_side_by_side_and_stacked_where_it_is_narrow(tmp_path: Path, workspace: Path) -> None:
    words = ["ask", "Redis or not?", *with_three(tmp_path / "s", said(same=False))]
    wide = screen(words, 80, workspace)
    at = wide.index("  ANSWER 1: claude                         ANSWER 2, preferred: codex")
    assert wide[at + 1] == "  Use Redis for user sessions.             Sign cookies."
    assert wide[at + 2] == "  now: Redis with a replica, as of         now: Sign cookies, as of round 1."
    narrow = screen(words, 50, workspace)
    first, second = narrow.index("  ANSWER 1: claude"), narrow.index("  ANSWER 2, preferred: codex")
    assert narrow[first + 1 : second - 1] == [
        "    Use Redis for user sessions.",
        "    now: Redis with a replica, as of round 1.",
    ]
    assert max(map(len, narrow)) <= 50 and max(map(len, wide)) <= 80


def test_two_that_agree_are_reported_as_agreeing(tmp_path: Path, workspace: Path) -> None:
    words = ["ask", "Redis or not?", *with_three(tmp_path / "s", said(same=True))]
    shown = screen(words, 80, workspace)
    assert shown[0] == "  BOTH AGREE: Keep Redis."
    assert "  they agree    they would do the same" in shown and "UNCONTESTED" not in "\n".join(shown)
    assert "(both agree: Keep Redis)" in piped("list", cwd=workspace).stdout
    assert piped("show", "last", "--no-pager", cwd=workspace).stdout.count("BOTH AGREE: Keep Redis.") == 1
    assert "**BOTH AGREE: Keep Redis**" in piped("export", "last", cwd=workspace).stdout


def test_an_end_that_was_not_whole_says_so_before_the_answer(tmp_path: Path, workspace: Path) -> None:  # C6
    failing = said(same=False, **{"r1/challenge@proposer": {"fail": "auth", "message": "log in first"}})
    done = piped("ask", "Redis?", *with_three(tmp_path / "s", failing), env={"COLUMNS": "120"}, cwd=workspace)
    assert done.returncode == 3
    assert done.stdout.startswith(
        "  VERDICT, ANSWER 2 WAS NOT CHALLENGED\n  Answer: Sign cookies, and drop the store.\n"
    )
    assert "  unequal       answer 2 was not challenged (claude failed: auth: log in first)\n" in done.stdout


def test_a_program_gets_both_answers_and_where_they_differ(tmp_path: Path, workspace: Path) -> None:  # C14
    words = ["Redis or not?", *with_three(tmp_path / "s", said(same=False)), "--json"]
    told = json.loads(voices.cli(*words, cwd=workspace).stdout)
    assert told["agree"] is False and told["differ"] == "one keeps the store, the other drops it"
    one, two = told["answers"]["answer 1"], told["answers"][told["verdict"]["winner"]]
    assert (one["model"], one["first"], one["final"]) == (
        "claude",
        "Use Redis for user sessions.",
        "Redis with a replica, as of round 1.",
    )
    assert (one["points"], one["accepted"], one["preferred"]) == (["D2", "D3"], ["D2"], False)
    assert (two["model"], two["points"], two["preferred"]) == ("codex", ["D1"], True)
    long = said(same=False, **{"answer@proposer": duels.opening(position="Use Redis. " * 900)})
    words = ["Redis or not?", *with_three(tmp_path / "s", long), "--json"]
    short = voices.cli(*words, cwd=workspace).stdout
    assert len(short.encode()) <= 8000 and json.loads(short)["answers"].keys() == {"answer 1", "answer 2"}


@pytest.mark.parametrize(("rows", "times"), [(12, 2), (60, 1)])
def test_the_answer_is_repeated_last_where_it_would_have_left_the_screen(
    tmp_path: Path, workspace: Path, rows: int, times: int
) -> None:
    words = [sys.executable, "-m", "rebut", "ask", "Redis or not?", *with_three(tmp_path / "s", said(same=False))]
    command = ["sh", "-c", f"stty rows {rows} cols 80; {shlex.join(words)}"]
    env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")} | {"TERM": "dumb"}
    code, shown = watched(command, env, workspace, nothing)
    assert (code, shown.count("ANSWER: Sign cookies, and drop the store.")) == (0, times), shown
    assert (shown.rstrip().splitlines()[-1] == "  ANSWER: Sign cookies, and drop the store.") == (times == 2)


def test_a_judge_with_a_part_in_an_answer_is_named_as_that(tmp_path: Path, workspace: Path) -> None:  # C2
    def of_family(name: str, family: str) -> str:
        file = tmp_path / f"{name}.json"
        duels.script(file, said(same=False), model=name)
        file.write_text(json.dumps(json.loads(file.read_text()) | {"family": family}))
        return f"scripted:{file}"

    one, two = of_family("one", "a"), of_family("two", "b")
    shown = " ".join(screen(["ask", "Redis or not?", "--with", f"{one},{two}"], 100, workspace))
    assert "was preferred after 1 round of debate, by one, which also gave answer 1." in " ".join(shown.split())
    third = of_family("kin", "b")
    shown = " ".join(screen(["ask", "Redis or not?", "--with", f"{one},{two},{third}"], 100, workspace))
    assert "by kin, of the family of answer 2." in " ".join(shown.split())


def test_a_concession_without_evidence_is_said_with_what_follows(tmp_path: Path, workspace: Path) -> None:  # D9
    given_in = duels.defense(1, {"D2": "concede", "D3": "rebut"})
    for row in given_in["responses"]:
        row["evidence"] = []
    answers = said(same=False, **{"r1/defense@proposer": given_in})
    shown = "\n".join(screen(["ask", "Redis or not?", *with_three(tmp_path / "s", answers)], 100, workspace))
    assert "what changed  claude conceded D2 without evidence, so it stays open" in shown
    assert "@proposer" not in shown and "used with faults: rebut show " in shown, "keys of calls are for `rebut show`"
