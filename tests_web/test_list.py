"""The sessions of a folder: searched, filtered, opened; and a fork beside its parent."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from tests_web.material import Material
from tests_web.serving import served
from tests_web.tabs import tab


def test_sessions_are_searched_and_filtered(browser: Browser, recorded: Material) -> None:
    with served(recorded.root, recorded.work) as address, tab(browser, address()) as shown:
        page = shown.page
        rows, count = page.locator("tbody tr"), page.get_by_role("status").first
        expect(rows).to_have_count(5)  # those of the other folder are not there
        expect(count).to_have_text("5 sessions")
        search = page.get_by_role("searchbox")
        search.fill("memcached")
        expect(rows).to_have_count(1)
        expect(rows).to_contain_text("panel")
        expect(count).to_have_text("1 session of 5")
        search.fill("REDIS sessions duel")
        expect(rows).to_have_count(2)
        search.fill("nothing like it")
        expect(rows).to_have_count(0)
        search.fill("")
        page.get_by_label("every protocol").select_option("revise")
        expect(rows).to_have_count(1)
        page.get_by_label("every protocol").select_option("")
        page.get_by_label("every model").select_option(index=1)
        assert 1 <= rows.count() <= 5
        page.get_by_label("every model").select_option("")
        page.get_by_label("any cost").select_option("10")
        expect(rows).to_have_count(0)
        page.get_by_label("any cost").select_option("")
        page.get_by_label("Since").fill("2099-01-01")
        expect(rows).to_have_count(0)
        page.get_by_label("Since").fill("2020-01-01")
        expect(rows).to_have_count(5)


def test_a_session_is_opened_from_the_list_and_the_list_from_it(browser: Browser, recorded: Material) -> None:
    with served(recorded.root, recorded.work) as address, tab(browser, address()) as shown:
        page = shown.page
        page.get_by_role("link", name="Redis or Memcached").click()
        expect(page.locator(".kind")).to_have_text("panel")
        page.get_by_role("link", name="rebut", exact=True).click()
        expect(page.locator("tbody tr")).to_have_count(5)


def test_a_fork_is_beside_its_parent(browser: Browser, recorded: Material) -> None:
    with served(recorded.root, recorded.work, recorded.ids["fork"]) as address, tab(browser, address()) as shown:
        table = shown.page.locator("#parent table")
        expect(table).to_contain_text("this fork")
        expect(shown.page.locator("#parent")).to_contain_text("reused")
        expect(shown.page.locator("header.top")).to_contain_text(f"fork of {recorded.ids['duel']}")
