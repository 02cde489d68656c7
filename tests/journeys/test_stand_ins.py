"""If a fallback answers for a seat, every file of the debate says who answered for whom, through the command line."""

from __future__ import annotations

import json
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

GONE = {"fail": "auth", "message": "log in first"}


def without(said: dict[str, Any], *seats: str) -> dict[str, Any]:
    """The same answers, except that these seats never give one."""
    return {key: GONE if key.rpartition("@")[2] in seats else value for key, value in said.items()}


def spare(folder: Path, said: dict[str, Any]) -> str:
    return duels.script(folder / "spare.json", said, model="spare")


def rebut(*words: str, code: int = 0) -> str:
    done = piped(*words)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def newest() -> Record:
    found = max(sessions.home().iterdir(), key=lambda folder: folder.stat().st_mtime_ns)
    return sessions.load(found)


def test_every_file_of_a_panel_says_who_answered_for_whom(workspace: Path) -> None:  # C6 J13 H12
    said = panels.consensus()
    seats = panels.seats(workspace.parent / "seats", without(said, "challenger.1"))
    other = spare(workspace.parent, said)
    named = [word for one in seats["challenger"] for word in ("--challenger", one)]
    words = ("panel", panels.TOPIC, "--lead", seats["lead"], "--judge", seats["judge"], *named)
    shown = rebut(*words, "--fallback", f"challenger.1={other}")
    told = f"{other} answered for {seats['challenger'][0]}, as a fallback"
    assert told in " ".join(shown.split())
    files = panels.files(workspace)
    for name in ("transcript.md", "context.md", "rounds/r001_gemini.md", "rounds/r002_gemini.md"):
        assert told in (files / name).read_text().replace("\\", ""), name
    assert [told in note for note in panels.state(workspace)["fallbacks"]] == [True]
    assert "as a fallback" not in (files / "rounds/r001_codex.md").read_text()


@pytest.mark.parametrize("seat", ["proposer", "challenger", "judge"])
def test_the_files_of_a_duel_say_who_answered_for_whom(workspace: Path, seat: str) -> None:  # C6 J13 D6
    said = duels.answers()
    seats = duels.seats(workspace.parent, without(said, seat))
    other, state = spare(workspace.parent, said), workspace.parent / "state"
    words = ("duel", duels.TOPIC, *(word for role, spec in seats.items() for word in (f"--{role}", spec)))
    rebut(*words, "--state-dir", str(state), "--fallback", f"{seat}={other}")
    told = f"{other} answered for {seats[seat]}, as a fallback"
    last = json.loads((state / "debate/last-debate.json").read_text())
    assert [told in note for note in last["fallbacks"]] == [True]
    report = json.loads(rebut("show", "last", "--json"))["outcome"]["final"]
    assert told in report.replace("\\", "")


def test_an_uncontested_position_says_who_answered_for_whom(workspace: Path) -> None:  # C6 J13
    said = without(duels.answers(), "challenger")
    seats = duels.seats(workspace.parent, without(said, "proposer"))
    other = spare(workspace.parent, said)
    words = ("duel", duels.TOPIC, *(word for role, spec in seats.items() for word in (f"--{role}", spec)))
    rebut(*words, "--fallback", f"proposer={other}", code=3)
    report = json.loads(rebut("show", "last", "--json"))["outcome"]["final"]
    assert f"{other} answered for {seats['proposer']}, as a fallback" in report.replace("\\", "")


@pytest.mark.parametrize("stage", ["plan", "review"])
def test_every_file_of_a_revision_says_who_answered_for_whom(workspace: Path, stage: str) -> None:  # C6 J13 K10
    said = revisions.answers(1, stage)
    seats = revisions.seats(workspace.parent / "scripts", without(said, "author.2", "synthesizer"))
    other = spare(workspace.parent, said)
    authors = [word for one in seats["author"] for word in ("--author", one)]
    words = ("revise", stage, *authors, "--synthesizer", seats["synthesizer"], "--rounds", "1")
    if stage == "review":
        revisions.change(workspace)
        words = (*words, "--uncommitted")
    else:
        words = (words[0], words[1], revisions.TOPIC, *words[2:])
    rebut(*words, "--fallback", f"author.2={other}", "--fallback", f"synthesizer={other}")
    told = f"{other} answered for {seats['author'][1]}, as a fallback"
    files = {path.name: path.read_text().replace("\\", "") for path in revisions.phase(workspace).iterdir()}
    names = {
        "plan": ("plan_codex.md", "plan_codex_v2.md", "critique_of_claude_r1.md", "PLAN.md"),
        "review": ("review_codex.md", "review_codex_v2.md", "critique_of_review_claude_r1.md", "review_verdict.md"),
    }[stage]
    for name in (*names, "debate_log.md"):
        assert told in files[name], f"{name}:\n{files[name]}"
    for name in (names[-1], "debate_log.md"):
        assert f"{other} answered for {seats['synthesizer']}" in files[name], name
    assert "fallback" not in files["plan_claude.md" if stage == "plan" else "review.md"].casefold()
    asked = [one.prompt for call in newest().calls.values() for one in call.asked.values()]
    assert asked and not any("fallback" in prompt.casefold() for prompt in asked), "no model is told who wrote what"


def test_a_draft_of_a_fallback_is_taken_up_without_the_comment_on_it(workspace: Path) -> None:  # K3 J13
    said = revisions.answers(1)
    seats = revisions.seats(workspace.parent / "scripts", without(said, "author.2"))
    other = spare(workspace.parent, said)
    authors = [word for one in seats["author"] for word in ("--author", one)]
    words = ("revise", "plan", revisions.TOPIC, *authors, "--synthesizer", seats["synthesizer"], "--rounds", "1")
    revisions.seats(
        workspace.parent / "scripts", without(said | {"synthesis@synthesizer": revisions.plan([])}, "author.2")
    )
    rebut(*words, "--strategy", "synthesize", "--fallback", f"author.2={other}")
    assert (revisions.phase(workspace) / "plan_codex.md").read_text().startswith("<!-- Fallback: ")
    revisions.seats(workspace.parent / "scripts", said)
    shown = rebut(*words, "--strategy", "debate")
    assert "plan_codex.md existed and was used" in " ".join(shown.split())
    asked = [one.prompt for call in newest().calls.values() for one in call.asked.values()]
    assert asked and not any("fallback" in prompt.casefold() for prompt in asked)


SORRY = {"text": "I am sorry, I cannot do that."}
NO_REPLY = {
    "prose": (SORRY, 3),
    "another form": ({"json": {"verdict": "fine"}}, 3),
    "half a form": ({"text": '{"findings": [{"text": '}, 3),
    "nothing": ({"text": ""}, 2),
}


@pytest.mark.parametrize("case", NO_REPLY)
def test_a_critic_whose_replies_cannot_be_read_is_replaced_by_its_fallback(tmp_path: Path, case: str) -> None:  # J13
    shop, (reply, calls) = crosses.repository(tmp_path / "work"), NO_REPLY[case]
    judged = {"r1/judgement@judge": crosses.judgement()}
    seats = crosses.seats(tmp_path / "seats", judged | {"r1/critique@critic": [reply] * 2})
    other = spare(tmp_path, {"r1/critique@critic": crosses.critique(crosses.raised())})
    named = ("--critic", seats["critic"], "--judge", seats["judge"], "--fallback", f"critic={other}")
    done = piped("cross", *named, "--state-dir", str(tmp_path / "state"), cwd=shop)
    assert done.returncode == 0, done.stdout + done.stderr
    call = newest().calls["r1/critique@critic"]
    assert len(call.asked) == calls and call.asked[calls].spec == other
    assert (call.asked[calls].why, call.asked[calls].followup) == ("ask", ""), "it gets the question alone"
    [folder] = (tmp_path / "state").iterdir()
    told = f"{other} answered for {seats['critic']}, as a fallback"
    assert told in (folder / "summary.md").read_text().replace("\\", "") and "bad reply" in done.stdout
    assert "sorry" not in (folder / "round-1-critique.md").read_text(), "a failed participant never speaks"
    assert piped("replay", newest().opened.id).returncode == 0


def test_a_named_tool_that_is_not_installed_is_replaced_by_its_fallback(tmp_path: Path) -> None:  # J13
    shop = crosses.repository(tmp_path / "work")
    judge = crosses.seats(tmp_path / "seats", {"r1/judgement@judge": crosses.judgement()})["judge"]
    other = spare(tmp_path, {"r1/critique@critic": crosses.critique(crosses.raised())})
    words = ("cross", "--critic", "claude", "--judge", judge, "--state-dir", str(tmp_path / "state"))
    alone = piped(*words, cwd=shop)
    assert alone.returncode == 2 and "claude is not installed" in alone.stderr
    wrong = piped(*words[:2], "claud", *words[3:], "--fallback", f"critic={other}", cwd=shop)
    assert wrong.returncode == 2, "a name that means nothing is refused, fallback or not"
    done = piped(*words, "--fallback", f"critic={other}", cwd=shop)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "answered for claude, as a fallback (missing tool: claude is not installed" in " ".join(done.stdout.split())
    assert piped("replay", newest().opened.id).returncode == 0


def test_a_provider_without_its_key_is_replaced_by_its_fallback(workspace: Path) -> None:  # J13
    said = duels.answers()
    seats = duels.seats(workspace.parent, said)
    other = spare(workspace.parent, said)
    words = ("duel", duels.TOPIC, "--proposer", seats["proposer"], "--judge", seats["judge"])
    shown = rebut(*words, "--challenger", "openai:gpt-5", "--fallback", f"challenger={other}")
    assert "OPENAI_API_KEY is not set" in shown and "as a fallback" in " ".join(shown.split())
