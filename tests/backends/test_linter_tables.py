"""Analysers as tables: what a user may write, what is refused, and how they are shown."""

from __future__ import annotations

import asyncio
import json
import tomllib
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path
from typing import get_args

import pytest
from test_discover import NOWHERE

from rebut.api import Setup
from rebut.backends.embedded import weights
from rebut.backends.linters import tables as analysers
from rebut.cli.app import enter
from rebut.core.errors import ConfigError
from rebut.core.installation import with_extra
from rebut.core.types import ModelSpec
from rebut.protocols.cross.forms import Category
from rebut.setup import config, discover

CATEGORIES = get_args(get_args(Category)[0])


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "config.toml").write_text(NOWHERE)
    monkeypatch.setenv("REBUT_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_shipped_analyser_grades_whatever_it_may_find() -> None:  # J7
    for one in analysers.load_analysers({}).values():
        assert one.grades[-1].rules == ("*",) and one.grades[-1].level == "*", one.name
        assert all(grade.category in CATEGORIES for grade in one.grades)
        assert one.install.startswith("pip install")


def test_the_extra_brings_what_its_advice_promises() -> None:  # C1
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    extra = " ".join(project["project"]["optional-dependencies"]["lint"])
    for one in analysers.load_analysers({}).values():
        assert ("rebut[lint]" in one.install) == (one.command in extra), one.name


def test_the_words_for_severity_and_category_are_those_of_the_forms() -> None:  # J7
    assert analysers.Category.__args__ == CATEGORIES


def test_a_key_of_a_shipped_table_is_changed_by_itself(machine: Path) -> None:  # C1
    (machine / "config.toml").write_text("[analysers.ruff]\ntimeout = 9\n[analysers.ruff.output]\nmessage = 'name'\n")
    mine = config.load_config(workspace=machine, env={"REBUT_CONFIG": str(machine / "config.toml")}).analysers["ruff"]
    ours = analysers.load_analysers({})["ruff"]
    assert (mine.timeout, mine.output.message) == (9, "name")
    assert (mine.args, mine.output.rule, mine.grades) == (ours.args, ours.output.rule, ours.grades)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[analysers.mine]\nfiles = ['*.x']\n", "analysers.mine.output"),
        ("[analysers.ruff]\nargv = ['x']\n", "analysers.ruff.argv"),
        ("[analysers.ruff]\nsilenced = '('\n", "is not a regular expression"),
        ("[analysers.ruff]\nlay = { '../x' = '' }\n", "is not a plain relative path"),
        ("[analysers.ruff]\ngrades = []\n", "analysers.ruff.grades"),
        ("[analysers.'../x']\ncommand = 'x'\n", "plain name"),
        ("[analysers]\nruff = 3\n", "analysers.ruff"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_by_its_key(text: str, says: str, tmp_path: Path) -> None:  # C1
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(ConfigError) as refused:
        config.load_config(workspace=tmp_path, env={"REBUT_CONFIG": str(tmp_path / "config.toml")})
    assert says in refused.value.message and refused.value.hint


def test_a_repository_may_not_choose_an_analyser(machine: Path) -> None:  # C16
    (machine / "rebut.toml").write_text("[analysers.ruff]\ncommand = '/tmp/x'\n")
    with pytest.raises(ConfigError, match="a repository may not choose commands"):
        config.load_config(workspace=machine, env={"REBUT_CONFIG": str(machine / "config.toml")})


def test_lint_and_rules_are_names_that_no_provider_can_take(tmp_path: Path) -> None:  # C1
    for name in ("lint", "rules"):
        (tmp_path / "config.toml").write_text(f"[providers.{name}]\nwire = 'openai'\nbase_url = 'https://x.example'\n")
        with pytest.raises(ConfigError, match="built in"):
            config.load_config(workspace=tmp_path, env={"REBUT_CONFIG": str(tmp_path / "config.toml")})


def test_providers_lists_them_with_what_is_there_and_what_is_missing(
    machine: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:  # C1 C2
    assert enter(["models"]) == 0
    out = capsys.readouterr().out
    row = next(line for line in out.splitlines() if line.strip().startswith("lint "))
    assert all(f"{name} " in row for name in ("ruff", "bandit", "shellcheck", "zizmor", "oxlint", "hadolint"))
    assert "rules " in out and "gguf " in out
    monkeypatch.setattr(analysers.sysconfig, "get_path", lambda name: str(machine))
    monkeypatch.setenv("PATH", "/nowhere")
    assert enter(["models", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    lint = next(row for row in told["providers"] if row["provider"] == "lint")
    assert (lint["here"], lint["problem"], lint["advice"]) == (
        False,
        "no analyser is installed",
        with_extra("lint"),
    )
    assert [row["analyser"] for row in told["analysers"]] == list(analysers.load_analysers({}))
    assert not any(row["here"] for row in told["analysers"])


def test_a_model_file_needs_its_runner(monkeypatch: pytest.MonkeyPatch) -> None:  # C1
    for there in (True, False):
        monkeypatch.setattr(weights, "has_runner", lambda there=there: there)
        gguf = discover.programs([])[-1]
        assert gguf.here == there and bool(gguf.advice) != there


def test_the_doctor_shows_each_analyser_with_its_version(
    machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # H13
    assert enter(["doctor", "--offline", "--json"]) == 3, "analysers are no families that could debate"
    told = {row["analyser"]: row["version"] for row in json.loads(capsys.readouterr().out)["analysers"]}
    assert set(told) == set(analysers.load_analysers({})) and all(told.values())
    (machine / "config.toml").write_text(f"{NOWHERE}\n[analysers.bandit]\ncommand = '/nowhere/bandit'\n")
    assert enter(["doctor", "lint"]) == 0
    out = capsys.readouterr().out
    assert f"ruff {told['ruff']}" in out and "→ bandit is not installed: " in " ".join(out.split())
    assert "".join(with_extra("lint").split()) in "".join(out.split())
    assert "families" not in out and "family" not in out


def test_they_never_take_a_seat_by_themselves(machine: Path) -> None:  # C2
    found = asyncio.run(discover.look(Setup().config, {"PATH": "", "HOME": str(machine)}))
    assert not {one.name for one in found} & {"lint", "rules", "gguf"}
    for one in discover.programs(asyncio.run(discover.look_at_analysers(Setup().config, {}))):
        assert not one.usable and ModelSpec.parse(one.name)


def test_no_code_knows_one_analyser_from_another() -> None:  # C1, house rule 3
    names = list(analysers.load_analysers({}))
    for path in Path(analysers.__file__).parents[2].rglob("*.py"):
        text = path.read_text()
        for name in names:
            assert f'"{name}"' not in text and f"'{name}'" not in text, f"{path.name} names {name}"


def test_every_flag_that_keeps_them_apart_from_the_world_stands_in_its_table() -> None:  # C9
    wanted = {
        "ruff": ("--isolated", "--no-cache", "--no-fix", "--ignore-noqa"),
        "bandit": ("--ignore-nosec",),
        "shellcheck": ("--norc",),
        "zizmor": ("--offline", "--no-config", "--no-ignores", "--strict-collection"),
        "oxlint": ("--config=*", "--disable-nested-config", "--no-ignore"),
        "hadolint": ("--config=*", "--disable-ignore-pragma"),
    }
    tables = tomllib.loads(files("rebut").joinpath("analysers.toml").read_text("utf-8"))
    assert set(wanted) == set(tables)
    for name, flags in wanted.items():
        for flag in flags:
            assert any(fnmatchcase(arg, flag) for arg in tables[name]["args"]), (name, flag)
