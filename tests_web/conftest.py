"""What the tests of the page share: a home of their own, one browser, and recorded debates."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests_web import chromium, material
from tests_web.material import Material
from tests_web.serving import in_thread

KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "PYTEST_DEBUG_TEMPROOT", "PYTHONDONTWRITEBYTECODE")


@pytest.fixture(scope="session", autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An environment without any key, and a home of its own."""
    before = dict(os.environ)
    cached = chromium.cache()
    for name in before:
        if name not in KEPT and not name.startswith(("PYTEST_", "XDG_RUNTIME")):
            del os.environ[name]
    home = tmp_path_factory.mktemp("home")
    os.environ |= {"HOME": str(home), "REBUT_HOME": str(home / "rebut"), "REBUT_WEB_CACHE": str(cached), "TZ": "UTC"}
    yield home
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="session")
def browser(own_home: Path) -> Iterator[Browser]:
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=chromium.found(), args=[*chromium.ARGUMENTS])
        yield started
        started.close()


@pytest.fixture(scope="session")
def recorded(own_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Material:
    made: Material = in_thread(lambda: material.made(tmp_path_factory.mktemp("material")))
    return made


@pytest.fixture(scope="session")
def axe() -> str:
    return chromium.axe()
