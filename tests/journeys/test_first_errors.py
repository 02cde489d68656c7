"""What a newcomer meets: no key, a wrong key, an unknown model, no credit. Two lines: the cause, and what fixes it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from console import piped
from fake_tool import fails, install

from rebut.cli.app import enter
from rebut.record import sessions
from tests.loopback import Loopback

DUEL = ("duel", "Redis?", "--proposer", "openai:gpt-5", "--challenger", "openai:gpt-5-mini", "--rounds", "1")


def error_of(*words: str, env: Mapping[str, str], cwd: Path | None = None, code: int = 3) -> list[str]:
    """The lines of the error, which is the last thing on standard error."""
    done = piped(*words, env=env, cwd=cwd)
    assert done.returncode == code, done.stdout + done.stderr
    before, rebut, after = done.stderr.rpartition("rebut: ")
    assert rebut and "Traceback" not in before
    return after.rstrip("\n").split("\n")


def keyed(server: Loopback) -> dict[str, str]:
    return {"OPENAI_API_KEY": "sk-abcdefgh", "OPENAI_BASE_URL": server.url}


def test_without_a_key_the_variable_is_named(tmp_path: Path) -> None:
    why, helps = error_of(*DUEL, env={}, cwd=tmp_path, code=2)
    assert why == "openai needs a key: OPENAI_API_KEY is not set"
    assert "`export OPENAI_API_KEY=KEY`" in helps and "`rebut models`" in helps


def test_without_any_model_every_way_to_get_one_is_named(tmp_path: Path) -> None:
    done = piped("ask", "Redis?", "--dry-run", cwd=tmp_path)  # a rehearsal looks for models as at a terminal
    assert done.returncode == 2
    [why, helps] = done.stderr.splitlines()[-2:]
    assert why.startswith("rebut: `rebut ask` needs two models")
    for way in ("OPENAI_API_KEY", "claude", "Ollama", "`rebut models get qwen2.5-coder-1.5b`", "`rebut models`"):
        assert way in helps


def test_without_a_terminal_the_help_fits_what_is_here(tmp_path: Path) -> None:
    for env, helps in (
        ({}, "Set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY"),
        ({"OPENAI_API_KEY": "sk-abcdefgh"}, '[egress] allow = ["openai"]'),
    ):
        done = piped("ask", "Redis?", env=env, cwd=tmp_path)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 2 and helps in done.stderr


def two_providers(server: Loopback, folder: Path, key: str = "") -> dict[str, str]:
    """A config with the providers good and keyed, and the variables with which they are used."""
    tables = [f'[providers.{name}]\nwire = "openai"\nbase_url = "{server.url}"\n' for name in ("good", "keyed")]
    file = folder / "config.toml"
    file.write_text(f'{tables[0]}model = "alpha"\n{tables[1]}model = "beta"\napi_key_env = "MY_KEY"\n')
    return {"REBUT_CONFIG": str(file), "MY_KEY": key}


def test_a_provider_of_ones_own_is_not_called_without_its_key(tmp_path: Path) -> None:
    with Loopback() as server:
        env = two_providers(server, tmp_path)
        why, helps = error_of("ask", "q?", "--with", "good,keyed", env=env, cwd=tmp_path, code=2)
        assert why == "keyed needs a key: MY_KEY is not set" and "`export MY_KEY=KEY`" in helps
        listed = piped("models", "--all", env=env, cwd=tmp_path).stdout + piped("models", env=env, cwd=tmp_path).stdout
        assert not server.calls and "MY_KEY is not set" in listed


def test_a_key_that_is_refused_in_a_debate_is_named(tmp_path: Path) -> None:
    with Loopback(mode="status", status=401, message="No such key.") as server:
        env = two_providers(server, tmp_path, "abcdefgh")
        done = piped("ask", "q?", "--with", "good,keyed", env=env, cwd=tmp_path)
        assert (
            "with the key in MY_KEY, answered 401" in piped("show", "last", "--failures", env=env, cwd=tmp_path).stdout
        )
    assert done.returncode == 3 and "MY_KEY" in done.stderr and "api_key_env in [providers.good]" in done.stderr


def test_models_that_are_configured_but_not_listed_are_named(tmp_path: Path) -> None:
    with Loopback() as server:
        env = two_providers(server, tmp_path, "abcdefgh")
        for words in (["ask", "q?"], ["q?"]):
            why, helps = error_of(*words, env=env, cwd=tmp_path, code=2)
            assert why.endswith("needs two models, and none is named")
            assert "--with good:alpha,keyed:beta" in helps and '[egress] allow = ["good", "keyed"]' in helps
            assert "good and keyed can be used, but without a terminal" in helps
        why, helps = error_of("trial", "--arms", "lint,one", env=env, cwd=tmp_path, code=2)
        assert why == "a trial measures models, and none is named"
        assert "--with good:alpha,keyed:beta" in helps and "`rebut trial --arms lint`" in helps


@pytest.mark.parametrize(
    ("status", "message", "fixes", "then"),
    [
        (401, "Incorrect API key provided", "Check the key in OPENAI_API_KEY", "rebut resume"),
        (404, "The model `gpt-5` does not exist", "`rebut doctor openai:MODEL`", "rebut fork"),
        (400, "The model `gpt-5` does not exist", "`rebut doctor openai:MODEL`", "rebut fork"),
        (429, "insufficient_quota", "Add credit to the account of OPENAI_API_KEY", "rebut resume"),
        (402, "no balance", "Add credit to the account of OPENAI_API_KEY", "rebut resume"),
        (500, "overloaded", "The provider has a problem: wait and resume.", "rebut resume"),
    ],
)
def test_a_refusal_is_two_lines_with_what_fixes_it(
    tmp_path: Path, status: int, message: str, fixes: str, then: str
) -> None:
    with Loopback(mode="status", status=status, message=message) as server:
        why, helps = error_of(*DUEL, env=keyed(server), cwd=tmp_path)
        assert why.startswith("openai:gpt-5 (proposer) did not answer: ") and f"answered {status}: {message}" in why
        assert fixes in helps and f"Then: `{then} " in helps
        shown = json.loads(piped(*DUEL, "--json", env=keyed(server), cwd=tmp_path).stdout)
        assert fixes in shown["hint"] and message in shown["error"] and shown["exit"] == 3


def test_every_seat_of_a_model_that_does_not_exist_is_to_be_named_anew(tmp_path: Path) -> None:
    words = ("ask", "Redis?", "--proposer", "openai:gpt-5", "--challenger", "openai:gpt-5-mini")
    with Loopback(mode="status", status=404, message="The model does not exist") as server:
        _, helps = error_of(*words, env=keyed(server), cwd=tmp_path)
    # the judge has the proposer's model
    assert "--seat proposer=SPEC --seat challenger=SPEC --seat judge=SPEC`" in helps, helps


def test_the_codes_of_a_provider_are_for_programs(tmp_path: Path) -> None:
    with Loopback(mode="status", status=401, message="No such key.") as server:
        why, _ = error_of(*DUEL, env=keyed(server), cwd=tmp_path)
    assert why.endswith("answered 401: No such key."), "without the type of the error, which the server also sends"


@pytest.mark.parametrize("words", ["ask Redis?", "review"])
def test_one_model_alone_is_named_with_what_is_missing(tmp_path: Path, words: str) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "a.py").write_text("x = 1\n")
    done = piped(*words.split(), "--with", "openai:gpt-5", env={"OPENAI_API_KEY": "sk-abcdefgh"}, cwd=tmp_path)
    assert done.returncode == 2 and "needs two models, and has one: openai:gpt-5" in done.stderr, done.stderr
    assert "--with openai:gpt-5,SPEC" in done.stderr and "Set OPENAI_API_KEY" not in done.stderr


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ("foo:bar", "unknown provider 'foo'"),
        ("scripted:nofile.json", "nofile.json: cannot be read"),
        ("openai:gpt-5", "openai needs a key: OPENAI_API_KEY is not set"),
    ],
)
@pytest.mark.parametrize(
    "words",
    ["ask Redis? --with", "ask Redis? --challenger", "plan a.md --with", "review a.md --with", "duel Redis? --judge"],
)
def test_what_is_wrong_with_the_one_model_that_is_named_comes_first(
    workspace: Path, words: str, spec: str, wrong: str
) -> None:
    (workspace / "a.md").write_text("# Plan\n\nUse Redis.\n")
    done = piped(*words.split(), spec, cwd=workspace)
    assert done.returncode == 2 and wrong in done.stderr.splitlines()[0], done.stderr
    assert "needs two models" not in done.stderr and not sessions.sessions(sessions.home())


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        ("ask Redis? --proposer human", "--challenger SPEC"),
        ("ask Redis? --challenger human", "--proposer SPEC"),
        ("plan a.md --critic human", "--judge SPEC"),
        ("plan a.md --judge human", "--critic SPEC"),
    ],
)
def test_one_seat_alone_is_named_with_the_other(
    workspace: Path, capsys: pytest.CaptureFixture[str], words: str, missing: str
) -> None:
    (workspace / "a.md").write_text("# Plan\n\nUse Redis.\n")
    assert enter(words.split()) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "needs two models, and has one: human" in said and f"Name another one, too: {missing}." in said


def test_analysers_alone_are_offered_the_rules_as_a_judge(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "a.py").write_text("x = 1\n")
    done = piped("review", "--with", "lint", cwd=tmp_path)
    assert done.returncode == 2 and "--with lint,rules" in done.stderr, done.stderr


@pytest.mark.parametrize("words", ["ask Redis?", "panel Redis?", "plan PLAN.md", "plan PLAN.md --rewrite", "review"])
def test_each_command_says_it_so(tmp_path: Path, words: str) -> None:
    (tmp_path / "PLAN.md").write_text("# A plan\n")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    models = ["--with", "openai:gpt-5,openai:gpt-5-mini"]
    if words.startswith("panel"):
        models = ["--lead", "openai:gpt-5", "--challenger", "openai:gpt-5-mini"]
    with Loopback(mode="status", status=401, message="Incorrect API key provided") as server:
        why, helps = error_of(*words.split(), *models, env=keyed(server), cwd=tmp_path)
    assert why.count("Incorrect API key provided") == 1 and why.count("openai:gpt-5 ") <= 1
    assert "Check the key in OPENAI_API_KEY" in helps and "Then: `rebut resume " in helps


def test_a_server_here_without_the_model_is_told_to_load_it(tmp_path: Path) -> None:
    with Loopback(mode="status", status=404, message="model 'qwen3' not found") as server:
        (tmp_path / "config.toml").write_text(
            f'[providers.here]\nwire = "openai"\nbase_url = "{server.url}"\nmodel = "qwen3"\n'
        )
        words = ("duel", "Redis?", "--proposer", "here", "--challenger", "here:other", "--rounds", "1")
        why, helps = error_of(*words, env={"REBUT_CONFIG": str(tmp_path / "config.toml")}, cwd=tmp_path)
    assert "model 'qwen3' not found" in why and "`ollama pull qwen3`" in helps


@pytest.mark.parametrize(
    ("status", "message", "fixes"),
    [
        (401, "Please run /login", "Run `claude`"),
        (404, "It may not exist", "`rebut doctor claude:MODEL`"),
        (402, "Credit balance is too low", "`rebut models`"),
    ],
)
def test_a_tool_that_is_refused_names_the_command(tmp_path: Path, status: int, message: str, fixes: str) -> None:
    out, err, code = fails("claude", status, message)
    path = install(tmp_path / "bin", "claude", "codex")
    env = {"PATH": f"{path}:/usr/bin:/bin", "PROGRAMDATA": json.dumps({"out": out, "err": err, "exit": code})}
    words = ("duel", "Redis?", "--proposer", "claude", "--challenger", "codex", "--rounds", "1")
    why, helps = error_of(*words, env=env, cwd=tmp_path)
    assert why.startswith("claude (proposer) did not answer: ") and message in why
    assert fixes in helps


def test_a_server_with_a_key_that_does_not_answer_is_named(workspace: Path, own_home: Path) -> None:
    nowhere = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "sk-test"}
    (own_home / ".config/rebut").mkdir(parents=True)
    (own_home / ".config/rebut/config.toml").write_text('[egress]\nallow = ["openai"]\n')
    for words in (("ask", "Redis or Postgres?"), ("duel", "Redis or Postgres?")):
        done = piped(*words, env=nowhere, cwd=workspace)
        assert done.returncode == 2 and "openai: nothing answers at 127.0.0.1:9. Start it." in done.stderr
        assert "Set OPENAI_API_KEY" not in done.stderr
    done = piped("doctor", "--offline", env=nowhere, cwd=workspace)
    assert "  openai: nothing answers at 127.0.0.1:9\n  → Start it.\n" in done.stdout
    assert "not usable    openai       nothing answers at 127.0.0.1:9. Start it." in (
        piped("init", env=nowhere, cwd=workspace).stdout
    )


@pytest.mark.parametrize("words", ["ask Redis?", "plan a.md", "duel Redis?", "ask Redis? --with human"])
def test_a_key_whose_address_is_dead_is_named_first_without_a_list_too(workspace: Path, words: str) -> None:
    (workspace / "a.md").write_text("# Plan\n\nUse Redis.\n")
    nowhere = {"OPENAI_BASE_URL": "http://127.0.0.1:9", "OPENAI_API_KEY": "sk-test"}
    done = piped(*words.split(), env=nowhere, cwd=workspace)
    [_, helps] = done.stderr.splitlines()
    assert done.returncode == 2 and helps.startswith("  openai: nothing answers at 127.0.0.1:9. Start it. Name ")
    assert "Set OPENAI_API_KEY" not in helps
    # A model that could be used, and may not be chosen without a terminal, does not hide it.
    done = piped(*words.split(), env={**nowhere, "GEMINI_API_KEY": "gm-test"}, cwd=workspace)
    [_, helps] = done.stderr.splitlines()
    assert helps.startswith("  openai: nothing answers at 127.0.0.1:9. Start it. ")
    assert '[egress] allow = ["google"]' in helps or "--with human,SPEC" in helps


def test_a_name_that_is_neither_a_file_nor_a_commit_is_called_that(workspace: Path, tmp_path: Path) -> None:
    done = piped("review", "nosuch.py", "--with", "lint,rules", cwd=workspace)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "rebut: there is no file, commit, branch or tag 'nosuch.py' here"
    (bare := tmp_path / "bare").mkdir()
    done = piped("review", "nosuch.py", "--with", "lint,rules", cwd=bare)
    assert done.returncode == 2
    assert "there is no file 'nosuch.py' here, and this is not a git repository" in done.stderr


def homeless(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A folder with a file, and the environment of a user in whose home nothing can be stored: .local is a file."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    (home / ".local").touch()
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    (work / "a.py").write_text("x = 1\n")
    return work, {"HOME": str(home), "REBUT_HOME": "", "XDG_STATE_HOME": ""}


@pytest.mark.parametrize("words", ["demo --fast", "review --with lint,rules", "dismiss --list"])
def test_without_a_place_to_store_anything_the_variable_that_moves_it_is_named(tmp_path: Path, words: str) -> None:
    work, env = homeless(tmp_path)
    why, helps = error_of(*words.split(), env=env, cwd=work, code=2)
    assert str(tmp_path / "home/.local") in why and ("Not a directory" in why or "is not a folder" in why)
    assert helps.strip() == "Set REBUT_HOME to a folder that you can write to."
    done = piped(*words.split(), env={**env, "REBUT_HOME": str(tmp_path / "store")}, cwd=work)
    assert "cannot" not in done.stderr and "Set REBUT_HOME" not in done.stderr, done.stderr


def test_a_demo_whose_folder_cannot_be_written_names_the_flag(tmp_path: Path) -> None:
    work, _ = homeless(tmp_path)
    why, helps = error_of("demo", "--fast", "--folder", str(tmp_path / "home/.local/shop"), env={}, cwd=work, code=2)
    assert "cannot be written" in why and helps.strip() == "Choose another one with --folder."


def test_a_file_in_place_of_the_shared_folder_is_named(tmp_path: Path) -> None:
    work, _ = homeless(tmp_path)
    (work / ".rebut").touch()
    why, helps = error_of("dismiss", "--list", env={}, cwd=work, code=2)
    assert why.endswith(f"{work}/.rebut is not a folder")
    assert helps.strip() == f"Move {work}/.rebut away: rebut needs a folder of that name."


def test_with_a_database_the_variable_for_the_files_beside_it_is_named() -> None:
    assert "XDG_STATE_HOME" in sessions.how_to_move({"REBUT_HOME": "postgresql://me@localhost:5432/debates"})
    assert "REBUT_HOME" in sessions.how_to_move({"REBUT_HOME": "/var/debates"})
