"""`rebut trial` with models of known behaviour, over real sockets: what it says and asks, and that it continues."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import forkserver
import pytest
import reviewers
from console import REBUT, at_a_terminal, piped
from dialects import question, schema_name
from loopback import Loopback
from reviewers import Critic, serving

from rebut.trial.pairs import DEFECT

TWO = ("--with", "openai:gpt-4o,openai:gpt-4o-mini")


def environment(server: Loopback) -> dict[str, str]:
    return {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-test-0123456789"}


def trial(server: Loopback, *words: str) -> tuple[dict[str, Any], int]:
    done = piped("trial", *TWO, *words, "--json", env=environment(server))
    assert done.stdout, done.stderr
    return json.loads(done.stdout), done.returncode


def test_two_arms_to_the_sentence_and_again_without_a_call(workspace: Path, tmp_path: Path) -> None:
    words = ("--arms", "one,cross", "--pairs", "8", "--out", str(tmp_path / "t"))
    with serving(reviewers.finds(0.8, 0.3), keeps=lambda id: True) as server:
        first, code = trial(server, *words)
        calls = server.calls
        again, _ = trial(server, *words)
        assert server.calls == calls, "nothing on record is asked again"
        more, _ = trial(server, *words[:2], "--pairs", "10", *words[4:])
        assert server.calls > calls
        asked_for_more = server.calls - calls
    assert code == 0 and first["complete"] and first == again
    assert first["sentence"].startswith("Too few to tell: cross found as many of 8 planted defects as one call")
    assert first["sentence"].endswith("about 56 pairs would show a difference of 20 points.")
    one, cross = first["arms"]["one"], first["arms"]["cross"]
    assert one["found"] == cross["found"] > 4 and one["chance"] < 0.05 and one["better_than_chance"]
    assert cross["tokens"] > one["tokens"] > 0 and one["citations_absent"] == 0 and one["citations"] > 0
    judge = first["judge"]["cross"]
    assert judge["true"]["kept"] == judge["true"]["of"] == cross["found"]
    assert judge["found"]["true"] == judge["true"]
    assert more["pairs"] == 10 and asked_for_more <= 2 * 2 * (1 + 2), "a larger trial adds to the smaller one"
    rows = [json.loads(line) for line in (tmp_path / "t/pairs.jsonl").read_text().splitlines()]
    assert len(rows) == 20 and {row["arm"] for row in rows} == {"one", "cross"}
    assert all(row["defect"]["sessions"] and row["file"].endswith(".py") for row in rows)


@pytest.mark.parametrize(
    ("critic", "found"),
    [
        (reviewers.at_chance, 1),
        (reviewers.always_first, 1),
        (reviewers.wrong_kind, 0),
        (reviewers.everything, 6),
        (reviewers.finds(0.0), 0),
    ],
    ids=["at chance", "always first", "wrong kind", "everything", "blind"],
)
def test_a_model_that_cheats_does_not_pass_the_floor(
    workspace: Path, tmp_path: Path, critic: Critic, found: int
) -> None:
    with serving(critic) as server:
        said, code = trial(server, "--out", str(tmp_path / "t"))
        assert server.calls == 12, "six pairs, one model alone, and no call after that"
    assert code == 3 and not said["complete"]
    assert "this trial cannot measure the model" in said["sentence"] and said["sentence"].startswith(
        "Stopped at the floor"
    )
    one = said["arms"]["one"]
    assert one["found"] <= found and one["pairs"] == 6 and not one["better_than_chance"]
    assert list(said["arms"]) == ["one"] and not said["comparisons"]


def test_a_model_that_calls_everything_p1_passes_the_floor_and_is_seen_by_its_precision(
    workspace: Path, tmp_path: Path
) -> None:
    with serving(reviewers.always_p1) as server:
        said, _ = trial(server, "--arms", "one", "--pairs", "8", "--out", str(tmp_path / "t"))
    one = said["arms"]["one"]
    assert one["found"] == 8 and 65 <= one["p1"] <= 8 * 9 and one["p1_right"] <= 12 and one["false_alarms"] == 8


def test_a_judge_that_drops_true_findings_costs_them(workspace: Path, tmp_path: Path) -> None:
    with serving(reviewers.finds(1.0, 1.0), keeps=lambda id: False) as server:
        said, _ = trial(server, "--arms", "one,cross", "--pairs", "8", "--out", str(tmp_path / "t"))
    cross = said["arms"]["cross"]
    assert said["arms"]["one"]["found"] == 8 and cross["found"] == 0 and cross["lost"] == 8
    assert cross["false_alarms"] == 0 and said["arms"]["one"]["false_alarms"] == 8
    assert said["judge"]["cross"]["true"] == {"kept": 0, "of": 8}
    assert said["judge"]["cross"]["false"] == {"kept": 0, "of": 8}
    assert said["sentence"].startswith("Cross found 8 fewer of 8 planted defects than one call, −8 to")
    assert "8 fewer false alarms" in said["sentence"]


def test_fewer_false_alarms_are_the_answer_where_the_defects_found_do_not_differ(
    workspace: Path, tmp_path: Path
) -> None:
    def drops_on_twins(body: dict[str, Any]) -> str:
        prompt = question(body)
        if schema_name(body) != "Judgement":
            return reviewers.answers(reviewers.finds(1.0, 1.0))(body)
        return json.dumps(reviewers.judgement(prompt, lambda id: reviewers.shown(prompt)[1] == DEFECT))

    with Loopback(drops_on_twins, keep=False) as server:
        said, _ = trial(server, "--arms", "one,cross", "--pairs", "8", "--out", str(tmp_path / "t"))
    assert said["sentence"].startswith(
        "Cross raised 8 fewer false alarms than one call on 8 pairs; it found as many planted defects (−"
    )


def test_the_vote_has_the_tokens_of_the_debate(workspace: Path, tmp_path: Path) -> None:
    with serving(reviewers.finds(0.9, 0.5)) as server:
        said, code = trial(server, "--arms", "one,vote,cross", "--pairs", "8", "--out", str(tmp_path / "t"))
    assert code == 0 and 0.9 <= said["vote_tokens"] <= 1.1
    arms = said["arms"]
    assert arms["vote"]["tokens"] / arms["cross"]["tokens"] == said["vote_tokens"]
    assert arms["vote"]["calls"] > arms["one"]["calls"] and arms["vote"]["found"] == arms["one"]["found"]
    assert {(row["arm"], row["base"]) for row in said["comparisons"]} == {
        ("cross", "one"),
        ("cross", "vote"),
        ("vote", "one"),
    }


def test_a_panel_is_scored_by_the_lines_of_its_position(workspace: Path, tmp_path: Path) -> None:
    with serving(reviewers.finds(0.8, 0.3)) as server:
        said, code = trial(server, "--arms", "one,panel", "--pairs", "8", "--out", str(tmp_path / "t"))
    assert code == 0, said
    one, panel = said["arms"]["one"], said["arms"]["panel"]
    assert panel["pairs"] == 8 and panel["found"] == one["found"] > 3
    assert panel["false_alarms"] == one["false_alarms"] and panel["calls"] > one["calls"]
    assert "the panel found as many of 8 planted defects as one call" in said["sentence"]


def test_checks_that_pass_everywhere_are_refuted_and_counted_beside_what_the_judge_keeps(
    workspace: Path, tmp_path: Path
) -> None:
    check = {"runner": "python", "code": "assert True\n", "shows": "fails on the new version", "prints": ""}
    words = ("--arms", "cross,checks", "--pairs", "3", "--run-checks", "--out", str(tmp_path / "t"))
    with serving(reviewers.finds(1.0), check=check) as server:
        said, code = trial(server, *words)
    assert code == 0, said
    judge = said["judge"]
    assert "refuted" not in judge["cross"] and judge["checks"]["refuted"]["true"]["of"] == 3
    assert judge["checks"]["found"]["true"]["of"] == 3 and "shown" not in judge["checks"]
    assert ("checks", "cross") in {(row["arm"], row["base"]) for row in said["comparisons"]}
    assert any("marked refuted: " in note for note in said["notes"])


def test_lint_alone_needs_no_model(workspace: Path, tmp_path: Path) -> None:
    done = piped("trial", "--arms", "lint", "--pairs", "3", "--out", str(tmp_path / "t"), "--json")
    said = json.loads(done.stdout)
    assert done.returncode == 0 and said["arms"]["lint"]["pairs"] == 3 and said["arms"]["lint"]["calls"] >= 0
    assert said["arms"]["lint"]["usd"] == 0 and said["models"] == [] and said["sentence"].startswith("Lint found ")


def started(server: Loopback, out: Path) -> subprocess.Popen[str]:
    words = [REBUT, "trial", *TWO, "--arms", "one,cross", "--pairs", "6", "--out", str(out), "--at-once", "2"]
    env = {**os.environ, **environment(server)}
    return forkserver.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


def until(path: Path, count: int) -> None:
    while not path.exists() or path.read_bytes().count(b"\n") < count:
        time.sleep(0.02)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_trial_that_was_killed_or_interrupted_continues(workspace: Path, tmp_path: Path, how: signal.Signals) -> None:
    out = tmp_path / "t"
    with serving(reviewers.finds(1.0)) as server:
        server.script.latency = 0.05
        first = started(server, out)
        until(out / "reviews.jsonl", 5)
        first.send_signal(how)
        text, _ = first.communicate(timeout=60)
        if how == signal.SIGINT:
            assert first.returncode == 130 and "Incomplete, " in text and "The same command again continues" in text
        before = (out / "reviews.jsonl").read_bytes()
        second = started(server, out)
        text, errors = second.communicate(timeout=120)
        assert second.returncode == 0, errors
        assert "Too few to tell: cross found as many of 6 planted defects" in text
        whole = (out / "reviews.jsonl").read_bytes()
        assert whole.startswith(before[: before.rfind(b"\n") + 1]), "no result is written again"
        rows = [json.loads(line) for line in whole.splitlines()]
        assert len(rows) == len({row["line_hash"] for row in rows}) == 24
        # 12 reviews of one call; of cross, 6 with a judge and 6 whose critic agrees. A kill loses calls in flight.
        assert 30 <= server.calls <= 32, server.calls


def test_a_limit_stops_it_and_a_higher_one_continues(workspace: Path, tmp_path: Path) -> None:
    words = ("--arms", "one,cross", "--pairs", "6", "--out", str(tmp_path / "t"))
    with serving(reviewers.finds(1.0)) as server:
        said, code = trial(server, *words, "--max-calls", "15")
        assert code == 3 and server.calls <= 15 and "the next call could exceed --max-calls" in said["stopped"]
        assert said["sentence"].startswith("Incomplete, ") and said["missing"] > 0
        said, code = trial(server, *words, "--max-calls", "200")
        assert code == 0 and said["missing"] == 0 and server.calls == 30


def test_what_cannot_run_is_refused_before_any_call(workspace: Path, tmp_path: Path) -> None:
    out = ("--out", str(tmp_path / "t"))
    for words, said in (
        (("--arms", "one,nonsense"), "there is no arm 'nonsense'"),
        (("--arms", "one"), "no model"),
        (("--arms", "one", "--with", "nonesuch:x"), "nonesuch"),
        (("--pairs", "0"), "--pairs"),
        (("--arms", ""), "--arms"),
        (("--arms", "one,checks"), "Add --run-checks"),
        (("--arms", "lint", "--max-usd", "-1"), "--max-usd"),
    ):
        done = piped("trial", *words, *out)
        assert done.returncode == 2 and said in done.stderr, (words, done.stderr)
        assert done.stderr.count("\n") <= 4, done.stderr
    blocked = tmp_path / "file"
    blocked.write_text("x")
    done = piped("trial", "--arms", "lint", "--out", str(blocked))
    assert done.returncode == 2 and "cannot be made" in done.stderr


def test_a_dry_run_calls_nothing_and_writes_nothing(workspace: Path, tmp_path: Path) -> None:
    out = tmp_path / "t"
    done = piped(
        "trial", "--with", "openai:a,openai:b", "--dry-run", "--out", str(out), env={"OPENAI_API_KEY": "sk-test"}
    )
    assert done.returncode == 0 and not out.exists(), done.stderr
    for said in (
        "60 pairs",
        "20 files",
        "12 kinds",
        "reviewer  openai:a",
        "480 and those of the vote",
        "No model was called",
    ):
        assert said in done.stdout, done.stdout


def test_failed_reviews_are_named_and_asked_again(workspace: Path, tmp_path: Path) -> None:
    words = ("--arms", "one,cross", "--pairs", "6", "--out", str(tmp_path / "t"))
    with serving(reviewers.finds(1.0)) as server:
        server.script.mode, server.script.status = "status", 401
        said, code = trial(server, *words)
        assert code == 3 and said["failures"] == {"auth": 12} and "did not review all pairs" in said["sentence"]
        server.script.mode = "ok"
        said, code = trial(server, *words)
        assert code == 0 and not said["failures"] and said["arms"]["one"]["found"] == 6


def test_it_fits_a_narrow_terminal(workspace: Path, tmp_path: Path) -> None:
    with serving(reviewers.finds(0.9, 0.3)) as server:
        words = ("trial", *TWO, "--arms", "one,cross", "--pairs", "6", "--out", "t")
        piped(*words, env=environment(server), cwd=tmp_path)
        for columns in (120, 80, 50):
            seen = at_a_terminal(*words, columns=columns, env=environment(server), cwd=tmp_path)
            assert seen.code == 0 and " Too few to tell" in seen.text
            assert all(len(line) <= columns for line in seen.text.splitlines()), seen.text


class Looked(HTMLParser):
    """The elements of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_the_page_has_a_plot_and_no_script(workspace: Path, tmp_path: Path) -> None:
    with serving(reviewers.finds(0.9, 0.3)) as server:
        said, _ = trial(server, "--arms", "one,cross", "--pairs", "6", "--out", str(tmp_path / "t"))
    text = (tmp_path / "t/trial.html").read_text()
    looked = Looked()
    looked.feed(text)
    names = [tag for tag, _ in looked.tags]
    assert "svg" in names and names.count("circle") == 4 and "script" not in names
    assert not any(name.startswith("on") or name in ("href", "src") for _, attrs in looked.tags for name in attrs)
    assert "default-src 'none'" in text and said["sentence"].split(":")[0] in text
    assert re.search(r"<title>one call: found \d+ %", text)
