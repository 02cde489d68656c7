"""What the screen, the log and the files say is what happened, through the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import crosses
import duels
import pytest
import revisions
from console import piped
from test_own_words import revise


def shown(workspace: Path, said: dict[str, Any], *words: str, rounds: int = 1) -> str:
    """The ending of a revision as it is on the screen, with white space evened out."""
    seats = revisions.seats(workspace.parent / "scripts", said)
    authors = [word for one in seats["author"] for word in ("--author", one)]
    done = piped("revise", *words, *authors, "--synthesizer", seats["synthesizer"], "--rounds", str(rounds))
    assert done.returncode == 0, done.stdout + done.stderr
    return " ".join((done.stdout + done.stderr).split())


def log(workspace: Path) -> str:
    return (revisions.phase(workspace) / "debate_log.md").read_text()


@pytest.mark.parametrize(("stage", "other"), [("review", "Plan"), ("plan", "Review")])
def test_without_preferences_the_log_says_that_the_other_stage_is_debated(
    workspace: Path, stage: str, other: str
) -> None:  # K1 K10
    revisions.change(workspace)
    topic = (revisions.TOPIC,) if stage == "plan" else ()
    screen = shown(workspace, revisions.answers(1, stage), stage, *topic)
    assert f"- {other} strategy: debate\n" in log(workspace)
    assert "explicit scope" not in screen


def test_with_preferences_the_log_says_what_they_say(workspace: Path) -> None:  # K1 K10
    revisions.change(workspace)
    revisions.configure(workspace, '{"preferences": {"reviewStrategy": "debate"}}')
    shown(workspace, revisions.answers(1, "review"), "review")
    assert "- Plan strategy: synthesize\n" in log(workspace)


def test_a_point_that_cites_nothing_is_not_beside_a_count_of_none(workspace: Path) -> None:  # K5
    said = revisions.answers(1)
    said["r1/critique@author.1"]["weaknesses"][0]["evidence"] = []
    screen = shown(workspace, said, "plan", revisions.TOPIC)
    assert "W1 cites nothing" in screen and "unsupported 0" not in screen


def test_a_concession_that_was_walked_back_is_not_called_agreed(workspace: Path) -> None:  # C12
    said = revisions.answers(2)
    said["r2/critique@author.1"]["weaknesses"].append(
        revisions.objection("Flaw 1 that author 1 sees.", "§ Steps", same_as="W1")
    )
    text = revisions.document("author 2", "As of round 2.")
    said["r2/revision@author.2"] = revisions.revision(text, ["W3"]) | {"defended": [{"id": "W1", "reason": "no"}]}
    screen = shown(workspace, said, "plan", revisions.TOPIC, rounds=2)
    agreed = screen.partition(" agreed ")[2].partition(" open ")[0]
    assert "W1" not in agreed and "W2" in agreed
    assert "walked back 1 W1 by the author.2 in round 2; the concession still counts" in screen


def test_a_plan_has_one_section_of_synthesis_notes(workspace: Path) -> None:  # K11
    said = revisions.answers(1)
    own = "# Plan\n\n1. Sign.\n\n```md\n## Synthesis Notes\n```\n\n## Synthesis notes\n\nMine.\n"
    said["synthesis@synthesizer"] = revisions.plan(["W1", "W2"], document=own)
    revise(workspace, said)
    text = (revisions.phase(workspace) / "PLAN.md").read_text()
    assert "## Notes by the synthesizer\n\nMine." in text and "```md\n## Synthesis Notes\n```" in text
    assert text.casefold().count("\n## synthesis notes\n") == 2, "the one in the block of code, and the one of rebut"


def test_a_cosmetic_point_shows_that_it_has_no_impact(workspace: Path) -> None:  # K5
    said = revisions.answers(1)
    said["r1/critique@author.1"]["disagreements"] = [revisions.dispute("naming", severity="low", impact="none")]
    said["r1/revision@author.1"]["addressed"][0]["id"] = "W3"
    said["synthesis@synthesizer"] = revisions.plan(["W1", "W2", "W3"])
    revise(workspace, said)
    assert "W2 (low, none) naming" in (revisions.phase(workspace) / "critique_of_codex_r1.md").read_text()


def test_a_limit_is_refused_by_the_name_that_it_was_given_with(workspace: Path) -> None:
    done = piped("cross", "--backend-timeout-seconds", "0")
    assert done.returncode == 2 and "--backend-timeout-seconds must be 5 to 3,600, got 0" in done.stderr
    done = piped("cross", "--timeout", "0")
    assert done.returncode == 2 and "--timeout must be 5 to 3,600, got 0" in done.stderr


@pytest.mark.parametrize("name", ["é", "1st", "a b", ""])
def test_a_name_that_cannot_be_one_is_called_a_name(workspace: Path, name: str) -> None:
    done = piped("duel", duels.TOPIC, "--proposer", f"{name}=scripted:x.json")
    assert done.returncode == 2 and f"{name!r} cannot" in done.stderr and "cannot be the name of a model" in done.stderr


def test_analysers_that_find_nothing_do_not_agree(tmp_path: Path) -> None:  # C5 J11
    shop = crosses.repository(tmp_path / "work")
    (shop / "api/orders.py").write_text(crosses.MENDED.replace("import os\n\n\n", ""))
    done = piped("cross", "--critic", "lint", "--judge", "rules", cwd=shop)
    text = " ".join(done.stdout.split())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "static analysers found nothing" in text and "the critic agrees" not in text
