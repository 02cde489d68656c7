"""The page's files: the modules become one script, in which every name that is used is defined before."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rebut.web import assets

PAGE = Path(assets.__file__).parent / "page"


def test_every_module_of_the_page_is_in_the_script() -> None:
    assert {path.stem for path in PAGE.glob("*.js")} == set(assets.SCRIPTS)


def test_every_name_that_is_imported_is_exported_by_an_earlier_module() -> None:
    exported: dict[str, set[str]] = {}
    for name in assets.SCRIPTS:
        source = (PAGE / f"{name}.js").read_text(encoding="utf-8")
        taken = re.findall(r"^import\s*\{([^}]*)\}\s*from \"\./(\w+)\.js\";", source, re.M)
        assert len(taken) == len(re.findall(r"^import\b", source, re.M)), f"{name}.js imports in another way"
        for names, module in taken:
            wanted = {one.strip() for one in names.split(",") if one.strip()}
            assert module in exported, f"{name}.js is joined before {module}.js, which it uses"
            assert wanted <= exported[module], f"{name}.js: {wanted - exported[module]} is not in {module}.js"
        exported[name] = set(re.findall(r"^export (?:async )?(?:function|const|class) (\w+)", source, re.M))
        assert len(exported[name]) == len(re.findall(r"^export\b", source, re.M)), f"{name}.js exports in another way"


def test_the_joined_script_has_no_import_and_no_export_left() -> None:
    script = assets.script()
    assert not re.search(r"^\s*(?:import|export)\b", script, re.M)
    assert [*re.findall(r"^const \$(\w+) = \(\(\) => \{$", script, re.M)] == [*assets.SCRIPTS]


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_node_reads_the_joined_script(tmp_path: Path) -> None:
    path = tmp_path / "app.mjs"
    path.write_text(assets.script())
    done = subprocess.run(["node", "--check", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_script_opens_no_door_for_html() -> None:
    doors = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc|javascript:|\.style\b"
    assert not re.search(doors, assets.script())


def test_the_page_loads_nothing_from_elsewhere() -> None:
    for text in (assets.page(), assets.style(), assets.script()):
        places = re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"')]*|url\([^)]*\)|@import", text)
        assert {place for place in places if not place.startswith("http://www.w3.org/")} == set()


def test_the_files_of_the_page_are_small() -> None:
    size = sum(path.stat().st_size for path in PAGE.iterdir())
    assert size <= 150_000
