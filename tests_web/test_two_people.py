"""Two people are asked at once: each question has its form, and what was typed outlives the process that asked."""

from __future__ import annotations

from pathlib import Path

from crashing import repository
from playwright.sync_api import Browser, expect

from tests_web.serving import debating
from tests_web.tabs import tab

TYPED = "# Plan\n\nThe first one."


def test_each_question_has_its_form_and_keeps_what_is_typed(browser: Browser, tmp_path: Path) -> None:
    work = repository(tmp_path / "work")
    authors = ["--author", "ada=human", "--author", "bob=human", "--synthesizer", "human"]
    with (
        debating(["revise", "plan", "Move the sessions", *authors, "--rounds", "1"], work) as debate,
        tab(browser, debate.address, lost=True) as shown,
    ):
        page = shown.page
        forms = page.locator("form.turn-form")
        expect(forms).to_have_count(2)
        forms.nth(0).locator("textarea").first.fill(TYPED)
        forms.nth(1).locator("textarea").first.fill("# Plan\n\nThe other one.")
        forms.nth(1).get_by_role("button", name="Send the answer").click()
        expect(forms).to_have_count(1)
        debate.kill()
        expect(page.locator(".top")).to_contain_text("the debate's process is gone")
        with debating(["resume", debate.session], work):
            expect(page.locator(".top")).not_to_contain_text("the debate's process is gone")
            expect(forms.locator("textarea").first).to_have_value(TYPED)
            forms.get_by_role("button", name="Send the answer").click()
            expect(page.locator("#drafts")).to_contain_text("The first one.")
