"""What a person does to run something live: the form, the page before it starts, the button."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page


def ask(page: Page, address: str, *, prompt: str = "Hello", key: str = "", stream: bool = False) -> str:
    """Begin a run at the configured server; the address of its page."""
    page.goto(f"{address}/lab/live")
    page.fill("#prompt", prompt)
    page.fill("#model", "m")
    page.set_checked("#stream", stream)
    page.click("button[value='check']")
    start(page, key)
    return page.url


def start(page: Page, key: str = "") -> None:
    """Go on from the page before it starts."""
    page.wait_for_selector("#start")
    if key:
        page.fill("#key", key)
    page.click("#start")
    page.wait_for_selector("#live-says")


def stop_reason(page: Page) -> str:
    """Of the run that the page shows, once it has ended."""
    page.wait_for_selector("#live-state-now .tag")
    return page.inner_text("#live-state-now .tag").split()[-1]  # a sign stands before it
