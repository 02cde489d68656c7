"""Where the measured sessions live: an empty folder of their own, on the disk that temporary files are on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


@contextmanager
def own_home() -> Iterator[Path]:
    """An empty folder to debate in, outside of any repository, and a home of its own for the sessions."""
    with TemporaryDirectory(prefix="rebut-bench-") as folder:
        os.environ["REBUT_HOME"] = f"{folder}/home"
        workspace = Path(folder) / "work"
        workspace.mkdir()
        yield workspace
