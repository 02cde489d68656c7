"""Checks in a debate: offered, run on both sides, shown to the others, ruled on, run again after a fix, gated."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import crosses
import duels
import forkserver
import hosts
import panels
import pytest
import revisions
from console import REBUT, piped
from repositories import commit, git, new

import rebut
from rebut.cli import json_result
from rebut.core.errors import UsageError
from rebut.domain.outcome import Outcome
from rebut.proof import sandbox
from rebut.record import sessions
from rebut.record.events import Asked, Fact
from rebut.reports import terminal

CART = "def total(prices):\n    result = 0\n    for price in prices:\n        result += price\n    return result\n"
WRONG = CART.replace("in prices:", "in prices[1:]:")
CODE = "from shop.cart import total\n\n\ndef test_every_price_counts():\n    assert total([1, 2, 3]) == 6\n"
SCRIPTED = "from shop.cart import total\n\nassert total([1, 2, 3]) == 6\n"
"""The same without pytest, whose start takes ten times as long; a check is run six times."""
PATCH = (
    "--- a/shop/cart.py\n+++ b/shop/cart.py\n@@ -1,5 +1,5 @@\n def total(prices):\n     result = 0\n"
    "-    for price in prices[1:]:\n+    for price in {over}:\n         result += price\n     return result\n"
)


@pytest.fixture(autouse=True)
def sandboxed(monkeypatch: pytest.MonkeyPatch) -> None:
    if isinstance(found := asyncio.run(sandbox.find_sandbox(os.environ)), str):
        pytest.skip(f"left out: {found}")
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)  # the project's environment, with pytest in it


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = new(tmp_path / "repo", {"shop/__init__.py": "", "shop/cart.py": CART})
    commit(folder)
    (folder / "shop/cart.py").write_text(WRONG)
    return folder


def check(code: str = CODE, **changes: Any) -> dict[str, Any]:
    return {"runner": "pytest", "code": code, "shows": "fails only on the new version", "prints": ""} | changes


QUICK = check(SCRIPTED, runner="python")


def raised(**changes: Any) -> Any:
    evidence = [{"place": "shop/cart.py:3", "quote": "for price in prices[1:]:"}]
    return crosses.raised("The first price is left out.", "shop/cart.py:3", evidence=evidence, check=check()) | changes


def said(choice: str = "E", ruling: str = "valid P1", **changes: Any) -> dict[str, Any]:
    return {
        "r1/critique@critic": crosses.critique(raised(**changes)),
        "r1/judgement@judge": crosses.judgement(choice, {"F1": ruling}),
    }


def review(repo: Path, answers: dict[str, Any], **named: Any) -> Outcome:
    return crosses.review(repo, answers, run_checks=True, **{"rounds": 1, **named})


def record_of(outcome: Outcome) -> Any:
    return sessions.load(sessions.find(sessions.home(), outcome.session, Path.cwd()))


def prompts(outcome: Outcome) -> dict[str, str]:
    asked = [one.event for one in record_of(outcome).lines if isinstance(one.event, Asked)]
    return {one.key: one.prompt for one in reversed(asked)}


def test_a_check_is_run_and_the_judge_is_shown_what_it_did(repo: Path) -> None:
    outcome = review(repo, said())
    assert outcome.review is not None
    finding = outcome.review.findings[0]
    assert finding.check is not None and finding.check.mark == "shown"
    assert "assert 5 == 6" in finding.check.output
    asked = prompts(outcome)
    assert "You may add a `check` to a finding" in asked["r1/critique@critic"]
    assert "pytest: a file of pytest tests" in asked["r1/critique@critic"]
    judged = asked["r1/judgement@judge"]
    assert "[shown: it fails on the new version and passes on the old one]" in judged
    assert "| from shop.cart import total" in judged and "assert 5 == 6" in judged
    facts = [one.event for one in record_of(outcome).lines if isinstance(one.event, Fact)]
    marked = next(one for one in facts if one.key == "r1/critique#ledger")
    assert marked.cls == "derived" and marked.value["entries"][0]["check"]["mark"] == "shown"  # type: ignore[index,call-overload]


def test_without_the_flag_nothing_is_offered_and_nothing_runs(repo: Path) -> None:
    off = crosses.review(repo, said(), rounds=1)
    assert off.review is not None and off.review.findings[0].check is None
    assert "checks" not in record_of(off).facts
    for prompt in prompts(off).values():
        assert "check" not in prompt.replace("checks every place", "").replace("checking each citation", "")
    assert "check" not in json.dumps(off.data)


def test_what_a_check_shows_is_not_ruled_invalid_without_a_word_on_the_check(repo: Path) -> None:
    wrong = crosses.judgement("A", {"F1": "invalid P1"})
    outcome = review(repo, said(check=QUICK) | {"r1/judgement@judge": wrong})
    assert [d.kind for d in outcome.doubts if d.kind == "check ignored"] == ["check ignored"]
    assert outcome.heading.endswith("A CHECK WAS IGNORED") and not outcome.conclusive
    attempts = record_of(outcome).calls["r1/judgement@judge"].attempts
    assert len(attempts) == 2  # sent back once
    with_fault = crosses.judgement("A", {"F1": "invalid P1"})
    with_fault["findings"][0]["check_fault"] = "It calls total with integers, which is never done."
    ruled = review(repo, said(check=QUICK) | {"r1/judgement@judge": [wrong, with_fault]})
    assert "check ignored" not in [d.kind for d in ruled.doubts]
    assert ruled.review is not None and "On its check: It calls total" in ruled.review.findings[0].reason


def added(**ruling: Any) -> dict[str, Any]:
    """The judge adds a finding that a check shows, and the critic rules on it."""
    small = crosses.raised("A plain name.", "shop/cart.py:2", severity="P3", evidence=[], check=None)
    own = raised(text="The sum is wrong.", check=QUICK)
    weighed = {"id": "F2", "ruling": "invalid", "severity": "P1", "reason": "I do not think so."} | ruling
    return {
        "r1/critique@critic": crosses.critique(small),
        "r1/judgement@judge": crosses.judgement("E", {"F1": "valid P3"}, missed=[own]),
        "r1/additions@critic": {"findings": [weighed]},
    }


def test_nor_by_the_critic_where_the_judge_added_it(repo: Path) -> None:
    outcome = review(repo, added())
    assert "the critic calls F2 invalid" in next(d.said for d in outcome.doubts if d.kind == "check ignored")
    assert not outcome.conclusive and len(record_of(outcome).calls["r1/additions@critic"].attempts) == 2
    assert "say under `check_fault`" in " ".join(prompts(outcome)["r1/additions@critic"].split())
    told = review(repo, added(check_fault="It calls total with integers."))
    assert "check ignored" not in [d.kind for d in told.doubts]
    assert told.review is not None and "On its check: It calls" in told.review.findings[1].reason


def test_a_judge_that_rules_otherwise_in_a_later_round_ignores_no_check(repo: Path) -> None:
    answers = said("D", "invalid P1", check=QUICK) | {
        "r2/critique@critic": crosses.critique(raised(same_as="F1", check=QUICK)),
        "r2/judgement@judge": crosses.judgement("E", {"F1": "valid P1"}),
    }
    outcome = review(repo, answers, rounds=2)
    assert "check ignored" not in [d.kind for d in outcome.doubts]


def test_a_check_that_is_refuted_lowers_nothing_by_itself(repo: Path) -> None:
    clumsy = crosses.critique(raised(check=check("def test_it():\n    assert True\n")))
    outcome = review(repo, said() | {"r1/critique@critic": clumsy})
    assert outcome.review is not None
    finding = outcome.review.findings[0]
    assert finding.check is not None and finding.check.mark == "refuted"
    assert (finding.severity, finding.ruling) == ("P1", "valid")


@pytest.mark.parametrize(("over", "side", "seen"), [("prices", "passes", "fixed"), ("prices[:-1]", "fails", "")])
def test_after_a_fix_the_check_runs_again_and_decides_whether_it_is_fixed(
    repo: Path, over: str, side: str, seen: str
) -> None:
    answers = said("C", check=QUICK) | {
        "r1/version.code@judge": crosses.patch(PATCH.format(over=over)),
        "r2/critique@critic": crosses.critique(earlier=[crosses.looked("F1", "fixed")], agrees=True),
        "r2/judgement@judge": crosses.judgement("E", {}),
    }
    outcome = review(repo, answers, rounds=2)
    assert outcome.review is not None
    finding = outcome.review.findings[0]
    assert (finding.rerun, finding.seen) == (side, seen)
    assert f"the check on version 2: {side}" in prompts(outcome)["r2/critique@critic"]
    if side == "fails":  # what the critic calls fixed is sent back, and then does not count
        complaints = record_of(outcome).calls["r2/critique@critic"].answered.complaints
        assert any("its check still fails on this version" in one for one in complaints)
        assert not finding.is_fixed


def test_a_finding_whose_check_cannot_run_any_more_is_not_fixed_by_a_word(repo: Path) -> None:
    renamed = PATCH.format(over="prices").replace(" def total(prices):", "-def total(prices):\n+def total_of(prices):")
    answers = said("C") | {
        "r1/version.code@judge": crosses.patch(renamed),
        "r2/critique@critic": crosses.critique(earlier=[crosses.looked("F1", "fixed")], agrees=True),
    }
    outcome = review(repo, answers, rounds=2)
    assert outcome.review is not None
    finding = outcome.review.findings[0]
    assert (finding.rerun, finding.is_fixed) == ("cannot run", False)
    complaints = record_of(outcome).calls["r2/critique@critic"].answered.complaints
    assert any("F1 cannot be fixed: its check cannot run on this version" in one for one in complaints)


# the next review of the same branch


def branch(repo: Path) -> Path:
    """A branch whose commit leaves out a price."""
    git(repo, "checkout", "-q", "-b", "feature")
    commit(repo)
    return repo


def on_branch(repo: Path, answers: dict[str, Any], *words: str) -> Any:
    return piped("review", *seats(repo, answers), "--run-checks", "--base", "main", *words, cwd=repo)


AGREES = {"r1/critique@critic": crosses.critique(earlier=[crosses.looked("F1", "fixed")], agrees=True)}


@pytest.mark.parametrize(
    ("text", "side", "exit_code"),
    [(CART, "passes", 0), (WRONG.replace("[1:]", "[1:None]"), "fails", 1), ("total = 6\n", "fails", 1)],
)
def test_a_finding_of_an_earlier_review_is_fixed_only_if_its_check_passes_now(
    repo: Path, text: str, side: str, exit_code: int
) -> None:
    branch(repo)
    assert on_branch(repo, said("B", check=QUICK), "--fail-on", "P1").returncode == 1
    (repo / "shop/cart.py").write_text(text + "\n\ndef more():\n    return 1\n")
    commit(repo)
    done = on_branch(repo, AGREES, "--fail-on", "P1:shown")
    assert "asking only about what changed since" in done.stderr
    assert done.returncode == exit_code, done.stdout + done.stderr
    shown = json.loads(piped("show", "last", "--json", cwd=repo).stdout)["outcome"]["data"]["contract"]["findings"][0]
    assert (shown["check"]["mark"], shown["rerun"], bool(shown["fixed_by"])) == ("shown", side, side == "passes")


def test_a_finding_that_is_kept_is_still_shown_in_the_next_review(repo: Path) -> None:
    (repo / "shop/tax.py").write_text("RATE = 19\n")
    branch(repo)
    assert on_branch(repo, said("B"), "--fail-on", "P1").returncode == 1
    (repo / "shop/tax.py").write_text("RATE = 20\n")
    commit(repo)
    kept = on_branch(repo, {"r1/critique@critic": crosses.critique()}, "--fail-on", "P1:shown")
    assert kept.returncode == 1, kept.stdout + kept.stderr
    assert "check shown, fails on the final version" in " ".join(kept.stdout.split())
    assert hosts.call(repo, "result", session="last")["findings"][0]["check"] == "shown"


def test_a_check_that_cannot_run_on_the_new_commits_shows_nothing_about_them(repo: Path) -> None:
    branch(repo)
    on_branch(repo, said("B"), "--fail-on", "P1")
    (repo / "shop/cart.py").write_text(CART.replace("total", "total_of"))
    commit(repo)
    done = on_branch(repo, AGREES, "--fail-on", "P1:shown")
    assert done.returncode == 3, done.stdout + done.stderr
    said_of_it = " ".join(done.stdout.split())
    assert (
        "F1: its check is broken: shown in the earlier review; on the change as it is now it cannot run" in said_of_it
    )


def test_a_review_without_checks_does_not_build_on_one_with_them(repo: Path) -> None:
    branch(repo)
    on_branch(repo, said("B"), "--fail-on", "P1")
    (repo / "shop/cart.py").write_text(CART)
    commit(repo)
    (repo / "shop/cart.py").write_text(WRONG)
    commit(repo)
    words = seats(repo, {"r1/critique@critic": crosses.critique()})
    done = piped("review", *words, "--base", "main", cwd=repo)
    assert "review base:main" in done.stderr and "was reviewed at" not in done.stderr


@pytest.mark.parametrize("shows", ["passes on the new version", "prints this"])
def test_a_check_that_shows_a_problem_without_failing_says_nothing_about_a_fix(repo: Path, shows: str) -> None:
    code = "from shop.cart import total\nprint(total([1, 2, 3]))\nassert total([1, 2, 3]) == 5\n"
    shown = check(code, runner="python", shows=shows, prints="5" if shows == "prints this" else "")
    answers = said("C") | {
        "r1/critique@critic": crosses.critique(raised(check=shown)),
        "r1/version.code@judge": crosses.patch(PATCH.format(over="prices[1:None]")),
        "r2/critique@critic": crosses.critique(earlier=[crosses.looked("F1", "still there")]),
        "r2/judgement@judge": crosses.judgement("E", {"F1": "valid P1"}),
    }
    outcome = review(repo, answers, rounds=2)
    assert outcome.review is not None
    finding = outcome.review.findings[0]
    assert finding.check is not None and finding.check.mark == "shown"
    assert (finding.rerun, finding.seen) == ("", "") and not finding.is_fixed


# the command


def seats(repo: Path, answers: dict[str, Any]) -> list[str]:
    found = crosses.seats(repo.parent / "seats", answers)
    return [word for role, spec in found.items() for word in (f"--{role}", spec)]


def test_the_command_shows_the_check_and_the_gate_counts_what_is_shown(repo: Path) -> None:
    words = seats(repo, said())
    done = piped("review", *words, "--run-checks", "--fail-on", "P1:shown", cwd=repo)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "F1, found, check shown, valid" in done.stdout
    assert "check  pytest, fails only on the new version: shown" in done.stdout
    assert "fails on P1, if a check shows it" in done.stdout


@pytest.mark.parametrize(
    ("code", "exit_code", "said_of_it"),
    [
        ("def test_it():\n    assert True\n", 0, "GATE PASSED"),
        ("from shop.cart import gone\n", 3, "F1: its check is broken"),
    ],
)
def test_a_gate_on_what_is_shown_is_inconclusive_where_a_check_could_not_run(
    repo: Path, code: str, exit_code: int, said_of_it: str
) -> None:
    answers = said("B") | {"r1/critique@critic": crosses.critique(raised(check=check(code)))}
    done = piped("review", *seats(repo, answers), "--run-checks", "--fail-on", "P1:shown", cwd=repo)
    assert done.returncode == exit_code, done.stdout + done.stderr
    assert said_of_it in " ".join(done.stdout.split())


def test_a_gate_on_what_is_shown_is_inconclusive_where_no_check_was_run(repo: Path) -> None:
    done = piped("review", *seats(repo, said("B")), "--fail-on", "P1:shown", cwd=repo)
    assert done.returncode == 3
    assert "no check was run; review with --run-checks" in " ".join(done.stdout.split())


def test_without_bubblewrap_it_says_what_is_missing(repo: Path, tmp_path: Path) -> None:
    own = tmp_path / "bin"
    own.mkdir()
    for name in ("git", "sh", "env", "prlimit"):
        place = next(Path(p) / name for p in os.environ["PATH"].split(":") if (Path(p) / name).exists())
        (own / name).symlink_to(place)
    done = piped("review", *seats(repo, said("B")), "--run-checks", "--json", cwd=repo, env={"PATH": str(own)})
    notes = json.loads(done.stdout)["notes"]
    assert any("no check could be run: bubblewrap (`bwrap`) is not installed" in note for note in notes)


def test_a_repository_may_not_have_code_run(repo: Path) -> None:
    for table in ("[checks]\nrun = true\n", "[runners.pytest]\nseconds = 5\n"):
        (repo / "rebut.toml").write_text(table)
        done = piped("review", *seats(repo, said()), cwd=repo)
        assert done.returncode == 2 and "a repository may not" in done.stderr


def test_the_config_counts_only_where_a_person_is_there(repo: Path, own_home: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[checks]\nrun = true\n")
    env = {"REBUT_CONFIG": str(config)}
    done = piped("review", *seats(repo, said("B")), "--json", cwd=repo, env=env)
    assert done.returncode == 0, done.stderr
    record = sessions.load(sessions.find(sessions.home(), json.loads(done.stdout)["session"], repo))
    assert "checks" not in record.facts
    from console import at_a_terminal

    at_a_terminal("review", *seats(repo, said("B", check=QUICK)), cwd=repo, env=env)
    newest = sessions.load(sessions.sessions(sessions.home())[0].folder)
    assert newest.facts["checks"].value["runners"]


def test_python_says_so_itself(repo: Path) -> None:
    outcome = rebut.review(
        models=list(crosses.seats(repo.parent / "seats", said("B", check=QUICK)).values()),
        workspace=repo,
        run_checks=True,
    )
    assert outcome.review is not None and outcome.review.findings[0].check is not None


# a duel: claims, points and answers


def duel(repo: Path, answers: dict[str, Any], **named: Any) -> Outcome:
    seats = {role: duels.script(repo.parent / f"{role}.json", answers, model=role) for role in SEATS}
    return rebut.run("duel", "Is total() right?", workspace=repo, rounds=2, run_checks=True, **{**seats, **named})


SEATS = ("proposer", "challenger", "judge")
PRINTS = {"runner": "python", "code": "from shop.cart import total\nprint(total([1, 2]))\n", "shows": "prints this"}
ONE = {"place": "shop/cart.py:3", "quote": "for price in prices[1:]:"}


def argued(**more: Any) -> dict[str, Any]:
    claim = {"text": "It adds all prices.", "evidence": [ONE], "check": PRINTS | {"prints": "3"}}
    flaw = duels.flaw("The first price is left out.", evidence=[ONE], check=PRINTS | {"prints": "2"})
    answer = {"id": "D1", "argument": "It is meant so.", "evidence": [ONE], "move": "rebut"}
    answer |= {"check": {"runner": "python", "code": "import shop.cart\n", "shows": "passes on the new version"}}
    return {
        "r1/opening@proposer": duels.opening(claims=[claim]),
        "r1/challenge@challenger": duels.challenge(flaws=[flaw], unsupported=[]),
        "r2/defense@proposer": {"responses": [answer], "position": "Keep it.", "claims": [], "need": []},
        "r2/follow-up@challenger": duels.follow_up(2, {"D1": "unresolved"}),
        "verdict@judge": duels.verdict(winner="proposer", reasoning="C1 decides it."),
    } | more


def test_claims_points_and_answers_of_a_duel_may_have_checks(repo: Path) -> None:
    outcome = duel(repo, argued())
    ledger = outcome.ledger
    assert [c.check.mark for c in ledger.claims if c.check] == ["refuted"]
    assert [p.check.mark for p in ledger.points if p.check] == ["shown"]
    assert [m.check.mark for m in ledger.moves if m.check] == ["shown"]
    asked = prompts(outcome)
    assert "[refuted: it prints something else" in asked["r1/challenge@challenger"]
    assert "[shown: it prints as it should" in asked["r2/defense@proposer"]
    verdict = next(prompt for key, prompt in asked.items() if key.startswith("verdict"))
    assert "read the code" in verdict and "[shown: it passes as it should" in verdict
    assert "check ignored" in [d.kind for d in outcome.doubts]
    assert rebut.Outcome.from_json(outcome.to_json()).ledger == ledger


def test_an_export_of_tests_says_whether_there_are_no_checks_or_none_was_shown(repo: Path) -> None:
    bare = {
        "r1/challenge@challenger": duels.challenge(flaws=[duels.flaw("One is left out.")], unsupported=[]),
        "r2/defense@proposer": duels.defense(2, {"D1": "rebut"}),
    }
    none = bare | {"r1/opening@proposer": duels.opening()}
    for answers, says in ((argued(**bare), "no check of session"), (argued(**none), "has no checks")):
        done = piped("export", duel(repo, answers).session, "--format", "tests", cwd=repo)
        assert done.returncode == 2 and says in done.stderr, done.stderr


def test_a_verdict_against_what_is_shown_says_what_is_wrong_with_the_check(repo: Path) -> None:
    fault = duels.verdict(winner="proposer", reasoning="C1 decides it.", check_fault="D1: it takes a list of two.")
    outcome = duel(repo, argued() | {"verdict@judge": fault})
    assert "check ignored" not in [d.kind for d in outcome.doubts]


def test_a_protocol_without_checks_refuses_the_flag(repo: Path) -> None:
    example = Path(__file__).parents[2] / "docs/examples/premortem.py"
    with pytest.raises(UsageError, match="premortem has no checks to run"):
        rebut.run(str(example), "Which cart?", workspace=repo, run_checks=True)


def kinds(outcome: Outcome) -> list[str]:
    return [doubt.kind for doubt in outcome.doubts]


# a question


RIGHT = PRINTS | {"prints": "2"}
"""What the changed code does."""
DECIDES = "C1 and D1 decide it."


def question(repo: Path, answers: dict[str, Any], **named: Any) -> Outcome:
    """Answer 1 keeps the code, answer 2 mends it; D1 is about answer 2, and D2 with its check about answer 1."""
    claim = {"text": "It adds all prices.", "evidence": [ONE], "check": PRINTS | {"prints": "3"}}
    keep = duels.opening(position="Keep it.", claims=[claim])
    mend = duels.opening(position="Mend it.", claims=[{"text": "It leaves one out.", "evidence": [ONE]}])
    mine = duels.flaw("It costs a release.", evidence=[ONE], about="C2")
    theirs = duels.flaw("The first price is left out.", evidence=[ONE], about="C1", check=RIGHT)
    rebuts = {"move": "rebut", "evidence": [ONE], "argument": "It is meant so."}
    said = {
        "answer@proposer": keep,
        "answer@challenger": mend,
        "comparison@judge": {"first": "keep", "second": "mend", "reason": "they differ", "same": False},
        "r1/challenge@proposer": duels.challenge(flaws=[mine], unsupported=[]),
        "r1/challenge@challenger": duels.challenge(flaws=[theirs], unsupported=[]),
        "r1/defense@proposer": {"responses": [rebuts | {"id": "D2"}], "position": "Keep it.", "claims": []},
        "r1/defense@challenger": {"responses": [rebuts | {"id": "D1", "check": RIGHT}], "position": "Mend it."},
    } | answers
    seats = {role: duels.script(repo.parent / f"{role}.json", said, model=role) for role in SEATS}
    return rebut.run("ask", "Is total() right?", workspace=repo, run_checks=True, **{**seats, **named})


def preferred(number: int, **more: Any) -> dict[str, Any]:
    return {"better": f"answer {number}", "answer": "Do so.", "reasoning": DECIDES, "unresolved": []} | more


def test_claims_points_and_answers_of_a_question_may_have_checks(repo: Path) -> None:
    outcome = question(repo, {"verdict@judge": preferred(2)})
    ledger, asked = outcome.ledger, prompts(outcome)
    assert [c.check.mark for c in ledger.claims if c.check] == ["refuted"]
    assert [(p.id, p.check.mark) for p in ledger.points if p.check] == [("D2", "shown")]
    assert [(m.point, m.check.mark) for m in ledger.moves if m.check] == [("D1", "shown")]
    for key in ("r1/challenge@challenger", "comparison@judge", "verdict@judge"):
        assert "[refuted: it prints something else" in asked[key], key
    for key in ("r1/defense@proposer", "verdict@judge"):
        assert "[shown: it prints as it should" in asked[key] and "print(total([1, 2]))" in asked[key], key
    assert (outcome.heading, outcome.exit_code, kinds(outcome)) == ("VERDICT", 0, [])


@pytest.mark.parametrize("orders", [False, True])
def test_an_answer_is_not_preferred_against_what_is_shown_without_a_word_on_the_check(repo: Path, orders: bool) -> None:
    other = {"verdict.other-order@judge": preferred(2)}  # the same answer, which has the other number there
    outcome = question(repo, {"verdict@judge": preferred(1)} | other, both_orders=orders)
    assert (kinds(outcome), outcome.exit_code) == (["check ignored"], 3)
    assert "A CHECK WAS IGNORED" in outcome.heading and "goes against D2" in outcome.doubts[0].said
    sent_back = [one for one in record_of(outcome).lines if isinstance(one.event, Asked) and "verdict" in one.event.key]
    assert len(sent_back) == 2 * (1 + orders), "each judge is asked once more"
    assert "the check of D2 is marked shown" in str(sent_back[-1].event)
    fault = "D2: it is about a list of two."
    said = {"verdict@judge": preferred(1, check_fault=fault)}
    said |= {"verdict.other-order@judge": preferred(2, check_fault=fault)}
    told = question(repo, said, both_orders=orders)
    assert (kinds(told), told.exit_code) == ([], 0) and told.data["decision"]["check_fault"] == fault


# a panel


def panel(repo: Path, answer: dict[str, Any], **more: Any) -> Outcome:
    """One challenger shows a point; the lead answers it, and the challenger accepts that."""
    evidence = [ONE]
    point = panels.point("The first price is left out.", evidence=evidence, check=RIGHT)
    reasoning = [{"text": "It adds all prices.", "evidence": evidence, "check": PRINTS | {"prints": "3"}}]
    response = {"id": "B1", "move": "reject", "reason": "It is meant so.", "evidence": evidence} | answer
    said = {
        "opening/personas@judge": panels.personas(1),
        "opening/position@lead": panels.opening(reasoning=reasoning),
        "r1/challenge@challenger.1": panels.objects("x", points=[point]),
        "r2/confront@lead": panels.confront({}, "Use Redis for sessions.", responses=[response]),
        "r2/rebuttal@challenger.1": panels.rebut({"B1": "accept"}),
    } | more
    seats = panels.seats(repo.parent / "panel", said, ["gemini"])
    return rebut.run("panel", "Is total() right?", workspace=repo, place="-", run_checks=True, **seats)


def test_a_panel_does_not_end_in_consensus_over_a_check_that_was_ignored(repo: Path) -> None:
    outcome = panel(repo, {"check": RIGHT | {"prints": "3"}})
    ledger, asked = outcome.ledger, prompts(outcome)
    assert [c.check.mark for c in ledger.claims if c.check] == ["refuted"]
    assert [p.check.mark for p in ledger.points if p.check] == ["shown"]
    assert [m.check.mark for m in ledger.moves if m.check] == ["refuted"]
    assert "[refuted: it prints something else" in asked["r1/challenge@challenger.1"]
    assert "[shown: it prints as it should" in asked["r2/confront@lead"]
    assert "say under `check_fault` what is wrong" in asked["r2/confront@lead"]
    assert "[refuted: it prints something else" in asked["r2/rebuttal@challenger.1"]
    assert (outcome.kind, kinds(outcome), outcome.exit_code) == ("consensus", ["check ignored"], 3)
    assert outcome.heading == "CONSENSUS, A CHECK WAS IGNORED" and "the lead rejects B1" in outcome.doubts[0].said


def test_a_lead_that_says_what_is_wrong_with_a_check_or_gives_in_may_reach_consensus(repo: Path) -> None:
    told = panel(repo, {"check_fault": "It is about a list of two."})
    assert (told.heading, kinds(told)) == ("CONSENSUS", [])
    assert "(On its check: It is about a list of two.)" in next(m.reason for m in told.ledger.moves if m.by == "lead")
    accepts = {"r2/confront@lead": panels.confront({"B1": "accept"})}
    assert kinds(panel(repo, {}, **accepts)) == []


# a revision


def revise(repo: Path, **named: Any) -> Outcome:
    """Each author shows something: the first in its draft, the second in its critique; the first defends itself."""
    answers: dict[str, Any] = named.pop("answers")
    statement = {"text": "It adds all prices.", "check": PRINTS | {"prints": "3"}}
    defended = {"id": "W1", "reason": "It is meant so.", "evidence": [ONE], "check": RIGHT}
    again = revisions.document("author 1")
    said = {
        "r0/draft@author.1": {"document": again, "checked": [statement]},
        "r0/draft@author.2": {"document": revisions.document("author 2")},
        "r1/critique@author.1": revisions.critique(),
        "r1/critique@author.2": revisions.critique(revisions.objection("One price is left out.", check=RIGHT)),
        "r1/revision@author.1": revisions.revision(again, []) | {"defended": [defended], "checked": [statement]},
        "r1/revision@author.2": revisions.revision(revisions.document("author 2"), []),
    } | answers
    return revisions.run(repo, said, rounds=1, run_checks=True, **named)


OVERRULED = revisions.plan([]) | {"overruled": [{"id": "W1", "why": "it costs too much"}]}


def test_documents_critiques_and_defenses_of_a_revision_may_have_checks(repo: Path) -> None:
    outcome = revise(repo, answers={"synthesis@synthesizer": OVERRULED})
    ledger, asked = outcome.ledger, prompts(outcome)
    assert next((c.by, c.check.mark) for c in ledger.claims if c.check) == ("author.1", "refuted")
    assert [(p.id, p.check.mark) for p in ledger.points if p.check] == [("W1", "shown")]
    assert [(m.point, m.check.mark) for m in ledger.moves if m.check] == [("W1", "shown")]
    for key, noun in (("r0/draft@author.2", "statement of your"), ("r1/critique@author.1", "weakness or a disagree")):
        assert f"You may add a `check` to a {noun}" in asked[key]
    assert "[refuted: it prints something else" in asked["r1/critique@author.2"], "the other's draft"
    assert "print(total([1, 2]))" in asked["r1/revision@author.1"], "the other's critique"
    assert "[shown: it prints as it should" in asked["r1/revision@author.1"]
    synthesis = asked["synthesis@synthesizer"]
    assert synthesis.count("[shown: it prints as it should") == 2 and "read the code" in synthesis
    assert "[refuted: it prints something else" in synthesis
    assert (kinds(outcome), outcome.exit_code) == (["check ignored"], 3)
    assert "the synthesizer does not follow W1" in outcome.doubts[0].said
    screen = " ".join(terminal.ending(outcome, width=100).split())
    assert "in doubt the synthesizer does not follow W1, and does not say what is wrong with the check" in screen
    assert "(§ Steps located; check shown)" in screen
    assert "does not follow W1" in str(json_result.brief(outcome)["doubts"])
    folder = revisions.phase(repo)
    critique = (folder / "critique_of_claude_r1.md").read_text()
    assert "[check shown: it prints as it should" in critique
    assert "    W1:\n       check (python; its author says that it prints '2') [shown" in critique
    assert "[check shown: it prints as it should" in (folder / "plan_claude_v2.md").read_text()
    assert "- W1: python, prints '2': shown: it prints as it should" in (folder / "PLAN.md").read_text()


def test_a_synthesizer_that_says_what_is_wrong_with_a_check_may_overrule_it(repo: Path) -> None:
    fault = OVERRULED | {"check_fault": "W1: it is about a list of two."}
    outcome = revise(repo, answers={"synthesis@synthesizer": fault})
    assert (kinds(outcome), outcome.exit_code) == ([], 0)
    assert "The synthesizer on the checks: W1: it is about" in (revisions.phase(repo) / "PLAN.md").read_text()


@pytest.mark.parametrize(
    ("changes", "doubted"),
    [
        ({}, True),
        ({"check_fault": "W1: it is about a list of two."}, False),
        ({"disagreement": [{"point": "W1: the total", "tie_break": "its check shows it"}]}, False),
    ],
)
def test_a_verdict_on_two_reviews_does_not_pass_over_a_check(repo: Path, changes: Any, doubted: bool) -> None:
    tied = {"disagreement": [{"point": "W1: the total", "tie_break": "the second is right"}]}
    findings = [{"text": "It is odd.", "severity": "low", "held_by": "both", "evidence": [ONE]}]
    form = revisions.verdict(findings=findings) | tied | changes
    outcome = revise(repo, answers={"synthesis@synthesizer": form}, stage="review")
    assert ("check ignored" in kinds(outcome)) == doubted
    assert "You may add" in prompts(outcome)["r0/draft@author.1"] and outcome.ledger.points[0].check is not None
    assert "the old and one of the new version" in prompts(outcome)["r0/draft@author.1"]


# afterwards


def test_checks_run_again_become_test_files_and_are_in_every_export(repo: Path, tmp_path: Path) -> None:
    answers = said("C") | {
        "r1/version.code@judge": crosses.patch(PATCH.format(over="prices")),
        "r2/critique@critic": crosses.critique(earlier=[crosses.looked("F1", "fixed")], agrees=True),
    }
    outcome = review(repo, answers, rounds=2)
    id = outcome.session
    again = piped("rerun", id, cwd=repo)
    assert (again.returncode, again.stdout.split()[:3]) == (0, ["F1", "pytest", "shown:"]), again.stderr
    assert piped("rerun", id, "F1", "--here", cwd=repo).returncode == 1
    (repo / "shop/cart.py").write_text(CART)
    here = piped("rerun", id, "F1", "--here", "--json", cwd=repo)
    assert here.returncode == 0 and json.loads(here.stdout)["checks"][0]["now"]["mark"] == "passes"
    assert "has no check for F7" in piped("rerun", id, "F7", cwd=repo).stderr
    folder = tmp_path / "tests"
    wrote = piped("export", id, "--format", "tests", "-o", str(folder), cwd=repo)
    assert wrote.returncode == 0, wrote.stderr
    (file,) = folder.iterdir()
    assert file.name == "test_f1_the_first_price_is_left_out.py" and CODE.strip() in file.read_text()
    assert piped("export", id, "--format", "tests", "-o", str(folder), cwd=repo).returncode == 2  # it is there already
    (repo / "linked").symlink_to(tmp_path)
    through = piped("export", id, "--format", "tests", "-o", "linked/more", cwd=repo)
    assert through.returncode == 2 and "is a symbolic link" in through.stderr and not (tmp_path / "more").exists()
    sarif = json.loads(piped("export", id, "--format", "sarif", cwd=repo).stdout)
    made = sarif["runs"][0]["results"][0]
    assert made["properties"]["check"]["mark"] == "shown" and made["properties"]["check"]["onFinalVersion"] == "passes"
    assert "Check (pytest): shown" in made["message"]["text"]
    page = piped("export", id, "--format", "md", cwd=repo).stdout
    assert "### F1: pytest, fails only on the new version" in page and "assert 5 == 6" in page
    html = piped("export", id, "--format", "html", cwd=repo).stdout
    assert "it fails on the new version and passes on the old one" in html
    shown = piped("show", id, "--all", cwd=repo)
    assert shown.returncode == 0 and "check shown, passes on the final version" in " ".join(shown.stdout.split())


NODE = "export const total = (prices) => prices.reduce((a, b) => a + b, 0)\n"
NODE_CODE = (
    "import test from 'node:test'\nimport assert from 'node:assert'\nimport { total } from '/w/lib/cart.mjs'\n"
    "test('total', () => assert.equal(total([1, 2]), 3))\n"
)
GO_CODE = (
    'package rebut_check\n\nimport (\n\t"testing"\n\n\t"example.org/shop/cart"\n)\n\n'
    'func TestTwo(t *testing.T) {\n\tif cart.Two() != 2 {\n\t\tt.Fatal("not two")\n\t}\n}\n'
)
SCRIPT = "from shop.cart import total\nassert total([1, 2]) == 3, '''not all'''\n"
READS = (
    "from pathlib import Path\n\nfrom shop.cart import total\n\n\ndef test_file():\n"
    "    assert total([int(row) for row in Path('/w/data/prices').read_text().split()]) == 3\n"
)


@pytest.mark.long
def test_exported_tests_run_in_the_repository_and_pass_once_it_is_fixed(repo: Path) -> None:
    good = {"lib/cart.mjs": NODE, "go.mod": "module example.org/shop\n\ngo 1.19\n", "data/prices": "1\n2\n"}
    good |= {"cart/cart.go": "package cart\n\nfunc Two() int { return 2 }\n", "shop/cart.py": CART}
    bad = {"lib/cart.mjs": NODE.replace("prices.r", "prices.slice(1).r"), "shop/cart.py": WRONG}
    bad |= {"cart/cart.go": good["cart/cart.go"].replace("2", "3")}
    write(repo, good)
    commit(repo)
    write(repo, bad)
    shell = "cd /w\npython3 -c 'from shop.cart import total; assert total([1, 2]) == 3'\n"
    codes = {"pytest": READS, "python": SCRIPT, "shell": shell, "node": NODE_CODE, "go": GO_CODE}
    codes = {runner: code for runner, code in codes.items() if runner not in ("node", "go") or shutil.which(runner)}
    found = {
        runner: raised(text=f"Wrong in {runner}.", check=check(code, runner=runner)) for runner, code in codes.items()
    }
    found |= {"go again": raised(text="Go again.", check=check(GO_CODE, runner="go"))} if "go" in codes else {}
    found |= {"prints": raised(text="It prints two.", check=RIGHT | {"prints": "2"})}
    ruled = crosses.judgement("E", {f"F{n}": "valid P1" for n in range(1, len(found) + 1)})
    answers = {"r1/critique@critic": crosses.critique(*found.values()), "r1/judgement@judge": ruled}
    outcome = review(repo, answers)
    assert [p.check.mark for p in outcome.ledger.points] == ["shown"] * len(found)
    assert piped("export", outcome.session, "--format", "tests", "-o", "tests/shown", cwd=repo).returncode == 0
    by_runner = dict(zip(found, sorted((repo / "tests/shown").rglob("*.*"), key=_number), strict=True))
    tests = [sys.executable, "-m", "pytest", "-q"]
    assert passes(repo, *tests, str(by_runner["prints"])), "it shows the problem as it is"
    runs = {"node": ["node", "--test"], "pytest": tests, "python": tests, "shell": ["sh"]}
    commands = {name: [*runs[name], str(by_runner[name])] for name in codes if name != "go"}
    commands |= {"go": ["go", "test", "./tests/..."]} if "go" in codes else {}
    assert not [name for name, words in commands.items() if passes(repo, *words)], "each fails on the change"
    write(repo, good)
    assert not [name for name, words in commands.items() if not passes(repo, *words)], "each passes without it"
    assert not passes(repo, *tests, str(by_runner["prints"]))


def _number(file: Path) -> int:
    found = re.search(r"\bf(\d+)_", file.relative_to(file.parents[3]).as_posix().replace("_f", " f"))
    assert found
    return int(found[1])


def write(repo: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(text)


def passes(repo: Path, *words: str) -> bool:
    env = {**os.environ, "GOFLAGS": "-mod=mod", "GOCACHE": str(repo.parent / "go")}
    return subprocess.run(words, cwd=repo, env=env, capture_output=True).returncode == 0


def test_programs_and_readers_see_each_check_in_the_result(repo: Path) -> None:
    done = piped("review", *seats(repo, said("B")), "--run-checks", "--json", cwd=repo)
    made = json.loads(done.stdout)
    assert made["review"]["findings"][0]["check"] == made["ledger"]["points"][0]["check"] == "shown"
    assert made["ledger"]["checks"] == {"shown": 1}
    screen = piped("show", made["session"], "--all", cwd=repo).stdout
    below = screen[screen.index("POINTS AND CLAIMS") :]
    assert "     | def test_every_price_counts():\n     |     assert total([1, 2, 3]) == 6\n" in below
    assert "check: pytest, fails only on the new version" in " ".join(below.split()), "the answer names it only"


def test_run_again_here_a_check_that_prints_something_passes_only_if_it_prints_that(repo: Path) -> None:
    answers = {"r1/critique@critic": crosses.critique(raised(check=RIGHT | {"prints": "2"}))}
    outcome = review(repo, said("B") | answers)
    assert outcome.ledger.points[0].check.mark == "shown"
    same = piped("rerun", outcome.session, "--here", cwd=repo)
    assert (same.returncode, same.stdout.split(maxsplit=2)[2].strip()) == (0, "passes: it prints '2'")
    (repo / "shop/cart.py").write_text(CART)
    other = piped("rerun", outcome.session, "--here", "--json", cwd=repo)
    now = json.loads(other.stdout)["checks"][0]["now"]
    assert (other.returncode, now["mark"], now["note"]) == (1, "fails", "it prints '3', not '2'")
    (repo / "shop/cart.py").write_text("total = None\n")
    assert piped("rerun", outcome.session, "--here", cwd=repo).returncode == 1


def test_a_text_is_checked_by_running_its_blocks_only_if_that_command_says_so(repo: Path, own_home: Path) -> None:
    plan = repo / "PLAN.md"
    plan.write_text(
        "check: prints 5\n\n```python\nfrom shop.cart import total\nprint(total([1, 2, 3]))\n```\n\n"
        "- **check:** passes\n\n~~~sh\ntest -f shop/gone.py\n~~~\n\n"
        "```text\ncheck: passes\n```\n\n```python\nraise SystemExit(1)\n```\n\ncheck: prints 1\n\n```cobol\nx\n```\n"
    )
    config = own_home / "config.toml"
    config.write_text("[checks]\nrun = true\n")
    off = piped("check", "PLAN.md", "--json", cwd=repo, env={"REBUT_CONFIG": str(config)})
    assert off.returncode == 0 and "checks" not in json.loads(off.stdout)
    hook = piped("check", "PLAN.md", "--run-checks", cwd=repo, env={"PRE_COMMIT": "1"})
    assert hook.returncode == 2 and "a hook does not run the code in a text" in hook.stderr
    on = piped("check", "PLAN.md", "--run-checks", "--json", cwd=repo)
    assert on.returncode == 1, on.stderr
    found = json.loads(on.stdout)["checks"]
    assert [(one["line"], one["mark"]) for one in found] == [(1, "shown"), (8, "refuted"), (22, "broken")]
    said_on_screen = piped("check", "PLAN.md", "--run-checks", cwd=repo).stdout
    assert "3 checks" in said_on_screen and "no runner is known for 'cobol'" in said_on_screen
    assert "new version" not in said_on_screen, "a text has one version only"


@pytest.mark.long
def test_a_debate_that_was_killed_while_a_check_ran_runs_it_again(repo: Path) -> None:
    slow = SCRIPTED.replace("assert", "import time\ntime.sleep(3)\nassert")
    words = seats(repo, said("B") | {"r1/critique@critic": crosses.critique(raised(check=QUICK | {"code": slow}))})
    child = forkserver.Popen([REBUT, "review", *words, "--run-checks", "-q"], cwd=repo, stdout=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not (running := _checks_of(child.pid)) and time.monotonic() < until:
        time.sleep(0.05)
    assert running, "the check runs"
    child.kill()
    child.wait()
    while any(map(_is_check, running)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(_is_check, running)), "the sandbox ends with rebut"
    done = piped("resume", "last", cwd=repo)
    assert done.returncode == 0, done.stderr
    assert "check shown" in done.stdout


def _checks_of(parent: int) -> list[int]:
    """The processes below this one that run a check."""
    parents: dict[int, int] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            parents[int(place.parent.name)] = int(place.read_text().rpartition(")")[2].split()[1])
    below = {parent}
    for _ in range(6):
        below |= {pid for pid, above in parents.items() if above in below}
    return [pid for pid in below if _is_check(pid)]


def _is_check(pid: int) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"/rebut/launcher.py" in words and b"bwrap" not in words
