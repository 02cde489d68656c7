"""What `rebut review` and `rebut plan` print, and what can be done with it: through the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import crosses
import duels
import pytest
import voices
from repositories import git

FIX = crosses.raised(fix="    charge(order)")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return crosses.repository(tmp_path / "work")


def review(shop: Path, said: dict[str, Any], *words: str, verb: str = "review", **more: Any) -> Any:
    seats = crosses.seats(shop.parent / "seats", said)
    who = [f"--{role}={spec}" for role, spec in seats.items()]
    return voices.cli(verb, *words, *who, cwd=shop, **more)


def found(*findings: Any, choice: str = "E", rulings: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    usual = {f"F{n}": f"valid {one['severity']}" for n, one in enumerate(findings, 1)}
    return {
        "r1/critique@critic": crosses.critique(*findings),
        "r1/judgement@judge": crosses.judgement(choice, usual if rulings is None else rulings),
    } | more


def test_a_finding_is_a_block_with_its_code_and_the_last_line_sums_up(shop: Path) -> None:
    second = crosses.raised("It gives nothing back.", severity="P2", evidence=[duels.cite("api/orders.py:7")])
    done = review(shop, found(second, FIX), "-q")
    assert done.returncode == 0 and done.stderr.strip() == "", done.stderr
    grave, light, summary = done.stdout.strip("\n").split("\n\n")
    assert grave.splitlines()[0].split() == ["api/orders.py:5", "P1", "correctness", "F2,", "found,", "valid"]
    assert grave.splitlines()[1:] == [
        "    It commits before it charges.",
        "      3 |",
        "      4 | def pay(order):",
        "    > 5 |     commit(order)",
        "      6 |     charge(order)",
        "      7 |     return None",
        "    to do  charge first",
        "    fix    -     commit(order)",
        "           +     charge(order)",
    ]
    assert light.startswith("  api/orders.py:7  P2  correctness")
    assert summary.startswith("  2 problems to fix (1 P1, 1 P2) · ") and "fixes: rebut apply" in summary
    assert "##" not in done.stdout and "Converged" not in done.stdout


def test_the_code_of_one_place_is_shown_once(shop: Path) -> None:
    light = crosses.raised("It logs nothing.", severity="P2")
    done = review(shop, found(light, FIX), "-q")
    grave, light, _ = done.stdout.strip("\n").split("\n\n")
    assert "    > 5 |     commit(order)" in grave.splitlines()
    assert light.splitlines()[2] == "    code   as above" and "> 5 |" not in light
    every = voices.cli("show", "last", "--all", cwd=shop).stdout
    assert every.index("F2, found") < every.index("F1, found") and every.count("> 5 |") == 1


def test_an_absent_citation_comes_after_a_graver_finding(shop: Path) -> None:
    (shop / "plan.md").write_text("# Plan\n\nIt is in `api/none.py:3`.\n\nThen stop.\n")
    grave = crosses.raised("It stops too soon.", evidence=[duels.cite("plan.md:5", "Then stop.")])
    done = review(shop, found(grave), "plan.md", "-q", verb="plan")
    heads = [row for row in done.stdout.splitlines() if re.match(r"  \S+  P[12]", row)]
    assert [row.split()[1] for row in heads] == ["P1", "P2"] and "checked by rebut" in heads[1], done.stdout


def test_a_clean_review_is_one_line(shop: Path) -> None:
    done = review(shop, {"r1/critique@critic": crosses.critique()}, "-q")
    said = " ".join(done.stdout.split())
    assert done.returncode == 0 and len(done.stdout.splitlines()) <= 2, done.stdout
    assert said.startswith("No problems found in 1 file (+2 -1) · scripted:…/critic.json reviewed")
    assert "rebut show" not in said, "the findings and the summary only"


def test_what_was_not_read_is_the_first_line_with_counts_and_exit_3(shop: Path) -> None:  # C17, C18
    (shop / "run.bin").write_bytes(b"\0\1")
    done = review(shop, {"r1/critique@critic": crosses.critique()}, "-q")
    assert done.returncode == 3 and done.stdout.startswith("  Not decided: 1 of 2 files not read."), done.stdout
    assert "No problems found" not in done.stdout and "no problem found in what was reviewed" in done.stdout.lower()


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("run.bin", 3, "nothing was reviewed: the only file of the change was not read"),
        (".env", 3, "nothing was reviewed: the only file of the change was not read"),
        ("logo.png", 0, "there is nothing to review: the change is pictures, fonts, sound or film"),
    ],
)
def test_a_change_of_which_nothing_can_be_read_is_no_review(shop: Path, name: str, code: int, said: str) -> None:  # C17
    git(shop, "checkout", "-q", "--", ".")
    (shop / name).write_bytes(b"\0\1")
    done = review(shop, found(FIX))
    assert done.returncode == code and said in " ".join(done.stderr.split()), done.stderr
    assert voices.cli("list", cwd=shop).stdout.count("\n") <= 1, "no session was opened"


def test_a_file_beside_rebuts_own_output_is_not_the_only_one_of_the_change(shop: Path) -> None:  # C17
    git(shop, "checkout", "-q", "--", ".")
    (shop / "run.bin").write_bytes(b"\0\1")
    (shop / "debate").mkdir()
    (shop / "debate/last-debate.json").write_text("{}")
    said = " ".join(review(shop, found(FIX)).stderr.split())
    assert "nothing was reviewed: the only file of the change that needs a review was not read" in said


def test_a_judge_that_contradicts_itself_decides_nothing(shop: Path) -> None:  # C18
    done = review(shop, found(FIX, choice="A"), "-q", "--fail-on", "P1")
    assert done.returncode == 1 and "although F1 is valid at P1 or P2" in " ".join(done.stdout.split()), done.stdout
    assert done.stdout.startswith("  Not decided: the judge keeps the original"), done.stdout
    assert review(shop, found(FIX, choice="A"), "-q", "--again").returncode == 3


def test_a_finding_outside_the_change_is_counted_apart_and_fails_no_gate(shop: Path) -> None:  # C18
    apart = crosses.raised("No licence.", evidence=[duels.cite("README.md:1", "# Shop")])
    done = review(shop, found(apart), "-q", "--fail-on", "P1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "outside the change, so not counted:\n  F1  P1  README.md:1  No licence." in done.stdout
    assert "No problems found in 1 file (+2 -1), 1 outside the change" in done.stdout
    assert "outside       F1: not about lines of the change" in done.stdout
    told = json.loads(review(shop, found(apart), "--json", "--fail-on", "P1", "--again").stdout)
    assert told["gate"]["outside"] == ["F1"] and told["gate"]["passed"]


def test_show_prints_a_review_as_the_command_did_and_cross_keeps_its_contract(shop: Path) -> None:  # J12
    done = review(shop, found(FIX), "-q")
    shown = voices.cli("show", "last", "--no-pager", cwd=shop).stdout
    assert done.stdout.split("\n\n")[0] in shown and "## Debate Summary" not in shown
    seats = [f"--{role}={spec}" for role, spec in crosses.seats(shop.parent / "seats", found(FIX)).items()]
    assert "## Debate Summary" in voices.cli("cross", *seats, cwd=shop).stdout


def test_the_fix_of_a_finding_is_applied_checked_and_refused(shop: Path) -> None:  # J10
    other = crosses.raised("It gives nothing back.", severity="P2", evidence=[duels.cite("api/orders.py:7")])
    review(shop, found(FIX, other))
    before = (shop / "api/orders.py").read_text()
    check = voices.cli("apply", "last", "F1", "--check", cwd=shop)
    assert check.returncode == 0 and "it applies to api/orders.py" in check.stdout, check.stderr
    assert (shop / "api/orders.py").read_text() == before
    for words, message in ((["F2"], "F2 has no fix of its own"), (["last", "F9"], "has no finding 'F9'")):
        done = voices.cli("apply", *words, cwd=shop)
        assert done.returncode == 2 and message in done.stderr, done.stderr
    done = voices.cli("apply", cwd=shop)
    left = "  F2 has no fix in this patch and is still to do\n"
    assert done.returncode == 0 and done.stdout == f"  applied to api/orders.py\n{left}", done.stdout + done.stderr
    after = before.replace("    commit(order)\n", "    charge(order)\n", 1)
    assert (shop / "api/orders.py").read_text() == after
    again = voices.cli("apply", "last", cwd=shop)
    assert (again.returncode, again.stdout) == (0, f"  already applied to api/orders.py\n{left}"), again.stderr
    again = voices.cli("apply", "last", "F1", cwd=shop)
    assert (again.returncode, again.stdout) == (0, "  already applied to api/orders.py; nothing to do\n"), again.stderr
    told = json.loads(voices.cli("apply", "last", "--json", cwd=shop).stdout)
    assert told["applied"] and told["files"] == ["api/orders.py"]
    assert (shop / "api/orders.py").read_text() == after
    (shop / "api/orders.py").write_text(before.replace("commit", "commit_all"))
    moved = voices.cli("apply", "last", cwd=shop)
    assert moved.returncode == 3 and "has changed since the review" in moved.stderr
    assert "final.patch" not in moved.stderr, "there is none: the patch is made of fixes"


def test_the_patch_of_a_review_is_applied_as_a_whole(shop: Path) -> None:  # J10
    said = found(crosses.raised(), choice="B") | {"r1/version.code@critic": crosses.patch()}
    done = review(shop, said, "--fix", "-q")
    assert "patch: rebut apply" in done.stdout, done.stdout
    applied = voices.cli("apply", "last", cwd=shop)
    assert applied.returncode == 0
    said = " ".join(applied.stdout.split())
    assert said.startswith("applied to api/orders.py whether the patch fixes F1 is not known: changed, not"), said
    assert (shop / "api/orders.py").read_text() == crosses.MENDED
    again = voices.cli("apply", "last", cwd=shop)
    assert again.returncode == 0 and "already applied to api/orders.py" in again.stdout, again.stderr
    (shop / "api/orders.py").write_text("pass\n")
    moved = voices.cli("apply", "last", cwd=shop)
    place = re.search(r"or apply (\S+) by hand", " ".join(moved.stderr.split()))
    assert moved.returncode == 3 and place, moved.stderr
    (shop / "api/orders.py").write_text(crosses.AFTER)
    git(shop, "apply", place[1])
    assert (shop / "api/orders.py").read_text() == crosses.MENDED


def test_the_fixes_of_an_inconclusive_review_are_offered_as_apply_takes_them(shop: Path) -> None:  # C17 J10
    (shop / "run.bin").write_bytes(b"\0\1")
    done = review(shop, found(FIX), "-q", env={"COLUMNS": "200"})
    assert done.returncode == 3, done.stderr
    offer = re.search(r"fixes, not decided on: rebut (apply \S+ --force)", " ".join(done.stdout.split()))
    assert offer and "fixes: rebut apply" not in done.stdout, done.stdout
    assert voices.cli("apply", "last", "--check", cwd=shop).returncode == 3, "it is refused without --force"
    applied = voices.cli(*offer[1].split(), cwd=shop)
    assert (applied.returncode, applied.stdout) == (0, "  applied to api/orders.py\n"), applied.stderr


def test_the_fix_of_a_finding_without_a_ruling_is_offered_by_its_name(shop: Path) -> None:  # J10
    done = review(shop, found(FIX, rulings={}), "-q", env={"COLUMNS": "200"})
    offer = re.search(r"rebut (apply \S+ F1(?: --force)?)", " ".join(done.stdout.split()))
    assert offer, done.stdout
    applied = voices.cli(*offer[1].split(), "--check", cwd=shop)
    assert applied.returncode == 0 and "it applies to api/orders.py" in applied.stdout, applied.stderr


def test_the_note_on_unread_files_names_two_places_that_work(shop: Path, tmp_path: Path) -> None:  # C17
    (shop / "run.bin").write_bytes(b"\0\1")
    table = '[gate]\nunread_ok = ["run.bin"]\n'
    clean = {"r1/critique@critic": crosses.critique()}
    done = review(shop, clean, "-q")
    assert done.returncode == 3
    wanted = "in unread_ok of [gate] in a committed rebut.toml, or in your own config (`rebut config path`)"
    assert wanted in " ".join(done.stdout.split()), done.stdout
    (tmp_path / "config.toml").write_text(table)
    place = {"REBUT_CONFIG": str(tmp_path / "config.toml")}
    assert voices.cli("config", "path", cwd=shop, env=place).stdout.strip() == place["REBUT_CONFIG"]
    done = review(shop, clean, "-q", "--again", env=place)
    assert done.returncode == 0 and "unread_ok accepts" in " ".join(done.stdout.split()), done.stdout + done.stderr
    git(shop, "stash", "-q")
    (shop / "rebut.toml").write_text(table)
    git(shop, "add", "rebut.toml")
    git(shop, "commit", "-q", "-m", "policy")
    git(shop, "stash", "pop", "-q")
    done = review(shop, clean, "-q", "--again")
    assert done.returncode == 0, done.stdout + done.stderr


def test_review_takes_the_options_of_cross(shop: Path, tmp_path: Path) -> None:  # J2
    said = found(crosses.raised(), choice="B") | {"r1/version.code@critic": crosses.patch()}
    done = review(shop, said, "--apply", "--sarif", str(tmp_path / "x.sarif"), "--github", "-q")
    assert "::error" in done.stdout and (tmp_path / "x.sarif").exists(), done.stdout + done.stderr
    assert (shop / "api/orders.py").read_text() == crosses.MENDED


def test_without_a_terminal_a_key_is_never_replaced_by_analysers(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    done = voices.cli("review", cwd=shop)
    assert done.returncode == 2 and '[egress] allow = ["openai"]' in done.stderr, done.stdout + done.stderr
    done = voices.cli("review", "--with", "lint,rules", "-q", cwd=shop)
    assert done.returncode == 0 and "lint reviewed" in " ".join(done.stdout.split()), done.stderr


def test_programs_that_take_the_place_of_a_model_are_the_first_line(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # C16
    done = voices.cli("review", cwd=shop)
    said = "No model was used: none was found; the critic is lint and the judge is rules, which apply fixed rules."
    assert " ".join(done.stdout.split()).startswith(said), done.stdout
    assert "no model" not in done.stderr, "said once"
    told = json.loads(voices.cli("review", "--json", cwd=shop).stdout)
    assert told["heading"].startswith(said) and told["decision"].startswith(said)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    (tmp_path / "config.toml").write_text('[egress]\nallow = ["anthropic"]\n')
    monkeypatch.setenv("REBUT_CONFIG", str(tmp_path / "config.toml"))
    done = voices.cli("review", "--again", cwd=shop)
    assert " ".join(done.stdout.split()).startswith("No model was used: [egress] allow does not list openai; "), done
    (tmp_path / "config.toml").write_text(
        '[providers.openai]\nbase_url = "http://127.0.0.1:9/v1"\n[egress]\nallow = ["openai"]\n'
    )
    done = voices.cli("review", "--again", cwd=shop)
    assert " ".join(done.stdout.split()).startswith("No model was used: openai cannot be used ("), done
    done = voices.cli("review", "--with", "lint:ruff,rules", "-q", "--again", cwd=shop)
    assert "No model" not in done.stdout, "as the user said"


@pytest.mark.parametrize("form", ["text", "json", "md", "sarif", "github"])
@pytest.mark.parametrize("verb", ["review", "cross"])
def test_a_review_is_printed_in_the_format_that_is_asked_for(shop: Path, verb: str, form: str) -> None:
    done = review(shop, found(FIX), "--format", form, "--fail-on", "P1", verb=verb)
    assert done.returncode == 1, done.stderr
    if form in ("json", "sarif"):
        whole = json.loads(done.stdout)
        assert whole["exit"] == 1 if form == "json" else whole["runs"][0]["results"][0]["level"] == "error"
    else:
        begins = {"github": "::error file=api/orders.py,line=5", "md": f"# {verb}: uncommitted changes"}
        begins["text"] = "  api/orders.py:5  P1" if verb == "review" else "  STOPPED  1 finding stands"
        assert done.stdout.startswith(begins[form]), done.stdout
        assert ("GATE FAILED" in done.stdout) == (form == "text")
    both = review(shop, found(FIX), "--format", "sarif", "--json", "--again", verb=verb)
    assert both.returncode == 2 and "both write to standard output" in both.stdout + both.stderr


def test_a_plan_shows_what_it_cites_and_what_is_not_there(shop: Path) -> None:
    """On every output: what the screen calls a problem fails a gate, and is in the JSON and the SARIF."""
    (shop / "PLAN.md").write_text("# Plan\n\nAs `api/orders.py:400` says, orders are idempotent; see docs/new.md.\n")
    said = {"r1/critique@critic": crosses.proposal()}
    done = review(shop, said, "PLAN.md", "-q", "--fail-on", "P2", verb="plan")
    head, text, *code = done.stdout.splitlines()
    assert head.split() == ["PLAN.md:3", "P2", "citation", "C1,", "checked", "by", "rebut"], done.stdout + done.stderr
    assert text.startswith("    It cites api/orders.py:400: the file ends at line 7.") and code[2].startswith(
        "    > 3 | As"
    )
    assert "2 problems to fix (2 absent citations)" in " ".join(done.stdout.split())
    assert done.returncode == 1 and "GATE FAILED: 2 findings" in done.stdout
    told = json.loads(review(shop, said, "PLAN.md", "--json", "--again", verb="plan").stdout)
    assert [(f["id"], f["severity"]) for f in told["review"]["findings"]] == [("C1", "P2"), ("C2", "P2")]
    sarif = json.loads(review(shop, said, "PLAN.md", "--format", "sarif", "--again", verb="plan").stdout)
    assert [one["ruleId"] for one in sarif["runs"][0]["results"]] == ["rebut/citation"] * 2


def test_what_is_reviewed_is_chosen_once(shop: Path) -> None:
    (shop / "PLAN.md").write_text("# Plan\n\nCharge first.\n")
    said = {"r1/critique@critic": crosses.proposal()}
    for words in (["PLAN.md"], ["--artifact-file", "PLAN.md"], ["--context-file", "PLAN.md"]):
        done = review(shop, said, *words, "-q", "--again", verb="plan")
        assert done.returncode == 0 and "No problems found in the text" in done.stdout, (words, done.stderr)
    for words, wrong in (
        ([], "missing argument 'FILE'"),
        (["PLAN.md", "--base", "main"], "give PLAN.md or --base, not both"),
        (["PLAN.md", "--author", "claude", "--author", "codex"], "a review has one author, got 2"),
        (["PLAN.md", "--phase", "2"], "--phase needs --rewrite"),
    ):
        done = review(shop, said, *words, verb="plan")
        assert done.returncode == 2 and wrong in done.stderr, (words, done.stderr)
    done = voices.cli("plan", "--rewrite", "--base", "main", cwd=shop)
    assert done.returncode == 2 and "--base is not for --rewrite" in done.stderr


def test_what_a_model_is_sent_asks_for_reasons_before_the_conclusion(shop: Path) -> None:  # C20
    """The caller is shown the schema that a model gets: every key is required, the deciding ones come last."""
    done = voices.cli("cross", "--uncommitted", "--critic", "caller", "--judge", "rules", "--json", cwd=shop)
    assert done.returncode == 4, done.stdout + done.stderr
    schema = json.loads(done.stdout)["schema"]
    keys = list(schema["properties"])
    assert schema["required"] == keys and keys.index("findings") < keys.index("agrees")
    finding = schema["$defs"]["Raised"]
    order = list(finding["properties"])
    assert finding["required"] == order and order.index("evidence") < order.index("text") < order.index("severity")
    assert "same_as" not in order and "earlier" not in keys, "there is nothing yet that a finding could repeat"
    assert "first-last" not in json.dumps(schema), "nothing that could be copied as a place"


@pytest.mark.parametrize("same_as", ["none", "N/A", "new", None, ["F1"], 7, "-"])
def test_a_word_for_nothing_costs_the_field_and_not_the_finding(shop: Path, same_as: Any) -> None:  # C20
    done = review(shop, found(crosses.raised(same_as=same_as)), "-q")
    assert done.returncode == 0 and "1 problem to fix (1 P1)" in done.stdout, done.stdout + done.stderr


def test_a_file_that_no_analyser_is_for_is_a_file_that_was_not_read(shop: Path) -> None:
    (shop / "more.py").write_text("x = 1\n")
    (shop / "notes.md").write_text("# Notes\n")
    git(shop, "add", "more.py", "notes.md")
    done = voices.cli("review", "--staged", "--with", "lint:ruff,rules", "-q", cwd=shop)
    assert done.returncode == 3 and done.stdout.startswith("  Not decided: 1 of 2 files not read."), done.stdout
    assert "not read: notes.md: no analyser is for such a file" in done.stdout and "unread_ok" in done.stdout
    assert voices.cli("gate", cwd=shop).returncode == 3, "a gate passes only if everything was read or accepted"
    done = voices.cli("cross", "--staged", "--critic", "lint", "--judge", "rules", cwd=shop)
    assert done.returncode == 3 and "nothing is left to do" not in done.stdout, done.stdout
    assert "- not read: notes.md: no analyser is for such a file" in done.stdout


def test_a_deleted_file_leaves_no_gap_in_a_change_of_many_parts(shop: Path) -> None:  # J7
    """A part of the change has deleted files only: no analyser reads those, and a small change is as complete."""
    (shop / "a_notes.md").write_text("".join(f"A note on line {n}.\n" for n in range(9_000)))
    git(shop, "add", "a_notes.md")
    git(shop, "commit", "-qm", "notes")
    (shop / "a_notes.md").unlink()
    (shop / "more.py").write_text("".join(f"value_{n} = {n}\n" for n in range(8_000)))
    git(shop, "add", "-A")
    done = voices.cli("review", "--staged", "--with", "lint:ruff,rules", cwd=shop)
    assert "critique.code2" in done.stderr, "it has parts"
    assert "failed" not in done.stderr and "is missing" not in done.stdout, done.stderr + done.stdout
    assert done.returncode == 0 and "files not read" not in done.stdout, done.stdout


def test_a_change_that_no_analyser_reads_was_not_reviewed(shop: Path) -> None:
    git(shop, "checkout", "-q", ".")
    (shop / "README.md").write_text("# The shop\n")
    done = voices.cli("review", "--with", "lint:ruff,rules", "-q", cwd=shop)
    assert done.returncode == 3 and done.stdout.startswith("  Not decided: 1 of 1 file not read."), done.stdout
    assert "Nothing was reviewed · " in done.stdout and "lint reviewed" not in done.stdout
    told = json.loads(voices.cli("review", "--with", "lint:ruff,rules", "--json", cwd=shop).stdout)
    assert (told["kind"], told["conclusive"], told["review"]["converged"]) == ("stopped", False, False)
    assert told["heading"] == told["decision"] == "Not decided: 1 of 1 file not read. Nothing was reviewed."
    assert told["review"]["summary"] == "no finding stands; no file of the change was read"
    done = voices.cli("cross", "--critic", "lint", "--judge", "rules", cwd=shop)
    assert done.returncode == 3 and done.stdout.startswith("  STOPPED, 1 FILE NOT READ  no finding stands; no file of")
    assert "found nothing" not in done.stdout and "no debate was needed" not in done.stdout
    assert "Have a model or a person read the change" in done.stdout and "Keep Original" not in done.stdout


def later(*findings: Any) -> dict[str, Any]:
    """A first round that ends in a version, and a second one with these findings, which the judge leaves out."""
    return found(crosses.raised(), choice="C") | {
        "r1/version.code@judge": crosses.patch(),
        "r2/critique@critic": crosses.critique(*findings, earlier=[crosses.looked()]),
        "r2/judgement@judge": crosses.judgement("E", {}),
    }


def test_a_patch_is_shown_as_a_diff_and_offered_for_what_it_is(shop: Path) -> None:
    second = crosses.raised("It logs nothing.", place="api/orders.py:6", fix="    log(order)")
    done = review(shop, later(second), "--max-rounds", "2", "-q")
    assert done.returncode == 3 and "patch, not decided on:" in done.stdout, done.stdout + done.stderr
    assert "    > 6 |" not in done.stdout and "log(order)" not in done.stdout, "line 6 of the change is another one"
    refused = voices.cli("apply", "last", "--check", cwd=shop)
    assert refused.returncode == 3 and "inconclusive: the judge did not rule on F2" in refused.stderr
    assert "it applies to api/orders.py" in voices.cli("apply", "last", "--check", "--force", cwd=shop).stdout
    rows = voices.cli("show", "last", cwd=shop).stdout.splitlines()
    assert rows[rows.index("    patch:") + 1 :][:3] == [
        "      | --- a/api/orders.py",
        "      | +++ b/api/orders.py",
        "      | @@ -2,6 +2,6 @@",
    ]
    done = review(shop, later(), "--max-rounds", "2", "--again", "-q")
    assert done.returncode == 0 and "patch: rebut apply" in done.stdout, done.stdout + done.stderr
    light = later(crosses.raised("A word.", severity="P3"))
    light["r2/judgement@judge"] = crosses.judgement("E", {"F2": "valid P3"})
    done = review(shop, light, "--max-rounds", "2", "--again", "-q")
    assert done.returncode == 0 and "patch, not decided on:" in done.stdout, done.stdout + done.stderr
    refused = voices.cli("apply", "last", "--check", cwd=shop)
    assert refused.returncode == 3 and "without a decision on its patch" in refused.stderr, refused.stderr
    assert f"**patch:**\n\n```diff\n{crosses.PATCH}```\n" in voices.cli("export", "last", cwd=shop).stdout
    done = review(shop, later(second), "--max-rounds", "2", "--again", verb="cross")
    assert re.search(r"patch +rebut apply \S+ --force \(it was not decided on\)", done.stdout), done.stdout
    done = review(shop, later(), "--max-rounds", "2", "--again", verb="cross")
    assert re.search(r"patch +rebut apply \S+\n", done.stdout), done.stdout


def test_a_fork_of_a_review_is_a_review(shop: Path) -> None:
    review(shop, found(FIX), "-q", "--fail-on", "P1")
    other = duels.script(
        shop.parent / "other.json", found(FIX, rulings={"F1": "invalid P1"}, choice="A"), model="other"
    )
    done = voices.cli("fork", "last", "--judge", other, cwd=shop)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "review uncommitted changes" in done.stderr and "author" not in done.stderr
    assert done.stdout.startswith("  No problems found in 1 file (+2 -1), 1 rejected"), done.stdout
    assert "  ended     1 problem to fix (1 P1)           no problems found in 1 file" in done.stdout
    assert "STOPPED" not in done.stdout
    assert "GATE" not in done.stdout, "a gate is for the command that it was given to"
    done = voices.cli("fork", "last", "--judge", other, "--again", "--json", cwd=shop)
    assert json.loads(done.stdout)["heading"] == "no problems found in 1 file (+2 -1)"


def test_a_fork_names_the_limit_that_a_model_of_unknown_price_cannot_keep(shop: Path) -> None:  # C4
    review(shop, found(FIX), "-q")
    env = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "sk-test", "COLUMNS": "200"}
    words = ("fork", "last", "--judge", "openai:nobody-knows-this-1", "--dry-run")
    done = voices.cli(*words, cwd=shop, env=env)
    said = " ".join(done.stderr.split())
    assert done.returncode == 2 and "so the session's limit of $1.00 cannot be kept" in said, said
    assert "--max-usd" not in said and "Add --max-tokens N" in said
    assert "so --max-usd of $2.00 cannot be kept" in voices.cli(*words, "--max-usd", "2", cwd=shop, env=env).stderr
    done = voices.cli(*words, "--max-tokens", "90000", cwd=shop, env=env)
    assert done.returncode == 0, done.stderr


def test_what_leaves_a_review_conclusive_is_told_with_it(shop: Path) -> None:
    said = found(FIX)
    said["r1/judgement@judge"]["reason"] = "F1 was withdrawn by the critic."
    done = review(shop, said, "-q")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "note          the reasons say that F1 was withdrawn; on record it is" in done.stdout
    one = duels.script(shop.parent / "one.json", found(FIX), model="one")
    done = voices.cli("review", "--with", f"{one},{one}", "-q", cwd=shop)
    assert done.returncode == 0 and "note          one model had every seat" in done.stdout, done.stdout + done.stderr


def test_the_result_of_a_review_is_in_the_words_of_a_reviewer_for_programs_too(shop: Path) -> None:
    told = json.loads(review(shop, found(FIX), "--json").stdout)
    assert told["heading"] == "1 problem to fix (1 P1)"
    assert told["decision"] == "1 problem to fix (1 P1). because of E" and told["conclusive"]
    page = voices.cli("export", "last", cwd=shop).stdout
    assert page.startswith("# review: uncommitted changes") and "\n**1 problem to fix (1 P1)**\n" in page
    told = json.loads(review(shop, found(FIX), "--json", "--again", verb="cross").stdout)
    assert told["heading"] == "STOPPED" and told["decision"] == "Stopped: no version was chosen. because of E"


def test_files_that_the_base_commit_permits_to_leave_unread_are_accepted_and_told(shop: Path) -> None:  # C17
    (shop / "rebut.toml").write_text('[gate]\nunread_ok = ["*.md", "*.bin"]\n')
    git(shop, "stash", "-q")
    git(shop, "add", "rebut.toml")
    git(shop, "commit", "-q", "-m", "policy")
    (shop / "notes.md").write_text("# Notes\n")
    git(shop, "add", "notes.md")
    words = ("review", "--staged", "--with", "lint:ruff,rules", "-q")
    done = voices.cli(*words, cwd=shop)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Nothing to review: [gate] unread_ok accepts that 1 file of the change is not" in done.stdout
    assert "lint reviewed" not in done.stdout
    (shop / "more.py").write_text("x = 1\n")
    git(shop, "add", "more.py")
    done = voices.cli(*words, "--fail-on", "P1", cwd=shop)
    assert done.returncode == 0 and "No problems found in 1 of 2 files · lint" in done.stdout, done.stdout
    assert "(no problems found in 1 of 2 files)" in voices.cli("list", cwd=shop).stdout
    git(shop, "rm", "-q", "-f", "more.py", "notes.md")
    (shop / "a.bin").write_bytes(b"\0\1\2")
    git(shop, "add", "a.bin")
    done = voices.cli(*words, cwd=shop)
    assert done.returncode == 0 and "there is nothing to review: [gate] unread_ok" in done.stderr, done.stderr
    (shop / "b.dat").write_bytes(b"\0\1\2")
    git(shop, "add", "b.dat")
    done = voices.cli(*words, cwd=shop)
    assert done.returncode == 3 and "nothing was reviewed: none of the 2 files of the change was read" in done.stderr


@pytest.fixture
def planned(shop: Path) -> dict[str, Any]:
    """A plan whose own third line has words that the critic quotes from another file, which it would fix."""
    (shop / "src").mkdir()
    (shop / "src/app.py").write_text("import os\n\nTTL = 3600\n\ndef live():\n    return TTL\n")
    (shop / "p.md").write_text("# Plan\n\nWe keep TTL = 3600 for now.\n\nDone.\n")
    git(shop, "add", ".")
    git(shop, "commit", "-q", "-m", "plan")
    return found(crosses.raised(evidence=[duels.cite("src/app.py:3", "TTL = 3600")], fix="TTL = 60"))


def test_a_plan_shows_the_lines_of_the_cited_file_and_not_its_own(shop: Path, planned: dict[str, Any]) -> None:  # K9
    done = review(shop, planned, "p.md", verb="plan")
    assert done.returncode == 0 and "  src/app.py:3  P1" in done.stdout, done.stderr
    (shop / "src/app.py").write_text("changed\n" * 9)  # later, the lines are as they were reviewed
    for screen in (done.stdout, voices.cli("show", "last", cwd=shop).stdout):
        rows = screen.splitlines()
        assert "    > 3 | TTL = 3600" in rows and "      5 | def live():" in rows
        assert "    fix    - TTL = 3600" in rows and "We keep" not in screen


def test_apply_is_offered_only_where_a_fix_can_be_applied(shop: Path, planned: dict[str, Any]) -> None:
    assert "rebut apply" not in review(shop, planned, "p.md", verb="plan").stdout  # the fix is for another file
    assert "none of its findings has a fix" in voices.cli("apply", "last", cwd=shop).stderr
    (shop / "src/app.py").write_text("import os\n\nTTL = 3600\n")
    assert "fixes: rebut apply" in review(shop, planned).stdout
    assert voices.cli("apply", "last", "--check", cwd=shop).returncode == 0


def test_a_file_a_folder_and_a_revision_are_no_text_to_debate(shop: Path, planned: dict[str, Any]) -> None:  # K6
    named = {
        "p.md": ("p.md is a file, not a proposal", "--target proposal --artifact-file p.md"),
        "src": ("src is a folder, not a proposal", "--scope file:PATH"),
        "HEAD": ("HEAD is a revision, not a proposal", "--scope commit:HEAD"),
        "HEAD..HEAD": ("HEAD..HEAD is a revision", "--scope range:HEAD..HEAD"),
        "lost/none.py": ("looks like the name of a file", "--artifact-file FILE"),
    }
    for word, (what, hint) in named.items():
        done = review(shop, planned, word, verb="cross")
        assert done.returncode == 2 and what in done.stderr and hint in " ".join(done.stderr.split()), done.stderr
    for verb in (["duel"], ["panel"], ["ask"], ["revise", "plan"]):
        done = voices.cli(*verb, "p.md", cwd=shop)
        assert done.returncode == 2 and "p.md is a file, not a question" in done.stderr, done.stderr
    assert "no session was started" in voices.cli("show", "last", cwd=shop).stderr
    assert review(shop, planned, "Redis?", "--target", "proposal", "--dry-run", verb="cross").returncode == 0


def test_files_that_could_not_be_saved_are_told_after_the_result(shop: Path) -> None:  # K9
    words = ("--with", "lint:ruff,rules", "--save")
    done = voices.cli("review", *words, "/proc/none", cwd=shop)
    assert done.returncode == 3 and "lint:ruff reviewed" in done.stdout, done.stdout + done.stderr
    said = " ".join(done.stderr.split())
    assert re.search(
        r"rebut: \d files could not be saved to /proc/none: No such file or directory .* rebut show \w+", said
    ), said
    assert voices.cli("replay", "last", cwd=shop).returncode == 0
    done = voices.cli("review", *words, "README.md/x", cwd=shop)
    assert done.returncode == 2 and "--save README.md/x cannot be used" in done.stderr
    assert "--state-dir" not in done.stderr
    assert voices.cli("review", *words, "o" * 300, cwd=shop).returncode == 2


def test_a_debate_that_had_ended_is_shown_and_not_said_to_be_resumed(shop: Path) -> None:
    review(shop, found(FIX))
    done = voices.cli("resume", "last", cwd=shop)
    assert "this debate had already ended" in done.stderr and "1 problem to fix" in done.stdout


def test_files_that_cannot_be_read_are_not_counted_as_if_they_were_all(shop: Path) -> None:  # C17
    (shop / "b.dat").write_bytes(b"\0\1\2")
    (shop / "more.py").write_text("import os\n")
    done = voices.cli("review", "--with", "lint:ruff,rules", cwd=shop)
    assert "uncommitted changes: 2 readable files, +" in done.stderr, done.stderr
    assert "1 of 3 files not read" in done.stdout
    page = voices.cli("export", "last", "--format", "adr", cwd=shop).stdout
    assert re.search(r"- F\d is a finding that was judged valid: .os. imported but unused", page.replace("\\", "")), (
        page
    )
    assert "was accepted" not in page
