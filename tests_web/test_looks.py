"""Every page at every width, in light and dark, on paper, and for readers who need more than eyes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests_web.material import Material
from tests_web.serving import served
from tests_web.tabs import Tab, tab

KINDS = ("duel", "review", "panel", "revise", "ask", "plan", "fork", "")
"""The last one is the list of sessions."""


OPEN = """
for (const one of document.querySelectorAll(".card .head[aria-expanded=false]")) one.click();
for (const one of [...document.querySelectorAll("#points button.cite[aria-expanded=false]")].slice(0, 6)) one.click();
for (const one of document.querySelectorAll("details:not([open]) > summary")) one.click();
"""
LONG_PATHS = """
for (const one of document.querySelectorAll(".cite .where")) one.textContent = "packages/".repeat(9) + "orders.py:5";
"""


@contextmanager
def looked_at(browser: Browser, recorded: Material, kind: str, **options: Any) -> Iterator[Tab]:
    """The page of one of the recorded sessions, or the list of them."""
    with (
        served(recorded.root, recorded.work, recorded.ids.get(kind, "")) as address,
        tab(browser, address(), **options) as shown,
    ):
        yield shown


def opened(page: Page) -> None:
    """Everything that can be opened is open."""
    expect(page.locator("h1")).to_be_visible()
    page.evaluate(OPEN)
    expect(page.locator(".lines .quiet", has_text="…")).to_have_count(0)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "list")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser: Browser, recorded: Material, axe: str, kind: str, scheme: Any) -> None:
    # axe is code from elsewhere: only for it the policy is lifted.
    with looked_at(browser, recorded, kind, color_scheme=scheme, bypass_csp=True) as shown:
        opened(shown.page)
        shown.page.evaluate(axe)
        # What a page says is the same in the dark: only its colours are looked at again.
        found = shown.page.evaluate("axe.run({ runOnly: ['color-contrast'] })" if scheme == "dark" else "axe.run()")
        wrong = [
            f"{one['id']}: {one['help']}: {node['html'][:160]} {node.get('failureSummary', '')[:300]}"
            for one in found["violations"]
            for node in one["nodes"][:3]
        ]
        assert wrong == [] and len(found["passes"]) >= (1 if scheme == "dark" else 10)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "list")
def test_no_page_is_wider_than_its_window(browser: Browser, recorded: Material, kind: str) -> None:
    with looked_at(browser, recorded, kind) as shown:
        for width in (1280, 768, 320):
            shown.page.set_viewport_size({"width": width, "height": 800})
            opened(shown.page)
            assert shown.overflows() <= 0, width


def test_a_mark_beside_a_long_path_is_one_line(browser: Browser, recorded: Material) -> None:
    with looked_at(browser, recorded, "review") as shown:
        marks = shown.page.locator("#points .card .cite .mark")
        expect(marks.first).to_be_visible()
        shown.page.evaluate(LONG_PATHS)
        for width in (1200, 800, 400):
            shown.page.set_viewport_size({"width": width, "height": 800})
            assert max(marks.evaluate_all("(all) => all.map((one) => one.offsetHeight)")) < 30, width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_colours_follow_the_system(browser: Browser, recorded: Material, scheme: Any) -> None:
    with looked_at(browser, recorded, "duel", color_scheme=scheme) as shown:
        expect(shown.page.locator("h1")).to_be_visible()
        colour = shown.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        if "rgba(0, 0, 0, 0)" in colour:
            colour = shown.page.evaluate("getComputedStyle(document.body).backgroundColor")
        bright = sum(int(part) for part in colour.split("(")[1].rstrip(")").split(",")[:3])
        assert bright > 600 if scheme == "light" else bright < 150


def test_nothing_moves_for_those_who_want_no_motion(browser: Browser, recorded: Material) -> None:
    with looked_at(browser, recorded, "duel", reduced_motion="reduce") as shown:
        page = shown.page
        expect(page.locator(".card").first).to_be_visible()
        page.locator(".card .head").first.click()
        moving = "document.getAnimations().filter((a) => a.playState === 'running').length"
        assert page.evaluate(moving) == 0
        smooth = "getComputedStyle(document.documentElement).scrollBehavior"
        assert page.evaluate(smooth) == "auto"


def test_on_paper_every_point_is_open_and_the_player_is_gone(browser: Browser, recorded: Material) -> None:
    with looked_at(browser, recorded, "duel") as shown:
        page = shown.page
        expect(page.locator(".card").first).to_be_visible()
        assert page.locator(".card .detail:visible").count() == 0
        assert len(page.pdf()) > 10_000  # printing makes the browser tell the page
        page.emulate_media(media="print")
        assert page.locator(".card .detail:visible").count() == page.locator(".card").count() > 0
        expect(page.locator(".player")).to_be_hidden()


def test_the_answer_comes_first_then_points_then_turns(browser: Browser, recorded: Material) -> None:
    with looked_at(browser, recorded, "duel") as shown:
        page = shown.page
        expect(page.locator(".answer .kicker")).to_have_text("VERDICT")
        tops = [page.locator(place).bounding_box()["y"] for place in (".answer", "#points", "#turns")]  # type: ignore[index]
        assert tops == sorted(tops)


def test_the_cited_lines_have_the_quoted_words_marked(browser: Browser, recorded: Material) -> None:
    with looked_at(browser, recorded, "duel") as shown:
        page = shown.page
        page.locator(".all-claims summary").click()
        claim = page.locator("#claim-C1")
        claim.locator("button.cite").click()
        expect(claim.locator("mark")).to_have_text("ttl = 3600")
        expect(claim.locator(".line.cited .number")).to_contain_text("2")
        other = page.locator("#claim-C2")
        other.locator("button.cite").click()
        expect(other.locator(".instead")).to_have_text("This is what stands there instead.")


def test_the_words_of_a_turn_are_there_on_request(browser: Browser, recorded: Material) -> None:
    with looked_at(browser, recorded, "duel") as shown:
        first = shown.page.locator("#turns .turn").first
        first.get_by_role("button", name="prompt and reply").click()
        expect(first.locator(".raw summary").first).to_contain_text("prompt,")
        expect(first.locator(".raw pre").last).to_contain_text("Use Redis for user sessions.")


@pytest.mark.parametrize(
    ("kind", "part", "words"),
    [
        ("duel", "#map svg", "round 1"),
        ("duel", "#timeline svg", "proposer"),
        ("review", "#change .inline-finding", "It commits before it charges."),
        ("review", "#versions table.split", "charge(order)"),
        ("panel", "#matrix table", "challenger.1"),
        ("revise", "#drafts", "what changed since the version before"),
        ("ask", "#answers .answer-column >> nth=1", "Sign cookies."),
        ("fork", "#parent table", "parent"),
    ],
)
def test_each_kind_of_debate_has_its_parts(
    browser: Browser, recorded: Material, kind: str, part: str, words: str
) -> None:
    with looked_at(browser, recorded, kind) as shown:
        expect(shown.page.locator(part).first).to_contain_text(words)
