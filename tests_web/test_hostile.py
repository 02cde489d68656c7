"""Hostile texts in every place that a text can take: nothing runs, nothing leaves, and the tab stays usable."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import crosses
import duels
import panels
import pytest
from crashing import repository
from playwright.sync_api import Browser, Page, expect
from repositories import commit, new

import rebut
from rebut.cli.debated_versions import debated_versions
from rebut.record import sessions
from rebut.web.document import document
from rebut.workspace.targets.target import Wanted
from tests_web.hostile import texts
from tests_web.serving import in_thread, served
from tests_web.tabs import Tab, tab

TEXTS = texts()
HUGE = 5_000_000
MANY = 10_000
EVERYTHING = """
for (const one of document.querySelectorAll(
  ".card .head[aria-expanded=false], button.cite[aria-expanded=false], details:not([open]) > summary, " +
  "#turns button.plain, button.more"
)) one.click();
"""


HANDLERS = """
[...document.querySelectorAll("*")].filter((e) => [...e.attributes].some((a) => /^on/i.test(a.name))).length
"""


def test_there_are_200_of_them() -> None:
    assert len(TEXTS) >= 200


@dataclass(frozen=True)
class Hostile:
    work: Path
    ids: dict[str, str]


def parts(count: int) -> list[list[str]]:
    return [TEXTS[at::count] for at in range(count)]


def names() -> list[str]:
    """Those that can be the name of a file."""
    return [f"{text[:80]}.py" for text in TEXTS if not re.search(r"[\0/\n\r]", text[:80]) and len(text.encode()) < 200]


def debates(folder: Path) -> Hostile:
    """Three debates with all of the texts in them: in the topic, turns, names of files, citations, models and notes."""
    work = new(
        folder / "work",
        {"src/session.py": "\n".join(TEXTS[:60]).replace("\r", "") + "\n", **dict.fromkeys(names(), "x = 1\n")},
    )
    commit(work)
    one, two, three, four = parts(4)
    ids = {}
    claims = [{"text": text, "evidence": [duels.cite(f"{name}:1", "x = 1"), duels.cite(text, text)]}
              for text, name in zip(one, names(), strict=False)]  # fmt: skip
    flaws = [
        duels.flaw(text, category=text[:40], about="C1", evidence=[duels.cite("src/session.py:3", text)])
        for text in two + four
    ]
    said = {
        "r1/opening@proposer": duels.opening(position=TEXTS[5], claims=claims),
        "r1/challenge@challenger": duels.challenge(flaws=flaws, alternatives=three[:20]),
        "verdict@judge": duels.verdict(reasoning=three[3], recommendation="\n\n".join(three), unresolved=three[:9]),
    }
    seats = {
        role: f"{role}-x=" + duels.script(folder / f"{role}.json", duels.answers(2) | said, model=TEXTS[n])
        for n, role in enumerate(("proposer", "challenger", "judge"))
    }
    topic = " ".join(TEXTS[:12])
    ids["duel"] = rebut.run("duel", topic, rounds=1, workspace=work, **seats).session
    lenses = [panels.persona(text[:60], name=text[:80], background=text) for text in TEXTS[:3]]
    panel = panels.tradeoff() | {"personas@lead": panels.personas(personas=lenses)}
    panel["r1/challenge@challenger.3"] = {"fail": "crashed", "message": " ".join(TEXTS[2:20])}
    ids["panel"] = rebut.run(
        "panel", TEXTS[1], workspace=work, rounds=1, **panels.seats(folder / "panel", panel)
    ).session
    for name in names()[:40]:
        (work / name).write_text(f"{TEXTS[0]}\n{TEXTS[3]}\n")
    found = [
        crosses.raised(text, f"{name}:1", action=text, fix=text) for text, name in zip(three, names(), strict=False)
    ]
    critic = {"r1/critique@critic": crosses.critique(*found[:40], suggestions=four[:20], agreements=four[:20])}
    critic["r1/judgement@judge"] = crosses.judgement(
        "E", {f"F{n + 1}": "valid P1" for n in range(len(found[:40]))}, reason=four[0]
    )
    ids["review"] = rebut.run(
        "cross", target=Wanted(scope="uncommitted"), workspace=work, rounds=1, **crosses.seats(folder / "seats", critic)
    ).session
    return Hostile(work, ids)


@pytest.fixture(scope="session")
def hostile(own_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Hostile:
    made: Hostile = in_thread(lambda: debates(tmp_path_factory.mktemp("hostile")))
    return made


def harmless(shown: Tab) -> None:
    """Nothing ran, nothing was added but text, nothing left the page, and a click is answered."""
    page = shown.page
    assert page.evaluate("window.pwned === undefined && ({}).polluted === undefined")
    assert page.locator("img, iframe, object, embed, base, video, audio, form[action]").count() == 0
    assert page.locator("script").count() <= 2
    assert page.evaluate(HANDLERS) == 0
    links = page.evaluate("[...document.querySelectorAll('[href]')].map((e) => e.getAttribute('href'))")
    assert [link for link in links if not re.match(r"(#|/|data:,$)", link)] == []
    assert shown.overflows() <= 0
    usable(page)


def usable(page: Page) -> None:
    head = page.locator(".card .head").first
    before = head.get_attribute("aria-expanded")
    head.click()
    expect(head).not_to_have_attribute("aria-expanded", str(before))


@pytest.mark.parametrize("kind", ["duel", "panel", "review"])
def test_hostile_texts_are_only_texts(browser: Browser, hostile: Hostile, kind: str, tmp_path: Path) -> None:
    id = hostile.ids[kind]
    with served(sessions.home(), hostile.work, id) as address, tab(browser, address()) as shown:
        expect(shown.page.locator(".card").first).to_be_visible()
        shown.page.evaluate(EVERYTHING)
        expect(shown.page.locator(".lines .quiet", has_text="…")).to_have_count(0)
        harmless(shown)
        shown.page.set_viewport_size({"width": 320, "height": 800})
        assert shown.overflows() <= 0
    html = in_thread(lambda: asyncio.run(document(sessions.home() / id, debated_versions, prompts=True)))
    path = tmp_path / "out.html"
    path.write_text(html, encoding="utf-8")
    with tab(browser, path.as_uri(), offline=True) as shown:
        expect(shown.page.locator(".card").first).to_be_visible()
        shown.page.evaluate(EVERYTHING)
        harmless(shown)
        assert [url for url in shown.requests if not url.startswith("data:")] == [path.as_uri()]


def test_hostile_topics_are_only_texts_in_the_list(browser: Browser, hostile: Hostile) -> None:
    with served(sessions.home(), hostile.work) as address, tab(browser, address()) as shown:
        expect(shown.page.locator("tbody tr")).to_have_count(3)
        shown.page.get_by_role("searchbox").fill("<script>")
        expect(shown.page.locator("tbody tr").first).to_be_visible()
        assert shown.page.evaluate("window.pwned === undefined") and shown.overflows() <= 0


# huge ones, as a journal may have them


def huge(folder: Path, change: Any) -> str:
    """A session whose journal is changed line by line. Hashes are not: the page shows what is in the file."""
    outcome = duels.duel(folder, rounds=2, workspace=folder)
    path = sessions.home() / outcome.session / "journal.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    changed = [change(line) for line in lines]
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in changed), encoding="utf-8")
    return outcome.session


def one_line(line: dict[str, Any]) -> dict[str, Any]:
    if line["kind"] == "answered" and line["key"] == "r1/challenge@challenger":
        line["value"]["alternatives"] = ["y" * HUGE]
    if line.get("key") == "r1/challenge#ledger":
        line["value"]["entries"][0]["text"] = "z" * HUGE
    return line


def many_points(line: dict[str, Any]) -> dict[str, Any]:
    if line["kind"] == "answered" and line["key"] == "r1/challenge@challenger":
        line["value"]["flaws"] = [duels.flaw(f"Flaw number {n}.", n) for n in range(MANY)]
    if line.get("key") == "r1/challenge#ledger":
        first = line["value"]["entries"][0]
        line["value"]["entries"] = [{**first, "text": f"Flaw number {n}."} for n in range(MANY)]
    return line


def turned(line: dict[str, Any]) -> dict[str, Any]:
    if line["kind"] == "opened":
        line["topic"] = "Is safe\u202egnp.exe\u2066 safe?"
    return line


def test_characters_that_turn_the_direction_are_shown_by_their_number(browser: Browser, tmp_path: Path) -> None:
    work = repository(tmp_path / "work")
    id = in_thread(lambda: huge(work, turned))
    with served(sessions.home(), work, id) as address, tab(browser, address()) as shown:
        expect(shown.page.locator("h1")).to_have_text("Is safe[U+202E]gnp.exe[U+2066] safe?")
        expect(shown.page).not_to_have_title(re.compile("[\u202a-\u202e\u2066-\u2069]"))


@pytest.mark.parametrize("change", [one_line, many_points], ids=["5 MB in one line", "10,000 points"])
def test_the_tab_stays_usable(browser: Browser, tmp_path: Path, change: Any) -> None:
    work = repository(tmp_path / "work")
    id = in_thread(lambda: huge(work, change))
    with served(sessions.home(), work, id) as address, tab(browser, address()) as shown:
        page = shown.page
        expect(page.locator(".card").first).to_be_visible(timeout=40_000)
        usable(page)
        page.get_by_role("slider").focus()
        page.keyboard.press("ArrowLeft")
        expect(page.locator(".player output")).not_to_contain_text("event 0")
        usable(page)
        assert shown.overflows() <= 0
