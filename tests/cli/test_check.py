"""`rebut check`: the citations in any text."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from io import BytesIO, TextIOWrapper
from pathlib import Path

import forkserver
import pytest

from rebut.cli.app import enter
from rebut.cli.commands import check
from rebut.setup import checked_text

PLAN = """# Plan

The time-out is in `src/session.py:2` "ttl = 3600", and src/session.py:1 "ttl = 3600" too.
See docs/scaling.md, and src/session.py:2 "ttl = 9". The file src/session.py is short.
Benchmarks: https://example.invalid/results
"""


def test_every_citation_of_a_text_is_looked_up(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:  # C11
    (workspace / "PLAN.md").write_text(PLAN)
    assert enter(["check", "PLAN.md"]) == 1, "something is absent"
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "  6 citations in PLAN.md: 1 found, 1 moved, 1 located, 2 absent, 1 uncheckable"
    assert "now at src/session.py:2" in out
    assert "line 2 is: ttl = 3600" in out
    assert "docs/scaling.md" in out
    assert "example.invalid" not in out, "only what is absent or moved, unless --all is given"
    assert enter(["check", "PLAN.md", "--all"]) == 1
    assert "example.invalid" in capsys.readouterr().out


def test_a_row_that_is_too_wide_and_has_no_note_is_followed_by_the_next(
    workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "src" / "session.py").write_text(f"words = '{'so many ' * 6}'\nx = 1\n")
    (workspace / "PLAN.md").write_text(
        f'`src/session.py:1` "words = \'{"so many " * 6}\'"\n\n`src/session.py:2` "x = 1"\n'
    )
    monkeypatch.setenv("COLUMNS", "60")
    assert enter(["check", "PLAN.md", "--all"]) == 0
    assert all(line.strip() for line in capsys.readouterr().out.splitlines())


def test_at_a_terminal_it_says_that_it_reads_from_there(workspace: Path) -> None:
    terminal, own = os.openpty()
    try:
        os.write(terminal, b"See `src/session.py:2`.\n\x04")
        command = [sys.executable, "-m", "rebut", "check", "-"]
        done = subprocess.run(command, stdin=own, capture_output=True, text=True, timeout=60)
    finally:
        os.close(terminal)
        os.close(own)
    assert (done.returncode, done.stdout) == (0, "  1 citation in standard input: 1 located\n")
    assert done.stderr == "  reading from this terminal; end with Ctrl-D on a line of its own\n"


def test_it_reads_standard_input_and_speaks_json(workspace: Path) -> None:
    done = forkserver.run(
        [sys.executable, "-m", "rebut", "check", "-", "--json"], input=PLAN, capture_output=True, text=True
    )
    shown = json.loads(done.stdout)
    assert done.returncode == shown["exit"] == 1
    assert shown["counts"] == {"found": 1, "moved": 1, "located": 1, "absent": 2, "uncheckable": 1}


def test_a_text_whose_citations_all_stand_gives_code_0(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (workspace / "PLAN.md").write_text('`src/session.py:2` "ttl = 3600"\n')
    assert enter(["check", "PLAN.md"]) == 0
    (workspace / "PLAN.md").write_text("Nothing to see.\n")
    assert enter(["check", "PLAN.md"]) == 0
    out = capsys.readouterr().out
    example = '  A citation looks like this: src/app.py:12 "the words on that line"\n'
    assert out.endswith(f"  0 citations in PLAN.md\n{example}")
    assert out.count(example) == 1, "only for a text without a citation"
    assert enter(["check", "PLAN.md", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["citations"] == []


def test_the_documented_ways_to_write_a_citation_are_read(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # C11: the block in docs/usage.md, whose words are in this workspace
    page = (Path(__file__).parents[2] / "docs/usage.md").read_text().split("### How a citation is written")[1]
    block = page.split("````")[1].removeprefix("markdown\n")
    (workspace / "PLAN.md").write_text(block)
    assert enter(["check", "PLAN.md", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["counts"] == {"found": len(shown["citations"])} and len(shown["citations"]) == 9
    (workspace / "PLAN.md").write_text(block.replace("ttl = 3600", "ttl = 9 + 9"))
    assert enter(["check", "PLAN.md", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["counts"] == {"absent": 9}, "every quote is looked at"


def test_paths_that_lead_out_of_the_workspace_are_absent_and_not_read(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # C11
    (tmp_path / "secret.txt").write_text("the launch code is 0000\n")
    (workspace / "link.txt").symlink_to(tmp_path / "secret.txt")
    text = '`../secret.txt:1` "the launch code is 0000", `link.txt:1` "the launch code is 0000"'
    (workspace / "PLAN.md").write_text(text + f', `{tmp_path}/secret.txt:1` "the launch code is 0000"\n')
    assert enter(["check", "PLAN.md", "--json"]) == 1
    shown = json.loads(capsys.readouterr().out)
    assert [c["mark"] for c in shown["citations"]] == ["absent"] * 3
    assert all("0000" not in c["note"] for c in shown["citations"])


def test_it_works_outside_of_git_and_from_a_subfolder(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace / "src")
    (workspace / "src/PLAN.md").write_text('`src/session.py:2` "ttl = 3600" and `session.py:2` "ttl = 3600"\n')
    assert enter(["check", "PLAN.md"]) == 0
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "a.py").write_text("x = 1\n")
    (plain / "PLAN.md").write_text('`a.py:1` "x = 1" and `b.py:1` "y = 2"\n')
    monkeypatch.chdir(plain)
    capsys.readouterr()
    assert enter(["check", "PLAN.md"]) == 1
    assert "1 found, 1 absent" in capsys.readouterr().out


def test_odd_input_is_taken_calmly(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (workspace / "odd.md").write_bytes(b"\xff\xfe`src/session.py:2`\x1b[31m\n" + b"a/b " * 50_000)
    assert enter(["check", "odd.md"]) in (0, 1)
    assert "\x1b" not in capsys.readouterr().out
    assert enter(["check", "src"]) == 2
    assert "src is a folder" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["-", "long.md"])
def test_half_a_text_is_never_looked_up_as_if_it_were_the_whole(
    workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    # what is cut off might cite a file that is not there
    monkeypatch.setattr(checked_text, "LARGEST", 100)
    text = b"all is well\n" * 20 + b"src/nowhere.py:3\n"
    (workspace / "long.md").write_bytes(text)
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(text)))
    assert enter(["check", name]) == 2
    assert "is larger than the limit of 100 bytes" in capsys.readouterr().err


def test_the_code_tells_what_was_found_also_when_nobody_reads_on(workspace: Path) -> None:
    (workspace / "PLAN.md").write_text("src/nowhere.py:3\n" * 20)
    for more in ([], ["--json"]):
        words = [sys.executable, "-m", "rebut", "check", "PLAN.md", *more]
        with forkserver.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=workspace) as done:
            assert done.stdout is not None and done.stderr is not None
            done.stdout.close()
            assert done.stderr.read() == b""
        assert done.returncode == 1, "a pipeline that fails by its parts must fail here"


def test_a_slow_check_says_what_it_does_at_a_terminal_only(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def slow(*given: object) -> list[object]:
        threading.Event().wait(0.2)
        return []

    (workspace / "PLAN.md").write_text(PLAN)
    monkeypatch.setattr(check, "SLOW", 0.02)
    monkeypatch.setattr("rebut.setup.checked_text.look_up", slow)
    for terminal, line in ((True, "check PLAN.md"), (False, "check PLAN.md"), (True, "check - --json")):
        monkeypatch.setattr(sys.stderr, "isatty", lambda terminal=terminal: terminal)
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(PLAN.encode())))
        assert enter(line.split()) == 0
        expected = "  checking the citations in PLAN.md …\n" if terminal and "--json" not in line else ""
        assert capsys.readouterr().err == expected
    monkeypatch.setattr(check, "SLOW", 5.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert enter(["check", "PLAN.md"]) == 0
    assert capsys.readouterr().err == "", "a quick one says nothing"


@pytest.mark.parametrize(
    ("cited", "to"),
    [
        ("store.py:1", "store.py:2"),
        ("./store.py:1", "./store.py:2"),
        ("../session.py:1", "../session.py:2"),
        ("src/basket/store.py:1", "src/basket/store.py:2"),
    ],
)
@pytest.mark.parametrize("more", [[], ["--root", "src/basket"]])
def test_the_new_place_starts_from_the_folder_that_the_text_uses(
    workspace: Path, capsys: pytest.CaptureFixture[str], cited: str, to: str, more: list[str]
) -> None:  # C11
    basket = workspace / "src/basket"
    basket.mkdir()
    (basket / "store.py").write_text("import json\nttl = 3600\n")
    plan = basket / "PLAN.md"
    plan.write_text(f'See `{cited}` "ttl = 3600".\n')
    assert enter(["check", str(plan), *more]) == 0
    assert f"now at {to}\n" in capsys.readouterr().out
    plan.write_text(plan.read_text().replace(cited, to))
    assert enter(["check", str(plan), *more]) == 0
    assert "1 citation" in (out := capsys.readouterr().out) and ": 1 found" in out, "it can be pasted into the text"


def test_the_new_place_in_a_text_without_a_folder_starts_from_the_root(
    workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:  # C11
    (workspace / "src/basket").mkdir()
    (workspace / "src/basket/store.py").write_text("import json\nttl = 3600\n")
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(b'See `basket/store.py:1` "ttl = 3600".\n')))
    assert enter(["check", "-", "--root", "src"]) == 0
    assert "now at basket/store.py:2\n" in capsys.readouterr().out
