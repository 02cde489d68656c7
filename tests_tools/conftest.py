"""What the tests of the real tools share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests_tools.server import Server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as running:
        yield running
