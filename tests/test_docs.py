"""Docs that can drift are generated, and what the docs show really runs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import duels
import pytest

import rebut
from tools import requirements

ROOT = Path(__file__).parent.parent


def test_the_generated_pages_are_current() -> None:  # house rule 10
    done = subprocess.run([sys.executable, str(ROOT / "tools/docs.py"), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


COMMAND_LINE = """
from console import piped


def asked(words: str) -> str:
    return piped(words).stdout


def test_the_command() -> None:  # {ids}
    assert asked("x")
"""
IN_PROCESS = """
import rebut


def test_the_library() -> None:  # {ids}
    assert rebut.run("duel", "x")
"""
ALL = " ".join(id for sentences in requirements.REQUIREMENTS.values() for id in sentences)
BUILT = " ".join(id for id in ALL.split() if id not in ("C19", "C20", "C21"))


def suite_of(folder: Path, **files: str) -> Path:
    """A folder of tests like that of rebut, with these files."""
    made = folder / "tests"
    made.mkdir()
    (made / "console.py").write_text((ROOT / "tests/console.py").read_text())
    for name, text in files.items():
        (made / f"{name}.py").write_text(text)
    return made


def test_a_requirement_needs_a_test_that_goes_through_the_command_line(tmp_path: Path) -> None:
    shown = COMMAND_LINE.format(ids=BUILT.replace("K6 ", ""))
    folder = suite_of(tmp_path, test_a=shown, test_b=IN_PROCESS.format(ids="K6, C3"))
    none = ["C19", "C20", "C21"]
    assert requirements.problems(folder, none) == ["K6 has no test that goes through the command line"]
    page = requirements.page(folder)
    assert "- [tests/test_a.py](../tests/test_a.py): `test_the_command`" in page and "test_b" not in page
    assert page.count("Not built yet.") == 4


def test_a_test_that_names_an_unknown_requirement_is_reported(tmp_path: Path) -> None:
    more = "\n    assert 1  # C99: no such row\n    assert 2  # D1 was conceded, which is a remark\n"
    folder = suite_of(tmp_path, test_a=COMMAND_LINE.format(ids=f"{BUILT} X7") + more)
    unknown = [f"tests/test_a.py: test_the_command names {id}, which is not a requirement" for id in ("X7", "C99")]
    assert requirements.problems(folder, ["C19", "C20", "C21"]) == unknown


def test_what_is_not_built_is_an_exception_only_until_a_test_names_it(tmp_path: Path) -> None:
    folder = suite_of(tmp_path, test_a=COMMAND_LINE.format(ids=ALL))
    told = "C20 has a test now: remove it from NOT_BUILT in tools/requirements.py"
    assert requirements.problems(folder, ["C20"]) == [told]
    assert requirements.problems(folder, []) == []
    assert set(requirements.NOT_BUILT) <= {"C19", "C20", "C21"}, "no other requirement may be left out"


@pytest.mark.parametrize(
    "code",
    [
        "import sys\nfrom subprocess import run\n\n\ndef test_x():  # C1\n"
        "    run([sys.executable, '-m', 'rebut', 'list'])\n",
        "import console\n\n\ndef test_x():  # C1\n    console.at_a_terminal('list')\n",
        "from rebut.cli.app import enter\n\n\ndef test_x():  # C1\n    enter(['list'])\n",
        "import pytest\nfrom console import piped\n\n\n@pytest.fixture\ndef told():\n    return piped('list')\n\n\n"
        "def test_x(told):  # C1\n    assert told\n",
        "from console import REBUT\n\n\nclass Shell:\n    def go(self):\n        return [REBUT, 'list']\n\n\n"
        "def test_x():\n    assert Shell().go()  # C1\n",
    ],
)
def test_the_ways_to_run_the_command_are_recognized(tmp_path: Path, code: str) -> None:
    [test] = requirements.suite(suite_of(tmp_path, test_a=code)).tests
    assert test.by_command and test.ids == ("C1",)


@pytest.mark.parametrize("line", ["import sys\n\n\ndef test_x():\n    assert ['-m', 'rebut'] != [sys.executable]\n",
                                  "def enter(words):\n    pass\n\n\ndef test_x():\n    enter([])\n"])  # fmt: skip
def test_a_test_within_the_process_is_not_one_of_the_command_line(tmp_path: Path, line: str) -> None:
    [test] = requirements.suite(suite_of(tmp_path, test_a=line)).tests
    assert not test.by_command


def test_every_page_that_is_linked_exists() -> None:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_example_protocol_of_the_docs_runs_from_its_file(tmp_path: Path) -> None:
    said = {
        "r1/case@skeptic": {"case": "Old servers need it.", "evidence": []},
        "r1/reply@owner": {"fair": False, "choice": "keep", "reason": "That is not the best case."},
        "r2/case@skeptic": {"case": "A customer of ours has one.", "evidence": []},
        "r2/reply@owner": {"fair": True, "choice": "change", "reason": "We cannot drop it yet."},
    }
    outcome = rebut.run(
        ROOT / "docs/examples/steelman.py",
        "Drop Python 3.10?",
        workspace=tmp_path,
        owner=duels.script(tmp_path / "owner.json", said, model="o"),
        skeptic=duels.script(tmp_path / "skeptic.json", said, model="s"),
    )
    assert outcome.heading == "CHANGE AFTER A FAIR HEARING"
    assert outcome.decision == "We cannot drop it yet."
    assert outcome.spent.calls == 4


@pytest.mark.parametrize("page", ["batch.md", "workers.md"])
def test_the_options_of_batch_in_its_pages_exist(page: str) -> None:
    """In commands, in the systemd unit and in the compose file."""
    from rebut.cli.commands.batch import PARTS, batch_command

    blocks = re.findall(r"^```.*?^```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    found = re.findall(r"rebut batch ([^#\n]+)", "\n".join(blocks))
    assert len(found) >= 3
    for line in found:
        words = shlex.split(line)
        known = {name for param in PARTS.get(words[0], batch_command).params for name in param.opts}
        assert {word for word in words if word.startswith("--")} <= known, line
