"""Docs that can drift are generated, and what the docs show really runs."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import duels
import pytest
from following import Reader, blocks

import rebut

ROOT = Path(__file__).parent.parent


def test_the_generated_pages_are_current() -> None:  # house rule 10
    done = subprocess.run([sys.executable, str(ROOT / "tools/docs.py"), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


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


# the ten-minute pages, followed word for word


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    (tmp_path / "desk").mkdir()
    one = Reader(tmp_path / "desk", {"XDG_CONFIG_HOME": str(tmp_path / "config"), "PYTHONPATH": str(tmp_path / "site")})
    yield one
    one.leaves()


def test_a_protocol_is_written_in_the_steps_of_its_page(reader: Reader, tmp_path: Path) -> None:
    for block in blocks(ROOT / "docs/writing-a-protocol.md"):
        if block.kind == "console":
            reader.follows(block)
            continue
        assert block.saved_as, f"nobody says where to save:\n{block.text}"
        (reader.folder / block.saved_as).write_text(block.text)
        if block.saved_as == "pyproject.toml":  # as an installer does it
            given = tomllib.loads(block.text)["project"]
            info = tmp_path / "site" / f"rebut_steelman-{given['version']}.dist-info"
            info.mkdir(parents=True)
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {given['name']}\nVersion: 1.0\n")
            [(group, points)] = given["entry-points"].items()
            (info / "entry_points.txt").write_text(
                f"[{group}]\n" + "".join(f"{name} = {module}\n" for name, module in points.items())
            )
            (tmp_path / "site/steelman.py").write_text((reader.folder / "steelman.py").read_text())
    assert (reader.folder / "steelman.py").read_text() == (ROOT / "docs/examples/steelman.py").read_text()


def test_a_tool_is_added_in_the_steps_of_its_page(reader: Reader) -> None:
    for n, block in enumerate(blocks(ROOT / "docs/adding-a-tool.md")):
        if block.kind == "console":
            reader.follows(block)
        elif block.saved_as:
            (reader.folder / block.saved_as).parent.mkdir(exist_ok=True)
            (reader.folder / block.saved_as).write_text(block.text)
        else:
            assert block.kind == "toml"
            (reader.folder / f"{n}.toml").write_text(block.text)
            assert "right" in reader.types(f"rebut providers check {n}.toml"), block.text
