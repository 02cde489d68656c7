"""The pictures of the page in docs/pictures: shipped scripted debates in a real browser, 1280 pixels wide.

Ids, times and durations are replaced by fixed ones, so that a picture changes only when the page does.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
PLACE = ROOT / "docs/pictures"
WIDTH = 1280
HEIGHTS = {"duel": 1500, "review": 1300, "panel": 1100, "sessions": 420}


def main() -> int:
    from tests_web import chromium

    if missing := chromium.missing():
        sys.exit(f"no pictures: {missing}")
    PLACE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        os.environ |= {"HOME": folder, "REBUT_HOME": str(home), "TZ": "UTC"}
        work, ids = _debates(Path(folder))
        ids = {name: _fixed(home / "sessions" / id, n) for n, (name, id) in enumerate(ids.items())}
        _draw(home / "sessions", work, ids)
    return 0


def _debates(folder: Path) -> tuple[Path, dict[str, str]]:
    """A duel and a review that rebut ships, and a panel, all in one folder."""
    import crosses
    import panels
    from repositories import commit, git

    from rebut.record import sessions

    ids: dict[str, str] = {}
    work = folder / "shop"

    def rebut(*words: str, cwd: Path = work) -> None:
        done = subprocess.run([sys.executable, "-m", "rebut", *words], cwd=cwd, capture_output=True, text=True)
        assert done.returncode in (0, 1, 3), done.stderr

    def newest() -> str:
        return next(iter(sessions.sessions(sessions.home()))).id

    rebut("demo", "--fast", "--folder", str(work), cwd=folder)
    ids["duel"] = newest()
    if not (work / ".git").exists():
        git(work, "init", "-q")
    commit(work)
    seats = panels.seats(folder / "panel", panels.tradeoff())
    experts = [word for one in seats["challenger"] for word in ("--challenger", one)]
    rebut("panel", panels.TOPIC, "--lead", seats["lead"], "--judge", seats["judge"], *experts, "--max-rounds", "2")
    ids["panel"] = newest()
    # The change of examples/review, with the findings of two scripted reviewers.
    shutil.copytree(ROOT / "examples/review/base", work, dirs_exist_ok=True)
    commit(work, "base")
    shutil.copytree(ROOT / "examples/review/changed", work, dirs_exist_ok=True)
    said = {"r1/critique@critic": crosses.critique(*_findings(work)), "r1/judgement@judge": _judgement()}
    reviewers = crosses.seats(folder / "review", said)
    rebut("cross", "--critic", reviewers["critic"], "--judge", reviewers["judge"], "--max-rounds", "1")
    ids["review"] = newest()
    return work, ids


def _findings(work: Path) -> list[dict[str, Any]]:
    """What a critic finds in the change of examples/review; the last one quotes what is not there."""
    import crosses

    lines = (work / "shop/export.py").read_text(encoding="utf-8").split("\n")

    def found(text: str, severity: str, quote: str, action: str, line: int = 0) -> dict[str, Any]:
        number = line or next(n for n, row in enumerate(lines, 1) if quote in row)
        cited = [{"place": f"shop/export.py:{number}", "quote": quote}]
        return crosses.raised(text, severity=severity, action=action, evidence=cited, category="correctness")

    return [
        found("The address reaches a shell: a customer can run any command.", "P1", "shell=True", "pass a list"),
        found("The query is built from the customer's name.", "P1", "WHERE customer = '{customer}'", "use a parameter"),
        found("`skip` is one list for all calls: the second export is empty.", "P2", "skip=[]", "begin with None"),
        found("The file is never closed.", "P2", "file.close()", "close it", 22),
    ]


def _judgement() -> dict[str, Any]:
    import crosses

    rulings = {"F1": "valid P1", "F2": "valid P1", "F3": "valid P2", "F4": "invalid P2"}
    actions = ["Send the mail without a shell.", "Give the customer's name as a parameter."]
    return crosses.judgement("E", rulings, reason="F1 to F3 are real", unresolved=[], next_actions=actions)


def _fixed(folder: Path, number: int) -> str:
    """The session with a fixed id, at fixed times, each call two seconds long; its new id."""
    from rebut.record.journal import digest

    path, id = folder / "journal.jsonl", f"abcdefg{number + 2}"
    out, before = list[bytes](), ""
    for n, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        event = json.loads(line.replace(folder.name, id))
        event |= {"at": f"2026-01-0{5 + number}T09:{n // 60:02}:{n % 60:02}.000+00:00", "prev": before}
        if "ran" in event:
            event["ran"] = 1000 * n
        if "ms" in event:
            event["ms"] = 2000
        _settle(event)
        out.append(json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode())
        before = digest(out[-1])
    path.write_bytes(b"\n".join(out) + b"\n")
    folder.rename(folder.with_name(id))
    return id


def _settle(value: Any) -> None:
    """Times that were measured become fixed ones."""
    for name, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if name == "seconds" and isinstance(part, int | float):
            value[name] = 12
        else:
            _settle(part)


def _draw(root: Path, work: Path, ids: dict[str, str]) -> None:
    from playwright.sync_api import sync_playwright

    from tests_web import chromium
    from tests_web.serving import served
    from tests_web.tabs import tab

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium.found(), args=[*chromium.ARGUMENTS])
        for name, id in {**ids, "sessions": ""}.items():
            size = {"width": WIDTH, "height": HEIGHTS[name]}
            with (
                served(root, work, id) as address,
                tab(browser, address(), viewport=size, color_scheme="light", reduced_motion="reduce") as shown,
            ):
                page = shown.page
                page.locator("h1").wait_for()
                page.locator(".card, tbody tr").first.wait_for()
                page.wait_for_timeout(200)
                (PLACE / f"{name}.png").write_bytes(_small(page.screenshot()))
        browser.close()


def _small(png: bytes) -> bytes:
    """With a palette of 64 colours, which a page of text does not show."""
    from PIL import Image

    picture = Image.open(io.BytesIO(png)).convert("RGB").quantize(64)
    out = io.BytesIO()
    picture.save(out, "PNG", optimize=True)
    return out.getvalue()


if __name__ == "__main__":
    sys.exit(main())
