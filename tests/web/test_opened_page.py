"""The page is opened in the browser: the debate neither waits for the browser nor ends it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from recorded import FOLDERS
from test_controls import Steering, request
from test_server import browser, copied, seen, serving

from rebut.cli.live_page import show
from rebut.core.errors import WaitingForPerson
from rebut.web.controls import Controls
from rebut.web.document import document
from rebut.web.frames import _filled

SESSION = next(folder for folder in FOLDERS if "steelman-finished/" in str(folder))


def script(folder: Path, body: str) -> Path:
    made = folder / "browser"
    made.write_text(f"#!/bin/sh\n{body}\n")
    made.chmod(0o755)
    return made


@pytest.fixture
def home(tmp_path: Path) -> Path:
    copied(SESSION, tmp_path / "rebut")
    return tmp_path / "rebut"


def test_a_browser_that_returns_when_it_is_closed_is_served_meanwhile(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`$BROWSER` is waited for by Python's `webbrowser`: the server must answer all the same."""
    load = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1])"
    opener = script(tmp_path, f'exec {sys.executable} -c "{load}" "$1"')
    monkeypatch.setenv("BROWSER", f"{opener} %s")

    async def act() -> None:
        async with serving(home, session=SESSION.name) as viewer:
            assert await show(viewer)
            printed = capsys.readouterr().err
            async with browser(viewer) as client, client.get(printed.split()[-1]) as answer:
                assert answer.status == 200  # the printed address has a token of its own
            await seen(lambda: not viewer._tokens)  # each was used: one by this client, one by the browser

    asyncio.run(act())


OPENS = """
import asyncio, os, sys
from pathlib import Path
from rebut.cli.debated_versions import debated_versions
from rebut.cli.live_page import show
from rebut.core import process
from rebut.web.server import Viewer

async def main():
    process.adopts = True
    process._adopt_orphans()  # as for the first tool
    viewer = Viewer(Path(sys.argv[1]) / "sessions", Path(sys.argv[1]), debated_versions, session=sys.argv[2])
    await viewer.start()
    await show(viewer)
    while not Path(sys.argv[3]).exists():
        await asyncio.sleep(0.01)
    process.end_adopted()  # as after a debate
    await viewer.stop()
asyncio.run(main())
"""


def test_a_browser_that_was_started_outlives_the_debate(home: Path, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    window = f"echo $$ > {begun}.part; mv {begun}.part {begun}; while [ -e {begun} ]; do sleep 0.05; done"
    opener = script(tmp_path, f"sh -c '{window}' > /dev/null 2>&1 &")
    env = {**os.environ, "BROWSER": f"{opener} %s"}
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(OPENS), str(home), SESSION.name, str(begun)], env=env, check=True
    )
    try:
        os.kill(int(begun.read_text()), 0)  # an error if it is gone
    finally:
        begun.unlink()  # closes the window


def test_without_a_page_a_person_is_not_waited_for() -> None:
    async def act() -> None:
        controls = Controls(Steering())
        waiting = asyncio.create_task(controls.complete(request()))
        await asyncio.sleep(0)
        controls.close("no port")
        with pytest.raises(WaitingForPerson, match="no port"):
            await waiting
        with pytest.raises(WaitingForPerson, match="no port"):
            await controls.complete(request())

    asyncio.run(act())


def test_the_exported_file_names_no_folder_of_the_user(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message, or a raw reply, may have the path of a file."""
    monkeypatch.setenv("HOME", "/people/ann")
    path = home / "sessions" / SESSION.name / "journal.jsonl"
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    lines[0]["workspace"] = "/srv/team/shop"
    attempt = next(line for line in lines if line["kind"] == "attempt")
    attempt["text"] = "see /srv/team/shop/a.py, /people/ann/.cache/x and /people/ann-else/y"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    made = asyncio.run(document(path.parent, lambda record, folder: None))
    assert "see shop/a.py, ~/.cache/x and /people/ann-else/y" in made and "/srv/team" not in made


def test_a_call_that_costs_nothing_has_a_price_and_round_0_is_a_round() -> None:
    assert _filled({"usd": 0.0, "round": 0, "text": "", "struck": False, "cites": []}) == {"usd": 0.0, "round": 0}
