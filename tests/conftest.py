"""Every test runs with a home of its own and none of the user's environment."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path_factory.mktemp("home")
    for name in (
        *("OPENAI_API_KEY", "OPENAI_BASE_URL", "AI_STATE_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "REBUT_CONFIG"),
        *(
            "CLAUDECODE",
            "CLAUDE_CODE_ENTRYPOINT",
            "OPENCODE",
            "OPENCODE_SESSION_ID",
            "CODEX_SANDBOX",
            "CODEX_THREAD_ID",
        ),
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("REBUT_HOME", str(home / "rebut"))
    return home


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small git repository with one file to cite, as the current folder."""
    folder = tmp_path / "work"
    (folder / "src").mkdir(parents=True)
    (folder / "src/session.py").write_text(
        "import redis\nttl = 3600\n" + "".join(f"line_{n} = {n}\n" for n in range(3, 40))
    )
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", "-C", str(folder)]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "first"], check=True)
    monkeypatch.chdir(folder)
    return folder
