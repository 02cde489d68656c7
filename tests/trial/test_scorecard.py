"""`rebut trial scorecard`: what the sessions on record say about each model, and nothing where there are too few."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import crosses
import pytest
import reviewers
from console import piped
from repositories import commit, git, new
from reviewers import serving
from test_trial import TWO, environment, trial

from rebut.record import sessions
from rebut.trial import pair_folders, scorecard
from rebut.trial.pairs import DEFECT, bundled, ordered


def reviewed(server: reviewers.Loopback, folder: Path, count: int) -> list[Path]:
    out = []
    for pair in ordered(bundled(), 1)[:count]:
        there = asyncio.run(pair_folders.write(folder, pair, DEFECT))
        done = piped("review", *TWO, "-q", env=environment(server), cwd=there)
        assert done.returncode == 0, done.stderr
        out.append(there)
    return out


def card() -> dict[str, Any]:
    return json.loads(piped("trial", "scorecard", "--json").stdout)  # type: ignore[no-any-return]


def test_each_model_and_role_with_the_number_of_cases(workspace: Path, tmp_path: Path) -> None:
    assert "No ended session is on record" in piped("trial", "scorecard").stdout
    file = tmp_path / "a.py"
    file.write_text("x = 1\n")
    assert piped("review", "a.py", "--with", "lint:ruff,rules", "-q", cwd=tmp_path).returncode == 0
    assert "1 ended session on record, none with a model." in piped("trial", "scorecard").stdout
    assert piped("delete", "last", "--yes", cwd=tmp_path).returncode == 0
    with serving(reviewers.always_p1, keeps=lambda id: id != "F2") as server:
        folders = reviewed(server, tmp_path / "w", 2)
    made = card()
    assert made["sessions"] == 2 and made["left_out"] == 0
    critic = next(one for one in made["seats"] if one["role"] == "critic")
    assert critic["model"] == "openai:gpt-4o" and critic["sessions"] == 2
    assert critic["points"] == critic["ruled"] >= 8 and critic["valid"] == critic["ruled"] - 2
    assert critic["found"] > critic["absent"] == 0 and critic["citations"] == critic["points"]
    assert critic["changed"] == 0 and critic["of_changeable"] >= 8
    text = piped("trial", "scorecard").stdout
    assert "openai:gpt-4o as critic, 2 sessions" in text and "too few cases" in text
    assert f"valid           {critic['valid'] / critic['ruled'] * 100:.0f} % of {critic['ruled']}" in text
    for folder in folders:
        for file in folder.rglob("*.py"):
            file.write_text("x = 1\n")
    assert piped("dismiss", "F1", "--reason", "known", cwd=folders[0]).returncode == 0
    later = next(one for one in card()["seats"] if one["role"] == "critic")
    assert later["changed"] == later["of_changeable"] and later["dismissed"] == 1


def test_too_few_cases_give_no_share_and_trials_do_not_count(workspace: Path, tmp_path: Path) -> None:
    with serving(reviewers.finds(1.0)) as server:
        reviewed(server, tmp_path / "w", 1)
        trial(server, "--arms", "one", "--pairs", "3", "--out", str(tmp_path / "t"))
    made = card()
    assert made["sessions"] == 1 and made["left_out"] == 6
    text = piped("trial", "scorecard").stdout
    assert "%" not in text and "Too few points for any share" in text and "6 sessions left out" in text


def test_a_name_is_no_model_and_what_a_review_takes_over_counts_once(
    tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = new(tmp_path / "repo", {"api/orders.py": crosses.BEFORE})
    commit(repo)
    git(repo, "checkout", "-q", "-b", "feature")
    (repo / "api/orders.py").write_text(crosses.AFTER)
    commit(repo)
    first = {
        "r1/critique@critic": crosses.critique(crosses.raised()),
        "r1/judgement@judge": crosses.judgement("B"),
    }
    seats = crosses.seats(tmp_path / "seats", first)
    words = ["--critic", f"ada={seats['critic']}", "--judge", seats["judge"], "--base", "main", "-q"]
    assert piped("review", *words, cwd=repo).returncode == 0
    (repo / "api/orders.py").write_text(crosses.AFTER + "# more\n")
    commit(repo)
    again = crosses.critique(earlier=[crosses.looked("F1", "still there")])
    crosses.seats(tmp_path / "seats", first | {"r1/critique@critic": again})
    assert "was reviewed at" in piped("review", *[word for word in words if word != "-q"], cwd=repo).stderr
    assert card()["seats"] == [], "scripted answers are no model"
    monkeypatch.setattr(scorecard, "PROGRAMS", ("human",))
    made = scorecard.scorecard(sessions.home())
    critic = next(one for one in made.seats if one.role == "critic")
    assert critic.model == seats["critic"]
    assert (critic.sessions, critic.points, critic.ruled, critic.citations) == (2, 1, 1, 1)
