"""The README followed word for word in a fresh clone. Its Python, and that of the docs, is type-checked and runs."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import crosses
import duels
import following
import pytest
from console import REBUT
from terminals import nothing, watched

from rebut.cli.app import app
from rebut.cli.index import COMMANDS
from tests.loopback import Loopback

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
INSTALLS = "pip install '.[lint]'"
CODES = {"rebut check": 1}
"""The exit codes of commands that do not end with 0: the plan of the example has wrong citations."""
FORMS = json.dumps(duels.by_form()).replace("src/session.py", "examples/check/basket/store.py")
FORMS = FORMS.replace("ttl = 3600", "TTL = 1800")
NODE = {
    "text": "Two nodes are said, one is there.",
    "evidence": [duels.cite("examples/check/deploy/cache.tf:5", "num_cache_nodes = 1")],
}
ANSWERS = {
    **json.loads(FORMS),
    "Comparison": {
        **{"first": "Use Redis.", "second": "Use Redis.", "same": True},
        **{"reason": "they would do the same", "recommendation": "Use Redis."},
    },
    "ProposalCritique": crosses.proposal(crosses.raised(**NODE)),
    "Judgement": crosses.judgement("E"),
}


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", README, re.M | re.DOTALL)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The files that a clone has, in a repository of their own, without any change."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in listed.decode().split("\0"):
        if name.startswith("examples/"):  # all that the README uses of it
            (tmp_path / "rebut" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "rebut" / name).write_bytes((ROOT / name).read_bytes())
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "a clone"]):
        who = ["-c", "user.name=A", "-c", "user.email=a@example.invalid", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *who, *words], cwd=tmp_path / "rebut", check=True)
    return tmp_path / "rebut"


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback(answers=ANSWERS) as running:
        yield running


def _ending(line: str) -> str:
    """A page is served until Ctrl-C, and no browser is opened in a test."""
    return f"timeout --preserve-status -s INT 4 {line.partition('#')[0]} --no-open" if "rebut view" in line else line


def followed(lines: list[str], clone: Path, env: dict[str, str]) -> list[tuple[str, int, str]]:
    """Each line as it is pasted into one shell at a terminal, with its exit code and what it showed."""
    script = "\n".join(f'{_ending(line)}\necho "::$?::"' for line in lines)
    path = f"{Path(REBUT).parent}:{os.environ['PATH']}"
    _, seen = watched(["bash", "-c", script], {**os.environ, **env, "PATH": path, "TERM": "dumb"}, clone, nothing)
    found = re.findall(r"(.*?)::(\d+)::\n", seen, re.DOTALL)
    assert len(found) == len(lines), seen
    return [(line, int(code), shown) for line, (shown, code) in zip(lines, found, strict=True)]


@pytest.mark.long
def test_every_command_runs_as_pasted_in_a_fresh_clone(clone: Path, server: Loopback) -> None:
    lines = [line for block in blocks("sh") for line in block.splitlines() if line]
    assert lines[0] == INSTALLS and "lint =" in (ROOT / "pyproject.toml").read_text()
    servers = {"OPENAI_BASE_URL": server.url, "ANTHROPIC_BASE_URL": server.url.removesuffix("/v1")}
    ran = followed(lines[1:], clone, servers)
    assert len(ran) >= 9
    for line, code, shown in ran:
        expected = next((code for begins, code in CODES.items() if line.startswith(begins)), 0)
        assert code == expected, f"{line}\n{shown}"
        assert "Traceback" not in shown and "rebut: " not in shown, f"{line}\n{shown}"
    said = {line.partition("  ")[0]: shown for line, _, shown in ran}
    assert "VERDICT" in said["rebut demo"]
    assert "4 absent" in said["rebut check examples/check/PLAN.md --root examples/check"]
    review = said["rebut review examples/review/changed/shop/export.py --with lint,rules"]
    assert "bandit B602" in review and "ruff F821" in review
    assert server.calls > 4
    status = subprocess.run(["git", "status", "--porcelain"], cwd=clone, capture_output=True, text=True, check=True)
    assert status.stdout == "", "the short commands leave nothing in the repository"


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PASTED = [(page.name, block.text) for page in PAGES for block in following.blocks(page) if block.kind == "python"]
"""Every block of Python. Those that are saved as a file are also run by the test that follows their page."""


def checked(folder: Path) -> subprocess.CompletedProcess[str]:
    """mypy as a user runs it, without the settings of this repository."""
    words = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(folder / "cache"), "."]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True)


def test_every_block_of_python_passes_mypy_strict(tmp_path: Path) -> None:
    assert {name for name, _ in PASTED} >= {"README.md", "python.md", "writing-a-protocol.md"}
    for n, (_, text) in enumerate(PASTED):
        own = re.search(r'^name = "(\w+)"$', text, re.M)  # a protocol, which a later block imports
        (tmp_path / (f"{own[1]}.py" if own else f"block_{n}.py")).write_text(text)
    done = checked(tmp_path)
    assert done.returncode == 0, done.stdout
    assert f"in {len(PASTED)} source files" in done.stdout
    (tmp_path / "wrong.py").write_text(
        "import rebut\n\n"
        'print(rebut.ask("Redis?").verdict.loser)\n'
        'print(rebut.check("a.py:1").citation, rebut.review().heading + 1)\n'
        'good: str = rebut.plan("PLAN.md").decision\n'
    )
    assert "Found 3 errors in 1 file" in checked(tmp_path).stdout, "the results have types"


RUN = [text for name, text in PASTED if name in ("README.md", "python.md")]


@pytest.mark.parametrize("text", RUN, ids=lambda text: re.findall(r"rebut\.(\w+)\(", text)[0])
def test_every_block_of_python_runs_as_pasted(clone: Path, server: Loopback, text: str) -> None:
    env = {**os.environ, "OPENAI_API_KEY": "sk-test-0123456789", "OPENAI_BASE_URL": server.url}
    done = subprocess.run([sys.executable, "-c", text], cwd=clone, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    expected = next(said for part, said in PRINTED.items() if part in text)
    assert expected in done.stdout, done.stdout
    assert ("openai:" in text) == bool(server.calls)


PRINTED = {
    "rebut.check(": "False {'found': 3, 'moved': 1, 'absent': 4}",
    "rebut.stream(": "proposer (openai:gpt-5) is asked",
    "rebut.start(": "VERDICT ['The port is open.', 'New in round 2.']\nVERDICT 1\n",
    "rebut.review(": "bandit B602",
    "rebut.plan(": "Two nodes are said, one is there.",
    "rebut.ask(": "BOTH AGREE",
}
"""What is in a block → what it prints, among others."""


def test_every_command_that_the_text_names_is_one_with_these_options() -> None:
    text = re.sub(r"^```.*?^```$", "", README, flags=re.M | re.DOTALL)
    named = [shlex.split(words.replace("\\|", "|")) for words in re.findall(r"`rebut ([^`]+)`", text)]
    assert len(named) > 10
    for words in named:
        if words[0] in COMMANDS:
            command = app.get_command(click.Context(app), words[0])  # type: ignore[attr-defined]
            known = {option for param in command.params for option in param.opts}
            assert all(word in known for word in words if word.startswith("--")), words
        else:
            assert words == ["--help"] or " " in words[0] or words[0] == "…", words
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    assert set(re.findall(r"`make ([\w-]+)`", text)) <= targets


def test_it_is_short_and_begins_with_what_it_is_the_picture_and_how_to_try_it() -> None:
    lines = README.splitlines()
    assert len(lines) <= 120
    about = lines[2 : lines.index("", 2)]
    assert len(about) == 2 and README.index("docs/demo.svg") < README.index("```sh") < README.index("## Which command")
    assert len([line for line in blocks("sh")[0].splitlines() if line.startswith("rebut ")]) == 3
