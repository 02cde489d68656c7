"""Keys go only to the programs that need them: git, the commands of agent hosts and version probes get none."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from console import piped
from repositories import commit, new

KEYS = {
    **dict.fromkeys(("OPENAI_API_KEY", "GEMINI_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN"), "leaked"),
    **dict.fromkeys(
        ("LC_SECRET", "LC_ANYTHING", "DYLD_ANYTHING", "PROGRAMFILES_OF_MINE", "MY_ODD_NAME", "mykey", "PGPASSWORD"),
        "leaked",
    ),
    "HTTPS_PROXY": "http://user:leaked@127.0.0.1:9",
}


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which each program on PATH writes down its environment."""
    programs, seen = tmp_path / "programs", tmp_path / "seen"
    programs.mkdir()
    seen.mkdir()
    for name, then in (
        ("git", f'exec {shutil.which("git")} "$@"'),
        ("claude", "echo 99.0.0"),
        ("codex", "echo 99.0.0"),
    ):
        file = programs / name
        file.write_text(f"#!/bin/sh\nenv >> '{seen}/{name}'\n{then}\n")
        file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LC_TELEPHONE", "C.UTF-8")
    monkeypatch.setenv("SUDO_UID", "1000")
    return seen


def test_git_gets_no_key_and_no_proxy(seen: Path, tmp_path: Path) -> None:  # C9 C11
    work = new(tmp_path / "work", {"a.py": "first = 1\n"})
    commit(work)
    (work / "a.py").write_text("first = 2\n")
    (seen / "git").unlink()  # so far, git was run by this test
    assert piped("review", "--with", "lint:ruff,rules", cwd=work).returncode == 0
    given = (seen / "git").read_text()
    assert "HOME=" in given and "LC_TELEPHONE=C.UTF-8\n" in given and "leaked" not in given
    assert "SUDO_UID=1000\n" in given, "without it, git refuses the repository of the user who called sudo"


def test_the_command_of_an_agent_host_gets_what_it_would_get_in_a_seat(seen: Path) -> None:  # C9
    assert piped("mcp", "install", "--host", "claude").returncode == 0
    given = (seen / "claude").read_text()
    assert "HOME=" in given
    assert [line for line in given.splitlines() if "leaked" in line] == ["HTTPS_PROXY=http://user:leaked@127.0.0.1:9"]


def test_a_key_under_the_name_of_a_language_setting_reaches_no_tool(seen: Path, tmp_path: Path) -> None:  # C9
    piped("doctor", cwd=tmp_path)
    for name in ("claude", "codex"):
        given = (seen / name).read_text()
        assert "HOME=" in given and "LC_TELEPHONE=C.UTF-8\n" in given and "OPENAI_API_KEY" not in given
        assert not any(name in given for name in ("LC_SECRET", "LC_ANYTHING", "PROGRAMFILES_OF_MINE"))
