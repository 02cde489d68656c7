"""Whole debates of each protocol through the command line: what the models are asked, and what every file says."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import crosses
import duels
import panels
import pytest
import revisions
from console import piped

from rebut.record import sessions
from rebut.record.record import Record
from tests import fake_tool

GONE = {"fail": "auth", "message": "log in first"}


def rebut(*words: str, codes: tuple[int, ...] = (0,), **env: str) -> dict[str, Any]:
    done = piped(*words, "--json", env=env)
    assert done.returncode in codes, f"{done.returncode}: {done.stdout}\n{done.stderr}"
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def record_of(told: dict[str, Any]) -> Record:
    return sessions.load(sessions.home() / told["session"])


def prompt(told: dict[str, Any], key: str) -> str:
    """What was asked, without the line breaks of the template."""
    return " ".join(record_of(told).calls[key].asked[1].prompt.split())


# revise


def revise(
    workspace: Path, said: dict[str, Any], rounds: int = 1, stage: str = "plan", codes: tuple[int, ...] = (0,)
) -> dict[str, Any]:
    seats = revisions.seats(workspace.parent / "scripts", said)
    authors = [word for one in seats["author"] for word in ("--author", one)]
    what = [revisions.TOPIC] if stage == "plan" else ["--uncommitted"]
    words = ("revise", stage, *what, *authors, "--synthesizer", seats["synthesizer"], "--strategy", "debate")
    return rebut(*words, "--rounds", str(rounds), codes=codes)


def written(workspace: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in revisions.phase(workspace).iterdir()}


def test_a_plan_debate_asks_by_the_adversarial_rules_and_writes_its_files(workspace: Path) -> None:  # K3 K5 K7 K9 K10
    said = revisions.answers(2)
    said["r1/critique@author.1"]["disagreements"] = [revisions.dispute("Redis or cookies", severity="low")]
    said["r1/critique@author.1"]["concessions"] = [{"text": "Its checks are better.", "id": ""}]
    said["synthesis@synthesizer"] = revisions.plan([f"W{n}" for n in range(1, 6)])
    for key, id in {"r1/revision@author.1": "W3", "r2/revision@author.1": "W5", "r2/revision@author.2": "W4"}.items():
        said[key]["addressed"] = [{"id": id, "change": "done"}]
    told = revise(workspace, said, rounds=2)
    critic = prompt(told, "r1/critique@author.1")
    for rule in (
        "Question what it takes for granted",
        "Ask for proof",
        "Look for gaps",
        "Be exact",
        "Say what is good",
    ):
        assert rule in critic
    reviser = prompt(told, "r1/revision@author.1")
    for rule in ("Do not give in to everything", "Give in honestly", "Show your work", "Keep the form"):
        assert rule in reviser
    files = written(workspace)
    rounds = [f"critique_of_{name}_r{n}.md" for n in (1, 2) for name in ("claude", "codex")]
    versions = [f"plan_{name}{v}.md" for name in ("claude", "codex") for v in ("", "_v2", "_v3")]
    assert sorted(files) == sorted([*rounds, *versions, "PLAN.md", "debate_log.md"])
    critique = files["critique_of_codex_r1.md"]
    heads = [
        "## Critique of codex (Round 1)",
        "### Strengths",
        "### Weaknesses",
        "### Disagreements",
        "### Concessions",
    ]
    assert [line for line in critique.splitlines() if line.startswith("#")] == heads
    assert "(low, correctness) Redis or cookies: mine needs no server" in critique
    log = files["debate_log.md"]
    words = len(critique.split())
    assert f"critique of Codex: .kiln/tracks/phase-1/critique_of_codex_r1.md ({words} words, 1 weakness)" in log
    assert "(changes: The steps say more.)" in log and "- Convergence check: not converged" in log
    assert "### Outcome\n- Rounds completed: 2 of 2\n- Early termination: no" in log


@pytest.mark.parametrize("stubborn", [False, True])
def test_a_revision_keeps_its_headings_or_is_sent_back_once(workspace: Path, stubborn: bool) -> None:  # K6
    said = revisions.answers(1)
    good = revisions.revision(revisions.document("author 1", "More."), [], ["W2"])
    bad = good | {"document": good["document"].replace("## Checks", "## Tests")}
    said["r1/revision@author.1"] = [bad, bad if stubborn else good]
    told = revise(workspace, said)
    again = record_of(told).calls["r1/revision@author.1"].asked[2].followup
    assert "the heading '## Checks' is gone" in again and "the heading '## Tests' is new" in again
    files = written(workspace)
    first, _, rest = files["plan_claude_v2.md"].partition("\n")
    assert first == "<!-- Revision v2: Addressed critique points []. Defended: [W2]. -->"
    assert rest.startswith('\n### Defense\n\n- W2: W2 is meant that way — src/session.py:2 "ttl = 3600" [found]\n')
    assert ("Claude revision, accepted as it is: the heading" in files["debate_log.md"]) == stubborn


@pytest.mark.parametrize("why", ["no weakness in either critique", "only cosmetic disagreements are left"])
def test_the_rounds_end_when_the_authors_have_converged(workspace: Path, why: str) -> None:  # K8
    said = revisions.answers(1)
    small = revisions.dispute("Names", severity="low", impact="none")
    for by in (1, 2):
        flaw = [revisions.objection("Flaw.", severity="low", impact="none")] if why.startswith("only") else []
        said[f"r1/critique@author.{by}"] = revisions.critique(*flaw, disagreements=[small] if flaw else [])
        answered = ["W1", "W2", "W3", "W4"] if flaw else []
        said[f"r1/revision@author.{by}"] = revisions.revision(revisions.document(f"author {by}", "Now."), answered)
    said["synthesis@synthesizer"] = revisions.plan(["W1", "W2", "W3", "W4"] if why.startswith("only") else [])
    told = revise(workspace, said, rounds=3)
    assert "CONVERGED AFTER 1 OF 3 ROUNDS" in told["heading"]
    log = written(workspace)["debate_log.md"]
    assert f"- Convergence check: converged — {why}" in log and f"- Early termination: yes — {why}" in log
    assert not any(key.startswith("r2/") for key in record_of(told).calls)


def test_the_synthesis_reads_everything_and_accounts_for_every_point(workspace: Path) -> None:  # K11
    said = revisions.answers(2)
    told = revise(workspace, said, rounds=2)
    asked = prompt(told, "synthesis@synthesizer")
    assert asked.count("As of round 2.") == 2, "the final version of both"
    for n in (1, 2):
        assert all(f"Flaw {n} that author {by} sees." in asked for by in (1, 2))
    assert "### Round 2" in asked and "Convergence check" in asked, "the log"
    plan = written(workspace)["PLAN.md"]
    assert plan.startswith("# Sessions\n\n## Goal\n\nSigned cookies.")
    notes = plan.partition("## Synthesis Notes")[2]
    assert "### Adopted\n\n- W1 (Flaw 1 that author 1 sees.): step 1" in notes
    assert "### Overruled\n\n- W2 (Flaw 1 that author 2 sees.): it costs too much" in notes
    assert "- W3 (Flaw 2 that author 1 sees.). Tie-break: the simpler way" in notes


def test_a_review_verdict_has_assessments_findings_and_tie_breaks(workspace: Path) -> None:  # K4 K11
    revisions.change(workspace)
    said = revisions.answers(1, "review")
    said["synthesis@synthesizer"]["disagreement"] = [{"point": "W1: the name", "tie_break": "keep it"}]
    revise(workspace, said, stage="review")
    verdict = written(workspace)["review_verdict.md"]
    assert "**Decision**: approve with changes" in verdict and "It can go in with a change." in verdict
    assert "### claude (review_v2.md)" in verdict and "### codex (review_codex_v2.md)" in verdict
    assert "[medium] (both) The ttl is fixed." in verdict and "one said high, one said low" in verdict
    assert "## Points of Agreement\n\n- The ttl is fixed." in verdict
    assert "## Points of Disagreement\n\n- W1: the name. Tie-break: keep it" in verdict


@pytest.mark.parametrize("failed", [("author.2",), ("author.1", "author.2")])
def test_an_author_that_fails_twice_ends_the_rounds_with_what_there_is(
    workspace: Path, failed: tuple[str, ...]
) -> None:  # K12 C5 C6
    said = revisions.answers(2)
    for seat in failed:
        said |= {f"r1/revision{again}@{seat}": GONE for again in ("", ".again")}
    said["synthesis@synthesizer"] = revisions.plan(["W1", "W2"])
    told = revise(workspace, said, rounds=2, codes=(3,))
    record = record_of(told)
    assert "r1/revision.again@author.2" in record.calls and not any(key.startswith("r2/") for key in record.calls)
    assert "AFTER 0 OF 2 ROUNDS" in told["heading"] and ("ONE VERSION STALE" in told["heading"]) == (len(failed) == 1)
    files = written(workspace)
    assert "plan_codex_v2.md" not in files and ("plan_claude_v2.md" in files) == (len(failed) == 1)
    assert "- Codex revision: failed (auth: log in first)" in files["debate_log.md"]
    stale = "- Final Codex version: .kiln/tracks/phase-1/plan_codex.md (stale: no revision in round 1)"
    assert (stale in files["debate_log.md"]) == (len(failed) == 1)
    assert "The debate was cut short after 0 of 2 rounds" in files["PLAN.md"]


def test_two_drafts_are_merged_without_a_debate_if_the_strategy_says_so(workspace: Path) -> None:  # K1 K2
    revisions.configure(workspace, '{"preferences": {"debateRounds": 2}}')
    said = revisions.answers(0) | {"synthesis@synthesizer": revisions.plan([])}
    seats = revisions.seats(workspace.parent / "scripts", said)
    authors = [word for one in seats["author"] for word in ("--author", one)]
    told = rebut("revise", "plan", revisions.TOPIC, *authors, "--synthesizer", seats["synthesizer"])
    assert told["heading"] == "PLAN OUT OF TWO DRAFTS, NOT DEBATED", "the default where the file exists"
    assert sorted(written(workspace)) == ["PLAN.md", "plan_claude.md", "plan_codex.md"]
    assert len(record_of(told).calls) == 3
    assert "Made of two drafts; nothing was debated." in written(workspace)["PLAN.md"]


# cross


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = crosses.repository(tmp_path / "shop")
    monkeypatch.chdir(folder)
    return folder


def cross(shop: Path, said: dict[str, Any], *words: str, codes: tuple[int, ...] = (0,)) -> dict[str, Any]:
    seats = crosses.seats(shop.parent / "seats", said)
    named = [word for role, spec in seats.items() for word in (f"--{role}", spec)]
    return rebut("cross", "--uncommitted", *named, *words, codes=codes)


def test_the_intensity_sets_rounds_and_limits_and_flags_override_it(shop: Path) -> None:  # J3 J6
    said = {"r1/critique@critic": crosses.critique()}
    cases = {
        ("quick",): (1, 10, 180),
        (): (3, 20, 600),
        ("extensive",): (5, 40, 900),
        ("quick", "--max-rounds", "2", "--budget-minutes", "3", "--backend-timeout-seconds", "130"): (2, 3, 130),
    }
    for words, (rounds, minutes, timeout) in cases.items():
        told = cross(shop, said, *(["--intensity", *words] if words else []))
        folder = shop / ".git/review-loop" / told["review"]["session"]
        assert folder.stat().st_mode & 0o777 == 0o700
        assert {path.name for path in folder.iterdir()} == {
            *("artifact.md", "metadata.json", "decision.json"),
            *("round-1-input.md", "round-1-critique.md", "summary.md"),
        }
        made = json.loads((folder / "metadata.json").read_text())
        limits = (made["limits"]["minutes"], made["limits"]["timeout"])
        assert (made["max_rounds"], *limits) == (rounds, minutes, timeout)
    assert piped("cross", "--uncommitted", "--max-rounds", "6").returncode == 2


@pytest.mark.parametrize(("author", "critic"), [("claude", "codex"), ("codex", "claude")])
def test_the_critic_is_the_model_that_did_not_write_the_change(
    shop: Path, own_home: Path, author: str, critic: str
) -> None:  # J8 C2
    folder = fake_tool.install(shop.parent / "bin", "claude", "codex")
    fake_tool.log_in(own_home)
    env = {"PATH": f"{folder}:{os.environ['PATH']}", "PROGRAMDATA": json.dumps({"obeys": True})}
    (own_home / "c.toml").write_text('[egress]\nallow = ["claude", "codex"]\n')
    env["REBUT_CONFIG"] = str(own_home / "c.toml")
    done = piped("cross", "--uncommitted", "--author", author, "--dry-run", "--json", env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    asked = {name: row["seats"] for name, row in json.loads(done.stdout)["providers"].items()}
    assert asked == {critic: ["critic"], author: ["judge"]}, "the author itself is not asked"


@pytest.mark.parametrize(("state", "seen"), [("fixed", "fixed"), ("not checked", "not raised again")])
def test_a_finding_is_called_fixed_only_if_the_critic_looked_at_it_again(
    shop: Path, state: str, seen: str
) -> None:  # C19 J10
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised()),
        "r1/judgement@judge": crosses.judgement("C", {"F1": "valid P1"}),
        "r1/version.code@judge": crosses.patch(),
        "r2/critique@critic": crosses.critique(earlier=[crosses.looked(state=state)]),
    }
    done = piped(*words_of("cross", "--uncommitted", **crosses.seats(shop.parent / "seats", said)), "--all")
    assert f'F1 api/orders.py:5 It commits before it charges. (found "commit(order)", valid, {seen})' in " ".join(
        done.stdout.split()
    ), done.stdout + done.stderr
    standing = rebut("show", "last")["outcome"]["data"]["contract"]["unresolved"]
    assert any(line.startswith("F1 (P1)") for line in standing) == (seen != "fixed")


def words_of(*words: str, **seats: str) -> list[str]:
    return [*words, *(word for role, spec in seats.items() for word in (f"--{role}", spec))]


def test_in_every_form_reasons_come_before_what_they_decide(shop: Path) -> None:  # C20
    seats = crosses.seats(shop.parent / "seats", {"r1/critique@critic": crosses.critique(crosses.raised())})
    waits = rebut(*words_of("cross", "--uncommitted", critic=seats["critic"], judge="caller"), codes=(4,))
    schema, pairs = waits["schema"], []
    for form in (schema, *schema["$defs"].values()):
        names = list(form["properties"])
        assert form["required"] == names, "nothing is optional in what a model is asked for"
        for reason, decides in (("reason", "choice"), ("reason", "ruling"), ("evidence", "severity")):
            if {reason, decides} <= set(names):
                pairs.append(decides)
                assert names.index(reason) < names.index(decides), names
    assert sorted(pairs) == ["choice", "ruling", "severity"]


# panel


def panel(workspace: Path, said: dict[str, Any], *words: str, codes: tuple[int, ...] = (0,)) -> dict[str, Any]:
    seats = panels.seats(workspace.parent / "seats", said)
    named = [word for one in seats["challenger"] for word in ("--challenger", one)]
    return rebut("panel", panels.TOPIC, "--lead", seats["lead"], "--judge", seats["judge"], *named, *words, codes=codes)


def test_a_panel_keeps_personas_opening_positions_and_assumptions(workspace: Path) -> None:  # H1 H2 H4 H9 H10 H11
    told = panel(workspace, panels.tradeoff(2), "--max-rounds", "2")
    files, state = panels.files(workspace), panels.state(workspace)
    assert told["heading"] == "TRADEOFF"
    personas = {c["lens"]: (files / c["persona_file"]).read_text() for c in state["challengers"]}
    assert list(personas) == ["Architect", "Operator", "Adversary"]
    for lens, text in personas.items():
        others = [f"{other.lower()} matter" for other in personas if other != lens]
        assert f"{lens.lower()} matter one" in text and not any(item in text for item in others)
    opening = (files / "transcript.md").read_text().partition("## Round 1")[0]
    for part in ("Use Redis for sessions.", "**Confidence:** HIGH", "C1: Sessions live an hour.", "- one node"):
        assert part in opening, part
    assert "- one region is enough" in opening and "one region is enough" in prompt(told, "r1/challenge@challenger.1")
    first, second = state["position_history"]
    assert (first["version"], first["text"]) == (1, "Use Redis for sessions.")
    assert (second["version"], second["text"]) == (2, "Use Redis with random keys.")
    assert [(cause["point"], cause["lens"]) for cause in second["causes"]] == [("B2", "Adversary")]
    final = json.loads(piped("show", told["session"], "--json").stdout)["outcome"]["final"]
    assert "- v2 (after round 1): Use Redis with random keys." in final
    assert "| nodes are lost monthly | Architect | Lead |" in final
    assert panels.TOPIC in prompt(told, "assumptions/grounds@lead")
    assert "Architect: outages happen monthly" in prompt(told, "map@judge")


def test_a_challenger_that_hangs_does_not_hold_back_the_others(workspace: Path) -> None:  # H5 H12 C6
    said = panels.consensus() | {"r1/challenge@challenger.2": {"hang": True}}
    told = panel(workspace, said, "--timeout", "5", codes=(3,))
    assert told["heading"] == "PARTIAL CONSENSUS (2 of 3)"
    record = record_of(told)
    order = [line.event.key for line in record.lines if line.event.kind == "asked" and "r1/challenge" in line.event.key]
    assert sorted(order[:3]) == [f"r1/challenge@challenger.{n}" for n in (1, 2, 3)], "all at once"
    files = panels.files(workspace)
    assert "**No answer:** timeout" in (files / "rounds/r001_codex.md").read_text()
    for name in ("gemini", "qwen"):
        page = (files / f"rounds/r001_{name}.md").read_text()
        assert "**Verdict:**" in page and "**Examined:**" in page


# duel


def duel(workspace: Path, said: dict[str, Any] | None = None, rounds: int = 2, *words: str) -> dict[str, Any]:
    seats = duels.seats(workspace.parent, said, rounds)
    named = [word for role, spec in seats.items() for word in (f"--{role}", spec)]
    return rebut("duel", duels.TOPIC, *named, "--rounds", str(rounds), *words)


def test_both_sides_are_asked_for_evidence_and_what_lacks_it_is_in_the_verdict(workspace: Path) -> None:  # D2 D5 C11
    told = duel(workspace)
    for key in ("r1/opening@proposer", "r1/challenge@challenger", "r2/defense@proposer", "r2/follow-up@challenger"):
        assert "The rule for both sides: each claim cites its evidence" in prompt(told, key)
    assert told["ledger"]["unsupported"] == ["C2"]
    final = json.loads(piped("show", told["session"], "--json").stdout)["outcome"]["final"]
    assert "### Unsupported Claims\n\n- C2 (proposer, round 1): Redis is always faster." in final
    assert "C2: Redis is always faster. (cites nothing)" in prompt(told, "verdict@judge")


def test_a_summary_replaces_the_oldest_rounds(workspace: Path) -> None:  # D4
    told = duel(workspace, rounds=4)
    opening, conceded = "Sessions must survive a restart.", "In round 2 I say to D1: concede it is."
    assert opening in prompt(told, "r2/defense@proposer")
    assert opening not in prompt(told, "r4/defense@proposer")
    last = prompt(told, "r4/defense@proposer")
    assert "summary of rounds 1 to 2" in last and conceded in last
    assert "round 3, proposer" in last and "In round 3 I say to D2: rebut it is." in last
    assert "In round 2 I say to D2" not in last.partition("summary of rounds 1 to 2")[2].partition("round 3")[0]


def test_tools_get_questions_by_standard_input_without_secrets(workspace: Path, own_home: Path) -> None:  # D8 C8 C9
    folder, log = fake_tool.install(workspace.parent / "bin", "claude", "codex"), workspace.parent / "call.json"
    fake_tool.log_in(own_home)
    plan = {"answers": duels.by_form()}
    env = {"PATH": f"{folder}:{os.environ['PATH']}", "PROGRAMDATA": json.dumps(plan), "APPDATA": str(log)}
    secret = "AKIA" + "Q3EGX7L2MNB4ZTRW"
    judge = duels.seats(workspace.parent)["judge"]
    words = ("duel", f"Redis for sessions, with key {secret}?", "--proposer", "claude", "--challenger", "codex")
    told = rebut(*words, "--judge", judge, **env)
    assert told["heading"] == "VERDICT"
    call = json.loads(log.read_text())
    assert "You are the CHALLENGER" in call["prompt"] and "Redis for sessions" in call["prompt"]
    assert secret not in json.dumps(call) and "[secret:" in call["prompt"]
    assert not any("Redis" in word for word in call["argv"])
    assert secret not in (sessions.home() / told["session"] / "journal.jsonl").read_text()


def test_a_reply_is_served_what_it_needs_from_the_workspace(workspace: Path) -> None:  # C15
    (workspace / ".env").write_text("TOKEN=1\n")
    asks = duels.opening(need=["src/session.py:1-2", "grep:line_7", "tree:src", ".env", "../outside"])
    told = duel(workspace, {"r1/opening@proposer": [asks, duels.opening()]}, 1, "--context", "src")
    call = record_of(told).calls["r1/opening@proposer"]
    assert "ttl = 3600" in call.asked[1].prompt, "what the user named"
    served = call.asked[2].followup
    assert "ttl = 3600" in served and "line_7 = 7" in served and "session.py" in served
    assert "TOKEN=1" not in served
