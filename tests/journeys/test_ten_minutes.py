"""The ten-minute pages of the docs, followed word for word."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from following import Reader, blocks

ROOT = Path(__file__).parents[2]


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    (tmp_path / "setup").mkdir()
    one = Reader(
        tmp_path / "setup", {"XDG_CONFIG_HOME": str(tmp_path / "config"), "PYTHONPATH": str(tmp_path / "site")}
    )
    yield one
    one.leaves()


@pytest.mark.long
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
            assert "   ok\n" in reader.types(f"rebut models check {n}.toml"), block.text
