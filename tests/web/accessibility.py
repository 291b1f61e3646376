"""What axe finds on a page: how it is for people who do not see it as its makers do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axe_playwright_python.sync_playwright import Axe

if TYPE_CHECKING:
    from playwright.sync_api import Page

WEIGHTY = {"serious", "critical"}


def assert_accessible(page: Page) -> None:
    """Axe has no serious or critical finding on the page as it is now."""
    found = Axe().run(page).response["violations"]
    weighty = [
        (each["id"], each["help"], [node["target"] for node in each["nodes"][:5]])
        for each in found
        if each["impact"] in WEIGHTY
    ]
    assert weighty == []
