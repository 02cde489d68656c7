"""A final patch that git could not put in place: the working tree is as it was, and nothing is left beside it."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest
from test_exact_patch import AFTER, ORDERS, tree


def test_what_git_could_not_finish_is_taken_back(shop: Path, tmp_path: Path) -> None:  # J10
    """The copies that a failing disk needs are links; nothing of them stays behind."""
    from rebut.ci.apply import _OldFiles

    kept = _OldFiles(shop)
    for name in (ORDERS, "README.md", "new/deep/x.py"):  # of which git came to the first and the last
        kept.keep(name)
    (shop / ORDERS).unlink()
    (shop / "new/deep").mkdir(parents=True)
    (shop / "new/deep/x.py").write_text("half")
    assert kept.restore() == []
    assert tree(shop) == {ORDERS: ("file", AFTER), "README.md": ("file", b"# Shop\n")}
    assert not (shop / "new").exists()


@pytest.mark.parametrize("how", ["fails", "hangs"])
def test_git_that_breaks_off_leaves_the_tree_as_it_was(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:  # J10
    """Its disk is full after the first file, or somebody presses Ctrl-C there."""
    from rebut.ci import apply

    before, git = tree(shop), shutil.which("git")
    shim = tmp_path / "bin/git"
    shim.parent.mkdir()
    breaks = "echo 'error: No space left on device' >&2; exit 1" if how == "fails" else "while :; do sleep 1; done"
    half = f"rm {ORDERS}; echo half > {ORDERS}; : > {tmp_path}/came; {breaks}"
    shim.write_text(f'#!/bin/sh\ncase "$*" in *"apply -") {half};; *apply*) exit 0;; esac\nexec {git} "$@"\n')
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}:{os.environ['PATH']}")

    async def put() -> None:
        work = asyncio.ensure_future(apply._put(shop, b"", [ORDERS, "README.md"]))
        while how == "hangs" and not (tmp_path / "came").exists():  # noqa: ASYNC110  git tells nobody
            await asyncio.sleep(0.01)
        if how == "hangs":
            work.cancel()
        await work

    with pytest.raises(apply.NotApplied if how == "fails" else asyncio.CancelledError):
        asyncio.run(put())
    assert tree(shop) == before
