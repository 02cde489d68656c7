"""A debate that is over, played like a film, by keyboard alone; and as one file from a disk."""

from __future__ import annotations

import asyncio
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from rebut.cli.debated_versions import debated_versions
from rebut.web.document import document
from tests_web.material import Material
from tests_web.serving import in_thread, served
from tests_web.tabs import tab


def position(page: Page) -> str:
    return page.locator(".player output").inner_text().partition(",")[0]


def events(recorded: Material, kind: str) -> int:
    return (recorded.root / recorded.ids[kind] / "journal.jsonl").read_bytes().count(b"\n")


def replayed(page: Page, count: int) -> None:
    """Arrows move by one event, Home and End to the ends, and the page follows."""
    label = page.locator(".player output")
    expect(label).to_contain_text(f"event {count} of {count}")
    cards = page.locator(".card").count()
    assert cards >= 3
    slider = page.get_by_role("slider", name="Position in the debate")
    slider.focus()
    page.keyboard.press("Home")
    expect(label).to_contain_text(f"event 1 of {count}")
    expect(page.locator(".card")).to_have_count(0)
    expect(page.locator(".answer .kicker")).to_have_text("So far")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(label).to_contain_text(f"event 3 of {count}")
    page.keyboard.press("ArrowLeft")
    expect(label).to_contain_text(f"event 2 of {count}")
    page.keyboard.press("End")
    expect(label).to_contain_text(f"event {count} of {count}")
    expect(page.locator(".card")).to_have_count(cards)


def played(page: Page, count: int) -> None:
    """Play and pause by the keyboard."""
    button = page.locator(".player button")
    button.focus()
    page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-label", "Pause")
    expect(page.locator(".player output")).not_to_contain_text(f"event {count} of")
    page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-label", "Play")
    paused = position(page)
    page.wait_for_timeout(600)
    assert position(page) == paused


def test_a_debate_is_replayed_by_keyboard(browser: Browser, recorded: Material) -> None:
    count = events(recorded, "duel")
    with served(recorded.root, recorded.work, recorded.ids["duel"]) as address, tab(browser, address()) as shown:
        replayed(shown.page, count)
        played(shown.page, count)


def test_a_point_stays_open_while_the_film_goes_on(browser: Browser, recorded: Material) -> None:
    with served(recorded.root, recorded.work, recorded.ids["duel"]) as address, tab(browser, address()) as shown:
        page = shown.page
        page.locator("#point-D2 .head").click()
        expect(page.locator("#point-D2 .detail")).to_be_visible()
        page.get_by_role("slider").focus()
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#point-D2 .detail")).to_be_visible()


def test_the_exported_file_is_the_same_page_and_asks_nobody(
    browser: Browser, recorded: Material, tmp_path: Path
) -> None:
    for kind in ("duel", "review", "fork"):
        folder = recorded.root / recorded.ids[kind]
        html = in_thread(lambda folder=folder: asyncio.run(document(folder, debated_versions)))
        path = tmp_path / f"{kind}.html"
        path.write_text(html, encoding="utf-8")
        with tab(browser, path.as_uri(), offline=True) as shown:
            page = shown.page
            expect(page.locator("h1")).to_be_visible()
            page.locator(".card .head").first.click()
            page.locator("#points button.cite").first.click()
            expect(page.locator("#points .lines").first).not_to_be_empty()
            page.locator("#turns").get_by_role("button", name="prompt and reply").last.click()
            expect(page.locator(".raw pre").last).to_be_visible()
            if kind == "fork":
                expect(page.locator("#parent table")).to_contain_text("this fork")
            assert [url for url in shown.requests if not url.startswith("data:")] == [path.as_uri()]
    with tab(browser, (tmp_path / "duel.html").as_uri(), offline=True) as shown:
        slider = shown.page.get_by_role("slider")
        slider.focus()
        shown.page.keyboard.press("Home")
        expect(shown.page.locator(".card")).to_have_count(0)
        shown.page.keyboard.press("End")
        expect(shown.page.locator(".card").nth(2)).to_be_visible()
        assert len(shown.page.pdf()) > 10_000


def test_the_policy_makes_every_careless_edit_fail(browser: Browser, recorded: Material) -> None:
    with served(recorded.root, recorded.work, recorded.ids["duel"]) as address, tab(browser, address()) as shown:
        expect(shown.page.locator("h1")).to_be_visible()
        tried = (
            "(() => { try { document.body.innerHTML = '<b>x</b>'; return 'done'; } catch (e) { return e.name; } })()"
        )
        assert shown.page.evaluate(tried) == "TypeError"
        shown.errors.clear()  # the browser reports it


def test_a_second_use_of_the_address_in_another_browser_is_refused(browser: Browser, recorded: Material) -> None:
    with served(recorded.root, recorded.work, recorded.ids["duel"]) as address:
        once = address()
        with tab(browser, once) as shown:
            expect(shown.page.locator("h1")).to_be_visible()
            shown.page.reload()
            expect(shown.page.locator("h1")).to_be_visible()
            assert "t=" not in shown.page.url
        with tab(browser) as shown:
            answer = shown.page.goto(once)
            assert answer and answer.status == 403
            expect(shown.page.locator("body")).to_contain_text("Run `rebut view` for a new one")
            shown.errors.clear()
