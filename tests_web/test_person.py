"""A person in a seat answers in the browser: the verdict of a duel, and A to E of a review."""

from __future__ import annotations

import json
from pathlib import Path

import crosses
import duels
from crashing import repository
from playwright.sync_api import Browser, expect

from rebut.record import sessions
from rebut.record.record import Record
from tests_web.serving import Debate, debating
from tests_web.tabs import tab


def record(debate: Debate) -> Record:
    return sessions.load(sessions.home() / debate.session)


def test_a_person_judges_a_duel_in_the_browser(browser: Browser, tmp_path: Path) -> None:
    work = repository(tmp_path / "work")
    seats = duels.seats(tmp_path, rounds=2)
    words = ["duel", duels.TOPIC, "--proposer", seats["proposer"], "--challenger", seats["challenger"]]
    with debating([*words, "--judge", "human", "--rounds", "2"], work) as debate:
        with tab(browser, debate.address, lost=True) as shown:
            page = shown.page
            form = page.locator("form.turn-form")
            expect(form.get_by_role("heading")).to_have_text("Your turn: judge")
            expect(form).to_contain_text("No replica: a failover loses every session.")
            send = form.get_by_role("button", name="Send the answer")
            send.click()
            expect(form.get_by_role("alert")).to_have_text("Choose one: Who had the better case?")
            form.get_by_label("the challenger").check()
            for group in form.locator("fieldset").all()[1:4]:
                group.get_by_label("medium").check()
            form.get_by_label("What to do now").fill("Sign the cookies.")
            form.get_by_label("Why").fill("It is <i>simpler</i>.")
            send.click()
            expect(page.locator(".state")).to_have_text("ended")
            expect(page.locator(".answer")).to_contain_text("It is <i>simpler</i>.")
            expect(form).to_have_count(0)
        assert debate.wait() == 0
        answer = record(debate).calls["verdict@judge"].answered
        assert answer and answer.model == "human"
        value = json.loads(json.dumps(answer.value))
        assert (value["winner"], value["recommendation"]) == ("challenger", "Sign the cookies.")


def test_a_person_chooses_in_a_review_and_rules_on_a_finding(browser: Browser, tmp_path: Path) -> None:
    shop = crosses.repository(tmp_path / "work")
    slow = crosses.raised("It is slow.", "api/orders.py:6", severity="P2", category="performance")
    slow["evidence"] = [duels.cite("api/orders.py:6", "charge(order)")]
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised(), slow),
        "r1/judgement@judge": crosses.judgement("C", {"F1": "valid P1", "F2": "valid P2"}),
    }
    seats = crosses.seats(tmp_path / "seats", said)
    words = ["cross", "--mode", "manual", "--critic", seats["critic"], "--judge", seats["judge"], "--max-rounds", "1"]
    with debating(words, shop) as debate:
        with tab(browser, debate.address, lost=True) as shown:
            page = shown.page
            form = page.locator("form.turn-form")
            expect(form.get_by_role("heading")).to_have_text("Your turn: decider")
            second = form.locator("fieldset").nth(1)
            expect(second).to_contain_text("It is slow.")
            second.get_by_label("reject").check()
            form.get_by_label("Reason on F2").fill("Ten orders a day.")
            letters = form.locator("fieldset").last
            for letter in "ABCDE":
                expect(letters.locator("kbd", has_text=letter)).to_be_visible()
            letters.locator("input[value=A]").check()
            form.get_by_role("button", name="Send the answer").click()
            expect(page.locator(".state")).to_have_text("ended")
            expect(page.locator("#point-F2 .fate")).to_contain_text("invalid")
        debate.wait()
        decided = [call for key, call in record(debate).calls.items() if key.startswith("r1/decision")]
        value = decided[0].answered.value if decided[0].answered else None
        assert isinstance(value, dict) and value["choice"] == "A"
        assert [(f["id"], f["ruling"], f["reason"]) for f in value["findings"]] == [  # type: ignore[index,call-overload,union-attr]
            ("F2", "invalid", "Ten orders a day.")
        ]
