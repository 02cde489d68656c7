"""The gate's policy is that of the base commit: no change weakens its own review. Real repositories, the real CLI."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

import crosses
import duels
import forkserver
import pytest
import reviews
import revisions
from repositories import commit, git

from rebut.cli.app import enter
from rebut.record import sessions
from rebut.workspace.targets.target import Wanted

FOUND = reviews.raised("commit(order)", "api/orders.py:5", "P2")


def rebut(folder: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """A command in this process, which is quicker."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    with chdir(folder), mock.patch.dict(os.environ, env), redirect_stdout(out), redirect_stderr(err):
        code = enter(list(words))
    said = [(stream.flush(), stream.buffer.getvalue().decode())[1] for stream in (out, err)]  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(words, code, *said)


def script(folder: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The same by the command itself."""
    return forkserver.run(
        [forkserver.REBUT, *words],
        cwd=folder,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=60,
    )


def seats(folder: Path, *found: object) -> list[str]:
    return reviews.script(folder.parent / "seats", *(found or (FOUND,)))  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return crosses.repository(tmp_path / "work")


def based(folder: Path, policy: str, **files: str) -> Path:
    """Put a policy into the base, under the change."""
    git(folder, "stash", "-q")
    (folder / "rebut.toml").write_text(policy)
    for name, text in files.items():
        file = folder / name.replace("__", "/")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    commit(folder, "policy")
    git(folder, "stash", "pop", "-q")
    return folder


@pytest.mark.parametrize(
    ("policy", "words", "code", "said"),
    [
        ("", [], 0, ""),
        ("", ["--fail-on", "P1"], 0, "GATE PASSED"),
        ("", ["--fail-on", "P2"], 1, "GATE FAILED: 1 finding of severity P2 or above"),
        ("", ["--fail-on", "P3"], 1, "GATE FAILED"),
        ('[gate]\nfail_on = "P2"\n', [], 1, "rebut.toml at commit"),
        ('[gate]\nfail_on = "P1"\n', [], 0, "GATE PASSED"),
        ('[gate]\nfail_on = "P2"\n', ["--fail-on", "P1"], 1, "sets fail_on = P2, which is stricter than your P1"),
        ('[gate]\nfail_on = "P1"\n', ["--fail-on", "P3"], 1, "GATE FAILED"),
        ('[gate]\non_inconclusive = "pass"\n', ["--fail-on", "P1"], 0, "may not loosen"),
    ],
)
def test_the_code_follows_from_flags_and_the_base_whichever_is_stricter(
    folder: Path, policy: str, words: list[str], code: int, said: str
) -> None:  # C16 C17
    done = script(based(folder, policy), "cross", "--uncommitted", *seats(folder), *words)
    assert done.returncode == code, done.stdout + done.stderr
    assert said in " ".join(done.stdout.split())
    assert ("GATE" in done.stdout) is bool(said)


def test_a_change_that_loosens_policy_and_dismisses_its_own_finding_is_judged_by_the_base(folder: Path) -> None:  # C16
    based(folder, '[gate]\nfail_on = "P2"\ndismissals = "shared"\n')
    assert rebut(folder, "cross", "--uncommitted", *seats(folder)).returncode == 1
    assert rebut(folder, "dismiss", "F1", "--reason", "mine").returncode == 0
    assert rebut(folder, "dismiss", "F1", "--reason", "ours", "--shared").returncode == 0
    (folder / "rebut.toml").write_text('[gate]\nfail_on = "P1"\non_inconclusive = "pass"\ndismissals = "all"\n')
    for scope in ("uncommitted", "commit", "base"):
        if scope == "commit":
            git(folder, "checkout", "-qb", "change")
            commit(folder, "a change that would let itself through")
        words = {"uncommitted": ["--uncommitted"], "commit": ["--commit", "HEAD"], "base": ["--base", "main"]}[scope]
        done = rebut(folder, "cross", *words, *seats(folder), "--json")
        shown = json.loads(done.stdout)
        assert done.returncode == 1 == shown["exit"], scope
        assert shown["gate"]["fail_on"] == "P2" and shown["gate"]["failing"] == ["F1"]
        assert rebut(folder, "gate").returncode == 1
    # Once it is in, it holds for the next change.
    (folder / "api/orders.py").write_text(crosses.AFTER.replace("def pay(order):\n", "def pay(order):\n    # next\n"))
    moved = seats(folder, reviews.raised("commit(order)", "api/orders.py:6", "P1"))
    done = rebut(folder, "cross", "--uncommitted", *moved)
    assert done.returncode == 0 and "F1: ours" in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("rebut.toml", "[limits]\nrounds = 2\n\n[gate]\nfail_on = P2\n", "line 5: "),
        (
            "rebut.toml",
            '[gate]\n# why\nfail_on = "P4"\n',
            "line 3: gate.fail_on: input should be 'P1', 'P2', 'P3', 'P1:shown'",
        ),
        ("rebut.toml", '[egress]\nallow = []\n[gate]\nfial_on = "P1"\n', "line 4: unknown key gate.fial_on"),
        ("rebut.toml", 'gate.fail_on = "P9"\n', "line 1: gate.fail_on: "),
        ("rebut.toml", "gate = 3\n", "line 1: gate: "),
        (".rebut/dismissals.jsonl", "\n{]\n", "line 2: not JSON"),
    ],
)
def test_a_malformed_policy_in_the_base_is_told_by_commit_file_and_line_before_any_call(
    folder: Path, file: str, text: str, said: str
) -> None:  # C17
    git(folder, "stash", "-q")
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_text(text)
    base = commit(folder, "policy")
    (folder / file).write_text("")  # mended in the working tree, which does not matter
    git(folder, "stash", "pop", "-q")
    done = rebut(folder, "cross", "--uncommitted", *seats(folder))
    assert done.returncode == 2
    assert f"rebut: {file} at commit {base[:12]}, {said}" in done.stderr
    assert not sessions.sessions(sessions.home()), "nothing was begun"


def test_a_link_in_the_base_is_no_policy(folder: Path) -> None:
    git(folder, "stash", "-q")
    (folder / "rebut.toml").symlink_to("README.md")
    commit(folder, "a link")
    (folder / "rebut.toml").unlink()
    git(folder, "stash", "pop", "-q")
    done = rebut(folder, "cross", "--uncommitted", *seats(folder))
    assert done.returncode == 2 and "is not a regular file" in done.stderr


@pytest.mark.parametrize("kind", ["unborn", "no git", "a text"])
def test_without_a_base_only_the_users_config_counts(tmp_path: Path, kind: str, own_home: Path) -> None:  # C16
    folder = tmp_path / "work"
    (folder / "api").mkdir(parents=True)
    (folder / "api/orders.py").write_text(crosses.AFTER)
    (folder / "rebut.toml").write_text('[gate]\nfail_on = "P1"\n')
    if kind != "no git":
        git(folder, "init", "-q")
    config = tmp_path / "config.toml"
    config.write_text('[gate]\nfail_on = "P2"\n')
    words = {"unborn": ["--uncommitted"], "no git": ["--scope", "file:api/orders.py"], "a text": ["--target", "code"]}[
        kind
    ]
    words += ["--artifact-file", "api/orders.py"] if kind == "a text" else []
    place = {"a text": "orders.py:5"}.get(kind, "api/orders.py:5")
    sat = seats(folder, reviews.raised("commit(order)", place, "P2"))
    done = rebut(folder, "cross", *words, *sat, REBUT_CONFIG=str(config))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "rebut.toml at commit" not in done.stdout
    assert rebut(folder, "cross", *words, *sat).returncode == 0, "the file of the new side sets nothing"


def test_an_inconclusive_review_fails_unless_it_may_pass(folder: Path) -> None:  # C17
    (folder / "run.bin").write_bytes(b"\0\1\2")
    sat = seats(folder, reviews.raised("commit(order)", "api/orders.py:5", "P3"))
    done = rebut(folder, "cross", "--uncommitted", *sat, "--fail-on", "P2")
    assert done.returncode == 3 and "not read: run.bin: binary" in done.stdout
    assert rebut(folder, "gate", "--on-inconclusive", "pass").returncode == 0
    assert rebut(folder, "gate", "--on-inconclusive", "fail").returncode == 3
    assert rebut(folder, "gate", "--on-inconclusive", "pass", "--fail-on", "P3").returncode == 1


def policy(folder: Path, text: str) -> None:
    """Commit a policy under the uncommitted change."""
    git(folder, "stash", "-q", "--include-untracked")
    (folder / "rebut.toml").write_text(text)
    git(folder, "add", "rebut.toml")
    git(folder, "commit", "-qm", "policy")
    git(folder, "stash", "pop", "-q")


def test_a_file_that_was_not_read_is_inconclusive_without_a_gate_too(folder: Path) -> None:  # C17
    (folder / "run.bin").write_bytes(b"\0\1\2")
    (folder / "logo.png").write_bytes(b"\0\1\2")
    done = rebut(folder, "cross", "--uncommitted", *seats(folder))
    assert done.returncode == 3, done.stdout + done.stderr
    assert "STOPPED, 1 FILE NOT READ" in done.stdout and "GATE" not in done.stdout
    assert "1 file with pictures, fonts, sound or film" in " ".join(done.stdout.split())
    told = json.loads(rebut(folder, "cross", "--uncommitted", *seats(folder), "--json").stdout)
    assert (told["exit"], told["conclusive"]) == (3, False) and "not read: run.bin: binary" in told["notes"]
    [*_, summary] = sorted((folder / ".git/review-loop").glob("*/summary.md"))
    assert "1 FILE NOT READ" in summary.read_text()
    assert rebut(folder, "cross", "--uncommitted", *seats(folder), "--on-inconclusive", "pass").returncode == 0
    (folder / "run.bin").unlink()
    assert rebut(folder, "cross", "--uncommitted", *seats(folder)).returncode == 0, "a picture need not be read"


@pytest.mark.parametrize("source", ["the user's config", "the base commit", "the working tree"])
def test_a_path_that_may_stay_unread_is_accepted_and_reported(folder: Path, tmp_path: Path, source: str) -> None:  # C17
    (folder / "data").mkdir()
    (folder / "data/run.bin").write_bytes(b"\0\1\2")
    config, more = '[gate]\nunread_ok = ["data/*.bin"]\n', {}
    if source == "the user's config":
        (tmp_path / "config.toml").write_text(config)
        more = {"REBUT_CONFIG": str(tmp_path / "config.toml")}
    elif source == "the base commit":
        policy(folder, config)
    else:
        (folder / "rebut.toml").write_text(config)
    done = rebut(folder, "cross", "--uncommitted", *seats(folder), **more)
    if source == "the working tree":
        assert done.returncode == 3 and "1 FILE NOT READ" in done.stdout, "a change cannot excuse itself"
        return
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[gate] unread_ok accepts: data/run.bin: binary" in " ".join(done.stdout.split())
    done = rebut(folder, "gate", "last", **more)
    assert "GATE PASSED" in done.stdout or done.returncode == 1, done.stdout
    assert "accepted by [gate] unread_ok" in " ".join(done.stdout.split())


@pytest.mark.parametrize(("name", "flags", "code"), [("x.bin", (), 3), ("x.bin", ("pass",), 0), ("x.png", (), 0)])
def test_a_review_of_two_authors_is_inconclusive_in_the_same_cases(
    folder: Path, name: str, flags: tuple[str, ...], code: int
) -> None:  # C17, K4
    (folder / name).write_bytes(b"\0\1\2")
    sat = revisions.seats(folder.parent / "scripts", revisions.answers(1, "review"))
    words = [*(f"--author={spec}" for spec in sat["author"]), f"--synthesizer={sat['synthesizer']}", "--rounds", "1"]
    words += [f"--on-inconclusive={flag}" for flag in flags]
    done = rebut(folder, "revise", "review", *words)
    assert done.returncode == code, done.stdout + done.stderr
    assert ("1 FILE NOT READ" in done.stdout) == (name == "x.bin")
    assert rebut(folder, "resume", "last").returncode == code, "and when it is shown again"


def test_a_file_can_be_accepted_after_the_review(folder: Path, tmp_path: Path) -> None:  # C17
    (folder / "run.bin").write_bytes(b"\0\1\2")
    sat = seats(folder, reviews.raised("commit(order)", "api/orders.py:5", "P3"))
    assert rebut(folder, "cross", "--uncommitted", *sat).returncode == 3
    assert rebut(folder, "gate").returncode == 3
    (tmp_path / "config.toml").write_text('[gate]\nunread_ok = ["run.bin"]\n')
    assert rebut(folder, "gate", REBUT_CONFIG=str(tmp_path / "config.toml")).returncode == 0


def test_a_misspelt_unread_ok_is_refused_with_advice(folder: Path, tmp_path: Path) -> None:  # C17
    (tmp_path / "config.toml").write_text('[gate]\nunred_ok = ["run.bin"]\n')
    done = rebut(folder, "cross", "--uncommitted", *seats(folder), REBUT_CONFIG=str(tmp_path / "config.toml"))
    assert done.returncode == 2 and "Did you mean unread_ok?" in done.stderr


@pytest.mark.parametrize(("word", "code"), [("fail", 3), ("pass", 0)])
def test_a_review_that_comes_to_no_end_is_inconclusive_too(folder: Path, word: str, code: int) -> None:  # C17
    said = {"r1/critique@critic": {"fail": "auth", "message": "401"}, "r1/judgement@judge": crosses.judgement()}
    sat = crosses.seats(folder.parent / "seats", said)
    words = ["--critic", sat["critic"], "--judge", sat["judge"], "--fallback", f"critic={sat['critic']}"]
    done = rebut(folder, "cross", "--uncommitted", *words, "--on-inconclusive", word, "--json")
    assert done.returncode == code == json.loads(done.stdout)["exit"], done.stdout
    gone_on = rebut(folder, "gate", "--on-inconclusive", word)
    assert gone_on.returncode == 3 and "has not ended" in gone_on.stderr, "nothing was decided"


def test_the_same_change_is_not_reviewed_twice_unless_it_is_asked_for(folder: Path) -> None:
    first = rebut(folder, "cross", "--uncommitted", *seats(folder), "--json")
    second = rebut(folder, "cross", "--uncommitted", *seats(folder), "--fail-on", "P2")
    [one] = sessions.sessions(sessions.home())
    assert second.returncode == 1, "judged anew, by another policy"
    assert f"session {one.id[:4]}; showing that result" in second.stderr and "--again" in second.stderr
    assert "- P2: F1" in second.stdout
    told = json.loads(rebut(folder, "cross", "--uncommitted", *seats(folder), "--json").stdout)
    assert told["reused"] is True and told["session"] == json.loads(first.stdout)["session"] == one.id
    assert rebut(folder, "cross", "--uncommitted", *seats(folder), "--again", "-q").returncode == 0
    assert len(sessions.sessions(sessions.home())) == 2


@pytest.mark.parametrize("what", ["diff", "seat", "setting", "base", "inconclusive", "context"])
def test_whatever_the_review_depends_on_makes_it_another_one(folder: Path, what: str) -> None:
    sat = seats(folder)
    more = ["--context", "README.md"] if what == "context" else []
    if what == "inconclusive":
        said = {"r1/critique@critic": crosses.critique(FOUND), "r1/judgement@judge": crosses.judgement("C")}
        sat = [w for role, spec in crosses.seats(folder.parent / "s", said).items() for w in (f"--{role}", spec)]
        more = ["--max-calls", "2", "--max-tokens", "100000"]
    assert rebut(folder, "cross", "--uncommitted", *sat, "-q", *more).returncode in (0, 3)
    if what == "diff":
        (folder / "api/orders.py").write_text(crosses.AFTER + "# more\n")
    if what == "seat":
        sat = reviews.script(folder.parent / "others", FOUND)
    if what == "setting":
        more = ["--max-rounds", "2"]
    if what == "base":
        based(folder, "")
    rebut(folder, "cross", "--uncommitted", *sat, "-q", *more)
    assert len(sessions.sessions(sessions.home())) == 2


def test_a_secret_in_the_change_does_not_make_it_another_one_each_time(folder: Path) -> None:  # C8
    (folder / "api/orders.py").write_text(crosses.AFTER + f"key = '{'AKIA' + 'Z7Q3M5T2X9B4K6W8'}'\n")
    for _ in range(2):
        rebut(folder, "cross", "--uncommitted", *seats(folder), "-q")
    assert len(sessions.sessions(sessions.home())) == 1


def test_gate_export_and_show_need_neither_the_protocol_nor_a_call(folder: Path) -> None:  # C13
    rebut(folder, "cross", "--uncommitted", *seats(folder), "-q")
    probe = (
        "import sys; sys.argv = ['rebut', *sys.argv[1:]]\n"
        "from rebut.cli.app import enter\n"
        "code = enter(sys.argv[1:])\n"
        "assert not [m for m in sys.modules if m.startswith(('rebut.protocols.', 'rebut.backends.'))], sys.modules\n"
        "sys.exit(code)"
    )
    for words, code in ((["gate", "--fail-on", "P2"], 1), (["export", "last", "--format", "sarif"], 0)):
        done = subprocess.run([sys.executable, "-c", probe, *words], cwd=folder, capture_output=True, text=True)
        assert done.returncode == code, done.stderr


def test_a_gate_judges_reviews_only(folder: Path) -> None:
    duel = duels.seats(folder.parent)
    rebut(folder, "duel", "Redis?", *(w for role, spec in duel.items() for w in (f"--{role}", spec)), "-q")
    done = rebut(folder, "gate", sessions.sessions(sessions.home())[0].id)
    assert done.returncode == 2 and "is not a review" in done.stderr


def test_a_gate_whose_base_is_gone_does_not_pass(folder: Path) -> None:
    rebut(folder, "cross", "--uncommitted", *seats(folder), "-q")
    (folder / ".git").rename(folder / "gone")
    done = rebut(folder, "gate", "--fail-on", "P1", sessions.sessions(sessions.home())[0].id)
    assert done.returncode == 2 and "Run the gate where the review was made" in done.stderr
    assert rebut(folder, "show", sessions.sessions(sessions.home())[0].id).returncode == 0, "but it can be read"


def test_sarif_is_written_beside_the_ending_and_never_over_a_file_of_others(folder: Path) -> None:
    out = folder.parent / "out.sarif"
    for again in ([], ["--again"]):
        done = rebut(folder, "cross", "--uncommitted", *seats(folder), "--sarif", str(out), "-q", *again)
        assert done.returncode == 0
    [result] = json.loads(out.read_text())["runs"][0]["results"]
    assert result["properties"]["id"] == "F1"
    out.write_text("mine")
    done = rebut(folder, "cross", "--uncommitted", *seats(folder), "--sarif", str(out), "--again")
    assert done.returncode == 2 and out.read_text() == "mine"


def test_in_a_workflow_the_only_orders_are_our_annotations(folder: Path) -> None:
    evil = reviews.raised("commit(order)", "api/orders.py:5") | {"text": "x\n::set-output name=a::b\n##[group]c"}
    words = ["cross", "--uncommitted", *seats(folder, evil), "--github", "--all"]
    done = script(folder, *words, GITHUB_ACTIONS="true")
    lines = (done.stdout + done.stderr).splitlines()
    orders = [line for line in lines if line.lstrip().startswith("::") or ("##[" in line and line[:2] != "::")]
    assert len(orders) == 1 and orders[0].startswith("::error file=api/orders.py,line=5,endLine=5,title=F1 P1")
    for form in ("md", "json"):
        said = rebut(folder, "export", "last", "--format", form, GITHUB_ACTIONS="true").stdout
        assert not [line for line in said.splitlines() if line.lstrip().startswith("::") or "##[" in line], form
    shown = rebut(folder, "show", "last", "--json", GITHUB_ACTIONS="true").stdout
    assert "##[" not in shown and "##[group]c" in json.dumps(json.loads(shown))


def test_a_finding_that_only_a_patch_mends_fails_the_gate_until_the_patch_is_applied(folder: Path) -> None:
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised()),
        "r1/judgement@judge": crosses.judgement("C"),
        "r1/version.code@judge": crosses.patch(),
        "r2/critique@critic": crosses.critique(earlier=[crosses.looked()]),
    }
    sat = [w for role, spec in crosses.seats(folder.parent / "s", said).items() for w in (f"--{role}", spec)]
    done = rebut(folder, "cross", "--uncommitted", *sat, "--fail-on", "P1")
    assert done.returncode == 1, done.stdout + done.stderr
    done = rebut(folder, "cross", "--uncommitted", *sat, "--fail-on", "P1", "--apply")
    assert done.returncode == 0 and "GATE PASSED" in done.stdout
    assert "fixed         F1, by the final version" in done.stdout
    assert (folder / "api/orders.py").read_text() == crosses.MENDED


def patched(
    folder: Path, choice: str, rulings: dict[str, str], *findings: Any, patch: str = crosses.PATCH
) -> list[str]:
    """The words of a review of one round whose last version is a patch."""
    writer = "critic" if choice == "B" else "judge"
    said = {
        "r1/critique@critic": crosses.critique(*findings),
        "r1/judgement@judge": crosses.judgement(choice, rulings),
        f"r1/version.code@{writer}": crosses.patch(patch),
    }
    sat = [f"--{role}={spec}" for role, spec in crosses.seats(folder.parent / "s", said).items()]
    return ["cross", "--uncommitted", *sat, "--max-rounds", "1", "--fail-on", "P1"]


ELSEWHERE = "It imports what it never uses."


@pytest.mark.parametrize("choice", ["B", "C"])
def test_what_an_applied_patch_mends_is_in_doubt_until_somebody_has_reviewed_it(folder: Path, choice: str) -> None:
    # J10, C17
    words = patched(folder, choice, {"F1": "valid P1"}, crosses.raised())
    assert rebut(folder, *words).returncode == 1
    done = rebut(folder, *words, "--apply", "--again")
    assert done.returncode == 3 and "GATE FAILED: the review is inconclusive" in done.stdout, done.stdout + done.stderr
    assert "F1: the final version changes the lines that it cites, but that version was not reviewed" in " ".join(
        done.stdout.split()
    )
    done = rebut(folder, "gate", "last", "--fail-on", "P1", "--on-inconclusive", "pass")
    assert done.returncode == 0 and "GATE PASSED, BUT INCONCLUSIVE" in done.stdout, done.stdout + done.stderr
    asked = ("gate", "last", "--fail-on", "P1", "--on-inconclusive", "pass")
    done = rebut(folder, *asked, "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["gate"]["fixed"] == []
    (folder / "api/orders.py").write_text(crosses.AFTER)
    done = rebut(folder, *asked)
    assert done.returncode == 1 and "GATE FAILED: 1 finding" in done.stdout, "the patch is no longer there"


def test_a_patch_applied_by_hand_counts_for_the_gate_like_any_other(folder: Path) -> None:  # C17
    assert rebut(folder, *patched(folder, "B", {"F1": "valid P1"}, crosses.raised())).returncode == 1
    assert rebut(folder, "gate", "last").returncode == 1
    [final] = (folder / ".git/review-loop").glob("*/final.patch")
    git(folder, "apply", str(final))
    assert rebut(folder, "gate", "last").returncode == 3


@pytest.mark.parametrize(
    ("ruling", "place"), [("missing evidence P1", "api/orders.py:5"), ("valid P1", "api/orders.py:4")]
)
def test_what_the_patch_leaves_or_nobody_held_valid_still_fails_after_apply(
    folder: Path, ruling: str, place: str
) -> None:  # C17
    quote = "commit(order)" if place.endswith("5") else "def pay(order):"
    other = crosses.raised(ELSEWHERE, place, category="security", evidence=[duels.cite(place, quote)])
    words = patched(folder, "B", {"F1": "valid P1", "F2": ruling}, crosses.raised(), other)
    done = rebut(folder, *words, "--apply", "--json")
    told = json.loads(done.stdout)["gate"]
    assert done.returncode == 1 and (told["failing"], told["fixed"]) == (["F2"], []), done.stdout
    assert (folder / "api/orders.py").read_text() == crosses.MENDED


def test_a_finding_that_was_raised_again_stands_after_apply(folder: Path) -> None:  # C17
    """The lines are not what they were, but the critic has seen the new ones and is not content."""
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised()),
        "r1/judgement@judge": crosses.judgement("C"),
        "r1/version.code@judge": crosses.patch(),
        "r2/critique@critic": crosses.critique(crosses.raised("Still so.", "api/orders.py:6", same_as="F1")),
        "r2/judgement@judge": crosses.judgement("D"),
    }
    sat = [w for role, spec in crosses.seats(folder.parent / "s", said).items() for w in (f"--{role}", spec)]
    words = ("cross", "--uncommitted", *sat, "--fail-on", "P1", "--max-rounds", "2", "--apply", "--json")
    done = rebut(folder, *words)
    assert (folder / "api/orders.py").read_text() == crosses.MENDED
    assert done.returncode == 1 and json.loads(done.stdout)["gate"]["failing"] == ["F1"], done.stdout


def test_the_door_is_the_same_review(folder: Path) -> None:
    """A review that was run from Python is judged like any other."""
    outcome = crosses.review(
        folder,
        {
            "r1/critique@critic": crosses.critique(FOUND),
            "r1/judgement@judge": crosses.judgement("E", {"F1": "valid P2"}),
        },
        Wanted(scope="uncommitted"),
    )
    assert rebut(folder, "gate", outcome.session, "--fail-on", "P2").returncode == 1


def test_a_sarif_that_could_not_be_written_is_told_before_anything_is_called(folder: Path) -> None:  # C17
    done = rebut(folder, "cross", "--uncommitted", *seats(folder), "--sarif", "nowhere/out.sarif")
    assert done.returncode == 2 and "nowhere is not a writable folder" in done.stderr
    assert not sessions.sessions(sessions.home()), "nothing was paid for"


def test_what_sarif_wrote_into_the_tree_is_no_part_of_the_change(folder: Path) -> None:  # J2
    words = ["cross", *seats(folder), "--sarif", "out.sarif", "--json"]
    first, second = (json.loads(rebut(folder, *words).stdout) for _ in range(2))
    assert (first["reused"], second["reused"]) == (False, True)
    rebut(folder, *words, "--again")
    target = reviews.last().target
    assert [c.path for c in target.changes] == ["api/orders.py"]
    assert target.left_out == ("out.sarif: rebut's own output (1 file)",)
    assert not reviews.last().doubts()


@pytest.mark.parametrize("flag", [["--fail-on", "P1"], ["--on-inconclusive", "pass"], ["--sarif", "x"], ["--github"]])
def test_repeated_runs_are_judged_by_no_gate_and_do_not_pretend_to(folder: Path, flag: list[str]) -> None:  # C17
    done = rebut(folder, "cross", "--uncommitted", *seats(folder), "--repeat", "2", *flag)
    assert done.returncode == 2 and f"{flag[0]} and --repeat cannot be combined" in done.stderr
    assert not sessions.sessions(sessions.home())


def test_a_text_is_reviewed_anew_since_the_files_it_is_held_against_may_have_changed(folder: Path) -> None:  # C11
    said = {"r1/critique@critic": crosses.proposal(FOUND), "r1/judgement@judge": crosses.judgement()}
    sat = [w for role, spec in crosses.seats(folder.parent / "s", said).items() for w in (f"--{role}", spec)]
    words = ["cross", crosses.PROPOSAL, *sat, "--json"]
    assert json.loads(rebut(folder, *words).stdout)["review"]["findings"][0]["quote"] == "found"
    (folder / "api/orders.py").write_text("nothing\n")
    told = json.loads(rebut(folder, *words).stdout)
    assert told["reused"] is False and told["review"]["findings"][0]["quote"] == "absent"


def test_a_mixed_target_takes_its_text_from_standard_input_beside_a_scope(folder: Path) -> None:  # J1 J2
    said = {
        "r1/critique.code@critic": crosses.critique(crosses.raised()),
        "r1/critique.text@critic": crosses.proposal(),
        "r1/judgement@judge": crosses.judgement(),
    }
    sat = [w for role, spec in crosses.seats(folder.parent / "s", said).items() for w in (f"--{role}", spec)]
    command = [forkserver.REBUT, "cross", "--target", "mixed", "--uncommitted", *sat]
    done = forkserver.run(command, cwd=folder, input=crosses.PROPOSAL, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "Target: mixed" in done.stdout, done.stderr
    assert reviews.last().target.text == crosses.PROPOSAL


@pytest.mark.parametrize(("fail_on", "code"), [("P1", 3), ("P2", 1)])
def test_a_sarif_that_fails_after_the_review_does_not_hide_its_ending(folder: Path, fail_on: str, code: int) -> None:
    # C17: what was paid for is shown, then what failed, and no pipeline goes on as if nothing was
    out = folder.parent / "out"
    out.mkdir()

    def full(*about: object, **more: object) -> int:
        raise OSError(28, "No space left on device")

    words = ["cross", *seats(folder), "--fail-on", fail_on, "--sarif", str(out / "x.sarif")]
    with mock.patch("rebut.core.files.write", full):
        done = rebut(folder, *words)
    assert done.returncode == code and "STOPPED" in done.stdout and "GATE" in done.stdout
    assert "x.sarif could not be written: No space left on device" in " ".join(done.stderr.split())
    assert "export" in done.stderr and [*out.iterdir()] == []
    with mock.patch("rebut.core.files.write", full):
        told = json.loads(rebut(folder, *words, "--json").stdout)
    assert (told["exit"], "could not be written" in told["error"]) == (code, True) and told["decision"]
    assert rebut(folder, *words).returncode == (0 if fail_on == "P1" else 1) and (out / "x.sarif").is_file()


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "4d" * 32 + "\nsize 12345\n"


@pytest.mark.parametrize(("name", "code"), [("model.bin", 3), ("logo.png", 0)])
def test_what_a_pointer_of_git_lfs_stands_for_was_read_by_nobody(folder: Path, name: str, code: int) -> None:
    # J2, C17: as with any other binary, a picture casts no doubt
    (folder / name).write_text(POINTER)
    done = rebut(folder, "cross", *seats(folder), "--fail-on", "P1")
    assert done.returncode == code, done.stdout
    assert f"{name}: a Git LFS pointer; what it stands for is not read" in " ".join(done.stderr.split())


def stopped_before_the_judge(folder: Path, *flags: str) -> None:
    """A review whose judge is the caller: it waits for an answer, with code 4."""
    said = {"r1/critique@critic": crosses.critique(crosses.raised())}
    sat = [f"--{role}={spec}" for role, spec in crosses.seats(folder.parent / "s", said).items() if role != "judge"]
    done = rebut(folder, "cross", "--uncommitted", *sat, "--judge", "caller", "--max-rounds", "1", *flags)
    assert done.returncode == 4, done.stdout + done.stderr


def judged(folder: Path, choice: str = "E") -> str:
    return answered(folder, crosses.judgement(choice, {"F1": "valid P1"}))


def answered(folder: Path, answer: Any) -> str:
    file = folder.parent / "answer.json"
    file.write_text(json.dumps(answer))
    return str(file)


def test_a_review_that_is_taken_up_again_applies_what_it_was_begun_to_apply(folder: Path) -> None:  # J10, C17
    stopped_before_the_judge(folder, "--apply")
    assert rebut(folder, "answer", "last", "--file", judged(folder, "C")).returncode == 4
    done = rebut(folder, "answer", "last", "--file", answered(folder, crosses.patch()))
    assert "applied to the working tree" in done.stdout, done.stdout + done.stderr
    assert (folder / "api/orders.py").read_text() == crosses.MENDED
    done = rebut(folder, "resume", "last")
    assert "applied" not in done.stdout, "what has ended is shown, and applied no second time"


def test_a_review_that_is_taken_up_again_ends_at_the_gate_it_was_begun_with(folder: Path) -> None:  # C17
    stopped_before_the_judge(folder, "--fail-on", "P1", "--sarif", "out.sarif")
    done = rebut(folder, "answer", "last", "--file", judged(folder))
    assert done.returncode == 1 and "GATE FAILED: 1 finding" in done.stdout, done.stdout + done.stderr
    assert "F1" in (folder / "out.sarif").read_text()
    done = rebut(folder, "resume", "last", "--json")
    assert done.returncode == 1 and json.loads(done.stdout)["gate"]["failing"] == ["F1"], "and when it is shown again"


def test_resume_takes_a_gate_of_its_own_and_refuses_one_for_what_is_no_review(folder: Path) -> None:  # C17
    stopped_before_the_judge(folder)
    rebut(folder, "answer", "last", "--file", judged(folder))
    assert rebut(folder, "resume", "last").returncode == 0
    assert rebut(folder, "resume", "last", "--fail-on", "P1").returncode == 1
    rebut(folder, "duel", "x?", *(f"--{role}={spec}" for role, spec in duels.seats(folder.parent).items()))
    done = rebut(folder, "resume", "last", "--fail-on", "P1")
    assert done.returncode == 2 and "does not end in findings" in done.stderr and "Remove --fail-on" in done.stderr


def test_the_threshold_of_the_base_commit_holds_for_a_review_that_is_taken_up_again(folder: Path) -> None:  # C16, C17
    git(folder, "stash")
    (folder / "rebut.toml").write_text('[gate]\nfail_on = "P1"\n')
    git(folder, "add", "rebut.toml")
    git(folder, "commit", "-qm", "policy")
    git(folder, "stash", "pop")
    stopped_before_the_judge(folder)
    assert rebut(folder, "answer", "last", "--file", judged(folder)).returncode == 1


def test_a_file_that_was_put_where_the_sarif_goes_is_left_alone(folder: Path) -> None:  # C17
    """It was free when the review began, and the user's own by the time that it was taken up."""
    stopped_before_the_judge(folder, "--sarif", "out.sarif")
    (folder / "out.sarif").write_text("my notes")
    done = rebut(folder, "answer", "last", "--file", judged(folder))
    assert done.returncode == 3 and "STOPPED" in done.stdout, done.stdout + done.stderr
    assert "is not a SARIF file of rebut" in done.stderr and "--format sarif" in done.stderr
    assert (folder / "out.sarif").read_text() == "my notes"


def test_resume_refuses_a_gate_before_it_pays_for_a_review_that_ends_in_none(folder: Path) -> None:  # C17
    other = crosses.seats(folder.parent / "s", {})["critic"]
    words = ["--uncommitted", "--author", "caller", "--author", other, "--synthesizer", other]
    begun = rebut(folder, "revise", "review", *words)
    assert begun.returncode == 4, begun.stdout + begun.stderr
    done = rebut(folder, "resume", "last", "--fail-on", "P1")
    assert done.returncode == 2 and "does not end in findings" in done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize(("flags", "code"), [((), 3), (("--fail-on", "P1"), 2)])
def test_a_review_goes_on_without_its_repository_and_passes_no_gate(
    folder: Path, flags: tuple[str, ...], code: int
) -> None:  # C17: what was paid for is not lost, and where a gate was asked for nothing more is paid
    stopped_before_the_judge(folder, *flags)
    shutil.rmtree(folder / ".git")
    done = rebut(folder, "answer", "last", "--file", judged(folder))
    assert done.returncode == code and ("STOPPED" in done.stdout) == (code == 3), done.stdout + done.stderr
    assert "the gate's policy is in commit" in done.stderr


def test_a_review_that_a_deadline_left_nothing_of_is_blamed_on_no_flag() -> None:  # C17
    from rebut.cli.gate_flags import Gating
    from rebut.domain.gate_policy import Wish
    from rebut.domain.outcome import so_far
    from rebut.workspace.targets.target import Target

    judged = Gating(Wish("P1"), target=Target("code", "high", "x")).judge(so_far(1).filled(session="abcd"))
    assert (judged.code, judged.failed) == (5, None)
