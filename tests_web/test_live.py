"""A debate that runs: points while they are written, a crash in between, and the buttons that steer it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duels
import panels
import pytest
from crashing import repository
from playwright.sync_api import Browser, Page, expect

from rebut.record import sessions
from tests.loopback import Loopback
from tests_web.serving import Debate, debating
from tests_web.tabs import tab

SEATS = ["--proposer", "openai:a", "--challenger", "openai:b", "--judge", "openai:c"]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return repository(tmp_path / "work")


def around(server: Loopback) -> dict[str, str]:
    return {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-test-0123456789"}


def journal(debate: Debate) -> list[dict[str, Any]]:
    text = (sessions.home() / debate.session / "journal.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n")[:-1]]


def facts(debate: Debate) -> dict[str, Any]:
    return {event["key"]: event.get("value") for event in journal(debate) if event["kind"] == "fact"}


def ended(page: Page, debate: Debate) -> None:
    """The page has everything that the journal has, each event once."""
    expect(page.locator(".state")).to_have_text("ended", timeout=40_000)
    count = len(journal(debate))
    expect(page.locator(".player output")).to_contain_text(f"event {count} of {count}")


def test_points_appear_while_they_are_written(browser: Browser, work: Path) -> None:
    with Loopback(duels.by_form(), pace=0.12, chunks=25) as server:
        words = ["duel", duels.TOPIC, *SEATS, "--rounds", "2"]
        with debating(words, work, around(server)) as debate, tab(browser, debate.address, lost=True) as shown:
            page = shown.page
            expect(page.locator(".state")).to_have_text("running")
            expect(page.locator(".writing li", has_text="No replica: a failover")).to_be_visible()
            written = [e for e in journal(debate) if e["kind"] == "attempt" and "challenge" in e["key"]]
            assert written == [], "on the page before it is on record"
            server.control(pace=0)
            expect(page.locator("#point-D1")).to_contain_text("No replica: a failover loses every session.")
            ended(page, debate)
            expect(page.locator(".writing")).to_have_count(0)
            assert debate.wait() == 0


def test_a_page_left_open_over_a_crash_misses_nothing(browser: Browser, work: Path) -> None:
    with Loopback(duels.by_form(), pace=0.1, chunks=20) as server:
        words = ["duel", duels.TOPIC, *SEATS, "--rounds", "2"]
        with debating(words, work, around(server)) as debate, tab(browser, debate.address, lost=True) as shown:
            page = shown.page
            expect(page.locator("#turns .turn.answered")).to_have_count(1)
            expect(page.locator(".writing")).to_have_count(1)
            debate.kill()
            expect(page.locator(".state")).to_have_text("reconnecting …")
            with debating(["resume", debate.session], work, around(server)) as again:
                expect(page.locator(".state")).to_have_text("running")
                server.control(pace=0)
                ended(page, debate)
                assert again.address.split("?")[0] == debate.address.split("?")[0]
                again.wait()
            expect(page.locator("#timeline svg .event.resumed")).to_have_count(1)
            turns = page.locator("#turns .turn").evaluate_all("all => all.map((one) => one.id)")
            assert len(turns) == len(set(turns)) == 5
            cards = page.locator(".card").evaluate_all("all => all.map((one) => one.id)")
            assert len(cards) == len(set(cards)) == 3


def test_a_debate_is_steered_from_the_page(browser: Browser, work: Path) -> None:
    with Loopback(duels.by_form(), latency=60) as server:
        words = ["duel", duels.TOPIC, *SEATS, "--rounds", "2"]
        with debating(words, work, around(server)) as debate, tab(browser, debate.address, lost=True) as shown:
            page = shown.page
            said = page.locator(".controls [role=status]")
            page.get_by_role("button", name="skip proposer").click()
            expect(said).to_contain_text("has answered this step yet")  # why it refuses, in words
            page.get_by_role("button", name="one more round").click()
            expect(said).to_contain_text("on record")
            assert facts(debate)["more"] == 1
            page.get_by_label("A note to every seat").fill("Mind the <b>budget</b>.")
            page.keyboard.press("Enter")
            expect(page.locator("#timeline .event.note")).to_have_count(1)
            page.get_by_role("button", name="settle now").click()
            expect(page.locator("#timeline .event.decision")).to_have_count(2)
            page.get_by_role("button", name="settle now").click()
            expect(said).to_contain_text("settled already")
            assert {"settle", "more"} <= set(facts(debate))
            assert "Mind the <b>budget</b>." in json.dumps(facts(debate), ensure_ascii=False)


def test_a_slow_model_is_skipped_from_the_page(browser: Browser, work: Path, tmp_path: Path) -> None:
    said = panels.tradeoff() | {"r1/challenge@challenger.3": {"hang": True}}
    seats = panels.seats(tmp_path / "seats", said)
    words = ["panel", panels.TOPIC, "--lead", seats["lead"], "--judge", seats["judge"], "--max-rounds", "1"]
    words += [word for one in seats["challenger"] for word in ("--challenger", one)]
    with debating(words, work) as debate, tab(browser, debate.address, lost=True) as shown:
        page = shown.page
        expect(page.locator("#turns .turn.answered")).to_have_count(4)
        page.get_by_role("button", name="skip challenger.3").click()
        expect(page.locator(".controls [role=status]")).to_contain_text("on record")
        assert any(key.endswith("#left") for key in facts(debate))
        ended(page, debate)
        expect(page.locator("#turns")).to_contain_text("challenger.3")
        expect(page.locator("#timeline .event.decision")).to_have_count(1)
        assert debate.wait() == 3  # a seat is missing
        expect(page.locator(".answer")).to_contain_text("challenger.3")


def test_settling_from_the_page_ends_the_debate_after_the_round(browser: Browser, work: Path) -> None:
    with Loopback(duels.by_form(), pace=0.1, chunks=20) as server:
        words = ["duel", duels.TOPIC, *SEATS, "--rounds", "4"]
        with debating(words, work, around(server)) as debate, tab(browser, debate.address, lost=True) as shown:
            page = shown.page
            page.get_by_role("button", name="settle now").click()
            expect(page.locator(".controls [role=status]")).to_contain_text("on record")
            server.control(pace=0)
            ended(page, debate)
            expect(page.locator(".answer")).to_contain_text("Ended early")
            assert debate.wait() == 3
            assert {e["key"].split("/")[0] for e in journal(debate) if e["kind"] == "answered"} <= {
                "r1",
                "r2",
                "verdict@judge",
            }
