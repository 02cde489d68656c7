"""Manners at the terminal: completion, plain output, no colour, examples in every help, and results that fit."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import duels
import pytest
from click.shell_completion import BashComplete
from console import REBUT, at_a_terminal, piped
from test_structure import HEAVY, probe

from rebut.cli import COMPLETE
from rebut.cli.app import app, enter
from rebut.cli.brief_help import MAIN_OPTIONS
from rebut.cli.examples import EXAMPLES
from rebut.cli.index import COMMANDS, FIRST, FORMER
from rebut.cli.json_result import LARGEST, brief
from rebut.domain.ledger import Claim, Evidence, Ledger, Point
from rebut.domain.outcome import Outcome, Seated, Verdict
from rebut.record import sessions
from rebut.setup import config


def command(name: str) -> click.Command:
    found: click.Command = app.get_command(click.Context(app), name)  # type: ignore[attr-defined]
    return found


# completion


def completed(line: str, env: dict[str, str] | None = None) -> set[str]:
    """What bash offers at the end of a line, by the script that rebut prints."""
    words = line.split(" ")
    quoted = " ".join(shlex.quote(word) for word in words)
    script = f"""
        source <({REBUT} config completion bash)
        compopt() {{ echo "$@" >&2; }}
        COMP_WORDS=({quoted}) COMP_CWORD={len(words) - 1} COMPREPLY=()
        _rebut_completion {REBUT}
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-eu", "-c", script], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_bash_completes_commands_options_specs_words_and_sessions(workspace: Path, tmp_path: Path) -> None:
    assert {"duel", "doctor", "demo"} <= completed("rebut d") and completed("rebut due") == {"duel"}
    assert {"--proposer", "--plain", "--repeat", "--help"} <= completed("rebut duel --")
    assert completed("rebut duel x --judge hu") == {"human"}
    assert {"claude", "codex", "openai", "local", "caller"} <= completed("rebut duel x --proposer ")
    assert completed("rebut export last --format ") == {
        "md",
        "json",
        "adr",
        "html",
        "sarif",
        "github",
        "comment",
        "tests",
    }
    assert completed("rebut config ") == {"path", "show", "completion"}
    assert completed("rebut duel x --context s") == set(), "bash itself goes on with files"
    seats = duels.seats(tmp_path)
    assert enter(["duel", "x?", *(w for role, spec in seats.items() for w in (f"--{role}", spec)), "--quiet"]) == 0
    [one] = sessions.sessions(sessions.home())
    assert completed("rebut show ") == {"last", one.id}


def offered(*words: str) -> set[str]:
    """What click offers for the last word."""
    found = BashComplete(app, {}, "rebut", COMPLETE).get_completions(list(words[:-1]), words[-1])
    return {item.value for item in found}


def test_every_command_and_option_is_offered() -> None:
    assert offered("") == set(COMMANDS)
    for name in COMMANDS:
        options = (opt for param in command(name).params for opt in (*param.opts, *param.secondary_opts))
        flags = {opt for opt in options if opt.startswith("--")}
        assert flags | {"--help"} == offered(name, "--")


def test_specs_levels_and_paths_are_offered_where_a_command_takes_them(tmp_path: Path) -> None:
    shipped = config.load_config(workspace=tmp_path, env={"XDG_CONFIG_HOME": str(tmp_path)})
    providers = {*config.BUILT_IN, *shipped.tools, *(p.name for p in shipped.providers)}
    assert (
        offered("duel", "x?", "--proposer", "")
        == offered("doctor", "")
        == offered("ask", "x?", "--with", "")
        == providers
    )
    assert offered("duel", "x?", "--context", "src", "no") == {"no"}, "the shell goes on with the names of files"
    assert {"--critic", "--context"} <= offered("cross", "--context", "src", "--c")
    assert offered("what is this", "--") == {"--help"}, "words that are no command are no error while one types"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_printed_as_text_and_as_json(shell: str) -> None:
    script = piped("config", "completion", shell).stdout
    assert COMPLETE in script
    assert json.loads(piped("config", "completion", shell, "--json").stdout)["script"] == script


@pytest.mark.parametrize("line", ["rebut du", "rebut cross --a", "rebut duel x --proposer c", "rebut fork --"])
def test_a_press_of_tab_loads_no_more_than_click(line: str) -> None:
    words = {"_REBUT_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    found = probe(f"os.environ.update({words!r})\nsys.argv = ['rebut']\nfrom rebut.cli import main\nmain()")
    assert set(HEAVY) & set(found["loaded"]) == {"click"} and found["opened"] == []


def test_former_spellings_of_commands_still_work(capsys: pytest.CaptureFixture[str]) -> None:
    def says(*words: str) -> tuple[int, str]:
        code = enter(list(words))
        return code, "".join(capsys.readouterr())

    assert says("completion", "bash") == says("config", "completion", "bash")
    assert says("providers", "check", "none.toml") == says("models", "check", "none.toml")
    assert says("comment", "none.sarif") == says("export", "none.sarif", "--format", "comment")
    for name, words in FORMER.items():
        assert says("help", name) == says(name, "--help") == says(words[0], "--help")


def test_an_unknown_shell_is_an_error() -> None:  # C17
    done = piped("config", "completion", "csh")
    assert done.returncode == 2 and "takes bash, zsh or fish, got 'csh'" in done.stderr


# help


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_has_examples_and_they_are_what_the_command_takes(name: str) -> None:
    shown = piped(name, "--help-all").stdout
    assert "Examples:" in shown and "Exit codes" in shown and "--plain" in shown
    assert EXAMPLES.get(name), f"{name} has no example in cli/examples.py"
    assert max(map(len, shown.splitlines())) <= 80
    for line, what in EXAMPLES[name]:
        assert what in shown
        words = shlex.split(re.split(r" <| >", line)[0])
        assert words[0] == name
        # parsed and not run: an option that is gone, or a word too many, is an error here
        with command(name).make_context(name, words[1:], parent=click.Context(app)):
            pass


# --plain and NO_COLOR


def test_plain_has_no_live_view_and_one_fact_a_line_on_a_terminal(tmp_path: Path) -> None:  # C14
    seen = at_a_terminal("demo", "--fast", "--plain", "--folder", str(tmp_path / "s"), columns=60)
    assert seen.code == 0 and "\x1b" not in seen.raw
    lines = seen.text.split("\n")
    for expected in (
        "VERDICT: challenger",
        "round 1",
        "proposer: opening, asked",
        "challenger: challenge, asked again (send-back)",
        "absent: 1, C3 cites infra/redis.tf:6: line 6 is: num_cache_nodes = 1",
        "walked back: 0",
    ):
        assert expected in lines, seen.text
    assert not [line for line in lines if "  " in line or line.startswith(" ")]
    assert any(len(line) > 100 for line in lines), "nothing is wrapped: a line is a fact"


def test_the_environment_asks_for_plain_once_and_for_all() -> None:
    done = piped("models", env={"REBUT_PLAIN": "1"})
    assert "claude: not installed, to do: Install it: npm install -g @anthropic-ai/claude-code" in done.stdout
    healths = piped("doctor", "caller", "--offline", "--plain")
    assert re.search(r"^provider caller, found caller", healths.stdout, re.M), healths.stdout


def test_plain_prints_code_as_it_is(tmp_path: Path) -> None:  # C14
    (tmp_path / "shop.py").write_text(
        "def total(orders):\n    if orders is 'a  ·  b':\n        return 0\n    return 1\n"
    )
    done = piped("review", "shop.py", "--with", "lint,rules", "--plain", cwd=tmp_path)
    lines = done.stdout.splitlines()
    for expected in (
        "  1 | def total(orders):",
        "> 2 |     if orders is 'a  ·  b':",
        "  3 |         return 0",
        "fix:",
        "-     if orders is 'a  ·  b':",
        "+     if orders == 'a  ·  b':",
    ):
        assert expected in lines, done.stdout
    assert " , " not in done.stdout
    shown = piped("show", "last", "--all", "--plain", cwd=tmp_path).stdout.splitlines()
    assert "> 2 |     if orders is 'a  ·  b':" in shown


def test_marks_have_stand_ins_where_there_is_only_ascii(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("import os\n")
    done = piped("review", "shop.py", "--with", "lint,rules", cwd=tmp_path, env={"PYTHONIOENCODING": "ascii"})
    assert "1 minor - lint reviewed" in done.stdout and "?" not in done.stdout


def test_a_document_is_exported_as_it_is_even_plainly(workspace: Path, tmp_path: Path) -> None:
    seats = duels.seats(tmp_path)
    assert enter(["duel", "x?", *(w for role, spec in seats.items() for w in (f"--{role}", spec)), "--quiet"]) == 0
    assert piped("export", "last", "--plain").stdout == piped("export", "last").stdout


@pytest.mark.parametrize("words", [[], ["demo", "--fast"]])
def test_a_narrow_terminal_breaks_neither_a_command_nor_a_name(tmp_path: Path, words: list[str]) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "PLAN.md").write_text("# Plan\n")
    more = ["--folder", str(tmp_path / "s")] if words else []
    seen = at_a_terminal(*words, *more, cwd=tmp_path, columns=40)
    lines = [line for line in seen.text.split("\n") if str(tmp_path) not in line]
    assert not [line for line in lines if len(line) > 40], seen.text
    if not words:
        commands = ("rebut review", "rebut plan PLAN.md", "rebut init", 'rebut "Redis or Postgres?"')
        assert all(any(line.endswith(command) for line in lines) for command in commands), seen.text


@pytest.mark.parametrize(("value", "bold"), [("1", False), ("", True)])
def test_no_color_is_kept_to_unless_it_is_empty(tmp_path: Path, value: str, bold: bool) -> None:
    seen = at_a_terminal("demo", "--fast", "--folder", str(tmp_path / "s"), env={"NO_COLOR": value})
    assert ("\x1b[1m" in seen.raw) is bold
    assert not re.search(r"\x1b\[[34]\d", seen.raw), "no colour at all"


# results for machines


def huge(**changes: Any) -> Outcome:
    cited = (Evidence("src/a.py:1", "x", "absent"),)
    claims = [Claim("claim " * 100, by="proposer", round=1) for _ in range(80)]
    points = [
        Point(f"point {n} 北京 " * 80, by="challenger", round=1, severity=f"P{n % 3 + 1}", evidence=cited)
        for n in range(200)
    ]
    values: dict[str, Any] = {
        "kind": "verdict",
        "heading": "VERDICT",
        "decision": "Do it. " * 5000,
        "verdict": Verdict("challenger", "Because. " * 5000, "Do it. " * 5000, "m"),
        "final": "long " * 50_000,
        "notes": tuple(f"note {n} " * 60 for n in range(60)),
        "ledger": Ledger("D").add([*claims, *points]),
        "seats": tuple(Seated(f"author.{n}", f"scripted:{'deep/' * 60}x.json", why="it " * 400) for n in range(40)),
        "session": "k7m2q9xd",
    }
    return Outcome(**{**values, **changes})


def test_a_result_is_at_most_8_kb_whatever_was_said_and_says_where_the_rest_is(
    capsys: pytest.CaptureFixture[str],
) -> None:  # C14
    from rebut.cli.output import say_json

    shown = brief(huge())
    say_json(shown)
    printed = capsys.readouterr().out
    assert len(printed.encode()) <= LARGEST
    assert json.loads(printed)["all_of_it"] == "rebut show k7m2q9xd --json"
    assert any(name.startswith("points (") for name in shown["shortened"])  # type: ignore[attr-defined]
    assert shown["verdict"]["winner"] == "challenger"  # type: ignore[index]
    grave = {p["severity"] for p in shown["ledger"]["points"]}  # type: ignore[index]
    assert grave == {"P1"}, "the gravest stay"


def test_a_result_that_fits_is_not_cut_and_one_that_can_go_on_says_how() -> None:
    small = Outcome("verdict", "VERDICT", "Do it.", session="k7m2q9xd")
    assert "shortened" not in brief(small) and "resume" not in brief(small)
    assert brief(small.filled(complete=False))["resume"] == "rebut resume k7m2q9xd"


def test_a_long_debate_prints_at_most_8_kb(workspace: Path, tmp_path: Path) -> None:  # C14
    flaws = [duels.flaw(f"Flaw {n}: " + "it breaks. " * 60, n + 1) for n in range(30)]
    seats = duels.seats(tmp_path, {"r1/challenge@challenger": duels.challenge(flaws=flaws)}, rounds=1)
    words = [w for role, spec in seats.items() for w in (f"--{role}", spec)]
    done = piped("duel", "x?", *words, "--rounds", "1", "--json", cwd=workspace)
    assert done.returncode in (0, 3), done.stdout
    assert 2000 < len(done.stdout.encode()) <= LARGEST and json.loads(done.stdout)["shortened"]
    whole = piped("show", "last", "--json", cwd=workspace).stdout
    assert flaws[29]["text"] in whole


def test_a_narrow_terminal_breaks_no_word(tmp_path: Path) -> None:  # C14
    wrong = ("duel", "x?", "--proposer", "nobody", "--challenger", "human")
    for words in (("models",), wrong):
        shown = at_a_terminal(*words, columns=50, cwd=tmp_path).text
        assert max(len(row) for row in shown.splitlines()) <= 50, shown
    whole = piped(*wrong, cwd=tmp_path)
    assert "Known: anthropic, caller, claude, codex, copilot, gemini, gguf" in whole.stderr, "a pipe may be searched"


def test_ctrl_c_while_modules_are_loaded_prints_one_line() -> None:  # C14 C17
    code = """
import sys
class Interrupt:
    def find_spec(self, name, *rest):
        if name == 'rebut.cli.app':
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
sys.argv = ['rebut', 'list']
from rebut.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "rebut: interrupted\n")


def test_a_clamped_limit_is_written_in_digits(tmp_path: Path) -> None:  # H14
    config = tmp_path / "config.toml"
    config.write_text("[limits]\ntokens = 3\n")
    done = piped("config", env={"REBUT_CONFIG": str(config)}, cwd=tmp_path)
    said = "limits.tokens = 3 is outside 1000 to 1000000000; 1000 is used"
    assert said in " ".join((done.stdout + done.stderr).split())


def test_the_dry_run_and_the_marks_say_why_a_file_is_hidden(tmp_path: Path) -> None:  # C16
    config, work = tmp_path / "config.toml", tmp_path / "work"
    (work / "src").mkdir(parents=True)
    config.write_text('[egress]\nnever = ["*.sql"]\n')
    (work / "src/a.sql").write_text("select 1;\n")
    (work / "src/.env").write_text("A=1\n")
    (work / "src/b.py").write_text("token = 'ghp_0123456789abcdefghijABCDEFGHIJ012345'\n")
    env = {"REBUT_CONFIG": str(config)}
    done = piped("check", "-", "--json", env=env, cwd=work, feed="See src/a.sql:1 and src/.env:1.\n")
    words = " ".join(done.stdout.split())
    assert "a glob hides it" in words and "may hold secrets" in words
    seats = ["--proposer=human", "--challenger=caller", "--judge=scripted:x.json"]
    (work / "x.json").write_text('{"answers": {}}')
    dry = piped("duel", "x", *seats, "--context", "src", "--dry-run", "--json", env=env, cwd=work)
    told = json.loads(dry.stdout)
    assert any("src/a.sql" in line and "a glob hides it" in line for line in told["not_sent"]), told["not_sent"]
    removed = {name: row["secrets_removed"] for name, row in told["providers"].items()}
    assert removed == {"human": 1, "caller": 1, "scripted": 0}, "the judge gets no files"


def test_the_help_of_a_command_shows_the_ten_options_that_matter_and_says_where_the_others_are() -> None:
    for name in COMMANDS:
        own = [param for param in command(name).params if isinstance(param, click.Option)]
        assert (name in MAIN_OPTIONS) == (len(own) > 11), name  # `--plain` is in all of them
        if name not in MAIN_OPTIONS:
            continue
        main = MAIN_OPTIONS[name].split()
        assert len(set(main)) == len(main) <= 10 and set(main) <= {param.name for param in own}, name
        short, whole = piped(name, "--help").stdout, piped(name, "--help-all").stdout
        flags = {param.name: next(opt for opt in param.opts if opt.startswith("--")) for param in own}
        shown = set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", short.partition("\nOptions:")[2], re.M))
        assert shown == {*(flags[one] for one in main), "--help"}, name
        assert f"{len(own) - len(main)} more options: rebut {name} --help-all" in " ".join(short.split())
        listed = set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", whole.partition("\nOptions:")[2], re.M))
        assert listed == {*flags.values(), "--help"}, name
        assert max(map(len, short.splitlines())) <= 80


def test_the_first_page_of_help_has_a_dozen_commands_and_the_other_has_all() -> None:
    short, whole = piped("--help").stdout, piped("help", "all").stdout
    named = [name for names in FIRST.values() for name in names]
    assert len(named) == 12 and re.findall(r"^  (\w+) ", short, re.M) == named
    assert re.findall(r"^  (\w+) +[A-Z]", whole, re.M)[: len(COMMANDS)] == list(COMMANDS)
    assert len(COMMANDS) <= 35, "a new command goes below one that is there, such as `rebut batch work`"
    assert FORMER.keys().isdisjoint(COMMANDS), "a former spelling is in no list"
    assert "rebut help all" in short and "Exit codes:" in whole and len(short.splitlines()) <= 24
    assert piped("--help-all").stdout == whole
    assert piped("check", "--help-all").stdout == piped("check", "--help").stdout
    assert piped("help", "check").stdout == piped("check", "--help").stdout


@pytest.mark.parametrize("words", ["check größe.md --all", "check größe.md --json", "check nö.md", "check --help"])
def test_where_file_names_are_not_utf8_files_are_found_and_the_output_is_escaped(tmp_path: Path, words: str) -> None:
    (tmp_path / "größe.py").write_text("x = 1\n")
    (tmp_path / "größe.md").write_text("See `größe.py:1` and `größe.py:9`.\n")
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run([REBUT, *words.split()], cwd=tmp_path, env=env, capture_output=True)
    said = (done.stdout + done.stderr).decode("ascii")
    assert "Traceback" not in said
    if words.endswith("--json"):
        assert [one["mark"] for one in json.loads(done.stdout)["citations"]] == ["located", "absent"]
    elif words.endswith("--all"):
        assert "located     gr\\xf6\\xdfe.py:1" in said and done.returncode == 1
