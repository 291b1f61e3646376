"""A real browser for the tests of the page: the system's Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from playwright.sync_api import sync_playwright

from ..hangs import WITHIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request

VARIABLE = "TRACED_LOOP_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = f"no Chromium: apt-get install chromium, or say in {VARIABLE} where one is"


def chromium() -> str | None:
    """The program, or None."""
    named = os.environ.get(VARIABLE)
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


@contextmanager
def running_browser(program: str) -> Iterator[Browser]:
    """A browser without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Visit:
    """One reader: a browser profile of its own, and what went wrong on its pages.

    Attributes:
        context: the profile.
        page: its first tab.
        complaints: errors of scripts and of the console, refused loads, requests to other hosts.
    """

    context: BrowserContext
    page: Page
    complaints: list[str] = field(default_factory=list)

    def tab(self) -> Page:
        """Another tab of the same reader."""
        page = self.context.new_page()
        self.watch(page)
        return page

    def watch(self, page: Page) -> None:
        """Note what goes wrong on a page."""
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(f"script: {error}"))
        page.on("request", self._request)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(f"{message.type}: {message.text}")

    def _request(self, request: Request) -> None:
        if urlsplit(request.url).hostname not in {"127.0.0.1", None}:
            self.complaints.append(f"asks another host: {request.url}")


@contextmanager
def visiting(browser: Browser, link: str, **how: Any) -> Iterator[Visit]:
    """Open a link as a new reader; at the end nothing may have gone wrong.

    Args:
        browser: the program.
        link: with its token.
        how: options of the profile, as ``viewport``, ``locale``, ``timezone_id``, ``color_scheme``.
    """
    context = browser.new_context(**{"locale": "en-GB", "timezone_id": "Asia/Tokyo", **how})
    context.set_default_timeout(WITHIN * 1_000)
    visit = Visit(context, context.new_page())
    visit.watch(visit.page)
    try:
        visit.page.goto(link)
        visit.page.wait_for_selector("main")
        visit.page.wait_for_load_state()  # styles included
        yield visit
        assert visit.complaints == [], visit.complaints
    finally:
        context.close()
