"""`rebut show`, and a fork beside its parent: what a reader sees first, in words, through a pager or without."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import crosses
import duels
import forkserver
import pytest
from console import at_a_terminal, pieces, piped

import rebut
from rebut import RebutError
from rebut.record import sessions
from rebut.record.events import Answered, Attempt
from rebut.record.record import Record
from rebut.reports.compare import reused
from tests import voices

GOLDEN = Path(__file__).parents[1] / "golden"


def golden(name: str, found: str) -> None:
    """The same but for ids and times, which differ from run to run."""
    for number, id in enumerate(dict.fromkeys(one.id for one in reversed(sessions.sessions(sessions.home()))), 1):
        found = found.replace(id, f"session{number}").replace(id[:4], f"ses{number}")
    found = re.sub(r"\d+\.\d s\b", "0.0 s", found)
    assert found == (GOLDEN / name).read_text(encoding="utf-8")


@pytest.fixture
def seats(tmp_path: Path, workspace: Path) -> dict[str, str]:
    """A duel on record, and the seats of it; the third is another judge, who finds for the proposer."""
    found = duels.seats(tmp_path, usd=0.03)
    rebut.run("duel", "Redis or Memcached?", **found)
    verdict = duels.verdict(winner="proposer", reasoning="A replica mends D1.", recommendation="Keep Redis.")
    found["other"] = duels.script(tmp_path / "other.json", duels.answers() | {"verdict@judge": verdict}, usd=0.05)
    return found


def shown(workspace: Path, *words: str, columns: int = 80) -> str:
    done = piped("show", *(words or ("last",)), env={"COLUMNS": str(columns)}, cwd=workspace)
    assert done.returncode == 0, done.stderr
    return done.stdout


# what is shown, and in which order


@pytest.mark.parametrize("columns", [80, 50])
def test_a_session_opens_with_its_outcome_then_the_points_then_the_turns(
    seats: dict[str, str], workspace: Path, columns: int
) -> None:  # C14
    golden(f"show_duel_{columns}.txt", shown(workspace, columns=columns))


def test_answers_are_words_and_all_adds_each_reply_as_it_came(seats: dict[str, str], workspace: Path) -> None:
    words, everything = shown(workspace), shown(workspace, "last", "--all")
    assert "{" not in words and '"position"' not in words and "as it came" not in words
    assert "attempt 1, raw reply:\n    | {" in everything and '"position": "Use Redis' in everything
    assert "You are the PROPOSER" not in everything and "You are the PROPOSER" in shown(workspace, "last", "--prompts")


def test_a_review_opens_with_its_headline_and_tells_each_finding_before_the_turns_once(tmp_path: Path) -> None:
    shop = crosses.repository(tmp_path / "work")
    said = {"r1/critique@critic": crosses.critique(crosses.raised()), "r1/judgement@judge": crosses.judgement("E")}
    crosses.review(shop, said)
    screen = shown(shop)
    outcome, _, turns = screen.partition("ROUND 1")
    assert screen.splitlines()[3] == "  STOPPED  1 finding stands, 1 P1; the judge chose E"
    assert outcome.count("It commits before it charges.") == 1
    assert "critic, critique  (critic, " in turns and "F1 (P1, correctness): It commits" in " ".join(turns.split())
    assert '— api/orders.py:5 "commit(order)" [found]' in " ".join(turns.split())


def test_a_debate_without_an_end_opens_with_how_it_stands(seats: dict[str, str], workspace: Path) -> None:
    voices.crash_at(voices.is_("answered", "r1/challenge@challenger"))
    screen = shown(workspace)
    assert screen.splitlines()[3].startswith("  open, 2 answers are recorded")
    assert "Continue with   rebut resume " in screen and "worth it?" not in screen and "ROUND 1" in screen


def test_blind_first_answers_are_not_headed_as_a_closing(tmp_path: Path, workspace: Path) -> None:
    own = voices.protocol(tmp_path, 'await debate.ask(debate.seat("author"), "say", "Say it.")\nreturn done()')
    rebut.run(own, "tea", workspace=workspace, author="fake:a", critic="fake:b", backends={"fake": voices.Voice()})
    assert "  FIRST ANSWERS\n\n  author, say  (voice-1, " in shown(workspace)


# the pager


def pager(folder: Path, reads: str = "sys.stdin.read()") -> tuple[str, Path]:
    """A pager that keeps what it was given."""
    kept = folder / "paged.txt"
    body = f"import sys; open({str(kept)!r}, 'w').write({reads}); print('PAGED')"
    return shlex.join([sys.executable, "-c", body]), kept


def test_at_a_terminal_a_long_session_goes_through_the_pager(seats: dict[str, str], workspace: Path) -> None:
    command, kept = pager(workspace)
    seen = at_a_terminal("show", "last", env={"PAGER": command}, cwd=workspace)
    assert (seen.code, seen.text.strip()) == (0, "PAGED")
    assert kept.read_text().lstrip().startswith("duel") and "CLOSING" in kept.read_text()


@pytest.mark.parametrize(
    ("words", "env"),
    [
        (["--no-pager"], {}),
        (["--plain"], {}),
        ([], {"PAGER": ""}),
        ([], {"PAGER": "cat"}),
        ([], {"PAGER": "'unbalanced"}),
        ([], {"PAGER": "no-such-pager-here"}),
        ([], {"TERM": "dumb"}),
    ],
)
def test_without_a_pager_it_is_printed(
    seats: dict[str, str], workspace: Path, words: list[str], env: dict[str, str]
) -> None:
    command, kept = pager(workspace)
    seen = at_a_terminal("show", "last", *words, env={"PAGER": command, **env}, cwd=workspace)
    assert seen.code == 0 and "Sign cookies, and drop the store." in seen.text and not kept.exists()


@pytest.mark.parametrize("places", [".::{}", "{}:bin", ""])
def test_a_pager_in_a_relative_place_of_the_path_is_not_run(
    seats: dict[str, str], workspace: Path, places: str
) -> None:  # C9
    (workspace / "bin").mkdir()
    for planted in (workspace / "planted", workspace / "bin/planted"):
        planted.write_text("#!/bin/sh\ntouch ran\n")
        planted.chmod(0o755)
    env = {"PAGER": "planted", "PATH": places.format(os.environ["PATH"])}
    seen = at_a_terminal("show", "last", env=env, cwd=workspace)
    assert seen.code == 0 and "Sign cookies, and drop the store." in seen.text
    assert not (workspace / "ran").exists()


def test_what_fits_on_the_screen_needs_no_pager(tmp_path: Path, workspace: Path) -> None:
    own = voices.protocol(tmp_path, "return done()")
    rebut.run(own, "tea", workspace=workspace, author="fake:a", critic="fake:b", backends={"fake": voices.Voice()})
    command, kept = pager(workspace)
    seen = at_a_terminal("show", "last", env={"PAGER": command}, cwd=workspace)
    assert "DONE" in seen.text and not kept.exists()


def test_nobody_is_paged_without_a_terminal_on_both_sides(seats: dict[str, str], workspace: Path) -> None:
    command, kept = pager(workspace)
    assert "CLOSING" in piped("show", "last", env={"PAGER": command}, cwd=workspace).stdout
    leader, follower = os.openpty()
    with forkserver.Popen(
        [*([sys.executable, "-m", "rebut"]), "show", "last"],
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=follower,
        env={**os.environ, "PAGER": command, "TERM": "xterm"},
        cwd=workspace,
    ) as child:
        os.close(follower)
        screen = b"".join(pieces(leader))
        assert child.wait() == 0
    os.close(leader)
    assert b"CLOSING" in screen and not kept.exists()


def test_a_pager_that_is_left_early_or_interrupted_is_no_error(seats: dict[str, str], workspace: Path) -> None:
    command, _ = pager(workspace, "''")
    assert at_a_terminal("show", "last", env={"PAGER": command}, cwd=workspace).code == 0
    body = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); os.killpg(0, signal.SIGINT)"
    stays = shlex.join([sys.executable, "-c", f"{body}; sys.stdin.read(); print('STAYED')"])
    seen = at_a_terminal("show", "last", env={"PAGER": stays}, cwd=workspace)
    assert (seen.code, seen.text.strip()) == (0, "STAYED"), "Ctrl-C is the pager's"


# a fork beside its parent


@pytest.mark.parametrize("columns", [80, 50])
def test_a_fork_ends_beside_its_parent_with_what_it_reused(
    seats: dict[str, str], workspace: Path, columns: int
) -> None:  # C13
    done = piped("fork", "last", "--judge", seats["other"], env={"COLUMNS": str(columns)}, cwd=workspace)
    assert done.returncode == 0, done.stderr
    golden(f"fork_{columns}.txt", done.stdout)
    [beside] = re.findall(r"^  (?: {8}  )?parent .*\Z", done.stdout, re.M | re.S)
    assert beside.strip() in shown(workspace, columns=columns), "and so it is shown later"


def test_a_fork_tells_machines_of_its_parent_and_what_it_reused(seats: dict[str, str], workspace: Path) -> None:  # C13
    parent = sessions.sessions(sessions.home())[0].id
    told: dict[str, Any] = json.loads(piped("fork", "last", "--judge", seats["other"], "--json", cwd=workspace).stdout)
    assert told["parent"]["id"] == parent and told["parent"]["side"] == "challenger"
    assert told["parent"]["points"] == {"conceded": 1, "open": 2} and told["parent"]["spent"]["calls"] == 5
    assert told["verdict"]["winner"] == "proposer"
    assert (told["reused"]["answers"], told["reused"]["tokens"], told["reused"]["usd"]) == (4, 600, 0.12)
    later = json.loads(shown(workspace, "last", "--json"))
    assert (later["parent"], later["reused"]) == (told["parent"], told["reused"])
    twice = json.loads(piped("fork", "last", "--judge", seats["judge"], "--json", cwd=workspace).stdout)
    assert twice["reused"] == told["reused"], "what a parent had taken over itself is priced where it was paid"


def test_of_a_deleted_parent_only_the_count_is_known(seats: dict[str, str], workspace: Path) -> None:
    parent = sessions.sessions(sessions.home())[0].id
    piped("fork", "last", "--judge", seats["other"], "--quiet", cwd=workspace)
    assert piped("delete", parent, "--yes", cwd=workspace).returncode == 0
    screen = shown(workspace)
    assert f"parent    {parent} (deleted)" in screen
    assert "reused    4 answers, cost unknown" in screen


def test_a_try_that_was_turned_away_does_not_hide_what_an_answer_had_cost() -> None:  # C13
    parent, fork, key = Record(), Record(), "r1/opening@proposer"
    parent.call(key).attempts[1] = Attempt(key=key, outcome="rate limit", usd=None)
    parent.call(key).attempts[2] = Attempt(key=key, attempt=2, input=100, output=50, usd=0.03)
    fork.call(key).answered = Answered(key=key, seat="proposer", fp="", value="x", copied_from="abcd")
    taken = reused(fork, lambda id: parent)
    assert (taken.answers, taken.tokens, taken.usd) == (1, 150, parent.spent().usd) == (1, 150, 0.03)


def test_a_fork_that_changes_nothing_is_refused_with_what_can_be_changed(
    seats: dict[str, str], workspace: Path
) -> None:  # C13 C14
    for words in (["last"], ["last", "--allow-same-model"]):
        done = piped("fork", *words, cwd=workspace)
        assert done.returncode == 2 and "without changes would only repeat it" in done.stderr
        assert "--seat ROLE=SPEC" in done.stderr and "--again" in done.stderr
    assert len(sessions.sessions(sessions.home())) == 1
    voices.crash_at(voices.is_("answered", "r1/challenge@challenger"))
    assert "Continue with `rebut resume last`" in piped("fork", "last", cwd=workspace).stderr


def test_what_is_left_out_of_the_context_is_named_with_the_reason(tmp_path: Path, workspace: Path) -> None:  # C16
    (workspace / "big.txt").write_text("word\n" * 300_000)
    found = duels.seats(tmp_path)
    words = [word for role in ("proposer", "challenger", "judge") for word in (f"--{role}", found[role])]
    done = piped("duel", "Redis or Memcached?", *words, "--context", "big.txt", "src", cwd=workspace)
    assert ", 1 left out: big.txt (larger" in done.stderr, done.stderr


def test_a_fork_that_changes_nothing_asks_again_who_failed(tmp_path: Path, workspace: Path) -> None:  # C13 D7
    found = duels.seats(tmp_path, {"r1/challenge@challenger": {"fail": "crashed"}})
    words = [word for role in ("proposer", "challenger", "judge") for word in (f"--{role}", found[role])]
    ended = piped("duel", "Redis or Memcached?", *words, cwd=workspace)
    id = sessions.sessions(sessions.home())[0].id
    assert ended.returncode == 3 and f"retry failed seats   rebut fork {id[:4]}\n" in ended.stdout
    duels.seats(tmp_path)  # it answers again
    done = piped("fork", id, cwd=workspace)
    assert done.returncode == 0 and "this fork reuses at least 1 answer and asks for at most 4 new" in done.stderr, (
        done.stderr
    )
    assert [e.key for e in voices.events("", "answered") if e.copied_from] == ["r1/opening@proposer"]  # type: ignore[union-attr]
    assert piped("fork", "last", cwd=workspace).returncode == 2


def test_again_asks_everything_anew_also_when_it_has_to_be_resumed(
    seats: dict[str, str], workspace: Path
) -> None:  # C13
    done = piped("fork", "last", "--again", cwd=workspace)
    assert done.returncode == 0 and "reused    nothing: every answer is new" in done.stdout
    assert [e for e in voices.events("", "answered") if e.copied_from] == []  # type: ignore[union-attr]
    voices.crash_at(voices.is_("answered", "r1/opening@proposer"))
    assert piped("resume", "last", cwd=workspace).returncode == 0
    answered = voices.events("", "answered")
    assert len(answered) == 5 and not any(e.copied_from for e in answered)  # type: ignore[union-attr]
    assert piped("fork", "last", "--again", "--dry-run", cwd=workspace).returncode == 2


@pytest.mark.parametrize("later", ["a question", "a demo", "a question that has not ended"])
def test_without_an_id_the_commands_for_reviews_take_the_last_review_and_say_which(  # C13
    tmp_path: Path, shop: Path, later: str
) -> None:
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised()),
        "r1/judgement@judge": crosses.judgement("C"),
        "r1/version.code@judge": crosses.patch(),
        "r2/critique@critic": crosses.critique(),
    }
    review = crosses.review(shop, said).session
    commands = ("gate", "export --format comment", "export --format sarif", "export --format github", "apply --check")
    alone = {words: piped(*words.split(), cwd=shop) for words in commands}
    assert all(done.returncode in (0, 1) and done.stderr == "" for done in alone.values()), alone
    if later == "a demo":
        assert piped("demo", "--fast", cwd=shop).returncode == 0
    else:
        failing = {"*": {"fail": "auth"}} if "not ended" in later else duels.answers()
        flags = [f"--{role}={spec}" for role, spec in duels.seats(tmp_path, failing).items()]
        assert piped("duel", "Redis?", *flags, cwd=shop).returncode in (0, 3)
    for words, before in alone.items():
        done = piped(*words.split(), cwd=shop)
        assert (done.returncode, done.stdout) == (before.returncode, before.stdout), done.stderr
        assert done.stderr.startswith(f"  the last review is {review[:4]}") and len(done.stderr.splitlines()) <= 2
    shown = piped("gate", "--json", cwd=shop)
    assert json.loads(shown.stdout)["session"] == review and shown.stderr == ""


def test_a_later_review_that_has_not_ended_is_not_passed_over(tmp_path: Path, shop: Path) -> None:  # C13, C17
    done = {"r1/critique@critic": crosses.critique(), "r1/judgement@judge": crosses.judgement("A", {})}
    crosses.review(shop, done)
    assert piped("gate", cwd=shop).returncode == 0
    with pytest.raises(RebutError):
        crosses.review(shop, {"*": {"fail": "auth"}})
    gate = piped("gate", cwd=shop)
    assert gate.returncode == 3 and "has not ended" in gate.stderr


def test_where_no_review_was_started_the_commands_for_reviews_say_so(tmp_path: Path, shop: Path) -> None:
    assert piped("demo", "--fast", cwd=shop).returncode == 0
    for words in ("gate", "apply", "apply F1", "export --format comment", "export --format sarif"):
        done = piped(*words.split(), cwd=shop)
        assert done.returncode == 2 and "no review was started in" in done.stderr and "rebut review" in done.stderr
