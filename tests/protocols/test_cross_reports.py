"""What a review reports, through the command line: walk-backs, fallbacks, limits inside a call, the last message."""

from __future__ import annotations

import io
import json
import subprocess
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

import crosses
import duels
import pytest
from repositories import git
from test_cross_manual import Terminal

from rebut.cli.app import enter
from rebut.domain.limits import RANGES
from tests.workspace.test_targets_transcripts import claude, claude_line

FOUND = {"r1/critique@critic": crosses.critique(crosses.raised())}
HANGS = {"hang": True}
GONE = {"fail": "auth", "message": "log in first"}


def review(shop: Path, said: dict[str, Any], *words: str) -> subprocess.CompletedProcess[str]:
    """The command in this process, with limits of less than a minute."""
    sat = [f"--{role}={spec}" for role, spec in crosses.seats(shop.parent / "seats", said).items()]
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    short = mock.patch.dict(RANGES, {"minutes": (0.001, 1440)})
    with chdir(shop), short, redirect_stdout(out), redirect_stderr(err):
        code = enter(["cross", "--uncommitted", *sat, "--plain", *words])
    said_by = [(stream.flush(), stream.buffer.getvalue().decode())[1] for stream in (out, err)]  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(words, code, *said_by)


def files(shop: Path) -> dict[str, str]:
    [*_, folder] = sorted((shop / ".git/review-loop").iterdir(), key=lambda path: path.stat().st_mtime)
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_a_judge_that_walks_a_ruling_back_is_reported_everywhere(shop: Path) -> None:  # C12
    said = FOUND | {
        "r1/judgement@judge": crosses.judgement("D"),
        "r2/critique@critic": crosses.critique(crosses.raised(same_as="F1")),
        "r2/judgement@judge": crosses.judgement("A", {"F1": "invalid P1"}),
    }
    done = review(shop, said)
    told = "F1 walked back by the judge in round 2"
    assert told in done.stdout, done.stdout + done.stderr
    assert told in files(shop)["summary.md"] and told in json.loads(files(shop)["decision.json"])["slips"]


@pytest.mark.parametrize("family", ["another", "of the judge"])
def test_a_fallback_is_a_self_review_only_if_its_family_is_the_judges(shop: Path, family: str) -> None:  # J13
    said = FOUND | {"r1/judgement@judge": crosses.judgement()}
    spare = shop.parent / "spare.json"
    spec = duels.script(spare, said, model="spare")
    judge = json.loads(Path(crosses.seats(shop.parent / "seats", said)["judge"].removeprefix("scripted:")).read_text())
    if family == "of the judge":
        spare.write_text(json.dumps(json.loads(spare.read_text()) | {"family": judge["family"]}))
    done = review(shop, _without_critic(said), f"--fallback=critic={spec}")
    alone = family == "of the judge"
    assert done.returncode == (3 if alone else 0), done.stdout + done.stderr
    written = files(shop)
    assert ("SELF-REVIEW" in done.stdout) == ("SELF-REVIEW" in written["summary.md"]) == alone
    assert ("SELF-REVIEW" in written["decision.json"]) == alone
    critic = crosses.seats(shop.parent / "seats", said)["critic"]
    for name in ("summary.md", "decision.json", "metadata.json"):
        assert f"{spec} answered for {critic}, as a fallback" in written[name], name
    assert f"{spec} answered for {critic}" in written["round-1-critique.md"]
    assert "answered for" in done.stdout


def _without_critic(said: dict[str, Any]) -> dict[str, Any]:
    return {key: GONE if "@critic" in key else value for key, value in said.items()}


def in_time(shop: Path, said: dict[str, Any], reached: str) -> subprocess.CompletedProcess[str]:
    """A review whose minutes end in the call that hangs: a busy machine takes its time to come so far."""
    for minutes in ("0.03", "0.12", "0.48"):
        done = review(shop, said, "--budget-minutes", minutes)
        if reached in done.stdout:
            break
    return done


def test_minutes_that_end_inside_the_judges_call_end_in_a_contract(shop: Path) -> None:  # C4, J11, J12
    done = in_time(shop, FOUND | {"r1/judgement@judge": HANGS}, "STOPPED AFTER")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "STOPPED AFTER" in done.stdout and "## Debate Summary" in done.stdout and "Converged: no" in done.stdout
    for text in (done.stdout, files(shop)["summary.md"]):
        assert "the judge gave no answer: budget, the limit of" in text and "cut this call off" in text
        assert "the judge was not asked" not in text and "F1" in text
    assert json.loads(files(shop)["decision.json"])["decision"] == "Stopped"


def test_minutes_that_end_inside_the_critics_call_end_in_a_contract(shop: Path) -> None:  # C4, J11, J12
    done = in_time(shop, {"r1/critique@critic": HANGS}, "cut this call off")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "STOPPED AFTER 0 OF 3 ROUNDS" in done.stdout and "## Debate Summary" in done.stdout
    assert "cut this call off" in done.stdout and "the judge was not asked" in done.stdout
    assert "answered for" not in done.stdout, "the judge's model was to stand in, and was never called"
    assert "## Debate Summary" in files(shop)["summary.md"]


def test_a_critic_that_gives_up_early_is_not_cut_off_by_the_minutes_and_has_a_fallback(shop: Path) -> None:  # C4, J13
    said = FOUND | {"r1/judgement@judge": crosses.judgement()}
    spec = duels.script(shop.parent / "spare.json", said, model="spare")
    late = {key: {"fail": "timeout", "message": "504"} if "@critic" in key else value for key, value in said.items()}
    done = review(shop, late, f"--fallback=critic={spec}", "--budget-minutes", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{spec} answered for" in done.stdout and "cut this call off" not in done.stdout


def test_a_judge_that_failed_is_not_said_to_have_been_left_out(shop: Path) -> None:  # J12
    done = review(shop, FOUND | {"r1/judgement@judge": GONE})
    assert done.returncode == 3, done.stdout + done.stderr
    summary = files(shop)["summary.md"]
    assert "Round 1: the judge gave no answer: auth, log in first" in summary and "was not asked" not in summary


def test_a_fallback_that_was_never_called_is_not_said_to_have_answered(shop: Path) -> None:  # C4, J13
    spec = duels.script(shop.parent / "spare.json", FOUND, model="spare")
    done = review(shop, {"r1/critique@critic": GONE}, f"--fallback=critic={spec}", "--max-calls", "1")
    assert done.returncode == 3 and f"{spec} answered" not in done.stdout + done.stderr, done.stdout + done.stderr


def test_the_summary_shows_how_severity_is_concentrated(shop: Path) -> None:  # J14
    rows = [
        crosses.raised(),
        crosses.raised("A second.", "api/orders.py:6", severity="P2", category="security"),
        crosses.raised(
            "A third.", "api/pay.py:1", severity="P2", category="security", evidence=[duels.cite("api/pay.py:1")]
        ),
    ]
    rulings = {"F1": "valid P1", "F2": "valid P2", "F3": "valid P2"}
    said = {"r1/critique@critic": crosses.critique(*rows), "r1/judgement@judge": crosses.judgement("E", rulings)}
    (shop / "api/pay.py").write_text("import orders\n")
    done = review(shop, said)
    for text in (done.stdout, files(shop)["summary.md"]):
        assert "- by file: api/orders.py 1 P1, 1 P2; api/pay.py 1 P2" in text, text
        assert "- by category: correctness 1 P1; security 2 P2" in text
    found = json.loads(files(shop)["decision.json"])["concentration"]
    assert found["categories"] == {"correctness": {"P1": 1}, "security": {"P2": 2}}


@pytest.mark.parametrize("key", ["\r", "n"])
def test_with_a_clean_tree_the_last_message_is_offered_at_a_terminal(shop: Path, own_home: Path, key: str) -> None:
    # J14
    git(shop, "checkout", "-q", ".")
    claude(own_home, shop, claude_line(crosses.PROPOSAL, shop))
    said = {"r1/critique@critic": crosses.proposal(), "r1/judgement@judge": crosses.judgement()}
    sat = [f"--{role}={spec}" for role, spec in crosses.seats(shop.parent / "seats", said).items()]
    terminal = Terminal(shop, "cross", *sat)
    seen = " ".join(terminal.until("any other key stops").split())
    assert "The last message of Claude Code in this folder: “# Design Keep sessions in Redis." in seen
    terminal.press(key)
    code = terminal.end()
    assert (code, "Debate Summary" in terminal.seen) == ((0, True) if key == "\r" else (2, False)), terminal.seen
    if key == "\r":
        assert "Target: proposal" in terminal.seen


def test_without_a_terminal_or_with_a_change_nothing_is_offered(shop: Path, own_home: Path) -> None:  # J14
    claude(own_home, shop, claude_line(crosses.PROPOSAL, shop))
    sat = [f"--{role}={spec}" for role, spec in crosses.seats(shop.parent / "seats", FOUND).items()]
    terminal = Terminal(shop, "cross", *sat, "--dry-run")
    assert terminal.end() == 0 and "any other key stops" not in terminal.seen, "there is a change"
    git(shop, "checkout", "-q", ".")
    done = review(shop, FOUND, "--dry-run")
    assert done.returncode == 2 and "any other key stops" not in done.stderr
