"""The frame of every page, for people: by keyboard, enlarged, in both themes, without scripts, on paper."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from ..command_line import traced_loop
from .accessibility import assert_accessible
from .browser import visiting
from .running_page import running_page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from .browser import Visit

pytestmark = pytest.mark.real

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SPACED = """
* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important; }
p { margin-bottom: 2em !important; }
"""
"""What WCAG 1.4.12 lets a reader set."""
CUT = """() => [...document.querySelectorAll("header *, footer *, h1")].filter(element =>
  getComputedStyle(element).overflow !== "visible" && element.scrollWidth > element.clientWidth + 1
).map(element => element.outerHTML.slice(0, 80))"""


@contextmanager
def opened(home: Path, browser: Browser, **how: object) -> Iterator[Visit]:
    """A reader of a store with runs."""
    traced_loop("demo")
    with running_page(home) as server, visiting(browser, server.new_link(), **how) as visit:
        yield visit


def focused(page: Page) -> str:
    """What the keyboard is at."""
    return str(page.evaluate("document.activeElement.name || document.activeElement.className || 'none'"))


@pytest.mark.parametrize(("theme", "locale"), [("light", "en-GB"), ("dark", "zh-CN")])
def test_all_can_use_the_frame(home: Path, browser: Browser, theme: str, locale: str) -> None:
    """By axe; with its language, its title, one main heading, and each landmark with a name."""
    with opened(home, browser, color_scheme=theme, locale=locale) as visit:
        assert_accessible(visit.page)
        assert visit.page.get_attribute("html", "lang") == locale[:2]
        assert visit.page.title().endswith("traced_loop")
        assert visit.page.locator("h1").count() == 1
        assert visit.page.locator("main").count() == 1
        assert all(nav.get_attribute("aria-label") for nav in visit.page.locator("nav").all())
        visit.page.goto(visit.page.url.split("/?")[0].rstrip("/") + "/nothing-here")
        assert_accessible(visit.page)
        visit.complaints[:] = [each for each in visit.complaints if "404" not in each]


def test_the_keyboard_alone_is_enough(home: Path, browser: Browser) -> None:
    """First the way past the header, seen when it has the keyboard; colours and language without losing it."""
    with opened(home, browser) as visit:
        page = visit.page
        page.keyboard.press("Tab")
        assert focused(page) == "skip"
        box = page.locator(".skip").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "content"
        assert page.evaluate("getComputedStyle(document.querySelector('header')).position") == "static", (
            "a header that stays would hide what the keyboard is at"
        )

        page.locator("select[name=theme]").focus()
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        with page.expect_response("**/settings"):
            page.keyboard.press("d")
        page.wait_for_selector('html[data-theme="dark"]')
        assert focused(page) == "theme"
        page.locator("select[name=language]").focus()
        with page.expect_navigation():
            page.keyboard.press("ArrowDown")
        page.wait_for_selector('html[lang="zh"][data-theme="dark"]')
        page.wait_for_function("() => document.activeElement.name === 'language'")
        page.reload()
        assert page.get_attribute("html", "lang") == "zh"


@pytest.mark.parametrize("width", [320, 700])
def test_nothing_is_lost_when_it_is_enlarged(home: Path, browser: Browser, width: int) -> None:
    """The page does not scroll sideways, and nothing of its frame is cut off.

    At 400 % of a window of 1,280 pixels (320) or 200 %, with the reader's own spacing and values that have no place to
    break.
    """
    size = {"width": width, "height": 640}
    with running_page(home) as server, visiting(browser, server.new_link(), viewport=size) as visit:
        page = visit.page
        assert page.evaluate(OVERFLOW) == 0
        page.evaluate(
            """css => {
              const sheet = new CSSStyleSheet(); sheet.replaceSync(css); document.adoptedStyleSheets = [sheet];
              document.querySelector("footer p").textContent = "Store: /" + "x".repeat(400);
              document.querySelector("h1").textContent = "x".repeat(400);
              document.getElementById("live-state").textContent = "x".repeat(400);
            }""",
            SPACED,
        )
        assert page.evaluate(OVERFLOW) == 0
        assert page.evaluate(CUT) == []
        state = page.locator("#live-state").bounding_box()
        assert state is not None
        assert state["x"] >= 0
        assert state["x"] + state["width"] <= width


def test_the_page_works_without_scripts(home: Path, browser: Browser) -> None:
    """Colours are chosen by a button, and moments stand there in UTC."""
    with opened(home, browser, java_script_enabled=False) as visit:
        page = visit.page
        assert "UTC" in page.inner_text("main")
        page.select_option("select[name=theme]", "dark")
        page.click("form.settings button")
        page.wait_for_selector('html[data-theme="dark"]')


def test_colours_of_the_system_and_paper_are_kept_to(home: Path, browser: Browser) -> None:
    """With forced colours the keyboard's place is seen, on paper dark is light, and who wants no motion gets none."""
    with opened(home, browser, forced_colors="active", reduced_motion="reduce") as visit:
        page = visit.page
        page.locator("select[name=theme]").focus()
        assert page.evaluate("getComputedStyle(document.activeElement).outlineWidth") == "3px"
        assert page.evaluate(
            """() => [...document.querySelectorAll("*")].every(element => {
              const style = getComputedStyle(element);
              return style.animationName === "none" && parseFloat(style.transitionDuration) === 0;
            })"""
        )
        page.emulate_media(media="print", forced_colors="none", color_scheme="dark")
        assert not page.locator(".settings").is_visible()
        assert not page.locator("header nav").is_visible()
        assert page.locator("h1").is_visible()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.evaluate("getComputedStyle(document.body).color") == "rgb(26, 33, 41)"
