"""The lab's scripted runs in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ..models.chat_server import chat_server
from .accessibility import assert_accessible
from .browser import visiting
from .running_page import running_page

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.real

STOPS = {"normal": "final_answer", "unknown_tool": "tool_not_allowed", "loop_forever": "repetition_detected"}


def tab_to(page: Page, selector: str) -> None:
    """Go there with the keyboard alone."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement?.matches(selector)", selector):
            return
    raise AssertionError(f"no way to {selector} with the keyboard")


def shown_parts(page: Page) -> list[str]:
    """The titles of the parts that are to be seen."""
    return page.locator("#lesson > li:visible > h2").all_inner_texts()


def test_the_lesson_is_gone_through_with_the_keyboard_alone(home: Path, browser: Browser) -> None:
    """From the navigation to the last message; arrow keys and buttons; where one is, is said."""
    with running_page(home) as server, visiting(browser, server.new_link()) as visit:
        page = visit.page
        tab_to(page, "nav a[href='/lab']")
        page.keyboard.press("Enter")
        page.wait_for_selector("#lesson-title")
        assert_accessible(page)
        tab_to(page, "form[action='/lab/play'] button")
        page.keyboard.press("Enter")
        page.wait_for_selector("#lesson-controls:visible")
        assert shown_parts(page) == ["Instructions"]
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        assert shown_parts(page) == ["Instructions", "The question", "The model asks for 2 calls"]
        assert page.inner_text("#step-at") == "3 of 8: The model asks for 2 calls"
        page.keyboard.press("ArrowLeft")
        assert len(shown_parts(page)) == 2
        tab_to(page, "#step-forward")
        page.keyboard.press("Space")
        assert len(shown_parts(page)) == 3
        tab_to(page, "#step-all")
        page.keyboard.press("Enter")
        assert shown_parts(page)[-2:] == ["The answer", "The end of the run"]
        assert '"result\\":108' in page.inner_text("#part-6 pre")
        assert_accessible(page)
        page.emulate_media(color_scheme="dark")
        assert_accessible(page)


def test_nothing_of_the_scripted_runs_goes_to_a_provider(home: Path, browser: Browser) -> None:
    """A server that the environment names as the provider is asked nothing, and each page says so."""
    with chat_server() as provider:
        environment = {"OPENAI_BASE_URL": provider.base_url, "OPENAI_API_KEY": "zQ4-key"}
        with running_page(home, environment=environment) as server, visiting(browser, server.new_link()) as visit:
            for scenario, stop in {"lesson": "final_answer", **STOPS}.items():
                visit.page.goto(f"{server.address}/lab")
                visit.page.click(f"form:has(input[value='{scenario}']) button")
                visit.page.wait_for_selector("#step-all")
                visit.page.click("#step-all")
                assert "Nothing was sent to a provider" in visit.page.inner_text("#no-provider")
                assert visit.page.inner_text(".part.end .tag").split()[1] == stop
                visit.page.click("text=The page of this run")
                visit.page.wait_for_selector("text=invoke_agent")
        assert provider.paths == []
        assert provider.clients == set()


def test_without_script_all_is_there_in_order_and_the_same_each_time(home: Path, browser: Browser) -> None:
    """Two playings, in each language; only the run's id differs, which is in the address of a link."""
    with running_page(home) as server:
        link, texts = server.new_link(), {}
        for language in ("en-GB", "zh-CN"):
            with visiting(browser, link, java_script_enabled=False, locale=language) as visit:
                seen = []
                for _ in range(2):
                    visit.page.goto(f"{server.address}/lab")
                    visit.page.click("form:has(input[value='lesson']) button")
                    seen.append((visit.page.inner_text("main"), visit.page.url))
            assert seen[0][0] == seen[1][0]
            assert seen[0][1] != seen[1][1]
            texts[language] = seen[0][0]
            link = server.new_link()
        assert all(word in texts["en-GB"] for word in ("Instructions", "call_2", "108", "final_answer", "17 spans"))
        assert all(word in texts["zh-CN"] for word in ("指令", "call_2", "108", "final_answer", "17 个 span"))


def test_it_plays_by_itself_and_pauses(home: Path, browser: Browser) -> None:
    """One message after the other, by the page's own clock."""
    with running_page(home) as server, visiting(browser, server.new_link()) as visit:
        visit.page.clock.install()
        visit.page.goto(f"{server.address}/lab")
        visit.page.click("form:has(input[value='lesson']) button")
        visit.page.click("#step-play")
        assert visit.page.inner_text("#step-play") == "Pause"
        visit.page.clock.run_for(9_000)
        assert len(shown_parts(visit.page)) == 3
        visit.page.click("#step-play")
        visit.page.clock.run_for(9_000)
        assert len(shown_parts(visit.page)) == 3
        visit.page.click("#step-play")
        visit.page.clock.run_for(60_000)
        assert len(shown_parts(visit.page)) == 8
        assert visit.page.inner_text("#step-play") == "Play"


def test_of_another_run_nothing_is_said_here(home: Path, browser: Browser) -> None:
    """Whether that asked a provider is not for the lab to tell; a scenario that is none is no page."""
    with running_page(home) as server, visiting(browser, server.new_link()) as visit:
        visit.page.goto(f"{server.address}/lab")
        visit.page.click("form:has(input[value='normal']) button")
        run = visit.page.url.rpartition("/")[2]
        for address in (f"lesson/{run}", f"nothing/{run}", "lesson/20990101T000000-00000000"):
            assert visit.page.request.get(f"{server.address}/lab/played/{address}").status == 404
