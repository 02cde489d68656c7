"""A tab of the browser that remembers whatever went wrong in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Dialog, Page

LOST = re.compile(r"ERR_(CONNECTION_REFUSED|INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE|CONNECTION_RESET)")
"""What a browser logs when a server is gone."""


class Tab:
    """A page, the requests that it made, and its errors."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.dialogs: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", self._dialog)

    def _dialog(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def check(self, *, lost: bool = False) -> None:
        """Nothing failed, nothing asked, and nothing was fetched from elsewhere."""
        errors = [error for error in self.errors if not (lost and LOST.search(error))]
        assert errors == []
        assert self.dialogs == []
        own = re.compile(r"(http://127\.0\.0\.1:\d+/|file:///|data:)")
        assert [url for url in self.requests if not own.match(url)] == []

    def overflows(self) -> int:
        """Pixels by which the page is wider than its window."""
        wide: int = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        return wide


@contextmanager
def tab(browser: Browser, address: str = "", *, lost: bool = False, **options: Any) -> Iterator[Tab]:
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
    context.set_default_timeout(20_000)
    try:
        opened = Tab(context.new_page())
        if address:
            opened.page.goto(address)
        yield opened
        opened.check(lost=lost)
    finally:
        context.close()
