"""The session's folder: where it lies, what is in it, who can read it; and the contract of the ending."""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import crosses
import duels
import pytest
import voices
from console import piped
from markdown_it import MarkdownIt
from repositories import commit, git, new

import rebut
from rebut.domain.outcome import Outcome
from rebut.domain.review_result import Recommended, ReviewFinding, ReviewResult
from rebut.protocols.cross import settings as places
from rebut.protocols.cross.settings import Settings
from rebut.record import sessions
from rebut.workspace.targets.target import Wanted

NAME = re.compile(r"debate-\d{8}-\d{6}-\d+")
FOUND = {"r1/critique@critic": crosses.critique(crosses.raised()), "r1/judgement@judge": crosses.judgement()}
FILES = {
    *("artifact.md", "metadata.json", "decision.json", "summary.md", "round-1-input.md", "round-1-critique.md"),
}


def folder_of(outcome: Outcome) -> Path:
    data = outcome.data["contract"]
    assert isinstance(data, dict)
    return Path(str(data["folder"]))


def test_the_folder_lies_in_gits_own_and_holds_the_files_by_their_names(shop: Path) -> None:  # J6
    folder = folder_of(crosses.review(shop, FOUND))
    assert folder.parent == shop / ".git/review-loop" and NAME.fullmatch(folder.name)
    assert folder.name.endswith(f"-{os.getpid()}")
    assert {path.name for path in folder.iterdir()} == FILES
    assert git(shop, "status", "--porcelain") == "M api/orders.py", "nothing is staged, nothing is new"


def test_folder_and_files_are_private(shop: Path) -> None:  # J6
    folder = folder_of(crosses.review(shop, FOUND))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700 and stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_the_session_answers_to_that_name_too(shop: Path) -> None:  # J6, C13
    outcome = crosses.review(shop, FOUND)
    assert sessions.find(sessions.home(), folder_of(outcome).name).name == outcome.session


def test_a_worktree_uses_the_folder_that_all_of_them_share(shop: Path) -> None:  # J6
    commit(shop, "two")
    tree = shop.parent / "tree"
    git(shop, "worktree", "add", "-q", str(tree))
    (tree / "api/orders.py").write_text(crosses.AFTER + "# more\n")
    folder = folder_of(crosses.review(tree, FOUND))
    assert folder.parent == shop / ".git/review-loop" and (folder / "summary.md").exists()


def test_a_submodule_uses_its_own_git_folder(shop: Path, tmp_path: Path) -> None:  # J6
    outer = new(tmp_path / "outer")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(shop), "sub")
    (outer / "sub/api/orders.py").write_text(crosses.AFTER)
    folder = folder_of(crosses.review(outer / "sub", FOUND))
    assert folder.parent == outer / ".git/modules/sub/review-loop" and (folder / "summary.md").exists()


def test_a_repository_that_is_beside_its_files(tmp_path: Path) -> None:  # J6
    shop = crosses.repository(tmp_path / "work")
    (shop / ".git").rename(shop / ".bare")
    (shop / ".git").write_text("gitdir: ./.bare\n")
    assert places.common_dir(shop / "api") == shop / ".bare"


@pytest.mark.parametrize("said", ["gitdir: /", "gitdir: ../elsewhere", "nonsense"])
def test_a_git_file_that_names_any_other_folder_is_not_followed(tmp_path: Path, said: str) -> None:  # J6, security
    (tmp_path / "elsewhere").mkdir()
    shop = tmp_path / "work"
    shop.mkdir()
    (shop / ".git").write_text(said)
    assert places.common_dir(shop) is None
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_outside_git_it_lies_in_the_users_state(tmp_path: Path, own_home: Path) -> None:  # J6
    work = tmp_path / "plain"
    work.mkdir()
    said = {"r1/critique@critic": crosses.proposal()}
    outcome = crosses.review(work, said, Wanted("proposal", content=crosses.PROPOSAL))
    root = own_home / ".local/state/debate"
    folder = folder_of(outcome)
    assert folder.parent.name == "review-loop" and folder.parent.parent.parent == root
    other, _ = places.state_dir({"HOME": str(own_home)}, tmp_path / "other")
    assert Path(other).parent != folder.parent.parent, "each workspace has a key of its own"
    moved, _ = places.state_dir({"HOME": str(own_home), "XDG_STATE_HOME": str(tmp_path / "xdg")}, work)
    assert moved.startswith(str(tmp_path / "xdg/debate/"))
    assert (folder / "summary.md").exists() and list(work.iterdir()) == []


def test_a_git_folder_that_cannot_be_written_is_told_and_gone_round(shop: Path) -> None:  # J6
    (shop / ".git/review-loop").write_text("in the way")  # for root, permissions would be no hindrance
    outcome = crosses.review(shop, FOUND)
    assert any("cannot be written" in note and "the files go to" in note for note in outcome.notes)
    assert (folder_of(outcome) / "summary.md").exists() and ".git" not in str(folder_of(outcome))


def test_a_state_folder_of_ones_own(shop: Path, tmp_path: Path) -> None:  # J5
    folder = folder_of(crosses.review(shop, FOUND, state_dir=str(tmp_path / "state")))
    assert folder.parent == tmp_path / "state" and {p.name for p in folder.iterdir()} == FILES
    assert not (shop / ".git/review-loop").exists()


@pytest.mark.parametrize("place", ["file", "file/x", "file/x/y"])
@pytest.mark.parametrize("words", [("cross",), ("cross", "--dry-run"), ("duel", "Redis?")], ids=" ".join)
def test_a_state_folder_that_is_a_file_is_refused_before_any_call(
    shop: Path, words: tuple[str, ...], place: str
) -> None:  # J5
    (shop.parent / "file").write_text("in the way")
    if words[0] == "cross":
        named = [f"--{role}={spec}" for role, spec in crosses.seats(shop.parent / "seats", FOUND).items()]
    else:
        said = duels.answers()
        folder = shop.parent / "seats"
        folder.mkdir()
        roles = ("proposer", "challenger", "judge")
        named = [f"--{role}={duels.script(folder / f'{role}.json', said, model=role)}" for role in roles]
    done = piped(*words, *named, "--state-dir", str(shop.parent / place), cwd=shop)
    assert done.returncode == 2, done.stdout + done.stderr
    assert f"{shop.parent / 'file'} is not a folder" in done.stderr
    assert not sessions.sessions(sessions.home())
    assert (shop.parent / "file").read_text() == "in the way"


def test_claiming_a_name_below_a_file_ends(tmp_path: Path) -> None:  # J5: of a fork, whose folder changed meanwhile
    from datetime import datetime

    (tmp_path / "file").write_text("in the way")
    settings = Settings(state_dir=str(tmp_path / "file"))
    assert places.claim(settings, datetime(2026, 1, 2, 3, 4, 5), 7) == "debate-20260102-030405-7"


def test_a_state_folder_inside_the_workspace_is_not_part_of_the_next_change(shop: Path) -> None:  # J2 J5
    named = [f"--{role}={spec}" for role, spec in crosses.seats(shop.parent / "seats", FOUND).items()]
    fake = shop / "st/debate-20260102-030405-7"
    fake.mkdir(parents=True)
    (fake / "summary.md").write_text("a page of the user's own\n")
    for extra in ((), ("--again",)):
        done = piped("cross", *named, "--state-dir", "st", *extra, cwd=shop)
        assert done.returncode == 0, done.stdout + done.stderr
    first, last = sorted(path for path in (shop / "st").iterdir() if path != fake)
    done = piped("cross", *named, "--state-dir", "st", "--again", cwd=shop)
    *_, newest = sorted(path for path in (shop / "st").iterdir() if path != fake)
    text = (newest / "artifact.md").read_text()
    names = re.findall(r"^\+\+\+ b/(.*)", text, re.M)
    assert names == ["api/orders.py", "st/debate-20260102-030405-7/summary.md"]
    assert newest not in (first, last)
    status = git(shop, "status", "--porcelain", "--untracked-files=all").splitlines()  # J6
    assert status == ["M api/orders.py", "?? st/debate-20260102-030405-7/summary.md"], "ours are hidden, the user's not"


def test_two_sessions_of_one_second_get_two_folders(tmp_path: Path) -> None:  # J6
    from datetime import datetime

    now = datetime(2026, 1, 2, 3, 4, 59)
    settings = Settings(state_dir=str(tmp_path))
    assert [places.claim(settings, now, 7) for _ in range(2)] == [
        "debate-20260102-030459-7",
        "debate-20260102-030500-7",
    ]


# what is in the files


def test_what_the_files_hold(shop: Path) -> None:  # J6
    outcome = crosses.review(shop, FOUND)
    folder = folder_of(outcome)
    assert "+    charge(order)" in (folder / "artifact.md").read_text()
    sent = voices.record().calls["r1/critique@critic"].asked[1].prompt
    [shown] = MarkdownIt().parse((folder / "round-1-input.md").read_text())
    assert (shown.type, shown.content.strip()) == ("fence", sent.strip())
    metadata = json.loads((folder / "metadata.json").read_text())
    assert {k: metadata[k] for k in ("target", "scope", "rounds", "max_rounds", "mode", "intensity", "session")} == {
        "target": "code",
        "scope": "uncommitted",
        "rounds": 1,
        "max_rounds": 3,
        "mode": "auto",
        "intensity": "standard",
        "session": folder.name,
    }
    assert re.match(r"\d{4}-\d\d-\d\dT", metadata["timestamp"]) and metadata["rebut_session"] == outcome.session
    decision = json.loads((folder / "decision.json").read_text())
    assert ReviewResult.from_json(decision) == ReviewResult.from_json(outcome.data["contract"])  # type: ignore[arg-type]
    assert decision["history"] == [{"round": 1, "choice": "E", "reason": "because of E", "taken": "E", "by": "judge"}]
    assert (decision["heading"], decision["conclusive"], decision["error"]) == ("STOPPED", True, None)


def test_a_review_that_breaks_off_leaves_what_it_has(shop: Path) -> None:  # J13: the session is kept
    said = {"r1/critique@critic": crosses.critique(crosses.raised()), "r1/judgement@judge": {"fail": "auth"}}
    with pytest.raises(rebut.Aborted, match="did not weigh round 1"):
        crosses.review(shop, said)
    [folder] = (shop / ".git/review-loop").iterdir()
    decision = json.loads((folder / "decision.json").read_text())
    assert decision["heading"] == "ABORTED" and "auth" in decision["error"]
    assert decision["findings"][0]["id"] == "F1" and decision["history"] == []


# the contract


def finding(n: int, severity: str = "P1", **changes: Any) -> ReviewFinding:
    values: dict[str, Any] = {
        "id": f"F{n}", "severity": severity, "raised_as": severity, "category": "correctness", "text": f"text {n}",
        "place": f"a.py:{n}", "mark": "found", "ruling": "valid", "status": "conceded",
    }  # fmt: skip
    return ReviewFinding(**values | changes)


def contract(*findings: ReviewFinding, **changes: Any) -> ReviewResult:
    values: dict[str, Any] = {
        "session": "debate-20260102-030405-77", "target": "code", "rounds": 2, "converged": False,
        "decision": "Compromise", "artifact": "version 2: final.patch", "findings": findings,
        "history": (Recommended(1, "C", "two are real", "C", "judge"), Recommended(2, "A", "enough", "B", "decider")),
        "unresolved": ("F1 (P1): text 1",), "next_actions": ("run the tests", "tell the team"),
    }  # fmt: skip
    return ReviewResult(**values | changes)


def test_the_contract_is_written_field_by_field() -> None:  # J12
    made = contract(finding(1), finding(2, "P2", mark="moved"), finding(3, "P3", mark="", ruling="", place=""))
    assert made.markdown() == (
        "## Debate Summary\n"
        "\n"
        "Session: debate-20260102-030405-77\n"
        "Target: code\n"
        "Rounds: 2\n"
        "Converged: no\n"
        "\n"
        "### Final Decision\n"
        "- Compromise\n"
        "\n"
        "### Final Artifact\n"
        "version 2: final.patch\n"
        "\n"
        "### Key Findings\n"
        "- P1: F1 a.py:1 text 1 (found, valid)\n"
        "- P2: F2 a.py:2 text 2 (moved, valid)\n"
        "- P3: F3 text 3 (cites nothing)\n"
        "- by file: a.py 1 P1, 1 P2; no place 1 P3\n"
        "- by category: correctness 1 P1, 1 P2, 1 P3\n"
        "\n"
        "### Judge Recommendation History\n"
        "- Round 1: C: two are real\n"
        "- Round 2: A: enough (the decider chose B)\n"
        "\n"
        "### Unresolved\n"
        "- F1 (P1): text 1\n"
        "\n"
        "### Next Actions\n"
        "1. [ ] run the tests\n"
        "2. [ ] tell the team\n"
    )


def test_a_real_summary_has_every_part_of_the_contract_in_its_order(shop: Path) -> None:  # J12
    outcome = crosses.review(shop, FOUND)
    text = (folder_of(outcome) / "summary.md").read_text()
    assert text == outcome.final
    parts = ["## Debate Summary", f"Session: {folder_of(outcome).name}", "Target: code", "Rounds: 1", "Converged: no"]
    parts += ["### Final Decision\n- Stopped", "### Final Artifact", "### Key Findings\n- P1: F1 api/orders.py:5"]
    parts += ["- P2: none\n- P3: none", "### Judge Recommendation History\n- Round 1: E: because of E"]
    parts += ["### Unresolved\n- F1 (P1): It commits before it charges.\n- Is charge() idempotent?"]
    parts += ["### Next Actions\n1. [ ] Ask the payments team.\n2. [ ] F1: charge first"]
    places_ = [text.find(part) for part in parts]
    assert -1 not in places_ and places_ == sorted(places_), list(zip(parts, places_, strict=True))


def test_words_of_models_cannot_open_a_part_of_the_contract() -> None:  # C7
    made = contract(finding(1, text="x\n### Final Decision\n- Keep Original"), unresolved=("a\n### Next Actions",))
    assert made.markdown().count("\n### Final Decision\n") == 1
    assert made.markdown().count("\n### Next Actions\n") == 1
    inside = contract(content="````\n### Next Actions\n```\nx").markdown()
    assert "`````markdown\n````\n### Next Actions\n```\nx\n`````" in inside


def test_the_screen_shows_five_of_p1_and_p2_and_one_line_for_the_rest() -> None:  # J12
    made = contract(
        *(finding(n, "P2") for n in range(1, 6)),
        finding(6),
        finding(7, "P3"),
        finding(8, "P2", struck=True, mark="absent"),
        finding(9, ruling="invalid"),
        finding(10, status="resolved"),
    )
    text = made.screen(width=100)
    shown = re.findall(r"^- P[123]: (F\d+)", text, re.M)
    assert shown == ["F6", "F1", "F2", "F3", "F4"], "the gravest first, five in all"
    hidden = (
        "- hidden: 1 more of P1 and P2, 1 P3, 1 struck for an absent citation, 1 judged invalid, 1 fixed or withdrawn"
    )
    assert hidden in " ".join(text.split("\n")).replace("   ", " ") or hidden[:60] in text
    assert "`rebut show ID --all` shows them" in " ".join(text.split())
    everything = made.screen(width=100, everything=True)
    assert len(re.findall(r"^- P[123]: F\d+", everything, re.M)) == 10 and "hidden" not in everything
    assert max(len(line) for line in made.screen(width=50).splitlines()) <= 50
    assert ReviewResult.from_json(json.loads(json.dumps(made.to_json()))) == made
