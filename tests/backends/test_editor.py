"""A person may write a long answer in an editor of their own; one that fails costs them nothing but that try."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from test_human import Desk

from rebut.backends.human.form import Human
from rebut.backends.human.terminal import LINE, Editor
from rebut.core.json_value import Json
from rebut.core.process_identity import is_zombie, started
from tests import duels, fake_tool
from tests.terminals import at_a_terminal

WORDS: dict[str, Json] = {"properties": {"why": {"type": "string"}}, "required": ["why"]}


def script(folder: Path, name: str, body: str) -> str:
    """An editor: a shell script that gets the file as its last argument, in `$f`."""
    file = folder / name
    file.write_text(f'#!/bin/sh\nfor f; do :; done\ncp "$f" "{folder}/seen"\n{body}\n')
    file.chmod(0o755)
    return str(file)


class Writer(Desk):
    """A scripted person with an editor."""

    def __init__(self, env: dict[str, str], *lines: str) -> None:
        super().__init__(*lines)
        self.human = Human(read=self.read, write=self.write, is_terminal=lambda: True, editor=Editor(env))


def put(text: str) -> str:
    """Write above what is there."""
    return f'printf "{text}\\n" | cat - "$f" > "$f.new" && mv "$f.new" "$f"'


def test_what_is_written_above_the_line_is_the_answer_and_the_question_stands_below(tmp_path: Path) -> None:  # C1
    env = {"EDITOR": script(tmp_path, "ed", put(r"# First\n\nSecond \\\\"))}
    setup = Writer(env, ":e")
    assert setup.value(WORDS) == {"why": "# First\n\nSecond \\"}, "a heading is no comment, a backslash no continuation"
    above, _, below = (tmp_path / "seen").read_text().partition(LINE)
    assert above.strip() == "" and "Who is right?" in below
    assert ":e" in setup.screen and "4 words from your editor" in setup.screen


def test_visual_goes_before_editor_and_may_have_arguments(tmp_path: Path) -> None:  # C1
    first = script(tmp_path, "a b", f'echo "$1" > "{tmp_path}/arg"; {put("mine")}')
    setup = Writer({"VISUAL": f"'{first}' --wait", "EDITOR": "/no/such"}, ":e")
    assert setup.value(WORDS) == {"why": "mine"}
    assert (tmp_path / "arg").read_text() == "--wait\n"


def test_the_editor_draws_where_the_question_is_and_not_into_the_results(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:  # C1: standard output may be a pipe
    setup = Writer({"EDITOR": script(tmp_path, "ed", f"echo DRAWN; {put('mine')}")}, ":e")
    assert setup.value(WORDS) == {"why": "mine"}
    seen = capfd.readouterr()
    assert "DRAWN" in seen.err and "DRAWN" not in seen.out


@pytest.mark.parametrize(
    ("editor", "said"),
    [
        ("", "neither VISUAL nor EDITOR"),
        ("'half a quote", "neither VISUAL nor EDITOR"),
        ("/no/such/editor", "cannot be started"),
        ("true", "nothing was written"),
        ("false", "failed (exit 1)"),
        ("rm", "nothing was written"),
    ],
)
def test_an_editor_that_gives_nothing_is_said_and_the_person_types_on(editor: str, said: str) -> None:  # C1, C5
    setup = Writer({"EDITOR": editor}, ":e", "typed after all")
    assert setup.value(WORDS) == {"why": "typed after all"}
    assert said in setup.screen


def test_what_was_written_before_a_bad_ending_is_not_taken_and_not_lost(tmp_path: Path) -> None:  # C5
    setup = Writer({"EDITOR": script(tmp_path, "ed", f"{put('half a thought')}; exit 3")}, ":e", "whole")
    assert setup.value(WORDS) == {"why": "whole"}
    (kept,) = re.findall(r"what was written is in (\S+)\.\n", setup.screen)
    assert Path(kept).read_text().startswith("half a thought")
    assert Path(kept).parent.stat().st_mode & 0o077 == 0, "nobody else reads it"
    shutil.rmtree(Path(kept).parent)


def test_an_answer_that_does_not_fit_is_there_again_to_mend(tmp_path: Path) -> None:  # C1
    env = {"EDITOR": script(tmp_path, "ed", put("more"))}
    schema: dict[str, Json] = {"properties": {"why": {"type": "string", "minLength": 9}}, "required": ["why"]}
    setup = Writer(env, ":e", ":e")
    assert setup.value(schema) == {"why": "more\nmore"}
    assert "at least 9" in setup.screen


def test_lines_typed_so_far_go_along_into_the_editor(tmp_path: Path) -> None:  # C1
    setup = Writer({"EDITOR": script(tmp_path, "ed", put("zero"))}, "one", "two", ":e")
    assert setup.answer(None).text == "zero\none\ntwo"


def test_the_question_is_left_out_though_the_line_was_deleted(tmp_path: Path) -> None:  # C1
    body = f'{put("mine")}; grep -v -- "------" "$f" > "$f.new"; mv "$f.new" "$f"'
    assert Writer({"EDITOR": script(tmp_path, "ed", body)}, ":e").value(WORDS) == {"why": "mine"}


# through the command, at a terminal of its own


def judged_by_a_person(
    workspace: Path, editor: str, proposer: str = "", **env: str
) -> tuple[list[str], dict[str, str]]:
    seats = duels.seats(workspace.parent, rounds=1)
    words = ["duel", "Redis?", "--proposer", proposer or seats["proposer"], "--challenger", seats["challenger"]]
    mine = {**os.environ, "EDITOR": editor, "TERM": "dumb", "TMPDIR": str(workspace.parent), **env}
    return [*words, "--judge", "human", "--rounds", "1"], mine


def judges(expect: Callable[[str], None], type_: Callable[[str], None]) -> None:
    expect("judge: your turn")
    to_the_texts(expect, type_)
    type_(f"{duels.verdict()['recommendation']}\r")
    expect("Why (Enter")
    type_(":e\r")
    expect("3 words from your editor")


def to_the_texts(expect: Callable[[str], None], type_: Callable[[str], None]) -> None:
    """The winner and the three ratings, by one key each."""
    expect("P/C > ")
    type_("c")
    for _ in range(3):
        expect("h/m/l > ")
        type_("h")
    expect("What to do now")


def test_a_judge_at_the_terminal_writes_the_reasons_in_an_editor(workspace: Path) -> None:  # C1, D5
    words, env = judged_by_a_person(workspace, script(workspace.parent, "ed", put("D1 decides it.")))
    code, screen = at_a_terminal(words, env, workspace, judges)
    assert code == 0, screen
    assert "VERDICT  challenger" in screen and "D1 decides it." in screen


def beside_a_tool(workspace: Path) -> dict[str, str]:
    """The proposer is a command-line tool, so that rebut ends what tools leave running."""
    fakes = fake_tool.install(workspace.parent / "bin", "claude")
    plan = json.dumps({"answers": duels.by_form()})
    return {"proposer": "claude", "PATH": f"{fakes}:{os.environ['PATH']}", "PROGRAMDATA": plan}


def test_what_the_editor_leaves_running_is_the_users_and_goes_on(workspace: Path) -> None:  # C1, C9
    note = workspace.parent / "window"
    window = f"nohup sleep 60 < /dev/null > /dev/null 2>&1 & echo $! > {note}"  # as an editor with windows does
    editor = script(workspace.parent, "ed", f"{window}; {put('D1 decides it.')}")
    words, env = judged_by_a_person(workspace, editor, **beside_a_tool(workspace))
    code, screen = at_a_terminal(words, env, workspace, judges)
    assert code == 0, screen
    left = int(note.read_text())
    assert started(left) and not is_zombie(left), "rebut has killed it"
    os.kill(left, signal.SIGKILL)


def test_an_editor_that_is_ended_has_time_to_save(workspace: Path) -> None:  # C1, C14
    saved = workspace.parent / "saved"
    body = f"trap '' HUP; trap 'sleep 0.5; echo yes > {saved}; exit' TERM; echo $PPID > {saved}.by; echo EDITING\n"
    body += "for n in $(seq 100); do sleep 0.1; done"
    words, env = judged_by_a_person(workspace, script(workspace.parent, "ed", body), **beside_a_tool(workspace))

    def talk(expect: Callable[[str], None], type_: Callable[[str], None]) -> None:
        to_the_texts(expect, type_)
        type_(":e\r")
        expect("EDITING")
        os.kill(int(Path(f"{saved}.by").read_text()), signal.SIGTERM)

    code, screen = at_a_terminal(words, env, workspace, talk)
    assert code == 130, screen
    for _ in range(100):
        if saved.exists():
            return
        time.sleep(0.05)
    raise AssertionError("the editor was killed before it could save")


def test_control_c_in_the_editor_keeps_the_draft_and_the_debate(workspace: Path) -> None:  # C1, C14
    editor = script(workspace.parent, "ed", f"{put('half a thought')}; echo EDITING; sleep 60")
    words, env = judged_by_a_person(workspace, editor)

    def talk(expect: Callable[[str], None], type_: Callable[[str], None]) -> None:
        to_the_texts(expect, type_)
        type_(":e\r")
        expect("EDITING")
        type_("\x03")

    code, screen = at_a_terminal(words, env, workspace, talk)
    assert code == 130, screen
    (kept,) = re.findall(r"what was written is in (\S+)", screen)
    assert Path(kept).read_text().startswith("half a thought")
    assert "Continue with   rebut resume" in screen
    listed = subprocess.run([sys.executable, "-m", "rebut", "list", "--json"], env=env, cwd=workspace, stdout=-1)
    (one,) = json.loads(listed.stdout)
    assert one["status"] not in ("done", "closed"), one
