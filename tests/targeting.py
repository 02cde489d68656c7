"""Short ways to resolve a target in a test."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest
from repositories import redact

from rebut.core.errors import NothingRead, UsageError
from rebut.core.types import Changed
from rebut.workspace.targets.resolve import resolve
from rebut.workspace.targets.target import Target, Wanted


def target(root: Path, scope: str = "", *, never: tuple[str, ...] = (), **given: object) -> Target:
    """Resolve, and hold what is true of every target: no secret in it, and a diff that leads from side to side."""
    found = asyncio.run(resolve(root, Wanted(scope=scope, **given), redact, never))  # type: ignore[arg-type]
    assert "hunter2" not in str(found.to_json())
    assert Target.from_json(found.to_json()) == found
    return found


def changed(found: Target, path: str) -> Changed:
    return next(change for change in found.changes if change.path == path)


def paths(found: Target) -> list[str]:
    return [change.path for change in found.changes]


def refused(root: Path, scope: str = "", **given: object) -> str:
    with pytest.raises((UsageError, NothingRead)) as error:
        target(root, scope, **given)
    assert error.value.hint
    return str(error.value)


def applies(found: Target, folder: Path) -> None:
    """The diff of a target, applied by git to the old sides, gives exactly the new ones."""
    folder.mkdir()
    for change in found.changes:
        if change.before is not None:
            place = folder / (change.old_path or change.path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(change.before.encode())
    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"], cwd=folder, input=found.diff.encode(), capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode() + found.diff
    for change in found.changes:
        place = folder / change.path
        if change.after is None:
            assert not place.is_file()
        elif place.is_symlink():
            assert str(place.readlink()) == change.after
        else:
            assert place.read_bytes() == change.after.encode(), change.path
