"""What coding agents get: the skill by the public format, the plugin, the advice, and where they are laid."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import click
import duels
import pytest
import skills_ref
from console import at_a_terminal, piped

import rebut
from rebut.cli import installed_files
from rebut.cli.app import app
from rebut.cli.commands import skill
from rebut.cli.commands.skill import HOST_NAMES
from rebut.cli.index import COMMANDS

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "src/rebut/shipped/plugin"
PAGES = [
    *(ROOT / "skills").rglob("*.md"),
    *sorted((PLUGIN / "commands").glob("*.md")),
    ROOT / "src/rebut/shipped/advice.md",
]


def frontmatter(page: Path) -> tuple[dict[str, str], str]:
    """The head of a page and its body; enough of YAML for what stands in ours."""
    _, head, body = page.read_text(encoding="utf-8").split("---\n", 2)
    return dict(re.findall(r"^([\w-]+): ?(.*)$", head, re.M)), body


def test_the_skill_is_valid_by_the_public_validator() -> None:
    assert skills_ref.validate(ROOT / "skills/rebut") == []
    found = skills_ref.read_properties(ROOT / "skills/rebut")
    assert found.name == "rebut" and len(found.description) <= 1024 and "Use it when" in found.description


def test_the_skill_keeps_to_the_sizes_that_the_format_recommends() -> None:
    _, body = frontmatter(ROOT / "skills/rebut/SKILL.md")
    assert len(body.splitlines()) < 500 and len(body) / 4 < 5000
    assert (ROOT / "skills/rebut/SKILL.md").read_text() == (PLUGIN / "skills/rebut/SKILL.md").read_text()


def test_the_plugin_and_its_marketplace_name_what_is_there() -> None:
    manifest = json.loads((PLUGIN / ".claude-plugin/plugin.json").read_text())
    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", manifest["name"]) and manifest["name"] == "rebut"
    assert manifest["version"] == rebut.__version__
    [entry] = json.loads((ROOT / ".claude-plugin/marketplace.json").read_text())["plugins"]
    assert (ROOT / entry["source"]).resolve() == PLUGIN and entry["name"] == manifest["name"]
    for page in (PLUGIN / "commands").glob("*.md"):
        head, body = frontmatter(page)
        assert head["description"] and head["argument-hint"] and "$ARGUMENTS" in body, page.name
        assert page.stem in COMMANDS


def commands_in(page: Path) -> list[list[str]]:
    """Every `rebut …` in a page, as words."""
    text = " ".join(page.read_text(encoding="utf-8").split())
    found = [shlex.split(words) for words in re.findall(r"`rebut ((?:[^`]|\n)+)`", text)]
    return [[word for word in words if word != "…"] for words in found if words]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_every_command_that_a_page_names_is_one_with_these_options(page: Path) -> None:
    assert commands_in(page)
    for words in commands_in(page):
        name = words[0]
        if name == "COMMAND":
            continue
        assert name in COMMANDS, f"{page.name} names `rebut {name}`"
        command = app.get_command(click.Context(app), name)  # type: ignore[attr-defined]
        known = {option for param in command.params for option in param.opts} | {"--help"}
        for word in words[1:]:
            assert not word.startswith("--") or word in known, f"{page.name}: rebut {name} has no {word}"


def test_debates_of_the_pages_have_json_a_deadline_and_no_nested_host() -> None:
    for page in PAGES:
        for words in commands_in(page):
            if words[0] in ("duel", "cross", "revise", "panel") and len(words) > 2:
                assert "--json" in words and "--deadline" in words and "caller" in words, f"{page.name}: {words}"
                assert not set(words) & {"claude", "codex", "gemini"}, f"{page.name} seats a host: {words}"


def test_install_lays_the_skill_where_each_host_looks_and_says_where(own_home: Path) -> None:
    for name in HOST_NAMES:
        done = piped("skill", "install", "--host", name, "--json")
        [row] = json.loads(done.stdout)["laid"]
        path = Path(row["path"])
        assert done.returncode == 0 and path.is_relative_to(own_home) and path.parts[-2:] == ("rebut", "SKILL.md")
        assert skills_ref.validate(path.parent) == []
    assert (own_home / ".claude/skills/rebut/SKILL.md").exists()
    assert (own_home / ".agents/skills/rebut/SKILL.md").exists()
    assert (own_home / ".config/opencode/skills/rebut/SKILL.md").exists()
    assert tuple(host.name for host in skill.HOSTS) == HOST_NAMES


def test_without_a_name_it_goes_to_the_hosts_that_are_in_use(own_home: Path) -> None:
    done = piped("skill", "install")
    assert done.returncode == 2 and "no coding agent was found" in done.stderr and "claude, codex" in done.stderr
    (own_home / ".codex").mkdir()
    (own_home / "elsewhere").mkdir()
    seen = at_a_terminal("skill", "install", env={"CLAUDE_CONFIG_DIR": str(own_home / "elsewhere")}, columns=200)
    assert seen.code == 0
    assert str(own_home / ".agents/skills/rebut/SKILL.md") in seen.text
    assert str(own_home / "elsewhere/skills/rebut/SKILL.md") in seen.text and "claude --plugin-dir" in seen.text


def test_with_project_it_goes_into_the_repository(workspace: Path) -> None:
    done = piped("skill", "install", "--project", "--host", "claude", "--host", "copilot", cwd=workspace / "src")
    assert done.returncode == 0, done.stderr
    assert (workspace / ".claude/skills/rebut/SKILL.md").exists()
    assert (workspace / ".github/skills/rebut/SKILL.md").exists()


def test_a_file_that_is_not_ours_or_was_edited_is_never_written_over(own_home: Path) -> None:
    theirs = own_home / ".claude/skills/rebut/SKILL.md"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("a skill of the user's own\n")
    done = piped("skill", "install", "--host", "claude")
    assert done.returncode == 3 and "left alone" in done.stdout
    assert theirs.read_text() == "a skill of the user's own\n"
    theirs.unlink()
    assert piped("skill", "install", "--host", "claude").returncode == 0
    edited = theirs.read_text() + "\nAlways ask me first.\n"
    theirs.write_text(edited)
    assert piped("skill", "install", "--host", "claude").returncode == 3
    assert theirs.read_text() == edited


def test_a_file_of_ours_is_brought_up_to_date_and_a_link_is_left_alone(tmp_path: Path) -> None:
    [new] = installed_files.install({"a.md": "one\n"}, tmp_path)
    assert new.how == "new"
    assert [one.how for one in installed_files.install({"a.md": "one\n"}, tmp_path)] == ["same"]
    assert [one.how for one in installed_files.install({"a.md": "two\n"}, tmp_path)] == ["updated"]
    assert (tmp_path / "a.md").read_text() == "two\n"
    (tmp_path / "elsewhere.md").write_text("two\n")
    (tmp_path / "a.md").unlink()
    (tmp_path / "a.md").symlink_to("elsewhere.md")
    assert [one.how for one in installed_files.install({"a.md": "three\n"}, tmp_path)] == ["left alone"]
    assert (tmp_path / "elsewhere.md").read_text() == "two\n"


def test_a_folder_that_cannot_be_written_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / ".claude").write_text("a file where a folder should be")
    done = piped("skill", "install", "--host", "claude", env={"HOME": str(tmp_path)})
    assert done.returncode == 2 and "cannot be written" in done.stderr and "Traceback" not in done.stderr


def test_the_advice_and_the_place_of_the_plugin_are_printed_as_they_are() -> None:
    assert piped("skill", "advice").stdout == (ROOT / "src/rebut/shipped/advice.md").read_text()
    assert piped("skill", "path", "--plain").stdout.strip() == str(installed_files.place("plugin"))
    assert piped("skill", "advice", "--project").returncode == 2


# as an agent follows it


def test_an_agent_plays_a_whole_duel_by_the_skill(workspace: Path, tmp_path: Path) -> None:  # C1 C17
    # exit 4 and `answer` until the end, as the proposer and as the judge, from separate processes
    said = duels.answers()
    other = duels.script(tmp_path / "other.json", said, model="other")
    seats = ["--proposer", "caller", "--challenger", other, "--judge", "caller", "--allow-same-model"]
    done = piped("duel", "Redis or not?", *seats, "--json", "--deadline", "100", cwd=workspace)
    turns = []
    while done.returncode == 4:
        turn: dict[str, Any] = json.loads(done.stdout)
        turns.append(turn["key"])
        whole = Path(turn["question_file"]).read_text()
        assert turn["question"] in whole and '"properties"' in whole, "also for a host that cuts long output short"
        file = tmp_path / "answer.json"
        file.write_text(json.dumps(said[turn["key"]]))
        words = ["answer", turn["session"], "--key", turn["key"], "--file", str(file), "--json", "--deadline", "100"]
        done = piped(*words, cwd=tmp_path)
    assert turns == ["r1/opening@proposer", "r2/defense@proposer", "verdict@judge"]
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.encode()) <= 8192 and json.loads(done.stdout)["heading"] == "VERDICT"


def test_the_wheel_holds_all_of_it_and_needs_nothing_from_the_repository(tmp_path: Path) -> None:
    import sys

    hatch = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(hatch, cwd=ROOT, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    subprocess.run([sys.executable, "-m", "zipfile", "-e", str(wheel), str(tmp_path / "site")], check=True)
    run = f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r}); import rebut.cli; rebut.cli.main()"
    for words, wanted in (
        (["demo", "--fast", "--json"], '"VERDICT"'),
        (["skill", "path"], str(tmp_path / "site/rebut/shipped/plugin")),
        (["config", "completion", "fish"], "--command rebut"),
        (["new", "protocol", "fresh"], "test_fresh.py"),
    ):
        done = subprocess.run([sys.executable, "-c", run, *words], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0 and wanted in done.stdout, done.stdout + done.stderr
    assert (tmp_path / "site/rebut/shipped/plugin/.claude-plugin/plugin.json").exists()
    assert (tmp_path / "site/rebut/shipped/plugin/commands/duel.md").exists()
