"""Dismissals: what they are bound to, when they lapse, where they are kept, and when they count."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import crosses
import pytest
import reviews
from repositories import git

from rebut.ci import dismissals
from rebut.ci.cited_place import cited_place
from rebut.ci.dismissals import Dismissal, dismissal, matching, parse_dismissals as parse
from rebut.cli.app import enter
from rebut.core.errors import ConfigError, UsageError
from rebut.domain.review_result import ReviewFinding
from rebut.record import sessions

A = reviews.AFTER


def dismissed(text: str = A, **about: str) -> Dismissal:
    return dismissal(reviews.finding(**about), reviews.target(reviews.change(after=text)), "known", "s", "now")


@pytest.mark.parametrize(
    ("after", "place", "category", "holds"),
    [
        (A, "api/orders.py:5", "correctness", True),
        (A.replace("\n", "\r\n"), "api/orders.py:5", "correctness", True),
        ("# more\n\n" + A, "api/orders.py:7", "correctness", True),  # only shifted
        (A.replace("charge(order)", "charge(order, 1)"), "api/orders.py:5", "correctness", True),  # the line after it
        (A.replace("commit(order)", "commit(order, 1)"), "api/orders.py:5", "correctness", False),
        (A.replace("    commit(order)", "        commit(order)"), "api/orders.py:5", "correctness", False),
        (A, "api/orders.py:5", "security", False),
        (A, "api/orders.py:6", "correctness", False),
        (A, "api/orders.py:5-6", "correctness", False),
        # One more of the very same line: which of them is meant is no longer sure.
        (A + "    commit(order)\n", "api/orders.py:5", "correctness", False),
        (A + "    commit(order)\n", "api/orders.py:8", "correctness", False),
    ],
)
def test_a_dismissal_holds_until_path_category_or_lines_change(
    after: str, place: str, category: str, holds: bool
) -> None:
    quote = "charge(order)" if place.endswith(":6") else "commit(order)"
    again = reviews.finding("F9", "P2", place=place, category=category, text="In other words.", quote=quote)
    found = matching(reviews.ending(again), reviews.target(reviews.change(after=after)), [dismissed()])
    assert bool(found) is holds


def test_the_same_lines_in_another_file_are_not_dismissed() -> None:
    other = reviews.target(reviews.change("api/other.py"))
    found = matching(reviews.ending(reviews.finding(place="api/other.py:5")), other, [dismissed()])
    assert not found


def test_a_secret_on_the_line_does_not_make_every_session_another_one() -> None:
    lines = ["key = [secret:aws-key:0a1b2c3d]\n", "key = [secret:aws-key:99999999]\n"]
    about = {"place": "api/orders.py:1", "quote": "key =", "category": "security"}
    one, other = (dismissed(text, **about) for text in lines)
    assert one.id == other.id != dismissed("key = [secret:token:0a1b2c3d]\n", **about).id
    assert one.lines == "126ca6b5b944d2fdcf5d0b535b4ec031"  # as in the files that earlier versions wrote


@pytest.mark.parametrize(
    ("place", "quote", "mark", "lines"),
    [
        ("api/orders.py:5", "commit(order)", "found", (5, 5)),
        ("api/orders.py:6-5", "", "located", (5, 6)),
        ("b/api/orders.py:5", "commit(order)", "found", (5, 5)),
        ("orders.py:5", "commit(order)", "found", (5, 5)),
        ("api/orders.py", "charge(order)", "found", (6, 6)),
        ("api/orders.py:5", "commit(order)\n    charge(order)", "moved", (5, 6)),  # a moved quote names its first line
        ("api/orders.py:5-99", "", "located", (5, 7)),
        ("api/orders.py", "", "located", (0, 0)),
    ],
)
def test_the_cited_lines_are_found_as_they_stand(
    place: str, quote: str, mark: str, lines: tuple[int, int]
) -> None:  # C11
    found = cited_place(reviews.finding(place=place, quote=quote, mark=mark), reviews.target())
    assert found is not None and found.path == "api/orders.py"
    assert (found.first, found.last) == lines
    whole = A.rstrip("\n").split("\n")
    assert list(found.lines) == (whole[lines[0] - 1 : lines[1]] if lines[0] else whole)


@pytest.mark.parametrize("path", ["a b.py", "ü/ß.py", "100%.py", "odd:name.py", "§ x.py", "a,b.py", "x.py:3"])
def test_odd_paths_of_the_change_are_recognised_before_anything_is_guessed(path: str) -> None:
    found = cited_place(reviews.finding(place=f"{path}:5"), reviews.target(reviews.change(path)))
    assert found is not None and (found.path, found.first) == (path, 5)


def test_a_quote_from_the_old_side_is_bound_to_the_old_lines() -> None:
    changed = reviews.target(reviews.change(after="x = 1\n", before="y = 2\nz = 3\n"))
    found = cited_place(reviews.finding(place="api/orders.py:2", quote="z = 3"), changed)
    assert found is not None and found.lines == ("z = 3",) and not found.changed


@pytest.mark.parametrize(
    "about",
    [{"place": "", "quote": "", "mark": ""}, {"place": "other.py:3", "quote": "", "mark": "located"}, {"place": "§ 2"}],
    ids=["nothing cited", "a file that is not on record, unquoted", "a section"],
)
def test_what_cannot_be_bound_to_lines_cannot_be_dismissed(about: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="could never expire"):
        dismissed(**about)


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("{", "not JSON"),
        ("[]", "not an object"),
        ('{"path": "a"}', "'category' is missing"),
        ('{"path": "a", "category": "c", "lines": "x", "reason": ""}', "'reason' is missing"),
        ('{"path": "a", "category": "c", "lines": 3, "reason": "r"}', "'lines' is missing or not a text"),
    ],
)
def test_a_malformed_line_is_told_with_its_number(line: str, wrong: str) -> None:
    with pytest.raises(ConfigError, match="list, line 3: ") as caught:
        parse(f"{dismissed().to_line()}\n{line}\n", "list")
    assert wrong in caught.value.message


# through the command line, in a real repository


@pytest.fixture
def reviewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = crosses.repository(tmp_path / "work")
    monkeypatch.chdir(folder)
    assert enter(["cross", "--uncommitted", "--quiet", *seats(tmp_path)]) == 0
    return folder


def seats(tmp_path: Path) -> list[str]:
    return reviews.script(
        tmp_path / "seats",
        reviews.raised("commit(order)", "api/orders.py:5"),
        reviews.raised("return None", "api/orders.py:7", "P2", category="maintainability"),
        rulings={"F1": "valid P1", "F2": "valid P2"},
    )


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    capsys.readouterr()
    code = enter(list(words))
    out, err = capsys.readouterr()
    return code, out + err


def test_a_dismissed_finding_is_hidden_counted_and_fails_no_gate_until_it_is_taken_back(
    reviewed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, "gate")[0] == 1
    code, said = run(capsys, "dismiss", "f1", "--reason", "charge() is\nidempotent")
    assert code == 0 and "rebut dismiss --undo d" in said
    id = said.rpartition(" ")[2].strip()
    code, said = run(capsys, "gate")
    assert code == 0 and "F1: charge() is idempotent" in said
    shown = run(capsys, "show", "last")[1]
    assert "- hidden: 1 dismissed; `rebut show ID --all` shows them" in shown and "- P1: none" in shown
    assert "- F1 (P1)" not in shown and "F1: charge first" not in shown, "nor is it left to be done"
    everything = " ".join(run(capsys, "show", "last", "--all")[1].split())
    assert ", valid, dismissed: charge() is idempotent)" in everything
    code, said = run(capsys, "dismiss", "--list")
    assert id in said and "yours" in said and "because: charge() is idempotent" in said
    assert run(capsys, "dismiss", "--undo", id)[0] == 0
    assert run(capsys, "gate")[0] == 1
    assert run(capsys, "dismiss", "--undo", id) == (
        2,
        f"rebut: no dismissal here is called '{id}'\n  `rebut dismiss --list` shows them.\n",
    )


def test_a_private_dismissal_is_kept_outside_of_the_repository_with_private_permissions(
    reviewed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = git(reviewed, "status", "--short", "--untracked-files=all")
    run(capsys, "dismiss", "F1", "--reason", "known")
    file = dismissals.private_file(sessions.home(), reviewed)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert git(reviewed, "status", "--short", "--untracked-files=all") == before


def test_a_shared_dismissal_hides_at_once_and_counts_once_it_is_in_the_base(
    reviewed: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(capsys, "dismiss", "F1", "--reason", "known", "--shared")[0] == 0
    assert "1 dismissed" in run(capsys, "show", "last")[1]
    code, said = run(capsys, "gate")
    assert code == 1 and "not in the base" in " ".join(said.split())
    (tmp_path / "config.toml").write_text('[gate]\ndismissals = "none"\n')
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("REBUT_CONFIG", str(tmp_path / "config.toml"))
        code, said = run(capsys, "gate")
    assert code == 1 and "(counts: dismissals do not count here)" in " ".join(said.split())
    assert '"suppressions"' not in run(capsys, "export", "last", "--format", "sarif")[1]
    assert "::error file=api/orders.py" in run(capsys, "export", "last", "--format", "github")[1]
    git(reviewed, "add", ".rebut")
    git(reviewed, "commit", "-qm", "dismiss")
    code, said = run(capsys, "cross", "--uncommitted", "--fail-on", "P1", *seats(tmp_path))
    assert code == 0 and "GATE PASSED" in said and "F1: known" in said
    assert '"suppressions"' in run(capsys, "export", "last", "--format", "sarif")[1]


def test_a_dismissal_lapses_in_a_later_review_when_its_lines_change(
    reviewed: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run(capsys, "dismiss", "F1", "--reason", "known")
    orders = reviewed / "api/orders.py"
    orders.write_bytes(b"# moved\n" + crosses.AFTER.encode().replace(b"\n", b"\r\n"))
    moved = reviews.script(tmp_path / "b", reviews.raised("commit(order)", "api/orders.py:6"))
    assert run(capsys, "cross", "--uncommitted", "--fail-on", "P1", "-q", *moved)[0] == 0
    orders.write_text(crosses.AFTER.replace("commit(order)", "commit(order, now=True)"))
    lapsed = reviews.script(tmp_path / "c", reviews.raised("commit(order, now=True)", "api/orders.py:5"))
    assert run(capsys, "cross", "--uncommitted", "--fail-on", "P1", "-q", *lapsed)[0] == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["F1"], "a reason is needed to dismiss F1"),
        (["F1", "--reason", "  "], "a reason is needed to dismiss F1"),
        (["F7", "--reason", "x"], "has no finding 'F7'\n  Its findings: F1, F2."),
        ([], "give a finding"),
        (["F1", "--list"], "give a finding"),
        (["F1", "--reason", "x", "--session", "nosuch"], "no session is called"),
    ],
)
def test_wrong_usage_of_dismiss_is_told_and_keeps_nothing(
    reviewed: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:  # C17
    code, told = run(capsys, "dismiss", *words)
    assert code == 2 and said in told
    assert "no dismissals here" in run(capsys, "dismiss", "--list")[1]


def test_a_link_in_a_strangers_repository_leads_no_dismissal_elsewhere(
    reviewed: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (reviewed / ".rebut").symlink_to(elsewhere)
    code, told = run(capsys, "dismiss", "F1", "--reason", "x", "--shared")
    assert code == 2 and "symbolic link" in told
    assert not list(elsewhere.iterdir())


def test_undo_takes_a_finding_too_and_both_lists_are_looked_at(
    reviewed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "dismiss", "F2", "--reason", "one")
    run(capsys, "dismiss", "F2", "--reason", "two", "--shared")
    assert run(capsys, "dismiss", "--undo", "F2")[0] == 0
    assert "no dismissals here" in run(capsys, "dismiss", "--list")[1]


def test_dismissing_twice_keeps_the_later_reason(reviewed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "dismiss", "F1", "--reason", "one")
    run(capsys, "dismiss", "F1", "--reason", "two")
    said = run(capsys, "dismiss", "--list")[1]
    assert "two" in said and "one" not in said


FIRST = """
import sys
from pathlib import Path
from rebut.ci import dismissals

load = dismissals.load_dismissals
def loaded(file, private):
    found = load(file, private=private)
    print("read", flush=True)
    sys.stdin.readline()
    return found
dismissals.load_dismissals = loaded
from rebut.ci.dismissals import Dismissal
dismissals.add(Path(sys.argv[1]), Dismissal("a.py", "style", "1", "first"), private=True)
"""
SECOND = """
import fcntl, sys
from pathlib import Path
from rebut.ci import dismissals
from rebut.ci.dismissals import Dismissal

flock = fcntl.flock
def waiting(*about):
    print("at the lock", flush=True)
    flock(*about)
fcntl.flock = waiting
dismissals.add(Path(sys.argv[1]), Dismissal("b.py", "style", "2", "second"), private=True)
print("done", flush=True)
"""


def test_two_who_dismiss_at_once_both_have_their_dismissal_kept(tmp_path: Path) -> None:  # C13
    """One process has read the list and not yet written it when another comes."""
    file = tmp_path / "list.jsonl"

    def start(code: str) -> subprocess.Popen[str]:
        words = [sys.executable, "-c", code, str(file)]
        return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    with start(FIRST) as first:
        assert first.stdout and first.stdin and first.stdout.readline() == "read\n"
        with start(SECOND) as second:
            assert second.stdout
            second.stdout.readline()  # it waits at the lock, or without one it is done already
            first.stdin.write("go on\n")
            first.stdin.flush()
            assert (first.wait(), second.wait()) == (0, 0)
    assert {one.reason for one in dismissals.load_dismissals(file, private=True)} == {"first", "second"}
    assert [path.name for path in tmp_path.iterdir()] == ["list.jsonl"]


def analysed(text: str, **about: str) -> ReviewFinding:
    return reviews.finding(text=text, voices=("critic",), **about)


@pytest.mark.parametrize(
    ("text", "path", "analyser", "covered"),
    [
        ("Use of assert (bandit B101).", "tests/test_pay.py", True, True),
        ("Another wording (bandit B101). A comment there silences the rule.", "tests/deep/test_pay.py", True, True),
        ("Use of assert (bandit B101).", "api/pay.py", True, False),
        ("Use of exec (bandit B102).", "tests/test_pay.py", True, False),
        ("The charge is lost (bandit B101).", "tests/test_pay.py", False, False),  # the words of a model
    ],
)
def test_a_class_is_a_rule_of_an_analyser_in_the_files_of_a_glob(
    text: str, path: str, analyser: bool, covered: bool
) -> None:
    first = analysed("Use of assert (bandit B101).", place="tests/a.py:5")
    made = reviews.ending(first, analysed=True)
    one = dismissals.dismissal_of_class(first, made, "tests/*", "tests may assert", "s", "now")
    assert one.rule == "bandit B101" and parse(one.to_line(), "list") == (one,)
    later = reviews.ending(analysed(text, place=f"{path}:5"), analysed=analyser)
    assert bool(matching(later, reviews.target(reviews.change(path)), [one])) is covered


def test_a_class_of_a_models_findings_is_their_category(reviewed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run(capsys, "dismiss", "--like", "F1", "--glob", "api", "--reason", "a prototype")
    assert code == 0 and "every finding of category correctness in api as d" in said
    assert (reviewed / ".rebut/dismissals.jsonl").is_file(), "a class is always for everybody to review"
    assert "1 dismissed" in run(capsys, "show", "last")[1]
    assert run(capsys, "gate", "last", "--fail-on", "P1")[0] == 1, "it counts once it is in the base commit"
    git(reviewed, "stash", "-q", "--", "api")
    git(reviewed, "add", "-A")
    git(reviewed, "commit", "-qm", "dismiss")
    git(reviewed, "stash", "pop", "-q")
    run(capsys, "review", "--again", *reviews.script(reviewed.parent / "more", crosses.raised()))
    assert run(capsys, "gate", "last", "--fail-on", "P1")[0] == 0
    assert run(capsys, "dismiss", "--undo", "F1")[0] == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--like", "F1", "--reason", "x"], "--like F1 needs a glob"),
        (["--like", "F1", "--reason", "x", "--glob", "**"], "names no files in particular"),
        (["--like", "F1", "--glob", "api"], "a reason is needed"),
        (["--like", "F9", "--glob", "api", "--reason", "x"], "has no finding 'F9'"),
        (["F1", "--glob", "api", "--reason", "x"], "--glob needs --like"),
        (["F1", "--like", "F1", "--glob", "api", "--reason", "x"], "give a finding, --like FINDING"),
    ],
)
def test_wrong_usage_of_a_class_is_told_and_keeps_nothing(
    words: list[str], told: str, reviewed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = run(capsys, "dismiss", *words)
    assert code == 2 and told in said
    assert not (reviewed / ".rebut").exists()


def test_the_shared_list_is_no_part_of_a_change(reviewed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "dismiss", "--like", "F1", "--glob", "api", "--reason", "a prototype")[0] == 0
    assert "api/orders.py" in (shown := run(capsys, "review", "--dry-run", "--with", "lint:ruff,rules")[1])
    assert "dismissals.jsonl" not in shown.partition("not sent")[0]
    git(reviewed, "checkout", "-q", "-b", "topic")
    git(reviewed, "commit", "-qam", "change")
    assert git(reviewed, "status", "--short").strip() == "?? .rebut/"
    shown = run(capsys, "review", "--dry-run", "--with", "lint:ruff,rules")[1]
    assert "api/orders.py" in shown, "the branch is reviewed"
