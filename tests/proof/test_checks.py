"""Checks: what each kind shows, every runner, and checks and changes that cheat."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from rebut.domain.checks import CodeCheck, Shows
from rebut.proof import sandbox
from rebut.proof.checks import CheckedSides, CheckRunner, shortened
from rebut.workspace.tree import LiveView

CART = "def total(prices):\n    return sum(prices)\n"
WRONG = "def total(prices):\n    return sum(prices[1:])\n"
OLD = {
    "shop/__init__.py": "",
    "shop/cart.py": CART,
    "lib/cart.mjs": "export const total = (prices) => prices.reduce((a, b) => a + b, 0)\n",
    "go.mod": "module example.org/shop\n\ngo 1.19\n",
    "cart/cart.go": "package cart\n\nfunc Two() int { return 2 }\n",
}
NEW = OLD | {
    "shop/cart.py": WRONG,
    "lib/cart.mjs": "export const total = (prices) => prices.slice(1).reduce((a, b) => a + b, 0)\n",
    "cart/cart.go": "package cart\n\nfunc Two() int { return 3 }\n",
}
TRUE_CHECK = "from shop.cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
ONLY_NEW: Shows = "fails only on the new version"


def folder_of(place: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return place


def ran(
    tmp_path: Path,
    checks: Sequence[CodeCheck],
    new: Mapping[str, str] = NEW,
    old: Mapping[str, str] | None = OLD,
    **more: object,
) -> list[CodeCheck]:
    found = asyncio.run(sandbox.find_sandbox(os.environ))
    if isinstance(found, str):
        pytest.skip(f"left out: {found}")

    async def all_of() -> list[CodeCheck]:
        views = [
            await LiveView.open(folder_of(tmp_path / name, files), str) if files is not None else None
            for name, files in (("new", new), ("old", old))
        ]
        env = {**os.environ, "VIRTUAL_ENV": sys.prefix}
        runner = CheckRunner(tmp_path / "new", env)
        try:
            sides = CheckedSides(views[0], views[1], changed=tuple(sorted(new)), **more)  # type: ignore[arg-type]
            return [await runner.run(check, sides) for check in checks]
        finally:
            await runner.close()
            for view in views:
                if view is not None:
                    await view.close()

    return asyncio.run(all_of())


# what each kind shows


@pytest.mark.parametrize(
    ("check", "mark", "why"),
    [
        (CodeCheck("pytest", TRUE_CHECK), "shown", "fails on the new version and passes on the old one"),
        (CodeCheck("pytest", TRUE_CHECK.replace("== 3", "== 2")), "refuted", "passes on the new version"),
        (CodeCheck("pytest", TRUE_CHECK.replace("== 3", "== 4")), "refuted", "fails on the old version as well"),
        (CodeCheck("pytest", "from shop.cart import gone\n"), "broken", "a name, an import or its syntax"),
        (CodeCheck("pytest", "def test_it(:\n"), "broken", "a name, an import or its syntax"),
        (CodeCheck("pytest", "x = 1\n"), "broken", "it has no test"),
        (CodeCheck("pytest", "import pytest\n\ndef test_it():\n    pytest.skip()\n"), "broken", "it has no test"),
        (CodeCheck("python", "from shop.cart import total\nprint(total([1, 2]))", "prints this", "2"), "shown", ""),
        (CodeCheck("python", "from shop.cart import total\nprint(total([1, 2]))", "prints this", "3"), "refuted", ""),
        (CodeCheck("python", "from shop.cart import total\ntotal([])", "passes on the new version"), "shown", ""),
        (CodeCheck("python", "from shop.cart import total\ntotal(3)", "passes on the new version"), "refuted", ""),
        (CodeCheck("nothing", "x"), "broken", "no runner is called nothing"),
        (CodeCheck("python", "  \n"), "broken", "it has no code"),
        (CodeCheck("python", "x = 1\n" * 9000), "broken", "longer than"),
    ],
)
def test_a_mark_says_what_running_it_showed(check: CodeCheck, mark: str, why: str, tmp_path: Path) -> None:
    (got,) = ran(tmp_path, [check])
    assert (got.mark, why in got.note) == (mark, True), got
    assert got.code == check.code and len(got.output.encode()) <= 2000
    if mark in ("shown", "refuted"):
        assert got.command.startswith("/env/bin/python -I /rebut/launcher.py")


def test_code_that_the_old_version_lacks_is_shown_only_if_the_failure_is_about_it(tmp_path: Path) -> None:
    new = NEW | {"shop/tax.py": "def tax(price):\n    return price / 0\n"}
    one = "from shop.tax import tax\n\n\ndef test_tax():\n    assert tax(1) == 1\n"
    shows: Shows = "fails on the new version"
    real, empty, strict = ran(
        tmp_path,
        [
            CodeCheck("pytest", one, shows),
            CodeCheck("pytest", "def test_it():\n    assert False\n", shows),
            CodeCheck("pytest", one),
        ],
        new,
    )
    assert real.mark == "shown" and "cannot run on the old version" in real.note
    assert empty.mark == "refuted" and "in the same way" in empty.note
    assert strict.mark == "broken" and strict.note.startswith("on the old version:")


def test_without_an_old_side_the_other_run_has_no_files(tmp_path: Path) -> None:
    real, empty = ran(
        tmp_path, [CodeCheck("pytest", TRUE_CHECK), CodeCheck("pytest", "def test_it():\n    assert 0\n")], old=None
    )
    assert real.mark == "shown" and "cannot run without the project's files" in real.note
    assert empty.mark == "refuted"


@pytest.mark.parametrize(
    ("check", "needs"),
    [
        (CodeCheck("shell", 'python -c "from shop.cart import total; assert total([1, 2]) == 3"\n'), "sh"),
        (
            CodeCheck(
                "node",
                "import test from 'node:test'\nimport assert from 'node:assert'\n"
                "import { total } from '/w/lib/cart.mjs'\ntest('total', () => assert.equal(total([1, 2]), 3))\n",
            ),
            "node",
        ),
        (
            CodeCheck(
                "go",
                'package rebut_check\n\nimport (\n\t"testing"\n\n\t"example.org/shop/cart"\n)\n\n'
                'func TestTwo(t *testing.T) {\n\tif cart.Two() != 2 {\n\t\tt.Fatal("not two")\n\t}\n}\n',
            ),
            "go",
        ),
    ],
    ids=lambda one: one if isinstance(one, str) else one.runner,
)
def test_every_runner_tells_a_failure_from_what_cannot_run(check: CodeCheck, needs: str, tmp_path: Path) -> None:
    if shutil.which(needs) is None:
        pytest.skip(f"left out: {needs} is not installed")
    leaves = {"node": "process.exit(0)\n", "go": "package rebut_check\n", "shell": "no-such-command\n"}[check.runner]
    shown, broken = ran(tmp_path, [check, CodeCheck(check.runner, leaves)])
    assert shown.mark == "shown", shown
    assert broken.mark == "broken", broken


# checks that cheat


def caught(marks: Sequence[CodeCheck]) -> str:
    return f"{sum(one.mark != 'shown' for one in marks)} of {len(marks)}"


def test_checks_that_pass_everywhere_are_caught(tmp_path: Path) -> None:
    codes = ["assert True", "import shop\nassert shop", "print('ok')", "import sys\nsys.exit(0)"]
    everywhere = [
        CodeCheck("python", code, shows) for code in codes for shows in (ONLY_NEW, "fails on the new version")
    ]
    bare = [CodeCheck("python", code, "passes on the new version") for code in ("assert True", "print('ok')")]
    said = [CodeCheck("python", "print('ok')", "prints this", "ok")]
    assert caught(ran(tmp_path, [*everywhere, *bare, *said])) == "11 of 11"


def test_checks_that_only_fail_are_caught(tmp_path: Path) -> None:
    codes = ["assert False", "raise SystemExit(1)", "1 / 0", "import shop\nassert not shop", "import os\nos._exit(1)"]
    assert caught(ran(tmp_path, [CodeCheck("python", code, s) for code in codes for s in (ONLY_NEW,)])) == "5 of 5"
    again = [CodeCheck("python", code, "fails on the new version") for code in codes[:3]]
    assert caught(ran(tmp_path / "again", again)) == "3 of 3"


def test_checks_that_look_at_the_clock_are_caught(tmp_path: Path) -> None:
    second = "import time\nassert int(time.time()) % 2"
    moment = "import time\nassert time.time_ns() // 1000 % 2"
    chance = "import os\nassert os.urandom(1)[0] % 2"
    marks = ran(tmp_path, [CodeCheck("python", code) for code in (second, moment, chance) for _ in range(5)])
    # Chance alone shows one in 64 of these.
    assert sum(one.mark == "shown" for one in marks) <= 3, caught(marks)
    assert sum("different results" in one.note for one in marks) + sum(one.mark == "refuted" for one in marks) >= 12


def test_checks_that_look_at_the_network_are_caught(tmp_path: Path) -> None:
    codes = [
        "import socket\nsocket.create_connection(('192.0.2.1', 80), 1)",
        "import urllib.request\nurllib.request.urlopen('http://example.org', timeout=1)",
        "import socket\ntry:\n    socket.getaddrinfo('example.org', 80)\nexcept OSError:\n    raise SystemExit(1)",
    ]
    assert caught(ran(tmp_path, [CodeCheck("python", code) for code in codes])) == "3 of 3"


def test_a_check_that_reads_the_source_is_told_to_the_judge(tmp_path: Path) -> None:
    code = "assert '[1:]' not in open('/w/shop/cart.py').read()"
    (got,) = ran(tmp_path, [CodeCheck("python", code)])
    assert got.mark == "shown" and "it reads files or starts programs by itself" in got.note


def test_neither_the_command_line_nor_names_nor_times_tell_a_check_its_side(tmp_path: Path) -> None:
    look = "import os\nprint(os.stat('/w/shop/cart.py').st_mtime, open('/proc/1/cmdline').read().split('check')[0])"
    both = "import re\nassert not re.search(r'/(new|old)[-/ ]', open('/proc/self/mountinfo').read())"
    first, second = ran(tmp_path, [CodeCheck("python", look, "prints this", "x"), CodeCheck("python", both)])
    assert "1600000000.0" in first.output and "ro-bind" not in first.output
    assert second.mark == "refuted" and second.note.startswith("it passes on the new version")


# changes that cheat

FORGED = "import os\nos.write(1, b'1 passed in 0.01s\\n')\nos._exit(0)\n"


@pytest.mark.parametrize(
    "name",
    [
        *("conftest.py", "shop/conftest.py", "sitecustomize.py", "usercustomize.py", "src/sitecustomize.py"),
        *("pytest.py", "_pytest/__init__.py", "unittest/__init__.py", "json.py", "rebut_check/__init__.py"),
    ],
)
def test_code_that_a_change_plants_beside_its_own_does_not_run(name: str, tmp_path: Path) -> None:
    (got,) = ran(tmp_path, [CodeCheck("pytest", TRUE_CHECK)], NEW | {name: FORGED})
    assert got.mark == "shown", got


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", "[pytest]\naddopts = --collect-only\n"),
        ("tox.ini", "[pytest]\naddopts = --deselect rebut_check\n"),
        ("setup.cfg", "[tool:pytest]\naddopts = --exitfirst --co\n"),
        ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = '-p shop.forged'\n"),
        ("forged.pth", "import os; os._exit(0)\n"),
    ],
)
def test_configuration_that_a_change_brings_is_not_loaded_and_that_is_said(
    name: str, text: str, tmp_path: Path
) -> None:
    (got,) = ran(tmp_path, [CodeCheck("pytest", TRUE_CHECK)], NEW | {name: text})
    assert got.mark == "shown", got
    assert f"the change touches {name}, which checks do not load" in got.note


@pytest.mark.parametrize("runner", ["pytest", "python"])
def test_code_under_test_that_ends_the_process_proves_nothing(runner: str, tmp_path: Path) -> None:
    code = TRUE_CHECK if runner == "pytest" else "from shop.cart import total\nassert total([1, 2]) == 3\n"
    (got,) = ran(tmp_path, [CodeCheck(runner, code)], NEW | {"shop/cart.py": FORGED})
    assert (got.mark, got.note.partition(";")[0]) == ("broken", "it exited before the check was finished")
    (passes,) = ran(
        tmp_path / "again", [CodeCheck(runner, code, "passes on the new version")], NEW | {"shop/cart.py": FORGED}
    )
    assert passes.mark == "broken"


def test_a_check_that_never_ends_is_broken_and_says_so(tmp_path: Path) -> None:
    from dataclasses import replace

    from rebut.proof import runners

    found = asyncio.run(sandbox.find_sandbox(os.environ))
    if isinstance(found, str):
        pytest.skip(f"left out: {found}")

    async def run() -> CodeCheck:
        table = {name: replace(one, seconds=2) for name, one in runners.load_runners().items()}
        runner = CheckRunner(tmp_path, os.environ, tables=table)
        try:
            return await runner.run(CodeCheck("python", "while True: pass"), CheckedSides(None))
        finally:
            await runner.close()

    got = asyncio.run(run())
    assert (got.mark, got.note) == ("broken", "it took longer than 2 s")


# copies


def test_a_copy_has_only_what_may_be_sent_and_secrets_are_replaced(tmp_path: Path) -> None:
    secret = "hunter2hunter2"
    files = NEW | {
        ".env": secret,
        "keys/id_rsa": secret,
        ".git/config": secret,
        "shop/config.py": f"KEY = '{secret}'\n",
    }
    look = "import os\nfor top, _, names in os.walk('/w'):\n    for name in names:\n        print(top + '/' + name)\n"
    look += "print(open('/w/shop/config.py').read())"

    async def run() -> CodeCheck:
        view = await LiveView.open(
            folder_of(tmp_path / "new", files), lambda text: text.replace(secret, "[secret:x:1]")
        )
        runner = CheckRunner(tmp_path / "new", {**os.environ, "VIRTUAL_ENV": ""})
        try:
            return await runner.run(CodeCheck("python", look, "prints this", "x"), CheckedSides(view))
        finally:
            await runner.close()
            await view.close()

    if isinstance(found := asyncio.run(sandbox.find_sandbox(os.environ)), str):
        pytest.skip(f"left out: {found}")
    got = asyncio.run(run())
    assert "/w/shop/cart.py" in got.output and "[secret:x:1]" in got.output
    for word in (".env", "id_rsa", ".git/", secret):
        assert word not in got.output


def test_where_there_is_no_sandbox_a_check_is_not_run(tmp_path: Path) -> None:
    async def run() -> tuple[CodeCheck, dict[str, str]]:
        runner = CheckRunner(tmp_path, {"PATH": str(tmp_path)})
        try:
            return await runner.run(CodeCheck("python", "x = 1"), CheckedSides(None)), await runner.available()
        finally:
            await runner.close()

    got, missing = asyncio.run(run())
    assert got.mark == "not run" and "bubblewrap" in got.note
    assert set(missing) == {"pytest", "python", "shell", "node", "go"} and all(missing.values())


def test_long_output_keeps_its_beginning_and_its_end() -> None:
    text = shortened("a" * 3000 + "ü" * 3000)
    assert len(text.encode()) <= 2000 and text.startswith("aaa") and text.endswith("üüü")


def test_a_runner_that_does_not_work_here_is_not_run_and_that_is_said(tmp_path: Path) -> None:
    import venv

    if isinstance(found := asyncio.run(sandbox.find_sandbox(os.environ)), str):
        pytest.skip(f"left out: {found}")
    venv.create(tmp_path / ".venv", symlinks=True)  # it has no pytest

    async def run() -> tuple[CodeCheck, tuple[str, str]]:
        runner = CheckRunner(tmp_path, {**os.environ, "VIRTUAL_ENV": ""})
        try:
            check = CodeCheck("pytest", TRUE_CHECK)
            return await runner.run(check, CheckedSides(None)), await runner.side(check, CheckedSides(None))
        finally:
            await runner.close()

    got, (side, note) = asyncio.run(run())
    assert (got.mark, side) == ("not run", "")
    assert got.note == note and note.startswith("pytest does not work in the sandbox: ") and "No module" in note
