"""The page in the browser: how soon an event is on screen, how long a long debate takes to open, and what it weighs."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from bench import said
from bench.places import own_home
from bench.table import Row

if TYPE_CHECKING:
    from playwright.sync_api import Browser

EVENTS = 50
CALLS = 1000
SOON = 300.0
"""Milliseconds."""
OPEN = 2000.0
LONG = 100.0
PAGE = 150_000
LONGEST = """
window.longest = 0;
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) window.longest = Math.max(window.longest, one.duration);
}).observe({ type: "longtask", buffered: false });
"""
REPORTED = 600
"""Milliseconds until the browser has reported a long task."""
BUSY = "setTimeout(() => { const end = performance.now() + 200; while (performance.now() < end); }, 0)"
"""A task that is too long, which the observer must report."""


def rows() -> list[Row]:
    from rebut.web import assets

    files = sum(path.stat().st_size for path in (Path(assets.__file__).parent / "page").iterdir())
    out = [Row("the page's own files, beside 150 kB", files, "bytes", PAGE, 1.0)]
    with own_home() as workspace:
        folder = _recorded(workspace)
        out.append(_exported(folder, files, "of a short debate"))
        from tests_web import chromium

        if missing := chromium.missing():
            print(f"the page was not opened: {missing}", file=sys.stderr)
            return out
        return [*out, *_shown(folder, workspace, files)]


def _recorded(workspace: Path) -> Path:
    """A duel, whose journal then grows to a thousand calls."""
    from rebut.record import sessions

    (workspace / "app.py").write_text("timeout = 30\n")
    answers = {
        "pro": {"r1/opening@proposer": {"json": said.opening()}, "r2/defense@proposer": {"json": said.defense(2)}},
        "con": {"r1/challenge@challenger": {"json": said.challenge()}, "r2/*@challenger": {"json": said.follow_up(2)}},
        "judge": {"*@judge": {"json": said.verdict()}},
    }
    seats = []
    for role, (name, spoken) in zip(("proposer", "challenger", "judge"), answers.items(), strict=True):
        path = workspace / f"{name}.json"
        path.write_text(json.dumps({"model": name, "family": name, "answers": spoken}))
        seats += [f"--{role}", f"scripted:{path}"]
    command = [
        sys.executable,
        "-m",
        "rebut",
        "duel",
        "Keep the timeout?",
        "--rounds",
        "2",
        "--allow-same-model",
        *seats,
    ]
    subprocess.run(command, cwd=workspace, check=True, capture_output=True, env=dict(os.environ))
    [one] = sessions.sessions(sessions.home())
    return one.folder


def _grown(folder: Path, *, own_points: bool) -> None:
    """A thousand calls: the rounds of the duel again and again, with points of their own or all about the same ones."""
    path = folder / "journal.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    opened = [line for line in lines if not str(line.get("key", "")).startswith("r") and line["kind"] != "closed"]
    rounds = [line for line in lines if str(line.get("key", "")).startswith("r")]
    opened = [line for line in opened if "verdict" not in str(line.get("key", ""))]
    calls = sum(line["kind"] == "asked" for line in rounds)
    entries = [e for line in rounds if str(line["key"]).endswith("#ledger") for e in line["value"]["entries"]]
    points, claims = (sum(e["entry"] == kind for e in entries) for kind in ("point", "claim"))
    out: list[dict[str, Any]] = [*opened]
    for n in range(-(-CALLS // calls)):
        for line in rounds:
            text = json.dumps(line)
            for old in ("r2/", "r1/"):
                text = text.replace(f'"key": "{old}', f'"key": "r{2 * n + int(old[1])}/')
            made = json.loads(text)
            if made["kind"] == "fact" and str(made["key"]).endswith("#ledger"):
                for entry in made["value"]["entries"]:
                    entry["round"] = 2 * n + int(line["key"][1])
                    if not own_points:
                        continue
                    if "text" in entry:
                        entry["text"] = f"{entry['text']} Again, {n}."
                    for name in ("point", "about", "same_as"):
                        if found := re.fullmatch(r"([A-Z])(\d+)", str(entry.get(name) or "")):
                            entry[name] = f"{found[1]}{int(found[2]) + n * (claims if found[1] == 'C' else points)}"
            out.append(made)
    path.write_text("".join(json.dumps({**line, "seq": at}) + "\n" for at, line in enumerate(out, 1)))


def _exported(folder: Path, files: int, about: str) -> Row:
    from rebut.cli.debated_versions import debated_versions
    from rebut.web.document import document

    with ThreadPoolExecutor(1) as thread:  # playwright has an event loop in this one
        html = thread.submit(lambda: asyncio.run(document(folder, debated_versions))).result()
    journal = (folder / "journal.jsonl").stat().st_size
    name = f"the exported file {about}, beside the journal and those files"
    return Row(name, len(html.encode()), "bytes", journal + files, 1.3)


def _shown(folder: Path, workspace: Path, files: int) -> list[Row]:
    from playwright.sync_api import sync_playwright

    from tests_web import chromium
    from tests_web.serving import served
    from tests_web.tabs import tab

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium.found(), args=[*chromium.ARGUMENTS])
        waits = []
        path = folder / "journal.jsonl"
        whole = path.read_bytes()
        last = [line for line in whole.splitlines(keepends=True) if b'"kind":"asked"' in line][-1]
        with served(folder.parent, workspace, folder.name) as address, tab(browser, address()) as shown:
            shown.page.locator(".player output").wait_for()
            count = whole.count(b"\n")
            for n in range(EVENTS):
                event = json.loads(last) | {"seq": count + n + 1, "key": f"r9/extra.{n}@judge"}
                with path.open("ab") as file:
                    file.write(json.dumps(event).encode() + b"\n")
                    file.flush()
                    os.fsync(file.fileno())
                began = time.monotonic()
                shown.page.locator(".player output", has_text=f"event {count + n + 1} of").wait_for()
                waits.append(1000 * (time.monotonic() - began))
        long = []
        for about, own_points in (("each with points of its own", True), ("all about the same points", False)):
            path.write_bytes(whole)
            _grown(folder, own_points=own_points)
            long += [
                *_opened(browser, folder, workspace, about),
                _exported(folder, files, f"of {CALLS:,} calls, {about}"),
            ]
        browser.close()
    return [
        Row(f"an event on screen after its sync, median of {EVENTS}, beside 0.3 s", median(waits), "ms", SOON, 1.0),
        *long,
    ]


def _opened(browser: Browser, folder: Path, workspace: Path, about: str) -> list[Row]:
    """How long a debate takes to open, and how it scrolls then."""
    from tests_web.serving import served
    from tests_web.tabs import tab

    events = (folder / "journal.jsonl").read_bytes().count(b"\n")
    first, opened, longest = [], [], []
    for _ in range(3):
        with served(folder.parent, workspace, folder.name) as address, tab(browser) as shown:
            page = shown.page
            began = time.monotonic()
            page.goto(address())
            page.locator("#turns .turn").first.wait_for()
            page.locator(".card").first.wait_for()
            first.append(1000 * (time.monotonic() - began))
            page.locator(".player output", has_text=f"event {events} of").wait_for()
            opened.append(1000 * (time.monotonic() - began))
            page.wait_for_timeout(1500)
            page.evaluate(LONGEST)
            for _ in range(30):
                page.mouse.wheel(0, 900)
                page.wait_for_timeout(40)
            page.wait_for_timeout(REPORTED)
            longest.append(float(page.evaluate("window.longest")))
            page.evaluate(BUSY)
            page.wait_for_timeout(REPORTED)
            if float(page.evaluate("window.longest")) < LONG:
                raise RuntimeError("the browser does not report long tasks, so the row about scrolling says nothing")
    return [
        Row(f"a debate of {CALLS:,} calls, {about}: all of it is open, beside 2 s", median(opened), "ms", OPEN, 1.0),
        Row("  its beginning is on screen", median(first), "ms", OPEN, 1.0),
        Row("  the longest task while it is scrolled, beside 100 ms", median(longest), "ms", LONG, 1.0),
    ]
