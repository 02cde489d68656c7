"""Runners as tables: what a user may write, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebut.cli.app import enter
from rebut.core.errors import ConfigError
from rebut.proof.runners import Runner, load_runners
from rebut.setup import config


def loaded(folder: Path, text: str) -> config.Config:
    (folder / "mine.toml").write_text(text)
    return config.load_config(workspace=folder, env={"REBUT_CONFIG": str(folder / "mine.toml")})


def test_a_key_of_a_shipped_runner_is_changed_by_itself(tmp_path: Path) -> None:  # C1
    ours = load_runners()
    mine = loaded(tmp_path, "[runners.pytest]\nseconds = 5\n").runners
    assert mine["pytest"].seconds == 5 and mine["pytest"].command == ours["pytest"].command
    assert {**mine, "pytest": ours["pytest"]} == ours == dict(loaded(tmp_path, "").runners)


@pytest.mark.parametrize("key", ["cannot_output", "needs_output", "reads"])
def test_a_pattern_of_a_runner_that_is_none_is_refused(tmp_path: Path, key: str) -> None:  # C1
    assert key in Runner.__dataclass_fields__
    with pytest.raises(
        ConfigError, match=rf"mine\.toml: runners\.pytest\.{key}: is not a regular expression"
    ) as refused:
        loaded(tmp_path, f"[runners.pytest]\n{key} = '('\n")
    assert refused.value.hint


def test_a_wrong_runner_is_told_with_the_name_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:  # C1
    (tmp_path / "mine.toml").write_text("[runners.pytest]\nsecond = 5\n")
    monkeypatch.setenv("REBUT_CONFIG", str(tmp_path / "mine.toml"))
    monkeypatch.chdir(tmp_path)
    assert enter(["check", "--run-checks", "mine.toml"]) == 2
    said = capfd.readouterr().err
    assert "mine.toml: unknown key runners.pytest.second" in said and "Did you mean seconds?" in said
