"""What people do with the list of runs, in a real browser: they watch runs go on, filter, sort, and turn pages."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from ..command_line import WITHIN, traced_loop
from ..read.many_runs import died, many, stored
from .accessibility import assert_accessible
from .browser import visiting
from .running_page import running_page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.real

HOSTILE = '<script>alert("x")</script>\x1b[31m\u202e\'"><img src=x onerror=alert(1)>' + "long" * 100
WAITS = """
import sys
from traced_loop import Loop, ScriptedModel, tool
from traced_loop.models.scripted import calls

@tool(effect="read", timeout=300)
def slow_lookup(name: str) -> str:
    "Wait for a line."
    return sys.stdin.readline()

@tool(effect="read", timeout=300)
def second_lookup(name: str) -> str:
    "Wait for a line."
    return sys.stdin.readline()

script = [calls(("slow_lookup", {"name": "a"})), calls(("second_lookup", {"name": "b"})), "done"]
Loop(ScriptedModel(script), [slow_lookup, second_lookup], name="watched").run("wait")
"""
"""A run that hangs in a tool until somebody writes a line, and then in another one."""


class Waiting:
    """A run of another process that goes on when it is told to."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def go_on(self) -> None:
        """The tool that it is in returns."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def kill(self) -> None:
        """It dies where it is."""
        self._process.kill()
        self._process.wait(WITHIN)


@contextmanager
def waiting_run() -> Iterator[Waiting]:
    """Start one in the store of the environment."""
    with subprocess.Popen([sys.executable, "-c", WAITS], stdin=subprocess.PIPE, text=True) as process:
        try:
            yield Waiting(process)
        finally:
            process.kill()


def run_ids(page: Page) -> list[str]:
    """The runs of the table, in order."""
    return page.locator("tbody th a").all_inner_texts()


def width_of_page(page: Page) -> tuple[int, int]:
    """What it takes, and what there is."""
    taken, there = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    return taken, there


def test_a_new_run_of_another_process_appears_without_a_reload(home: Path, browser: Browser) -> None:
    """The empty list says what to run; once that ran, the runs are there."""
    with running_page(home) as server, visiting(browser, server.new_link()) as visit:
        assert "traced-loop demo" in visit.page.inner_text("main")
        traced_loop("demo")
        visit.page.wait_for_selector("tbody >> text=max_steps_exceeded")
        assert visit.page.locator("tbody th a").count() == 4


def test_a_run_that_hangs_in_a_tool_is_watched_to_its_end_in_two_tabs(home: Path, browser: Browser) -> None:
    """What it waits for changes, it ends, and nothing of the reader is lost: filter, order, focus, scroll, typing."""
    stored(home, {**many(60), "20260101T000000-hostile": {"agent": "watched", "stop_reason": "refused"}})
    kept = "/?sort=-steps&agent=watched"
    with running_page(home) as server, visiting(browser, server.new_link()) as visit:
        page, other = visit.page, visit.tab()
        page.goto(f"{server.address}/?sort=-steps")
        other.goto(f"{server.address}{kept}")
        page.locator("#page-2").focus()
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        other.locator("#f-text").fill("half a w")
        other.locator("#f-text").evaluate("field => field.value = ''")
        other.locator("#f-session").fill("typed, not sent")
        scrolled = page.evaluate("scrollY")
        assert scrolled > 0
        with waiting_run() as run:
            for tab in (page, other):
                tab.wait_for_selector("#running >> text=waits for the tool slow_lookup")
            first = page.locator("#running [data-since]").last.inner_text()
            assert page.evaluate("document.activeElement.id") == "page-2"
            assert other.input_value("#f-session") == "typed, not sent"
            page.wait_for_function(
                "text => [...document.querySelectorAll('#running [data-since]')].at(-1).textContent !== text", arg=first
            )
            run.go_on()
            for tab in (page, other):
                tab.wait_for_selector("#running >> text=waits for the tool second_lookup")
            run.go_on()
            for tab in (page, other):
                tab.wait_for_selector("#others tr:has-text('watched') >> text=final_answer")
                assert tab.locator("#running tr").count() == 0
        assert page.evaluate("document.activeElement.id") == "page-2"
        assert page.evaluate("scrollY") > 0
        assert other.url == f"{server.address}{kept}"
        assert [row.count("watched") for row in other.locator("#others tr").all_inner_texts()] == [1, 1]
        assert other.input_value("#f-session") == "typed, not sent"


def test_a_run_whose_process_is_killed_says_so_and_is_recovered_as_told(home: Path, browser: Browser) -> None:
    """Without a reload, although nobody writes anything; the command that the page shows ends it, and is seen, too."""
    with running_page(home) as server, visiting(browser, server.new_link()) as visit, waiting_run() as run:
        page = visit.page
        page.wait_for_selector("text=waits for the tool slow_lookup")
        run.kill()
        page.wait_for_selector("#others >> text=was in execute_tool slow_lookup")
        page.click("#others >> text=What to do")
        advice = page.locator("#head .commands code").first.inner_text()
        page.go_back()
        assert traced_loop(*advice.split()[1:]).code == 0
        page.wait_for_selector("#others >> text=unknown_after_crash")


def test_the_page_of_a_run_whose_process_is_killed_says_so(home: Path, browser: Browser) -> None:
    """As the list does: without a reload, although nobody writes anything."""
    with running_page(home) as server, visiting(browser, server.new_link()) as visit, waiting_run() as run:
        page = visit.page
        page.click("#running th a")
        page.wait_for_selector("#head .tag >> text=running")
        page.wait_for_selector("#head >> text=slow_lookup")
        run.kill()
        page.wait_for_selector("#head .tag >> text=died")
        page.wait_for_selector("#head >> text=traced-loop recover")
        assert page.locator("#head .tag >> text=running").count() == 0


def test_filter_order_and_pages_by_keyboard_alone(home: Path, browser: Browser) -> None:
    """From the top of the page with Tab, Enter, Space and letters; a reload shows the same."""
    stored(home, many(120))
    with running_page(home) as server, visiting(browser, server.new_link()) as visit:
        page = visit.page

        def reach(selector: str) -> None:
            for _ in range(200):
                page.keyboard.press("Tab")
                if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                    return
            raise AssertionError(f"no way to {selector}")

        reach("#filter > summary")
        page.keyboard.press("Enter")
        reach("#f-model")
        page.keyboard.type("gpt*")
        reach("#f-since")
        page.keyboard.type("7")
        reach("input[value=final_answer]")
        page.keyboard.press("Space")
        reach("input[value=tool_timeout]")
        page.keyboard.press("Space")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        assert page.url == f"{server.address}/?model=gpt*&since=7d&stop=final_answer&stop=tool_timeout"
        assert page.inner_text("#count") == "80 runs · page 1 of 2"

        reach("#by-tokens")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        assert page.get_attribute("th.c-tokens", "aria-sort") == "descending"
        reach("#page-after")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        assert page.inner_text("#count") == "80 runs · page 2 of 2"
        shown = run_ids(page)
        assert len(shown) == 30
        page.reload()
        assert run_ids(page) == shown
        assert page.is_checked("input[value=tool_timeout]")

        reach(".marks a")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        assert "model=" not in page.url


def test_times_are_in_the_zone_of_the_reader(home: Path, browser: Browser) -> None:
    """A reader in Tokyo picks a time of theirs; the address has it as UTC, and shows it again as theirs."""
    began = 1_790_000_000_000_000_000  # 2026-09-21 14:13:20 UTC
    stored(home, {"before": {"started_ns": began - 1}, "after": {"started_ns": began}})
    with running_page(home) as server, visiting(browser, server.new_link()) as visit:
        page = visit.page
        page.locator("#filter > summary").click()
        assert "Asia/Tokyo" in page.inner_text("#zone-said")
        page.fill("#f-from", "2026-09-21T23:13:20")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        assert page.url == f"{server.address}/?from=2026-09-21T14%3A13%3A20Z"
        assert run_ids(page) == ["after"]
        assert page.input_value("#f-from") == "2026-09-21T23:13:20"
        with page.expect_navigation():
            page.locator("#filter-form button").click()
        assert run_ids(page) == ["after"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_hostile_names_are_inert_and_every_width_can_be_read(home: Path, browser: Browser, theme: Any) -> None:
    """Nothing of them runs, the page never scrolls sideways, and axe finds nothing serious, wide or narrow."""
    hostile = {"agent": HOSTILE, "model": HOSTILE, "session_id": HOSTILE}
    kinds = {"a": hostile, "b": died(**hostile), "c": {"stop_reason": "refused", "flagged": 1}}
    stored(home, {**many(8), **kinds})
    with running_page(home) as server, visiting(browser, server.new_link(), color_scheme=theme) as visit:
        page = visit.page
        for width, query in ((1400, "&cost_from=bad&stop=refused&stop=final_answer&stop=none"), (800, ""), (400, "")):
            page.set_viewport_size({"width": width, "height": 800})
            page.goto(f"{server.address}/?sort=run{query}")
            taken, there = width_of_page(page)
            assert taken <= there
            if width == 1400 or (width, theme) == (400, "light"):
                assert_accessible(page)
        assert page.locator("img, script:not([src])").count() == 0
        assert page.locator("tbody tr").first.is_visible()
        assert not page.locator("thead").first.bounding_box()["height"] > 2  # type: ignore[index]


def test_nothing_moves_when_a_run_changes(home: Path, browser: Browser) -> None:
    """Columns keep their places whatever comes to stand in them."""
    stored(home, many(20))
    places = "[...document.querySelectorAll('thead th')].map(cell => cell.getBoundingClientRect().left)"
    with running_page(home) as server, visiting(browser, server.new_link()) as visit:
        before = visit.page.evaluate(places)
        with waiting_run():
            visit.page.wait_for_selector("text=waits for the tool slow_lookup")
            assert visit.page.evaluate(places) == before


def test_no_row_changes_its_height_when_times_become_local(home: Path, browser: Browser) -> None:
    """The time that is served and what the script makes of it stand on one line each, inside of their cell."""
    traced_loop("demo")
    with running_page(home) as server, visiting(browser, server.new_link()) as visit:
        page = visit.page
        page.wait_for_selector("#others tr")
        measure = """() => [...document.querySelectorAll("#others tr")].map((row) => {
            const cell = row.querySelector(".c-started"), time = cell.querySelector("time");
            const at = () => [row.getBoundingClientRect().height, cell.scrollWidth <= cell.clientWidth];
            const local = at();
            time.textContent = time.title;
            return [local, at()];
        })"""
        for local, served in page.evaluate(measure):
            assert local == served
            assert served[1]
