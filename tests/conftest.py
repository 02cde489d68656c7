"""Every test runs with a home of its own and none of the user's environment."""

from __future__ import annotations

import gc
import os
import shutil
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import hypothesis
import pytest
from crashing import repository

from rebut.core import caps

TOOLS = ("claude", "codex", "gemini", "qwen", "opencode", "copilot")

# A busy machine is no fault of what is tested: no example has a time of its own.
hypothesis.settings.register_profile("calm", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("calm")


MEMORY = Path("/dev/shm")
ENOUGH = 2_000_000_000
"""Bytes that must be free there."""


def pytest_configure() -> None:
    """Temporary folders in memory where the system has them: each event of a journal waits for its disk."""
    if os.access(MEMORY, os.W_OK):
        there = os.statvfs(MEMORY)
        if there.f_bavail * there.f_frsize > ENOUGH and not there.f_flag & os.ST_NOEXEC:
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def pytest_xdist_auto_num_workers() -> int:
    """Three for each processor: most of the time a test waits for a process, a clock or a terminal."""
    return 3 * (os.cpu_count() or 1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each worker begins with its share of the long tests: at the end, one of them would keep a single worker busy.

    A worker begins with a piece of the list, and one that is done takes over from the end of another's piece.
    """
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    long = [item for item in items if item.get_closest_marker("long")]
    rest = [item for item in items if not item.get_closest_marker("long")]
    cuts = [number * len(rest) // count for number in range(count + 1)]
    items[:] = [
        item for number in range(count) for item in (*long[number::count], *rest[cuts[number] : cuts[number + 1]])
    ]


def pytest_collection_finish() -> None:
    """What is loaded by now stays: the collector need not look through all of it again and again."""
    gc.freeze()
    gc.set_threshold(50_000)


@pytest.fixture(scope="session")
def safe_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """PATH without the folders that hold a model's tool: no test may find, and call, one of this machine's."""
    places = [place for place in os.environ["PATH"].split(":") if place.startswith("/")]
    own = tmp_path_factory.mktemp("bin")
    for name in ("git", "sh", "env", "cat", "sleep"):
        if found := shutil.which(name):
            (own / name).symlink_to(found)
    return ":".join([str(own), *(p for p in places if not any((Path(p) / tool).exists() for tool in TOOLS))])


@pytest.fixture(scope="session")
def new_homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Homes, one after the other. `mktemp` would look through all earlier ones for the next number, each time."""
    homes = tmp_path_factory.mktemp("homes")
    return (homes / str(number) for number in count())


@pytest.fixture(autouse=True)
def own_home(new_homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch, safe_path: str) -> Path:
    home = next(new_homes)
    home.mkdir(mode=0o700)
    for name in (
        *("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", "OPENROUTER_API_KEY"),
        *("OPENROUTER_BASE_URL", "VLLM_API_KEY", "LLAMA_API_KEY", "CI", "GITHUB_ACTIONS"),
        *("OPENAI_API_KEY", "OPENAI_BASE_URL", "AI_STATE_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "REBUT_CONFIG"),
        *(
            "CLAUDECODE",
            "CLAUDE_CODE_ENTRYPOINT",
            "OPENCODE",
            "OPENCODE_SESSION_ID",
            "CODEX_SANDBOX",
            "CODEX_THREAD_ID",
        ),
    ):
        monkeypatch.delenv(name, raising=False)
    # Two versions of a protocol that a test writes within a second have one compiled form.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("PAGER", "cat")  # nobody sits at a test's terminal to leave another
    monkeypatch.setenv("PATH", safe_path)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("REBUT_HOME", str(home / "rebut"))
    # A provider that asked one test to wait must not hold back the next.
    monkeypatch.setattr(caps, "_admission", caps.OwnAdmission())
    return home


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small git repository with one file to cite, as the current folder."""
    folder = repository(tmp_path / "work")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A git repository with one commit and an uncommitted change of one file."""
    import crosses

    return crosses.repository(tmp_path / "work")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A git repository of three files and one commit."""
    from repositories import small

    return small(tmp_path)
