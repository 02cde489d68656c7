"""A check in the sandbox beside the bare command, and a hundred checks at once."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from bench.table import Row
from rebut.domain.checks import CodeCheck
from rebut.proof import sandbox
from rebut.proof.checks import CheckedSides, CheckRunner
from rebut.proof.environments import Interpreter, python
from rebut.proof.sandbox import Inside, Mount
from rebut.workspace.tree import LiveView

TIMES = 9
MANY = 100
CODE = "from shop.cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
CART = "def total(prices):\n    return sum(prices)\n"
FLAGS = ("-q", "--noconftest", "-p", "no:cacheprovider", "-c", "/dev/null", "--import-mode=importlib")


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as place:
        new, old = (_project(Path(place, name)) for name in ("new", "old"))
        (new / "shop/cart.py").write_text(
            CART.replace("prices)", "prices[1:])", 2).replace("total(prices[1:])", "total(prices)")
        )
        return asyncio.run(_rows(Path(place), new, old))


def _project(folder: Path) -> Path:
    (folder / "shop").mkdir(parents=True)
    (folder / "shop/__init__.py").write_text("")
    (folder / "shop/cart.py").write_text(CART)
    (folder / "rebut_check").mkdir()
    (folder / "rebut_check/test_check.py").write_text(CODE)
    return folder


async def _rows(place: Path, new: Path, old: Path) -> list[Row]:
    env = {**os.environ, "VIRTUAL_ENV": sys.prefix}
    box = await sandbox.find_sandbox(env)
    if isinstance(box, str):
        print(f"checks are not measured: {box}", file=sys.stderr)
        return []
    found = python(new, env, place)
    assert isinstance(found, Interpreter)
    check = place / "check.py"
    check.write_text(CODE)
    inside = found.inside + Inside((Mount(check, "/w/rebut_check/test_check.py"),))
    command = [found.names["python"], "-I", found.names["launcher"], "pytest", "/w/rebut_check/test_check.py"]
    start = f"import sys, pytest; sys.path.append({str(old)!r}); sys.exit(pytest.main({[*FLAGS, 'rebut_check']!r}))"
    alone = [sys.executable, "-I", "-c", start]
    quiet = {"PATH": env["PATH"], "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    boxed, bare = list[float](), list[float]()
    copy = place / "copy"
    copy.mkdir()
    (copy / "shop").mkdir()
    for name in ("__init__.py", "cart.py"):
        (copy / "shop" / name).write_text((old / "shop" / name).read_text())
    for _ in range(TIMES):  # by turns, so that a busy moment meets both
        boxed.append((await box.run(command, copy, inside, feed=b"word\n")).seconds)
        began = time.monotonic()
        await asyncio.to_thread(subprocess.run, alone, cwd=old, env=quiet, stdout=subprocess.DEVNULL, check=True)
        bare.append(time.monotonic() - began)
    views = [await LiveView.open(folder, str) for folder in (new, old)]
    runner = CheckRunner(new, env)
    sides = CheckedSides(views[0], views[1])
    script = "from shop.cart import total\nassert total([1, 2]) == 3, {}\n"
    try:
        await runner.run(CodeCheck("python", script.format(0)), sides)  # the copies are made
        began = time.monotonic()
        marks = await asyncio.gather(*(runner.run(CodeCheck("python", script.format(n)), sides) for n in range(MANY)))
        wall = time.monotonic() - began
    finally:
        await runner.close()
        for view in views:
            await view.close()
    shown = sum(one.mark == "shown" for one in marks)
    return [
        Row(
            "a pytest check in the sandbox, beside the bare command",
            median(boxed) * 1000,
            "ms",
            median(bare) * 1000,
            1.3,
        ),
        Row(f"{MANY} checks of six runs each, {os.cpu_count()} cores: wall", wall, "s"),
        Row("  shown, of those that are true", shown, "", MANY),
    ]
