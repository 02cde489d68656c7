"""What the tests with PostgreSQL share: a server for all of them, and a database for each."""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from console import REBUT

from tests_postgres import cluster
from tests_postgres.cluster import Cluster

KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "PYTEST_DEBUG_TEMPROOT", "PYTHONDONTWRITEBYTECODE")


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment without any key, and a home of its own."""
    home = tmp_path_factory.mktemp("home")
    for name in os.environ:
        if name not in KEPT and not name.startswith("PYTEST_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture(scope="session")
def server() -> Iterator[Cluster]:
    with cluster.running() as one:
        yield one


@pytest.fixture
def empty(server: Cluster) -> str:
    """The address of a database without tables."""
    return server.create(f"t{secrets.token_hex(4)}")


@pytest.fixture
def database(empty: str) -> str:
    """The address of a database with the tables of this version."""
    subprocess.run([REBUT, "batch", "upgrade", "--on", empty], check=True, capture_output=True)
    return empty


@pytest.fixture
def sql(database: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(database, autocommit=True) as connection:
        yield connection
