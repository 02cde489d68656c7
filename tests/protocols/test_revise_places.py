"""Where a revision goes and by whose wish: the workspace's preferences, phases, and files of others."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import shutil
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duels
import pytest
import revisions
from revisions import change, configure, document, phase, run, tree
from voices import cli, events, record

import rebut
from rebut.core.errors import ConfigError, UsageError
from rebut.record import artifacts, folder_claims, sessions
from rebut.record.events import Wrote
from rebut.record.journal import Journal
from rebut.workspace.targets.target import Wanted


def preferences(**values: Any) -> str:
    return json.dumps({"preferences": values}, indent=2)


# preferences


@pytest.mark.parametrize(
    ("text", "stage", "strategy"),
    [
        (None, "plan", "debate"),
        (None, "review", "debate"),
        ("{}", "plan", "synthesize"),
        ("{}", "review", "single"),
        (preferences(planStrategy="synthesize"), "plan", "synthesize"),
        (preferences(planStrategy="debate"), "plan", "debate"),
        (preferences(planStrategy="debate"), "review", "single"),
        (preferences(reviewStrategy="debate", other=1), "review", "debate"),
    ],
)
def test_the_workspace_says_whether_a_stage_is_debated(  # K1
    workspace: Path, text: str | None, stage: str, strategy: str
) -> None:
    change(workspace)
    if text is not None:
        configure(workspace, text)
    authors = {"author": [revisions.seats(workspace.parent / "one", revisions.answers(1, stage))["author"][0]]}
    single = authors if strategy == "single" else {}
    outcome = run(workspace, stage=stage, **single, **({"rounds": 1} if strategy == "debate" else {}))
    assert outcome.data["strategy"] == strategy
    assert ("debate_log.md" in tree(workspace)) == (strategy == "debate")


def test_a_strategy_that_is_named_wins_over_the_file(workspace: Path) -> None:  # K1
    configure(workspace, preferences(planStrategy="synthesize", debateRounds=1))
    outcome = run(workspace, revisions.answers(2), strategy="debate", rounds=2)
    assert outcome.data["strategy"] == "debate" and outcome.data["rounds_completed"] == 2


@pytest.mark.parametrize(
    ("given", "file", "taken", "told"),
    [
        (None, None, 2, False),
        (None, 1, 1, False),
        (None, 3, 3, False),
        (None, 0, 1, True),
        (None, -7, 1, True),
        (None, 12, 3, True),
        (3, 1, 3, False),
    ],
)
def test_rounds_are_clamped_and_that_is_said(  # K1 C4
    workspace: Path, given: int | None, file: int | None, taken: int, told: bool
) -> None:
    more = {} if file is None else {"debateRounds": file}
    configure(workspace, preferences(planStrategy="debate", **more))
    outcome = run(workspace, revisions.answers(3) | {"synthesis@synthesizer": revisions.plan([])}, rounds=given)
    assert outcome.data["rounds_completed"] == taken == record().opened.settings["rounds"]
    note = f"config.json = {file} is outside 1 to 3; {taken} is used"
    assert any(n.endswith(note) for n in outcome.notes) == told


def command(workspace: Path, *words: str, rounds: int = 3, **env: str) -> subprocess.CompletedProcess[str]:
    sitting = revisions.seats(workspace.parent / "scripts", revisions.answers(rounds))
    seats = [*(f"--author={spec}" for spec in sitting["author"]), f"--synthesizer={sitting['synthesizer']}"]
    return cli("revise", "plan", "T", *seats, *words, cwd=workspace, env=env)


def test_a_limit_that_leaves_no_room_for_a_draft_is_named_with_its_flag(workspace: Path) -> None:  # C4 K12
    done = command(workspace, "--max-calls", "1")
    assert done.returncode == 3 and "Raise it with --max-calls." in done.stderr
    assert done.stderr.count("neither author wrote a plan: the limit of 1 call leaves no room for this call\n") == 1


@pytest.mark.parametrize("rounds", ["0", "4", "99"])
def test_rounds_on_the_command_line_out_of_range_are_an_error(workspace: Path, rounds: str) -> None:  # K1, C4
    done = command(workspace, "--rounds", rounds)
    assert done.returncode == 2 and f"rounds must be 1 to 3, got {rounds}" in done.stderr, done.stderr
    assert not (workspace / ".kiln").exists()
    run(workspace, rounds=1)
    done = cli("fork", "last", "--rounds", rounds, cwd=workspace)
    assert done.returncode == 2 and f"rounds must be 1 to 3, got {rounds}" in done.stderr, done.stderr


@pytest.mark.parametrize("source", ["the user's config", ".kiln/config.json"])
def test_rounds_of_a_file_out_of_range_are_clamped_and_shown_twice(workspace: Path, source: str) -> None:  # K1, C4
    env = {}
    if source == ".kiln/config.json":
        configure(workspace, preferences(planStrategy="debate", debateRounds=5))
        notice = f"debateRounds of {workspace}/.kiln/config.json = 5 is outside 1 to 3; 3 is used"
    else:
        (workspace.parent / "c.toml").write_text("[limits]\nrounds = 5\n")
        env = {"REBUT_CONFIG": str(workspace.parent / "c.toml")}
        notice = "limits.rounds of your config, for revise, = 5 is outside 1 to 3; 3 is used"
    shown = command(workspace, "--dry-run", **env)
    assert shown.returncode == 0 and notice in " ".join(shown.stdout.split()), "before anything is called"
    done = command(workspace, "--plain", **env)
    assert done.returncode == 0, done.stderr
    assert notice in done.stderr, "before the first call"
    assert notice in done.stdout, "and with the result"
    assert "PLAN AFTER 3 ROUNDS" in done.stdout
    log = (phase(workspace) / "debate_log.md").read_text()
    assert f"- Note: {notice.replace(f'{workspace}/', '')}" in log, "and in the log, with a path of every machine"


def test_a_debate_takes_up_the_drafts_of_a_synthesis_in_the_same_phase(workspace: Path) -> None:  # K3, K9
    assert command(workspace, "--strategy", "synthesize", rounds=0).returncode == 0
    done = command(workspace, "--strategy", "debate", "--rounds", "1", rounds=1)
    assert done.returncode == 0, done.stderr
    assert "plan_claude.md existed and was used" in " ".join(done.stdout.split())
    assert not phase(workspace, 2).exists() and "critique_of_claude_r1.md" in tree(workspace)
    assert "r0/draft@author.1" not in record().calls, "no draft is paid for twice"
    assert command(workspace, "--strategy", "debate", "--rounds", "1", rounds=1).returncode == 0
    assert "PLAN.md" in tree(workspace, 2), "a further debate takes the next phase"


def test_a_debate_takes_up_the_review_of_one_author_in_the_same_phase(workspace: Path) -> None:  # K3, K9
    change(workspace)
    run(workspace, stage="review", strategy="single")
    outcome = run(workspace, stage="review", rounds=1)
    assert outcome.data["taken_up"] == ["review.md"] and not phase(workspace, 2).exists()


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ('{\n "preferences": {\n  "planStrategy": "debate",\n }\n}', 4, "double quotes"),
        ("", 1, "Expecting value"),
        (preferences(debateRounds=2, planStrategy="vote"), 4, 'planStrategy is "vote"'),
        (preferences(reviewStrategy="synthesize"), 3, 'reviewStrategy is "synthesize"'),
        (preferences(planStrategy=None), 3, "planStrategy is null"),
        (preferences(planStrategy="debate", debateRounds="2"), 4, 'debateRounds is "2"'),
        (preferences(debateRounds=True), 3, "debateRounds is true"),
        ("[]", 1, "an object is expected"),
        ("\n\udcff", 2, "not UTF-8"),
        ('{\n"preferences": 7}', 2, "an object is expected"),
    ],
)
def test_a_file_that_is_wrong_is_named_with_its_line_and_nothing_is_started(  # K1
    workspace: Path, text: str, line: int, says: str
) -> None:
    file = configure(workspace, text)
    with pytest.raises(ConfigError) as error:
        run(workspace)
    assert error.value.message.startswith(f"{file}, line {line}: ") and says in error.value.message
    assert error.value.exit_code == 2 and sessions.sessions(sessions.home()) == []
    assert not (workspace / ".kiln/tracks").exists()


def test_the_file_is_found_from_a_folder_below_and_tracks_lie_beside_it(workspace: Path) -> None:  # K1 K9
    configure(workspace, preferences(planStrategy="debate", debateRounds=1))
    (workspace / "src/deep").mkdir()
    said = revisions.answers(1)
    rebut.run("revise", "T", workspace=workspace / "src/deep", **revisions.seats(workspace.parent / "s", said))
    assert "PLAN.md" in tree(workspace)


@pytest.mark.parametrize(("stage", "strategy"), [("plan", "single"), ("review", "synthesize"), ("plan", "vote")])
def test_a_strategy_of_the_other_stage_is_refused(workspace: Path, stage: str, strategy: str) -> None:  # K1
    change(workspace)
    with pytest.raises(UsageError, match=f"a {stage} has no strategy '{strategy}'"):
        run(workspace, {}, stage=stage, strategy=strategy)


def test_two_authors_for_a_single_review_are_refused_with_the_reason(workspace: Path) -> None:  # K1 K2
    change(workspace)
    file = configure(workspace, "{}")
    with pytest.raises(UsageError, match=f"single has one author, which {file} asks for; 2 were named") as error:
        run(workspace, stage="review")
    assert "--strategy debate" in error.value.hint


# without a debate


def test_two_plans_are_synthesized_at_once(workspace: Path) -> None:  # K2
    said = revisions.answers(0)
    outcome = run(workspace, said, strategy="synthesize")
    assert tree(workspace) == ["PLAN.md", "plan_claude.md", "plan_codex.md"]
    assert outcome.heading == "PLAN OUT OF TWO DRAFTS, NOT DEBATED" and outcome.conclusive
    assert outcome.spent.calls == 3 and not outcome.ledger.points
    text = (phase(workspace) / "PLAN.md").read_text()
    assert "nothing was debated" in text and text.endswith("### Unresolved\n\nNone.\n")
    assert "Was It Worth It" not in outcome.final


def test_a_single_review_is_one_call_and_one_file(workspace: Path) -> None:  # K2
    change(workspace)
    outcome = run(workspace, stage="review", strategy="single")
    assert tree(workspace) == ["review.md"] and outcome.spent.calls == 1
    assert outcome.heading == "SINGLE REVIEW, NOT DEBATED" and outcome.final == document("author 1")
    assert [row["seat"] for row in record().opened.seats] == ["author"]


def test_drafts_that_were_only_synthesized_can_be_debated_later(workspace: Path) -> None:  # K2 K3
    run(workspace, revisions.answers(0), strategy="synthesize")
    first = (phase(workspace) / "PLAN.md").read_text()
    outcome = run(workspace, rounds=1, phase=1)
    assert outcome.data["taken_up"] == ["plan_claude.md", "plan_codex.md"]
    assert (phase(workspace) / "PLAN.md").read_text() == first, "another session's result is not replaced"
    [beside] = [name for name in tree(workspace) if name.startswith("PLAN.") and name != "PLAN.md"]
    assert beside == f"PLAN.{outcome.session}.md" and any(beside in note for note in outcome.notes)


# phases


def folders(workspace: Path, *numbers: int) -> None:
    for number in numbers:
        phase(workspace, number).mkdir(parents=True)


@pytest.mark.parametrize(
    ("there", "debated", "taken"),
    [
        ([], [], 1),
        ([1], [], 1),
        ([1, 2], [], 2),
        ([1, 2], [2], 1),
        ([1, 2], [1, 2], 3),
        ([4], [4], 5),
        ([10, 9], [], 10),
    ],
)
def test_the_highest_phase_without_a_debate_of_this_stage_is_taken_else_the_next(  # K9
    workspace: Path, there: list[int], debated: list[int], taken: int
) -> None:
    folders(workspace, *there)
    for number in debated:
        (phase(workspace, number) / "critique_of_ada_r1.md").write_text("old")
    assert run(workspace, rounds=1).data["phase"] == taken


def test_a_debate_of_the_other_stage_does_not_count(workspace: Path) -> None:  # K9
    folders(workspace, 1)
    (phase(workspace) / "critique_of_review_ada_r1.md").write_text("old")
    (phase(workspace) / "debate_log.md").write_text("# Debate Log\n\n## Review Debate\n")
    outcome = run(workspace, rounds=1)
    assert outcome.data["phase"] == 1
    assert (phase(workspace) / "debate_log.md").read_text() == "# Debate Log\n\n## Review Debate\n", "it is foreign"
    assert f"debate_log.{outcome.session}.md" in tree(workspace)


def test_what_is_no_phase_is_not_looked_at(workspace: Path) -> None:  # K9
    folders(workspace, 1)
    for name in ("phase-x", "phase-07", "notes"):
        (phase(workspace).parent / name).mkdir()
    (phase(workspace).parent / "phase-9").write_text("a file")
    assert run(workspace, rounds=1).data["phase"] == 1


@pytest.mark.parametrize("evidence", ["critique_of_ada_r2.md", "debate_log.md"])
def test_a_second_debate_of_a_stage_in_a_named_phase_is_refused_with_advice(  # K9
    workspace: Path, evidence: str
) -> None:
    folders(workspace, 3)
    (phase(workspace, 3) / evidence).write_text("# Log\n\n## Plan Debate\n")
    with pytest.raises(UsageError, match=f"phase 3 already has a plan debate: {evidence} exists") as error:
        run(workspace, phase=3)
    assert "Leave out --phase" in error.value.hint
    assert tree(workspace, 3) == [evidence] and sessions.sessions(sessions.home()) == []


def test_a_debate_under_way_holds_its_phase_before_it_has_left_anything(workspace: Path) -> None:  # K9
    folders(workspace, 1)
    (sessions.home() / "abcdefgh").mkdir(parents=True)
    folder_claims.claim(sessions.home(), phase(workspace), "plan debate", "abcdefgh")
    with pytest.raises(UsageError, match="session abcdefgh holds it"):
        run(workspace, rounds=1, phase=1)
    assert run(workspace, rounds=1).data["phase"] == 2


def test_a_phase_that_somebody_removed_is_free_again(workspace: Path) -> None:  # K9
    run(workspace, rounds=1)
    shutil.rmtree(workspace / ".kiln")
    assert run(workspace, rounds=1, phase=1).data["phase"] == 1
    shutil.rmtree(workspace / ".kiln")
    assert run(workspace, rounds=1).data["phase"] == 1


@pytest.mark.parametrize("kept", [[], ["notes.txt"], ["plan_claude.md"]])
def test_a_debate_that_has_ended_gives_way_when_its_files_were_removed(workspace: Path, kept: list[str]) -> None:  # K9
    phase(workspace).mkdir(parents=True)
    for name in kept:  # somebody else's: the second was taken up as a first draft
        (phase(workspace) / name).write_text(document("somebody"))
    first = run(workspace, rounds=1, phase=1)
    for name in set(tree(workspace)) - set(kept):
        (phase(workspace) / name).unlink()
    again = run(workspace, rounds=1, phase=1)
    assert again.data["phase"] == 1 and again.session != first.session
    assert {"PLAN.md", "debate_log.md", *kept} <= set(tree(workspace))


def test_a_debate_that_has_ended_holds_its_phase_while_one_of_its_files_is_left(workspace: Path) -> None:  # K9
    first = run(workspace, rounds=1)
    for name in set(tree(workspace)) - {"PLAN.md"}:
        (phase(workspace) / name).unlink()
    with pytest.raises(UsageError, match=f"session {first.session} holds it"):
        run(workspace, rounds=1, phase=1)
    assert tree(workspace) == ["PLAN.md"] and run(workspace, rounds=1).data["phase"] == 2


def test_a_log_that_the_other_stage_keeps_does_not_hold_a_phase(workspace: Path) -> None:  # K9 K10
    change(workspace)
    run(workspace, rounds=1)
    run(workspace, stage="review", rounds=1, phase=1)
    log = phase(workspace) / "debate_log.md"
    for name in tree(workspace):
        if "plan" in name.lower() or name in ("critique_of_claude_r1.md", "critique_of_codex_r1.md"):
            (phase(workspace) / name).unlink()
    with pytest.raises(UsageError, match=r"debate_log\.md exists"):
        run(workspace, rounds=1, phase=1)
    head, _, review = log.read_text().partition("## Plan Debate")
    log.write_text(head + "## Review Debate" + review.partition("## Review Debate")[2])
    assert run(workspace, rounds=1, phase=1).data["phase"] == 1


def test_a_debate_that_has_not_ended_keeps_its_phase_whatever_is_removed(workspace: Path) -> None:  # K9 C3
    said = revisions.answers(1)
    whole = said.pop("synthesis@synthesizer")
    with pytest.raises(rebut.Aborted):
        run(workspace, said, rounds=1, phase=1)
    id = record().opened.id
    for name in tree(workspace):
        (phase(workspace) / name).unlink()
    with pytest.raises(UsageError, match=f"session {id} holds it"):
        run(workspace, rounds=1, phase=1)
    revisions.seats(workspace.parent / "scripts", said | {"synthesis.again@synthesizer": whole})
    asyncio.run(rebut.resume(id, workspace=workspace))
    assert len(tree(workspace)) == 8, "it writes again what is gone"


def test_of_two_processes_that_want_a_phase_which_was_cleared_one_has_it(workspace: Path) -> None:  # K9
    first = run(workspace, rounds=1)
    for name in tree(workspace):
        (phase(workspace) / name).unlink()
    sitting = revisions.seats(workspace.parent / "s", revisions.answers(1))
    words = ["revise", "plan", "T", "--rounds", "1", "--phase", "1", "--json", "--synthesizer", sitting["synthesizer"]]
    words += [word for author in sitting["author"] for word in ("--author", author)]
    with ThreadPoolExecutor(3) as pool:
        done = list(pool.map(lambda _: cli(*words, cwd=workspace), range(3)))
    assert sorted(d.returncode for d in done) == [0, 2, 2], [d.stderr for d in done]
    [won] = [json.loads(d.stdout)["session"] for d in done if d.returncode == 0]
    assert won != first.session and len(tree(workspace)) == 8
    refused = [json.loads(d.stdout)["error"] for d in done if d.returncode]
    assert all("phase 1 already has a plan debate" in error for error in refused)
    assert {f.id for f in sessions.sessions(sessions.home())} == {first.session, won}, "who was refused left nothing"


def test_a_debate_that_was_refused_holds_no_phase(workspace: Path) -> None:  # K9 K3
    phase(workspace).mkdir(parents=True)
    draft = phase(workspace) / "plan_claude.md"
    draft.write_bytes(b"\xff\xfe")
    flags = [f"--author={spec}" for spec in revisions.seats(workspace.parent / "s", revisions.answers(1))["author"]]
    refused = cli("revise", "plan", "T", *flags, "--phase", "1", cwd=workspace)
    assert refused.returncode == 2 and "not UTF-8" in refused.stderr
    assert "was removed: no model was asked" in refused.stderr, "its id stands in the lines above"
    assert "rebut resume" not in refused.stderr, "there is nothing that could be resumed"
    draft.write_text(document("somebody"))
    outcome = run(workspace, rounds=1, phase=1)
    assert outcome.data["taken_up"] == ["plan_claude.md"] and outcome.data["phase"] == 1


def test_a_session_that_was_deleted_holds_no_phase(workspace: Path) -> None:  # K9
    said = revisions.answers(1)
    for n in (1, 2):
        del said[f"r0/draft@author.{n}"]
    with pytest.raises(rebut.Aborted):
        run(workspace, said, rounds=1, phase=1)
    [held] = sessions.sessions(sessions.home())
    with pytest.raises(UsageError, match=f"session {held.id} holds it"):
        run(workspace, rounds=1, phase=1)
    assert cli("delete", held.id, "--yes", cwd=workspace).returncode == 0
    assert run(workspace, rounds=1, phase=1).data["phase"] == 1


def test_a_plan_and_a_review_of_one_process_share_a_log_and_both_end(  # K10
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(workspace)
    phases, save = range(1, 3), artifacts.save

    def slow_disk(path: Path, text: str, fresh: bool = False) -> bool:
        if path.name == "debate_log.md":
            time.sleep(0.1)  # so that somebody else comes to the log meanwhile
        return save(path, text, fresh)

    monkeypatch.setattr(artifacts, "save", slow_disk)

    async def both() -> list[str]:
        made = []
        for number, stage in itertools.product(phases, ("plan", "review")):
            seats = revisions.seats(workspace.parent / f"{stage}{number}", revisions.answers(2, stage))
            named: dict[str, Any] = {"target": Wanted("code", "uncommitted")} if stage == "review" else {}
            made.append(rebut.start("revise", "T", workspace=workspace, stage=stage, phase=number, **seats, **named))
        return [outcome.heading for outcome in await asyncio.gather(*made)]

    ended: list[str] = []
    # On a thread of its own: two debates that wait for each other would hold up the test for ever.
    thread = threading.Thread(target=lambda: ended.extend(asyncio.run(both())), daemon=True)
    thread.start()
    thread.join(60)
    assert ended == ["PLAN AFTER 2 ROUNDS", "REVIEW VERDICT AFTER 2 ROUNDS"] * len(phases)
    for number in phases:
        log = (phase(workspace, number) / "debate_log.md").read_text()
        assert log.count("### Outcome") == 2 and not list(phase(workspace, number).glob("debate_log.*.md"))


def test_a_fork_has_the_draft_that_was_taken_up_in_its_own_phase(workspace: Path) -> None:  # K3 K9
    phase(workspace).mkdir(parents=True)
    (phase(workspace) / "plan_claude.md").write_text(document("somebody"))
    id = run(workspace).session
    outcome = asyncio.run(rebut.fork(id, rounds=1))
    assert outcome.data["phase"] == 2
    assert (phase(workspace, 2) / "plan_claude.md").read_text() == document("somebody")


def test_a_new_phase_can_be_named(workspace: Path) -> None:  # K9
    assert run(workspace, rounds=1, phase=7).data["phase"] == 7 and tree(workspace, 7)


def test_a_fork_takes_the_next_phase_and_leaves_the_first_alone(workspace: Path) -> None:  # K9
    first = run(workspace, rounds=1, phase=1)
    before = {path.name: path.read_bytes() for path in phase(workspace).iterdir()}
    other = duels.script(workspace.parent / "other.json", revisions.answers(1), model="other")
    outcome = asyncio.run(rebut.fork(first.session, synthesizer=other, workspace=workspace))
    assert outcome.data["phase"] == 2 and outcome.spent.calls == 1
    assert tree(workspace, 2) == tree(workspace, 1)
    assert {path.name: path.read_bytes() for path in phase(workspace).iterdir()} == before
    log = (phase(workspace, 2) / "debate_log.md").read_text()
    assert "# Debate Log — Phase 2" in log and "phase-1" not in log


def test_planning_a_fork_claims_nothing(workspace: Path) -> None:  # K9
    first = run(workspace, rounds=1)
    other = duels.script(workspace.parent / "other.json", revisions.answers(1), model="other")
    reused, anew = asyncio.run(rebut.api.fork_plan(first.session, synthesizer=other, workspace=workspace))
    assert (reused, anew) == (6, 1) and not phase(workspace, 2).exists()


def test_many_debates_at_once_take_a_phase_each(workspace: Path) -> None:  # K9
    sitting = revisions.seats(workspace.parent / "s", revisions.answers(1))
    words = ["revise", "plan", "T", "--rounds", "1", "--quiet", "--synthesizer", sitting["synthesizer"]]
    words += [word for author in sitting["author"] for word in ("--author", author)]
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: cli(*words, cwd=workspace), range(4)))
    assert [d.returncode for d in done] == [0] * 4, done[0].stderr
    assert all(len(tree(workspace, n)) == 8 for n in range(1, 5)) and not phase(workspace, 5).exists()


def test_a_folder_that_cannot_be_made_is_said_to_be_so_before_anybody_is_asked(workspace: Path) -> None:  # K9
    (workspace / ".kiln").mkdir()
    (workspace / ".kiln/tracks").write_text("a file")
    with pytest.raises(UsageError, match=r"\.kiln/tracks cannot be used"):
        run(workspace)
    assert sessions.sessions(sessions.home()) == []


# files of others


def test_a_file_of_somebody_else_is_never_overwritten(workspace: Path) -> None:  # K12
    folders(workspace, 1)
    for name in ("PLAN.md", "plan_claude_v2.md", "debate_log.md"):
        (phase(workspace) / name).write_text("mine")
    outcome = run(workspace, rounds=1)
    for name in ("PLAN", "plan_claude_v2", "debate_log"):
        assert (phase(workspace) / f"{name}.md").read_text() == "mine"
        beside = phase(workspace) / f"{name}.{outcome.session}.md"
        assert beside.is_file() and any(beside.name in note for note in outcome.notes)
    log = (phase(workspace) / f"debate_log.{outcome.session}.md").read_text()
    assert f"phase-1/plan_claude_v2.{outcome.session}.md (changes:" in log, "the log tells where it really is"
    assert not any(outcome.session in e.prompt for e in events("", "asked"))  # type: ignore[union-attr]


def test_a_file_that_names_a_record_outside_of_the_sessions_is_left_alone(workspace: Path) -> None:  # K12
    id = run(workspace, rounds=1).session
    elsewhere = workspace.parent / "elsewhere"
    shutil.copytree(sessions.home() / id, elsewhere / id)
    text = json.dumps({"session": os.path.relpath(elsewhere / id, sessions.home())})
    file = workspace / "state.json"
    file.write_text(text)
    journal = Journal.open(elsewhere / id)
    journal.write(Wrote(path=str(file), sha=artifacts.sha(text)))
    journal.close()
    assert sessions.load(sessions.home() / json.loads(text)["session"]).opened.id == id, "the path leads there"
    assert not artifacts.is_ours(file, record(), sessions.home())


def test_a_link_is_not_followed_when_files_are_left(workspace: Path) -> None:  # K12
    folders(workspace, 1)
    elsewhere = workspace.parent / "elsewhere.md"
    (phase(workspace) / "PLAN.md").symlink_to(elsewhere)
    outcome = run(workspace, rounds=1)
    assert not elsewhere.exists() and f"PLAN.{outcome.session}.md" in tree(workspace)


def test_a_file_that_was_edited_meanwhile_is_left_alone(workspace: Path) -> None:  # K12
    said = revisions.answers(1)
    whole = said.pop("synthesis@synthesizer")
    with pytest.raises(rebut.Aborted):
        run(workspace, said, rounds=1)
    for name in ("debate_log.md", "critique_of_codex_r1.md"):
        (phase(workspace) / name).write_text("edited")
    (phase(workspace) / "plan_codex_v2.md").unlink()
    revisions.seats(workspace.parent / "scripts", said | {"synthesis.again@synthesizer": whole})
    outcome = asyncio.run(rebut.resume(record().opened.id, workspace=workspace))
    for name in ("debate_log", "critique_of_codex_r1"):
        assert (phase(workspace) / f"{name}.md").read_text() == "edited"
        assert f"{name}.{outcome.session}.md" in tree(workspace)
    assert "plan_codex_v2.md" in tree(workspace), "what is gone is written again"
    assert len([n for n in outcome.notes if "left alone" in n]) == 2


def test_a_resumed_debate_does_not_write_again_what_stands(workspace: Path) -> None:  # K12 C3
    said = revisions.answers(2)
    whole = said.pop("synthesis@synthesizer")
    with pytest.raises(rebut.Aborted):
        run(workspace, said, rounds=2)
    before = {path.name: path.stat().st_mtime_ns for path in phase(workspace).iterdir()}
    revisions.seats(workspace.parent / "scripts", said | {"synthesis.again@synthesizer": whole})
    asyncio.run(rebut.resume(record().opened.id, workspace=workspace))
    assert {n: (phase(workspace) / n).stat().st_mtime_ns for n in before} == before
    wrote = [Path(e.path).name for e in events("", "wrote")]  # type: ignore[union-attr]
    assert sorted(wrote) == sorted([*tree(workspace), "debate_log.md"]), "the log after each round, the rest once"


def test_debaters_cannot_be_served_the_drafts_of_others(workspace: Path) -> None:  # K3
    folders(workspace, 1)
    (phase(workspace) / "plan_codex.md").write_text("# A secret draft\n\nRedis it is.\n")
    said = revisions.answers(1)
    wants = {**said["r0/draft@author.1"], "need": [".kiln/tracks/phase-1/plan_codex.md", "grep:Redis it is"]}
    said["r0/draft@author.1"] = [wants, said["r0/draft@author.1"]]
    run(workspace, said, rounds=1)
    [served] = [e.followup for e in events("", "asked") if e.why == "context"]  # type: ignore[union-attr]
    assert "Redis it is." not in served.replace("grep:Redis it is", "")


# the command line


def test_the_command_line_runs_a_plan_and_tells_what_changed(workspace: Path) -> None:
    sitting = revisions.seats(workspace.parent / "s", revisions.answers(1))
    words = [word for author in sitting["author"] for word in ("--author", author)]
    words += ["--synthesizer", sitting["synthesizer"], "--rounds", "1", "--phase", "2"]
    done = cli("revise", "plan", "Where to?", *words, cwd=workspace)
    assert done.returncode == 0, done.stderr
    for part in (
        "PLAN AFTER 1 ROUND",
        "2 of 8 sections of the drafts changed; 2 points, 2 conceded",
        ".kiln/tracks/phase-2",
        "cost: 5 calls, ",
    ):
        assert part in " ".join(done.stdout.split()), part
    for row in ("author.1    critique", "1 point: 1 P1; 1 claim; citations: 2 located", "synthesizer synthesis"):
        assert row in done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["plan"], "missing argument 'TOPIC': what to plan"),
        (["plan", "T", "--scope", "uncommitted"], "a plan has no scope"),
        (["review", "--base", "main", "--commit", "HEAD"], "are two scopes"),
        (["review", "--scope", "nonsense"], "is not a scope"),
        (["review"], "there is no change in"),
        (["draft", "T"], "draft"),
        (["plan", "T", "--phase", "0"], "0"),
        (["plan", "T", "--strategy", "vote"], "a plan has no strategy 'vote'"),
        (["plan", "T", "--author", "human"], "needs 2 authors, got 1"),
        (["plan", "T", "--author", "scripted:x.json"], "x.json: cannot be read"),
    ],
)
def test_what_is_wrong_on_the_command_line_is_said_and_nothing_is_called(  # C17
    workspace: Path, words: list[str], says: str
) -> None:
    done = cli("revise", *words, cwd=workspace)
    assert done.returncode == 2 and says in done.stderr, done.stderr
    assert sessions.sessions(sessions.home()) == []


def test_the_command_line_reviews_a_change_and_prints_json(workspace: Path) -> None:  # C14 K4
    change(workspace)
    sitting = revisions.seats(workspace.parent / "s", revisions.answers(1, "review"))
    words = [word for author in sitting["author"] for word in ("--author", author)]
    words += ["--synthesizer", sitting["synthesizer"], "--rounds", "1", "--json"]
    done = cli("revise", "review", *words, cwd=workspace)
    said = json.loads(done.stdout)
    assert said["exit"] == 0 and said["heading"] == "REVIEW VERDICT AFTER 1 ROUND" and said["rounds"]["calls"] == 4
    assert record().opened.topic == "uncommitted changes: 1 file, +1 -1"


def test_a_rehearsal_shows_what_would_leave_and_makes_no_folder(workspace: Path) -> None:  # C16
    sitting = revisions.seats(workspace.parent / "s", revisions.answers(1))
    words = [word for author in sitting["author"] for word in ("--author", author)]
    done = cli("revise", "plan", "T", *words, "--dry-run", "--json", "--rounds", "3", cwd=workspace)
    assert done.returncode == 0, done.stderr
    row = json.loads(done.stdout)["providers"]["scripted"]
    assert row["calls"] == 2 * 7 + 1 and not (workspace / ".kiln").exists()


# the way to the result


@pytest.mark.parametrize(
    ("stage", "strategy", "name"),
    [("plan", "debate", "PLAN.md"), ("review", "debate", "review_verdict.md"), ("review", "single", "review.md")],
)
def test_the_ending_names_the_file_that_holds_the_result(  # K2 K9
    workspace: Path, stage: str, strategy: str, name: str
) -> None:
    change(workspace)
    outcome = run(workspace, stage=stage, strategy=strategy, rounds=1)
    assert (
        dict(outcome.rows)["result"] == f".kiln/tracks/phase-1/{name}"
        and (workspace / dict(outcome.rows)["result"]).is_file()
    )


def test_a_result_beside_somebody_elses_file_is_named_as_it_is(workspace: Path) -> None:  # K9 K12
    folders(workspace, 1)
    (phase(workspace) / "PLAN.md").write_text("mine")
    outcome = run(workspace, rounds=1)
    assert dict(outcome.rows)["result"] == f".kiln/tracks/phase-1/PLAN.{outcome.session}.md"


def test_a_single_review_has_no_rows_about_points_that_nobody_raised(workspace: Path) -> None:  # K2
    change(workspace)
    [author] = revisions.seats(workspace.parent / "s", revisions.answers(1, "review"))["author"][:1]
    done = cli("revise", "review", "--strategy", "single", "--author", author, cwd=workspace)
    assert done.returncode == 0 and "walked back" not in done.stdout and "citations     claude cites" in done.stdout


def test_a_seat_with_a_number_is_named_as_people_would(workspace: Path) -> None:  # C2
    authors = revisions.seats(workspace.parent / "s", revisions.answers(1))["author"]
    done = cli(
        "revise", "plan", "T", f"--author={authors[0]}", f"--author={authors[1]}", "--rounds", "1", cwd=workspace
    )
    assert "author.1's model (" in " ".join((done.stdout + done.stderr).split())
