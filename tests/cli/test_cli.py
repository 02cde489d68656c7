"""The command line: what a person types, what comes out, and with which code."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import console
import duels
import forkserver
import pytest

from rebut.cli.app import enter
from rebut.record import sessions


def rebut(*words: str) -> int:
    return enter(list(words))


def a_duel(folder: Path, *more: str, **said: object) -> list[str]:
    seats = duels.seats(folder, said or None)
    return ["duel", "Redis or not?", *(word for role, spec in seats.items() for word in (f"--{role}", spec)), *more]


def test_an_unknown_word_is_an_error_with_a_suggestion_and_never_a_topic(capsys: pytest.CaptureFixture[str]) -> None:
    assert rebut("dule", "x") == 2  # C17
    assert capsys.readouterr().err.startswith("rebut: no command 'dule'; did you mean duel?\n")
    assert rebut("dule", "x", "--json") == 2
    assert json.loads(capsys.readouterr().out)["error"] == "no command 'dule'; did you mean duel?"  # C14
    assert not sessions.home().exists(), "nothing was started"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["duel"], "`rebut duel` needs a TOPIC"),
        (["duel", "x", "--frob"], "no such option"),
        (["duel", "x"], "duel needs a proposer"),
        (
            ["duel", "x", "--proposer", "openai:a", "--challenger", "openai:b", "--rounds", "9"],
            "rounds must be 1 to 5, got 9",
        ),
        (
            ["duel", "x", "--proposer", "openai:a", "--challenger", "openai:b", "--rounds", "0"],
            "rounds must be 1 to 5, got 0",
        ),
        (["duel", "x", "--proposer", "openai:a", "--challenger", "openai:a"], "are both openai:a"),
        (["duel", "x", "--proposer", "opnai:a", "--challenger", "openai:b"], "unknown provider 'opnai'"),
        (["duel", "x", "--proposer", "openai:a", "--challenger", "openai:b"], "OPENAI_API_KEY is not set"),
        (["duel", "x", "--proposer", "openai@hihg", "--challenger", "openai:b"], "unknown effort 'hihg'"),
        (
            ["duel", "x", "--proposer", "openai:a", "--challenger", "openai:b", "--timeout", "0"],
            "--timeout must be 5 to 3,600, got 0",
        ),
        (["duel", "x", "--max-calls", "-1"], "--max-calls must be 1 to 10,000, got -1"),
        (["duel", "x", "--max-usd", "0"], "--max-usd must be 0.01 to 10,000, got 0"),
        (["duel", "x", "--max-usd", "20000"], "--max-usd must be 0.01 to 10,000, got 20,000"),
        (["duel", "x", "--max-tokens", "2000000000"], "--max-tokens must be 1,000 to 1,000,000,000"),
        (["duel", "x", "--budget-minutes", "nan"], "--budget-minutes must be 1 to 1,440, got nan"),
        (["resume", "x", "--timeout", "9999"], "--timeout must be 5 to 3,600, got 9,999"),
        (["duel", "x", "--deadline", "1e9"], "--deadline must be above 0 and at most 86,400 s"),
        (["doctor", "--timeout", "0"], "--timeout must be 1 to 3,600"),
        (["resume", "nosuch"], "no session is called 'nosuch'"),
        (["show", "last"], "no session was started in"),
        (["export", "last", "--format", "pdf"], "sarif, github, comment or tests, got 'pdf'"),
        (["run", "nosuch.py", "x"], "there is no file nosuch.py"),
        (["check", "nosuch.md"], "nosuch.md cannot be read"),
    ],
)
def test_wrong_usage_says_what_is_wrong_before_anything_is_called(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:  # C17 D1
    assert rebut(*words) == 2
    error = capsys.readouterr().err
    assert error.startswith("rebut: ") and said in error
    assert "Traceback" not in error
    assert not sessions.sessions(sessions.home())


def test_a_duel_prints_its_course_to_stderr_and_its_result_to_stdout(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # C14 C17
    assert rebut(*a_duel(tmp_path, "--context", "src")) == 0
    out, err = capsys.readouterr()
    assert out.startswith("  VERDICT  challenger\n")
    assert "RECOMMENDATION\n    Sign cookies" in out
    assert re.search(r"unsupported +1 +C2 proposer, round 1", out)
    assert re.search(r"spent +5 calls", out)
    for expected in (
        "proposer     scripted",
        "context      1 file",
        "limits       2 rounds, 240 s",
        "round 2",
        "closing",
    ):
        assert expected in err
    assert "\x1b" not in out + err, "no colour without a terminal"


def test_json_is_one_object_on_stdout_and_nothing_on_stderr(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # C14
    assert rebut(*a_duel(tmp_path, "--json")) == 0
    out, err = capsys.readouterr()
    shown = json.loads(out)
    assert err == ""
    assert shown["verdict"]["winner"] == "challenger" and shown["exit"] == 0
    assert {p["id"]: p["status"] for p in shown["ledger"]["points"]} == {
        "D1": "conceded",
        "D2": "unresolved",
        "D3": "unanswered",
    }


def test_quiet_prints_the_result_only(workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rebut(*a_duel(tmp_path, "--quiet")) == 0
    out, err = capsys.readouterr()
    assert out.startswith("  VERDICT") and not err.strip()


def test_a_failed_run_says_who_failed_and_how_to_go_on(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # C5 C14 D7
    words = a_duel(tmp_path, **{"r1/opening@proposer": {"fail": "auth", "message": "401, the key is not accepted"}})
    assert rebut(*words) == 3
    err = capsys.readouterr().err
    [one] = sessions.sessions(sessions.home())
    assert "did not open: auth, 401" in err
    assert f"rebut resume {one.id[:4]}" in err
    assert rebut(*words[:2], *words[2:], "--json") == 3
    shown = json.loads(capsys.readouterr().out)
    assert shown["exit"] == 3 and "401" in shown["error"] and shown["session"]


def test_context_takes_several_paths_in_a_row(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (workspace / "notes.md").write_text("# notes\n")  # C15
    assert rebut(*a_duel(tmp_path, "--context", "src", "notes.md", "--quiet")) == 0
    record = sessions.load(sessions.find(sessions.home(), "last"))
    prompt = record.calls["r1/opening@proposer"].asked[1].prompt
    assert "src/session.py" in prompt and "notes.md" in prompt
    assert rebut(*a_duel(tmp_path, "--context", "nosuch")) == 2
    assert "there is no nosuch" in capsys.readouterr().err
    assert rebut(*a_duel(tmp_path, "--context", "/etc/hostname")) == 2
    assert "is outside of the workspace" in capsys.readouterr().err


def test_a_dry_run_shows_what_would_leave_and_calls_nothing(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # C16
    (workspace / "src/.env").write_text("KEY=1\n")
    (workspace / "src/conf.py").write_text('token = "ghp_0123456789abcdefghijABCDEFGHIJ012345"\n')
    assert rebut(*a_duel(tmp_path, "--context", "src", "--dry-run", "--json")) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["providers"]["scripted"]["files"] == 2
    assert shown["providers"]["scripted"]["secrets_removed"] == 1
    assert shown["files"] == ["src/conf.py", "src/session.py"]
    assert shown["not_sent"] == ["src/.env (never read)"]
    assert not sessions.sessions(sessions.home())
    assert rebut(*a_duel(tmp_path, "--context", "src", "--dry-run")) == 0
    assert "no model was called" in capsys.readouterr().out


def test_the_topic_can_come_from_standard_input(workspace: Path, tmp_path: Path) -> None:
    words = a_duel(tmp_path, "--json")
    words[1] = "-"
    done = forkserver.run(
        [sys.executable, "-m", "rebut", *words], input="Is it safe?\x1b[31m\n", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert sessions.load(sessions.find(sessions.home(), "last")).opened.topic == "Is it safe?[31m"


def test_the_newest_thirty_sessions_are_listed_and_the_rest_counted(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # C13
    assert rebut(*a_duel(tmp_path, "--quiet")) == 0
    [one] = sessions.sessions(sessions.home())
    for n in range(39):
        shutil.copytree(one.folder, one.folder.with_name(f"copy{n:04}".translate(str.maketrans("01", "xy"))))
    capsys.readouterr()
    assert rebut("list") == 0
    *rows, last = capsys.readouterr().out.splitlines()
    assert len(rows) == 30 and last == "10 older sessions are not listed; --number 40 lists them all"
    assert rebut("list", "--number", "40") == 0
    assert len(capsys.readouterr().out.splitlines()) == 40
    assert rebut("list", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)) == 40
    assert rebut("list", "-n", "2", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)) == 2


def test_sessions_are_listed_shown_exported_replayed_and_verified(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:  # C13
    assert rebut(*a_duel(tmp_path, "--quiet")) == 0
    [one] = sessions.sessions(sessions.home())
    capsys.readouterr()
    assert rebut("list") == 0
    assert re.search(rf"^{one.id}  .* duel +Redis or not\?  \(verdict: challenger\)$", capsys.readouterr().out, re.M)
    for name in (one.id, one.id[:4], "redis-or-not", "last"):
        assert rebut("show", name) == 0
        assert "No replica: a failover loses every session." in " ".join(capsys.readouterr().out.split())
    assert rebut("show", "last", "--prompts") == 0
    assert "You are the CHALLENGER" in capsys.readouterr().out
    assert rebut("show", "last", "--failures") == 0
    assert "no call failed" in capsys.readouterr().out
    assert rebut("show", "last", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["outcome"]["heading"] == "VERDICT" and not [e for e in shown["events"] if e.get("key") == "keys"]
    assert rebut("replay", "last", "--json") == 0
    assert json.loads(capsys.readouterr().out)["same"] is True
    assert rebut("export", "last") == 0
    text = capsys.readouterr().out
    assert text.startswith("# duel: Redis or not?") and "| D1 | challenger |" in text
    assert rebut("export", "last", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["id"] == one.id
    assert rebut("verify", "last", "--json") == 0
    assert json.loads(capsys.readouterr().out)["ok"] is True
    state = one.folder / "debate/last-debate.json"
    state.write_text("{}")
    assert rebut("verify", "last") == 3
    assert f"changed or deleted since it was written: {state}" in capsys.readouterr().out
    monkeypatch.chdir(tmp_path)
    assert rebut("list") == 0
    assert "no sessions in this folder" in capsys.readouterr().out
    assert rebut("list", "--all", "--json") == 0
    assert [row["id"] for row in json.loads(capsys.readouterr().out)] == [one.id]


def test_reading_needs_no_protocol_code(workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = tmp_path / "own.py"  # C13
    own.write_text(
        "from rebut import Outcome\nseats = {'owner': 1}\n"
        "async def run(debate):\n    said = await debate.ask(debate.seat('owner'), 'say', 'Say it.')\n"
        "    return Outcome('said', 'SAID', said.value)\n"
    )
    owner = duels.script(tmp_path / "owner.json", {"say@owner": {"text": "I said it."}})
    assert rebut("run", str(own), "Anything?", "--seat", f"owner={owner}", "--quiet") == 0
    own.unlink()
    for words in (["show", "last"], ["export", "last"], ["verify", "last"], ["list"]):
        assert rebut(*words) == 0
    assert "I said it." in capsys.readouterr().out
    assert rebut("replay", "last") == 2
    assert "there is no file" in capsys.readouterr().err


def test_a_fork_says_beforehand_what_it_reuses(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rebut(*a_duel(tmp_path, "--quiet")) == 0  # C13
    other = duels.script(tmp_path / "other.json", {"verdict@judge": duels.verdict(winner="proposer")}, model="other")
    assert rebut("fork", "last", "--judge", other, "--dry-run", "--json") == 0
    shown = capsys.readouterr().out
    assert json.loads(shown[shown.index("{") :]) == {"reused": 4, "anew": 1}
    assert rebut("fork", "last", "--judge", other) == 0
    out, err = capsys.readouterr()
    assert "reuses 4 answers and asks for about 1 new" in err
    assert "VERDICT  proposer" in out and re.search(r"spent +1 call,", out)


def test_a_live_view_moves_on_a_terminal_and_leaves_plain_lines_behind(workspace: Path, tmp_path: Path) -> None:  # C14
    seats = duels.seats(tmp_path, delay=0.3)
    words = ["duel", "Redis or not?", *(w for role, spec in seats.items() for w in (f"--{role}", spec))]
    seen = console.at_a_terminal(*words, columns=90)
    assert seen.code == 0
    assert "\x1b[2K" in seen.raw, "the moving line was redrawn"
    assert "VERDICT  challenger" in seen.text and "closing" in seen.text


def test_output_survives_a_terminal_that_knows_only_ascii(workspace: Path, tmp_path: Path) -> None:
    words = a_duel(tmp_path, **{"verdict@judge": duels.verdict(recommendation="Ship it – “now” … ☃")})
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    done = subprocess.run([sys.executable, "-m", "rebut", *words], capture_output=True, env=env)
    assert done.returncode == 0, done.stderr
    assert b'Ship it - "now" ... \\u2603' in done.stdout


def test_a_reader_that_goes_away_is_no_error(workspace: Path, tmp_path: Path) -> None:
    assert rebut(*a_duel(tmp_path, "--quiet")) == 0
    done = subprocess.run(
        f"{sys.executable} -m rebut export last --format json | head -c 10", shell=True, capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr


def test_text_of_models_cannot_drive_the_terminal(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = duels.verdict(reasoning="D1 \x1b[2J\x1b]0;owned\x07 and C2", recommendation="\x1b[31mred")  # C7
    assert rebut(*a_duel(tmp_path, **{"verdict@judge": evil})) == 0
    out, err = capsys.readouterr()
    assert "\x1b" not in out + err and "\x07" not in out + err


def test_help_answers_and_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    done = forkserver.run([sys.executable, "-m", "rebut", "help", "all"], capture_output=True, text=True)
    assert done.returncode == 0
    for name in ("duel", "run", "check", "list", "show", "resume", "fork", "replay", "export", "verify"):
        assert re.search(rf"^  {name} ", done.stdout, re.M)
        assert rebut(name, "--help") == 0
        assert "--json" in capsys.readouterr().out, f"{name} has no --json"  # C14
