"""`rebut init`: what it finds, where a key goes, and the first debate, at a real terminal."""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

import duels
import pytest
import voices
from console import at_a_terminal
from loopback import Loopback
from repositories import commit, git, new

from rebut.setup import saved_keys
from rebut.setup.config import load_config

KEY = "sk-test-0123456789abcdef"


def at(server: Loopback) -> dict[str, str]:
    return {"OPENAI_BASE_URL": server.url}


def folder() -> Path:
    return saved_keys.path(os.environ)


def test_without_a_terminal_it_says_what_is_here_and_how_to_begin(tmp_path: Path) -> None:
    none = voices.cli("init", cwd=tmp_path)
    assert none.returncode == 3 and "No model can debate yet" in none.stdout and "OPENAI_API_KEY" in none.stdout
    some = voices.cli("init", cwd=tmp_path, env={"OPENAI_API_KEY": KEY})
    assert some.returncode == 0 and "OPENAI_API_KEY is set" in some.stdout and "rebut ask" in some.stdout
    assert KEY not in some.stdout + some.stderr


def test_the_command_that_it_recommends_without_a_terminal_works_there(tmp_path: Path) -> None:
    shop = new(tmp_path / "work", {"README.md": "# Shop\n"})
    commit(shop)
    one, two = {"OPENAI_API_KEY": KEY}, {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
    for env in (one, two):
        said = voices.cli("init", cwd=shop, env=env).stdout
        words = shlex.split(said.partition("a first debate: rebut ")[2])
        done = voices.cli(*words, "--dry-run", cwd=shop, env=env)
        assert words[0] == "ask" and done.returncode == 0, done.stderr
        named = words[words.index("--with") + 1].split(",")  # without it, a real run would choose nothing
        assert len({spec.partition(":")[0] for spec in named}) == len(env)


def test_on_a_narrow_terminal_no_address_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Loopback() as server:
        table = f'[providers.mine]\nwire = "openai"\nbase_url = "{server.url}"\nmodel = "m"\n'
        (tmp_path / "config.toml").write_text(table)
        monkeypatch.setenv("REBUT_CONFIG", str(tmp_path / "config.toml"))
        done = at_a_terminal("init", cwd=tmp_path, columns=40, keys=lambda seen: b"q" if "leaves" in seen else b"")
        lines = [line for line in done.text.splitlines() if f"127.0.0.1:{server.port}" in line]
    assert lines and all(len(line) <= 40 for line in lines), done.text


def test_a_key_is_saved_for_the_user_alone_and_then_used(tmp_path: Path) -> None:
    shop = new(tmp_path / "work", {"README.md": "# Shop\n"})
    commit(shop)

    def keys(seen: str) -> bytes:
        if "Paste a key" in seen and "saved as" not in seen and "typed" not in state:
            state.append("typed")
            return f"{KEY}\n".encode()
        if "Enter starts it" in seen and "left" not in state:
            state.append("left")
            return b"q"
        return b""

    state: list[str] = []
    done = at_a_terminal("init", cwd=shop, keys=keys)
    assert done.code == 0, done.text
    assert "saved as OPENAI_API_KEY" in done.text and KEY not in done.text, "what is typed is not shown"
    assert folder().read_text() == f"OPENAI_API_KEY={KEY}\n"
    assert stat.S_IMODE(folder().stat().st_mode) == 0o600
    assert git(shop, "status", "--porcelain") == ""
    later = voices.cli("init", cwd=shop)
    assert later.returncode == 0 and "OPENAI_API_KEY is set" in later.stdout


def test_a_saved_key_reaches_the_provider_and_the_environment_comes_first(tmp_path: Path) -> None:
    saved_keys.save(os.environ, "OPENAI_API_KEY", KEY)
    assert saved_keys.saved_keys({**os.environ, "OPENAI_API_KEY": "sk-other-123456"}) == {}
    with Loopback() as server:
        words = ("duel", "Redis?", "--proposer", "gpt-5", "--challenger", "o3")
        voices.cli(*words, cwd=tmp_path, env={**at(server), "OPENAI_API_KEY": ""})
        assert server.headers and KEY not in str(server.headers), "an empty variable comes first, too"
        voices.cli(*words, cwd=tmp_path, env=at(server))
        assert server.headers[-1]["authorization"] == f"Bearer {KEY}"
        assert {body["model"] for body in server.bodies} == {"gpt-5"}


def test_no_key_is_written_into_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = new(tmp_path / "work", {"README.md": "# Shop\n"})
    monkeypatch.setenv("REBUT_CONFIG", str(shop / "conf/config.toml"))
    with pytest.raises(saved_keys.UsageError, match="is within the repository"):
        saved_keys.save(os.environ, "OPENAI_API_KEY", KEY)
    assert not [*shop.rglob("keys.env")]


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    saved_keys.save(os.environ, "OPENAI_API_KEY", KEY)
    folder().chmod(0o644)
    done = voices.cli("init", cwd=tmp_path)
    assert done.returncode == 2 and "can be read by other users" in done.stderr and "chmod 600" in done.stderr


@pytest.mark.parametrize(
    ("key", "variable"),
    [
        ("sk-ant-x1", "ANTHROPIC_API_KEY"),
        ("sk-or-v1-x", "OPENROUTER_API_KEY"),
        ("AIzaSyX", "GEMINI_API_KEY"),
        ("sk-proj-x", "OPENAI_API_KEY"),
        ("hello", ""),
    ],
)
def test_whose_key_it_is_follows_from_its_beginning(key: str, variable: str) -> None:
    assert saved_keys.variable_of(key) == variable


def test_without_a_key_it_ends_with_a_scripted_debate(tmp_path: Path) -> None:
    state: list[str] = []

    def keys(seen: str) -> bytes:
        if "Paste a key" in seen and not state:
            state.append("typed")
            return b"\n"
        return b""

    done = at_a_terminal("init", cwd=tmp_path, keys=keys)
    assert done.code == 3 and "scripted" in done.text and "VERDICT" in done.text


def test_the_first_debate_runs_on_what_was_found(tmp_path: Path) -> None:
    state: list[str] = []

    def keys(seen: str) -> bytes:
        if "Enter starts it" in seen and not state:
            state.append("typed")
            return b"\n"
        return b""

    with Loopback(answers=duels.by_form()) as server:
        done = at_a_terminal("init", cwd=tmp_path, keys=keys, env={"OPENAI_API_KEY": KEY, **at(server)}, columns=100)
        assert server.bodies and "Should a team of five" in str(server.bodies[0]), done.text
    assert "found" in done.text and "Enter starts it" in done.text


def test_a_saved_key_is_known_to_every_redactor_also_where_the_environment_has_another(tmp_path: Path) -> None:  # C8
    saved_keys.save(os.environ, "OPENAI_API_KEY", KEY)
    for more in ({}, {"OPENAI_API_KEY": "sk-other-123456"}):
        env = {**os.environ, **more}
        assert KEY in load_config(workspace=tmp_path, env=env).known_secrets(env)
