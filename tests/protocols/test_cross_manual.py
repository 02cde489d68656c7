"""Manual mode at a real terminal, and what the command line says and takes."""

from __future__ import annotations

import errno
import json
import os
import re
import select
import struct
import sys
import termios
import time
from fcntl import ioctl
from pathlib import Path
from typing import Any

import crosses
import duels
import forkserver
import pytest
import voices
from repositories import commit, git

FOUND = {"r1/critique@critic": crosses.critique(crosses.raised())}
NEXT = {
    "r1/version.code@judge": crosses.patch(),
    "r1/version.code@critic": crosses.patch(),
    "r1/rebuttal@judge": {"json": {"text": "F1 is no defect."}},
    "r2/critique@critic": crosses.critique(),
}


def flags(shop: Path, said: dict[str, Any]) -> list[str]:
    sat = crosses.seats(shop.parent / "seats", said)
    return [f"--{role}={spec}" for role, spec in sat.items()]


class Terminal:
    """The real program on a pseudo-terminal of a given width."""

    def __init__(self, cwd: Path, *words: str, columns: int = 80) -> None:
        self.fd, far = os.openpty()
        ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        # By hand, since readline, which pytest loads, puts the size into the environment behind Python's back.
        around = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")} | {"TERM": "dumb"}
        command = [sys.executable, "-m", "rebut", *words]
        self.child = forkserver.Popen(command, stdin=far, stdout=far, stderr=far, env=around, cwd=cwd, terminal=True)
        os.close(far)
        self.seen = ""

    def until(self, text: str) -> str:
        ends = time.monotonic() + 30
        while text not in self.seen:
            assert time.monotonic() < ends, f"never came: {text}\n{self.seen}"
            if not self._read():
                raise AssertionError(f"it ended before {text!r}:\n{self.seen}")
        return self.seen

    def _read(self) -> bool:
        if not select.select([self.fd], [], [], 0.2)[0]:
            return True
        try:
            got = os.read(self.fd, 65536)
        except OSError as error:  # how Linux says that the other end is closed
            assert error.errno == errno.EIO
            return False
        self.seen += got.decode(errors="replace").replace("\r\n", "\n")
        return bool(got)

    def press(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def end(self) -> int:
        ends = time.monotonic() + 30
        while self._read():
            if time.monotonic() > ends:
                self.child.kill()
                raise AssertionError(f"it never ended:\n{self.seen}")
        os.close(self.fd)
        return self.child.wait()


@pytest.mark.parametrize("columns", [100, 50])
def test_a_person_sees_the_findings_and_decides_with_one_key(shop: Path, columns: int) -> None:  # J4
    said = FOUND | NEXT | {"r1/judgement@judge": crosses.judgement()}
    terminal = Terminal(shop, "cross", "--uncommitted", "--mode", "manual", *flags(shop, said), columns=columns)
    seen = terminal.until("A/B/C/D/E > ")
    table = seen[seen.index("your turn") :]
    assert "F1" in table and "P1" in table and "api/orders.py:5" in table and "found" in table and "valid" in table
    assert "judge recommends  E  stop" in table
    assert max(len(line) for line in table.splitlines()) <= columns
    terminal.press("x")
    terminal.until("Press one of A, B, C, D, E")
    terminal.press("c")  # no Enter
    assert terminal.end() == 0, terminal.seen
    assert terminal.seen.count("your turn") == 1, "one question a round"
    assert "COMPROMISE" in terminal.seen
    assert "Round 1: E: because of E (the decider chose C)" in " ".join(terminal.seen.split())
    record = voices.record()
    answered = record.calls["r1/decision@decider"].answered
    assert answered and answered.value == {"findings": [], "choice": "C", "reason": ""} and answered.family == "human"
    assert "«" not in table and "schema" not in table, "the screen is made for people"


def test_a_finding_that_the_judge_left_out_is_no_second_question(shop: Path) -> None:  # J4
    found = crosses.critique(crosses.raised(), crosses.raised("It returns nothing.", "api/orders.py:7"))
    said = {"r1/critique@critic": found, "r1/judgement@judge": crosses.judgement()}
    terminal = Terminal(shop, "cross", "--uncommitted", "--mode", "manual", *flags(shop, said))
    terminal.until("A/B/C/D/E > ")
    assert "F2" in terminal.seen and "a/r/e > " not in terminal.seen
    terminal.press("e")
    assert terminal.end() == 3, "F2 was never weighed"


@pytest.mark.parametrize(
    ("key", "heading", "step"),
    [("a", "KEEP ORIGINAL", ""), ("B", "ACCEPT OPPOSITE", "r1/version.code@critic"), ("e", "STOPPED", "")],
)
def test_each_key_does_what_it_says(shop: Path, key: str, heading: str, step: str) -> None:  # J4, J10
    said = FOUND | NEXT | {"r1/judgement@judge": crosses.judgement("C")}
    terminal = Terminal(shop, "cross", "--uncommitted", "--mode", "manual", *flags(shop, said))
    terminal.until("A/B/C/D/E > ")
    terminal.press(key)
    assert terminal.end() == 0 and heading in terminal.seen
    assert [k for k in voices.record().calls if "version" in k] == ([step] if step else [])


@pytest.mark.parametrize(("gate", "code"), [((), 3), (("--fail-on", "P1"), 1)])
def test_a_choice_of_a_person_stands_even_if_its_patch_does_not_apply(
    shop: Path, gate: tuple[str, ...], code: int
) -> None:  # C6 J10
    bad = crosses.patch("--- a/api/orders.py\n+++ b/api/orders.py\n@@ -1 +1 @@\n-nonsense\n+x\n")
    said = FOUND | {"r1/judgement@judge": crosses.judgement(), "r1/version.code@critic": bad}
    terminal = Terminal(shop, "cross", "--uncommitted", "--mode", "manual", *gate, *flags(shop, said))
    terminal.until("A/B/C/D/E > ")
    terminal.press("b")
    assert terminal.end() == code, terminal.seen
    seen = " ".join(terminal.seen.split())
    assert "ACCEPT OPPOSITE, THE CHOSEN VERSION WAS NOT WRITTEN" in seen
    assert "choice B of round 1 was not carried out: version 2 was not accepted" in seen


def test_one_who_chooses_to_rebut_gets_the_judges_answer_attached(shop: Path) -> None:  # J10
    said = FOUND | NEXT | {"r1/judgement@judge": crosses.judgement()}
    terminal = Terminal(shop, "cross", "--uncommitted", "--mode", "manual", *flags(shop, said))
    terminal.until("A/B/C/D/E > ")
    terminal.press("d")
    assert terminal.end() == 0, terminal.seen
    assert "F1 is no defect." in voices.record().calls["r2/critique@critic"].asked[1].prompt


def test_a_person_may_judge_too(shop: Path) -> None:  # J9
    [critic] = [f for f in flags(shop, FOUND) if "critic" in f]
    terminal = Terminal(shop, "cross", "--uncommitted", critic, "--judge", "human")
    seen = terminal.until("a/r/e > ")
    screen = seen[seen.index("your turn") :]
    assert "F1  P1  api/orders.py:5  found" in screen and "«" not in screen
    terminal.press("e")
    terminal.until("1/2/3 > ")
    terminal.press("2")
    terminal.until("reason (Enter for none): ")
    terminal.press("it is rare\n")
    terminal.until("F1: valid, P2")
    terminal.until("A/B/C/D/E > ")
    terminal.press("a")
    terminal.until("Why (Enter: ")
    terminal.press("good enough\n")
    terminal.end()
    assert "KEEP ORIGINAL" in terminal.seen and "Round 1: A: good enough" in " ".join(terminal.seen.split())
    judged = voices.record().calls["r1/judgement@judge"].answered
    assert judged and judged.complaints == ()
    [ruled] = judged.value["findings"]
    assert (ruled["id"], ruled["ruling"], ruled["severity"], ruled["reason"]) == ("F1", "valid", "P2", "it is rare")


def test_a_person_who_keeps_a_change_with_a_valid_finding_reads_that_in_the_result(shop: Path) -> None:  # J4
    [critic] = [f for f in flags(shop, FOUND) if "critic" in f]
    terminal = Terminal(shop, "review", critic, "--judge", "human")
    terminal.until("a/r/e > ")
    terminal.press("a")
    terminal.until("A/B/C/D/E > ")
    terminal.press("a")
    terminal.until("Why (Enter: ")
    terminal.press("we ship today\n")
    terminal.end()
    shown = " ".join(terminal.seen.split())
    assert (
        "1 problem to fix (1 P1)" in shown
        and "the judge accepts the change despite these findings: we ship today" in shown
    )


def test_a_finding_that_a_judge_leaves_out_is_asked_for_and_a_capital_letter_rules_on_the_rest(shop: Path) -> None:
    # J9: an omission is asked for, the rest is kept
    three = [crosses.raised(f"Number {n}.", evidence=[duels.cite(f"api/orders.py:{n}")]) for n in (3, 4, 5)]
    [critic] = [f for f in flags(shop, {"r1/critique@critic": crosses.critique(*three)}) if "critic" in f]
    terminal = Terminal(shop, "cross", "--uncommitted", critic, "--judge", "human")
    terminal.until("F1  P1  api/orders.py:3")
    terminal.press("r")
    terminal.until("reason (Enter for none): ")
    terminal.press("\n")
    terminal.until("F2  P1  api/orders.py:4")
    terminal.press("A")
    terminal.until("F3: valid, P1")
    terminal.until("A/B/C/D/E > ")
    terminal.press("e")
    terminal.until("Why (Enter: ")
    terminal.press("\n")
    terminal.end()
    assert "STOPPED" in terminal.seen
    judged = voices.record().calls["r1/judgement@judge"].answered
    assert judged
    assert [(w["id"], w["ruling"]) for w in judged.value["findings"]] == [
        ("F1", "invalid"),
        ("F2", "valid"),
        ("F3", "valid"),
    ]


def test_the_user_rules_on_a_finding_otherwise_than_the_judge(shop: Path) -> None:  # J4, J9
    said = FOUND | NEXT | {"r1/judgement@judge": crosses.judgement("C")}
    terminal = Terminal(shop, "cross", "--uncommitted", "--mode", "manual", *flags(shop, said))
    seen = terminal.until("A/B/C/D/E > ")
    assert "a number changes the ruling on a finding, w adds a reason" in " ".join(seen.split())
    terminal.press("1")
    terminal.until("[Enter] leave it: valid")
    terminal.press("r")
    terminal.until("reason (Enter for none): ")
    terminal.press("the charge is idempotent\n")
    terminal.until("F1: invalid")
    terminal.press("w")
    terminal.until("reason: ")
    terminal.press("we ship today\n")
    terminal.press("a")
    assert terminal.end() == 0, terminal.seen
    shown = " ".join(terminal.seen.split())
    assert "no finding stands" in shown and "the decider says: we ship today" in shown
    told = json.loads(voices.cli("show", "last", "--json", cwd=shop).stdout)
    [finding] = told["outcome"]["data"]["contract"]["findings"]
    assert (finding["ruling"], finding["reason"]) == ("invalid", "the charge is idempotent")
    assert voices.cli("replay", "last", cwd=shop).returncode == 0


def test_without_a_terminal_it_waits_with_code_4_and_goes_on_at_one(shop: Path) -> None:  # J4, C17
    said = FOUND | NEXT | {"r1/judgement@judge": crosses.judgement("C")}
    done = voices.cli("cross", "--uncommitted", "--mode", "manual", *flags(shop, said), cwd=shop)
    assert done.returncode == 4 and "it is the decider's turn" in done.stderr and "rebut resume" in done.stderr
    terminal = Terminal(shop, "resume", "last")
    terminal.until("A/B/C/D/E > ")
    terminal.press("\x04")
    assert terminal.end() == 4, "nothing is lost"
    terminal = Terminal(shop, "resume", "last")
    terminal.until("A/B/C/D/E > ")
    terminal.press("a")
    assert terminal.end() == 0 and "KEEP ORIGINAL" in terminal.seen
    assert len(voices.record().calls["r1/critique@critic"].asked) == 1, "nothing on record was asked again"


def test_ctrl_c_at_the_choice_ends_it_on_a_line_of_its_own_and_resume_asks_again(shop: Path) -> None:  # J4, C14
    said = FOUND | NEXT | {"r1/judgement@judge": crosses.judgement("C")}
    terminal = Terminal(shop, "cross", "--uncommitted", "--mode", "manual", *flags(shop, said))
    terminal.until("A/B/C/D/E > ")
    terminal.press("\x03")
    assert terminal.end() == 130, terminal.seen
    assert "\n  Stopped: 2 answers are recorded, and no call was cut off." in terminal.seen
    assert "rebut resume" in terminal.seen
    terminal = Terminal(shop, "resume", "last")
    terminal.until("A/B/C/D/E > ")
    terminal.press("b")
    assert terminal.end() == 0 and "ACCEPT OPPOSITE" in terminal.seen
    assert len(voices.record().calls["r1/critique@critic"].asked) == 1, "nothing on record was asked again"


def test_a_kind_that_is_not_clear_is_asked_once_or_refused(shop: Path) -> None:  # J1
    vague = "It should be better somehow. " * 120
    said = {"r1/critique@critic": crosses.proposal()}
    done = voices.cli("cross", vague, *flags(shop, said), cwd=shop)
    assert done.returncode == 2 and "--target proposal" in done.stderr
    terminal = Terminal(shop, "cross", vague, *flags(shop, said))
    terminal.until("What should be debated?")
    terminal.press("proposal\n")
    assert terminal.end() == 0 and "Target: proposal" in terminal.seen


# the command line


def test_the_terminal_ends_with_the_contract(shop: Path) -> None:  # J12
    said = FOUND | {"r1/judgement@judge": crosses.judgement()}
    done = voices.cli("cross", *flags(shop, said), cwd=shop)
    assert done.returncode == 0, done.stderr
    ending = done.stdout[done.stdout.index("## Debate Summary") :]
    assert re.match(
        r"## Debate Summary\n\nSession: debate-\d+-\d+-\d+\nTarget: code\nRounds: 1\nConverged: no\n", ending
    )
    assert ending.rstrip().endswith("2. [ ] F1: charge first")
    assert (
        "target       code (medium confidence" in done.stderr
        and "cross  uncommitted changes: 1 file, +2 -1" in done.stderr
    )
    assert "1 finding: 1 P1" in done.stderr and "1 valid" in done.stderr


def test_hidden_findings_are_counted_in_one_line_and_shown_on_request(shop: Path) -> None:  # J12
    findings = [
        crosses.raised(),
        crosses.raised("No note.", "README.md:1", severity="P3", evidence=[duels.cite("README.md:1")]),
        crosses.raised("Tokens leak.", category="security", evidence=[duels.cite("api/auth.py:3", "token == given")]),
    ]
    said = {
        "r1/critique@critic": crosses.critique(*findings),
        "r1/judgement@judge": crosses.judgement("E", {"F1": "valid P1", "F2": "valid P3", "F3": "valid P1"}),
    }
    short = voices.cli("cross", *flags(shop, said), cwd=shop).stdout
    hidden = "- hidden: 1 outside the change, 1 struck for an absent citation; `rebut show ID --all` shows them"
    assert hidden in " ".join(short.split()) and "F3" not in short
    whole = voices.cli("cross", "--all", *flags(shop, said), cwd=shop).stdout
    assert '- P2: F3 api/auth.py:3 Tokens leak. (absent "' in whole and "- hidden" not in whole


def test_json_is_short_and_says_what_was_decided(shop: Path) -> None:  # C14
    said = FOUND | {"r1/judgement@judge": crosses.judgement()}
    done = voices.cli("cross", "--json", *flags(shop, said), cwd=shop)
    told = json.loads(done.stdout)
    assert told["review"]["decision"] == "Stopped" and told["review"]["choices"] == ["E"]
    assert told["review"]["findings"] == [
        {"id": "F1", "severity": "P1", "where": "api/orders.py:5", "quote": "found", "judge": "valid",
         "text": "It commits before it charges."}
    ]  # fmt: skip
    assert told["exit"] == 0 and "data" not in told and done.stderr == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--max-rounds", "9"], "rounds must be 1 to 5, got 9"),
        (["--backend-timeout-seconds", "0"], "--backend-timeout-seconds must be"),
        (["--budget-minutes", "-1"], "--budget-minutes must be 1 to"),
        (["--target", "proposal", "--scope", "uncommitted"], "--target is proposal"),
        (["--base", "main", "--uncommitted"], "two scopes"),
        (["--scope", "commit:nowhere"], "nowhere"),
        (["--intensity", "wild"], "intensity"),
    ],
)
def test_a_wrong_flag_says_so_and_nothing_is_called(shop: Path, words: list[str], message: str) -> None:  # J2, J3
    done = voices.cli("cross", *flags(shop, FOUND), *words, cwd=shop)
    assert done.returncode == 2 and message in done.stderr, done.stderr
    assert not (voices.sessions.home()).exists() or not voices.sessions.sessions(voices.sessions.home())


def test_the_text_may_come_by_argument_file_or_standard_input(shop: Path) -> None:  # J1, J5
    said = {"r1/critique@critic": crosses.proposal()}
    (shop / "plan.md").write_text(crosses.PROPOSAL)
    for words in ([crosses.PROPOSAL], ["--artifact-file", "plan.md"]):
        done = voices.cli("cross", *words, *flags(shop, said), cwd=shop)
        assert "Target: proposal" in done.stdout, done.stderr
    for words in (["-"], []):
        piped = forkserver.run(
            [sys.executable, "-m", "rebut", "cross", *words, *flags(shop, said)],
            input=crosses.PROPOSAL, capture_output=True, text=True, cwd=shop, timeout=60,
        )  # fmt: skip
        assert "Target: proposal" in piped.stdout, piped.stderr


def test_a_dry_run_counts_the_target_per_provider_and_leaves_nothing_behind(shop: Path) -> None:  # C16
    done = voices.cli("cross", "--dry-run", "--json", *flags(shop, FOUND), cwd=shop)
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert shown["files"] == ["api/orders.py"]
    row = shown["providers"]["scripted"]
    assert row["seats"] == ["critic", "judge"] and row["bytes"] > len(crosses.AFTER)
    assert "human" not in shown["providers"], "the author is not asked"
    assert not (shop / ".git/review-loop").exists()


def test_a_branch_is_reviewed_against_where_it_left(shop: Path) -> None:  # J2
    git(shop, "checkout", "-q", "-b", "topic")
    commit(shop, "two")
    said = FOUND | {"r1/judgement@judge": crosses.judgement()}
    done = voices.cli("cross", "--base", "main", *flags(shop, said), cwd=shop)
    assert done.returncode == 0 and "F1 api/orders.py:5" in done.stdout, done.stderr


def test_what_several_parts_of_a_critique_found_is_counted_once(shop: Path) -> None:  # J7, C14
    said = {
        "r1/critique.code@critic": crosses.critique(crosses.raised()),
        "r1/critique.text@critic": crosses.proposal(crosses.raised("Why?", "", severity="P3", evidence=[])),
        "r1/judgement@judge": crosses.judgement("E", {"F1": "valid P1", "F2": "valid P3"}),
    }
    (shop.parent / "why.md").write_text("# Design\n\nCommit first.\n")
    words = ("--uncommitted", "--target", "mixed", "--artifact-file", str(shop.parent / "why.md"))
    done = voices.cli("cross", *words, *flags(shop, said), cwd=shop)
    assert done.returncode == 0, done.stderr
    assert "critique.code" in done.stderr and "critique.text" in done.stderr
    assert done.stderr.count("2 findings: 1 P1, 1 P3") == 1 and "together" in done.stderr
